/* SPDX-License-Identifier: MIT */
/* own_process.c - calls of NT over back end timer, for code of this process. */
#include <ntprof/ntprof.h>

#include "hal/timer/queue.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { REGION_BYTES = 4096, BUCKET_LOG2 = 4, COUNTERS = REGION_BYTES >> BUCKET_LOG2 };

static ntprof_session *session;
static volatile uint64_t sink;

/* Starts a page, so that the region below holds it and nothing else that is hot. */
__attribute__((noinline, aligned(4096))) static void
burn_once(void)
{
    uint64_t value = sink;

    for (int i = 0; i < 100000; i++) {
        value = value * UINT64_C(6364136223846793005) + 1;
    }
    sink = value;
}

static void
burn(unsigned milliseconds)
{
    struct timespec now;
    uint64_t end_ns = 0;
    uint64_t now_ns;

    do {
        burn_once();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        end_ns = end_ns != 0 ? end_ns : now_ns + milliseconds * UINT64_C(1000000);
    } while (now_ns < end_ns);
}

static void *
burn_in_thread(void *unused)
{
    burn(400);
    return unused;
}

static int
open_session(void **state)
{
    const ntprof_session_options options = {.size = sizeof(options),
                                            .backend = "timer"};

    (void)state;
    if (!NT_SUCCESS(ntprof_session_open(&options, &session))) {
        printf("no back end timer: %s\n", ntprof_session_error(NULL));
        return -1;
    }
    ntprof_session_use(session);
    return 0;
}

static int
close_session(void **state)
{
    (void)state;
    ntprof_session_use(NULL);
    ntprof_session_close(session);
    return 0;
}

static NTSTATUS
create(HANDLE *profile, HANDLE process, KPROFILE_SOURCE source, ULONG *counters)
{
    return NtCreateProfileEx(profile, process, (PVOID)(uintptr_t)burn_once,
                             REGION_BYTES, BUCKET_LOG2, counters,
                             COUNTERS * sizeof(ULONG), source, 0, NULL);
}

static uint64_t
sum(const ULONG *counters)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < COUNTERS; i++) {
        hits += counters[i];
    }
    return hits;
}

static ntprof_source_info
statistics(void)
{
    ntprof_source_info info = {.size = sizeof(info)};

    assert_int_equal(ntprof_source_get(session, ProfileTime, &info), STATUS_SUCCESS);
    assert_int_equal(info.taken, info.counted + info.outside);
    assert_int_equal(info.expected, info.taken + info.lost + info.throttled +
                                        info.missed + info.unfinished + info.excluded);
    return info;
}

/* Hits, with what is reported as dropped, are at least half of this processor time: how
 * many there are depends on the machine. */
static void
assert_has_time(uint64_t hits, uint64_t milliseconds)
{
    const ntprof_source_info info = statistics();
    const uint64_t dropped = info.expected - info.taken;

    assert_int_not_equal(hits, 0);
    assert_true((hits + dropped) * info.interval_granted >= milliseconds * 10000 / 2);
}

static void
profile__of_own_code__counts_until_it_is_stopped(void **state)
{
    static ULONG counters[COUNTERS];
    ntprof_source_info info;
    HANDLE profile;
    uint64_t hits;

    (void)state;
    memset(counters, 0, sizeof(counters));
    assert_int_equal(create(&profile, NtCurrentProcess(), ProfileTime, counters),
                     STATUS_SUCCESS);
    assert_int_equal(NtStartProfile(profile), STATUS_SUCCESS);
    assert_int_equal(NtStartProfile(profile), STATUS_PROFILING_NOT_STOPPED);
    burn(400);
    assert_int_equal(NtStopProfile(profile), STATUS_SUCCESS);
    hits = sum(counters);
    info = statistics();
    assert_int_equal(hits, info.counted);
    assert_has_time(hits, 400);
    assert_int_equal(info.lost, 0);
    burn(50);
    assert_int_equal(sum(counters), hits);
    assert_int_equal(statistics().taken, info.taken);
    assert_int_equal(NtStopProfile(profile), STATUS_PROFILING_NOT_STARTED);
    assert_int_equal(NtClose(profile), STATUS_SUCCESS);
}

static void
threads__made_after_the_start__count(void **state)
{
    static ULONG counters[COUNTERS];
    pthread_t threads[2];
    HANDLE profile;

    (void)state;
    memset(counters, 0, sizeof(counters));
    assert_int_equal(create(&profile, NtCurrentProcess(), ProfileTime, counters),
                     STATUS_SUCCESS);
    assert_int_equal(NtStartProfile(profile), STATUS_SUCCESS);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, burn_in_thread, NULL), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(NtStopProfile(profile), STATUS_SUCCESS);
    assert_int_equal(sum(counters), statistics().counted);
    assert_has_time(sum(counters), 2 * 400);
    assert_int_equal(NtClose(profile), STATUS_SUCCESS);
}

static void
other_processes_and_sources__refused(void **state)
{
    static ULONG counters[COUNTERS];
    CLIENT_ID client = {0};
    HANDLE process;
    HANDLE profile;
    const pid_t child = fork();

    (void)state;
    if (child == 0) {
        pause();
        _exit(0);
    }
    client.UniqueProcess = (HANDLE)(uintptr_t)child;
    assert_int_equal(NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, &client),
                     STATUS_SUCCESS);
    assert_int_equal(create(&profile, process, ProfileTime, counters), STATUS_SUCCESS);
    assert_int_equal(NtStartProfile(profile), STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), "its own process"));
    assert_int_equal(NtClose(profile), STATUS_SUCCESS);
    assert_int_equal(NtClose(process), STATUS_SUCCESS);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(create(&profile, NtCurrentProcess(), ProfileTotalIssues, counters),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(sum(counters), 0);
}

static void
interval__shorter_than_the_tick__is_the_tick(void **state)
{
    struct timespec tick;
    ntprof_source_info info;

    (void)state;
    clock_getres(CLOCK_REALTIME_COARSE, &tick);
    assert_int_equal(ntprof_source_set_interval(session, ProfileTime, 1),
                     STATUS_SUCCESS);
    info = statistics();
    assert_int_equal(info.interval_asked, 1);
    assert_int_equal(info.interval_granted, tick.tv_nsec / 100);
    assert_int_equal(ntprof_source_set_interval(session, ProfileTime, 200000),
                     STATUS_SUCCESS);
    assert_int_equal(statistics().interval_granted, 200000);
}

/* A frozen session starts profiles that count nothing. */
static void
freeze__start_after_it__no_hits(void **state)
{
    static ULONG counters[COUNTERS];
    HANDLE profile;

    (void)state;
    memset(counters, 0, sizeof(counters));
    assert_int_equal(ntprof_session_freeze(session), STATUS_SUCCESS);
    assert_int_equal(create(&profile, NtCurrentProcess(), ProfileTime, counters),
                     STATUS_SUCCESS);
    assert_int_equal(NtStartProfile(profile), STATUS_SUCCESS);
    burn(100);
    assert_int_equal(NtStopProfile(profile), STATUS_SUCCESS);
    assert_int_equal(sum(counters), 0);
    assert_int_equal(statistics().taken, 0);
    assert_int_equal(NtClose(profile), STATUS_SUCCESS);
}

/* Returns the signal that the session has taken, or 0. */
static int
taken_signal(void)
{
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        struct sigaction action;

        if (sigaction(number, NULL, &action) == 0 &&
            (action.sa_flags & SA_SIGINFO) != 0) {
            return number;
        }
    }
    return 0;
}

/* As the kernel sends it when a timer expired twice before the first was noticed. */
static void
expirations__noticed_late_once__missed(void **state)
{
    enum { SENT = 100 };
    static ULONG counters[COUNTERS];
    HANDLE profile;

    (void)state;
    assert_int_equal(create(&profile, NtCurrentProcess(), ProfileTime, counters),
                     STATUS_SUCCESS);
    assert_int_equal(NtStartProfile(profile), STATUS_SUCCESS);
    assert_int_not_equal(taken_signal(), 0);
    for (int i = 0; i < SENT; i++) {
        siginfo_t info = {.si_code = SI_TIMER};

        info.si_overrun = 1;
        assert_int_equal(
            syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), taken_signal(), &info),
            0);
    }
    assert_int_equal(NtStopProfile(profile), STATUS_SUCCESS);
    assert_true(statistics().taken >= SENT);
    assert_true(statistics().missed >= SENT);
    assert_int_equal(NtClose(profile), STATUS_SUCCESS);
}

/* Keeps the calling thread off one of its processors. Returns that one. */
static size_t
leave_a_processor(void)
{
    cpu_set_t allowed;
    size_t processor = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    if (CPU_COUNT(&allowed) < 2) {
        print_message("there is one processor\n");
        skip();
    }
    while (!CPU_ISSET(processor, &allowed)) {
        processor++;
    }
    CPU_CLR(processor, &allowed);
    assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
    return processor;
}

static void
processor__without_a_started_profile__hits_not_taken(void **state)
{
    static ULONG counters[COUNTERS];
    GROUP_AFFINITY elsewhere = {0};
    cpu_set_t before;
    HANDLE profile;
    size_t left;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    left = leave_a_processor();
    elsewhere.Group = (USHORT)(left / 64);
    elsewhere.Mask = (KAFFINITY)1 << left % 64;
    memset(counters, 0, sizeof(counters));
    assert_int_equal(NtCreateProfileEx(&profile, NtCurrentProcess(),
                                       (PVOID)(uintptr_t)burn_once, REGION_BYTES,
                                       BUCKET_LOG2, counters, sizeof(counters),
                                       ProfileTime, 1, &elsewhere),
                     STATUS_SUCCESS);
    assert_int_equal(NtStartProfile(profile), STATUS_SUCCESS);
    burn(200);
    assert_int_equal(NtStopProfile(profile), STATUS_SUCCESS);
    sched_setaffinity(0, sizeof(before), &before);
    assert_int_equal(sum(counters), 0);
    assert_int_equal(statistics().taken, 0);
    assert_int_equal(NtClose(profile), STATUS_SUCCESS);
}

static void
queue__full__loses_and_counts_the_newest(void **state)
{
    const size_t places = 1 << 14;
    struct timer_queue queue;
    struct timer_queued queued;

    (void)state;
    assert_true(timer_queue_init(&queue));
    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; i < places + 3; i++) {
            timer_queue_put(&queue, i, 1);
        }
        assert_int_equal(timer_queue_lost(&queue), 3 * (round + 1));
        for (size_t i = 0; i < places; i++) {
            assert_true(timer_queue_take(&queue, timer_queue_end(&queue), &queued));
            assert_int_equal(queued.pc, i);
            assert_int_equal(queued.processor, 1);
        }
        assert_false(timer_queue_take(&queue, timer_queue_end(&queue), &queued));
    }
    timer_queue_finish(&queue);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_session, close_session)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(profile__of_own_code__counts_until_it_is_stopped),
        TEST(threads__made_after_the_start__count),
        TEST(other_processes_and_sources__refused),
        TEST(interval__shorter_than_the_tick__is_the_tick),
        TEST(freeze__start_after_it__no_hits),
        TEST(expirations__noticed_late_once__missed),
        TEST(processor__without_a_started_profile__hits_not_taken),
        cmocka_unit_test(queue__full__loses_and_counts_the_newest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
