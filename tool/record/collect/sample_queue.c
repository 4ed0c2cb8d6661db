/* SPDX-License-Identifier: MIT */
/* sample_queue.c - a ring of samples of one size. */
#include "record/collect/sample_queue.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

struct sample_queue {
    uint8_t *memory;
    size_t bytes;
    size_t sample_bytes;
    size_t capacity;
    size_t first; /* number of the oldest sample, below capacity */
    size_t count;
};

struct sample_queue *
sample_queue_create(size_t bytes, size_t sample_bytes)
{
    const size_t aligned = (sample_bytes + 15) & ~(size_t)15;
    struct sample_queue *const queue = calloc(1, sizeof(*queue));

    assert(sample_bytes > 0 && aligned <= bytes);
    if (queue == NULL) {
        return NULL;
    }
    queue->bytes = bytes;
    queue->sample_bytes = aligned;
    queue->capacity = bytes / aligned;
    queue->memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (queue->memory == MAP_FAILED ||
        madvise(queue->memory, bytes, MADV_DONTDUMP) != 0) {
        sample_queue_delete(queue);
        return NULL;
    }
    return queue;
}

void
sample_queue_delete(struct sample_queue *queue)
{
    if (queue != NULL && queue->memory != MAP_FAILED) {
        munmap(queue->memory, queue->bytes);
    }
    free(queue);
}

static void *
sample_at(struct sample_queue *queue, size_t at)
{
    return queue->memory + at % queue->capacity * queue->sample_bytes;
}

void *
sample_queue_room(struct sample_queue *queue)
{
    return queue->count < queue->capacity
               ? sample_at(queue, queue->first + queue->count)
               : NULL;
}

void
sample_queue_push(struct sample_queue *queue)
{
    assert(queue->count < queue->capacity);
    queue->count++;
}

void *
sample_queue_first(struct sample_queue *queue)
{
    return queue->count > 0 ? sample_at(queue, queue->first) : NULL;
}

void
sample_queue_pop(struct sample_queue *queue)
{
    assert(queue->count > 0);
    queue->first = (queue->first + 1) % queue->capacity;
    queue->count--;
}
