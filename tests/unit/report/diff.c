/* SPDX-License-Identifier: MIT */
/* diff.c - which rows of two profiles are the same, what changed between them, and in
 * which order. */
#include "../profile/fixture.h"

#include "profile/difference_rows.h"
#include "view/report/difference.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static struct profile *
begin(const char *source, uint64_t interval)
{
    struct profile *profile = profile_new();

    assert_non_null(profile);
    profile->command = strdup("work");
    profile->hal = strdup("perf");
    profile->limits = strdup("");
    profile->gaps = strdup("");
    profile->bucket_bytes = 4;
    profile->duration_ns = 1000000000;
    fixture_source(profile, source, strcmp(source, "time") == 0 ? "100ns" : "events",
                   interval);
    return profile;
}

/* Hits of a function in the image of a path. */
static void
add(struct profile *profile, const char *path, const char *build_id,
    const char *function, uint64_t address, uint64_t hits)
{
    uint32_t index = 0;

    if (function[0] != '\0') {
        index = fixture_function(profile, function, function);
    }
    assert_true(profile_add_hits(profile, fixture_image(profile, path, build_id),
                                 address, fixture_process(profile, "work"), index, 7, 0,
                                 hits));
    profile->sources[0].counted += hits;
    profile->sources[0].taken += hits;
    profile->sources[0].expected += hits;
}

/* The row of a function (NULL: none) in an image. */
static const struct diff_row *
find(const struct diff *diff, const char *function, const char *image)
{
    const struct diff_source *source = &diff->sources[0];

    for (size_t i = 0; i < source->row_count; i++) {
        const struct report_group *group = source->rows[i].group;
        struct buffer name = {0};
        bool same;

        report_group_name(group, DISPLAY_FULL, &name);
        same = strcmp(buffer_text(&name), function) == 0;
        buffer_finish(&name);
        if (same && strcmp(group->image->path, image) == 0) {
            return &source->rows[i];
        }
    }
    fail_msg("no row of %s in %s", function, image);
    return NULL;
}

static void
assert_hits(const struct diff_row *row, uint64_t old_hits, uint64_t new_hits)
{
    assert_int_equal(row->hits[PAIR_OLD], old_hits);
    assert_int_equal(row->hits[PAIR_NEW], new_hits);
}

struct fixture {
    struct profile *old_profile, *new_profile;
    struct diff_options options;
    struct report_options shown;
    struct diff *diff;
};

static void
compare(struct fixture *fixture)
{
    fixture->diff =
        diff_new(fixture->old_profile, fixture->new_profile, &fixture->options);
    assert_non_null(fixture->diff);
}

static void
end(struct fixture *fixture)
{
    diff_delete(fixture->diff);
    profile_delete(fixture->old_profile);
    profile_delete(fixture->new_profile);
}

static void
rows__other_build_elsewhere__matched_by_name(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};

    (void)state;
    add(it.old_profile, "/usr/bin/work", "aa", "parse", 0x1000, 100);
    add(it.old_profile, "/usr/bin/work", "aa", "gone", 0x1100, 50);
    add(it.old_profile, "/lib/libwork.so", "bb", "parse", 0x1000, 10);
    add(it.new_profile, "/opt/work", "cc", "parse", 0x5000, 300);
    add(it.new_profile, "/opt/work", "cc", "fresh", 0x5100, 60);
    add(it.new_profile, "/lib/libwork.so", "bb", "parse", 0x1000, 11);
    compare(&it);
    assert_int_equal(it.diff->sources[0].row_count, 4);
    assert_hits(find(it.diff, "parse", "work"), 100, 300);
    assert_hits(find(it.diff, "parse", "libwork.so"), 10, 11);
    assert_string_equal(diff_row_kind(find(it.diff, "gone", "work")), "gone");
    assert_string_equal(diff_row_kind(find(it.diff, "fresh", "work")), "new");
    assert_string_equal(diff_row_kind(find(it.diff, "parse", "work")), "changed");
    end(&it);
}

/* In builds that only one side has, addresses are not known, even where rows are of
 * buckets of several sizes. So many functions that some have equal hashes. */
static void
rows__addresses_not_known__each_function_apart(void **state)
{
    enum { FUNCTIONS = 200000 };
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000),
                         .options.by.keys = {{REPORT_BY_ADDRESS}, 1}};

    (void)state;
    it.new_profile->bucket_bytes = 16;
    for (uint64_t i = 0; i < FUNCTIONS; i++) {
        char name[32];

        snprintf(name, sizeof(name), "f%" PRIu64, i);
        add(it.old_profile, "/work", "aa", name, 0x1000 + 16 * i, 1);
    }
    add(it.new_profile, "/work", "bb", "f0", 0x2000, 1);
    compare(&it);
    assert_int_equal(it.diff->sources[0].row_count, FUNCTIONS);
    end(&it);
}

/* As the modules of an interpreter's packages have. */
static void
rows__images_of_one_file_name__told_apart_by_paths_that_both_have(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};

    (void)state;
    add(it.old_profile, "/lib/a/fast.so", "aa", "parse", 0x1000, 100);
    add(it.old_profile, "/lib/b/fast.so", "bb", "parse", 0x1000, 900);
    add(it.new_profile, "/lib/a/fast.so", "cc", "parse", 0x5000, 900);
    add(it.new_profile, "/lib/b/fast.so", "dd", "parse", 0x5000, 100);
    add(it.new_profile, "/lib/c/fast.so", "ee", "parse", 0x5000, 30);
    compare(&it);
    assert_int_equal(it.diff->sources[0].row_count, 3);
    assert_hits(find(it.diff, "parse", "/lib/a/fast.so"), 100, 900);
    assert_hits(find(it.diff, "parse", "/lib/b/fast.so"), 900, 100);
    assert_hits(find(it.diff, "parse", "fast.so"), 0, 30);
    end(&it);
}

static void
rows__beyond_chance__first_and_by_what_they_changed_at_least(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};
    const struct diff_source *source;

    (void)state;
    add(it.old_profile, "/work", "", "noise", 0x1000, 10000);
    add(it.new_profile, "/work", "", "noise", 0x1000, 10150);
    add(it.old_profile, "/work", "", "large", 0x1100, 1000);
    add(it.new_profile, "/work", "", "large", 0x1100, 2000);
    add(it.old_profile, "/work", "", "little", 0x1200, 100);
    add(it.new_profile, "/work", "", "little", 0x1200, 20);
    compare(&it);
    source = &it.diff->sources[0];
    assert_int_equal(source->beyond_count, 2);
    assert_string_equal(source->rows[0].group->function->name, "large");
    assert_string_equal(source->rows[1].group->function->name, "little");
    assert_string_equal(source->rows[2].group->function->name, "noise");
    assert_hits(&source->rest, 10000, 10150);
    assert_hits(&source->whole, 11100, 12170);
    assert_true(source->rows[0].change == 1000 * 1e6);
    assert_true(source->rows[1].change == -80 * 1e6);
    assert_true(fabs(source->rows[0].error - 1.959964e6 * sqrt(3000)) < 1);
    assert_int_equal(diff_rows_asked(it.diff, source), 2);
    it.options.all = true;
    assert_int_equal(diff_rows_asked(it.diff, source), 3);
    it.options.rows = 1;
    assert_int_equal(diff_rows_shown(it.diff, source), 1);
    end(&it);
}

static void
rates__unequal__the_same_time_is_no_change(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 2000)};
    const struct diff_row *row;

    (void)state;
    add(it.old_profile, "/work", "", "same", 0x1000, 1000);
    add(it.new_profile, "/work", "", "same", 0x1000, 5020);
    add(it.old_profile, "/work", "", "more", 0x1100, 1000);
    add(it.new_profile, "/work", "", "more", 0x1100, 6500);
    compare(&it);
    row = find(it.diff, "same", "work");
    assert_false(row->beyond_chance);
    assert_true(row->values[PAIR_OLD] == 1e9);
    assert_true(row->values[PAIR_NEW] == 1.004e9);
    assert_true(find(it.diff, "more", "work")->beyond_chance);
    end(&it);
}

static void
rates__unknown__hits_are_compared(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 0)};

    (void)state;
    add(it.old_profile, "/work", "", "same", 0x1000, 1000);
    add(it.new_profile, "/work", "", "same", 0x1000, 1010);
    compare(&it);
    assert_false(it.diff->sources[0].known);
    assert_true(it.diff->sources[0].rows[0].change == 10);
    end(&it);
}

static void
missing_hits__on_one_side__count_as_if_they_were_there(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};

    (void)state;
    add(it.old_profile, "/work", "", "same", 0x1000, 2000);
    add(it.new_profile, "/work", "", "same", 0x1000, 1000);
    it.new_profile->sources[0].lost = 1000;
    it.new_profile->sources[0].expected += 1000;
    compare(&it);
    assert_true(it.diff->sources[0].rows[0].change == 0);
    assert_int_equal(it.diff->sources[0].beyond_count, 0);
    end(&it);
}

static void
normalized__twice_as_long__shares_stay(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};
    const struct diff_row *row;

    (void)state;
    it.options.normalize = true;
    add(it.old_profile, "/work", "", "one", 0x1000, 300);
    add(it.old_profile, "/work", "", "two", 0x1100, 700);
    add(it.new_profile, "/work", "", "one", 0x1000, 600);
    add(it.new_profile, "/work", "", "two", 0x1100, 1400);
    compare(&it);
    assert_int_equal(it.diff->sources[0].beyond_count, 0);
    row = find(it.diff, "one", "work");
    assert_true(fabs(row->values[PAIR_NEW] - 0.3) < 1e-12);
    assert_true(fabs(row->change) < 1e-12);
    end(&it);
}

static void
filters__what_they_leave_out__still_counts_in_shares(void **state)
{
    const struct report_filter filter = {REPORT_FILTER_SYMBOL, "on?"};
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};

    (void)state;
    it.options.normalize = true;
    it.options.by.filters = &filter;
    it.options.by.filter_count = 1;
    add(it.old_profile, "/work", "", "one", 0x1000, 300);
    add(it.old_profile, "/work", "", "two", 0x1100, 700);
    add(it.new_profile, "/work", "", "one", 0x1000, 600);
    compare(&it);
    assert_int_equal(diff_row_count(it.diff), 1);
    assert_true(it.diff->sources[0].rows[0].values[PAIR_OLD] == 0.3);
    assert_int_equal(it.diff->sources[0].of->totals[PAIR_OLD], 1000);
    end(&it);
}

static void
no_names__an_image__one_row(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};

    (void)state;
    add(it.old_profile, "/a/same.so", "aa", "", 0x1100, 10);
    add(it.old_profile, "/a/same.so", "aa", "", 0x1200, 20);
    add(it.new_profile, "/b/same.so", "aa", "", 0x1200, 21);
    add(it.old_profile, "/lib/other.so", "bb", "", 0x1100, 5);
    add(it.old_profile, "/lib/other.so", "bb", "", 0x1200, 5);
    add(it.new_profile, "/lib/other.so", "cc", "", 0x1300, 11);
    compare(&it);
    assert_int_equal(it.diff->sources[0].row_count, 2);
    assert_hits(find(it.diff, "[no symbols] in same.so", "same.so"), 30, 21);
    assert_hits(find(it.diff, "[no symbols] in other.so", "other.so"), 10, 11);
    end(&it);
}

static void
sources__in_one_profile_alone__not_compared(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("cycles", 10000)};

    (void)state;
    compare(&it);
    assert_int_equal(diff_source_count(it.diff), 0);
    end(&it);
}

static void
threads__numbers_of_a_run__are_not_compared(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};
    struct profile_place place = {.address = 0x1000};

    (void)state;
    it.options.by.keys = (struct report_keys){{REPORT_BY_THREAD}, 1};
    place.image = fixture_image(it.old_profile, "/work", "");
    place.process = fixture_process(it.old_profile, "work");
    assert_true(profile_add_thread(it.old_profile, "pool (123)", &place.thread));
    assert_true(profile_add_hits_at(it.old_profile, &place, 0, 10));
    place.image = fixture_image(it.new_profile, "/work", "");
    place.process = fixture_process(it.new_profile, "work");
    assert_true(profile_add_thread(it.new_profile, "pool (77)", &place.thread));
    assert_true(profile_add_hits_at(it.new_profile, &place, 0, 12));
    compare(&it);
    assert_int_equal(it.diff->sources[0].row_count, 1);
    assert_string_equal(it.diff->sources[0].rows[0].group->thread, "pool");
    end(&it);
}

static void
grew__sure_growth_above_the_limit_alone(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};

    (void)state;
    add(it.old_profile, "/work", "", "steady", 0x1000, 9000);
    add(it.new_profile, "/work", "", "steady", 0x1000, 9100);
    add(it.old_profile, "/work", "", "slower", 0x1100, 1000);
    add(it.new_profile, "/work", "", "slower", 0x1100, 1500);
    compare(&it);
    assert_true(diff_grew(it.diff, 0));
    assert_true(diff_grew(it.diff, 4.9));
    assert_false(diff_grew(it.diff, 5)); /* 500 of 10000 */
    end(&it);
}

/* Hits of work, which a function calls, on stacks with this end. */
static void
add_called(struct profile *profile, const char *caller, const char *end, uint64_t hits)
{
    struct profile_call call = {.end = end};
    struct profile_place place = {
        .image = fixture_image(profile, "/usr/bin/work", "aa"),
        .address = 0x1000,
        .function = fixture_function(profile, "work", "work"),
        .process = fixture_process(profile, "work"),
    };

    assert_true(profile_add_call(profile, &call, &place.stack));
    call = (struct profile_call){
        .address = 0x2000 + (uint64_t)caller[0],
        .image = place.image,
        .function = fixture_function(profile, caller, caller),
        .caller = place.stack,
    };
    assert_true(profile_add_call(profile, &call, &place.stack));
    assert_true(profile_add_hits_at(profile, &place, 0, hits));
    profile->sources[0].counted += hits;
    profile->sources[0].taken += hits;
    profile->sources[0].expected += hits;
}

static char *
print(const struct fixture *fixture, enum report_format format)
{
    struct report_options shown = fixture->shown;
    char *text = NULL;
    size_t size;
    FILE *const out = open_memstream(&text, &size);

    assert_non_null(out);
    shown.format = format;
    assert_true(diff_print(out, fixture->diff, &shown));
    assert_int_equal(fclose(out), 0);
    return text;
}

static void
totals__of_a_caller_alone__beyond_chance(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};
    const struct diff_source *source;
    const struct diff_row *row;
    char *text;

    (void)state;
    add_called(it.old_profile, "parse", PROFILE_STACK_WHOLE, 1000);
    add_called(it.old_profile, "render", PROFILE_STACK_WHOLE, 1000);
    add_called(it.new_profile, "parse", PROFILE_STACK_WHOLE, 1500);
    add_called(it.new_profile, "render", PROFILE_STACK_WHOLE, 510);
    compare(&it);
    source = &it.diff->sources[0];
    assert_int_equal(source->row_count, 3);
    assert_int_equal(source->beyond_count, 0);
    assert_int_equal(source->total_beyond_count, 2);
    assert_int_equal(diff_rows_shown(it.diff, source), 2);
    row = find(it.diff, "parse", "work");
    assert_hits(row, 0, 0);
    assert_hits(row->total, 1000, 1500);
    assert_true(row->total->beyond_chance);
    assert_string_equal(diff_row_kind(row), "changed");
    row = find(it.diff, "work", "work");
    assert_hits(row, 2000, 2010);
    assert_hits(row->total, 2000, 2010);
    assert_false(row->total->beyond_chance);
    text = print(&it, REPORT_TABLE);
    assert_non_null(strstr(text, "  +500ms  parse     work"));
    assert_non_null(strstr(text, "1 other row changed no more than chance explains"));
    assert_non_null(strstr(text, "ntprof: time: a total in parentheses changed"));
    free(text);
    text = print(&it, REPORT_JSON);
    assert_non_null(strstr(text, "\"total_beyond_chance_count\":2,"
                                 "\"old_unknown_share\":0,\"new_unknown_share\":0"));
    free(text);
    text = print(&it, REPORT_CSV);
    assert_non_null(strstr(text, ",parse,1,1000,1500,1e+09,1.5e+09,500000000,"));
    free(text);
    end(&it);
}

/* What is cut may have been called by it too. */
static void
totals__callers_missing__only_beyond_them(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};
    char *text;

    (void)state;
    add_called(it.old_profile, "parse", PROFILE_STACK_WHOLE, 1000);
    add_called(it.old_profile, "quick", PROFILE_STACK_WHOLE, 1000);
    add_called(it.old_profile, "other", "[cut at 16 kB]", 500);
    add_called(it.new_profile, "parse", PROFILE_STACK_WHOLE, 1500);
    add_called(it.new_profile, "quick", PROFILE_STACK_WHOLE, 1700);
    add_called(it.new_profile, "other", PROFILE_STACK_WHOLE, 100);
    compare(&it);
    assert_int_equal(it.diff->sources[0].unknown[PAIR_OLD], 500);
    assert_int_equal(it.diff->sources[0].unknown[PAIR_NEW], 0);
    assert_false(find(it.diff, "parse", "work")->total->beyond_chance);
    assert_true(find(it.diff, "quick", "work")->total->beyond_chance);
    /* What is missing of the new side, if anything, explains a loss. */
    assert_true(find(it.diff, "other", "work")->total->beyond_chance);
    text = print(&it, REPORT_TABLE);
    assert_non_null(strstr(text, "callers are missing of 20.0% of old, so totals"));
    free(text);
    end(&it);
}

static void
totals__one_profile_has_no_stacks__not_compared(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};
    char *text;

    (void)state;
    add_called(it.old_profile, "parse", PROFILE_STACK_WHOLE, 1000);
    add(it.new_profile, "/usr/bin/work", "aa", "work", 0x1000, 1000);
    compare(&it);
    assert_int_equal(it.diff->sources[0].row_count, 1);
    assert_null(find(it.diff, "work", "work")->total);
    text = print(&it, REPORT_TABLE);
    assert_non_null(strstr(text, "only the old profile has stacks: no totals"));
    free(text);
    text = print(&it, REPORT_CSV);
    assert_null(strstr(text, "total"));
    free(text);
    end(&it);
}

/* A clock beside them is compared. */
static void
sources__of_another_unit__named_with_both(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};
    char *text;

    (void)state;
    fixture_source(it.old_profile, "work", "events", 1);
    fixture_source(it.new_profile, "work", "bytes", 1);
    fixture_source(it.new_profile, "faults", "events", 1);
    add(it.old_profile, "/usr/bin/work", "aa", "work", 0x1000, 1000);
    add(it.new_profile, "/usr/bin/work", "aa", "work", 0x1000, 1000);
    compare(&it);
    assert_int_equal(diff_source_count(it.diff), 1);
    text = print(&it, REPORT_TABLE);
    assert_non_null(
        strstr(text, "not compared, as only the new profile has it: faults\n"));
    assert_non_null(strstr(text, "not compared, as the units differ: work "
                                 "(old events, new bytes)\n"));
    assert_null(strstr(text, "only the old profile"));
    free(text);
    end(&it);
}

static void
print__hostile_names__harmless(void **state)
{
    struct fixture it = {.old_profile = begin(HOSTILE_NAME, 1),
                         .new_profile = begin(HOSTILE_NAME, 1)};
    char *text = NULL;
    size_t size = 0;

    (void)state;
    it.options.all = true;
    add(it.old_profile, HOSTILE_NAME, "", HOSTILE_NAME, 0x1000, 9000);
    add(it.new_profile, HOSTILE_NAME, "", HOSTILE_NAME, 0x1000, 100);
    for (int format = REPORT_TABLE; format <= REPORT_CSV; format++) {
        FILE *out = open_memstream(&text, &size);

        it.shown.format = (enum report_format)format;
        compare(&it);
        assert_non_null(out);
        assert_true(diff_print(out, it.diff, &it.shown));
        fclose(out);
        diff_delete(it.diff);
        assert_true(size > 100);
        for (size_t i = 0; i < size; i++) {
            const unsigned char byte = (unsigned char)text[i];

            assert_true((byte >= 32 || byte == '\n') && byte != 127 && byte != 0xff);
        }
        free(text);
        text = NULL;
    }
    it.diff = NULL;
    end(&it);
}

static void
csv__name_that_is_a_formula__escaped(void **state)
{
    struct fixture it = {.old_profile = begin("time", 10000),
                         .new_profile = begin("time", 10000)};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    it.options.all = true;
    it.shown.format = REPORT_CSV;
    add(it.old_profile, "/@work", "", "=1+1,2", 0x1000, 100);
    add(it.new_profile, "/@work", "", "=1+1,2", 0x1000, 200);
    compare(&it);
    assert_non_null(out);
    assert_true(diff_print(out, it.diff, &it.shown));
    fclose(out);
    assert_non_null(strstr(text, ",\\x40work,\"\\x3d1+1,2\","));
    free(text);
    end(&it);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__other_build_elsewhere__matched_by_name),
        cmocka_unit_test(rows__addresses_not_known__each_function_apart),
        cmocka_unit_test(
            rows__images_of_one_file_name__told_apart_by_paths_that_both_have),
        cmocka_unit_test(rows__beyond_chance__first_and_by_what_they_changed_at_least),
        cmocka_unit_test(rates__unequal__the_same_time_is_no_change),
        cmocka_unit_test(rates__unknown__hits_are_compared),
        cmocka_unit_test(missing_hits__on_one_side__count_as_if_they_were_there),
        cmocka_unit_test(normalized__twice_as_long__shares_stay),
        cmocka_unit_test(filters__what_they_leave_out__still_counts_in_shares),
        cmocka_unit_test(no_names__an_image__one_row),
        cmocka_unit_test(sources__in_one_profile_alone__not_compared),
        cmocka_unit_test(sources__of_another_unit__named_with_both),
        cmocka_unit_test(threads__numbers_of_a_run__are_not_compared),
        cmocka_unit_test(grew__sure_growth_above_the_limit_alone),
        cmocka_unit_test(totals__of_a_caller_alone__beyond_chance),
        cmocka_unit_test(totals__callers_missing__only_beyond_them),
        cmocka_unit_test(totals__one_profile_has_no_stacks__not_compared),
        cmocka_unit_test(print__hostile_names__harmless),
        cmocka_unit_test(csv__name_that_is_a_formula__escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
