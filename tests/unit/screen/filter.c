/* SPDX-License-Identifier: MIT */
/* filter.c - what is found by parts of names and by globs. */
#include "view/screen/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
filter_fits__table__as_said(void **state)
{
    static const struct {
        const char *filter;
        const char *name;
        bool fits;
    } rows[] = {
        {"", "", true},
        {"", "main", true},
        {"main", "main", true},
        {"ai", "main", true},
        {"main", "mai", false},
        {"aim", "main", false},
        {"aab", "aaab", true},
        {"main", "MAIN", true},
        {"Main", "MAIN", false},
        {"Main", "xMainx", true},
        {"*", "", true},
        {"?", "", false},
        {"?", "x", true},
        {"m*n", "main", true},
        {"m*n", "domain", false},
        {"*m*n", "domain", true},
        {"m??n", "main", true},
        {"m?n", "main", false},
        {"M*", "main", false},
        {"m*", "MAIN", true},
        {"std::*<int>", "std::vector<int>", true},
        {"**a**b**", "xaybz", true},
        {"*ab", "abab", true},
        {"*aab*", "aaaab", true},
        {"a*b", "ab", true},
        {"a*b", "a", false},
        {"\xc3\xa9", "caf\xc3\xa9", true},
        {"\xff", "a\xff\x01", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (tui_filter_fits(rows[i].filter, rows[i].name) != rows[i].fits) {
            fail_msg("'%s' and '%s'", rows[i].filter, rows[i].name);
        }
    }
}

/* Of a matcher that tries all ways, it would be 10^30 steps and more. */
static void
filter_fits__many_stars_and_long_name__ends(void **state)
{
    enum { SIZE = 1 << 20 };
    char *const name = malloc(SIZE + 1);

    (void)state;
    assert_non_null(name);
    memset(name, 'a', SIZE);
    name[SIZE] = '\0';
    assert_false(tui_filter_fits("*a*a*a*a*a*a*a*a*a*a*a*a*a*b", name));
    assert_true(tui_filter_fits("*a*a*a*a*a*a*a*a*a*a*a*a*a*", name));
    name[SIZE - 1] = 'b';
    assert_true(tui_filter_fits("aaaaaaaaaaaaab", name));
    free(name);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filter_fits__table__as_said),
        cmocka_unit_test(filter_fits__many_stars_and_long_name__ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
