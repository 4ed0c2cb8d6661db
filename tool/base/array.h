/* SPDX-License-Identifier: MIT */
/*
 * array.h - arrays that grow. base/budget.h has the same within a budget.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stdlib.h>

/*
 * array_grow - make room for one more item.
 *
 *   items  in: count of them are in use; NULL if *room is 0
 *   room   in and out: items for which there is memory
 *
 * Returns the array, which may have moved; NULL if memory runs out: then the array is
 * unchanged.
 */
static inline void *
array_grow(void *items, size_t count, size_t *room, size_t item_bytes)
{
    const size_t wanted = *room == 0 ? 16 : *room * 2;
    void *larger;

    if (count < *room) {
        return items;
    }
    larger = reallocarray(items, wanted, item_bytes);
    if (larger != NULL) {
        *room = wanted;
    }
    return larger;
}

/* array_reserve - make room in *items as array_grow does, unless limit items are in
 * use: indexes from there on mean something else. Returns false, with the array
 * unchanged, if they are, or if memory runs out. */
static inline bool
array_reserve(void **items, size_t count, size_t *room, size_t item_bytes, size_t limit)
{
    void *const larger =
        count < limit ? array_grow(*items, count, room, item_bytes) : NULL;

    *items = larger != NULL ? larger : *items;
    return larger != NULL;
}

/* array_expect - make room for count items, so that the array does not move until it
 * has as many. Returns false, with the array unchanged, if memory runs out. */
static inline bool
array_expect(void **items, size_t count, size_t *room, size_t item_bytes)
{
    void *larger;

    if (count <= *room) {
        return true;
    }
    larger = reallocarray(*items, count, item_bytes);
    if (larger != NULL) {
        *items = larger;
        *room = count;
    }
    return larger != NULL;
}

#endif
