/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/pool.h - memory that programs count in: pages of mapped BPF maps.
 *
 * A pool is one map. They grow with what there is, since making one waits for the
 * kernel's readers; so even thousands of buffers make few. The kernel clears all of a
 * pool when it is made, so they grow by a part. Memory below half a page
 * shares its page with others of its size. All of it is one session's.
 */
#ifndef HAL_BPF_POOL_H
#define HAL_BPF_POOL_H

#include "hal/bpf/kernel.h"

#include <pthread.h>

struct bpf_pool {
    int fd;
    char *memory;
    size_t pages;
    size_t taken; /* pages */
    size_t hint;  /* no page below it is free */
    size_t used;  /* from here on no page has been taken yet: all zero */
    uint64_t *bits;
    struct bpf_slab **slabs; /* by page; NULL: it has none */
};

/* A page of pieces of one size. */
struct bpf_slab {
    struct bpf_slab *next; /* of those of its size with room */
    struct bpf_slab *previous;
    char *memory;
    uint64_t taken; /* bit n: piece n */
    uint32_t size_log2;
};

enum { BPF_PIECE_LOG2_MIN = 6, BPF_PIECE_LOG2_MAX = 11 };

struct bpf_pools {
    pthread_mutex_t mutex; /* a buffer's owner may free it at any time, in any thread */
    struct bpf_kernel *kernel;
    struct bpf_pool *items;
    uint32_t count;
    struct bpf_slab *with_room[BPF_PIECE_LOG2_MAX + 1];
    uint64_t pages; /* of all pools */
};

/* bpf_pools_init - none yet. bpf_pools_finish - nobody may call any more; who still has
 * other mappings of the memory keeps it. */
void bpf_pools_init(struct bpf_pools *pools, struct bpf_kernel *kernel);
void bpf_pools_finish(struct bpf_pools *pools);

/*
 * bpf_pools_take - memory for counters, zero; at a whole page if it is a page or more.
 *
 * Returns 0, -ENOMEM, or what bpf() said.
 */
int bpf_pools_take(struct bpf_pools *pools, size_t bytes, void **memory);

/* bpf_pools_give - back; no program may count in it any more. */
void bpf_pools_give(struct bpf_pools *pools, void *memory, size_t bytes);

/* bpf_pools_map - another mapping of whole pages that were taken. Returns 0 or negative
 * errno. */
int bpf_pools_map(struct bpf_pools *pools, const void *memory, size_t bytes,
                  void **mapping);

/* bpf_pools_bytes - memory of all pools, taken or not. */
uint64_t bpf_pools_bytes(struct bpf_pools *pools);

/* bpf_pools_locate - pool and number of a counter, as profile.h has them. False if it
 * is in none. */
bool bpf_pools_locate(struct bpf_pools *pools, const void *counter, uint64_t *location);

#endif
