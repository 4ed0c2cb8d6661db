/* SPDX-License-Identifier: MIT */
/*
 * renewal.c - events of processors that go away and come back. The kernel stops such an
 * event for good: here it is stopped by ioctl, and a processor that is away is a bpf()
 * that refuses to attach.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "breakpoints.h"
#include "hal/backend.h"
#include "hal/bpf/bpf.h"
#include "own_page.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct fixture {
    struct bpf *bpf;
    struct perf_source *source;
    uint32_t processor; /* that the test runs on */
    bool away;
    int refusal; /* of events of a processor that is not away; 0: none */
} fixture;

/* Attaching needs the event, which needs the processor. */
static long
call_unless_away(int command, union bpf_attr *attr, size_t bytes)
{
    if (command == BPF_LINK_CREATE && (fixture.away || fixture.refusal != 0)) {
        return fixture.away ? -ENODEV : -fixture.refusal;
    }
    return bpf_call_kernel(command, attr, bytes);
}

/* A function that does nothing, and the rest of its page; tests call a copy, which is
 * theirs alone. */
extern const char renewal_place[];

__asm__(".pushsection .text\n"
        "    .balign 4096\n"
        "renewal_place:\n"
        "    ret\n"
        "    .balign 4096\n"
        "    .popsection\n");

static const char *place;

static void
pin_to_one_processor(void)
{
    cpu_set_t set;

    fixture.processor = (uint32_t)sched_getcpu();
    CPU_ZERO(&set);
    CPU_SET(fixture.processor, &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static int
make_place(void **state)
{
    (void)state;
    place = own_page_make(renewal_place);
    return 0;
}

static int
setup(void **state)
{
    struct perf_refusal refusal;
    char name[64];
    int result;

    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    pin_to_one_processor();
    result = bpf_create(call_unless_away, false, &fixture.bpf, &refusal);
    if (result < 0) {
        print_message("no BPF programs here: %s\n", refusal.reason);
        return result == -EPERM || result == -EACCES || result == -ENOSYS ||
                       result == -EOPNOTSUPP
                   ? 0
                   : -1;
    }
    snprintf(name, sizeof(name), "breakpoint:0x%llx",
             (unsigned long long)(uintptr_t)place);
    assert_int_equal(
        perf_sources_lookup(&fixture.bpf->context.sources, name, &fixture.source), 0);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    bpf_delete(fixture.bpf);
    return 0;
}

static void
begin(void)
{
    if (fixture.bpf == NULL) {
        skip();
    }
    need_breakpoints();
    assert_int_equal(bpf_start(fixture.bpf, fixture.source, fixture.processor), 0);
}

static struct bpf_event *
event_of_source(void)
{
    assert_ptr_equal(fixture.bpf->slots[0].source, fixture.source);
    return &fixture.bpf->slots[0].events[fixture.processor];
}

/* Calls, and asserts how many hits there are by now. No profile is started: all are
 * outside. */
static void
call_to_have(int calls, uint64_t hits)
{
    uint64_t counted;
    uint64_t outside;

    for (int i = 0; i < calls; i++) {
        ((void (*)(void))(uintptr_t)place)();
    }
    bpf_query_hits(fixture.bpf, fixture.source, &counted, &outside);
    assert_int_equal(counted, 0);
    assert_int_equal(outside, hits);
}

static void
disable_event(void)
{
    assert_int_equal(ioctl(event_of_source()->event.fd, PERF_EVENT_IOC_DISABLE, 0), 0);
}

/* All of a processor's events stop, so its heartbeat does, too. */
static void
stop_as_the_kernel(void)
{
    const int heartbeat = fixture.bpf->heartbeats[fixture.processor].fd;

    disable_event();
    assert_true(heartbeat >= 0);
    assert_int_equal(ioctl(heartbeat, PERF_EVENT_IOC_DISABLE, 0), 0);
}

/* A first look finds how long the event ran; a second one, that it has not run since.
 */
static void
renew_twice(void)
{
    bpf_renew(fixture.bpf);
    bpf_renew(fixture.bpf);
}

static HAL_SOURCE_STATISTICS
query_statistics(uint64_t taken)
{
    HAL_SOURCE_STATISTICS statistics;

    assert_int_equal(HalBpfBackend.QuerySourceStatistics(
                         fixture.bpf, fixture.source->number, taken, &statistics),
                     STATUS_SUCCESS);
    return statistics;
}

/* ---- tests ---- */

static void
renew__event_that_runs__left_alone(void **state)
{
    int fd;

    (void)state;
    begin();
    fd = event_of_source()->event.fd;
    for (int i = 0; i < 3; i++) {
        bpf_renew(fixture.bpf);
        call_to_have(2, 2 * (uint64_t)(i + 1)); /* takes time */
        assert_int_equal(event_of_source()->event.fd, fd);
    }
    assert_int_equal(fixture.bpf->started_events, 1);
    assert_int_equal(fixture.source->tally.instances, 1);
}

static void
renew__processor_back__counts_again(void **state)
{
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    begin();
    call_to_have(5, 5);
    stop_as_the_kernel();
    call_to_have(7, 5);
    renew_twice();
    call_to_have(3, 8);
    assert_int_equal(fixture.bpf->started_events, 1);
    assert_int_equal(fixture.source->tally.instances, 2);
    statistics = query_statistics(8);
    assert_int_equal(statistics.Events, 8);
    assert_int_equal(statistics.Missed, 0);
    bpf_stop(fixture.bpf, fixture.source, fixture.processor);
    call_to_have(4, 8);
    assert_int_equal(fixture.bpf->started_events, 0);
}

static void
renew__processor_still_away__tried_again(void **state)
{
    (void)state;
    begin();
    call_to_have(5, 5);
    stop_as_the_kernel();
    fixture.away = true;
    renew_twice();
    assert_int_equal(event_of_source()->event.fd, -1);
    assert_int_equal(fixture.bpf->started_events, 1);
    assert_true(HalBpfBackend.Deliver(fixture.bpf) > 0); /* it is asked again */
    assert_int_equal(event_of_source()->users, 1);
    assert_int_equal(fixture.bpf->context.error[0], 0);
    call_to_have(7, 5);
    renew_twice();
    fixture.away = false;
    bpf_renew(fixture.bpf);
    call_to_have(3, 8);
    assert_int_equal(fixture.bpf->started_events, 1);
    assert_int_equal(query_statistics(8).Events, 8);
}

static ULONG64
unread(void)
{
    HAL_STATISTICS statistics;

    HalBpfBackend.QueryStatistics(fixture.bpf, &statistics);
    return statistics.Unread;
}

static void
renew__processor_back_and_refused__reported_once_and_tried_again(void **state)
{
    (void)state;
    begin();
    stop_as_the_kernel();
    fixture.away = true;
    renew_twice();
    assert_int_equal(unread(), 0);
    fixture.away = false;
    fixture.refusal = EMFILE;
    renew_twice();
    renew_twice();
    assert_int_equal(unread(), 1);
    assert_int_equal(fixture.bpf->context.error[0], 0);
    fixture.refusal = 0;
    bpf_renew(fixture.bpf);
    call_to_have(3, 3);
    assert_int_equal(unread(), 1);
}

/* A directory of cgroups that events know: the root, in which all runs; -1: none is
 * mounted. */
static int
open_root_cgroup(void)
{
    FILE *const mounts = fopen("/proc/self/mounts", "re");
    char line[4096];
    int fd = -1;

    assert_non_null(mounts);
    while (fd < 0 && fgets(line, sizeof(line), mounts) != NULL) {
        char directory[1024];
        char type[64];
        char options[1024];

        if (sscanf(line, "%*s %1023s %63s %1023s", directory, type, options) == 3 &&
            (strcmp(type, "cgroup2") == 0 ||
             (strcmp(type, "cgroup") == 0 && strstr(options, "perf_event") != NULL))) {
            fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
    }
    fclose(mounts);
    return fd;
}

static void
begin_in_cgroup(void)
{
    const int fd = open_root_cgroup();

    if (fixture.bpf == NULL || fd < 0) {
        print_message("no BPF programs, or no cgroups\n");
        skip();
    }
    fixture.bpf->context.cgroup_fd = fd;
    begin();
}

/* An event of a cgroup in which nothing runs stands still, as one that is stopped. */
static void
renew__cgroup_idle__left_alone(void **state)
{
    int fd;

    (void)state;
    begin_in_cgroup();
    fd = event_of_source()->event.fd;
    call_to_have(5, 5);
    disable_event();
    renew_twice();
    assert_int_equal(event_of_source()->event.fd, fd);
    assert_int_equal(fixture.source->tally.instances, 1);
    assert_int_equal(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
    call_to_have(4, 9);
    close(fixture.bpf->context.cgroup_fd);
}

static void
renew__cgroup_and_processor_back__counts_again(void **state)
{
    (void)state;
    begin_in_cgroup();
    call_to_have(5, 5);
    renew_twice();
    stop_as_the_kernel();
    renew_twice();
    call_to_have(3, 8);
    assert_int_equal(fixture.source->tally.instances, 2);
    assert_int_equal(query_statistics(8).Events, 8);
    close(fixture.bpf->context.cgroup_fd);
}

static void
stop__processor_away__nothing_left(void **state)
{
    (void)state;
    begin();
    stop_as_the_kernel();
    fixture.away = true;
    renew_twice();
    bpf_stop(fixture.bpf, fixture.source, fixture.processor);
    assert_int_equal(event_of_source()->users, 0);
    assert_int_equal(fixture.bpf->started_events, 0);
    fixture.away = false;
    renew_twice(); /* for nobody */
    assert_int_equal(event_of_source()->event.fd, -1);
    call_to_have(7, 0);
}

static void
start__processor_away__refused_then_counts(void **state)
{
    need_breakpoints();

    (void)state;
    if (fixture.bpf == NULL) {
        skip();
    }
    fixture.away = true;
    assert_int_equal(bpf_start(fixture.bpf, fixture.source, fixture.processor),
                     -ENODEV);
    assert_true(fixture.bpf->context.error[0] != 0);
    assert_int_equal(fixture.bpf->started_events, 0);
    fixture.away = false;
    begin();
    call_to_have(3, 3);
}

#define renewal_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        renewal_test(renew__event_that_runs__left_alone),
        renewal_test(renew__processor_back__counts_again),
        renewal_test(renew__processor_still_away__tried_again),
        renewal_test(renew__processor_back_and_refused__reported_once_and_tried_again),
        renewal_test(renew__cgroup_idle__left_alone),
        renewal_test(renew__cgroup_and_processor_back__counts_again),
        renewal_test(stop__processor_away__nothing_left),
        renewal_test(start__processor_away__refused_then_counts),
    };

    return cmocka_run_group_tests_name("bpf renewal", tests, make_place, NULL);
}
