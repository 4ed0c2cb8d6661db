/* SPDX-License-Identifier: MIT */
/* rate.c - the cost of a hit from gaps, and intervals that follow from it. */
#include "record/rate.h"
#include "record/pace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
rate_hit_ns__nothing_to_measure__0(void **state)
{
    uint64_t gaps[] = {500};

    (void)state;
    assert_int_equal(rate_hit_ns(gaps, 0, 3), 0);
    assert_int_equal(rate_hit_ns(gaps, 1, 0), 0);
}

static void
rate_hit_ns__ticks_and_preemption_too__median_of_hits(void **state)
{
    /* Five hits of 15 to 17 us, one preemption, and short gaps of caches. */
    uint64_t gaps[] = {600, 15000, 450, 16000, 4000000, 17000, 15500, 16500, 500};

    (void)state;
    assert_int_equal(rate_hit_ns(gaps, 9, 5), 16500);
}

static void
rate_hit_ns__fewer_gaps_than_hits__median_of_the_gaps(void **state)
{
    uint64_t gaps[] = {1000, 3000, 2000};

    (void)state;
    assert_int_equal(rate_hit_ns(gaps, 3, 100), 2000);
}

static struct record_options
options_of_time(void)
{
    return (struct record_options){.sources = {"time"}, .source_count = 1};
}

static void
pace_adapt__most_hits_missed__interval_doubles(void **state)
{
    const struct record_options options = options_of_time();
    const struct pace_sample few = {.expected = 100, .taken = 49, .missed = 51};
    const struct pace_sample starved = {.expected = 1000, .taken = 400, .missed = 600};
    struct pace pace = {.options = &options, .interval_100ns = 100, .hit_ns = 4000};

    (void)state;
    assert_false(pace_adapt(&pace, &few));
    assert_int_equal(pace.interval_100ns, 100);
    assert_true(pace_adapt(&pace, &starved));
    assert_int_equal(pace.interval_100ns, 200);
    assert_int_equal(pace.reason, PACE_GUARD);
    /* Only what happened since then counts. */
    assert_false(pace_adapt(&pace, &starved));
    assert_int_equal(pace.interval_100ns, 200);
}

static void
pace_adapt__guard_off_or_few_missed__interval_stays(void **state)
{
    struct record_options options = options_of_time();
    const struct pace_sample starved = {.expected = 1000, .taken = 400, .missed = 600};
    const struct pace_sample fed = {.expected = 1000, .taken = 600, .missed = 400};
    struct pace pace = {.options = &options, .interval_100ns = 100, .hit_ns = 4000};

    (void)state;
    assert_false(pace_adapt(&pace, &fed));
    options.no_guard = true;
    pace = (struct pace){.options = &options, .interval_100ns = 100, .hit_ns = 4000};
    assert_false(pace_adapt(&pace, &starved));
    assert_int_equal(pace.interval_100ns, 100);
    assert_int_equal(pace_adapts_ns(&pace), 0);
}

static void
pace_change__long_interval_or_no_guard__as_asked(void **state)
{
    struct record_options options = options_of_time();
    struct pace pace = {.options = &options, .hit_ns = 1000000};

    (void)state;
    pace_change(&pace, 1000);
    assert_int_equal(pace.interval_100ns, 1000);
    assert_int_equal(pace.reason, PACE_ASKED);
    options.no_guard = true;
    pace_change(&pace, 1);
    assert_int_equal(pace.interval_100ns, 1);
}

static void
pace_change__shorter_than_twice_the_cost__lengthened_and_described(void **state)
{
    const struct record_options options = options_of_time();
    struct pace pace = {.options = &options, .hit_ns = 16000};
    char text[256];

    (void)state;
    pace_change(&pace, 319);
    assert_int_equal(pace.interval_100ns, 320);
    assert_int_equal(pace.reason, PACE_GUARD);
    pace_describe(&pace, 320, text, sizeof(text));
    assert_memory_equal(text, "granted 31250 Hz: a hit costs 16.0 us here", 42);
    pace_change(&pace, 320);
    assert_int_equal(pace.reason, PACE_ASKED);
    pace_describe(&pace, 320, text, sizeof(text));
    assert_string_equal(
        text, "at 31250 Hz hits take about 50% of the program's time, 16.0 us "
              "each: a lower -F takes less");
    pace_describe(&pace, 3201, text, sizeof(text));
    assert_string_equal(text, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rate_hit_ns__nothing_to_measure__0),
        cmocka_unit_test(rate_hit_ns__ticks_and_preemption_too__median_of_hits),
        cmocka_unit_test(rate_hit_ns__fewer_gaps_than_hits__median_of_the_gaps),
        cmocka_unit_test(pace_adapt__most_hits_missed__interval_doubles),
        cmocka_unit_test(pace_adapt__guard_off_or_few_missed__interval_stays),
        cmocka_unit_test(pace_change__long_interval_or_no_guard__as_asked),
        cmocka_unit_test(
            pace_change__shorter_than_twice_the_cost__lengthened_and_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
