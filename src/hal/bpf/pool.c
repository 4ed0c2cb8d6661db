/* SPDX-License-Identifier: MIT */
/* hal/bpf/pool.c - allocates and frees pieces of pools, first fit. */
#include "hal/bpf/pool.h"

#include "hal/linux/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PAGE_UNITS = BPF_PAGE_BYTES / BPF_UNIT_BYTES,
    GROWTH = 4, /* a pool is as large as a quarter of all before it together */
};

static const size_t FIRST_BYTES = sizeof(struct bpf_flat);
static const size_t GROWN_BYTES_MAX = (size_t)1 << 26; /* unless a buffer is larger */
static const size_t BYTES_MAX = (size_t)1 << 42;       /* a location has no more bits */

/* Return the units that bytes take. A page or more is rounded up to whole pages, which
 * may be mapped elsewhere and must not hold counters of others. */
static size_t
units_of(size_t bytes)
{
    const size_t step = bytes >= BPF_PAGE_BYTES ? PAGE_UNITS : 1;

    return (bytes + (step * BPF_UNIT_BYTES - 1)) / (step * BPF_UNIT_BYTES) * step;
}

/* Find the first of so many units that are free, pages at the start of a page. Returns
 * false if there is no such room. */
static bool
find_room(const struct bpf_pool *pool, size_t units, size_t *room)
{
    const size_t step = units >= PAGE_UNITS ? PAGE_UNITS : 1;
    const uint8_t *const in_use = pool->in_use;
    size_t first = (pool->first_free + step - 1) / step * step;

    while (first + units <= pool->units) {
        const uint8_t *next = memchr(in_use + first, 1, units);

        if (next == NULL) {
            *room = first;
            return true;
        }
        next = memchr(next, 0, pool->units - (size_t)(next - in_use));
        if (next == NULL) {
            return false;
        }
        first = ((size_t)(next - in_use) + step - 1) / step * step;
    }
    return false;
}

/* Allocate so many units of a pool. Returns their memory; NULL: it has no room. */
static void *
pool_take(struct bpf_pool *pool, size_t units)
{
    size_t first;

    if (!find_room(pool, units, &first)) {
        return NULL;
    }
    memset(pool->in_use + first, 1, units);
    if (first == pool->first_free) {
        pool->first_free += units;
    }
    return pool->memory + first * BPF_UNIT_BYTES;
}

/* Free the units of a piece of a pool. */
static void
pool_return(struct bpf_pool *pool, const void *memory, size_t units)
{
    const size_t first = (size_t)((const char *)memory - pool->memory) / BPF_UNIT_BYTES;

    assert(memchr(pool->in_use + first, 0, units) == NULL);
    memset(pool->in_use + first, 0, units);
    if (first < pool->first_free) {
        pool->first_free = first;
    }
}

/* Free the memory of the pool at an index. */
static void
pool_finish(struct bpf_pools *pools, uint32_t at)
{
    const struct bpf_pool *const pool = &pools->items[at];

    if (at > 0) { /* the first is the kernel's (kernel.h) */
        munmap(pool->memory, pool->units * BPF_UNIT_BYTES);
        bpf_kernel_drop_map(pools->kernel, BPF_MAP_POOLS, at, pool->fd);
    }
    free(pool->in_use);
}

/* Make the next pool. The memory of the first exists already. */
static int
pool_make(struct bpf_pools *pools, size_t bytes)
{
    struct bpf_kernel *const kernel = pools->kernel;
    struct bpf_pool *const items =
        perf_array_grow(pools->items, pools->count, sizeof(*items));
    struct bpf_pool pool = {.fd = kernel->maps[BPF_MAP_FLAT],
                            .units = bytes / BPF_UNIT_BYTES};
    void *memory = kernel->memory[BPF_MAP_FLAT];

    if (items == NULL) {
        return -ENOMEM;
    }
    pools->items = items;
    if (pools->count == BPF_POOLS) {
        return -ENOMEM;
    }
    pool.in_use = calloc(pool.units, 1);
    if (pool.in_use == NULL) {
        return -ENOMEM;
    }
    if (pools->count > 0) {
        pool.fd = bpf_kernel_add_map(kernel, BPF_MAP_POOLS, pools->count,
                                     bytes / BPF_PAGE_BYTES, &memory);
        if (pool.fd < 0) {
            free(pool.in_use);
            return pool.fd;
        }
    }
    pool.memory = memory;
    items[pools->count++] = pool;
    (void)__atomic_fetch_add(&pools->bytes, bytes, __ATOMIC_RELAXED);
    return 0;
}

int
bpf_pools_init(struct bpf_pools *pools, struct bpf_kernel *kernel)
{
    *pools = (struct bpf_pools){.mutex = PTHREAD_MUTEX_INITIALIZER, .kernel = kernel};
    return pool_make(pools, FIRST_BYTES);
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

/* Make a pool that has room for so many units. It grows with the memory of all pools
 * before it, so that there are few pools. */
static int
make_room(struct bpf_pools *pools, size_t units)
{
    const size_t least =
        (units + PAGE_UNITS - 1) / PAGE_UNITS * PAGE_UNITS * BPF_UNIT_BYTES;
    size_t bytes = pools->bytes / GROWTH / BPF_PAGE_BYTES * BPF_PAGE_BYTES;
    int result;

    bytes = bytes < FIRST_BYTES ? FIRST_BYTES : bytes;
    bytes = bytes > GROWN_BYTES_MAX ? GROWN_BYTES_MAX : bytes;
    result = pool_make(pools, bytes > least ? bytes : least);
    /* There may be memory for less. */
    return result == -ENOMEM && bytes > least ? pool_make(pools, least) : result;
}

/* Return the pool that an address is in, or NULL. */
static struct bpf_pool *
pool_of(const struct bpf_pools *pools, const void *address)
{
    for (uint32_t i = 0; i < pools->count; i++) {
        struct bpf_pool *const pool = &pools->items[i];

        if ((uintptr_t)address - (uintptr_t)pool->memory <
            pool->units * BPF_UNIT_BYTES) {
            return pool;
        }
    }
    return NULL;
}

/* Allocate so many units in any pool. Returns their memory; NULL: none has room. */
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
    size_t units;
    void *made;
    int result = 0;

    assert(bytes > 0);
    if (bytes > BYTES_MAX) {
        return -ENOMEM;
    }
    units = units_of(bytes);
    pthread_mutex_lock(&pools->mutex);
    made = take_units(pools, units);
    if (made == NULL) {
        result = make_room(pools, units);
        made = result == 0 ? take_units(pools, units) : NULL;
    }
    pthread_mutex_unlock(&pools->mutex);
    if (made != NULL) {
        memset(made, 0, units * BPF_UNIT_BYTES);
        *memory = made;
    }
    return result;
}

void
bpf_pools_return(struct bpf_pools *pools, const void *memory, size_t bytes)
{
    struct bpf_pool *pool;

    pthread_mutex_lock(&pools->mutex);
    pool = pool_of(pools, memory);
    assert(pool != NULL);
    pool_return(pool, memory, units_of(bytes));
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
