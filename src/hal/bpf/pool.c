/* SPDX-License-Identifier: MIT */
/* hal/bpf/pool.c - taking and giving pages of pools, and pieces of pages. */
#include "hal/bpf/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    GROWTH = 4, /* a pool has this part of what all before it have, or twice as much */
    MOST_PAGES = 16384, /* unless one buffer is larger */
    LARGEST_PAGES = 1 << 30
};

/* ---- pools ---- */

static size_t
pages_of(size_t bytes)
{
    return bytes / BPF_PAGE_BYTES + (bytes % BPF_PAGE_BYTES != 0);
}

static size_t
next_pool_pages(const struct bpf_pools *pools, size_t least)
{
    size_t pages = BPF_FLAT_PAGES;

    while (pages < pools->pages / GROWTH && pages < MOST_PAGES) {
        pages *= 2;
    }
    while (pages < least) {
        pages *= 2;
    }
    return pages;
}

static void
pool_finish(struct bpf_pools *pools, uint32_t at)
{
    struct bpf_pool *const pool = &pools->items[at];

    if (at > 0) {
        munmap(pool->memory, pool->pages * BPF_PAGE_BYTES);
        bpf_kernel_drop_map(pools->kernel, BPF_MAP_POOLS, at, pool->fd);
    }
    for (size_t page = 0; pool->slabs != NULL && page < pool->pages; page++) {
        free(pool->slabs[page]); /* of pieces that nobody gave back */
    }
    free(pool->slabs);
    free(pool->bits);
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

/* The map of a pool: the first is there; of others a new one, of just the least if
 * there is no memory for more. */
static int
pool_map(struct bpf_pools *pools, size_t least, struct bpf_pool *pool)
{
    struct bpf_kernel *const kernel = pools->kernel;
    const uint32_t at = pools->count;
    void *memory = kernel->memory[BPF_MAP_FLAT];
    size_t pages = BPF_FLAT_PAGES;
    int fd = kernel->maps[BPF_MAP_FLAT];

    if (at > 0) {
        pages = next_pool_pages(pools, least);
        fd = bpf_kernel_add_map(kernel, BPF_MAP_POOLS, at, pages, &memory);
        if (fd == -ENOMEM && least < pages) {
            /* The bits need whole words. */
            pages = (least + 63) / 64 * 64;
            fd = bpf_kernel_add_map(kernel, BPF_MAP_POOLS, at, pages, &memory);
        }
    }
    if (fd < 0) {
        return fd;
    }
    pool->fd = fd;
    pool->memory = memory;
    pool->pages = pages;
    return 0;
}

/* Makes another pool; but for the first with room for at least so many pages. */
static int
pool_make(struct bpf_pools *pools, size_t least)
{
    const uint32_t at = pools->count;
    struct bpf_pool *items;
    int result;

    if (at == BPF_POOLS) {
        return -ENOMEM;
    }
    items = realloc(pools->items, (at + 1) * sizeof(*items));
    if (items == NULL) {
        return -ENOMEM;
    }
    pools->items = items;
    items[at] = (struct bpf_pool){0};
    result = pool_map(pools, least, &items[at]);
    if (result < 0) {
        return result;
    }
    items[at].bits = calloc(items[at].pages / 64, sizeof(*items[at].bits));
    items[at].slabs = calloc(items[at].pages, sizeof(struct bpf_slab *));
    if (items[at].bits == NULL || items[at].slabs == NULL) {
        pool_finish(pools, at);
        return -ENOMEM;
    }
    pools->count++;
    pools->pages += items[at].pages;
    return 0;
}

/* The pool that an address is in, or NULL. */
static struct bpf_pool *
pool_of(const struct bpf_pools *pools, const void *address)
{
    for (uint32_t i = 0; i < pools->count; i++) {
        struct bpf_pool *const pool = &pools->items[i];

        if ((uintptr_t)address - (uintptr_t)pool->memory <
            pool->pages * BPF_PAGE_BYTES) {
            return pool;
        }
    }
    return NULL;
}

/* ---- pages ---- */

static bool
is_taken(const struct bpf_pool *pool, size_t page)
{
    return (pool->bits[page / 64] >> (page % 64) & 1) != 0;
}

static void
set_taken(struct bpf_pool *pool, size_t page, bool taken)
{
    const uint64_t bit = (uint64_t)1 << (page % 64);

    if (taken) {
        pool->bits[page / 64] |= bit;
    } else {
        pool->bits[page / 64] &= ~bit;
    }
}

/* The first of so many free pages in a row; pool->pages if there are none. */
static size_t
find_run(const struct bpf_pool *pool, size_t pages)
{
    size_t run = 0;

    if (pool->pages - pool->taken < pages) {
        return pool->pages;
    }
    for (size_t page = pool->hint; page < pool->pages; page++) {
        if (page % 64 == 0 && pool->bits[page / 64] == UINT64_MAX) {
            page += 63;
            run = 0;
        } else {
            run = is_taken(pool, page) ? 0 : run + 1;
            if (run == pages) {
                return page + 1 - pages;
            }
        }
    }
    return pool->pages;
}

/* What was used before is zeroed; the kernel gave the rest as zero, and has put it in
 * no cache yet. */
static void
clear_run(struct bpf_pool *pool, size_t first, size_t pages)
{
    const size_t end = first + pages;

    if (first < pool->used) {
        const size_t used = (end < pool->used ? end : pool->used) - first;

        memset(pool->memory + first * BPF_PAGE_BYTES, 0, used * BPF_PAGE_BYTES);
    }
    if (end > pool->used) {
        pool->used = end;
    }
}

static void *
take_run(struct bpf_pool *pool, size_t first, size_t pages)
{
    for (size_t page = first; page < first + pages; page++) {
        set_taken(pool, page, true);
    }
    clear_run(pool, first, pages);
    if (first == pool->hint) {
        pool->hint = first + pages;
    }
    pool->taken += pages;
    return pool->memory + first * BPF_PAGE_BYTES;
}

static int
take_pages(struct bpf_pools *pools, size_t pages, void **memory)
{
    int result;

    if (pages > LARGEST_PAGES) {
        return -ENOMEM;
    }
    for (uint32_t i = pools->count; i-- > 0;) {
        struct bpf_pool *const pool = &pools->items[i];
        const size_t first = find_run(pool, pages);

        if (first < pool->pages) {
            *memory = take_run(pool, first, pages);
            return 0;
        }
    }
    result = pool_make(pools, pages);
    if (result == 0 && pages > pools->items[pools->count - 1].pages) {
        result = pool_make(pools, pages); /* the first was too small */
    }
    if (result == 0) {
        *memory = take_run(&pools->items[pools->count - 1], 0, pages);
    }
    return result;
}

static void
give_pages(struct bpf_pools *pools, const void *memory, size_t pages)
{
    struct bpf_pool *const pool = pool_of(pools, memory);
    const size_t first = ((uintptr_t)memory - (uintptr_t)pool->memory) / BPF_PAGE_BYTES;

    for (size_t page = first; page < first + pages; page++) {
        set_taken(pool, page, false);
    }
    if (first < pool->hint) {
        pool->hint = first;
    }
    pool->taken -= pages;
}

/* ---- pieces ---- */

static uint64_t
full_slab(uint32_t size_log2)
{
    const uint32_t pieces = BPF_PAGE_BYTES >> size_log2;

    return pieces == 64 ? UINT64_MAX : ((uint64_t)1 << pieces) - 1;
}

static void
slab_link(struct bpf_pools *pools, struct bpf_slab *slab)
{
    struct bpf_slab **const head = &pools->with_room[slab->size_log2];

    slab->previous = NULL;
    slab->next = *head;
    if (*head != NULL) {
        (*head)->previous = slab;
    }
    *head = slab;
}

static void
slab_unlink(struct bpf_pools *pools, struct bpf_slab *slab)
{
    if (slab->previous != NULL) {
        slab->previous->next = slab->next;
    } else {
        pools->with_room[slab->size_log2] = slab->next;
    }
    if (slab->next != NULL) {
        slab->next->previous = slab->previous;
    }
}

static struct bpf_slab **
slab_place(const struct bpf_pools *pools, const void *memory)
{
    const struct bpf_pool *const pool = pool_of(pools, memory);

    return &pool->slabs[((uintptr_t)memory - (uintptr_t)pool->memory) / BPF_PAGE_BYTES];
}

static int
slab_make(struct bpf_pools *pools, uint32_t size_log2)
{
    struct bpf_slab *const slab = calloc(1, sizeof(*slab));
    void *memory;
    int result;

    if (slab == NULL) {
        return -ENOMEM;
    }
    result = take_pages(pools, 1, &memory);
    if (result < 0) {
        free(slab);
        return result;
    }
    *slab = (struct bpf_slab){.memory = memory, .size_log2 = size_log2};
    *slab_place(pools, memory) = slab;
    slab_link(pools, slab);
    return 0;
}

static uint32_t
piece_log2(size_t bytes)
{
    uint32_t log2 = BPF_PIECE_LOG2_MIN;

    while (((size_t)1 << log2) < bytes) {
        log2++;
    }
    return log2;
}

static int
take_piece(struct bpf_pools *pools, uint32_t size_log2, void **memory)
{
    struct bpf_slab *slab;
    uint32_t piece;

    if (pools->with_room[size_log2] == NULL) {
        const int result = slab_make(pools, size_log2);

        if (result < 0) {
            return result;
        }
    }
    slab = pools->with_room[size_log2];
    piece = (uint32_t)__builtin_ctzll(~slab->taken);
    slab->taken |= (uint64_t)1 << piece;
    if (slab->taken == full_slab(size_log2)) {
        slab_unlink(pools, slab);
    }
    *memory = slab->memory + ((size_t)piece << size_log2);
    return 0;
}

static void
give_piece(struct bpf_pools *pools, const void *memory)
{
    struct bpf_slab **const place = slab_place(pools, memory);
    struct bpf_slab *const slab = *place;
    const size_t piece =
        (size_t)((const char *)memory - slab->memory) >> slab->size_log2;

    if (slab->taken == full_slab(slab->size_log2)) {
        slab_link(pools, slab);
    }
    slab->taken &= ~((uint64_t)1 << piece);
    if (slab->taken == 0) {
        slab_unlink(pools, slab);
        give_pages(pools, slab->memory, 1);
        *place = NULL;
        free(slab);
    }
}

static bool
is_piece(size_t bytes)
{
    return bytes <= (size_t)1 << BPF_PIECE_LOG2_MAX;
}

/* ---- both ---- */

int
bpf_pools_take(struct bpf_pools *pools, size_t bytes, void **memory)
{
    int result;

    pthread_mutex_lock(&pools->mutex);
    if (is_piece(bytes)) {
        result = take_piece(pools, piece_log2(bytes), memory);
        if (result == 0) {
            memset(*memory, 0, bytes);
        }
    } else {
        result = take_pages(pools, pages_of(bytes), memory);
    }
    pthread_mutex_unlock(&pools->mutex);
    return result;
}

void
bpf_pools_give(struct bpf_pools *pools, void *memory, size_t bytes)
{
    pthread_mutex_lock(&pools->mutex);
    if (is_piece(bytes)) {
        give_piece(pools, memory);
    } else {
        give_pages(pools, memory, pages_of(bytes));
    }
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
    bytes = pools->pages * BPF_PAGE_BYTES;
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
