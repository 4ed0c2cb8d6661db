/* SPDX-License-Identifier: MIT */
/* process_stat.c - fields behind a name that looks like some. */
#include "base/process_stat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
field__behind_a_name_with_parentheses__by_its_number(void **state)
{
    static const char text[] = "12 (a) R 1 (b c) S 4 5 6 7\n";

    (void)state;
    assert_string_equal(process_stat_field(text, PROCESS_STAT_STATE), "S 4 5 6 7\n");
    assert_int_equal(atoi(process_stat_field(text, 5)), 5);
    assert_string_equal(process_stat_field(text, 7), "7\n");
    assert_null(process_stat_field(text, 8));
}

static void
field__of_no_such_text__none(void **state)
{
    static const char *const texts[] = {"", "12", "12 (a", "12 (a)"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_null(process_stat_field(texts[i], PROCESS_STAT_STATE));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(field__behind_a_name_with_parentheses__by_its_number),
        cmocka_unit_test(field__of_no_such_text__none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
