/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/start.h - started profiles: opens events for those that no watch counts.
 *
 * The core calls perf_start for each processor of a profile, then perf_begin once. In
 * between the set perf->starting has the processors that need events: perf_begin opens
 * them all, so that one thread scan (thread_scan.h) serves all processors.
 */
#ifndef HAL_PERF_START_H
#define HAL_PERF_START_H

#include "hal/perf/perf.h"

/*
 * perf_start, perf_begin, perf_stop - see HAL_TABLE.StartProfileInterrupt. pid 0: all
 * processes. perf_start may only note the processor, for which perf_begin then opens
 * events. The first two return 0 or negative errno, with the error text set.
 */
int perf_start(struct perf *perf, struct perf_source *source, uint32_t processor,
               uint32_t pid);
int perf_begin(struct perf *perf, struct perf_source *source, uint32_t pid);
void perf_stop(struct perf *perf, const struct perf_source *source, uint32_t processor,
               uint32_t pid);

/* perf_refuse_in_cgroup - set the error text: a session that counts a cgroup cannot
 * count a single process. Returns -EOPNOTSUPP. */
int perf_refuse_in_cgroup(struct perf *perf);

#endif
