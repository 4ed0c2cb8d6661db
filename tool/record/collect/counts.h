/* SPDX-License-Identifier: MIT */
/*
 * counts.h - 64-bit counts of hits: one entry for each bucket, program and source.
 *
 * Entries are merged while the list grows, so its memory depends on the number of
 * different buckets and not on how often each was added.
 */
#ifndef RECORD_COLLECT_COUNTS_H
#define RECORD_COLLECT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A 32-bit counter covers at most 2^COUNTED_LOG2_MAX bytes (4096): mappings start at
 * multiples of that, so that a counter never covers code of two mappings. If the user
 * asks for larger buckets, naming adds up several counters for each. */
enum { COUNTED_LOG2_MAX = 12 };

/* count - hits of one source in one bucket by processes of one name and, if threads are
 * distinguished, by one thread. */
struct count {
    uint64_t place; /* start of the bucket in its image: enum image_kind */
    uint64_t hits;
    uint32_t program; /* as in struct image_segment */
    uint32_t source;  /* index of the source in collector_options.sources */
    uint32_t thread;  /* number of thread_set; 0: unknown */
};

/* counts - a list of entries; all zero is an empty one. Several entries may be of one
 * bucket, program, source and thread until they are merged. */
struct counts {
    struct count *items;
    size_t count;
    size_t capacity;
    size_t merged; /* number of entries at the start that are sorted and merged */
};

/* Free the entries; the list is empty then. */
void counts_finish(struct counts *counts);

/* Make room for one more entry. Returns false if memory runs out. */
bool counts_make_room(struct counts *counts);

/* Make room for one more entry by merging only, without more memory. Returns false if
 * the list is full and merging is not worth its time, as less than a quarter of the
 * entries are new since the last merge, or frees nothing. */
bool counts_make_room_within(struct counts *counts);

/* Add an entry. The caller has made room for it. */
void counts_add(struct counts *counts, const struct count *added);

/* Sort by place, program, source and thread, and add up entries that agree in all. */
void counts_merge(struct counts *counts);

/* Append all entries of list from to list to, and empty from. Returns false if memory
 * runs out; nothing has changed then. */
bool counts_move(struct counts *from, struct counts *to);

/* Move all entries of list from to list to, one by one, and merge to when it is full.
 * Use it where few entries are moved often: the cost of a call depends on the entries
 * of from and, except when to is full, not on those of to. Returns false if memory runs
 * out; the entries that were not moved stay in from. */
bool counts_collect(struct counts *from, struct counts *to);

#endif
