/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/pool.h - memory that programs count in: pieces of mapped BPF maps.
 *
 * A pool is one map, divided into units of BPF_UNIT_BYTES; a piece is the first room
 * that is large enough. Creating a map waits for the kernel's readers, so each pool is
 * larger the more there are, and even thousands of buffers need few. All of it belongs
 * to one session.
 */
#ifndef HAL_BPF_POOL_H
#define HAL_BPF_POOL_H

#include "hal/bpf/kernel.h"

#include <pthread.h>

struct bpf_pool {
    int fd;
    char *memory;
    size_t units;
    size_t first_free; /* no unit below is free */
    uint8_t *in_use;   /* by unit: 1 if it belongs to a piece, else 0 */
};

enum { BPF_UNIT_BYTES = 64 }; /* pieces are multiples of it */

struct bpf_pools {
    pthread_mutex_t mutex; /* programs may free a buffer at any time, in any thread */
    struct bpf_kernel *kernel;
    struct bpf_pool *items; /* the first is BPF_MAP_FLAT */
    uint32_t count;
    uint64_t bytes; /* of all pools; read without the mutex */
};

/* bpf_pools_init - make the first pool. Returns 0 or -ENOMEM. bpf_pools_finish - free
 * all pools; no other call may follow. Second mappings (bpf_pools_map) stay. */
int bpf_pools_init(struct bpf_pools *pools, struct bpf_kernel *kernel);
void bpf_pools_finish(struct bpf_pools *pools);

/*
 * bpf_pools_take - allocate zeroed memory for counters: whole pages if it is a page or
 * more.
 *
 *   bytes  in: above 0
 *
 * Returns 0, -ENOMEM, or the error of bpf().
 */
int bpf_pools_take(struct bpf_pools *pools, size_t bytes, void **memory);

/* bpf_pools_return - free memory of bpf_pools_take. bytes: in, as for that. No BPF
 * program may count in it any more. */
void bpf_pools_return(struct bpf_pools *pools, const void *memory, size_t bytes);

/* bpf_pools_map - map whole pages of bpf_pools_take a second time. Returns 0 or
 * negative errno. */
int bpf_pools_map(struct bpf_pools *pools, const void *memory, size_t bytes,
                  void **mapping);

/* bpf_pools_locate - find pool and number of a counter, in the form of a location
 * (profile.h). Returns false if it is in no pool. */
bool bpf_pools_locate(struct bpf_pools *pools, const void *counter, uint64_t *location);

#endif
