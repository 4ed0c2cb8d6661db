/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/witness.h - tells by their hits the events that count what others count already.
 *
 * A thread that shows during opening is opened, and may have inherited from one that was opened before; so
 * may all that descend from it. If it has, each hit of theirs is made twice, in the ring of one processor. A thread
 * that makes hits with two events of one source and processor is the witness: the younger event was opened on
 * a thread that had inherited the older one, since both came to the witness down one line of creators. So
 * whoever has the younger has the older too, and the younger goes, with all that inherited it and all that it
 * has counted.
 */
#ifndef HAL_PERF_WITNESS_H
#define HAL_PERF_WITNESS_H

#include "hal/perf/perf.h"

/*
 * perf_witness_hit - of an event that is doubtful: is this hit of a thread to be counted?
 *
 *   event    in: if it is shown to be redundant it is closed, and freed later
 *   tid      in: who made the hit
 *   time_ns  in: when, within the event's time
 *
 * Returns 1; 0 if another event has counted it; -ENOMEM if that cannot be told.
 */
int perf_witness_hit(struct perf *perf, struct perf_event *event, uint32_t tid,
                     uint64_t time_ns);

/* perf_witness_forget_thread - it has ended, or its number is another's now. */
void perf_witness_forget_thread(struct perf *perf, uint32_t tid);

/* perf_witness_forget_event - it is about to be freed. */
void perf_witness_forget_event(struct perf *perf, const struct perf_event *event);

#endif
