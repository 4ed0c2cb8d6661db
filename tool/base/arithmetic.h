/* SPDX-License-Identifier: MIT */
/* arithmetic.h - sums that stop at the largest number, and the order of numbers. */
#ifndef BASE_ARITHMETIC_H
#define BASE_ARITHMETIC_H

#include <stddef.h>
#include <stdint.h>

/* Add to a sum, which becomes UINT64_MAX if it would be larger. */
static inline void
add_clamped(uint64_t *sum, uint64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum)) {
        *sum = UINT64_MAX;
    }
}

/* Do the same with each of count sums. */
static inline void
add_all_clamped(uint64_t *sums, const uint64_t *more, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add_clamped(&sums[i], more[i]);
    }
}

/* Return a number below, at or above 0, as comparison functions of qsort do. */
static inline int
compare_numbers(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

#endif
