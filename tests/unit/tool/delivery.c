/* SPDX-License-Identifier: MIT */
/* delivery.c - the thread that delivers a session: begins, is kept out, ends. */
#include "record/collect/delivery.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static ntprof_session *
open_session(void)
{
    const ntprof_session_options options = {
        .size = sizeof(options), .backend = "sim", .flags = NTPROF_SESSION_POLLED};
    ntprof_session *session;

    assert_int_equal(ntprof_session_open(&options, &session), STATUS_SUCCESS);
    return session;
}

static uint64_t
deliveries(ntprof_session *session)
{
    ntprof_session_info info = {.size = sizeof(info)};

    assert_int_equal(ntprof_session_get_info(session, &info), STATUS_SUCCESS);
    return info.deliveries;
}

static void
delivery_start__runs__session_is_delivered_until_stop(void **state)
{
    ntprof_session *const session = open_session();
    struct delivery delivery;
    uint64_t before;

    (void)state;
    delivery_init(&delivery, session);
    assert_int_equal(deliveries(session), 0);
    assert_int_equal(delivery_start(&delivery), 0);
    while (deliveries(session) == 0) {
        usleep(1000);
    }
    delivery_stop(&delivery);
    before = deliveries(session);
    assert_int_equal(deliveries(session), before);
    delivery_stop(&delivery); /* a second time does nothing */
    delivery_finish(&delivery);
    ntprof_session_close(session);
}

static void
delivery_lock__held__thread_cannot_deliver(void **state)
{
    ntprof_session *const session = open_session();
    struct delivery delivery;

    (void)state;
    delivery_init(&delivery, session);
    delivery_lock(&delivery);
    assert_int_equal(delivery_start(&delivery), 0);
    usleep(20000); /* time for a mistake; none is asserted */
    assert_int_equal(deliveries(session), 0);
    delivery_unlock(&delivery);
    while (deliveries(session) == 0) {
        usleep(1000);
    }
    delivery_finish(&delivery);
    ntprof_session_close(session);
}

static void
delivery_finish__never_started__gives_back_what_there_is(void **state)
{
    ntprof_session *const session = open_session();
    struct delivery delivery;

    (void)state;
    delivery_init(&delivery, session);
    delivery_finish(&delivery);
    assert_int_equal(deliveries(session), 0);
    ntprof_session_close(session);
}

static volatile sig_atomic_t main_signals;

static void
count_signal(int number)
{
    (void)number;
    main_signals++;
}

static void
delivery_start__signal_to_the_process__comes_to_the_main_thread(void **state)
{
    ntprof_session *const session = open_session();
    struct delivery delivery;
    sigset_t blocked;
    sigset_t pending;

    (void)state;
    delivery_init(&delivery, session);
    signal(SIGUSR1, count_signal);
    assert_int_equal(delivery_start(&delivery), 0);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    kill(getpid(), SIGUSR1);
    sigpending(&pending);
    assert_int_equal(sigismember(&pending, SIGUSR1), 1);
    assert_int_equal(main_signals, 0);
    pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
    assert_int_equal(main_signals, 1);
    delivery_finish(&delivery);
    ntprof_session_close(session);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delivery_start__runs__session_is_delivered_until_stop),
        cmocka_unit_test(delivery_lock__held__thread_cannot_deliver),
        cmocka_unit_test(delivery_finish__never_started__gives_back_what_there_is),
        cmocka_unit_test(
            delivery_start__signal_to_the_process__comes_to_the_main_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
