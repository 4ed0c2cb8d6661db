/* SPDX-License-Identifier: MIT */
/* report.c - keys, filters and what hits stand for. The printed forms are in
 * tests/golden. */
#include "../profile/fixture.h"

#include "profile/estimate.h"
#include "profile/group.h"
#include "view/report/report.h"

#include <math.h>

static void
assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance)) {
        fail_msg("%.9g is not %.9g", actual, expected);
    }
}

/* Bounds by the formula of the man page: 2.5% and 97.5% ends of Wilson's interval. */
static void
error__known_shares__farther_end_of_wilsons_interval(void **state)
{
    (void)state;
    assert_near(report_error(50, 100), 0.0961685, 1e-6);
    assert_near(report_error(3, 3), 1 - 0.438503, 1e-5);
    assert_near(report_error(0, 3), 1 - 0.438503, 1e-5);
    assert_near(report_error(10, 100), 0.174366 - 0.1, 1e-5);
    assert_near(report_error(90, 100), 0.174366 - 0.1, 1e-5);
    assert_near(report_error((double)(UINT64_MAX / 2), (double)UINT64_MAX), 0, 1e-9);
    assert_true(report_error(1, (double)UINT64_MAX) > 0);
}

static void
error__no_hits_at_all__zero(void **state)
{
    (void)state;
    assert_near(report_error(0, 0), 0, 0);
}

static void
interval__hits_missing__each_stands_for_more(void **state)
{
    struct profile_source source = {.name = "time", .unit = "100ns", .granted = 10000};

    (void)state;
    assert_near(report_interval(&source), 1e6, 0); /* no statistics: as granted */
    source.taken = 90;
    source.outside = 40; /* outside, but taken */
    source.excluded = 7; /* another mode's, not missing */
    source.unfinished = 8;
    assert_near(report_interval(&source), 1e6, 0);
    source.lost = 4;
    source.throttled = 5;
    source.missed = 1;
    assert_near(report_interval(&source), 1e6 * 100 / 90, 1e-6);
    source.unit = "events";
    assert_near(report_interval(&source), 1e4 * 100 / 90, 1e-6);
    source.taken = source.lost = UINT64_MAX;
    source.throttled = source.missed = 0;
    assert_near(report_interval(&source), 2e4, 1e-6);
}

static void
exact__every_event_and_none_missing__only_then(void **state)
{
    struct profile_source source = {.name = "f", .unit = "events", .granted = 1};

    (void)state;
    assert_true(report_is_exact(&source));
    source.lost = 1;
    assert_false(report_is_exact(&source));
    source.lost = 0;
    source.granted = 2;
    assert_false(report_is_exact(&source));
    source.granted = 1;
    source.unit = "100ns";
    assert_false(report_is_exact(&source));
}

static void
assert_shown(void (*put)(struct buffer *out, double value), double value,
             const char *expected)
{
    struct buffer out = {0};

    put(&out, value);
    assert_string_equal(buffer_text(&out), expected);
    buffer_finish(&out);
}

static void
estimates__at_the_ends_of_units__three_digits(void **state)
{
    (void)state;
    assert_shown(report_put_time, 0, "0s");
    assert_shown(report_put_time, 1, "1ns");
    assert_shown(report_put_time, 999.4, "999ns");
    assert_shown(report_put_time, 999.6, "1.00us");
    assert_shown(report_put_time, 9994999, "9.99ms");
    assert_shown(report_put_time, 9996000, "10.0ms");
    assert_shown(report_put_time, 99960000, "100ms");
    assert_shown(report_put_time, 2.26e9, "2.26s");
    assert_shown(report_put_time, 1234e9, "1234s");
    assert_shown(report_put_time, 3.6e12, "1.00h");
    assert_shown(report_put_time, 3.6e15, "1000h");
    assert_shown(report_put_events, 0, "0");
    assert_shown(report_put_events, 12, "12");
    assert_shown(report_put_events, 1240, "1.24k");
    assert_shown(report_put_events, 1e9, "1.00G");
    assert_shown(report_put_events, 1.8446744073709552e19, "18.4E");
}

static void
keys__in_any_order__each_once(void **state)
{
    struct report_keys keys = {.count = 7};

    (void)state;
    assert_true(report_keys_parse("process,function", &keys));
    assert_int_equal(keys.count, 2);
    assert_int_equal(keys.list[0], REPORT_BY_PROCESS);
    assert_int_equal(keys.list[1], REPORT_BY_FUNCTION);
    assert_true(report_keys_parse(
        "pid,unit,source,cpu,thread,process,bucket,address,image,line,inline,function",
        &keys));
    assert_int_equal(keys.count, REPORT_KEY_COUNT);
}

static void
keys__mistakes__refused_and_nothing_changed(void **state)
{
    static const char *const mistakes[] = {"",      ",",         "line,",
                                           ",line", "line,line", "lines",
                                           "lin",   "Line",      "line function"};
    struct report_keys keys = {.count = 7};

    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        assert_false(report_keys_parse(mistakes[i], &keys));
        assert_int_equal(keys.count, 7);
    }
}

/* The fixture with a source that counts every event, a second process and a twin image.
 */
static struct profile *
make_profile(void)
{
    struct profile *profile = profile_new();
    const uint32_t time = fixture_source(profile, "time", "100ns", 10000);
    const uint32_t faults = fixture_source(profile, "page-faults", "events", 1);
    const uint32_t tool = fixture_image(profile, "/usr/bin/tool", "aa");
    const uint32_t twin = fixture_image(profile, "/usr/bin/tool", "bb");
    const uint32_t kernel = fixture_image(profile, "[kernel]", "");
    const uint32_t run = fixture_process(profile, "run");
    const uint32_t walk = fixture_process(profile, "walk\n");
    const uint32_t index =
        fixture_function(profile, "Table::operator[](int)", "_ZixEi");
    const uint32_t main = fixture_function(profile, "main", "main");

    assert_true(profile_add_hits(profile, tool, 0x1200, run, index, 12, time, 60));
    assert_true(profile_add_hits(profile, tool, 0x1210, run, index, 13, time, 20));
    assert_true(profile_add_hits(profile, twin, 0x1200, walk, index, 12, time, 10));
    assert_true(profile_add_hits(profile, tool, 0x1300, run, main, 40, faults, 4));
    assert_true(profile_add_hits(profile, kernel, 0x5000, walk, 0, 0, time, 10));
    fixture_statistics(profile, time, 100);
    fixture_statistics(profile, faults, 4);
    return profile;
}

static uint64_t
sum_of(const struct report_groups *groups, size_t source)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < groups->count; i++) {
        sum += report_group_hits(groups, &groups->groups[i], source);
    }
    return sum;
}

/* Whatever the keys, every hit is in one row. */
static void
groups__each_set_of_keys__every_hit_once(void **state)
{
    struct profile *profile = make_profile();

    (void)state;
    for (unsigned bits = 1; bits < 1u << REPORT_KEY_COUNT; bits++) {
        struct report_options options = {.rows = 0};
        struct report_groups groups;

        for (unsigned key = 0; key < REPORT_KEY_COUNT; key++) {
            if ((bits & 1u << key) != 0) {
                options.by.keys.list[options.by.keys.count++] = (enum report_key)key;
            }
        }
        assert_true(report_group_rows(profile, &options.by, &groups));
        assert_int_equal(sum_of(&groups, 0), 100);
        assert_int_equal(sum_of(&groups, 1), 4);
        assert_int_equal(groups.totals[0], 100);
        assert_int_equal(groups.selected[1], 4);
        report_groups_finish(&groups);
    }
    profile_delete(profile);
}

static void
assert_rows(const char *keys, size_t expected)
{
    struct profile *profile = make_profile();
    struct report_options options = {.rows = 0};
    struct report_groups groups;

    assert_true(report_keys_parse(keys, &options.by.keys));
    assert_true(report_group_rows(profile, &options.by, &groups));
    assert_int_equal(groups.count, expected);
    report_groups_finish(&groups);
    profile_delete(profile);
}

static void
groups__each_key__tells_apart_what_it_says(void **state)
{
    (void)state;
    assert_rows("function", 3); /* twins of two builds are one; main; the kernel */
    assert_rows("line", 4);
    assert_rows("image", 3);
    assert_rows("address", 5);
    assert_rows("bucket", 5);
    assert_rows("process", 2);
    assert_rows("thread", 1);
    assert_rows("cpu", 1);
    assert_rows("source", 2);
    assert_rows("process,source", 3); /* nobody but run has faults */
    assert_rows("process,image", 3);
    assert_rows("image,function", 4);
}

/* Hits of the first source that filters let through; or the refusal in words. */
static void
assert_filtered(const struct report_filter *filters, size_t count, uint64_t hits,
                const char *words)
{
    struct profile *profile = make_profile();
    const struct report_options options = {.by.filters = filters,
                                           .by.filter_count = count};
    struct report_groups groups;
    char why[200] = "";

    assert_int_equal(report_check(profile, &options, why, sizeof(why)), words == NULL);
    if (words != NULL && strstr(why, words) == NULL) {
        fail_msg("expected \"%s\", got \"%s\"", words, why);
    }
    assert_true(report_group_rows(profile, &options.by, &groups));
    assert_int_equal(groups.selected[0], hits);
    assert_int_equal(sum_of(&groups, 0), hits);
    assert_int_equal(groups.totals[0], 100);
    report_groups_finish(&groups);
    profile_delete(profile);
}

#define FILTER(kind, glob)         \
    {                              \
        REPORT_FILTER_##kind, glob \
    }

static void
filters__of_one_kind__any_lets_through(void **state)
{
    static const struct report_filter path[] = {FILTER(IMAGE, "/usr/*")};
    static const struct report_filter part[] = {FILTER(IMAGE, "too?")};
    static const struct report_filter kernel[] = {FILTER(IMAGE, "[kernel]")};
    static const struct report_filter both[] = {FILTER(IMAGE, "tool"),
                                                FILTER(IMAGE, "[kernel]")};
    static const struct report_filter escaped[] = {FILTER(PROCESS, "walk*0a")};
    static const struct report_filter name[] = {
        FILTER(SYMBOL, "Table::operator[](int)")};
    static const struct report_filter mangled[] = {FILTER(SYMBOL, "_Zix*")};
    static const struct report_filter all[] = {FILTER(SYMBOL, "*")};

    (void)state;
    assert_filtered(path, 1, 90, NULL);
    assert_filtered(part, 1, 90, NULL);
    assert_filtered(kernel, 1, 10, NULL);
    assert_filtered(both, 2, 100, NULL);
    assert_filtered(escaped, 1, 20, NULL);
    assert_filtered(name, 1, 90, NULL);
    assert_filtered(mangled, 1, 90, NULL);
    assert_filtered(all, 1, 100, NULL);
}

static void
filters__of_several_kinds__all_must_let_through(void **state)
{
    static const struct report_filter two[] = {FILTER(IMAGE, "tool"),
                                               FILTER(PROCESS, "walk*")};
    static const struct report_filter apart[] = {FILTER(IMAGE, "[kernel]"),
                                                 FILTER(PROCESS, "run")};

    (void)state;
    assert_filtered(two, 2, 10, NULL);
    assert_filtered(apart, 2, 0, "no hits in what the filters let through together");
}

static void
filters__nothing_matches__said_with_the_option(void **state)
{
    static const struct report_filter image[] = {FILTER(IMAGE, "tool"),
                                                 FILTER(IMAGE, "TOOL")};
    static const struct report_filter process[] = {FILTER(PROCESS, "\033[2J")};
    static const struct report_filter symbol[] = {FILTER(SYMBOL, "mai")};

    (void)state;
    assert_filtered(image, 2, 90, "--image TOOL: no image of the profile matches");
    assert_filtered(process, 1, 0, "--process \\x1b[2J: no process");
    assert_filtered(symbol, 1, 0, "--symbol mai: no symbol");
}

/* What a store never has cannot be recorded with an option. */
static void
check__what_stores_do_not_keep__said(void **state)
{
    static const struct {
        const char *keys, *said;
    } rows[] = {
        {"thread", "--by thread: stores keep no threads"},
        {"pid", "--by pid: stores keep no process ids; use --by process"},
        {"cpu", "--by cpu: stores keep no processors"},
        {"unit", "--by unit: nothing selected has units"},
    };
    struct profile *profile = make_profile();
    struct report_options options = {.rows = 0};
    char why[200] = "";

    (void)state;
    profile->of_store = true;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(report_keys_parse(rows[i].keys, &options.by.keys));
        assert_false(report_check(profile, &options, why, sizeof(why)));
        assert_non_null(strstr(why, rows[i].said));
    }
    assert_false(report_check_stacks(profile, "--tree", why, sizeof(why)));
    assert_non_null(strstr(why, "--tree: stores keep no stacks"));
    profile_delete(profile);
}

/* A row that says cpu 0 differs from one that says nothing. */
static void
check__threads_and_processors__asked_for_and_not_there(void **state)
{
    struct profile *profile = make_profile();
    struct profile_place place = {.address = 0x1200, .cpu_plus_1 = 1};
    struct report_options options = {.rows = 0};
    char why[200] = "";

    (void)state;
    assert_true(report_keys_parse("function,cpu", &options.by.keys));
    assert_false(report_check(profile, &options, why, sizeof(why)));
    assert_non_null(strstr(why, "--by cpu: the profile has no processors"));
    assert_true(profile_add_hits_at(profile, &place, 0, 1));
    assert_true(report_check(profile, &options, why, sizeof(why)));
    assert_true(report_keys_parse("thread", &options.by.keys));
    assert_false(report_check(profile, &options, why, sizeof(why)));
    assert_non_null(strstr(why, "--by thread: the profile has no threads"));
    assert_true(report_keys_parse("pid", &options.by.keys));
    assert_false(report_check(profile, &options, why, sizeof(why)));
    assert_non_null(strstr(why, "ntprof run --threads -- COMMAND"));
    place.pid = 17;
    assert_true(profile_add_hits_at(profile, &place, 0, 1));
    assert_true(report_check(profile, &options, why, sizeof(why)));
    profile_delete(profile);
}

static void
add_source(struct profile *profile, const char *name, uint64_t interval)
{
    fixture_source(profile, name, "events", interval);
}

static bool
ratio_value(const struct profile *profile, const struct report_ratio *ratio,
            uint64_t numerator, uint64_t denominator, double *value)
{
    const struct report_count above = {numerator, numerator};
    const struct report_count below = {denominator, denominator};

    return report_ratio_value(profile, ratio, &above, &below, value);
}

static void
ratios__what_makes_sense__found(void **state)
{
    struct profile *profile = profile_new();
    struct report_ratio ratio;
    double value = -1;

    (void)state;
    add_source(profile, "branch-misses", 100);
    add_source(profile, "branches", 1000);
    add_source(profile, "cycles", 1000);
    assert_true(report_ratio_find(profile, 0, &ratio));
    assert_int_equal(ratio.per, 100);
    assert_int_equal(ratio.denominator, 1);
    assert_false(report_ratio_find(profile, 1, &ratio));
    assert_false(report_ratio_find(profile, 2, &ratio));
    add_source(profile, "instructions", 2000);
    assert_true(report_ratio_find(profile, 0, &ratio));
    assert_int_equal(ratio.per, 1000);
    assert_int_equal(ratio.denominator, 3);
    assert_true(ratio_value(profile, &ratio, 20, 40, &value));
    assert_near(value, 25, 1e-9);
    assert_true(report_ratio_find(profile, 2, &ratio));
    assert_true(ratio_value(profile, &ratio, 90, 30, &value));
    assert_near(value, 1.5, 1e-9);
    assert_false(report_ratio_find(profile, 3, &ratio));
    profile_delete(profile);
}

static void
ratios__few_hits__none(void **state)
{
    struct profile *profile = profile_new();
    struct report_ratio ratio;
    double value = -1;

    (void)state;
    add_source(profile, "cycles", 1000);
    add_source(profile, "instructions", 2000);
    assert_true(report_ratio_find(profile, 0, &ratio));
    assert_false(ratio_value(profile, &ratio, REPORT_RATIO_HITS_MIN - 1, 99, &value));
    assert_false(ratio_value(profile, &ratio, 99, REPORT_RATIO_HITS_MIN - 1, &value));
    profile->sources[1].granted = 0;
    assert_false(ratio_value(profile, &ratio, 99, 99, &value));
    assert_near(value, -1, 0);
    profile_delete(profile);
}

/* Hits in no row have one of their own, where it belongs, and count in all shares. */
static void
outside__hits_in_no_row__have_one_and_count_in_shares(void **state)
{
    const struct report_options options = {.by.keys = {{REPORT_BY_FUNCTION}, 1}};
    struct profile *profile = make_profile();
    struct report_groups groups;
    size_t count;

    (void)state;
    assert_true(report_group_rows(profile, &options.by, &groups));
    count = groups.count;
    assert_true(report_groups_add_outside(&groups)); /* there are none */
    assert_int_equal(groups.count, count);
    profile->sources[0].outside = 100; /* as many as are in rows: 80 and less each */
    assert_true(report_groups_add_outside(&groups));
    assert_int_equal(groups.count, count + 1);
    assert_string_equal(groups.groups[0].function->name, "[no image]");
    assert_int_equal(report_group_hits(&groups, &groups.groups[0], 0), 100);
    assert_int_equal(report_group_hits(&groups, &groups.groups[0], 1), 0);
    assert_true(report_group_share(&groups, &groups.groups[0], 0) == 0.5);
    assert_int_equal(sum_of(&groups, 0), 200);
    report_groups_finish(&groups);
    profile_delete(profile);
}

static double
main_share(const struct report_groups *groups, const struct report_group *group)
{
    return report_group_share(groups, group, report_group_main_source(groups, group));
}

/* By source alone a row is all hits of it; by source and more each has a row of its
 * own, in the order of shares. */
static void
outside__by_source__in_its_row_or_beside_it(void **state)
{
    const struct report_grouping alone = {.keys = {{REPORT_BY_SOURCE}, 1}};
    const struct report_grouping both = {
        .keys = {{REPORT_BY_SOURCE, REPORT_BY_FUNCTION}, 2}};
    struct profile *profile = make_profile();
    struct report_groups groups;
    size_t count;
    int found = 0;

    (void)state;
    profile->sources[0].outside = 100;
    profile->sources[0].user_left_out = true;
    assert_true(report_group_rows(profile, &alone, &groups));
    count = groups.count;
    assert_true(report_groups_add_outside(&groups));
    assert_int_equal(groups.count, count);
    assert_int_equal(sum_of(&groups, 0), 200);
    assert_true(report_group_share(&groups, &groups.groups[0], 0) == 1);
    report_groups_finish(&groups);

    assert_true(report_group_rows(profile, &both, &groups));
    count = groups.count;
    assert_true(report_groups_add_outside(&groups));
    assert_int_equal(groups.count, count + 1);
    for (size_t i = 0; i < groups.count; i++) {
        const struct report_group *const group = &groups.groups[i];
        const double share = main_share(&groups, group);

        assert_true(i == 0 || share <= main_share(&groups, group - 1));
        if (strcmp(group->image->path, "[user mode]") == 0) {
            assert_ptr_equal(group->source, &profile->sources[0]);
            assert_true(share == 0.5);
            found++;
        }
    }
    assert_int_equal(found, 1);
    assert_int_equal(sum_of(&groups, 0), 200);
    report_groups_finish(&groups);
    profile_delete(profile);
}

static void
outside__region_only__a_row_that_says_so(void **state)
{
    const struct report_options options = {.by.keys = {{REPORT_BY_IMAGE}, 1}};
    struct profile *profile = make_profile();
    struct report_groups groups;

    (void)state;
    free(profile->limits);
    profile->limits = strdup("a reason; " PROFILE_REGION_ONLY "main was profiled");
    assert_non_null(profile->limits);
    profile->sources[0].outside = 1000;
    assert_true(report_group_rows(profile, &options.by, &groups));
    assert_true(report_groups_add_outside(&groups));
    assert_string_equal(groups.groups[0].image->path, "[outside of the region]");
    assert_int_equal(report_group_hits(&groups, &groups.groups[0], 0), 1000);
    report_groups_finish(&groups);
    profile_delete(profile);
}

/* What a filter lets through is a share of all hits, those in no row too. */
static void
outside__filtered__no_row_and_shares_of_all(void **state)
{
    static const struct report_filter kernel[] = {FILTER(IMAGE, "[kernel]")};
    const struct report_options options = {.by.filters = kernel, .by.filter_count = 1};
    struct profile *profile = make_profile();
    struct report_groups groups;
    size_t count;

    (void)state;
    profile->sources[0].outside = 100;
    assert_true(report_group_rows(profile, &options.by, &groups));
    count = groups.count;
    assert_true(report_groups_add_outside(&groups));
    assert_int_equal(groups.count, count);
    assert_int_equal(groups.totals[0], 200);
    assert_true(groups.selected[0] < 100);
    report_groups_finish(&groups);
    profile_delete(profile);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error__known_shares__farther_end_of_wilsons_interval),
        cmocka_unit_test(error__no_hits_at_all__zero),
        cmocka_unit_test(interval__hits_missing__each_stands_for_more),
        cmocka_unit_test(exact__every_event_and_none_missing__only_then),
        cmocka_unit_test(estimates__at_the_ends_of_units__three_digits),
        cmocka_unit_test(keys__in_any_order__each_once),
        cmocka_unit_test(keys__mistakes__refused_and_nothing_changed),
        cmocka_unit_test(groups__each_set_of_keys__every_hit_once),
        cmocka_unit_test(groups__each_key__tells_apart_what_it_says),
        cmocka_unit_test(filters__of_one_kind__any_lets_through),
        cmocka_unit_test(filters__of_several_kinds__all_must_let_through),
        cmocka_unit_test(filters__nothing_matches__said_with_the_option),
        cmocka_unit_test(check__threads_and_processors__asked_for_and_not_there),
        cmocka_unit_test(check__what_stores_do_not_keep__said),
        cmocka_unit_test(ratios__what_makes_sense__found),
        cmocka_unit_test(ratios__few_hits__none),
        cmocka_unit_test(outside__hits_in_no_row__have_one_and_count_in_shares),
        cmocka_unit_test(outside__by_source__in_its_row_or_beside_it),
        cmocka_unit_test(outside__region_only__a_row_that_says_so),
        cmocka_unit_test(outside__filtered__no_row_and_shares_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
