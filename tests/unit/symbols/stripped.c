/* SPDX-License-Identifier: MIT */
/*
 * stripped.c - files without most of their symbols: functions have bounds by .eh_frame,
 * and names by the dynamic linker's table, with and without section headers.
 */
#include "fixture.h"

#include <elf.h>
#include <string.h>

static const char source[] =
    "#define FUNCTION __attribute__((noinline, noclone))\n"
    "volatile int sink;\n"
    "FUNCTION void first(void) { for (int i = 0; i < 9; i++) { sink += i; } }\n"
    "FUNCTION static int hidden(int x) { for (int i = 0; i < x; i++) { sink += x * i; }"
    " return sink; }\n"
    "FUNCTION static int second(int x) { return hidden(x + 1) * hidden(x) + 1; }\n"
    "int last(int x) { return hidden(x) + second(x); }\n"
    /* A label without size before a function that only .eh_frame bounds. */
    "__asm__(\".globl bare\\nbare:\\n.skip 16, 0x90\\n\"\n"
    "\"bounded:\\n.cfi_startproc\\n.skip 32, 0x90\\n.cfi_endproc\\n\"\n"
    "\".type bounded, %function\\n.size bounded, .-bounded\\n\");\n";

static int
write_source(void **state)
{
    if (fixture_make_folder(state) != 0) {
        return -1;
    }
    fixture_write(fixture_path("lib.c"), source, strlen(source));
    return 0;
}

/* Takes the section headers away, as sstrip does. */
static void
drop_sections(const char *path)
{
    size_t size;
    unsigned char *const bytes = fixture_read(path, &size);

    if (bytes[EI_CLASS] == ELFCLASS64) {
        Elf64_Ehdr *const header = (void *)bytes;

        header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
    } else {
        Elf32_Ehdr *const header = (void *)bytes;

        header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
    }
    fixture_write(path, bytes, size);
    free(bytes);
}

/* name NULL: there is none, but bounds. */
static void
assert_function(struct sym_reader *image, const char *symbol, const char *name)
{
    struct sym_name found;
    uint64_t start;
    uint64_t end;

    fixture_find_symbol("full", symbol, &start, &end);
    for (uint64_t at = start; at < end; at++) {
        assert_int_equal(sym_reader_lookup_address(image, at, &found), name != NULL);
        assert_true(found.has_start);
        assert_int_equal(found.start, start);
        if (name != NULL) {
            assert_string_equal(found.name, name);
        } else {
            assert_null(found.name);
        }
    }
}

static void
assert_functions(void)
{
    struct sym_reader *const image = fixture_open(fixture_path("app"), "");
    struct sym_name found;
    uint64_t start;
    uint64_t end;

    assert_function(image, "first", "first");
    assert_function(image, "last", "last");
    assert_function(image, "hidden", NULL);
    assert_function(image, "second", NULL);
    assert_function(image, "bounded", NULL);
    fixture_find_symbol("full", "bounded", &start, &end);
    assert_true(sym_reader_lookup_address(image, start - 1, &found));
    assert_string_equal(found.name, "bare");
    assert_int_equal(found.start, start - 16);
    assert_true(fixture_range(image, start + 5, &start, &end));
    assert_int_equal(end - start, 32);
    assert_true(sym_reader_has_symbols(image));
    sym_reader_close(image);
}

/* Optimised for size, loops are not unrolled, and functions have bytes to look up. */
#define BUILD(cc, options) \
    cc " -Os -shared -fPIC " options " lib.c -o full && strip -o app full"

static const struct {
    const char *name;
    const char *needs;
    const char *command;
    bool without_sections; /* can what is left be found without them? */
} builds[] = {
    {"gcc", "gcc", BUILD("gcc", ""), true},
    {"old hash table", "gcc", BUILD("gcc", "-Wl,--hash-style=sysv"), true},
    {"no sorted table", "gcc", BUILD("gcc", "-Wl,--no-eh-frame-hdr"), false},
    {"gold", "ld.gold", BUILD("gcc", "-fuse-ld=gold"), true},
    {"lld", "ld.lld", BUILD("clang", "-fuse-ld=lld"), true},
#ifdef __x86_64__
    {"32 bits", "gcc", BUILD("gcc", "-m32 -nostdlib"), true},
    {"large offsets", "gcc", BUILD("gcc", "-mcmodel=large -nostdlib"), true},
    {"AArch64", "ld.lld",
     "clang --target=aarch64-linux-gnu -Os -shared -fPIC -nostdlib -funwind-tables "
     "-fuse-ld=lld lib.c -o full && llvm-strip-14 -o app full",
     true},
    {"big-endian", "ld.lld",
     "clang --target=powerpc64-linux-gnu -mabi=elfv2 -Os -shared -fPIC -nostdlib "
     "-funwind-tables -fuse-ld=lld lib.c -o full && llvm-strip-14 -o app full",
     true},
#endif
};

static void
functions__each_way_to_build__names_or_bounds(void **state)
{
    size_t built = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
        if (!fixture_can_build(builds[i].name, builds[i].needs)) {
            continue;
        }
        fixture_build("%s", builds[i].command);
        assert_functions();
        if (builds[i].without_sections) {
            drop_sections(fixture_path("app"));
            assert_functions();
        }
        built++;
    }
    assert_true(built > 0);
}

/* Nothing is believed of a damaged table, and nothing is read outside of the file. */
static void
damage__anywhere__no_fault(void **state)
{
    uint64_t seed = 11;
    size_t size;
    unsigned char *bytes;
    unsigned char *damaged;

    (void)state;
    fixture_build("%s", builds[0].command);
    drop_sections(fixture_path("app"));
    bytes = fixture_read(fixture_path("app"), &size);
    damaged = malloc(size);
    assert_non_null(damaged);
    for (int round = 0; round < 400; round++) {
        struct sym_reader *image;
        struct sym_name name;

        memcpy(damaged, bytes, size);
        for (int i = 0; i < 20; i++) {
            damaged[64 + fixture_random(&seed) % (size - 64)] =
                (unsigned char)fixture_random(&seed);
        }
        image = sym_reader_open_memory(damaged, size, "/damaged");
        for (uint64_t at = 0; image != NULL && at < size; at += 64) {
            (void)sym_reader_lookup_address(image, at, &name);
        }
        sym_reader_close(image);
    }
    free(damaged);
    free(bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions__each_way_to_build__names_or_bounds),
        cmocka_unit_test(damage__anywhere__no_fault),
    };

    return cmocka_run_group_tests(tests, write_source, fixture_remove_folder);
}
