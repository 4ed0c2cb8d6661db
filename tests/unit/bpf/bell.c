/* SPDX-License-Identifier: MIT */
/*
 * bell.c - bells of a real machine: each test is on one processor, and begins processes there. What others do on the
 * machine may ring, too, so nothing is asserted of bells that could have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hal/bpf/bell.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fixture {
    struct bpf_bells bells;
    struct bpf_bell *bell; /* of the processor that the test runs on */
} fixture;

static int
setup(void **state)
{
    const uint32_t processor = (uint32_t)sched_getcpu();
    cpu_set_t set;

    (void)state;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
    bpf_bells_init(&fixture.bells, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
    assert_non_null(fixture.bells.items);
    fixture.bell = &fixture.bells.items[processor];
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    bpf_bells_finish(&fixture.bells);
    bpf_bells_finish(&fixture.bells); /* of nothing */
    return 0;
}

#define bell_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void
begin(void)
{
    bpf_bells_renew(&fixture.bells);
    if (!fixture.bells.whole) {
        print_message("no events of all processes for this user\n");
        skip();
    }
}

static void
begin_and_end_a_process(void)
{
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static int
wait_for_ring(int most_ms)
{
    struct pollfd descriptor = {.fd = fixture.bells.epoll_fd, .events = POLLIN};

    return poll(&descriptor, 1, most_ms);
}

static uint64_t
written(void)
{
    return __atomic_load_n(&fixture.bell->page->data_head, __ATOMIC_ACQUIRE);
}

static void
bells__new__are_silent(void **state)
{
    (void)state;
    begin();
    begin_and_end_a_process();
    assert_true(fixture.bell->silent);
    assert_int_equal(written(), 0);
    assert_int_equal(wait_for_ring(0), 0);
    assert_true(bpf_bells_bytes(&fixture.bells) >= (uint64_t)sysconf(_SC_PAGESIZE));
}

static void
bells__set__ring_for_a_process(void **state)
{
    (void)state;
    begin();
    assert_true(bpf_bells_set(&fixture.bells));
    assert_false(fixture.bell->silent);
    begin_and_end_a_process();
    assert_true(written() > 0);
    assert_int_equal(wait_for_ring(-1), 1);
}

static void
bells__silenced__take_nothing_until_set(void **state)
{
    uint64_t before;

    (void)state;
    begin();
    bpf_bells_set(&fixture.bells);
    begin_and_end_a_process();
    bpf_bells_silence(&fixture.bells);
    assert_true(fixture.bell->silent);
    before = written();
    for (int i = 0; i < 100; i++) { /* more than a page of records */
        begin_and_end_a_process();
    }
    assert_int_equal(written(), before);
    bpf_bells_set(&fixture.bells);
    begin_and_end_a_process();
    assert_true(written() > before);
    assert_int_equal(wait_for_ring(-1), 1);
}

static void
bells__rung_by_hand__wake_once(void **state)
{
    (void)state;
    begin();
    bpf_bells_ring(&fixture.bells);
    bpf_bells_ring(&fixture.bells);
    assert_int_equal(wait_for_ring(-1), 1);
    bpf_bells_silence(&fixture.bells);
    assert_int_equal(wait_for_ring(0), 0);
}

/* As with a processor that goes away: the kernel stops its events for good. */
static void
bells_renew__event_stopped__another_one_rings(void **state)
{
    (void)state;
    begin();
    bpf_bells_set(&fixture.bells);
    assert_int_equal(ioctl(fixture.bell->fd, PERF_EVENT_IOC_DISABLE, 0), 0);
    bpf_bells_renew(&fixture.bells); /* sees how long it ran */
    assert_false(fixture.bell->silent);
    bpf_bells_renew(&fixture.bells); /* and that it did not since */
    assert_true(fixture.bells.whole);
    assert_true(fixture.bell->silent);
    bpf_bells_set(&fixture.bells);
    begin_and_end_a_process();
    assert_true(written() > 0);
}

/* In a child that may have no more descriptors: what was limited stays so. */
static bool
is_whole_without_descriptors(void)
{
    struct rlimit limit;

    bpf_bells_init(&fixture.bells, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
    limit.rlim_cur = (rlim_t)dup(0); /* the least that is free, and then is not */
    limit.rlim_max = limit.rlim_cur;
    if (fixture.bells.items == NULL || setrlimit(RLIMIT_NOFILE, &limit) < 0) {
        return true;
    }
    bpf_bells_renew(&fixture.bells);
    return bpf_bells_set(&fixture.bells) || bpf_bells_bytes(&fixture.bells) != 0;
}

static void
bells_renew__no_descriptors__are_not_whole(void **state)
{
    pid_t child;
    int status;

    (void)state;
    begin();
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(is_whole_without_descriptors() ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        bell_test(bells__new__are_silent),
        bell_test(bells__set__ring_for_a_process),
        bell_test(bells__silenced__take_nothing_until_set),
        bell_test(bells__rung_by_hand__wake_once),
        bell_test(bells_renew__event_stopped__another_one_rings),
        bell_test(bells_renew__no_descriptors__are_not_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
