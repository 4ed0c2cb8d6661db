/* SPDX-License-Identifier: MIT */
/*
 * call_shares.c - four functions call a fifth, which does all the work: 10, 20, 30 and
 * 40 % of it for each. Until the process has used so many milliseconds of processor
 * time.
 *
 * usage: call_shares MILLISECONDS. Built without frame pointers.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { UNIT = 20000 };

static volatile uint64_t sink;

__attribute__((noinline, noclone)) static void
work(int units)
{
    uint64_t value = sink;

    for (int i = 0; i < units * UNIT; i++) {
        value = value * UINT64_C(6364136223846793005) + 1;
    }
    sink = value;
}

/* Something after each call, so that it is no jump. */
__attribute__((noinline, noclone)) static void
share_10(void)
{
    work(1);
    sink++;
}

__attribute__((noinline, noclone)) static void
share_20(void)
{
    work(2);
    sink++;
}

__attribute__((noinline, noclone)) static void
share_30(void)
{
    work(3);
    sink++;
}

__attribute__((noinline, noclone)) static void
share_40(void)
{
    work(4);
    sink++;
}

int
main(int argc, char **argv)
{
    const clock_t limit =
        (clock_t)(argc > 1 ? atol(argv[1]) : 0) * CLOCKS_PER_SEC / 1000;

    while (clock() < limit) {
        share_10();
        share_20();
        share_30();
        share_40();
    }
    return 0;
}
