/* SPDX-License-Identifier: MIT */
#include "view/report/fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What fit_print writes; the caller frees it. */
static char *
printed(enum fit_kind kind, size_t width, int terminal, const char *text, bool last)
{
    char *shown = NULL;
    size_t size;
    FILE *const out = open_memstream(&shown, &size);

    assert_non_null(out);
    fit_print(out, kind, width, terminal, text, last);
    assert_int_equal(fclose(out), 0);
    return shown;
}

static void
fit_settle__terminal_of_each_width__row_is_one_line_or_all_are_least(void **state)
{
    (void)state;
    for (int terminal = 1; terminal < 400; terminal++) {
        size_t widths[] = {7, 300, 40, 150, 18};
        static const enum fit_kind kinds[] = {FIT_NUMBER, FIT_FUNCTION, FIT_NAME,
                                              FIT_PATH, FIT_ADDRESS};
        struct fit fit = {0};
        size_t line = 0;

        for (size_t i = 0; i < 5; i++) {
            fit_add(&fit, kinds[i], &widths[i]);
        }
        fit_settle(&fit, terminal);
        for (size_t i = 0; i < 5; i++) {
            line += widths[i] + (i < 4 ? FIT_GAP : 0);
        }
        assert_int_equal(widths[0], 7);
        assert_int_equal(widths[4], 18);
        if (line > (size_t)terminal) {
            assert_int_equal(widths[1], 20);
            assert_int_equal(widths[2], 12);
            assert_int_equal(widths[3], 12);
        } else {
            assert_true(line == (size_t)terminal);
        }
    }
}

static void
fit_settle__room_for_all__nothing_changes(void **state)
{
    size_t widths[] = {7, 30, 9};
    struct fit fit = {0};

    (void)state;
    fit_add(&fit, FIT_NUMBER, &widths[0]);
    fit_add(&fit, FIT_FUNCTION, &widths[1]);
    fit_add(&fit, FIT_NAME, &widths[2]);
    fit_settle(&fit, 50);
    assert_int_equal(widths[0], 7);
    assert_int_equal(widths[1], 30);
    assert_int_equal(widths[2], 9);
}

static void
fit_settle__no_terminal_or_huge_names__padding_is_bounded(void **state)
{
    size_t widths[] = {SIZE_MAX / 4, SIZE_MAX / 4, SIZE_MAX / 4};
    struct fit fit = {0};

    (void)state;
    fit_add(&fit, FIT_ADDRESS, &widths[0]);
    fit_add(&fit, FIT_FUNCTION, &widths[1]);
    fit_add(&fit, FIT_PATH, &widths[2]);
    fit_settle(&fit, 0);
    assert_int_equal(widths[0], 100);
    assert_int_equal(widths[1], 60);
    assert_int_equal(widths[2], 100);
    widths[1] = SIZE_MAX / 4;
    fit_settle(&fit, 200);
    assert_int_equal(widths[0] + widths[1] + widths[2] + 2 * FIT_GAP, 200);
}

static void
fit_print__each_kind__cut_on_a_terminal_alone(void **state)
{
    static const struct {
        enum fit_kind kind;
        size_t width;
        int terminal;
        bool last;
        const char *text, *shown;
    } rows[] = {
        {FIT_NUMBER, 5, 80, false, "12", "   12  "},
        {FIT_NUMBER, 5, 80, false, "1234567", "1234567  "},
        {FIT_ADDRESS, 4, 80, false, "0x12345", "0x12345  "},
        {FIT_FUNCTION, 8, 80, false, "multiply", "multiply  "},
        {FIT_FUNCTION, 7, 80, false, "multiply", "mu...ly  "},
        {FIT_NAME, 7, 80, true, "multiply", "mult..."},
        {FIT_PATH, 7, 80, true, "multiply", "...iply"},
        {FIT_PATH, 5, 80, true, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa9\xc3\xa8",
         "...\xc3\xa9\xc3\xa8"},
        {FIT_NAME, 5, 80, true, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa9\xc3\xa8",
         "\xc3\xa4\xc3\xb6..."},
        {FIT_FUNCTION, 7, 0, false, "multiply", "multiply  "},
        {FIT_NAME, 10, 0, false, "multiply", "multiply    "},
        {FIT_NAME, 10, 0, true, "multiply", "multiply"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *const shown = printed(rows[i].kind, rows[i].width, rows[i].terminal,
                                    rows[i].text, rows[i].last);

        assert_string_equal(shown, rows[i].shown);
        free(shown);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            fit_settle__terminal_of_each_width__row_is_one_line_or_all_are_least),
        cmocka_unit_test(fit_settle__room_for_all__nothing_changes),
        cmocka_unit_test(fit_settle__no_terminal_or_huge_names__padding_is_bounded),
        cmocka_unit_test(fit_print__each_kind__cut_on_a_terminal_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
