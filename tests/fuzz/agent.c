/* SPDX-License-Identifier: MIT */
/*
 * agent.c - fuzz target: forged memory of preload objects, through what reads it.
 *
 * The data are pieces (pieces.h) of processes, segments, slots, paths or the header.
 * What must hold is checked: statistics add up, and each counted hit is in an image.
 */
#include "pieces.h"
#include "record/collect/collectorp.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(int holds)
{
    if (!holds) {
        abort();
    }
}

/* Where a piece goes, and how many bytes it may have. */
static uint8_t *
find_place(void *context, uint8_t kind, uint16_t number, size_t *most)
{
    struct preload_shared *const shared = context;

    switch (kind % 5) {
    case 0:
        *most = offsetof(struct preload_shared, processes);
        return (uint8_t *)shared;
    case 1:
        *most = sizeof(shared->processes[0]);
        return (uint8_t *)&shared->processes[number % PRELOAD_PROCESSES];
    case 2:
        *most = sizeof(shared->segments[0]);
        return (uint8_t *)&shared->segments[number % PRELOAD_SEGMENTS];
    case 3:
        *most = sizeof(shared->slots[0]);
        return (uint8_t *)&shared->slots[number % PRELOAD_SLOTS];
    default:
        *most = 24;
        return (uint8_t *)&shared->paths[number];
    }
}

static uint64_t
count_fresh(const struct collector *collector)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < collector->images.count; i++) {
        const struct counts *const fresh = &collector->images.images[i]->fresh;

        for (size_t j = 0; j < fresh->count; j++) {
            hits += fresh->items[j].hits;
        }
    }
    return hits;
}

static void
check_collector(struct collector *collector)
{
    struct collector_gaps gaps = {0};
    ntprof_source_info info;

    check(collector_read(collector));
    info = collector->session_statistics[0];
    check(info.taken == info.counted + info.outside);
    check(info.expected == info.taken + info.lost + info.missed + info.unfinished);
    check(info.counted == count_fresh(collector));
    preloaded_describe(collector->preloaded, &gaps);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct preload_memory memory;
    const struct collector_options options = {.preloaded = &memory,
                                              .source_count = 1,
                                              .bucket_bytes =
                                                  size > 0 ? 1u << data[0] % 13 : 1,
                                              .user = true};
    struct collector *collector;

    check(preload_memory_open(&memory, 4000000, size > 0 ? data[0] % 13u : 0) == 0);
    collector = collector_new(&options);
    check(collector != NULL);
    pieces_forge(data, size, find_place, memory.shared);
    check_collector(collector);
    /* Programs write on meanwhile. */
    pieces_forge(data + size / 2, size - size / 2, find_place, memory.shared);
    check_collector(collector);
    collector_delete(collector);
    preload_memory_close(&memory);
    return 0;
}
