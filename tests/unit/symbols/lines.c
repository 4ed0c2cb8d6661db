/* SPDX-License-Identifier: MIT */
/*
 * lines.c - inlined functions and their lines, as gcc and clang, linkers and packagers
 * leave them.
 *
 * A program of two files is built in each way; its code is inlined three deep. Every
 * byte of its functions is looked up: each chain must be one that the source has, and
 * all that it has must be there.
 */
#include "fixture.h"

#include "base/budget.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char header_text[] =
    "extern volatile int sink;\n"
    "#define ALWAYS static inline __attribute__((always_inline))\n"
    "ALWAYS int deep_three(int x)\n"
    "{\n"
    "    for (int i = 0; i < x; i++) {\n"
    "        sink += i * x;\n"
    "    }\n"
    "    return sink;\n"
    "}\n"
    "ALWAYS int deep_two(int x)\n"
    "{\n"
    "    return deep_three(x + 1) + 3;\n"
    "}\n"
    "ALWAYS int deep_one(int x)\n"
    "{\n"
    "    return deep_two(x) ^ 5;\n"
    "}\n";
static const char first_text[] = "#include \"deep.h\"\n"
                                 "int other(int);\n"
                                 "volatile int sink;\n"
                                 "__attribute__((noinline)) int outer(int x)\n"
                                 "{\n"
                                 "    return deep_one(x) * 2;\n"
                                 "}\n"
                                 "int main(int argc, char **argv)\n"
                                 "{\n"
                                 "    return outer(argc) + other(argc);\n"
                                 "}\n";
static const char second_text[] = "#include \"deep.h\"\n"
                                  "__attribute__((noinline)) int other(int x)\n"
                                  "{\n"
                                  "    return deep_one(x) + deep_two(x + 7);\n"
                                  "}\n";

/* chain - functions from the outside in, with the lines of the calls. */
struct chain {
    const char *functions[4];
    uint32_t calls[3]; /* of functions[i + 1] in functions[i] */
    uint32_t starts[4];
    bool seen;
};

static const struct chain chains[] = {
    {{"outer", "deep_one", "deep_two", "deep_three"},
     {6, 16, 12},
     {4, 14, 10, 3},
     false},
    {{"other", "deep_one", "deep_two", "deep_three"},
     {4, 16, 12},
     {2, 14, 10, 3},
     false},
    {{"other", "deep_two", "deep_three"}, {4, 12}, {2, 10, 3}, false},
};

#define CHAINS (sizeof(chains) / sizeof(chains[0]))

/* build - how the program is made, in its folder; app is the result and full has all
 * symbols. */
struct build {
    const char *name;
    const char *needs; /* a command */
    const char *command;
};

#define SOURCES "a.c b.c"
#define SPLIT(cc, version)                                          \
#cc " -O2 -g -gdwarf-" #version " -gsplit-dwarf -c a.c && " #cc \
        " -O2 -g -gdwarf-" #version " -gsplit-dwarf -c b.c && " #cc \
        " -g a.o b.o -o app && "                                    \
        "test -e a.dwo"
#define TO_DEBUG_FILE                                                        \
    "mkdir -p .debug && objcopy --only-keep-debug full .debug/app.debug && " \
    "strip -o app full && objcopy --add-gnu-debuglink=.debug/app.debug app"

static const struct build builds[] = {
    {"gcc, version 4", "gcc", "gcc -O2 -g -gdwarf-4 " SOURCES " -o app"},
    {"gcc, version 5", "gcc", "gcc -O2 -g -gdwarf-5 " SOURCES " -o app"},
    {"gcc, version 3", "gcc", "gcc -O2 -g -gdwarf-3 -gstrict-dwarf " SOURCES " -o app"},
    {"gcc, 64-bit offsets", "gcc", "gcc -O2 -g -gdwarf64 " SOURCES " -o app"},
    {"gcc, sections", "gcc",
     "gcc -O2 -g -ffunction-sections -Wl,--gc-sections " SOURCES " -o app"},
    {"gcc, link-time optimisation", "gcc",
     "gcc -O2 -g -flto -fno-ipa-cp -fno-ipa-icf " SOURCES " -o app"},
    {"clang, version 4", "clang", "clang -O1 -g -gdwarf-4 " SOURCES " -o app"},
    {"clang, version 5", "clang", "clang -O1 -g -gdwarf-5 " SOURCES " -o app"},
    {"clang, link-time optimisation", "ld.lld",
     "clang -O1 -g -flto -fuse-ld=lld " SOURCES " -o app"},
    {"gcc, split, version 4", "gcc", SPLIT(gcc, 4)},
    {"gcc, split, version 5", "gcc", SPLIT(gcc, 5)},
    {"clang, split, version 4", "clang", SPLIT(clang, 4)},
    {"clang, split, version 5", "clang", SPLIT(clang, 5)},
    {"gcc, package", "dwp", SPLIT(gcc, 4) " && dwp -e app -o app.dwp && rm *.dwo"},
    {"clang, package, version 4", "llvm-dwp-14",
     SPLIT(clang, 4) " && llvm-dwp-14 -e app -o app.dwp && rm *.dwo"},
    {"clang, package, version 5", "llvm-dwp-14",
     SPLIT(clang, 5) " && llvm-dwp-14 -e app -o app.dwp && rm *.dwo"},
    {"packed by zlib", "gcc", "gcc -O2 -g -gz=zlib " SOURCES " -o app"},
    {"packed by zlib in the old way", "objcopy",
     "gcc -O2 -g " SOURCES " -o app && objcopy --compress-debug-sections=zlib-gnu app"},
#ifdef __x86_64__
    {"packed by zlib, 32 bits", "gcc",
     "gcc -m32 -O2 -g -gz=zlib -nostdlib -Wl,-e,main " SOURCES " -o app"},
#endif
#ifdef NTPROF_HAS_ZSTD
    {"packed by zstd", "objcopy",
     "gcc -O2 -g " SOURCES " -o app && objcopy --compress-debug-sections=zstd app"},
#endif
    {"supplementary file", "dwz",
     "gcc -O2 -g " SOURCES " -o app && cp app full && gcc -O2 -g " SOURCES
     " -DOTHER -o app2 && dwz -m shared.debug app app2 && test -e shared.debug"},
    {"separate file", "gcc", "gcc -O2 -g " SOURCES " -o full && " TO_DEBUG_FILE},
    {"separate file with a supplementary one", "dwz",
     "gcc -O2 -g " SOURCES " -o full && cp full app2 && " TO_DEBUG_FILE
     " && cp app2 .debug/ && (cd .debug && dwz -m shared.debug app.debug app2) && "
     "objcopy --remove-section=.gnu_debuglink app && "
     "objcopy --add-gnu-debuglink=.debug/app.debug app"},
};

static int
write_sources(void **state)
{
    if (fixture_make_folder(state) != 0) {
        return -1;
    }
    fixture_write(fixture_path("deep.h"), header_text, strlen(header_text));
    fixture_write(fixture_path("a.c"), first_text, strlen(first_text));
    fixture_write(fixture_path("b.c"), second_text, strlen(second_text));
    return 0;
}

/* Builds in the folder, with full as app was before it was stripped. */
static void
build(const char *command)
{
    fixture_build("rm -rf app app2 full .debug *.dwo *.dwp *.o shared.debug && "
                  "{ %s; } && { test -e full || cp app full; }",
                  command);
}

static struct sym_reader *
open_app(void)
{
    return fixture_open(fixture_path("app"), "");
}

static size_t
depth_of(const struct chain *chain)
{
    size_t depth = 0;

    while (depth < 4 && chain->functions[depth] != NULL) {
        depth++;
    }
    return depth;
}

static bool
ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);

    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* Is what was found the chain, or its outer end? */
static bool
matches(const struct chain *chain, const struct sym_name *name)
{
    const size_t depth = name->caller_count + 1;

    if (depth > depth_of(chain) ||
        strcmp(name->name, chain->functions[depth - 1]) != 0) {
        return false;
    }
    for (size_t i = 0; i < name->caller_count; i++) {
        const struct sym_frame *frame = &name->callers[i];
        const size_t at = depth - 2 - i;

        if (strcmp(frame->name, chain->functions[at]) != 0 ||
            frame->line != chain->calls[at] || frame->start_line != chain->starts[at] ||
            !ends_with(frame->file, at > 0                              ? "/deep.h"
                                    : strcmp(frame->name, "outer") == 0 ? "/a.c"
                                                                        : "/b.c")) {
            return false;
        }
    }
    return name->start_line == chain->starts[depth - 1];
}

/* All but the outermost are in the header, whatever unit has the code. */
static bool
is_defined_there(const struct sym_name *name)
{
    const char *const outer = name->caller_count == 0
                                  ? name->definition
                                  : name->callers[name->caller_count - 1].definition;

    for (size_t i = 0; i + 1 < name->caller_count; i++) {
        if (!ends_with(name->callers[i].definition, "/deep.h")) {
            return false;
        }
    }
    return (ends_with(outer, "/a.c") || ends_with(outer, "/b.c")) &&
           (name->caller_count == 0 || ends_with(name->definition, "/deep.h"));
}

/* Looks every byte of a function up, and marks the chains that are there to their ends.
 */
static void
look_through(struct sym_reader *image, const char *function, const char *build_name,
             bool seen[CHAINS])
{
    uint64_t at;
    uint64_t end;

    fixture_find_symbol("full", function, &at, &end);
    for (; at < end; at++) {
        struct sym_name name;
        bool known = false;

        assert_true(sym_reader_lookup_address(image, at, &name));
        for (size_t i = 0; i < CHAINS; i++) {
            if (matches(&chains[i], &name) && is_defined_there(&name)) {
                known = true;
                seen[i] |= name.caller_count + 1 == depth_of(&chains[i]) &&
                           name.line == 6 && ends_with(name.file, "/deep.h");
            }
        }
        if (!known) {
            fail_msg("%s: %s+%#llx is %s, %zu deep, from line %u, of %s", build_name,
                     function, (unsigned long long)at, name.name, name.caller_count,
                     name.line, name.definition);
        }
    }
}

static void
assert_all_chains(const char *build_name)
{
    struct sym_reader *image = open_app();
    bool seen[CHAINS] = {false};

    look_through(image, "outer", build_name, seen);
    look_through(image, "other", build_name, seen);
    for (size_t i = 0; i < CHAINS; i++) {
        if (!seen[i]) {
            fail_msg("%s: chain %zu is not found", build_name, i);
        }
    }
    assert_string_equal(sym_reader_note(image), "");
    sym_reader_close(image);
}

static void
frames__each_way_to_build__all_chains(void **state)
{
    size_t built = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
        if (!fixture_can_build(builds[i].name, builds[i].needs)) {
            continue;
        }
        build(builds[i].command);
        assert_all_chains(builds[i].name);
        built++;
    }
    assert_true(built > 0);
}

/* Lines of the function itself are left, and what is missing is said. */
static void
assert_not_inlined(const char *note)
{
    struct sym_reader *image = open_app();
    struct sym_name name;
    uint64_t at;
    uint64_t end;

    fixture_find_symbol("full", "outer", &at, &end);
    for (; at < end; at++) {
        assert_true(sym_reader_lookup_address(image, at, &name));
        assert_string_equal(name.name, "outer");
        assert_int_equal(name.caller_count, 0);
    }
    assert_non_null(strstr(sym_reader_note(image), note));
    sym_reader_close(image);
}

static void
split__file_missing__said(void **state)
{
    (void)state;
    build(SPLIT(gcc, 5) " && rm a.dwo");
    assert_not_inlined(": 1 not there, 0 of another build, first a.dwo");
}

static void
split__file_of_another_build__refused(void **state)
{
    (void)state;
    build(SPLIT(gcc, 5) " && gcc -O1 -g -gsplit-dwarf -DOTHER=1 -c a.c -o c.o && "
                        "mv c.dwo a.dwo");
    assert_not_inlined(": 0 not there, 1 of another build, first a.dwo");
}

static void
split__file_is_a_pipe_or_no_elf__does_not_block(void **state)
{
    (void)state;
    build(SPLIT(gcc, 5) " && rm a.dwo && mkfifo a.dwo");
    assert_not_inlined("a.dwo");
    build(SPLIT(gcc, 5) " && echo no elf >a.dwo");
    assert_not_inlined("a.dwo");
}

static void
supplement__missing_or_of_another_build__said(void **state)
{
    struct sym_reader *image;
    struct sym_name name;
    uint64_t at;
    uint64_t end;

    (void)state;
    if (!fixture_has("dwz")) {
        skip();
    }
    for (int other = 0; other < 2; other++) {
        build("gcc -O2 -g " SOURCES " -o app && cp app full && gcc -O2 -g " SOURCES
              " -DOTHER -o app2 && dwz -m shared.debug app app2");
        assert_int_equal(fixture_run(other == 0 ? "rm '%s'" : "cp /bin/true '%s'",
                                     fixture_path("shared.debug")),
                         0);
        image = open_app();
        fixture_find_symbol("full", "outer", &at, &end);
        assert_true(sym_reader_lookup_address(image, at, &name));
        assert_string_equal(name.name, "outer"); /* by the symbol table */
        assert_non_null(strstr(sym_reader_note(image),
                               other == 0 ? "is not there" : "another build-id"));
        sym_reader_close(image);
    }
}

/* A loop in one line has parts that clang tells apart, and so has a call. */
static void
discriminators__asked_for__of_lines_and_calls(void **state)
{
    const char *const said[] = {"without", "with"};

    (void)state;
    if (!fixture_has("clang")) {
        print_message("clang is not installed\n");
        skip();
    }
    build("clang -O2 -g1 -fdebug-info-for-profiling " SOURCES " -o app");
    for (int with = 0; with < 2; with++) {
        const struct sym_reader_settings settings = {.discriminators = with != 0};
        struct sym_reader *const image = open_app();
        const struct sym_frame *frames;
        size_t found = 0;
        uint64_t at;
        uint64_t end;

        sym_reader_configure(image, &settings);
        for (fixture_find_symbol("full", "outer", &at, &end); at < end; at++) {
            const size_t count = sym_reader_frames(image, at, &frames);

            assert_true(count >= 1 && count <= 4);
            assert_string_equal(frames[count - 1].system_name, "outer");
            assert_int_equal(frames[count - 1].start_line, 4);
            found += frames[0].discriminator != 0;
        }
        print_message("%zu bytes %s discriminators\n", found, said[with]);
        assert_int_equal(found > 0, with);
        sym_reader_close(image);
    }
}

static void
settings__no_lines__functions_alone(void **state)
{
    const struct sym_reader_settings settings = {.no_lines = true};
    struct sym_reader *image;
    struct sym_name name;
    uint64_t at;
    uint64_t end;

    (void)state;
    build("gcc -O2 -g " SOURCES " -o app");
    image = open_app();
    sym_reader_configure(image, &settings);
    fixture_find_symbol("full", "outer", &at, &end);
    for (; at < end; at++) {
        assert_true(sym_reader_lookup_address(image, at, &name));
        assert_string_equal(name.name, "outer");
        assert_string_equal(name.file, "");
        assert_int_equal(name.line, 0);
        assert_int_equal(name.caller_count, 0);
    }
    sym_reader_close(image);
}

/* Changes the last byte of app's .debug_info, which belongs to the checksum of its
 * stream. */
static void
damage_stream(void)
{
    size_t app_size;
    size_t packed_size;
    unsigned char *const app = fixture_read(fixture_path("app"), &app_size);
    unsigned char *const packed = fixture_read(fixture_path("packed"), &packed_size);
    unsigned char *const found = memmem(app, app_size, packed, packed_size);

    assert_non_null(found);
    found[packed_size - 1] ^= 1;
    fixture_write(fixture_path("app"), app, app_size);
    free(packed);
    free(app);
}

static void
packed__stream_damaged__said(void **state)
{
    struct sym_reader *image;
    struct sym_name name;
    uint64_t at;
    uint64_t end;

    (void)state;
    build("gcc -O2 -g -gz=zlib " SOURCES " -o app && "
          "objcopy --dump-section .debug_info=packed app copy");
    damage_stream();
    image = open_app();
    fixture_find_symbol("full", "outer", &at, &end);
    assert_true(sym_reader_lookup_address(image, at, &name));
    assert_string_equal(name.name, "outer");
    assert_int_equal(name.line, 0);
    assert_non_null(strstr(sym_reader_note(image), ".debug_info is damaged"));
    sym_reader_close(image);
}

/* So many rows that they are forgotten for the unit after it: at even addresses
 * line 7, else line 8. */
static const char many_text[] = "void PASTE(void)\n"
                                "{\n"
                                "    __asm__ volatile(\".balign 2\\n.rept "
                                "150000\\n.loc 1 7\\nnop\\n.loc 1 8\\nnop\\n"
                                ".endr\");\n"
                                "}\n";

/* The file that a place in the middle of the function is in. */
static const char *
check_many(struct sym_reader *image, const char *function)
{
    const char *file = NULL;
    struct sym_name name;
    uint64_t start;
    uint64_t end;

    fixture_find_symbol("full", function, &start, &end);
    for (uint64_t at = start / 2 * 2 + 100000; at < start / 2 * 2 + 100004; at++) {
        assert_true(sym_reader_lookup_address(image, at, &name));
        assert_string_equal(name.name, function);
        assert_int_equal(name.line, at % 2 == 0 ? 7 : 8);
        file = name.file;
    }
    return file;
}

static void
lines__more_than_are_kept__each_right_again(void **state)
{
    struct sym_reader *image;
    const char *first;

    (void)state;
    fixture_write(fixture_path("many.c"), many_text, strlen(many_text));
    build("cp many.c x.c && cp many.c y.c && gcc -g -DPASTE=many_x -c x.c && "
          "gcc -g -DPASTE=many_y -c y.c && gcc -g " SOURCES " x.o y.o -o app");
    image = open_app();
    first = check_many(image, "many_x");
    assert_string_equal(strrchr(first, '/'), "/x.c");
    for (int i = 0; i < 2; i++) {
        assert_string_equal(strrchr(check_many(image, "many_y"), '/'), "/y.c");
        assert_ptr_equal(check_many(image, "many_x"), first);
    }
    assert_string_equal(strrchr(first, '/'), "/x.c");
    sym_reader_close(image);
}

/* In an image that may take so much. */
static struct sym_reader *
open_within(uint64_t memory_max)
{
    const struct sym_reader_settings settings = {.memory_max = memory_max};
    struct sym_reader *const image = open_app();

    sym_reader_configure(image, &settings);
    return image;
}

/* 300,000 rows, which take 8 MiB. */
static void
lines__more_than_memory_allows__function_names_and_a_note(void **state)
{
    struct sym_reader *image;
    struct sym_name name;
    uint64_t start;
    uint64_t end;

    (void)state;
    fixture_write(fixture_path("many.c"), many_text, strlen(many_text));
    build("gcc -g -DPASTE=many_x -c many.c && gcc -g " SOURCES " many.o -o app");
    fixture_find_symbol("full", "many_x", &start, &end);
    image = open_within(UINT64_C(4) << 20);
    assert_true(sym_reader_lookup_address(image, start + 1000, &name));
    assert_string_equal(name.name, "many_x");
    assert_int_equal(name.line, 0);
    assert_true(sym_reader_is_bounded(image));
    assert_non_null(strstr(sym_reader_note(image), "code has function names only"));
    /* Another unit of the image has what it needs. */
    fixture_find_symbol("full", "outer", &start, &end);
    assert_true(sym_reader_lookup_address(image, start, &name));
    assert_true(name.line > 0);
    sym_reader_close(image);

    image = open_within(UINT64_C(64) << 20);
    assert_string_equal(strrchr(check_many(image, "many_x"), '/'), "/many.c");
    assert_false(sym_reader_is_bounded(image));
    assert_string_equal(sym_reader_note(image), "");
    sym_reader_close(image);
}

/* 100 units of one table, whose opcodes make no rows. */
static void
lines__one_table_of_many_units__function_names(void **state)
{
    FILE *const code = fopen(fixture_path("forged.s"), "w");
    struct sym_reader *image;
    struct sym_name name;
    uint64_t start;
    uint64_t end;

    (void)state;
    assert_non_null(code);
    fprintf(code,
            ".text\n.globl forged\n.type forged, @function\nforged:\n"
            ".fill 100, 1, 0\n.size forged, 100\n"
            ".section .debug_line\ntable: .long 2f-1f\n1: .short 4\n"
            ".long 4f-3f\n3: .byte 1,1,1,-5,14,13,0,1,1,1,1,0,0,0,1,0,0,1,0,0\n"
            "4: .fill 100000, 1, 6\n2:\n"
            ".section .debug_abbrev\n.byte 1,0x11,0,0x11,1,0x12,7,0x10,0x17,0,0,0\n"
            ".section .debug_info\n");
    for (int i = 0; i < 100; i++) {
        fprintf(code,
                ".long 28\n.short 4\n.long 0\n.byte 8,1\n.quad forged+%d\n.quad 1\n"
                ".long table\n",
                i);
    }
    fprintf(code, ".section .note.GNU-stack,\"\",@progbits\n");
    assert_int_equal(fclose(code), 0);
    build("gcc -c forged.s && gcc -g0 " SOURCES " forged.o -o app");
    fixture_find_symbol("full", "forged", &start, &end);
    image = open_app();
    assert_true(sym_reader_lookup_address(image, start, &name));
    assert_false(sym_reader_is_bounded(image));
    for (uint64_t at = start; at < end; at++) {
        assert_true(sym_reader_lookup_address(image, at, &name));
        assert_string_equal(name.name, "forged");
    }
    assert_false(sym_reader_is_bounded(image));
    sym_reader_close(image);
}

/* 100,000 functions in a table that would take 20 MB. */
static void
symbols__more_than_memory_allows__left_out_and_said(void **state)
{
    FILE *const code = fopen(fixture_path("many.s"), "w");
    struct sym_reader *image;
    struct sym_name name;
    uint64_t start;
    uint64_t end;

    (void)state;
    assert_non_null(code);
    fprintf(code, ".text\n");
    for (int i = 0; i < 100000; i++) {
        fprintf(code, "f%d: nop\n.type f%d, @function\n.size f%d, 1\n", i, i, i);
    }
    fprintf(code, ".section .note.GNU-stack,\"\",@progbits\n");
    assert_int_equal(fclose(code), 0);
    build("gcc -c many.s && gcc -O1 -rdynamic " SOURCES " many.o -o app");
    fixture_find_symbol("full", "f77777", &start, &end);
    image = open_within(UINT64_C(8) << 20);
    assert_false(sym_reader_lookup_address(image, start, &name));
    assert_non_null(strstr(sym_reader_note(image), "symbol table"));
    assert_true(sym_reader_is_bounded(image));
    /* The dynamic table is small. */
    fixture_find_symbol("full", "main", &start, &end);
    assert_true(sym_reader_lookup_address(image, start, &name));
    assert_string_equal(name.name, "main");
    assert_true(sym_reader_has_symbols(image));
    sym_reader_close(image);

    fixture_find_symbol("full", "f77777", &start, &end);
    image = open_within(UINT64_C(64) << 20);
    assert_true(sym_reader_lookup_address(image, start, &name));
    assert_string_equal(name.name, "f77777");
    assert_string_equal(sym_reader_note(image), "");
    sym_reader_close(image);
}

#define IN_FOLDER(test) \
    cmocka_unit_test_setup_teardown(test, write_sources, fixture_remove_folder)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(frames__each_way_to_build__all_chains),
        IN_FOLDER(split__file_missing__said),
        IN_FOLDER(split__file_of_another_build__refused),
        IN_FOLDER(split__file_is_a_pipe_or_no_elf__does_not_block),
        IN_FOLDER(supplement__missing_or_of_another_build__said),
        IN_FOLDER(packed__stream_damaged__said),
        IN_FOLDER(discriminators__asked_for__of_lines_and_calls),
        IN_FOLDER(settings__no_lines__functions_alone),
        IN_FOLDER(lines__more_than_are_kept__each_right_again),
        IN_FOLDER(lines__more_than_memory_allows__function_names_and_a_note),
        IN_FOLDER(lines__one_table_of_many_units__function_names),
        IN_FOLDER(symbols__more_than_memory_allows__left_out_and_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
