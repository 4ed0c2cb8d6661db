/* SPDX-License-Identifier: MIT */
/*
 * code_map.h - where the code of a process is at one moment, which walks of its stacks
 * need. Stacks that wait for their walk keep the map of their hit, whatever the process
 * does meanwhile: a map in use by others is copied before it changes.
 */
#ifndef RECORD_COLLECT_CODE_MAP_H
#define RECORD_COLLECT_CODE_MAP_H

#include "stacks/walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL is an empty map. */
struct code_map {
    uint32_t uses;   /* atomic; whoever is the only user may change the map */
    uint32_t missed; /* atomic; 1: a walk came to an address without code */
    size_t count;
    size_t capacity;
    struct stack_mapping mappings[]; /* in order, not overlapping */
};

/* Add a mapping; what it overlaps is removed. *map may move. Returns false if memory
 * runs out; the map has not changed then. */
bool code_map_add(struct code_map **map, const struct stack_mapping *added);

/* Remove all mappings that overlap [start, end). If memory runs out, the map becomes
 * empty. */
void code_map_remove(struct code_map **map, uint64_t start, uint64_t end);

/* Whether a mapping overlaps [start, end). */
bool code_map_overlaps(const struct code_map *map, uint64_t start, uint64_t end);

/* Note that a walk came to an address that the map lacks; whether one did, of this map
 * or of one that it was copied from. Any thread; map may be NULL. */
void code_map_miss(struct code_map *map);
bool code_map_missed(const struct code_map *map);

/* Use a map once more, and end a use. Any thread; map may be NULL. */
struct code_map *code_map_use(struct code_map *map);
void code_map_release(struct code_map *map);

#endif
