/* SPDX-License-Identifier: MIT */
/*
 * agent.c - fuzz target: forged memory of preload objects, through what reads it.
 *
 * The data are pieces: a byte for the kind, two for the number, and the bytes of that
 * process, segment, slot, path or header, as far as there are any. What must hold is
 * checked: statistics add up, and each counted hit is in an image.
 */
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
find_place(struct preload_shared *shared, uint8_t kind, uint16_t number, size_t *most)
{
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

static void
forge(struct preload_shared *shared, const uint8_t *data, size_t size)
{
    while (size > 3) {
        const uint16_t number = (uint16_t)(data[1] | data[2] << 8);
        size_t bytes;
        uint8_t *const place = find_place(shared, data[0], number, &bytes);

        data += 3;
        size -= 3;
        bytes = bytes < size ? bytes : size;
        memcpy(place, data, bytes);
        data += bytes;
        size -= bytes;
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
    forge(memory.shared, data, size);
    check_collector(collector);
    /* Programs write on meanwhile. */
    forge(memory.shared, data + size / 2, size - size / 2);
    check_collector(collector);
    collector_delete(collector);
    preload_memory_close(&memory);
    return 0;
}
