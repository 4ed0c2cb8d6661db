/* SPDX-License-Identifier: MIT */
/* statistics.c - hits expected, taken and not taken always add up. */
#include "cmocka_all.h"

#include "hal/linux/statistics.h"

static void
settle__rows__add_up(void **state)
{
    static const struct {
        uint64_t events;
        uint64_t lost;
        uint64_t throttled_ns;
        uint64_t taken;
        bool kernel;
        struct {
            ULONG64 Events, Expected, Lost, Throttled, Missed, Unfinished, Excluded;
        } statistics;
    } rows[] = {
        /* events lost throttled taken kernel -> events expected lost throttled missed
         * unfin. excl. */
        {0, 0, 0, 0, true, {0, 0, 0, 0, 0, 0, 0}},
        {100000, 0, 0, 100, true, {100000, 100, 0, 0, 0, 0, 0}},
        {100999, 0, 0, 100, true, {100999, 100, 0, 0, 0, 0, 0}},
        {100000, 0, 0, 90, true, {100000, 100, 0, 0, 10, 0, 0}},
        {100000, 0, 0, 90, false, {100000, 100, 0, 0, 0, 0, 10}},
        {100000, 7, 0, 90, true, {100000, 100, 7, 0, 3, 0, 0}},
        {100000, 0, 20000, 100, true, {120000, 120, 0, 20, 0, 0, 0}},
        {100000, 5, 20000, 90, false, {120000, 120, 5, 20, 0, 0, 5}},
        /* more than expected: periods that had begun */
        {99000, 0, 0, 100, true, {99000, 100, 0, 0, 0, 0, 0}},
        {99000, 5, 3000, 100, true, {102000, 103, 0, 3, 0, 0, 0}},
        /* more lost than hits there can have been: records of mappings */
        {100000, 5000, 0, 90, true, {100000, 100, 10, 0, 0, 0, 0}},
        {100000, 5000, 20000, 90, true, {120000, 120, 10, 20, 0, 0, 0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct perf_tally tally = {.lost = rows[i].lost,
                                         .throttled_ns = rows[i].throttled_ns};
        const struct perf_counts open = {.events = rows[i].events,
                                         .running_ns = rows[i].events};
        HAL_SOURCE_STATISTICS statistics;

        perf_statistics_add_up(&tally, &open, 1000, true, rows[i].taken, rows[i].kernel,
                               &statistics);
        assert_int_equal(statistics.Events, rows[i].statistics.Events);
        assert_int_equal(statistics.Expected, rows[i].statistics.Expected);
        assert_int_equal(statistics.Lost, rows[i].statistics.Lost);
        assert_int_equal(statistics.Throttled, rows[i].statistics.Throttled);
        assert_int_equal(statistics.Missed, rows[i].statistics.Missed);
        assert_int_equal(statistics.Unfinished, rows[i].statistics.Unfinished);
        assert_int_equal(statistics.Excluded, rows[i].statistics.Excluded);
        assert_int_equal(statistics.Expected,
                         rows[i].taken + statistics.Lost + statistics.Throttled +
                             statistics.Missed + statistics.Unfinished +
                             statistics.Excluded);
    }
}

static void
settle__threads_that_ended__unfinished_before_missed(void **state)
{
    const struct perf_tally tally = {.instances = 4};
    const struct perf_counts open = {.events = 100000, .running_ns = 100000};
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    perf_statistics_add_up(&tally, &open, 1000, true, 97, true, &statistics);
    assert_int_equal(statistics.Unfinished, 3);
    assert_int_equal(statistics.Missed, 0);
    perf_statistics_add_up(&tally, &open, 1000, true, 90, true, &statistics);
    assert_int_equal(statistics.Unfinished, 4);
    assert_int_equal(statistics.Missed, 6);

    /* Each event is a hit: nothing can be unfinished. */
    perf_statistics_add_up(&tally, &open, 1, false, 99997, true, &statistics);
    assert_int_equal(statistics.Unfinished, 0);
    assert_int_equal(statistics.Missed, 3);

    /* Events other than the clock do not count in kernel mode when no hit may be made
     * there. */
    perf_statistics_add_up(&tally, &open, 1000, false, 90, false, &statistics);
    assert_int_equal(statistics.Unfinished, 4);
    assert_int_equal(statistics.Missed, 6);
    assert_int_equal(statistics.Excluded, 0);
}

static void
settle__after_change_of_interval__each_stretch_by_its_own(void **state)
{
    struct perf_tally tally = {.events = 500, .lost = 1};
    const struct perf_counts first = {.events = 9500};
    const struct perf_counts second = {.events = 10000, .lost = 2};
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    perf_tally_close_period(&tally, &first, 100, true);
    assert_int_equal(tally.events, 0);
    perf_statistics_add_up(&tally, &second, 1000, true, 100, true, &statistics);
    assert_int_equal(statistics.Events, 20000);
    assert_int_equal(statistics.Expected, 110);
    assert_int_equal(statistics.Lost, 3);
    assert_int_equal(statistics.Missed, 7);
}

static void
throttled__other_than_time__by_the_rate_of_events(void **state)
{
    /* 1000000 events in 2 ms, then 1 ms of silence: 500000 events more, at 1000 each.
     */
    const struct perf_tally tally = {.throttled_ns = 1000000};
    const struct perf_counts open = {.events = 1000000, .running_ns = 2000000};
    const struct perf_counts still = {.events = 0, .running_ns = 0};
    const struct perf_counts huge = {.events = UINT64_MAX, .running_ns = 1};
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    perf_statistics_add_up(&tally, &open, 1000, false, 1000, true, &statistics);
    assert_int_equal(statistics.Events, 1500000);
    assert_int_equal(statistics.Throttled, 500);
    assert_int_equal(statistics.Expected, 1500);
    perf_statistics_add_up(&tally, &still, 1000, false, 0, true, &statistics);
    assert_int_equal(statistics.Throttled, 0);
    perf_statistics_add_up(&tally, &huge, 1000, false, 0, true, &statistics);
    assert_int_equal(statistics.Events, UINT64_MAX);
    assert_int_equal(statistics.Throttled, UINT64_MAX / 1000);
}

/* A person gets the rate of Events to taken: the hits not taken must explain it. */
static void
events__hits_not_passed_on__not_in_them(void **state)
{
    const struct perf_tally tally = {
        .discarded = 20, .discarded_events = 20000, .throttled_ns = 30000};
    const struct perf_tally all = {.discarded = 200, .discarded_events = 200000};
    const struct perf_counts open = {.events = 100000, .running_ns = 100000};
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    perf_statistics_add_up(&tally, &open, 1000, true, 70, true, &statistics);
    assert_int_equal(statistics.Events, 110000);
    assert_int_equal(statistics.Expected, 110);
    assert_int_equal(statistics.Throttled, 30);
    assert_int_equal(statistics.Missed, 10);
    perf_statistics_add_up(&all, &open, 1000, true, 0, true, &statistics);
    assert_int_equal(statistics.Events, 0);
    assert_int_equal(statistics.Expected, 0);
}

/* They were made by events of the shorter interval: those of the longer one are all in
 * the statistics. */
static void
events__hits_not_passed_on_before_a_longer_interval__by_their_own(void **state)
{
    struct perf_tally tally = {.discarded = 20, .discarded_events = 2000};
    const struct perf_counts first = {.events = 12000};
    const struct perf_counts second = {.events = 100000};
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    perf_tally_close_period(&tally, &first, 100, true);
    perf_statistics_add_up(&tally, &second, 1000, true, 200, true, &statistics);
    assert_int_equal(statistics.Events, 110000);
    assert_int_equal(statistics.Expected, 200);
}

static void
throttles__begin_and_end__time_between(void **state)
{
    struct perf_throttles throttles = {0};
    struct perf_tally tally = {0};

    (void)state;
    perf_throttles_begin(&throttles, 1, 1000, &tally);
    perf_throttles_begin(&throttles, 2, 2000, &tally);
    perf_throttles_end(&throttles, 1, 4000);
    assert_int_equal(tally.throttled_ns, 3000);
    perf_throttles_end(&throttles, 1, 9000); /* told twice */
    perf_throttles_end(&throttles, 7, 9000); /* never begun */
    assert_int_equal(tally.throttled_ns, 3000);
    perf_throttles_end(&throttles, 2, 1000); /* out of order */
    assert_int_equal(tally.throttled_ns, 3000);
    assert_int_equal(throttles.count, 0);
    perf_throttles_finish(&throttles);
}

/* The kernel writes no UNTHROTTLE if the event is stopped meanwhile. */
static void
throttles__begun_twice__time_counts_once(void **state)
{
    struct perf_tally tally = {0};
    struct perf_throttles throttles = {0};

    (void)state;
    perf_throttles_begin(&throttles, 1, 1000, &tally);
    perf_throttles_begin(&throttles, 1, 3000, &tally);
    assert_int_equal(throttles.count, 1);
    assert_int_equal(tally.throttled_ns, 2000);
    perf_throttles_end(&throttles, 1, 6000);
    assert_int_equal(throttles.count, 0);
    assert_int_equal(tally.throttled_ns, 5000);
    perf_throttles_expire(&throttles, UINT64_MAX);
    assert_int_equal(tally.throttled_ns, 5000);
    perf_throttles_finish(&throttles);
}

static void
throttles__end_never_shows__counts_the_longest(void **state)
{
    struct perf_throttles throttles = {0};
    struct perf_tally tally = {0};

    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        perf_throttles_begin(&throttles, i, 1000, &tally);
    }
    perf_throttles_expire(&throttles, 1000 + PERF_THROTTLE_MAX_NS);
    assert_int_equal(throttles.count, 100);
    perf_throttles_expire(&throttles, 1001 + PERF_THROTTLE_MAX_NS);
    assert_int_equal(throttles.count, 0);
    assert_int_equal(tally.throttled_ns, 100 * (uint64_t)PERF_THROTTLE_MAX_NS);
    perf_throttles_begin(&throttles, 1, 1000, &tally);
    perf_throttles_end(&throttles, 1, UINT64_MAX);
    assert_int_equal(tally.throttled_ns, 101 * (uint64_t)PERF_THROTTLE_MAX_NS);
    perf_throttles_finish(&throttles);
}

/* A processor's clock that stood still for as long as others tell by records. */
static void
settle__clock_that_stood_still__throttled(void **state)
{
    const struct perf_tally tally = {.throttled_ns = 5000};
    const struct perf_counts open = {
        .events = 100000, .running_ns = 120000, .silent_ns = 20000};
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    perf_statistics_add_up(&tally, &open, 1000, true, 90, true, &statistics);
    assert_int_equal(statistics.Expected, 125);
    assert_int_equal(statistics.Throttled, 25);
    assert_int_equal(statistics.Missed, 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settle__rows__add_up),
        cmocka_unit_test(settle__threads_that_ended__unfinished_before_missed),
        cmocka_unit_test(settle__after_change_of_interval__each_stretch_by_its_own),
        cmocka_unit_test(settle__clock_that_stood_still__throttled),
        cmocka_unit_test(throttled__other_than_time__by_the_rate_of_events),
        cmocka_unit_test(events__hits_not_passed_on__not_in_them),
        cmocka_unit_test(
            events__hits_not_passed_on_before_a_longer_interval__by_their_own),
        cmocka_unit_test(throttles__begin_and_end__time_between),
        cmocka_unit_test(throttles__begun_twice__time_counts_once),
        cmocka_unit_test(throttles__end_never_shows__counts_the_longest),
    };

    return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}
