/* SPDX-License-Identifier: MIT */
/*
 * memory.c - every allocation fails in turn: each call says so and can be repeated. The
 * build with sanitizers sees to it that nothing leaks.
 */
#include "failing_memory.h"
#include "fixture.h"

#include "profile/call_tree.h"
#include "profile/merge.h"
#include "profile/pprof.h"
#include "view/export/export.h"
#include "view/export/flames.h"
#include "view/report/difference.h"
#include "view/report/report.h"
#include "view/report/tree.h"

#include <stdio.h>

/* Does its work and gives whether that succeeded. */
typedef bool job_run(void *context);

/* Runs the job with its first, second ... allocation failing, until it needs no more.
 * Gives how often it failed. */
static size_t
count_failures(job_run *job, void *context)
{
    size_t failures = 0;
    bool done = false;

    for (size_t i = 1; !done; i++) {
        made = 0;
        fail_at = i;
        done = job(context);
        fail_at = 0;
        if (done) {
            assert_true(made < i); /* it succeeded because nothing failed */
        } else {
            failures++;
        }
    }
    return failures;
}

static void
fail_each(job_run *job, void *context)
{
    assert_true(count_failures(job, context) > 2);
}

/* A profile that has code of which only the bounds are known, and inlined code. */
static struct profile *
make_profile(void)
{
    const struct profile_function nameless = {
        .name = "", .system_name = "", .has_address = true, .address = 0x1400};
    struct profile *profile = fixture_small();
    struct profile_frame frame = {.function = 1, .line = 3};
    uint32_t function;
    uint32_t caller;

    assert_true(profile_add_function(profile, &nameless, &function));
    assert_true(profile_add_frame(profile, &frame, &caller));
    assert_true(profile_add_hits(profile, 1, 0x1400, 0, function, 0, 0, 7));
    assert_true(profile_add_hits(profile, 1, 0x1410, 0, function, 0, 0, 2));
    assert_true(profile_add_hits_at(
        profile,
        &(struct profile_place){
            .image = 1, .address = 0x1220, .function = 2, .line = 4, .caller = caller},
        0, 5));
    fixture_stack_hits(
        profile, fixture_call(profile, 0x1500, 1, fixture_end(profile, "[cut]")), 3);
    return profile;
}

static bool
build_profile(void *context)
{
    const struct profile_source source = {
        .name = "time", .nt_name = "", .unit = "100ns"};
    const struct profile_image image = {.path = "/bin/x", .build_id = "ab"};
    const struct profile_function function = {.name = "f", .system_name = "f"};
    struct profile *profile = profile_new();
    uint32_t index[4], end = 0;
    bool done;

    (void)context;
    done = profile != NULL && profile_add_source(profile, &source, &index[0]) &&
           profile_add_image(profile, &image, &index[1]) &&
           profile_add_function(profile, &function, &index[2]) &&
           profile_add_process(profile, "x", &index[3]);
    for (uint64_t i = 0; done && i < 200; i++) {
        done = profile_add_hits(profile, index[1], i * 4, index[3], index[2], 0,
                                index[0], 1);
    }
    done =
        done && profile_add_call(profile, &(struct profile_call){.end = "[cut]"}, &end);
    for (uint64_t i = 0; done && i < 40; i++) {
        const struct profile_call call = {.address = i, .caller = end};
        struct profile_place place = {.address = i};

        done = profile_add_call(profile, &call, &place.stack) &&
               profile_add_hits_at(profile, &place, 0, 1);
    }
    done = done && profile_remove_stacks(profile);
    if (done) {
        profile_sort(profile);
        done = profile_add_hits(profile, index[1], 0, index[3], 0, 0, index[0], 1);
    }
    profile_delete(profile);
    return done;
}

static void
profile__each_allocation_fails__said(void **state)
{
    (void)state;
    fail_each(build_profile, NULL);
}

static bool
encode_profile(void *context)
{
    void *bytes;
    size_t size;
    const bool done = pprof_encode(context, &bytes, &size);

    if (done) {
        free(bytes);
    }
    return done;
}

static void
encode__each_allocation_fails__said(void **state)
{
    struct profile *profile = make_profile();

    (void)state;
    fail_each(encode_profile, profile);
    profile_delete(profile);
}

struct bytes {
    void *bytes;
    size_t size;
};

static bool
decode_profile(void *context)
{
    const struct bytes *file = context;
    struct pprof_error error = {.text = ""};
    struct profile *profile = pprof_decode(file->bytes, file->size, &error);
    const bool done = profile != NULL;

    if (!done) {
        assert_non_null(strstr(error.text, "out of memory"));
    }
    profile_delete(profile);
    return done;
}

static void
decode__each_allocation_fails__said(void **state)
{
    struct profile *profile = make_profile();
    struct bytes file;

    (void)state;
    assert_true(pprof_encode(profile, &file.bytes, &file.size));
    profile_delete(profile);
    fail_each(decode_profile, &file);
    free(file.bytes);
}

struct shown {
    const struct profile *profile;
    FILE *out;
    enum report_format format;
    const struct report_filter *filter; /* or NULL */
};

static bool
show_profile(void *context)
{
    const struct shown *shown = context;
    const struct report_options options = {.format = shown->format,
                                           .by.filters = shown->filter,
                                           .by.filter_count = shown->filter != NULL};

    return report_print(shown->out, shown->profile, &options);
}

static void
report__each_allocation_fails__said(void **state)
{
    struct profile *profile = make_profile();
    struct shown shown = {.profile = profile, .out = fopen("/dev/null", "w")};

    (void)state;
    assert_non_null(shown.out);
    for (int format = REPORT_TABLE; format <= REPORT_CSV; format++) {
        shown.format = (enum report_format)format;
        fail_each(show_profile, &shown);
    }
    fclose(shown.out);
    profile_delete(profile);
}

/* Reads two profiles and adds them up; the second has a source more. */
static bool
merge_profiles(void *context)
{
    const struct bytes *files = context;
    struct profile_merger *merger = profile_merger_new();
    struct pprof_error error = {.text = ""};
    bool done = merger != NULL;

    for (size_t i = 0; done && i < 2; i++) {
        struct profile *profile = pprof_decode(files[i].bytes, files[i].size, &error);

        done = profile != NULL && profile_merger_add(merger, profile, &error);
    }
    if (done) {
        struct profile *sum = profile_merger_take(merger, &error);

        done = sum != NULL;
        profile_delete(sum);
    } else if (merger != NULL) {
        assert_non_null(strstr(error.text, "out of memory"));
    }
    profile_merger_delete(merger);
    return done;
}

static void
merge__each_allocation_fails__said(void **state)
{
    const struct profile_source source = {
        .name = "faults", .nt_name = "", .unit = "events", .granted = 1};
    struct profile *first = make_profile();
    struct profile *second = profile_new();
    struct bytes files[2];
    uint32_t index;

    (void)state;
    assert_non_null(second);
    second->bucket_bytes = first->bucket_bytes;
    assert_true(profile_add_source(second, &source, &index));
    assert_true(pprof_encode(first, &files[0].bytes, &files[0].size));
    assert_true(pprof_encode(second, &files[1].bytes, &files[1].size));
    profile_delete(first);
    profile_delete(second);
    fail_each(merge_profiles, files);
    free(files[0].bytes);
    free(files[1].bytes);
}

/* Both are the same profile; every row is shown. */
static bool
show_difference(void *context)
{
    const struct shown *shown = context;
    const struct diff_options options = {
        .by = {.filters = shown->filter, .filter_count = shown->filter != NULL},
        .all = true};
    const struct report_options printed = {.format = shown->format};
    struct diff *diff = diff_new(shown->profile, shown->profile, &options);
    const bool done = diff != NULL && diff_print(shown->out, diff, &printed);

    diff_delete(diff);
    return done;
}

static void
diff__each_allocation_fails__said(void **state)
{
    struct profile *profile = make_profile();
    struct shown shown = {.profile = profile, .out = fopen("/dev/null", "w")};

    (void)state;
    assert_non_null(shown.out);
    for (int format = REPORT_TABLE; format <= REPORT_CSV; format++) {
        shown.format = (enum report_format)format;
        fail_each(show_difference, &shown);
    }
    fclose(shown.out);
    profile_delete(profile);
}

/* The name of the code is made of its image and address. */
static const struct report_filter filter_nameless = {REPORT_FILTER_SYMBOL,
                                                     "work!0x1400"};

static bool
check_filter(void *context)
{
    const struct report_options options = {.by.filters = &filter_nameless,
                                           .by.filter_count = 1};
    char why[128] = "";
    const bool done = report_check(context, &options, why, sizeof(why));

    if (!done) {
        assert_string_equal(why, "out of memory");
    }
    return done;
}

static void
filter__each_allocation_fails__said(void **state)
{
    struct profile *profile = make_profile();
    struct shown shown = {
        .profile = profile, .out = fopen("/dev/null", "w"), .filter = &filter_nameless};

    (void)state;
    assert_non_null(shown.out);
    fail_each(show_profile, &shown);
    fail_each(show_difference, &shown);
    fail_each(check_filter, profile);
    fclose(shown.out);
    profile_delete(profile);
}

struct exported {
    const struct profile *profile;
    FILE *out;
    const struct export_format *format;
};

static bool
export_profile(void *context)
{
    const struct exported *exported = context;
    struct export_options options = {.image = "work", .rows = 1};
    struct export_messages messages;
    struct flames flames = {0};
    bool done = true;

    if (exported->format->has_flames) {
        done = flames_read(&flames, exported->profile, exported->profile);
        options.flames = &flames;
    }
    if (done) {
        done = export_write(exported->out, exported->profile, exported->format,
                            &options, &messages);
        assert_true(done || strstr(messages.error, "out of memory") != NULL);
    }
    flames_finish(&flames);
    return done;
}

static void
export__each_allocation_fails__said(void **state)
{
    static const char *const names[] = {"pprof",  "gmon", "callgrind", "speedscope",
                                        "folded", "json", "csv",       "openmetrics",
                                        "html",   "svg"};
    struct profile *profile = make_profile();
    struct exported exported = {.profile = profile, .out = fopen("/dev/null", "w")};

    (void)state;
    assert_non_null(exported.out);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        exported.format = export_format_find(names[i]);
        assert_non_null(exported.format);
        assert_true(count_failures(export_profile, &exported) > 0);
    }
    fclose(exported.out);
    profile_delete(profile);
}

static bool
build_tree(void *context)
{
    const struct profile *const profile = context;
    const struct call_tree_options options = {.inlined = true};
    struct identities identities;
    struct call_tree tree = {0};
    uint64_t self[64] = {0}, total[64] = {0};
    const bool done = identities_find(profile, &identities) &&
                      call_tree_build(&tree, profile, &identities, &options) &&
                      call_tree_sums(profile, &identities, 0, true, self, total);

    call_tree_finish(&tree);
    identities_finish(&identities);
    return done;
}

/* Print rows of callers, or with a tree that one. */
static bool
show_callers(void *context)
{
    const struct shown *const shown = context;
    static const char *const skipped[] = {"libc*"};
    const struct report_tree tree = {.direction = CALL_TREE_UP, .minimum = 0.01};
    struct report_options options = {
        .by = {.relation = {REPORT_CALLERS, "work*", skipped, 1}}};

    return report_print(shown->out, shown->profile, &options) &&
           report_print_tree(shown->out, shown->profile, &options, &tree);
}

static void
callers__each_allocation_fails__said(void **state)
{
    struct profile *profile = make_profile();
    struct shown shown = {.profile = profile, .out = fopen("/dev/null", "w")};

    (void)state;
    assert_non_null(shown.out);
    fail_each(show_callers, &shown);
    fclose(shown.out);
    profile_delete(profile);
}

static void
call_tree__each_allocation_fails__said(void **state)
{
    struct profile *profile = make_profile();

    (void)state;
    fail_each(build_tree, profile);
    profile_delete(profile);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profile__each_allocation_fails__said),
        cmocka_unit_test(encode__each_allocation_fails__said),
        cmocka_unit_test(decode__each_allocation_fails__said),
        cmocka_unit_test(report__each_allocation_fails__said),
        cmocka_unit_test(merge__each_allocation_fails__said),
        cmocka_unit_test(diff__each_allocation_fails__said),
        cmocka_unit_test(filter__each_allocation_fails__said),
        cmocka_unit_test(export__each_allocation_fails__said),
        cmocka_unit_test(callers__each_allocation_fails__said),
        cmocka_unit_test(call_tree__each_allocation_fails__said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
