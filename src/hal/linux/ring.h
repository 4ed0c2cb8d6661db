/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/ring.h - one processor's ring of records.
 *
 * The kernel writes at head, the reader reads at tail. Records are read in place, but
 * those that wrap around the end of the ring or begin at no multiple of 8 are copied,
 * once. The latter are rare: Linux does not pad samples, and the copy of a user stack
 * that ends with the address space has any size, so the record behind it begins
 * anywhere. A record's bytes, and names in them, stay valid until the next record is
 * looked at, or the ring's tail is published.
 *
 * Invariant: tail <= head <= tail + size; size is a multiple of 8.
 */
#ifndef HAL_LINUX_RING_H
#define HAL_LINUX_RING_H

#include <assert.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_ring {
    struct perf_event_mmap_page *page; /* NULL: a test's ring, over plain bytes */
    const uint8_t *data;
    uint64_t size_bytes; /* a power of two */
    uint64_t head;       /* as of the last perf_ring_update */
    uint64_t tail;
    bool tight;             /* was nearly full: records may have been lost */
    uint64_t lost_records;  /* as LOST records say, and 1 for each of impossible size */
    uint64_t lost_reported; /* lost records that have been reported in notifications */
    uint64_t lost_closed;   /* records lost by events that are closed now */
    uint32_t processor;
    int owner_fd; /* the event whose ring it is; -1: a test's ring */

    uint8_t *scratch; /* 64 kB for a record that is copied; in no core dump */
    bool joined;      /* scratch has the record at tail */
};

/*
 * perf_ring_map - map the ring of an event.
 *
 *   ring   out
 *   fd     in: the event whose ring it is; after success perf_ring_unmap closes it
 *   bytes  in: of data: pages whose number is a power of two
 *
 * Returns 0; -ENOMEM; or the negative errno of mmap (-EPERM: more than
 * perf_event_mlock_kb and RLIMIT_MEMLOCK allow).
 */
int perf_ring_map(struct perf_ring *ring, int fd, uint32_t processor, size_t bytes);

/* perf_ring_unmap - unmap the ring and close its event. */
void perf_ring_unmap(struct perf_ring *ring);

/* perf_ring_update - read the kernel's head. Returns the number of unread bytes. */
uint64_t perf_ring_update(struct perf_ring *ring);

/* perf_ring_is_filling - is it so full that waiting for order might lose records? */
static inline bool
perf_ring_is_filling(struct perf_ring *ring)
{
    return perf_ring_update(ring) > ring->size_bytes / 4 * 3;
}

/* perf_ring_publish - let the kernel overwrite all records before tail. */
void perf_ring_publish(struct perf_ring *ring);

/*
 * perf_ring_peek - return the record at tail, whole and contiguous, or NULL if there is
 * none. Behind a record with an impossible size nothing can be read: all up to head is
 * skipped, and counted as one lost record.
 */
const struct perf_event_header *perf_ring_peek(struct perf_ring *ring);

/* perf_ring_skip - move tail behind the record that perf_ring_peek returned. */
static inline void
perf_ring_skip(struct perf_ring *ring, const struct perf_event_header *header)
{
    ring->tail += header->size;
    ring->joined = false;
    assert(ring->tail <= ring->head);
}

#endif
