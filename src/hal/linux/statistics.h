/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/statistics.h - what the kernel counted for a source, and how it adds up
 * with what was taken.
 *
 * Counts are native: nanoseconds for ProfileTime, else events. A period is the time
 * during which the interval stayed the same; a change of interval closes it, so that
 * hits expected before it are not reckoned with the new interval.
 */
#ifndef HAL_LINUX_STATISTICS_H
#define HAL_LINUX_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_tally {
    /* Stretches closed */
    uint64_t done_events;
    uint64_t done_expected;  /* hits, without throttled ones */
    uint64_t done_throttled; /* hits */
    /* Events of single threads on single processors: each may have ended within an
     * interval. */
    uint64_t instances;
    uint64_t untimely; /* hits made while their events were not to count */
    uint64_t lost;     /* hits that closed events and LOST records told of */
    /* The period that runs */
    uint64_t events; /* of events closed meanwhile; open ones are added by the reader */
    uint64_t running_ns;   /* for how long those were counting */
    uint64_t throttled_ns; /* how long the kernel let no hit be made */
};

/* What open events have counted since the period began. */
struct perf_counts {
    uint64_t events;
    uint64_t running_ns;
    uint64_t silent_ns; /* throttled, of events whose clock tells it */
    uint64_t lost;      /* since they were opened */
};

struct perf_statistics {
    uint64_t events;
    uint64_t expected;
    uint64_t lost;
    uint64_t throttled;
    uint64_t missed;
    uint64_t unfinished;
    uint64_t excluded;
};

/*
 * perf_tally_close_period - reckon the period with its period and begin another.
 *
 *   open      in: what open events have counted in it; their lost is not added
 *   period    in: native, not 0
 *   is_time   in: events are nanoseconds
 */
void perf_tally_close_period(struct perf_tally *tally, const struct perf_counts *open,
                             uint64_t period, bool is_time);

/*
 * perf_statistics_add_up - make the statistics of a source.
 *
 *   taken            in: hits delivered
 *   kernel_included  in: no hit is left out for being in kernel mode
 *
 * Only the clock counts on in kernel mode when no hit may be made there, so only its
 * hits can be excluded. statistics->expected = taken + lost + throttled + missed +
 * unfinished + excluded holds always: where periods begun but not ended make more hits
 * than events give, expected is what was seen. Records lost that were no hits (of
 * mappings, of threads) are not in statistics->lost.
 */
void perf_statistics_add_up(const struct perf_tally *tally,
                            const struct perf_counts *open, uint64_t period,
                            bool is_time, uint64_t taken, bool kernel_included,
                            struct perf_statistics *statistics);

/*
 * Throttles of threads' events that have begun. The kernel lets an event be silent
 * until the next tick at most, so one whose end does not show (its task ended, or does
 * not run) counts PERF_THROTTLE_MAX_NS. A processor that idles has no next tick: what
 * the clock of its event lacks at the end was throttled (silent_ns), but for a last
 * part that the kernel adds when it is read, which shows as missed.
 */
#define PERF_THROTTLE_MAX_NS 10000000u

struct perf_throttle {
    uint64_t stream_id;
    uint64_t begin_ns;
    struct perf_tally *tally;
};

struct perf_throttles {
    struct perf_throttle *items;
    size_t count;
    size_t capacity;
};

/* perf_throttles_begin, perf_throttles_end - THROTTLE and UNTHROTTLE at time_ns. */
void perf_throttles_begin(struct perf_throttles *throttles, uint64_t stream_id,
                          uint64_t time_ns, struct perf_tally *tally);
void perf_throttles_end(struct perf_throttles *throttles, uint64_t stream_id,
                        uint64_t time_ns);

/* perf_throttles_expire - count those that began more than the maximum before time_ns.
 */
void perf_throttles_expire(struct perf_throttles *throttles, uint64_t time_ns);

void perf_throttles_finish(struct perf_throttles *throttles);

#endif
