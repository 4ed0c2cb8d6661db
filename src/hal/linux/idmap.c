/* SPDX-License-Identifier: MIT */
/* hal/linux/idmap.c - linear probing with backward-shift deletion. */
#include "hal/linux/idmap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { CAPACITY_MIN = 16 }; /* of the first entries; a power of two */

/* Return the index at which the search for id starts. */
static size_t
slot_of(const struct perf_idmap *map, uint64_t id)
{
    /* Fibonacci hashing spreads consecutive ids. */
    return (size_t)((id * 0x9E3779B97F4A7C15u) >> 32) & (map->capacity - 1);
}

/* Return the slot of id, or the free slot for it. The map is never full. */
static size_t
probe(const struct perf_idmap *map, uint64_t id)
{
    size_t slot = slot_of(map, id);

    while (map->entries[slot].value != NULL && map->entries[slot].id != id) {
        slot = (slot + 1) & (map->capacity - 1);
    }
    return slot;
}

/* Double the capacity. Returns 0 or -ENOMEM. */
static int
grow(struct perf_idmap *map)
{
    struct perf_idmap larger = {
        .capacity = map->capacity == 0 ? CAPACITY_MIN : map->capacity * 2,
        .count = map->count,
    };

    larger.entries = calloc(larger.capacity, sizeof(*larger.entries));
    if (larger.entries == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entries[i].value != NULL) {
            larger.entries[probe(&larger, map->entries[i].id)] = map->entries[i];
        }
    }
    free(map->entries);
    *map = larger;
    return 0;
}

void
perf_idmap_finish(struct perf_idmap *map)
{
    free(map->entries);
    *map = (struct perf_idmap){0};
}

void *
perf_idmap_find(const struct perf_idmap *map, uint64_t id)
{
    return map->count == 0 ? NULL : map->entries[probe(map, id)].value;
}

int
perf_idmap_put(struct perf_idmap *map, uint64_t id, void *value)
{
    struct perf_idmap_entry *entry;

    assert(value != NULL);
    if ((map->count + 1) * 3 > map->capacity * 2) {
        const int result = grow(map);

        if (result < 0) {
            return result;
        }
    }
    entry = &map->entries[probe(map, id)];
    map->count += entry->value == NULL;
    assert(map->count * 3 <= map->capacity * 2);
    *entry = (struct perf_idmap_entry){.id = id, .value = value};
    return 0;
}

void *
perf_idmap_remove(struct perf_idmap *map, uint64_t id)
{
    const size_t mask = map->capacity - 1;
    size_t hole;
    void *value;

    if (map->count == 0) {
        return NULL;
    }
    hole = probe(map, id);
    value = map->entries[hole].value;
    if (value == NULL) {
        return NULL;
    }
    map->count--;

    /* Close the hole: an entry behind it moves into it, unless the slot at which the
     * search for that entry starts, its home, is behind the hole too. */
    for (size_t next = (hole + 1) & mask; map->entries[next].value != NULL;
         next = (next + 1) & mask) {
        const size_t home = slot_of(map, map->entries[next].id);

        if (((next - home) & mask) >= ((next - hole) & mask)) {
            map->entries[hole] = map->entries[next];
            hole = next;
        }
    }
    map->entries[hole].value = NULL;
    return value;
}
