/* SPDX-License-Identifier: MIT */
/* What a table of options takes into the arguments of a command, and its help. */
#include "base/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct shared {
    const char *name;
    size_t rows;
};

struct arguments {
    bool quiet;
    struct shared shared;
};

static const struct options_row shared_rows[] = {
    {.help = "Of both:"},
    {"name", 'n', "NAME", "what it is called", NULL, OPTIONS_TEXT(struct shared, name)},
    {"rows", 0, "N", "0 for all", NULL,
     OPTIONS_INTO(options_take_count_or_all, struct shared, rows)},
    {0},
};

static const struct options_row own_rows[] = {
    {"quiet", 'q', NULL, "say nothing", NULL, OPTIONS_FLAG(struct arguments, quiet)},
    {"a-very-long-option", 0, "[=VALUE]",
     "its text begins behind it and goes on in the column of all the others", NULL,
     OPTIONS_TEXT(struct arguments, shared.name)},
    {0},
};

static const struct options_syntax syntax = {
    .command = "test",
    .help = "usage: test\n",
    .help_end = "The end.\n",
    .groups = {{own_rows, 0}, {shared_rows, offsetof(struct arguments, shared)}},
    .words_max = 2,
};

static bool
take(struct arguments *arguments, char *one, char *two, struct options_words *words)
{
    char test[] = "test";
    char word[] = "word";
    char *argv[] = {test, word, one, two, NULL};
    int status;

    *arguments = (struct arguments){0};
    return options_take(&syntax, two != NULL ? 4 : 3, argv, arguments, words, &status);
}

static void
option__of_a_shared_group__is_in_its_part_of_the_arguments(void **state)
{
    char name[] = "-nx";
    char rows[] = "--rows=7";
    struct arguments arguments;
    struct options_words words;

    (void)state;
    assert_true(take(&arguments, name, rows, &words));
    assert_string_equal(arguments.shared.name, "x");
    assert_int_equal(arguments.shared.rows, 7);
    assert_false(arguments.quiet);
    assert_int_equal(words.count, 1);
}

static void
option__without_a_value__sets_its_flag_alone(void **state)
{
    char quiet[] = "-q";
    struct arguments arguments;
    struct options_words words;

    (void)state;
    assert_true(take(&arguments, quiet, NULL, &words));
    assert_true(arguments.quiet);
    assert_null(arguments.shared.name);
    assert_int_equal(arguments.shared.rows, 0);
}

static void
option__with_an_optional_value__takes_no_word(void **state)
{
    char option[] = "--a-very-long-option";
    char word[] = "another";
    struct arguments arguments;
    struct options_words words;

    (void)state;
    assert_true(take(&arguments, option, word, &words));
    assert_null(arguments.shared.name);
    assert_int_equal(words.count, 2);
}

static void
value__that_is_no_number__is_refused(void **state)
{
    char rows[] = "--rows=x";
    struct arguments arguments;
    struct options_words words;

    (void)state;
    assert_false(take(&arguments, rows, NULL, &words));
}

static void
help__of_a_table__has_a_line_an_option_and_headings(void **state)
{
    static const char expected[] =
        "usage: test\n"
        "\n"
        "  -q, --quiet              say nothing\n"
        "      --a-very-long-option[=VALUE]   its text begins behind it and goes on "
        "in\n"
        "                           the column of all the others\n"
        "\n"
        "Of both:\n"
        "  -n, --name NAME          what it is called\n"
        "      --rows N             0 for all\n"
        "\n"
        "The end.\n";
    char *text = NULL;
    size_t size;
    FILE *const out = open_memstream(&text, &size);

    (void)state;
    options_print_help(out, &syntax);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(option__of_a_shared_group__is_in_its_part_of_the_arguments),
        cmocka_unit_test(option__without_a_value__sets_its_flag_alone),
        cmocka_unit_test(option__with_an_optional_value__takes_no_word),
        cmocka_unit_test(value__that_is_no_number__is_refused),
        cmocka_unit_test(help__of_a_table__has_a_line_an_option_and_headings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
