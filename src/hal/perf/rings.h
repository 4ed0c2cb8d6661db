/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/rings.h - the session's rings, one for each processor that is online. They
 * belong to events that count nothing, and are as large as the kernel allows.
 */
#ifndef HAL_PERF_RINGS_H
#define HAL_PERF_RINGS_H

#include "hal/perf/perf.h"

/*
 * perf_make_rings - make one for each online processor, if there are none.
 *
 *   large  in: for a watch of all processes, which reads /proc while they fill
 *
 * Returns 0 or negative errno, with the error text set: -ENOBUFS if no size is allowed.
 */
int perf_make_rings(struct perf *perf, bool large);

/* perf_processor_ring - return the ring of a processor, made now if the processor came
 * online later. Returns NULL with the error text set and negative errno in *result:
 * -ENODEV if it is not online. */
struct perf_ring *perf_processor_ring(struct perf *perf, uint32_t processor,
                                      int *result);

/* perf_next_online - the first processor from *next on that is online and below
 * processor_limit: into *next. False if there is none. */
bool perf_next_online(const struct perf *perf, uint32_t *next);

/* perf_drop_rings - unmap and free them; all events must be closed. */
void perf_drop_rings(struct perf *perf);

#endif
