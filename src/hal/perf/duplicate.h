/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/duplicate.h - duplicate detection: closes events whose hits another event
 * counts too.
 *
 * Events are opened on a thread that appears during a scan although it may have
 * inherited events already. If it has, each hit of it and of its descendants is
 * recorded twice, in one ring. When a thread makes hits with two events of one source
 * and processor, the newer one was opened on it, or on an ancestor, that had inherited
 * the older one. So every thread with the newer event has the older one too:
 * the newer event is closed, and its counts are removed.
 */
#ifndef HAL_PERF_DUPLICATE_H
#define HAL_PERF_DUPLICATE_H

#include "hal/perf/target.h"

/*
 * perf_duplicate_hit - is a hit of an event with may_duplicate to be counted?
 *
 *   event    in: closed, and freed later, if the hit shows that it is a duplicate
 *   tid      in: the thread that made the hit
 *   time_ns  in: when it was made
 *
 * Returns 1 if so; 0 if another event has counted it; -ENOMEM if memory ran out.
 */
int perf_duplicate_hit(struct perf *perf, struct perf_event *event, uint32_t tid,
                       uint64_t time_ns);

/* perf_duplicate_forget_thread - forget which events count a thread: it has exited, or
 * a new one has its tid. */
void perf_duplicate_forget_thread(struct perf *perf, uint32_t tid);

#endif
