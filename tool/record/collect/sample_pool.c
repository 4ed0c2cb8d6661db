/* SPDX-License-Identifier: MIT */
/* sample_pool.c - slots of one size, the lowest of which are used first, so that no
 * more memory is touched than was needed at once. */
#include "record/collect/sample_pool.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

struct sample_pool {
    uint8_t *memory;
    size_t bytes;
    size_t sample_bytes;
    size_t capacity;
    size_t count; /* of slots that are used */
    size_t free;  /* no slot below it is free */
    size_t end;   /* no slot from it on is used */
    bool *used;   /* by slot */
};

struct sample_pool *
sample_pool_create(size_t bytes, size_t sample_bytes)
{
    const size_t aligned = (sample_bytes + 15) & ~(size_t)15;
    struct sample_pool *const pool = calloc(1, sizeof(*pool));

    assert(sample_bytes > 0 && aligned <= bytes);
    if (pool == NULL) {
        return NULL;
    }
    pool->bytes = bytes;
    pool->sample_bytes = aligned;
    pool->capacity = bytes / aligned;
    pool->used = calloc(pool->capacity, sizeof(*pool->used));
    pool->memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool->used == NULL || pool->memory == MAP_FAILED ||
        madvise(pool->memory, bytes, MADV_DONTDUMP) != 0) {
        sample_pool_delete(pool);
        return NULL;
    }
    return pool;
}

void
sample_pool_delete(struct sample_pool *pool)
{
    if (pool != NULL && pool->memory != MAP_FAILED) {
        munmap(pool->memory, pool->bytes);
    }
    if (pool != NULL) {
        free(pool->used);
    }
    free(pool);
}

void *
sample_pool_take(struct sample_pool *pool)
{
    size_t slot = pool->free;

    if (pool->count == pool->capacity) {
        return NULL;
    }
    while (pool->used[slot]) {
        slot++;
    }
    pool->used[slot] = true;
    pool->count++;
    pool->free = slot + 1;
    pool->end = slot + 1 > pool->end ? slot + 1 : pool->end;
    return pool->memory + slot * pool->sample_bytes;
}

static size_t
slot_of(const struct sample_pool *pool, const void *sample)
{
    return (size_t)((const uint8_t *)sample - pool->memory) / pool->sample_bytes;
}

void *
sample_pool_next(const struct sample_pool *pool, const void *sample)
{
    for (size_t slot = sample != NULL ? slot_of(pool, sample) + 1 : 0; slot < pool->end;
         slot++) {
        if (pool->used[slot]) {
            return pool->memory + slot * pool->sample_bytes;
        }
    }
    return NULL;
}

void
sample_pool_remove(struct sample_pool *pool, const void *sample)
{
    const size_t slot = slot_of(pool, sample);

    assert(pool->used[slot]);
    pool->used[slot] = false;
    pool->count--;
    pool->free = slot < pool->free ? slot : pool->free;
    while (pool->end > 0 && !pool->used[pool->end - 1]) {
        pool->end--;
    }
}
