/* SPDX-License-Identifier: MIT */
/* hal/bpf/pool.c - taking and returning pieces of pools. */
#include "hal/bpf/pool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    FIRST_LOG2 = 20 - BPF_UNIT_LOG2,
    GROWTH_LOG2 = 2, /* a pool has this part of all before it, or up to twice as much */
    GROWN_LOG2_MAX = 26 - BPF_UNIT_LOG2, /* unless one buffer is larger */
    LOG2_MAX = 42 - BPF_UNIT_LOG2
};

_Static_assert(BPF_FLAT_COUNTERS *KI_COUNTER_BYTES == BPF_UNIT_BYTES << FIRST_LOG2,
               "the first pool is BPF_MAP_FLAT");

/* ---- one pool ---- */

static size_t
bytes_of_log2(uint32_t log2)
{
    return (size_t)BPF_UNIT_BYTES << log2;
}

/* Whole pages of a page or more: they may be mapped elsewhere, and must hold nobody
 * else's counters. */
static size_t
units_of(size_t bytes)
{
    const size_t step = bytes >= BPF_PAGE_BYTES ? BPF_PAGE_BYTES : BPF_UNIT_BYTES;

    return (bytes / step + (bytes % step != 0)) * (step / BPF_UNIT_BYTES);
}

/* Of the power of two that so many units are rounded up to. */
static uint32_t
log2_of(size_t units)
{
    uint32_t log2 = 0;

    while (log2 < LOG2_MAX && (size_t)1 << log2 < units) {
        log2++;
    }
    return log2;
}

/* Makes all of a pool free. */
static void
clear_tree(struct bpf_pool *pool)
{
    for (uint32_t depth = 0; depth <= pool->log2; depth++) {
        memset(&pool->largest_free[(size_t)1 << depth], (int)(pool->log2 - depth + 1),
               (size_t)1 << depth);
    }
}

/* Marks those of the units first to end - 1 that a node covers as taken or free. The
 * node covers 2^log2 units from unit at. Returns its new value: 0 if nothing below it
 * is free, else 1 + log2 of the largest free block. */
static uint8_t
mark(struct bpf_pool *pool, size_t node, uint32_t log2, size_t at, size_t first,
     size_t end, bool taken)
{
    const size_t node_end = at + ((size_t)1 << log2);
    uint8_t *const value = &pool->largest_free[node];

    if (node_end <= first || end <= at) {
        return *value;
    }
    if (first <= at && node_end <= end) {
        assert(*value == (taken ? log2 + 1 : 0));
        *value = (uint8_t)(taken ? 0 : log2 + 1);
    } else {
        const size_t middle = at + ((size_t)1 << (log2 - 1));
        const uint8_t left = mark(pool, 2 * node, log2 - 1, at, first, end, taken);
        const uint8_t right =
            mark(pool, 2 * node + 1, log2 - 1, middle, first, end, taken);

        *value = left > right ? left : right;
        if (left == log2 && right == log2) {
            *value = (uint8_t)(log2 + 1);
        }
    }
    return *value;
}

static void
mark_units(struct bpf_pool *pool, size_t first, size_t count, bool taken)
{
    (void)mark(pool, 1, pool->log2, 0, first, first + count, taken);
}

/* The memory of so many units of a pool, or NULL if it has no room. */
static void *
pool_take(struct bpf_pool *pool, size_t units)
{
    const uint32_t log2 = log2_of(units);
    size_t node = 1;
    size_t first;

    if (pool->largest_free[node] <= log2) {
        return NULL;
    }
    for (uint32_t at = pool->log2; at > log2; at--) {
        node = pool->largest_free[2 * node] > log2 ? 2 * node : 2 * node + 1;
    }
    first = (node << log2) - ((size_t)1 << pool->log2);
    mark_units(pool, first, units, true);
    return pool->memory + first * BPF_UNIT_BYTES;
}

/* ---- pools ---- */

static void
pool_finish(struct bpf_pools *pools, uint32_t at)
{
    const struct bpf_pool *const pool = &pools->items[at];

    if (at > 0) { /* the first is the kernel's (kernel.h) */
        munmap(pool->memory, bytes_of_log2(pool->log2));
        bpf_kernel_drop_map(pools->kernel, BPF_MAP_POOLS, at, pool->fd);
    }
    free(pool->largest_free);
}

void
bpf_pools_init(struct bpf_pools *pools, struct bpf_kernel *kernel)
{
    *pools = (struct bpf_pools){.mutex = PTHREAD_MUTEX_INITIALIZER, .kernel = kernel};
}

void
bpf_pools_finish(struct bpf_pools *pools)
{
    for (uint32_t i = 0; i < pools->count; i++) {
        pool_finish(pools, i);
    }
    free(pools->items);
    pthread_mutex_destroy(&pools->mutex);
    pools->items = NULL;
    pools->count = 0;
}

static uint32_t
grown_log2(const struct bpf_pools *pools)
{
    uint32_t log2 = FIRST_LOG2;

    while (log2 < GROWN_LOG2_MAX && bytes_of_log2(log2) < pools->bytes >> GROWTH_LOG2) {
        log2++;
    }
    return log2;
}

/* The map of the next pool. The first exists already. */
static int
pool_map(struct bpf_pools *pools, uint32_t log2, struct bpf_pool *pool)
{
    struct bpf_kernel *const kernel = pools->kernel;
    void *memory = kernel->memory[BPF_MAP_FLAT];
    int fd = kernel->maps[BPF_MAP_FLAT];

    if (pools->count > 0) {
        fd = bpf_kernel_add_map(kernel, BPF_MAP_POOLS, pools->count,
                                bytes_of_log2(log2) / BPF_PAGE_BYTES, &memory);
    }
    if (fd < 0) {
        return fd;
    }
    *pool = (struct bpf_pool){.fd = fd, .memory = memory, .log2 = log2};
    return 0;
}

static int
pool_make(struct bpf_pools *pools, uint32_t log2)
{
    struct bpf_pool *items;
    struct bpf_pool *pool;
    int result;

    if (pools->count == BPF_POOLS) {
        return -ENOMEM;
    }
    items = realloc(pools->items, (pools->count + 1) * sizeof(*items));
    if (items == NULL) {
        return -ENOMEM;
    }
    pools->items = items;
    pool = &items[pools->count];
    result = pool_map(pools, log2, pool);
    if (result < 0) {
        return result;
    }
    pool->largest_free = malloc((size_t)2 << log2);
    if (pool->largest_free == NULL) {
        pool_finish(pools, pools->count);
        return -ENOMEM;
    }
    clear_tree(pool);
    pools->count++;
    pools->bytes += bytes_of_log2(log2);
    return 0;
}

/* Makes a pool that has room for so many units. */
static int
make_room(struct bpf_pools *pools, size_t units)
{
    const uint32_t least = log2_of(units) > FIRST_LOG2 ? log2_of(units) : FIRST_LOG2;
    const uint32_t grown = grown_log2(pools);
    int result = 0;

    if (pools->count == 0) {
        result = pool_make(pools, FIRST_LOG2);
        if (result < 0 || least == FIRST_LOG2) {
            return result;
        }
    }
    result = pool_make(pools, grown > least ? grown : least);
    /* There may be memory for less. */
    return result == -ENOMEM && grown > least ? pool_make(pools, least) : result;
}

/* The pool that an address is in, or NULL. */
static struct bpf_pool *
pool_of(const struct bpf_pools *pools, const void *address)
{
    for (uint32_t i = 0; i < pools->count; i++) {
        struct bpf_pool *const pool = &pools->items[i];

        if ((uintptr_t)address - (uintptr_t)pool->memory < bytes_of_log2(pool->log2)) {
            return pool;
        }
    }
    return NULL;
}

static void *
take_units(struct bpf_pools *pools, size_t units)
{
    void *memory = NULL;

    /* Later pools are larger and have more room. */
    for (uint32_t i = pools->count; memory == NULL && i-- > 0;) {
        memory = pool_take(&pools->items[i], units);
    }
    return memory;
}

int
bpf_pools_take(struct bpf_pools *pools, size_t bytes, void **memory)
{
    const size_t units = units_of(bytes);
    void *taken;
    int result = 0;

    assert(bytes > 0);
    if (units > (size_t)1 << LOG2_MAX) {
        return -ENOMEM;
    }
    pthread_mutex_lock(&pools->mutex);
    taken = take_units(pools, units);
    if (taken == NULL) {
        result = make_room(pools, units);
        taken = result == 0 ? take_units(pools, units) : NULL;
    }
    pthread_mutex_unlock(&pools->mutex);
    if (taken != NULL) {
        memset(taken, 0, units * BPF_UNIT_BYTES);
        *memory = taken;
    }
    return result;
}

void
bpf_pools_give(struct bpf_pools *pools, const void *memory, size_t bytes)
{
    struct bpf_pool *pool;

    pthread_mutex_lock(&pools->mutex);
    pool = pool_of(pools, memory);
    assert(pool != NULL);
    mark_units(pool, (size_t)((const char *)memory - pool->memory) / BPF_UNIT_BYTES,
               units_of(bytes), false);
    pthread_mutex_unlock(&pools->mutex);
}

int
bpf_pools_map(struct bpf_pools *pools, const void *memory, size_t bytes, void **mapping)
{
    const struct bpf_pool *pool;
    void *made;
    int result = 0;

    pthread_mutex_lock(&pools->mutex);
    pool = pool_of(pools, memory);
    assert(pool != NULL);
    made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pool->fd,
                (off_t)((uintptr_t)memory - (uintptr_t)pool->memory));
    if (made == MAP_FAILED) {
        result = -errno;
    }
    pthread_mutex_unlock(&pools->mutex);
    if (result == 0) {
        *mapping = made;
    }
    return result;
}

uint64_t
bpf_pools_bytes(struct bpf_pools *pools)
{
    uint64_t bytes;

    pthread_mutex_lock(&pools->mutex);
    bytes = pools->bytes;
    pthread_mutex_unlock(&pools->mutex);
    return bytes;
}

bool
bpf_pools_locate(struct bpf_pools *pools, const void *counter, uint64_t *location)
{
    const struct bpf_pool *pool;

    pthread_mutex_lock(&pools->mutex);
    pool = pool_of(pools, counter);
    if (pool != NULL) {
        *location = (uint64_t)(pool - pools->items) << BPF_LOCATION_POOL_SHIFT |
                    ((uintptr_t)counter - (uintptr_t)pool->memory) / KI_COUNTER_BYTES;
    }
    pthread_mutex_unlock(&pools->mutex);
    return pool != NULL;
}
