/* SPDX-License-Identifier: MIT */
/* control.c - lines of --control to a recording whose collector refuses them. */
#include "record/control.h"
#include "record/recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { GIVEN_100NS = 10000, OTHER_100NS = 20000 };

static struct record_options options = {
    .command = "run", .sources = {"time"}, .source_count = 1, .no_guard = true};
static struct recording recording;

bool __wrap_collector_set_interval(struct collector *collector, size_t source,
                                   uint64_t interval, uint64_t *granted);

bool __wrap_collector_pause(struct collector *collector);
bool __wrap_collector_has_ended(struct collector *collector);

/* What collector_set_interval and collector_pause answer, and collector_has_ended. */
static bool taken;
static bool ended;

bool
__wrap_collector_pause(struct collector *collector)
{
    (void)collector;
    return taken;
}

bool
__wrap_collector_has_ended(struct collector *collector)
{
    (void)collector;
    return ended;
}

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

/* Obey a line, while counting, and return what was printed, until the next call. */
static const char *
obey(const char *line)
{
    static char said[1000];
    char folder[] = "/tmp/unit-control-XXXXXX";
    char fifo[sizeof(folder) + sizeof("/fifo")];
    const int kept = dup(STDERR_FILENO);
    const int file = memfd_create("said", MFD_CLOEXEC);
    ssize_t length;

    assert_true(kept >= 0 && file >= 0);
    assert_non_null(mkdtemp(folder));
    snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    options.control = fifo;
    assert_true(control_open(&recording.control, &recording));
    recording.control.counting = true;
    length = (ssize_t)strlen(line);
    assert_int_equal(write(recording.control.fifo_fd, line, (size_t)length), length);
    dup2(file, STDERR_FILENO);
    control_handle(&recording.control);
    dup2(kept, STDERR_FILENO);
    length = pread(file, said, sizeof(said) - 1, 0);
    assert_true(length >= 0);
    said[length] = '\0';
    control_close(&recording.control);
    unlink(fifo);
    rmdir(folder);
    close(kept);
    close(file);
    return said;
}

static void
lines__memory_ran_out__said(void **state)
{
    (void)state;
    taken = false;
    ended = false;
    assert_non_null(strstr(obey("stop\n"), "stop: counting goes on: memory ran out"));
    assert_non_null(strstr(obey("interval 1ms\n"), "interval 1ms: source time is not"));
}

static void
lines__after_the_end__nothing_said(void **state)
{
    (void)state;
    taken = false;
    ended = true;
    assert_string_equal(obey("stop\n"), "");
    assert_string_equal(obey("interval 1ms\n"), "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(interval__refused__nothing_changes, make_recording),
        cmocka_unit_test_setup(interval__taken__asked_and_in_effect, make_recording),
        cmocka_unit_test_setup(lines__memory_ran_out__said, make_recording),
        cmocka_unit_test_setup(lines__after_the_end__nothing_said, make_recording),
    };

    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
