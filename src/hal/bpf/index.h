/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/index.h - ke's index in the maps: HAL_COUNTING except for the ends of
 * processes.
 */
#ifndef HAL_BPF_INDEX_H
#define HAL_BPF_INDEX_H

#include "hal/bpf/kernel.h"
#include "hal/bpf/pool.h"
#include "hal/bpf/table.h"

/* Nodes of the core's index, in a map of their own. */
struct bpf_chunk {
    int fd;
    void *memory; /* NULL: not created */
    size_t bytes;
};

struct bpf_index {
    struct bpf_kernel *kernel;
    struct bpf_table table;
    struct bpf_pools pools;
    struct bpf_chunk chunks[KI_POOL_CHUNKS];
    uint32_t sets; /* used ones of BPF_MAP_SETS, number 0 included */
};

/* bpf_index_init - make an empty index in the maps of kernel, which must outlive it.
 * Returns 0 or negative errno; bpf_index_finish must be called in both cases. */
int bpf_index_init(struct bpf_index *index, struct bpf_kernel *kernel);
void bpf_index_finish(struct bpf_index *index);

/* bpf_index_nodes - see HAL_COUNTING.AllocateNodes. The nodes stay until the end. */
void *bpf_index_nodes(struct bpf_index *index, uint32_t chunk, size_t bytes);

/* bpf_index_locate - see HAL_COUNTING.LocateCounters. Returns 0 or -ENOMEM. */
int bpf_index_locate(struct bpf_index *index, const ULONG *counter, uint32_t words,
                     const ULONG64 *processors, ULONG64 *location);

/* bpf_index_publish_global - publish the roots of profiles that count everywhere. */
void bpf_index_publish_global(const struct bpf_index *index,
                              const ULONG roots[KI_TREES]);

/* bpf_index_query - add up the hits of the source with this slot over all
 * processors. */
void bpf_index_query(const struct bpf_index *index, uint32_t slot,
                     struct bpf_statistics *statistics);

/* Hits of all sources: see struct bpf_processor. */
struct bpf_totals {
    uint64_t cut;
    uint64_t unnumbered;
};

/* bpf_index_totals - add up these hits over all processors. */
struct bpf_totals bpf_index_totals(const struct bpf_index *index);

#endif
