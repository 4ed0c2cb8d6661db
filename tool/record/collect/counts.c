/* SPDX-License-Identifier: MIT */
/* counts.c - 64-bit counts of hits. */
#include "record/collect/counts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Entries that a list has room for at first. */
enum { ITEMS_AT_FIRST = 256 };

#ifndef NDEBUG
static bool
assert_counts_state(const struct counts *counts)
{
    assert(counts->merged <= counts->count && counts->count <= counts->capacity);
    assert((counts->items == NULL) == (counts->capacity == 0));
    return true;
}
#endif

void
counts_finish(struct counts *counts)
{
    free(counts->items);
    *counts = (struct counts){0};
}

/* Compare two entries for qsort: by place, program, source and thread; 0 means that
 * they can be merged. */
static int
compare_counts(const void *left, const void *right)
{
    const struct count *const a = left;
    const struct count *const b = right;

    if (a->place != b->place) {
        return a->place < b->place ? -1 : 1;
    }
    if (a->program != b->program) {
        return a->program < b->program ? -1 : 1;
    }
    if (a->source != b->source) {
        return a->source < b->source ? -1 : 1;
    }
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

void
counts_merge(struct counts *counts)
{
    size_t kept = 0;

    assert(assert_counts_state(counts));
    if (counts->count == counts->merged) {
        return;
    }
    qsort(counts->items, counts->count, sizeof(*counts->items), compare_counts);
    for (size_t i = 1; i < counts->count; i++) {
        if (compare_counts(&counts->items[kept], &counts->items[i]) == 0) {
            counts->items[kept].hits += counts->items[i].hits;
        } else {
            counts->items[++kept] = counts->items[i];
        }
    }
    counts->count = kept + 1;
    counts->merged = counts->count;
}

/* Reallocate the list for capacity entries. Returns false if memory runs out. */
static bool
counts_grow(struct counts *counts, size_t capacity)
{
    struct count *const items =
        reallocarray(counts->items, capacity, sizeof(*counts->items));

    if (items == NULL) {
        return false;
    }
    counts->items = items;
    counts->capacity = capacity;
    return true;
}

bool
counts_make_room(struct counts *counts)
{
    /* Folds add the same buckets again and again, so merging may free enough. Not while
     * less than half of the entries are new: each call would sort the list. */
    if (counts->count == counts->capacity && counts->merged < counts->count / 2) {
        counts_merge(counts);
    }
    return counts->count < counts->capacity ||
           counts_grow(counts,
                       counts->capacity == 0 ? ITEMS_AT_FIRST : counts->capacity * 2);
}

bool
counts_make_room_within(struct counts *counts)
{
    if (counts->count == counts->capacity &&
        counts->merged < counts->count - counts->count / 4) {
        counts_merge(counts);
    }
    return counts->count < counts->capacity;
}

void
counts_add(struct counts *counts, const struct count *added)
{
    assert(assert_counts_state(counts) && counts->count < counts->capacity);
    counts->items[counts->count++] = *added;
}

bool
counts_move(struct counts *from, struct counts *to)
{
    assert(assert_counts_state(from) && assert_counts_state(to) && from != to);
    if (to->count == 0) {
        const struct counts empty = *to;

        *to = *from;
        *from = empty;
        return true;
    }
    if (from->count > to->capacity - to->count &&
        !counts_grow(to, to->count + from->count)) {
        return false;
    }
    if (from->count > 0) {
        memcpy(to->items + to->count, from->items, from->count * sizeof(*to->items));
    }
    to->count += from->count;
    from->count = 0;
    from->merged = 0;
    return true;
}

bool
counts_collect(struct counts *from, struct counts *to)
{
    while (from->count > 0 && counts_make_room(to)) {
        counts_add(to, &from->items[--from->count]);
    }
    /* Entries were removed from the end, so those that are left of the merged ones
     * still are the first. */
    if (from->merged > from->count) {
        from->merged = from->count;
    }
    assert(assert_counts_state(from) && assert_counts_state(to));
    return from->count == 0;
}
