/* SPDX-License-Identifier: MIT */
/* breakpoint.c - breakpoints that fire, and those that never do. */
#include "breakpoints.h"
#include "never_fire.h"

#include "hal/linux/breakpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
fire__machine_where_they_never_do__the_first_answer_stays(void **state)
{
    struct perf_breakpoints breakpoints = {0};

    (void)state;
    never_fire = true;
    assert_false(perf_breakpoints_fire(&breakpoints));
    never_fire = false;
    assert_false(perf_breakpoints_fire(&breakpoints));
}

static void
fire__machine_where_they_do__true(void **state)
{
    struct perf_breakpoints breakpoints = {0};

    never_fire = false;
    need_breakpoints();

    (void)state;
    assert_true(perf_breakpoints_fire(&breakpoints));
    assert_true(breakpoints.tried);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fire__machine_where_they_never_do__the_first_answer_stays),
        cmocka_unit_test(fire__machine_where_they_do__true),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
