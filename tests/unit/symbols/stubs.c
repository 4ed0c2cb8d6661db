/* SPDX-License-Identifier: MIT */
/*
 * stubs.c - stubs of procedure linkage tables as linkers make them: each has the name
 * of the function that it jumps to, whatever its size, or none.
 */
#include "fixture.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char source[] =
    "int f0(int), f1(int), f2(int), f3(int), f4(int), f5(int);\n"
    "int (*volatile taken)(int);\n"
    "int entry(int x) {\n"
    "    x += f5(x); x += f4(x); x += f3(x); x += f2(x); x += f1(x); x += f0(x);\n"
    "    taken = f2;\n"
    "    return x + 1;\n"
    "}\n";

/* A function that is chosen at the start of the program, and not exported. */
static const char chosen_source[] =
    "__attribute__((noinline)) static int work(int x) { return x + 1; }\n"
    "static void *choose(void) { return (void *)work; }\n"
    "int chosen(int) __attribute__((ifunc(\"choose\"), visibility(\"hidden\")));\n"
    "int entry(int x) { return chosen(x) + 1; }\n";

static int
write_sources(void **state)
{
    if (fixture_make_folder(state) != 0) {
        return -1;
    }
    fixture_write(fixture_path("a.c"), source, strlen(source));
    fixture_write(fixture_path("chosen.c"), chosen_source, strlen(chosen_source));
    return 0;
}

static void
assert_stub(struct sym_reader *image, uint64_t at, const char *name)
{
    struct sym_name found;

    if (!sym_reader_lookup_address(image, at, &found)) {
        fail_msg("%#llx is not named, but is %s", (unsigned long long)at, name);
    }
    assert_string_equal(found.name, name);
    assert_int_equal(found.start, at);
}

/* Looks up what a disassembler calls "NAME@plt". How many there are. */
static size_t
compare_with(const char *disassembler)
{
    struct sym_reader *const image = fixture_open(fixture_path("lib.so"), "");
    char command[PATH_MAX];
    char line[256];
    size_t count = 0;
    FILE *output;

    snprintf(command, sizeof(command), "%s -d '%s' | grep '@plt>:$'", disassembler,
             fixture_path("lib.so"));
    output = popen(command, "re");
    assert_non_null(output);
    while (fgets(line, sizeof(line), output) != NULL) {
        unsigned long long at;
        char name[64];

        assert_int_equal(sscanf(line, "%llx <%63[^>]", &at, name), 2);
        assert_stub(image, at, name);
        count++;
    }
    pclose(output);
    sym_reader_close(image);
    return count;
}

static const struct {
    const char *name;
    const char *needs;
    const char *command;
    const char *disassembler;
    size_t least; /* stubs */
} builds[] = {
#ifdef __x86_64__
    {"lazy", "gcc", "gcc -O1 -fPIC -shared -Wl,-z,lazy a.c -o lib.so", "objdump", 6},
    {"lazy with endbr64", "gcc",
     "gcc -O1 -fPIC -fcf-protection -shared -Wl,-z,lazy,-z,ibtplt a.c -o lib.so",
     "objdump", 6},
    {"at once", "gcc", "gcc -O1 -fPIC -shared -Wl,-z,now a.c -o lib.so", "objdump", 6},
    {"gold", "ld.gold", "gcc -O1 -fPIC -shared -fuse-ld=gold -Wl,-z,lazy a.c -o lib.so",
     "objdump", 6},
    {"lld", "ld.lld", "clang -O1 -fPIC -shared -fuse-ld=lld -Wl,-z,lazy a.c -o lib.so",
     "objdump", 6},
    {"lld with endbr64", "ld.lld",
     "clang -O1 -fPIC -fcf-protection -shared -nostdlib -fuse-ld=lld "
     "-Wl,-z,lazy,-z,force-ibt a.c -o lib.so",
     "objdump", 6},
#endif
    {"AArch64, lld", "llvm-objdump-14",
     "clang --target=aarch64-linux-gnu -O1 -fPIC -c a.c -o a.o && "
     "ld.lld -shared -z lazy a.o -o lib.so",
     "llvm-objdump-14", 6},
    {"AArch64, lld with bti", "llvm-objdump-14",
     "clang --target=aarch64-linux-gnu -O1 -fPIC -mbranch-protection=standard -c a.c "
     "-o a.o && ld.lld -shared -z lazy a.o -o lib.so",
     "llvm-objdump-14", 6},
    {"AArch64, lld with pac", "llvm-objdump-14",
     "clang --target=aarch64-linux-gnu -O1 -fPIC -mbranch-protection=standard -c a.c "
     "-o a.o && ld.lld -shared -z lazy -z pac-plt a.o -o lib.so",
     "llvm-objdump-14", 6},
};

static void
stubs__each_way_to_link__as_disassembled(void **state)
{
    size_t built = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
        size_t found;

        if (!fixture_can_build(builds[i].name, builds[i].needs)) {
            continue;
        }
        fixture_build("%s", builds[i].command);
        found = compare_with(builds[i].disassembler);
        if (found < builds[i].least) {
            fail_msg("%s: %zu stubs", builds[i].name, found);
        }
        built++;
    }
    assert_true(built > 0);
}

/* Stubs of at most 16 bytes: how many addresses have the name. */
static size_t
count_named(const char *name)
{
    struct sym_reader *const image = fixture_open(fixture_path("lib.so"), "");
    struct sym_name found;
    size_t count = 0;

    for (uint64_t at = 0; at < 0x10000; at++) {
        count += sym_reader_lookup_address(image, at, &found) &&
                 strcmp(found.name, name) == 0;
    }
    sym_reader_close(image);
    return count;
}

/* Neither disassembler knows these. */
static void
stubs__of_thunks_and_chosen_functions__by_their_slots(void **state)
{
    (void)state;
#ifndef __x86_64__
    skip();
#endif
    fixture_build("gcc -O1 -fPIC -shared chosen.c -o lib.so");
    assert_int_equal(count_named("chosen@plt"), 16);
    fixture_build("strip lib.so");
    assert_int_equal(count_named("chosen@plt"), 0);
    if (!fixture_has("ld.lld")) {
        return;
    }
    fixture_build("clang -O1 -fPIC -shared -nostdlib -fuse-ld=lld "
                  "-Wl,-z,lazy,-z,retpolineplt a.c -o lib.so");
    assert_int_equal(count_named("f0@plt"), 32);
    assert_int_equal(count_named("f5@plt"), 32);
    fixture_build("clang -O1 -fPIC -shared -nostdlib -fuse-ld=lld "
                  "-Wl,-z,now,-z,retpolineplt a.c -o lib.so");
    assert_int_equal(count_named("f0@plt"), 16);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stubs__each_way_to_link__as_disassembled),
        cmocka_unit_test(stubs__of_thunks_and_chosen_functions__by_their_slots),
    };

    return cmocka_run_group_tests(tests, write_sources, fixture_remove_folder);
}
