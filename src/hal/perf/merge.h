/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/merge.h - the records of all rings in order of time.
 *
 * A binary heap of the rings that have a record, by the time of their first one. The caller takes
 * records off the top ring up to perf_merge_limit, then tells with perf_merge_settle that the
 * ring has moved; so one ring's run of records costs one heap step.
 */
#ifndef HAL_PERF_MERGE_H
#define HAL_PERF_MERGE_H

#include "hal/perf/ring.h"

struct perf_merge_entry {
    uint64_t time_ns;
    struct perf_ring *ring;
};

struct perf_merge {
    struct perf_merge_entry *entries; /* heap; room for all rings */
    size_t count;
};

/* perf_merge_add - add a ring, unless nothing is in it. entries must have room. */
void perf_merge_add(struct perf_merge *merge, struct perf_ring *ring);

/* perf_merge_limit - the time up to which the top ring is the oldest: UINT64_MAX if alone. */
uint64_t perf_merge_limit(const struct perf_merge *merge);

/* perf_merge_settle - the top ring has moved: put it where it belongs now. */
void perf_merge_settle(struct perf_merge *merge);

#endif
