/* SPDX-License-Identifier: MIT */
/* hal/linux/ring.c - maps a ring, and joins records that cannot be read in place. */
#include "hal/linux/ring.h"
#include "hal/linux/descriptor.h"

#include <errno.h>
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
perf_ring_map(struct perf_ring *ring, int fd, uint32_t processor, size_t bytes)
{
    const size_t page = page_bytes();
    void *scratch;
    void *memory;

    scratch = mmap(NULL, RECORD_BYTES_MAX, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (scratch == MAP_FAILED) {
        return -ENOMEM;
    }
    /* Samples may contain other programs' stacks. The kernel does the same for the ring
     * itself. */
    (void)madvise(scratch, RECORD_BYTES_MAX, MADV_DONTDUMP);
    memory = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        const int error = errno;

        munmap(scratch, RECORD_BYTES_MAX);
        return -error;
    }
    *ring = (struct perf_ring){
        .page = memory,
        .data = (const uint8_t *)memory + page,
        .size_bytes = bytes,
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
    munmap(ring->scratch, RECORD_BYTES_MAX);
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

/* Copy the first bytes of the record at tail to scratch. */
static void
join(struct perf_ring *ring, size_t bytes)
{
    const uint64_t offset = ring->tail & (ring->size_bytes - 1);
    const uint64_t to_end = ring->size_bytes - offset;
    const size_t first = bytes < to_end ? bytes : (size_t)to_end;

    memcpy(ring->scratch, ring->data + offset, first);
    memcpy(ring->scratch + first, ring->data, bytes - first);
}

/* Can a record of this size be in the ring? Only samples end with a stack, whose size
 * may be any. */
static bool
is_possible(const struct perf_ring *ring, const struct perf_event_header *header)
{
    return header->size >= sizeof(*header) &&
           (header->size % 8 == 0 || header->type == PERF_RECORD_SAMPLE) &&
           header->size <= ring->head - ring->tail && header->size <= ring->size_bytes;
}

const struct perf_event_header *
perf_ring_peek(struct perf_ring *ring)
{
    const uint64_t offset = ring->tail & (ring->size_bytes - 1);
    const bool aligned = offset % 8 == 0;
    const struct perf_event_header *header = (const void *)ring->scratch;

    if (ring->joined) {
        return header;
    }
    if (ring->head - ring->tail < sizeof(*header)) {
        return NULL;
    }
    if (aligned) { /* then the header itself does not wrap */
        header = (const void *)(ring->data + offset);
    } else {
        join(ring, sizeof(*header));
    }
    if (!is_possible(ring, header)) {
        ring->lost_records++;
        ring->tail = ring->head;
        return NULL;
    }
    if (!aligned || header->size > ring->size_bytes - offset) {
        join(ring, header->size);
        ring->joined = true;
        header = (const void *)ring->scratch;
    }
    return header;
}
