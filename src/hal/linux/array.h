/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/array.h - arrays that grow by doubling.
 *
 * Invariant: an array has room for as many items as it has, rounded up to a power of
 * two. So it is full when its count is 0 or a power of two; no capacity is kept.
 */
#ifndef HAL_LINUX_ARRAY_H
#define HAL_LINUX_ARRAY_H

#include <stdlib.h>

/*
 * perf_array_grow - make room for one more item.
 *
 *   items  in: of count items; NULL if count is 0
 *
 * Returns the array, which may have moved; NULL if memory runs out: then the array is
 * unchanged.
 */
static inline void *
perf_array_grow(void *items, size_t count, size_t item_bytes)
{
    if (count != 0 && (count & (count - 1)) != 0) {
        return items;
    }
    return realloc(items, (count == 0 ? 1 : 2 * count) * item_bytes);
}

#endif
