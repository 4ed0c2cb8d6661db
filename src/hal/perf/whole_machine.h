/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/whole_machine.h - the watch of all processes: events of processors, for all
 * threads that run on them.
 *
 * Invariants, once there is one (perf->machine):
 *   - it was the first target, stays until the session ends, and is the only watch;
 *   - only its side band reports processes, and every process that starts or execs is
 *     in the table;
 *   - what it counts on a processor, nothing else counts there: its hits are for the
 *     process's profiles and the global ones.
 */
#ifndef HAL_PERF_WHOLE_MACHINE_H
#define HAL_PERF_WHOLE_MACHINE_H

#include "hal/perf/target.h"

/* perf_watch_all - see HAL_BACKEND.Watch: watch all processes, and report those that
 * are running. Returns 0 or negative errno, with the error text set. */
int perf_watch_all(struct perf *perf, const HAL_WATCH *request);

/* perf_machine_check_online - at most once a second, open events on processors that
 * have come online. */
void perf_machine_check_online(struct perf *perf, uint64_t now_ns);

/* perf_machine_resync - after lost records, add processes that are not in the table. */
void perf_machine_resync(struct perf *perf);

#endif
