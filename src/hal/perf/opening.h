/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/opening.h - opens what is selected, for threads that run and those to come.
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
    bool side_band_there; /* on the selected ones only */
    bool side_band_apart; /* by events of its own, not with the first source's */
    bool skip_covered;    /* leave out what watches of the process count already */
};

/*
 * perf_open_on - all that is selected for one thread on one processor, or nothing.
 *
 *   tid     in: 0 for a target of all processes
 *   opened  in, out: gets the events, which have not begun to count
 *
 * Returns 0 or negative errno.
 */
int perf_open_on(struct perf *perf, struct perf_target *target,
                 const struct perf_selection *selection, const struct perf_ring *ring,
                 uint32_t tid, struct perf_events *opened);

/*
 * perf_open_thread - all that is selected for one thread, or nothing.
 *
 *   tid     in: 0 for a target of all processes
 *   opened  in, out: gets the events, which have not begun to count
 *
 * Returns 0 or negative errno.
 */
int perf_open_thread(struct perf *perf, struct perf_target *target,
                     const struct perf_selection *selection, uint32_t tid,
                     struct perf_events *opened);

/*
 * perf_open_all - the same for all threads of the scan's processes, within a second.
 *
 *   scan  in, out: the processes
 *
 * Returns 0, with perf->unread counted up where threads may be missing; -ESRCH if none
 * of them lives; -ENOENT if all was covered already; -EAGAIN with breakpoints if
 * threads were made meanwhile; negative errno. What was opened before a failure is in
 * opened.
 */
int perf_open_all(struct perf *perf, struct perf_target *target,
                  const struct perf_selection *selection, struct perf_thread_scan *scan,
                  struct perf_events *opened);

/* perf_open_process - the same for the target's process, and let it begin. */
int perf_open_process(struct perf *perf, struct perf_target *target,
                      const struct perf_selection *selection, uint64_t *from_ns);

/*
 * perf_events_begin - move all of opened to the target and count from now on, or none
 * (-ENOMEM).
 *
 *   from_ns  out: the moment of it
 */
int perf_events_begin(struct perf_target *target, struct perf_events *opened,
                      uint64_t *from_ns);

/* perf_events_forget_from - undo opening: those from the first-th on, before they
 * began. */
void perf_events_forget_from(struct perf *perf, struct perf_events *events,
                             size_t first);

/* perf_event_forget - free an event of which no record is left. */
void perf_event_forget(struct perf *perf, struct perf_event *event);

#endif
