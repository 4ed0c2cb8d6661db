/* SPDX-License-Identifier: MIT */
/*
 * clock_caller.c - asks for the time all the time, which is answered in the vdso.
 *
 * usage: clock_caller [CALLS, 40000000]
 */
#include <stdlib.h>
#include <time.h>

int
main(int count, char **words)
{
    const long calls = count > 1 ? atol(words[1]) : 40000000;
    struct timespec now;

    for (long i = 0; i < calls; i++) {
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    }
    return 0;
}
