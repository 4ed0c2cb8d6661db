/* SPDX-License-Identifier: MIT */
/* rates.c - why a measured rate differs from the one granted. */
#include "../profile/fixture.h"

#include "view/report/report.h"

/* The lines below a table of hits of one source with these statistics. */
static char *
lines_of(const char *unit, uint64_t taken, uint64_t throttled, uint64_t missed)
{
    struct profile *const profile = profile_new();
    const bool is_time = strcmp(unit, "100ns") == 0;
    const uint32_t source =
        fixture_source(profile, is_time ? "time" : "cycles", unit, 10000);
    const uint32_t process = fixture_process(profile, "p");
    const uint32_t function = fixture_function(profile, "main", "main");
    const uint32_t image = fixture_image(profile, "/bin/p", "ab");
    struct profile_source *const statistics = &profile->sources[source];
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_true(
        profile_add_hits(profile, image, 0x10, process, function, 0, source, taken));
    statistics->asked = statistics->granted;
    statistics->expected = taken + throttled + missed;
    statistics->taken = taken;
    statistics->counted = taken;
    statistics->outside = 0;
    statistics->lost = 0;
    statistics->throttled = throttled;
    statistics->missed = missed;
    statistics->unfinished = 0;
    statistics->excluded = 0;
    statistics->measured =
        (double)statistics->granted * (double)statistics->expected / (double)taken;
    assert_true(report_print_statistics(out, profile, NULL, true));
    assert_int_equal(fclose(out), 0);
    profile_delete(profile);
    return text;
}

static void
rate__throttled_time__causes_are_the_difference(void **state)
{
    char *const lines = lines_of("100ns", 3100, 5800, 1100);

    (void)state;
    assert_non_null(strstr(lines, "time was measured at 310 Hz, 69% below 1000 Hz: "
                                  "58.0% throttled by the kernel, "
                                  "11.0% missed, as timers were late\n"));
    free(lines);
}

/* Only the clock has timers. */
static void
rate__missed_events__no_timers(void **state)
{
    char *const lines = lines_of("events", 3000, 0, 7000);

    (void)state;
    assert_non_null(strstr(lines, ": 70.0% missed: counted by the kernel, but not "
                                  "reported\n"));
    assert_null(strstr(lines, "timers"));
    free(lines);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rate__throttled_time__causes_are_the_difference),
        cmocka_unit_test(rate__missed_events__no_timers),
    };

    return cmocka_run_group_tests_name("rates", tests, NULL, NULL);
}
