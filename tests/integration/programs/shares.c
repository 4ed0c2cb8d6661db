/* SPDX-License-Identifier: MIT */
/*
 * shares.c - a single thread that does three units of work in one function for each
 * unit in another, until it has used so many milliseconds of processor time.
 *
 * usage: shares MILLISECONDS. Built again with PREFIX wrong_, it is a namesake with
 * other names.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#ifndef PREFIX
#define PREFIX right_
#endif
#define JOIN(prefix, name) prefix##name
#define NAME(prefix, name) JOIN(prefix, name)
#define THREE_UNITS NAME(PREFIX, three_units)
#define ONE_UNIT NAME(PREFIX, one_unit)

enum { UNIT = 20000 };

static volatile uint64_t sink;

__attribute__((noinline)) static void
THREE_UNITS(void)
{
    uint64_t value = sink;

    for (int i = 0; i < 3 * UNIT; i++) {
        value = value * UINT64_C(6364136223846793005) + 1;
    }
    sink = value;
}

__attribute__((noinline)) static void
ONE_UNIT(void)
{
    uint64_t value = sink;

    for (int i = 0; i < UNIT; i++) {
        value = value * UINT64_C(6364136223846793005) + 1;
    }
    sink = value;
}

int
main(int argc, char **argv)
{
    const long long limit = (argc > 1 ? atoll(argv[1]) : 100) * (CLOCKS_PER_SEC / 1000);

    while (clock() < limit) {
        THREE_UNITS();
        ONE_UNIT();
    }
    return 0;
}
