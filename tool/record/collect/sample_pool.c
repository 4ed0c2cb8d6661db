/* SPDX-License-Identifier: MIT */
/*
 * sample_pool.c - cells of one size. A sample has as many together as it needs, the
 * lowest that are free, so that no more memory is touched than was needed at once. It
 * is taken only where the largest one would fit: else short stacks would fill the gaps,
 * and of a pool that is full nearly all long ones would be missing.
 */
#include "record/collect/sample_pool.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { CELL_BYTES = 512 };

struct sample_pool {
    uint8_t *memory;
    size_t capacity; /* cells */
    size_t largest;  /* cells of a sample at most */
    size_t count;    /* of samples */
    size_t free;     /* no cell below it is free; never within a sample */
    size_t end;      /* no cell from it on is used */
    uint32_t *cells; /* by cell: of the sample that begins there; 0: none does */
};

static size_t
count_cells(size_t bytes)
{
    return bytes / CELL_BYTES + (bytes % CELL_BYTES != 0);
}

struct sample_pool *
sample_pool_create(size_t bytes, size_t largest_bytes)
{
    struct sample_pool *const pool = calloc(1, sizeof(*pool));

    if (pool == NULL) {
        return NULL;
    }
    pool->capacity = bytes / CELL_BYTES;
    pool->largest = count_cells(largest_bytes);
    pool->cells = calloc(pool->capacity, sizeof(*pool->cells));
    pool->memory = mmap(NULL, pool->capacity * CELL_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool->cells == NULL || pool->memory == MAP_FAILED ||
        madvise(pool->memory, pool->capacity * CELL_BYTES, MADV_DONTDUMP) != 0) {
        sample_pool_delete(pool);
        return NULL;
    }
    return pool;
}

void
sample_pool_delete(struct sample_pool *pool)
{
    if (pool != NULL && pool->memory != MAP_FAILED) {
        munmap(pool->memory, pool->capacity * CELL_BYTES);
    }
    if (pool != NULL) {
        free(pool->cells);
    }
    free(pool);
}

void *
sample_pool_take(struct sample_pool *pool, size_t bytes)
{
    const size_t wanted = count_cells(bytes);
    size_t start = pool->free;
    size_t found = 0; /* free cells from start on */

    assert(bytes > 0 && wanted <= pool->largest);
    while (found < pool->largest && start + found < pool->capacity) {
        const uint32_t used = pool->cells[start + found];

        start = used > 0 ? start + found + used : start;
        found = used > 0 ? 0 : found + 1;
    }
    if (found < pool->largest) {
        return NULL;
    }
    pool->cells[start] = (uint32_t)wanted;
    pool->count++;
    pool->free = start == pool->free ? start + wanted : pool->free;
    pool->end = start + wanted > pool->end ? start + wanted : pool->end;
    return pool->memory + start * CELL_BYTES;
}

static size_t
cell_of(const struct sample_pool *pool, const void *sample)
{
    return (size_t)((const uint8_t *)sample - pool->memory) / CELL_BYTES;
}

void *
sample_pool_next(const struct sample_pool *pool, const void *sample)
{
    size_t at = sample != NULL ? cell_of(pool, sample) : 0;

    at += sample != NULL ? pool->cells[at] : 0;
    while (at < pool->end && pool->cells[at] == 0) {
        at++;
    }
    return at < pool->end ? pool->memory + at * CELL_BYTES : NULL;
}

void
sample_pool_remove(struct sample_pool *pool, const void *sample)
{
    const size_t at = cell_of(pool, sample);

    assert(pool->cells[at] > 0);
    pool->cells[at] = 0;
    pool->count--;
    pool->free = at < pool->free ? at : pool->free;
    if (pool->count == 0) {
        pool->end = 0;
    }
}
