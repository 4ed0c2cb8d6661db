/* SPDX-License-Identifier: MIT */
/*
 * memory.c - every allocation fails in turn: a listing says so, or has less to show,
 * but loses no hit in silence. The build with sanitizers sees to it that nothing leaks.
 * The sample is the argument.
 */
#include "failing_memory.h"
#include "fixture.h"

#include "view/listing/print.h"

#include <limits.h>
#include <stdio.h>

static const char *sample;

static struct profile *
make(void)
{
    struct profile *profile = fixture_profile(4);
    const uint32_t image = fixture_image(profile, sample, SAMPLE_BUILD_ID);
    const uint32_t work = fixture_function(profile, "work", "/gone/sample.S", 7);

    fixture_hits(profile, image, 0x401000, work, 7, 0, 20);
    fixture_hits(profile, image, 0x401008, work, 11, 0, 70);
    return profile;
}

static void
assert_no_hit_lost(const struct listing *listing)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < listing->count; i++) {
        hits += listing_line_hits(listing, &listing->lines[i], 0);
    }
    assert_int_equal(listing->own[0], 90);
    assert_true(hits == 90 || listing->outside);
}

/* One attempt. False: it said that memory ran out. */
static bool
list(const struct profile *profile, enum listing_view view)
{
    const struct listing_print_options options = {.source = LISTING_ALL_SOURCES};
    struct listing_targets targets = {.items = NULL};
    struct listing listing = {.lines = NULL};
    struct annotator *annotator = annotator_new(NULL);
    FILE *out = fopen("/dev/null", "we");
    bool done =
        annotator != NULL && listing_find_targets(profile, "work", NULL, &targets);

    assert_non_null(out);
    done = done &&
           listing_make(annotator, profile, NULL, &targets.items[0], view, &listing);
    if (done) {
        assert_no_hit_lost(&listing);
        listing_fold(&listing, 1, 1);
        done = listing_print_text(out, profile, &listing, &options) &&
               listing_print_json(out, profile, &listing);
    }
    listing_finish(&listing);
    listing_targets_finish(&targets);
    annotator_delete(annotator);
    fclose(out);
    return done;
}

static void
fail_each(enum listing_view view)
{
    struct profile *profile = make();
    size_t failures = 0;
    size_t at = 0;

    do {
        at++;
        made = 0;
        fail_at = at;
        failures += !list(profile, view);
        fail_at = 0;
    } while (made >= at);
    assert_true(failures > 10);
    assert_true(list(profile, view));
    profile_delete(profile);
}

static void
instructions__each_allocation_fails__said_or_less_shown(void **state)
{
    (void)state;
    fail_each(LISTING_BEST);
}

static void
source__each_allocation_fails__said_or_less_shown(void **state)
{
    (void)state;
    fail_each(LISTING_SOURCE_ONLY);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions__each_allocation_fails__said_or_less_shown),
        cmocka_unit_test(source__each_allocation_fails__said_or_less_shown),
    };

    assert_true(argc == 2);
    sample = realpath(argv[1], NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
