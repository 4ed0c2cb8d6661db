/* SPDX-License-Identifier: MIT */
/* control.c - lines of --control to a recording whose collector refuses them. */
#include "record/control.h"
#include "record/recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { GIVEN_100NS = 10000, OTHER_100NS = 20000 };

static struct record_options options = {
    .command = "run", .sources = {"time"}, .source_count = 1, .no_guard = true};
static struct recording recording;

bool __wrap_collector_set_interval(struct collector *collector, size_t source,
                                   uint64_t interval, uint64_t *granted);

/* What collector_set_interval answers. */
static bool taken;

bool
__wrap_collector_set_interval(struct collector *collector, size_t source,
                              uint64_t interval, uint64_t *granted)
{
    (void)collector;
    (void)source;
    if (taken) {
        *granted = interval;
    }
    return taken;
}

static int
make_recording(void **state)
{
    (void)state;
    recording = (struct recording){
        .options = &options,
        .command = options.command,
        .asked_100ns = GIVEN_100NS,
        .pace = {.options = &options, .interval_100ns = GIVEN_100NS}};
    return 0;
}

static void
interval__refused__nothing_changes(void **state)
{
    uint64_t granted;

    (void)state;
    taken = false;
    assert_false(recording_set_interval(&recording, OTHER_100NS, &granted));
    assert_int_equal(recording.asked_100ns, GIVEN_100NS);
    assert_int_equal(recording.pace.interval_100ns, GIVEN_100NS);
    assert_int_equal(recording.interval_changes, 0);
}

static void
interval__taken__asked_and_in_effect(void **state)
{
    uint64_t granted;

    (void)state;
    taken = true;
    assert_true(recording_set_interval(&recording, OTHER_100NS, &granted));
    assert_int_equal(granted, OTHER_100NS);
    assert_int_equal(recording.asked_100ns, OTHER_100NS);
    assert_int_equal(recording.pace.interval_100ns, OTHER_100NS);
    assert_int_equal(recording.interval_changes, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(interval__refused__nothing_changes, make_recording),
        cmocka_unit_test_setup(interval__taken__asked_and_in_effect, make_recording),
    };

    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
