/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/merge.h - the records of all rings in order of time.
 *
 * A binary heap of the rings that have records, by the time of their first record. The
 * caller reads records of the top ring up to perf_merge_limit, then calls
 * perf_merge_settle with the time of the ring's next record. So a run of records in one
 * ring costs one heap step.
 */
#ifndef HAL_LINUX_MERGE_H
#define HAL_LINUX_MERGE_H

#include "hal/linux/ring.h"

#include <assert.h>

struct perf_merge_entry {
    uint64_t time_ns;
    struct perf_ring *ring;
};

struct perf_merge {
    struct perf_merge_entry *entries; /* heap; room for all rings */
    size_t count;
};

/* perf_merge_add - add a ring, unless it is empty. entries must have room. */
void perf_merge_add(struct perf_merge *merge, struct perf_ring *ring);

/* Time of a ring without a record. */
#define PERF_MERGE_EMPTY UINT64_MAX

/* perf_merge_limit - return the time up to which the top ring is the oldest; UINT64_MAX
 * if it is the only one. */
static inline uint64_t
perf_merge_limit(const struct perf_merge *merge)
{
    const struct perf_merge_entry *entries = merge->entries;
    uint64_t limit_ns = UINT64_MAX;

    /* The second-oldest is one of the top's two children. */
    if (merge->count > 1) {
        limit_ns = entries[1].time_ns;
    }
    if (merge->count > 2 && entries[2].time_ns < limit_ns) {
        limit_ns = entries[2].time_ns;
    }
    return limit_ns;
}

/* perf_merge_sift - the slow part of perf_merge_settle. */
void perf_merge_sift(struct perf_merge *merge);

/*
 * perf_merge_settle - restore the heap after records of the top ring were read.
 *
 *   time_ns  in: of its first record now; PERF_MERGE_EMPTY: it has none
 */
static inline void
perf_merge_settle(struct perf_merge *merge, uint64_t time_ns)
{
    assert(merge->count > 0);
    merge->entries[0].time_ns = time_ns;
    if (time_ns == PERF_MERGE_EMPTY || time_ns > perf_merge_limit(merge)) {
        perf_merge_sift(merge);
    }
}

#endif
