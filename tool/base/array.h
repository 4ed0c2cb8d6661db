/* SPDX-License-Identifier: MIT */
/*
 * array.h - arrays that grow. base/budget.h has the same within a budget.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

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

#endif
