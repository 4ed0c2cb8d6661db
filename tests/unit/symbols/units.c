/* SPDX-License-Identifier: MIT */
/*
 * units.c - units of debug information as no compiler of today writes them, though the
 * standard allows it: assembled here.
 */
#include "fixture.h"

#include <dwarf.h>
#include <string.h>

/* Two functions of one byte each. */
#define CODE                    \
    ".text\n"                   \
    ".globl main\n"             \
    ".type main, %function\n"   \
    "main: nop\n"               \
    ".size main, . - main\n"    \
    ".globl second\n"           \
    ".type second, %function\n" \
    "second: nop\n"             \
    ".size second, . - second\n"

/* Abbreviations: a unit with a line table (1) and one without (2), which both say where
 * they are, and a function (3), and one that is another function's code (4). */
#define ABBREVIATIONS                                                          \
    ".section .debug_abbrev, \"\", %progbits\n"                                \
    ".byte 1, 0x11, 1, 0x10, 0x17, 0x1b, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0\n" \
    ".byte 2, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0\n"                         \
    ".byte 3, 0x2e, 0, 0x03, 0x08, 0x3a, 0x0b, 0x11, 0x01, 0x12, 0x06, 0, 0\n" \
    ".byte 4, 0x2e, 0, 0x31, 0x10, 0x11, 0x01, 0x12, 0x06, 0, 0\n"             \
    ".byte 0\n"

/* Up to the root, of number, and with end, which closes the root, too. */
#define UNIT(number)                                           \
    ".section .debug_info, \"\", %progbits\n"                  \
    ".Lunit_" number ": .long .Lunit_end_" number " - . - 4\n" \
    ".short 4\n"                                               \
    ".long 0\n"                                                \
    ".byte WIDTH\n"
#define UNIT_END(number) ".byte 0\n.Lunit_end_" number ":\n"

/* Where code of one byte, or of both functions, is. */
#define AT(function) ".dc.a " function "\n.long 1\n"
#define AT_BOTH ".dc.a main\n.long 2\n"

#define UNIT_WITH_TABLE                                \
    UNIT("a")                                          \
    ".byte 1\n"                                        \
    ".long .Ltable\n"                                  \
    ".asciz \"/src\"\n" AT("main") ".Lmain: .byte 3\n" \
                                   ".asciz \"main\"\n" \
                                   ".byte 1\n" AT("main") UNIT_END("a")

/* A line table of a version, with its parameters; what follows is in its header. */
#define TABLE(version, sizes)                                   \
    ".section .debug_line, \"\", %progbits\n"                   \
    ".Ltable: .long .Ltable_end - . - 4\n"                      \
    ".short " version "\n" sizes ".long .Lheader_end - . - 4\n" \
    ".byte 1, 1, 1, -3, 12, 13\n"                               \
    ".byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1\n"
/* Main is of a file and of line 7. */
#define ROWS(file)            \
    ".byte 0, WIDTH + 1, 2\n" \
    ".dc.a main\n"            \
    ".byte 4, " file "\n"     \
    ".byte 3, 6, 1\n"         \
    ".byte 2, 1\n"            \
    ".byte 0, 1, 1\n"         \
    ".Ltable_end:\n"

/* COUNT and LANGUAGE are symbols of the text. */
static struct sym_reader *
assemble(const char *text, unsigned int count, unsigned int language)
{
    fixture_write(fixture_path("units.s"), text, strlen(text));
    fixture_build("gcc -Wa,--defsym,WIDTH=%zu,--defsym,COUNT=%u,--defsym,LANGUAGE=%u "
                  "units.s -o full",
                  sizeof(void *), count, language);
    return fixture_open(fixture_path("full"), "");
}

/* The one function at a symbol. */
static const struct sym_frame *
frame_at(struct sym_reader *image, const char *symbol)
{
    const struct sym_frame *frames;
    uint64_t start;
    uint64_t end;

    fixture_find_symbol("full", symbol, &start, &end);
    assert_int_equal(sym_reader_frames(image, start, &frames), 1);
    return frames;
}

/* The rows of a table define files behind those of its header, which alone are read for
 * where a function of another unit is defined. */
static void
file__defined_after_others_were_asked_for__found(void **state)
{
    static const char text[] = CODE ABBREVIATIONS UNIT_WITH_TABLE UNIT(
        "b") ".byte 2\n" AT("second") ".byte 4\n"
                                      ".long .Lmain\n" AT("second") UNIT_END("b")
                                          TABLE("4", "") ".byte 0\n"
                                                         ".asciz \"work.c\"\n"
                                                         ".byte 0, 0, 0\n"
                                                         ".byte 0\n"
                                                         ".Lheader_end:\n"
                                                         ".byte 0, 11, 3\n"
                                                         ".asciz \"late.c\"\n"
                                                         ".byte 0, 0, 0\n" ROWS("2");
    struct sym_reader *const image = assemble(text, 0, 0);
    const struct sym_frame *frame = frame_at(image, "second");

    (void)state;
    assert_string_equal(frame->name, "main");
    assert_string_equal(frame->definition, "/src/work.c");
    assert_int_equal(frame->line, 0);
    frame = frame_at(image, "main");
    assert_string_equal(frame->file, "/src/late.c");
    assert_int_equal(frame->line, 7);
    sym_reader_close(image);
}

/* Names in the supplementary file: such a table is not read, which the note says. */
static void
files__named_in_an_unread_form__no_lines_and_a_note(void **state)
{
    static const char text[] = CODE ABBREVIATIONS UNIT_WITH_TABLE TABLE(
        "5", ".byte WIDTH, 0\n") ".byte 1, 1, 0x08, 1\n"
                                 ".asciz \"/src\"\n"
                                 ".byte 2, 1, 0x1d, 2, 0x0b, 2\n"
                                 ".long 0\n"
                                 ".byte 0\n"
                                 ".long 0\n"
                                 ".byte 0\n"
                                 ".Lheader_end:\n" ROWS("1");
    struct sym_reader *const image = assemble(text, 0, 0);
    const struct sym_frame *frame;

    (void)state;
    assert_string_equal(sym_reader_note(image), "");
    frame = frame_at(image, "main");
    assert_string_equal(frame->name, "main");
    assert_string_equal(frame->file, "");
    assert_int_equal(frame->line, 0);
    assert_non_null(strstr(sym_reader_note(image), "/full name files in a form that"));
    assert_non_null(strstr(sym_reader_note(image), "0x1d"));
    sym_reader_close(image);
}

/* .debug_aranges has the first of two functions. */
static void
unit__without_line_table_partly_in_aranges__has_all_its_functions(void **state)
{
    static const char text[] = CODE ABBREVIATIONS UNIT(
        "a") ".byte 2\n" AT_BOTH ".byte 3\n"
             ".asciz \"main\"\n"
             ".byte 0\n" AT(
                 "main") ".byte 3\n"
                         ".asciz \"second\"\n"
                         ".byte 0\n" AT("second")
                             UNIT_END("a") ".section .debug_aranges, \"\", %progbits\n"
                                           ".long .Lset_end - . - 4\n"
                                           ".short 2\n"
                                           ".long .Lunit_a\n"
                                           ".byte WIDTH, 0\n"
                                           ".balign 2 * WIDTH\n"
                                           ".dc.a main, 1, 0, 0\n"
                                           ".Lset_end:\n";
    struct sym_reader *const image = assemble(text, 0, 0);

    (void)state;
    assert_string_equal(frame_at(image, "main")->name, "main");
    assert_string_equal(frame_at(image, "second")->name, "second");
    sym_reader_close(image);
}

/* Entries have an abbreviation code that is not its place in the table: each that is
 * read costs a call of this. */
size_t __real_sym_count_below(const void *items, size_t count, size_t item_bytes,
                              uint64_t key);
size_t __wrap_sym_count_below(const void *items, size_t count, size_t item_bytes,
                              uint64_t key);

static uint64_t searches;

size_t
__wrap_sym_count_below(const void *items, size_t count, size_t item_bytes, uint64_t key)
{
    searches++;
    return __real_sym_count_below(items, count, item_bytes, key);
}

/* Functions of one byte, each in the one before. */
static const char nested[] =
    ".text\n"
    ".globl main\n"
    ".type main, %function\n"
    "main: .fill COUNT\n"
    ".size main, . - main\n"
    ".section .debug_abbrev, \"\", %progbits\n"
    ".byte 10, 0x11, 1, 0x13, 0x0b, 0x11, 0x01, 0x12, 0x06, 0, 0\n"
    ".byte 11, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0\n"
    ".byte 0\n" UNIT("a") ".byte 10, LANGUAGE\n"
                          ".dc.a main\n"
                          ".long COUNT\n"
                          ".set number, 0\n"
                          ".rept COUNT\n"
                          ".byte 11\n"
                          ".asciz \"f\"\n"
                          ".dc.a main + number\n"
                          ".long 1\n"
                          ".set number, number + 1\n"
                          ".endr\n"
                          ".fill COUNT\n" UNIT_END("a");

/* Searches that it takes to look up all of a number of nested functions. */
static uint64_t
look_up_nested(unsigned int count, unsigned int language)
{
    struct sym_reader *const image = assemble(nested, count, language);
    uint64_t start;
    uint64_t end;

    fixture_find_symbol("full", "main", &start, &end);
    assert_int_equal(end - start, count);
    searches = 0;
    for (uint64_t at = start; at < end; at++) {
        const struct sym_frame *frames;

        assert_int_equal(sym_reader_frames(image, at, &frames), 1);
        assert_string_equal(frames[0].name + strlen(frames[0].name) - 1, "f");
    }
    sym_reader_close(image);
    return searches;
}

static void
functions__nested__work_grows_as_their_number(void **state)
{
    static const unsigned int languages[] = {DW_LANG_C11, DW_LANG_C_plus_plus_14};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const uint64_t few = look_up_nested(400, languages[i]);
        const uint64_t many = look_up_nested(800, languages[i]);

        print_message("language %u: %llu searches, %llu for twice as many\n",
                      languages[i], (unsigned long long)few, (unsigned long long)many);
        /* It would be four times as much if all were read once for each. */
        assert_true(few >= 400 && many < 3 * few);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file__defined_after_others_were_asked_for__found),
        cmocka_unit_test(files__named_in_an_unread_form__no_lines_and_a_note),
        cmocka_unit_test(
            unit__without_line_table_partly_in_aranges__has_all_its_functions),
        cmocka_unit_test(functions__nested__work_grows_as_their_number),
    };

    return cmocka_run_group_tests(tests, fixture_make_folder, fixture_remove_folder);
}
