/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/duplicate.h - duplicate detection: closes events that count what others
 * count already.
 *
 * A thread that appears during opening is opened, and may have inherited from one that
 * was opened before; so may all its descendants. If it has, each of their hits is made
 * twice, in the ring of one processor. Where one thread makes hits with two events of
 * one source and processor, the younger event was opened on a thread that had inherited
 * the older one, since both came to it from one line of ancestors. So whoever has the
 * younger has the older too, and the younger is closed, with all that inherited it and
 * all that it has counted.
 */
#ifndef HAL_PERF_DUPLICATE_H
#define HAL_PERF_DUPLICATE_H

#include "hal/perf/perf.h"

/*
 * perf_duplicate_hit - of an event that may be a duplicate: is this hit of a thread to
 * be counted?
 *
 *   event    in: if it is shown to be a duplicate it is closed, and freed later
 *   tid      in: who made the hit
 *   time_ns  in: when, within the event's time
 *
 * Returns 1; 0 if another event has counted it; -ENOMEM if that cannot be told.
 */
int perf_duplicate_hit(struct perf *perf, struct perf_event *event, uint32_t tid,
                       uint64_t time_ns);

/* perf_duplicate_forget_thread - it has ended, or its number is another's now. */
void perf_duplicate_forget_thread(struct perf *perf, uint32_t tid);

/* perf_duplicate_forget_event - it is about to be freed. */
void perf_duplicate_forget_event(struct perf *perf, const struct perf_event *event);

#endif
