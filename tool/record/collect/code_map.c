/* SPDX-License-Identifier: MIT */
/* code_map.c - mappings with code, in order, shared until they change. */
#include "record/collect/code_map.h"

#include <stdlib.h>
#include <string.h>

/* Mappings of a new map: a small program and its libraries have fewer. */
enum { CAPACITY_MIN = 16 };

static struct code_map *
make_map(size_t capacity)
{
    struct code_map *const map =
        malloc(sizeof(*map) + capacity * sizeof(map->mappings[0]));

    if (map != NULL) {
        *map = (struct code_map){.uses = 1, .capacity = capacity};
    }
    return map;
}

/* Make *map one that nobody else uses and that has room for count mappings. Returns
 * false if memory runs out. */
static bool
own(struct code_map **map, size_t count)
{
    struct code_map *const old = *map;
    struct code_map *copy;
    size_t capacity = old != NULL ? old->capacity : CAPACITY_MIN;

    /* Pairs with the release in code_map_release: the last other user has read all. */
    if (old != NULL && __atomic_load_n(&old->uses, __ATOMIC_ACQUIRE) == 1 &&
        count <= old->capacity) {
        return true;
    }
    while (capacity < count) {
        capacity *= 2;
    }
    copy = make_map(capacity);
    if (copy == NULL) {
        return false;
    }
    if (old != NULL) {
        copy->count = old->count;
        copy->missed = __atomic_load_n(&old->missed, __ATOMIC_RELAXED);
        memcpy(copy->mappings, old->mappings, old->count * sizeof(old->mappings[0]));
        code_map_release(old);
    }
    *map = copy;
    return true;
}

/* Find the first mapping that ends behind an address. */
static size_t
first_behind(const struct code_map *map, uint64_t address)
{
    size_t low = 0;
    size_t high = map != NULL ? map->count : 0;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (map->mappings[middle].end > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Remove what overlaps [start, end) from a map that is owned. Returns where it was. */
static size_t
cut(struct code_map *map, uint64_t start, uint64_t end)
{
    const size_t at = first_behind(map, start);
    size_t behind = at;

    while (behind < map->count && map->mappings[behind].start < end) {
        behind++;
    }
    memmove(&map->mappings[at], &map->mappings[behind],
            (map->count - behind) * sizeof(map->mappings[0]));
    map->count -= behind - at;
    return at;
}

bool
code_map_add(struct code_map **map, const struct stack_mapping *added)
{
    size_t at;

    if (!own(map, (*map != NULL ? (*map)->count : 0) + 1)) {
        return false;
    }
    at = cut(*map, added->start, added->end);
    memmove(&(*map)->mappings[at + 1], &(*map)->mappings[at],
            ((*map)->count - at) * sizeof((*map)->mappings[0]));
    (*map)->mappings[at] = *added;
    (*map)->count++;
    return true;
}

void
code_map_remove(struct code_map **map, uint64_t start, uint64_t end)
{
    const size_t at = first_behind(*map, start);

    if (*map == NULL || at == (*map)->count || (*map)->mappings[at].start >= end) {
        return;
    }
    if (own(map, (*map)->count)) {
        (void)cut(*map, start, end);
    } else {
        /* Of a mapping that is gone there would be false callers. */
        code_map_release(*map);
        *map = NULL;
    }
}

bool
code_map_overlaps(const struct code_map *map, uint64_t start, uint64_t end)
{
    const size_t at = first_behind(map, start);

    return map != NULL && at < map->count && map->mappings[at].start < end;
}

void
code_map_miss(struct code_map *map)
{
    if (map != NULL) {
        __atomic_store_n(&map->missed, 1, __ATOMIC_RELAXED);
    }
}

bool
code_map_missed(const struct code_map *map)
{
    return map != NULL && __atomic_load_n(&map->missed, __ATOMIC_RELAXED) != 0;
}

struct code_map *
code_map_use(struct code_map *map)
{
    if (map != NULL) {
        __atomic_fetch_add(&map->uses, 1, __ATOMIC_RELAXED);
    }
    return map;
}

void
code_map_release(struct code_map *map)
{
    if (map != NULL && __atomic_sub_fetch(&map->uses, 1, __ATOMIC_ACQ_REL) == 0) {
        free(map);
    }
}
