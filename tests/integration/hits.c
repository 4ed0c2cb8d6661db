/* SPDX-License-Identifier: MIT */
/*
 * hits.c - hits that are reported one by one: a counter has as many as were reported
 * for its bucket, each with the thread that was interrupted.
 *
 * Two threads of this process run code of their own until the clock has hit both, so
 * nothing here depends on how fast they are.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOG2 = 4, COUNTERS = 64, WORKERS = 2, ENOUGH = 20 };

static struct {
    uint64_t base;
    ULONG reported[COUNTERS]; /* by bucket */
    uint64_t by_worker[WORKERS];
    uint64_t others; /* of other threads */
    uint64_t strange;
    uint64_t last_ns;
} seen;

static struct worker {
    pthread_t thread;
    _Atomic pid_t tid;
} workers[WORKERS];

static atomic_bool ended;

/* The code that is profiled, aligned to a bucket. Both workers run it. The region is
 * longer: in a section of its own, it has no code that the main thread runs. */
__attribute__((noinline, aligned(1 << LOG2), section("worker_text"))) static void
work(void)
{
    for (volatile int i = 0; i < 1000; i++) {
    }
}

static void *
run_worker(void *argument)
{
    struct worker *const worker = argument;

    worker->tid = (pid_t)syscall(SYS_gettid);
    while (!atomic_load(&ended)) {
        work();
    }
    return NULL;
}

static void
note_hit(void *context, const ntprof_hit *hit)
{
    const uint64_t bucket = (hit->address - seen.base) >> LOG2;
    bool known = false;

    if (context != &seen || hit->size != sizeof(*hit) || hit->source != ProfileTime ||
        hit->pid != (uint32_t)getpid() || hit->mode != NTPROF_MODE_USER ||
        hit->counters != 1 || bucket >= COUNTERS || hit->time_ns < seen.last_ns ||
        hit->time_ns > fixture_now_ns()) {
        seen.strange++;
        return;
    }
    seen.last_ns = hit->time_ns;
    seen.reported[bucket]++;
    for (size_t i = 0; i < WORKERS; i++) {
        if (hit->tid == (uint32_t)workers[i].tid) {
            seen.by_worker[i]++;
            known = true;
        }
    }
    seen.others += !known;
}

static void
start_workers(void)
{
    atomic_store(&ended, false);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i].tid = 0;
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
    }
    for (size_t i = 0; i < WORKERS; i++) {
        while (workers[i].tid == 0) {
            usleep(1000);
        }
    }
}

static void
end_workers(void)
{
    atomic_store(&ended, true);
    for (size_t i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
}

static void
wait_for_hits(void)
{
    while (seen.strange == 0 &&
           (seen.by_worker[0] < ENOUGH || seen.by_worker[1] < ENOUGH)) {
        assert_success(ntprof_session_flush(session));
        usleep(10000);
    }
}

static void
reopen_polled(void)
{
    const ntprof_session_options options = {
        .size = sizeof(options),
        .flags = NTPROF_SESSION_POLLED | NTPROF_SESSION_USER_ONLY,
    };

    fixture_reopen(&options);
    memset(&seen, 0, sizeof(seen));
    seen.base = (uint64_t)(uintptr_t)work;
    seen.last_ns = fixture_now_ns();
}

/* Starts the workers and a profile of their code, whose hits are reported, and waits
 * for some of each worker. */
static HANDLE
start_work(ULONG counters[COUNTERS])
{
    HANDLE profile;

    reopen_polled();
    memset(counters, 0, COUNTERS * sizeof(counters[0]));
    assert_success(ntprof_session_set_hits(session, note_hit, &seen));
    start_workers();
    profile = create_profile(NtCurrentProcess(), seen.base, (uint64_t)COUNTERS << LOG2,
                             LOG2, counters, COUNTERS, ProfileTime);
    assert_success(NtStartProfile(profile));
    wait_for_hits();
    return profile;
}

static void
hits__of_two_threads__counters_are_the_sums_of_what_is_reported(void **state)
{
    static ULONG counters[COUNTERS];
    const HANDLE profile = start_work(counters);

    (void)state;
    assert_success(NtStopProfile(profile));
    end_workers();
    assert_memory_equal(counters, seen.reported, sizeof(counters));
    assert_int_equal(sum_counters(counters, COUNTERS),
                     seen.by_worker[0] + seen.by_worker[1]);
    assert_int_equal(seen.others, 0);
    assert_int_equal(seen.strange, 0);
    assert_success(NtClose(profile));
}

static void
hits__callback_is_removed__later_ones_are_only_counted(void **state)
{
    static ULONG counters[COUNTERS];
    const HANDLE profile = start_work(counters);
    uint64_t reported;

    (void)state;
    assert_success(ntprof_session_set_hits(session, NULL, NULL));
    reported = sum_counters(seen.reported, COUNTERS);
    while (sum_counters(counters, COUNTERS) < reported + ENOUGH) {
        assert_success(ntprof_session_flush(session));
        usleep(10000);
    }
    assert_success(NtStopProfile(profile));
    end_workers();
    assert_int_equal(sum_counters(seen.reported, COUNTERS), reported);
    assert_success(NtClose(profile));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(hits__of_two_threads__counters_are_the_sums_of_what_is_reported),
        fixture_test(hits__callback_is_removed__later_ones_are_only_counted),
    };

    return fixture_run("hits", tests, sizeof(tests) / sizeof(tests[0]));
}
