/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/opening.h - opens events for running threads; threads made later inherit
 * them.
 */
#ifndef HAL_PERF_OPENING_H
#define HAL_PERF_OPENING_H

#include "hal/perf/target.h"
#include "hal/perf/thread_scan.h"

/* What to open for each thread. */
struct perf_selection {
    struct perf_source *const *sources;
    size_t source_count;
    const uint64_t *processors; /* set */
    size_t processor_words;
    bool side_band;       /* on all processors */
    bool side_band_there; /* only on the selected ones */
    bool side_band_apart; /* by separate events, not by the first source's */
    bool skip_covered;    /* omit sources that watches of the process count already */
};

/*
 * perf_open_on, perf_open_thread - open the selection for one thread, on one processor
 * or on all of them; all of it or nothing.
 *
 *   tid     in: 0 for a target of all processes
 *   opened  in, out: the events are added, and do not count yet
 *
 * Returns 0 or negative errno.
 */
int perf_open_on(struct perf *perf, struct perf_target *target,
                 const struct perf_selection *selection, const struct perf_ring *ring,
                 uint32_t tid, struct perf_events *opened);
int perf_open_thread(struct perf *perf, struct perf_target *target,
                     const struct perf_selection *selection, uint32_t tid,
                     struct perf_events *opened);

/*
 * perf_open_all - open it for all threads of the scan's processes, within a second.
 *
 *   scan  in, out: the processes
 *
 * Returns 0, having incremented perf->unread if threads may be missing; -ESRCH if no
 * thread is alive; -ENOENT if watches count all of it; -EAGAIN with breakpoints if
 * threads were created during the scan; negative errno. Events opened before a failure
 * are in opened.
 */
int perf_open_all(struct perf *perf, struct perf_target *target,
                  const struct perf_selection *selection, struct perf_thread_scan *scan,
                  struct perf_events *opened);

/* perf_open_process - open the selection for the target's process, and start to
 * count. */
int perf_open_process(struct perf *perf, struct perf_target *target,
                      const struct perf_selection *selection, uint64_t *from_ns);

/*
 * perf_events_begin - move all opened events to the target and count from now on, or
 * none (-ENOMEM).
 *
 *   from_ns  out: the time from which hits count
 */
int perf_events_begin(struct perf_target *target, struct perf_events *opened,
                      uint64_t *from_ns);

/* perf_events_forget_from - undo the opening of the events from index first on. */
void perf_events_forget_from(struct perf *perf, struct perf_events *events,
                             size_t first);

/* perf_event_forget - free an event of which no record is left in the rings. */
void perf_event_forget(struct perf *perf, struct perf_event *event);

#endif
