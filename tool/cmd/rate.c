/* SPDX-License-Identifier: MIT */
/*
 * rate.c - see rate.h.
 *
 * A fixed amount of work is timed in turns, with and without a started profile, and the
 * shortest time of each counts, since other processes can only make it longer.
 */
#include "cmd/rate.h"
#include "util/clock.h"

#include <ntprof/ntprof.h>

/* A hit takes 1 to 60 us; at this rate even 60 us leave most of the time to the
 * work. */
enum { PERIOD_100NS = 2500, WORK_NS = 4000000, TURNS = 10 };

enum { SHARE = 3 };

__attribute__((noinline)) static void
work(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++) {
        __asm__ volatile("" ::: "memory");
    }
}

static uint64_t
work_ns(uint64_t rounds, clockid_t clock)
{
    const uint64_t start_ns = clock_ns(clock);

    work(rounds);
    return clock_ns(clock) - start_ns;
}

static uint64_t
least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Find how many rounds take WORK_NS. Thread time and several tries are used, since an
 * interruption would make the work appear longer. */
static uint64_t
find_rounds(void)
{
    uint64_t rounds = 1000;
    uint64_t taken_ns;

    do {
        rounds += rounds / 2;
        taken_ns = UINT64_MAX;
        for (int i = 0; i < 3; i++) {
            taken_ns = least(taken_ns, work_ns(rounds, CLOCK_THREAD_CPUTIME_ID));
        }
    } while (taken_ns < WORK_NS);
    return rounds;
}

static uint64_t
taken(ntprof_session *session, KPROFILE_SOURCE source)
{
    ntprof_source_info info = {.size = sizeof(info)};

    return NT_SUCCESS(ntprof_source_get(session, source, &info)) ? info.taken : 0;
}

/* Return the cost of one hit, from the turns with the shortest work, or 0 if there were
 * no hits. */
static uint64_t
measure_hit(ntprof_session *session, HANDLE profile)
{
    const uint64_t rounds = find_rounds();
    uint64_t without_ns = UINT64_MAX;
    uint64_t hit_ns = UINT64_MAX;
    uint64_t with_ns[TURNS];
    uint64_t hits[TURNS];

    for (int i = 0; i < TURNS; i++) {
        const uint64_t before = taken(session, ProfileTime);

        without_ns = least(without_ns, work_ns(rounds, CLOCK_MONOTONIC));
        if (!NT_SUCCESS(NtStartProfile(profile))) {
            return 0;
        }
        with_ns[i] = work_ns(rounds, CLOCK_MONOTONIC);
        (void)NtStopProfile(profile);
        hits[i] = taken(session, ProfileTime) - before;
    }
    for (int i = 0; i < TURNS; i++) {
        if (hits[i] > 0) {
            hit_ns = least(hit_ns, with_ns[i] > without_ns
                                       ? (with_ns[i] - without_ns) / hits[i] + 1
                                       : 1);
        }
    }
    return hit_ns == UINT64_MAX ? 0 : hit_ns;
}

bool
rate_measure(const char *hal, struct rate *rate)
{
    const ntprof_source_interval interval = {.source = "time",
                                             .interval = PERIOD_100NS};
    const ntprof_session_options options = {
        .size = sizeof(options),
        .backend = hal,
        .flags = NTPROF_SESSION_POLLED,
        .intervals = &interval,
        .interval_count = 1,
    };
    ULONG counter = 0;
    ntprof_session *session;
    HANDLE profile;

    *rate = (struct rate){0};
    if (!NT_SUCCESS(ntprof_session_open(&options, &session))) {
        return false;
    }
    ntprof_session_use(session);
    if (NT_SUCCESS(NtCreateProfileEx(&profile, NtCurrentProcess(),
                                     (PVOID)(uintptr_t)work, 4, 2, &counter,
                                     sizeof(counter), ProfileTime, 0, NULL))) {
        rate->hit_ns = measure_hit(session, profile);
        NtClose(profile);
    }
    ntprof_session_use(NULL);
    ntprof_session_close(session);
    rate->interval_100ns = (SHARE * rate->hit_ns + 99) / 100;
    return rate->hit_ns != 0;
}
