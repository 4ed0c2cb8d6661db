/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/stacks.h - copies of user stacks with the hits of time: how many bytes the
 * rings have room for, and the report of each.
 *
 * Only events of time ask for stacks: other sources have no rate that would bound how
 * fast copies fill a ring. A processor makes one hit of time in an interval; two if
 * profiles of one process and of all are started without a watch, which may lose hits.
 */
#ifndef HAL_PERF_STACKS_H
#define HAL_PERF_STACKS_H

#include "hal/perf/perf.h"

/* perf_stacks_init - keep what the session asks for. open: in. */
void perf_stacks_init(struct perf *perf, const HAL_OPEN *open);

/* perf_stacks_settle - decide how many bytes are copied, for rings of this size, if the
 * session asks for stacks. Returns 0, or -EOPNOTSUPP, with the error text set, if there
 * is room for less than PERF_STACK_BYTES_MIN. */
int perf_stacks_settle(struct perf *perf, size_t ring_bytes);

/* perf_stacks_adapt - decide it again after the interval of time has changed, for
 * events that are opened from now on; PERF_STACK_BYTES_MIN at least. */
void perf_stacks_adapt(struct perf *perf);

/* perf_stacks_request - add to a request for an event what its samples have of the
 * stack. */
void perf_stacks_request(const struct perf *perf, struct perf_event_request *request);

/* perf_stacks_report - report the stack of a hit that was counted. */
void perf_stacks_report(const struct perf *perf, const ntprof_hit *hit,
                        const struct perf_sample_parts *parts);

#endif
