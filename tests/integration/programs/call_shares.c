/* SPDX-License-Identifier: MIT */
/*
 * call_shares.c - four functions call a fifth, which does all the work: 10, 20, 30 and
 * 40 % of it for each. Until the process has used so many milliseconds of processor
 * time.
 *
 * usage: call_shares MILLISECONDS [memset]. Built without frame pointers.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { UNIT = 20000, FILLS = 20 };

static volatile uint64_t sink;
static char room[16384] __attribute__((aligned(4096)));

__attribute__((noinline, noclone)) static void
work(int units)
{
    uint64_t value = sink;

    for (int i = 0; i < units * UNIT; i++) {
        value = value * UINT64_C(6364136223846793005) + 1;
    }
    sink = value;
}

/* libc's memset does it instead: always the same bytes, so that each call takes as long
 * as the others. */
static bool by_memset;

__attribute__((noinline, noclone)) static size_t
filled_bytes(void)
{
    return by_memset ? sizeof(room) : 0;
}

/* Something after each call, so that it is no jump. */
#define SHARE(percent)                                                      \
    __attribute__((noinline, noclone)) static void share_##percent(void)    \
    {                                                                       \
        const size_t bytes = filled_bytes();                                \
                                                                            \
        for (int i = 0; bytes != 0 && i < (percent)*FILLS; i++) {           \
            memset(room, i, bytes);                                         \
            __asm__ volatile("" : : "r"(room) : "memory"); /* it is read */ \
        }                                                                   \
        if (bytes == 0) {                                                   \
            work((percent) / 10);                                           \
        }                                                                   \
        sink++;                                                             \
    }

SHARE(10)
SHARE(20)
SHARE(30)
SHARE(40)

int
main(int argc, char **argv)
{
    const clock_t limit =
        (clock_t)(argc > 1 ? atol(argv[1]) : 0) * CLOCKS_PER_SEC / 1000;

    by_memset = argc > 2 && strcmp(argv[2], "memset") == 0;
    while (clock() < limit) {
        share_10();
        share_20();
        share_30();
        share_40();
    }
    return 0;
}
