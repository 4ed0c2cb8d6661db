/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/opening.h - opens events for running threads; threads made later inherit
 * them. Until an opening is complete its events are in a list of their own, and do not
 * count.
 */
#ifndef HAL_PERF_OPENING_H
#define HAL_PERF_OPENING_H

#include "hal/perf/target.h"
#include "hal/perf/thread_scan.h"

/* Which events of a thread have the side band. But for APART it is the first event of a
 * source; an event without a source is opened only where there is no such event. */
enum perf_side_band {
    PERF_NO_SIDE_BAND,
    PERF_SIDE_BAND,          /* one on each processor */
    PERF_SIDE_BAND_SELECTED, /* one on each selected processor */
    PERF_SIDE_BAND_APART     /* one without a source on each processor */
};

/* What to open for each thread. */
struct perf_selection {
    struct perf_source *const *sources;
    size_t source_count;
    const uint64_t *processors; /* set */
    size_t processor_words;
    enum perf_side_band side_band;
    bool skip_covered; /* omit sources that watches of the process count already */
};

/*
 * perf_open - open the selection for all threads of the target's process, within a
 * second, and start to count. For a target of all processes, or before an exec, there
 * is nothing to scan.
 *
 *   scan     in: further processes, and whether children are scanned too; it is
 *            finished
 *   from_ns  out: the time from which hits count
 *
 * Returns 0, having incremented perf->unread if threads may be missing; -ESRCH if no
 * thread is alive; -ENOENT if events of watches count all of its threads already;
 * -EAGAIN with breakpoints if threads were created during the scan; negative errno.
 * After a failure nothing is open.
 */
int perf_open(struct perf *perf, struct perf_target *target,
              const struct perf_selection *selection, struct perf_thread_scan *scan,
              uint64_t *from_ns);

/*
 * perf_open_on - open the selection for one thread on one processor.
 *
 *   tid     in: 0 for a target of all processes
 *   opened  in, out: the events are added, and do not count yet
 *
 * Returns 0 or negative errno; events opened before a failure are in opened.
 */
int perf_open_on(struct perf *perf, struct perf_target *target,
                 const struct perf_selection *selection, const struct perf_ring *ring,
                 uint32_t tid, struct perf_events *opened);

/* perf_events_begin - move all opened events to the target and count from now on, or
 * if memory runs out (-ENOMEM) none. from_ns: out, the time from which hits count. */
int perf_events_begin(const struct perf *perf, struct perf_target *target,
                      struct perf_events *opened, uint64_t *from_ns);

/* perf_events_forget_from - undo the opening of all events from index first on. */
void perf_events_forget_from(struct perf *perf, struct perf_events *events,
                             size_t first);

#endif
