/* SPDX-License-Identifier: MIT */
/*
 * counts.h - 64-bit counts of hits: one entry for each bucket, program and source.
 *
 * Entries are merged while the list grows, so its memory depends on the number of
 * different buckets and not on how often each was added.
 */
#ifndef COLLECT_COUNTS_H
#define COLLECT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Largest number of bytes of code for one counter, as a power of two: mappings start at
 * multiples of it. Larger buckets are sums of several counters. */
enum { COUNTED_LOG2_MAX = 12 };

/* count - hits of one source in one bucket by processes of one name. */
struct count {
    uint64_t place; /* start of the bucket in its image: enum image_kind */
    uint64_t hits;
    uint32_t program; /* number of the program's name */
    uint32_t source;  /* index of the source */
};

/* counts - a list of entries; all zero is an empty one. Several entries may be of one
 * bucket, program and source until they are merged. */
struct counts {
    struct count *items;
    size_t count;
    size_t capacity;
    size_t
        merged; /* so many entries at the start are sorted and differ from each other */
};

/* Free the entries; the list is empty then. */
void counts_finish(struct counts *counts);

/* Make room for one more entry. Returns false if memory runs out. */
bool counts_make_room(struct counts *counts);

/* Add an entry. The caller has made room for it. */
void counts_add(struct counts *counts, const struct count *added);

/* Sort by place, program and source, and add up entries that agree in all three. */
void counts_merge(struct counts *counts);

/* Append all entries of from to to, and empty from. Returns false if memory runs out;
 * nothing has changed then. */
bool counts_move(struct counts *from, struct counts *to);

/* Move all entries of from to to, one by one, and merge when to is full. This suits few
 * entries that are added often: the cost does not depend on the size of to. Returns
 * false if memory runs out; from keeps what was not moved. */
bool counts_collect(struct counts *from, struct counts *to);

#endif
