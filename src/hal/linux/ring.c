/* SPDX-License-Identifier: MIT */
/* hal/linux/ring.c - maps a ring, and joins records that wrap around its end. */
#include "hal/linux/ring.h"
#include "hal/linux/descriptor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECORD_BYTES_MAX = 65536 }; /* the size in a record's header has 16 bits */

static size_t
page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int
perf_ring_map(struct perf_ring *ring, int fd, uint32_t processor, size_t pages)
{
    const size_t page = page_bytes();
    uint8_t *scratch;
    void *memory;

    scratch = aligned_alloc(8, RECORD_BYTES_MAX);
    if (scratch == NULL) {
        return -ENOMEM;
    }
    memory = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        const int error = errno;

        free(scratch);
        return -error;
    }
    *ring = (struct perf_ring){
        .page = memory,
        .data = (const uint8_t *)memory + page,
        .size_bytes = pages * page,
        .processor = processor,
        .owner_fd = fd,
        .scratch = scratch,
    };
    return 0;
}

void
perf_ring_unmap(struct perf_ring *ring)
{
    munmap(ring->page, ring->size_bytes + page_bytes());
    perf_descriptor_close(ring->owner_fd);
    free(ring->scratch);
    *ring = (struct perf_ring){.owner_fd = -1};
}

uint64_t
perf_ring_update(struct perf_ring *ring)
{
    if (ring->page != NULL) {
        /* Pairs with the kernel's barrier between a record's bytes and data_head. */
        ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    }
    return ring->head - ring->tail;
}

void
perf_ring_publish(struct perf_ring *ring)
{
    if (ring->page != NULL) {
        /* Our reads of the records must end before the kernel may write there. */
        __atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
    }
}

const struct perf_event_header *
perf_ring_peek(struct perf_ring *ring)
{
    const uint64_t unread = ring->head - ring->tail;
    const uint64_t offset = ring->tail & (ring->size_bytes - 1);
    const uint64_t first = ring->size_bytes - offset;
    const struct perf_event_header *header = (const void *)(ring->data + offset);

    if (unread < sizeof(*header)) {
        return NULL;
    }
    /* Records are multiples of 8 bytes, so the header itself never wraps. */
    if (header->size < sizeof(*header) || header->size % 8 != 0 ||
        header->size > unread || header->size > ring->size_bytes) {
        ring->lost_records++;
        ring->tail = ring->head;
        return NULL;
    }
    if (header->size <= first) {
        return header;
    }
    memcpy(ring->scratch, header, first);
    memcpy(ring->scratch + first, ring->data, header->size - first);
    return (const void *)ring->scratch;
}
