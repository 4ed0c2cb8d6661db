/* SPDX-License-Identifier: MIT */
/*
 * preload_maps.h - executable ranges of a running process, read from /proc: libraries
 * that it loaded after its start, and code of JITs.
 */
#ifndef RECORD_COLLECT_PRELOAD_MAPS_H
#define RECORD_COLLECT_PRELOAD_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct collector;
struct image;

struct preload_range {
    uint64_t begin;
    uint64_t end;
    struct image *image;
    uint64_t place; /* of begin, in the image: see enum image_kind */
};

/* All zero is empty. */
struct preload_maps {
    struct preload_range *ranges; /* in order, without overlaps */
    size_t count;
    uint64_t version; /* of ranges; changes with them */
    uint64_t next_ns; /* CLOCK_MONOTONIC: not to be read again before */
    uint64_t wait_ns; /* from the last reading to next_ns */
};

void preload_maps_finish(struct preload_maps *maps);

/* Read the ranges again. Ranges that the process does not map any more stay in the list
 * unless others are at their addresses now. As long as nothing changes, the time until
 * the next reading is due (next_ns) doubles. */
void preload_maps_read(struct preload_maps *maps, struct collector *collector,
                       uint32_t pid, uint32_t parent, uint64_t now_ns);

/* Return the image of an address, and its place there: an offset in the file, or the
 * address itself in anonymous memory. NULL: it is in no range. */
struct image *preload_maps_find(const struct preload_maps *maps, uint64_t address,
                                uint64_t *place);

#endif
