/* SPDX-License-Identifier: MIT */
/* clock_caller.c - asks for the time all the time, which is answered in the vdso. */
#include <time.h>

int
main(void)
{
    struct timespec now;

    for (int i = 0; i < 40000000; i++) {
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    }
    return 0;
}
