/* SPDX-License-Identifier: MIT */
/*
 * rate.c - measures by gaps between readings of the clock.
 *
 * A thread reads the clock in a loop while a profile is started. A hit shows as a gap
 * between two readings. As many of the longest gaps as there were hits are taken for
 * them; their median is the cost, which a few longer gaps, of ticks and other threads,
 * do not change.
 */
#include "record/rate.h"
#include "base/clock.h"

#include <ntprof/ntprof.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    PERIOD_100NS = 2500, /* interval of the hits: 4 kHz */
    SLICE_NS = 10000000, /* time for about 40 hits */
    HITS_MIN = 16,       /* further slices follow until there were so many */
    SLICES_MAX = 10,
    GAPS_MAX = 16384,
    GAP_MIN_NS = 400 /* more than a reading of the clock takes */
};

/* gaps - times in which the measuring thread did not run its loop. */
struct gaps {
    uint64_t count;
    uint64_t lengths_ns[GAPS_MAX];
};

/* Read the clock for a slice of time, and note gaps between readings, in which hits may
 * have been handled. */
__attribute__((noinline)) static void
find_gaps(struct gaps *gaps)
{
    const uint64_t start_ns = clock_now_ns();
    uint64_t before_ns = start_ns;

    while (before_ns - start_ns < SLICE_NS) {
        const uint64_t now_ns = clock_now_ns();

        if (now_ns - before_ns >= GAP_MIN_NS && gaps->count < GAPS_MAX) {
            gaps->lengths_ns[gaps->count++] = now_ns - before_ns;
        }
        before_ns = now_ns;
    }
}

static int
compare_longest_first(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a < b) - (a > b);
}

uint64_t
rate_hit_ns(uint64_t *gaps_ns, size_t count, uint64_t hits)
{
    if (hits == 0 || count == 0) {
        return 0;
    }
    qsort(gaps_ns, count, sizeof(*gaps_ns), compare_longest_first);
    return gaps_ns[(hits < count ? hits : count) / 2];
}

/* Return the number of hits so far; 0 if it cannot be read. */
static uint64_t
read_taken_hits(ntprof_session *session)
{
    ntprof_source_info info = {.size = sizeof(info)};

    return NT_SUCCESS(ntprof_source_get(session, ProfileTime, &info)) ? info.taken : 0;
}

/* Whether hits are frequent enough to be measured. Those that come at ticks only, as in
 * back end timer, are not. */
static bool
has_short_intervals(ntprof_session *session)
{
    ntprof_source_info info = {.size = sizeof(info)};

    return NT_SUCCESS(ntprof_source_get(session, ProfileTime, &info)) &&
           info.interval_granted <= PERIOD_100NS;
}

/* Measure how long a hit takes by starting the profile for some slices. Returns 0 if
 * that cannot be known. */
static uint64_t
measure_hit(ntprof_session *session, HANDLE profile)
{
    struct gaps *const gaps = calloc(1, sizeof(*gaps));
    uint64_t hit_ns = 0;

    if (gaps != NULL && NT_SUCCESS(NtStartProfile(profile))) {
        for (int i = 0; i < SLICES_MAX && read_taken_hits(session) < HITS_MIN; i++) {
            find_gaps(gaps);
        }
        (void)NtStopProfile(profile);
        hit_ns = rate_hit_ns(gaps->lengths_ns, gaps->count, read_taken_hits(session));
    }
    free(gaps);
    return hit_ns;
}

uint64_t
rate_measure(const char *hal)
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
    uint64_t hit_ns = 0;
    ntprof_session *session;
    HANDLE profile;

    if (!NT_SUCCESS(ntprof_session_open(&options, &session))) {
        return 0;
    }
    ntprof_session_use(session);
    /* The session counts hits of the whole thread; the code of the profile, some bytes
     * of find_gaps, does not matter. */
    if (has_short_intervals(session) &&
        NT_SUCCESS(NtCreateProfileEx(&profile, NtCurrentProcess(),
                                     (PVOID)(uintptr_t)find_gaps, 4, 2, &counter,
                                     sizeof(counter), ProfileTime, 0, NULL))) {
        hit_ns = measure_hit(session, profile);
        NtClose(profile);
    }
    ntprof_session_use(NULL);
    ntprof_session_close(session);
    return hit_ns;
}
