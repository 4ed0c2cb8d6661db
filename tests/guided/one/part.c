/* SPDX-License-Identifier: MIT */
/* part.c - climb is static here and in the other part.c. */
#include "../work.h"

__attribute__((noinline)) static unsigned
climb(unsigned value)
{
    unsigned count = 0;

    while (value > 1 && count < 400) {
        value = (value & 1) != 0 ? 3 * value + 1 : value / 2;
        count++;
    }
    return count;
}

__attribute__((noinline)) unsigned
one_part(unsigned value)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 2; i++) {
        sum += climb(value + i);
    }
    return sum;
}
