/* SPDX-License-Identifier: MIT */
/* without_curses.c - what an ntprof that was built without curses says. */
#include "view/screen/display.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
display__built_without_curses__says_what_to_install(void **state)
{
    char why[200] = "";
    char again[200] = "";

    (void)state;
    assert_false(tui_display_check(why, sizeof(why)));
    assert_non_null(strstr(why, "without ncurses"));
    assert_non_null(strstr(why, "libncurses-dev"));
    assert_null(strchr(why, '\n'));
    assert_null(tui_display_open(again, sizeof(again)));
    assert_string_equal(again, why);
    tui_display_close(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(display__built_without_curses__says_what_to_install),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
