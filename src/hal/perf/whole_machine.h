/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/whole_machine.h - watches of all processes: events of processors, for all
 * threads that run on them.
 *
 * Invariants, once there is a watch of all processes (perf->machine_ns):
 *   - it stays until the session ends, and only its side band reports processes: that
 *     of other targets is ignored from side_band_ns on;
 *   - while a processor's ring is watched, no other event counts a source there that
 *     the watch counts: its hits are for the process's profiles and the global ones;
 *   - the process table adds every process that starts or execs.
 */
#ifndef HAL_PERF_WHOLE_MACHINE_H
#define HAL_PERF_WHOLE_MACHINE_H

#include "hal/perf/target.h"

/*
 * perf_watch_all - see HAL_BACKEND.Watch: watch all processes, and report those that
 * are running. A second watch adds sources and processors, and reports nothing. Returns
 * 0 or negative errno, with the error text set.
 */
int perf_watch_all(struct perf *perf, const HAL_WATCH *request,
                   struct perf_source *const *sources);

/* perf_is_machine_watched - does a watch of all processes count this source on this
 * processor? */
bool perf_is_machine_watched(const struct perf *perf, const struct perf_source *source,
                             uint32_t processor);

/* perf_is_machine_event - does the event belong to a watch of all processes? */
static inline bool
perf_is_machine_event(const struct perf_event *event)
{
    return event != NULL && event->scope == KE_SCOPE_BOTH;
}

/* perf_machine_check_online - at most once a second, open events on processors that
 * have come online. */
void perf_machine_check_online(struct perf *perf, uint64_t now_ns);

/* perf_machine_resync - after lost records, add processes that are not in the table. */
void perf_machine_resync(struct perf *perf);

#endif
