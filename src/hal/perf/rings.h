/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/rings.h - the session's rings, one for each processor that is online. Each
 * belongs to an event that counts nothing. They are as large as the kernel allows, up
 * to a maximum (rings.c).
 */
#ifndef HAL_PERF_RINGS_H
#define HAL_PERF_RINGS_H

#include "hal/perf/perf.h"

/*
 * perf_make_rings - make a ring for each online processor, if the session has none.
 *
 *   large  in: for a watch of all processes, which reads /proc while they fill
 *
 * Returns 0 or negative errno, with the error text set: -ENOBUFS if no size is allowed,
 * -EOPNOTSUPP if there is no room for stacks.
 */
int perf_make_rings(struct perf *perf, bool large);

/*
 * perf_ring_bytes - how many bytes of data a ring is to have, if the kernel allows it.
 *
 *   processors       in: how many rings are made
 *   page_bytes       in: the machine's page; a ring has one more for its head
 *   large            in: it may be larger than what is allowed to every user
 *   available_bytes  in: memory that can be had; UINT64_MAX: unknown
 */
size_t perf_ring_bytes(uint32_t processors, size_t page_bytes, bool large,
                       uint64_t available_bytes);

/* perf_require_ring - make the ring of an online processor unless it has one. Returns 0
 * or negative errno, with the error text set. */
int perf_require_ring(struct perf *perf, uint32_t processor);

/* perf_next_online - set *next to the first processor from *next on that is online.
 * Returns false if there is none below processor_limit. */
bool perf_next_online(const struct perf *perf, uint32_t *next);

/* perf_drop_rings - unmap and free all rings. All events must be closed. */
void perf_drop_rings(struct perf *perf);

#endif
