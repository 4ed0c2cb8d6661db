/* SPDX-License-Identifier: MIT */
/* hal/linux/merge.c - a small heap; with a handful of rings it is a compare or two. */
#include "hal/linux/merge.h"

#include "hal/linux/record.h"

static void
sift_up(struct perf_merge *merge, size_t index)
{
    struct perf_merge_entry *entries = merge->entries;

    while (index > 0 && entries[index].time_ns < entries[(index - 1) / 2].time_ns) {
        const size_t parent = (index - 1) / 2;
        const struct perf_merge_entry entry = entries[index];

        entries[index] = entries[parent];
        entries[parent] = entry;
        index = parent;
    }
}

static void
sift_down(struct perf_merge *merge)
{
    struct perf_merge_entry *entries = merge->entries;
    size_t index = 0;

    for (;;) {
        const size_t left = 2 * index + 1;
        size_t least = index;
        struct perf_merge_entry entry;

        if (left < merge->count && entries[left].time_ns < entries[least].time_ns) {
            least = left;
        }
        if (left + 1 < merge->count &&
            entries[left + 1].time_ns < entries[least].time_ns) {
            least = left + 1;
        }
        if (least == index) {
            return;
        }
        entry = entries[index];
        entries[index] = entries[least];
        entries[least] = entry;
        index = least;
    }
}

void
perf_merge_add(struct perf_merge *merge, struct perf_ring *ring)
{
    const struct perf_event_header *header = perf_ring_peek(ring);

    if (header == NULL) {
        return;
    }
    merge->entries[merge->count].ring = ring;
    merge->entries[merge->count].time_ns = perf_record_time(header, header->size);
    sift_up(merge, merge->count++);
}

void
perf_merge_sift(struct perf_merge *merge)
{
    if (merge->entries[0].time_ns == PERF_MERGE_EMPTY) {
        merge->entries[0] = merge->entries[--merge->count];
    }
    sift_down(merge);
}
