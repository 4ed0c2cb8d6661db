/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/whole_machine.h - watches of all processes: events of processors, whoever
 * runs there.
 *
 * Invariants, once there is one (perf->machine_ns):
 *   - it stays until the session ends, and its side band alone tells of processes: that
 *     of other targets is left unread from side_band_ns on;
 *   - a source that it counts on a processor is counted there by no other event (its
 *     hits are for both lists of profiles), as long as the processor's ring says
 *     watched;
 *   - the process table adds whoever is born or runs a program.
 */
#ifndef HAL_PERF_WHOLE_MACHINE_H
#define HAL_PERF_WHOLE_MACHINE_H

#include "hal/perf/target.h"

/*
 * perf_watch_all - see HAL_BACKEND.Watch: tells of all processes that run. Another one
 * adds sources and processors, and tells nothing. Returns 0 or negative errno, error
 * kept.
 */
int perf_watch_all(struct perf *perf, struct perf_source *const *sources,
                   size_t source_count, const uint64_t *processors,
                   size_t processor_words);

/* perf_is_machine_watched - has a watch of all processes an event of this source on
 * this processor? */
bool perf_is_machine_watched(const struct perf *perf, const struct perf_source *source,
                             uint32_t processor);

/* perf_is_machine_event - is it one of theirs? */
static inline bool
perf_is_machine_event(const struct perf_event *event)
{
    return event != NULL && event->scope == KE_SCOPE_BOTH;
}

/* perf_machine_notice - once a second: open on processors that came online, or came
 * back. */
void perf_machine_notice(struct perf *perf, uint64_t now_ns);

/* perf_machine_resync - records were lost: tell of processes that are not known. */
void perf_machine_resync(struct perf *perf);

#endif
