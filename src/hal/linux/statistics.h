/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/statistics.h - the kernel's counts of a source, and the hits expected,
 * taken and not taken that follow from them.
 *
 * Counts are native: nanoseconds for ProfileTime, else events. A period is the time
 * during which the interval is constant. A change of the interval closes the period, so
 * that the hits expected in it are computed with its own interval.
 */
#ifndef HAL_LINUX_STATISTICS_H
#define HAL_LINUX_STATISTICS_H

#include "hal/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_tally {
    /* Closed periods */
    uint64_t done_events;    /* occurrences of the source, throttled ones included */
    uint64_t done_expected;  /* hits, without throttled ones, which are added later */
    uint64_t done_throttled; /* hits */
    /* How many perf events there have been for the source, inherited ones included: the
     * last interval of each is unfinished. */
    uint64_t instances;
    uint64_t discarded;        /* hits that were counted but not passed on (event.h) */
    uint64_t discarded_events; /* of these hits, each by the interval that it ended */
    uint64_t outside_kernel;   /* hits in kernel mode that no profile matched */
    uint64_t lost;             /* by closed events and LOST records */
    /* The current period */
    uint64_t events;       /* of closed events; the reader adds those of open ones */
    uint64_t running_ns;   /* for how long they counted */
    uint64_t throttled_ns; /* for how long the kernel suppressed hits */
};

/* What open events have counted in the current period. */
struct perf_counts {
    uint64_t events;
    uint64_t running_ns;
    uint64_t silent_ns; /* time for which events with reports_silence were throttled */
    uint64_t lost;      /* hits, since the events were opened */
};

/* perf_tally_add - add the counts of an event that is being closed. */
void perf_tally_add(struct perf_tally *tally, const struct perf_counts *counts);

/*
 * perf_tally_close_period - add the current period to the closed ones, and start
 * another.
 *
 *   open      in: counts of open events in it; their lost hits are added when they are
 *             closed
 *   interval  in: between two hits, in ns or events; not 0
 *   is_time   in: events are nanoseconds
 */
void perf_tally_close_period(struct perf_tally *tally, const struct perf_counts *open,
                             uint64_t interval, bool is_time);

/*
 * perf_statistics_add_up - compute the statistics of a source.
 *
 *   taken            in: hits delivered
 *   kernel_included  in: hits in kernel mode are made
 *
 * If kernel mode is excluded, only the clock continues to count there, so only hits of
 * the clock can be excluded. Expected = taken + Lost + Throttled + Missed + Unfinished
 * + Excluded always holds: if the counts make fewer hits than were seen, because
 * intervals are in progress, Expected is raised. Lost records that are no hits (of
 * mappings, of threads) are not in Lost. Events are native, and those that Expected
 * follows from: with those that passed while the source was throttled, which the kernel
 * does not count, and without those of hits that were not passed on.
 */
void perf_statistics_add_up(const struct perf_tally *tally,
                            const struct perf_counts *open, uint64_t period,
                            bool is_time, uint64_t taken, bool kernel_included,
                            HAL_SOURCE_STATISTICS *statistics);

/*
 * Throttles in progress, of threads' events. The kernel throttles an event until the
 * next tick at most, so one without an UNTHROTTLE record (its task exited, or does not
 * run) counts PERF_THROTTLE_MAX_NS. An idle processor has no next tick: of its event,
 * the time missing from the clock at the end was throttled (silent_ns), except a last
 * part that the kernel adds at the read, which counts as missed.
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
};

/* perf_throttles_begin, perf_throttles_end - apply a THROTTLE or UNTHROTTLE record. */
void perf_throttles_begin(struct perf_throttles *throttles, uint64_t stream_id,
                          uint64_t time_ns, struct perf_tally *tally);
void perf_throttles_end(struct perf_throttles *throttles, uint64_t stream_id,
                        uint64_t time_ns);

/* perf_throttles_expire - end those that began PERF_THROTTLE_MAX_NS before time_ns. */
void perf_throttles_expire(struct perf_throttles *throttles, uint64_t time_ns);

void perf_throttles_finish(struct perf_throttles *throttles);

#endif
