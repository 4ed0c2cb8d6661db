/* SPDX-License-Identifier: MIT */
/*
 * agent_hit.c - what the preload object does in a hit, beyond the signal: find the
 * segment of an address and add one. Prints nanoseconds for a hit.
 *
 *   hot    one address of this program
 *   spread 65536 addresses of no known code, one after the other
 */
#include "preload/preload.h"

#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

enum { HITS = 4000000, ADDRESSES = 65536, STEP = 64 };

static double
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double
measure(struct preload_shared *shared, uintptr_t first, unsigned addresses)
{
    const double begin = now_ns();

    for (unsigned i = 0; i < HITS; i++) {
        const uintptr_t pc = first + (uintptr_t)(i % addresses) * STEP;

        record_hit(shared, images_key(shared, pc, 1));
    }
    return (now_ns() - begin) / HITS;
}

int
main(void)
{
    struct preload_shared *const shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
             -1, 0);

    if (shared == MAP_FAILED) {
        perror("agent_hit: mmap");
        return 1;
    }
    images_open(shared, 1, "agent_hit\0\0\0\0\0\0");
    printf("hot=%.1f", measure(shared, (uintptr_t)measure, 1));
    printf(" spread=%.1f lost=%u\n", measure(shared, 4096, ADDRESSES), shared->lost);
    return 0;
}
