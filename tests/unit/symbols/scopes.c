/* SPDX-License-Identifier: MIT */
/*
 * scopes.c - functions without a linkage name are qualified by what they are in, as
 * each compiler writes it down.
 */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

static const char source[] =
    "#define LOOP(n, step) for (unsigned i = 0; i < (n); i++) { step; }\n"
    "volatile unsigned sink;\n"
    "template <class F> inline __attribute__((always_inline)) unsigned "
    "repeat(unsigned n, F f) { unsigned s = 1; LOOP(n, s += f(s)) return s; }\n"
    "namespace { struct Work { unsigned k; unsigned run(unsigned x) const "
    "{ LOOP(x, x = x * k + sink) return x; } }; }\n"
    "namespace app { namespace { unsigned helper(unsigned x) "
    "{ LOOP(x, x ^= sink + i) return x; } }\n"
    "struct Job { unsigned go(unsigned x); static unsigned all(const char *text); };\n"
    "__attribute__((noinline)) unsigned Job::go(unsigned x) {\n"
    "    auto first = [](unsigned y) { LOOP(y, y += sink * 3) return y; };\n"
    "    auto second = [](unsigned y) { LOOP(y, y -= sink * 5) return y; };\n"
    "    struct Local { static unsigned inside(unsigned z) "
    "{ LOOP(z, z |= sink - 7) return z; } };\n"
    "    return repeat(x, first) + repeat(x + 1, second) + Local::inside(x) + "
    "helper(x); } }\n"
    "extern \"C\" __attribute__((noinline)) unsigned plain(unsigned x) {\n"
    "    Work w{x}; return w.run(x) + app::Job().go(x); }\n"
    "int main(int argc, char **argv) { (void)argv; "
    "auto local = [=](int a, const char *b) { LOOP(a, sink += argc * *b) return a; };\n"
    "    return plain(argc) + local(argc, argv[0]); }\n";

static int
write_source(void **state)
{
    if (fixture_make_folder(state) != 0) {
        return -1;
    }
    fixture_write(fixture_path("a.cc"), source, strlen(source));
    return 0;
}

/* expectation - a function that is inlined somewhere, and where it is defined. */
struct expectation {
    const char *name;
    const char *other; /* as another compiler calls it; NULL: as this one does */
    uint32_t line;
};

static const struct expectation expected[] = {
    {"(anonymous namespace)::Work::run", "(anonymous namespace)::Work::run(unsigned",
     4},
    {"app::(anonymous namespace)::helper",
     "app::(anonymous namespace)::helper(unsigned", 5},
    {"app::Job::go(unsigned int)::<lambda(unsigned int)>::operator()",
     "app::Job::go(unsigned int)::$_0::operator()", 8},
    {"app::Job::go(unsigned int)::<lambda(unsigned int)>::operator()",
     "app::Job::go(unsigned int)::$_1::operator()", 9},
    {"app::Job::go(unsigned int)::Local::inside",
     "app::Job::go(unsigned int)::Local::inside(unsigned", 10},
    {"main(int, char**)::<lambda(int, const char*)>::operator()",
     "main::$_2::operator()", 14},
};

static bool
begins_with(const char *text, const char *start)
{
    return start != NULL && strncmp(text, start, strlen(start)) == 0;
}

static bool
is_seen(struct sym_reader *image, const struct expectation *row)
{
    for (uint64_t at = 0; at < 0x3000; at++) {
        const struct sym_frame *frames;
        const size_t count = sym_reader_frames(image, at, &frames);

        for (size_t i = 0; i < count; i++) {
            if ((begins_with(frames[i].name, row->name) ||
                 begins_with(frames[i].name, row->other)) &&
                frames[i].start_line == row->line &&
                strstr(frames[i].definition, "/a.cc") != NULL) {
                return true;
            }
        }
    }
    return false;
}

static const struct {
    const char *name;
    const char *needs;
    const char *command;
} builds[] = {
    {"g++", "g++", "g++ -g -O2 a.cc -o full"},
    {"g++, version 4", "g++", "g++ -gdwarf-4 -O2 a.cc -o full"},
    {"g++, split", "g++", "g++ -gsplit-dwarf -g -O2 -c a.cc && g++ a.o -o full"},
    {"g++, link-time optimisation", "g++", "g++ -g -O2 -flto a.cc -o full"},
    {"g++, dwz", "dwz", "g++ -g -O2 a.cc -o full && dwz full"},
    {"clang++", "clang++", "clang++ -g -O2 a.cc -o full"},
};

static void
names__each_compiler__have_their_scopes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
        struct sym_reader *image;

        if (!fixture_can_build(builds[i].name, builds[i].needs)) {
            continue;
        }
        fixture_build("%s", builds[i].command);
        image = fixture_open(fixture_path("full"), "");
        for (size_t k = 0; k < sizeof(expected) / sizeof(expected[0]); k++) {
            if (!is_seen(image, &expected[k])) {
                fail_msg("%s: there is no %s of line %u", builds[i].name,
                         expected[k].name, expected[k].line);
            }
        }
        sym_reader_close(image);
    }
}

/* The symbol names the outermost function, and C has no scopes. */
static void
names__of_c__stay(void **state)
{
    static const char text[] =
        "volatile int sink;\n"
        "struct s { int a; };\n"
        "static inline __attribute__((always_inline)) int inner(int x) "
        "{ return x * sink; }\n"
        "int outer(int x) { int nested(int y) { return y + inner(x); } "
        "return nested(x) + inner(3); }\n"
        "int main(void) { return outer(3); }\n";
    struct sym_reader *image;
    uint64_t start;
    uint64_t end;

    (void)state;
    fixture_write(fixture_path("c.c"), text, strlen(text));
    fixture_build("gcc -g -O2 c.c -o full");
    image = fixture_open(fixture_path("full"), "");
    fixture_find_symbol("full", "outer", &start, &end);
    for (uint64_t at = start; at < end; at++) {
        const struct sym_frame *frames;
        const size_t count = sym_reader_frames(image, at, &frames);

        for (size_t i = 0; i < count; i++) {
            assert_null(strstr(frames[i].name, "::"));
        }
    }
    sym_reader_close(image);
}

/* Forged entries: the next one of each block is its own first child, so that who goes
 * into blocks and on to the next ones would come to the last block 2^64 times. */
static const char blocks[] = ".text\n"
                             ".globl main\n"
                             ".type main, %function\n"
                             "main: nop\n"
                             ".Lsecond: nop\n"
                             ".Lend: .size main, . - main\n"
                             ".section .debug_abbrev, \"\", %progbits\n"
                             /* a unit: where it begins and ends */
                             ".byte 1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0\n"
                             /* a function: the same, and its name */
                             ".byte 2, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06\n"
                             ".byte 0, 0\n"
                             /* a block: the next entry */
                             ".byte 3, 0x0b, 1, 0x01, 0x13, 0, 0, 0\n"
                             ".section .debug_info, \"\", %progbits\n"
                             ".Lunit: .long .Lunit_end - . - 4\n"
                             ".short 4\n"
                             ".long 0\n"
                             ".byte WIDTH, 1\n"
                             ".dc.a main\n"
                             ".long .Lend - main\n"
                             ".byte 2\n"
                             ".asciz \"before\"\n"
                             ".dc.a main\n"
                             ".long .Lsecond - main\n"
                             ".rept 64\n"
                             ".byte 3\n"
                             ".long . + 4 - .Lunit\n"
                             ".endr\n"
                             ".byte 2\n"
                             ".asciz \"inside\"\n"
                             ".dc.a .Lsecond\n"
                             ".long .Lend - .Lsecond\n"
                             ".fill 65\n"
                             ".Lunit_end:\n";

static void
entries__lead_back_to_children__visited_once(void **state)
{
    const struct sym_frame *frames;
    struct sym_reader *image;
    uint64_t start;
    uint64_t end;

    (void)state;
    fixture_write(fixture_path("blocks.s"), blocks, strlen(blocks));
    fixture_build("gcc -Wa,--defsym,WIDTH=%zu blocks.s -o full", sizeof(void *));
    image = fixture_open(fixture_path("full"), "");
    fixture_find_symbol("full", "main", &start, &end);
    assert_int_equal(sym_reader_frames(image, start, &frames), 1);
    assert_string_equal(frames[0].name, "before");
    assert_int_equal(sym_reader_frames(image, end - 1, &frames), 1);
    assert_string_equal(frames[0].name, "inside");
    sym_reader_close(image);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names__each_compiler__have_their_scopes),
        cmocka_unit_test(names__of_c__stay),
        cmocka_unit_test(entries__lead_back_to_children__visited_once),
    };

    return cmocka_run_group_tests(tests, write_source, fixture_remove_folder);
}
