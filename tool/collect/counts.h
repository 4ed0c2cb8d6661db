/* SPDX-License-Identifier: MIT */
/*
 * counts.h - hits in 64 bits: one entry a bucket, program and source.
 *
 * What grows is merged as it goes, so that memory follows the number of different
 * buckets and not the number of times that they were added to.
 */
#ifndef COLLECT_COUNTS_H
#define COLLECT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of code for a counter, as a power of two, at most: larger buckets would not
 * begin where mappings do. They are sums of several. */
enum { COUNTED_LOG2_MAX = 12 };

/* count - hits of one source in one bucket by processes of one name. */
struct count {
    uint64_t place;
    uint64_t hits;
    uint32_t program;
    uint32_t source;
};

/* All zero is an empty list. */
struct counts {
    struct count *items; /* sorted, each bucket once, up to merged */
    size_t count;
    size_t capacity;
    size_t merged;
};

void counts_finish(struct counts *counts);

/* Makes sure that counts_add finds room for one more. False: out of memory. */
bool counts_make_room(struct counts *counts);

/* Adds an entry, for which room was made. */
void counts_add(struct counts *counts, const struct count *added);

/* Sorts by place, program and source, each once. */
void counts_merge(struct counts *counts);

/* Moves all of from behind what is in to. False: out of memory, and nothing has
 * changed. */
bool counts_move(struct counts *from, struct counts *to);

/* The same one by one, merging now and then: for few that come again and again, whose
 * cost must not follow how many there are in to. False: out of memory; what was not
 * moved is still in from. */
bool counts_collect(struct counts *from, struct counts *to);

#endif
