/* SPDX-License-Identifier: MIT */
/* source.c - names, limits and kernel events of the sources. */
#include "cmocka_all.h"

#include "hal/linux/source.h"

#include <errno.h>
#include <string.h>

static int
setup(void **state)
{
    static struct perf_sources sources;

    *state = &sources;
    return perf_sources_init(&sources, 100000);
}

static int
teardown(void **state)
{
    perf_sources_finish(*state);
    return 0;
}

static void
lookup__names__found_whatever_the_case(void **state)
{
    static const struct {
        const char *text;
        KPROFILE_SOURCE number;
    } rows[] = {
        {"time", 0},
        {"ProfileTime", 0},
        {"PROFILETIME", 0},
        {"Time", 0},
        {"alignment-faults", 1},
        {"instructions", 2},
        {"stalled-cycles-frontend", 3},
        {"stalled-cycles-backend", 5},
        {"branches", 6},
        {"l1d-misses", 8},
        {"l1i-misses", 9},
        {"cache-misses", 10},
        {"branch-misses", 11},
        {"cycles", 19},
        {"profiletotalcycles", 19},
        {"l1i-loads", 20},
        {"l1d-loads", 21},
        {"page-faults", 0x1000},
        {"minor-faults", 0x1001},
        {"major-faults", 0x1002},
        {"context-switches", 0x1003},
        {"migrations", 0x1004},
    };
    struct perf_sources *sources = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct perf_source *source = NULL;

        assert_int_equal(perf_sources_lookup(sources, rows[i].text, &source), 0);
        assert_int_equal(source->number, rows[i].number);
        assert_ptr_equal(perf_sources_find(sources, rows[i].number), source);
    }
}

static void
lookup__no_such_name__output_untouched(void **state)
{
    static const char *const texts[] = {"",           "tim", "timex",
                                        "breakpoint", "raw", "ProfileMaximum"};
    struct perf_sources *sources = *state;
    const size_t count = sources->count;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct perf_source *source = NULL;

        assert_int_equal(perf_sources_lookup(sources, texts[i], &source), -ENOENT);
        assert_null(source);
    }
    assert_int_equal(sources->count, count);
}

static void
lookup__bad_parameter__refused(void **state)
{
    static const char *const texts[] = {
        "breakpoint:",
        "breakpoint:x",
        "breakpoint:0x",
        "breakpoint:-1",
        "breakpoint: 1",
        "raw:0x12g",
        "raw:1 ",
        "raw:0x10000000000000000",
        "RAW:",
        "uprobe:",
        "uprobe:/bin/true",
        "uprobe:+1",
        "uprobe:/bin/true+",
        "uprobe:/bin/true+x",
        "uprobe:/bin/true+-1",
    };
    struct perf_sources *sources = *state;
    const size_t count = sources->count;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct perf_source *source = NULL;

        assert_int_equal(perf_sources_lookup(sources, texts[i], &source), -EINVAL);
        assert_null(source);
    }
    assert_int_equal(sources->count, count);
}

static void
lookup__uprobe__named_by_its_image_and_offset(void **state)
{
    static const struct {
        const char *text;
        const char *name;
    } rows[] = {
        {"uprobe:/bin/true+0x40", "uprobe:/bin/true+0x40"},
        {"Uprobe:/bin/a+b c:d+64", "uprobe:/bin/a+b c:d+0x40"},
        {"uprobe:/opt/some/very/long/path/to/a/program+0x40",
         "uprobe:...some/very/long/path/to/a/program+0x40"},
    };
    struct perf_sources *sources = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct perf_source *source = NULL;
        struct perf_source *again = NULL;

        assert_int_equal(perf_sources_lookup(sources, rows[i].text, &source), 0);
        assert_int_equal(perf_sources_lookup(sources, rows[i].text, &again), 0);
        assert_ptr_equal(source, again);
        assert_int_equal(source->interval, 1);
        assert_int_equal(source->uprobe->offset, 0x40);
        assert_string_equal(source->name, rows[i].name);
    }
}

static void
lookup__parameter__one_source_for_one_value(void **state)
{
    struct perf_sources *sources = *state;
    struct perf_source *first;
    struct perf_source *second;
    struct perf_source *raw;
    struct perf_event_attr attr = {0};

    assert_int_equal(perf_sources_lookup(sources, "breakpoint:0xABCDEF", &first), 0);
    assert_int_equal(perf_sources_lookup(sources, "BREAKPOINT:0xabcdef", &second), 0);
    assert_ptr_equal(first, second);
    assert_true(first->number >= ProfileDynamicBase);
    assert_string_equal(first->name, "breakpoint:0xabcdef");
    assert_int_equal(perf_sources_lookup(sources, "raw:4096", &raw), 0);
    assert_int_not_equal(raw->number, first->number);
    assert_string_equal(raw->name, "raw:0x1000");

    perf_source_attr(first, &attr);
    assert_int_equal(attr.type, PERF_TYPE_BREAKPOINT);
    assert_int_equal(attr.bp_addr, 0xABCDEF);
    assert_int_equal(attr.bp_len, sizeof(long));
    assert_int_equal(attr.sample_period, 1);
    attr = (struct perf_event_attr){0};
    perf_source_attr(raw, &attr);
    assert_int_equal(attr.type, PERF_TYPE_RAW);
    assert_int_equal(attr.config, 0x1000);
    assert_int_equal(attr.sample_period, 0x10000);
}

static void
set_interval__outside_limits__clamped_and_remembered(void **state)
{
    static const struct {
        const char *name;
        uint64_t asked;
        uint64_t granted;
        uint64_t period;
    } rows[] = {
        {"time", 1, 100, 10000},
        {"time", 99, 100, 10000},
        {"time", 100, 100, 10000},
        {"time", 10000, 10000, 1000000},
        {"time", 10000001, 10000000, 1000000000},
        {"time", UINT64_MAX, 10000000, 1000000000},
        {"cycles", 1, 0x1000, 0x1000},
        {"cycles", 0x100000000, 0xFFFFFFFF, 0xFFFFFFFF},
        {"page-faults", 1, 1, 1},
        {"page-faults", 0, 1, 1},
    };
    struct perf_sources *sources = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct perf_source *source;

        assert_int_equal(perf_sources_lookup(sources, rows[i].name, &source), 0);
        source->interval = perf_source_ask_interval(source, rows[i].asked);
        assert_int_equal(source->interval_asked, rows[i].asked);
        assert_int_equal(source->interval, rows[i].granted);
        assert_int_equal(perf_source_period(source), rows[i].period);
    }
}

static void
init__sample_rate_limit__bounds_time(void **state)
{
    static const struct {
        long rate;
        uint64_t minimum;
        uint64_t standard;
    } rows[] = {
        {100000, 100, 10000}, {1000000, 100, 10000},   {8000, 1250, 10000},
        {30000, 334, 10000},  {1, 10000000, 10000000}, {0, 100, 10000},
        {-5, 100, 10000},     {700, 14286, 14286},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct perf_sources sources;
        const struct perf_source *time;

        assert_int_equal(perf_sources_init(&sources, rows[i].rate), 0);
        time = perf_sources_find(&sources, ProfileTime);
        assert_int_equal(time->interval_minimum, rows[i].minimum);
        assert_int_equal(time->interval_default, rows[i].standard);
        assert_int_equal(time->interval, rows[i].standard);
        perf_sources_finish(&sources);
    }
}

#define source_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        source_test(lookup__names__found_whatever_the_case),
        source_test(lookup__no_such_name__output_untouched),
        source_test(lookup__bad_parameter__refused),
        source_test(lookup__parameter__one_source_for_one_value),
        source_test(lookup__uprobe__named_by_its_image_and_offset),
        source_test(set_interval__outside_limits__clamped_and_remembered),
        source_test(init__sample_rate_limit__bounds_time),
    };

    return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
