/* SPDX-License-Identifier: MIT */
/*
 * time_limit.c - a call that does not return costs two seconds once, and its result is
 * dropped when it comes.
 *
 * Time passes only where a test says so: in a slow call, and in waiting for one that
 * does not return.
 */
#include "base/time_limit.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t now_ns = CLOCK_SECOND_NS;
static bool returns = true; /* the call that is waited for */

uint64_t __wrap_clock_now_ns(void);
int __wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
                                  const struct timespec *until);

uint64_t
__wrap_clock_now_ns(void)
{
    return __atomic_load_n(&now_ns, __ATOMIC_SEQ_CST);
}

int
__wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
                              const struct timespec *until)
{
    if (returns) {
        return pthread_cond_wait(changed, lock);
    }
    __atomic_store_n(
        &now_ns, (uint64_t)until->tv_sec * CLOCK_SECOND_NS + (uint64_t)until->tv_nsec,
        __ATOMIC_SEQ_CST);
    return ETIMEDOUT;
}

static void
let_pass(uint64_t ns)
{
    __atomic_add_fetch(&now_ns, ns, __ATOMIC_SEQ_CST);
}

/* call - waits until its pipe is readable, if it has one. */
struct call {
    int wait_fd;
    int done_fd; /* gets a byte when the call is dropped */
    int result;
};

static void
work(void *argument)
{
    struct call *const call = argument;
    struct pollfd place = {.fd = call->wait_fd, .events = POLLIN};

    if (call->wait_fd >= 0) {
        (void)poll(&place, 1, -1);
    }
    call->result = 1;
}

static void
drop(void *argument)
{
    struct call *const call = argument;
    const char result = (char)('0' + call->result);

    if (call->done_fd >= 0) {
        assert_int_equal(write(call->done_fd, &result, 1), 1);
    }
    free(call);
}

static struct call *
new_call(int wait_fd, int done_fd)
{
    struct call *const call = calloc(1, sizeof(*call));

    assert_non_null(call);
    call->wait_fd = wait_fd;
    call->done_fd = done_fd;
    return call;
}

static void
call__returns__done_in_time(void **state)
{
    struct call *const call = new_call(-1, -1);

    (void)state;
    assert_int_equal(time_limit_run(1, work, drop, call), 0);
    assert_int_equal(call->result, 1);
    assert_false(time_limit_is_late(1));
    free(call);
}

static void
call__does_not_return__dropped_and_its_key_refused(void **state)
{
    struct call *const other = new_call(-1, -1);
    const uint64_t begin_ns = now_ns;
    int waiting[2];
    int done[2];
    int closed[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(waiting), 0);
    assert_int_equal(pipe(done), 0);
    assert_int_equal(pipe(closed), 0);
    returns = false;
    assert_int_equal(time_limit_run(2, work, drop, new_call(waiting[0], done[1])),
                     -ETIMEDOUT);
    returns = true;
    assert_int_equal(now_ns - begin_ns, TIME_LIMIT_S * CLOCK_SECOND_NS);
    assert_true(time_limit_is_late(2));
    /* Of the same key none is begun, others are; what is to be closed waits. */
    assert_int_equal(time_limit_run(2, work, drop, new_call(-1, done[1])), -ETIMEDOUT);
    assert_int_equal(read(done[0], &byte, 1), 1);
    assert_int_equal(byte, '0');
    assert_int_equal(time_limit_run(3, work, drop, other), 0);
    free(other);
    time_limit_close(2, closed[1]);
    assert_int_equal(poll(&(struct pollfd){.fd = closed[0]}, 1, 0), 0); /* no POLLHUP */
    /* Now it returns. */
    assert_int_equal(write(waiting[1], "x", 1), 1);
    assert_int_equal(read(done[0], &byte, 1), 1);
    assert_int_equal(byte, '1');
    assert_int_equal(read(closed[0], &byte, 1), 0);
    let_pass(60 * CLOCK_SECOND_NS - 1);
    assert_true(time_limit_is_late(2));
    let_pass(1);
    assert_false(time_limit_is_late(2));
}

/* slow - a call that takes half a second. */
static void
slow(void *argument)
{
    struct call *const call = argument;

    let_pass(CLOCK_SECOND_NS / 2);
    call->result = 1;
}

static void
calls__each_slow__refused_once_they_took_two_seconds(void **state)
{
    int done = 0;

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct call *const call = new_call(-1, -1);

        if (time_limit_run(4, slow, drop, call) == 0) {
            done++;
            free(call);
        }
    }
    assert_int_equal(done, 4);
    assert_true(time_limit_is_late(4));
    assert_false(time_limit_is_late(5));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call__returns__done_in_time),
        cmocka_unit_test(call__does_not_return__dropped_and_its_key_refused),
        cmocka_unit_test(calls__each_slow__refused_once_they_took_two_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
