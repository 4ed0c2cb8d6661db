/* SPDX-License-Identifier: MIT */
/* pause.c - statistics without the time in which counting was paused. */
#include "record/collect/pause.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static ntprof_source_info
statistics(uint64_t counted, uint64_t outside, uint64_t missed, uint64_t unfinished)
{
    const uint64_t taken = counted + outside;

    return (ntprof_source_info){
        .size = sizeof(ntprof_source_info),
        .interval_granted = 10,
        .interval_measured = taken > 0 ? 10.0 : 0,
        .expected = taken + missed + unfinished,
        .taken = taken,
        .counted = counted,
        .outside = outside,
        .missed = missed,
        .unfinished = unfinished,
    };
}

static void
assert_adds_up(const ntprof_source_info *info)
{
    assert_int_equal(info->taken, info->counted + info->outside);
    assert_int_equal(info->expected, info->taken + info->lost + info->throttled +
                                         info->missed + info->unfinished +
                                         info->excluded);
}

static void
pause_apply__never_paused__statistics_unchanged(void **state)
{
    const struct pause pause = {0};
    const ntprof_source_info before = statistics(100, 5, 3, 2);
    ntprof_source_info info = before;

    (void)state;
    pause_apply(&pause, &info);
    assert_memory_equal(&info, &before, sizeof(info));
}

static void
pause_apply__paused__statistics_of_the_pause_s_begin(void **state)
{
    struct pause pause = {0};
    const ntprof_source_info begin = statistics(100, 5, 3, 2);
    ntprof_source_info info = statistics(900, 50, 30, 1);

    (void)state;
    pause_begin(&pause, &begin);
    info.interval_granted = 20;
    pause_apply(&pause, &info);
    assert_int_equal(info.counted, 100);
    assert_int_equal(info.outside, 5);
    assert_int_equal(info.missed, 3);
    assert_int_equal(info.unfinished, 2);
    assert_int_equal(info.interval_granted, 20);
    assert_adds_up(&info);
}

static void
pause_apply__after_two_pauses__neither_is_in_it(void **state)
{
    struct pause pause = {0};
    const ntprof_source_info begins[] = {statistics(0, 0, 0, 0),
                                         statistics(70, 2, 0, 1)};
    const ntprof_source_info ends[] = {statistics(50, 1, 0, 0),
                                       statistics(1070, 2, 0, 1)};
    ntprof_source_info info = statistics(1075, 3, 0, 1);

    (void)state;
    for (int i = 0; i < 2; i++) {
        pause_begin(&pause, &begins[i]);
        pause_end(&pause, &ends[i]);
    }
    info.interval_measured = 10.0;
    pause_apply(&pause, &info);
    assert_int_equal(info.counted, 25);
    assert_int_equal(info.outside, 2);
    assert_int_equal(info.unfinished, 1);
    assert_true(info.interval_measured > 9.99 && info.interval_measured < 10.01);
    assert_adds_up(&info);
}

/* What seemed missed may turn out to be unfinished later. */
static void
pause_apply__part_became_smaller__not_below_0_and_adds_up(void **state)
{
    struct pause pause = {0};
    const ntprof_source_info begin = statistics(10, 0, 9, 0);
    const ntprof_source_info end = statistics(20, 0, 30, 2);
    ntprof_source_info info = statistics(25, 0, 3, 29);

    (void)state;
    pause_begin(&pause, &begin);
    pause_end(&pause, &end);
    pause_apply(&pause, &info);
    assert_int_equal(info.counted, 15);
    assert_int_equal(info.missed, 0);
    assert_int_equal(info.unfinished, 27);
    assert_adds_up(&info);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pause_apply__never_paused__statistics_unchanged),
        cmocka_unit_test(pause_apply__paused__statistics_of_the_pause_s_begin),
        cmocka_unit_test(pause_apply__after_two_pauses__neither_is_in_it),
        cmocka_unit_test(pause_apply__part_became_smaller__not_below_0_and_adds_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
