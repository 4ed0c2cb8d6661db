/* SPDX-License-Identifier: MIT */
/*
 * nest.c - work at the end of many different stacks.
 *
 * usage: nest DEPTH ROUNDS   each round works DEPTH calls deep; each call is to one of
 *                            two functions, by a bit of a random number
 *
 * Prints its own wall and processor time. With a depth of 1 it has two callers, with 64
 * and an hour of hits as many as there are hits.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DEPTH_MAX = 64, LEAF_STEPS = 20000, FRAME_WORDS = 12 };

/* random_next - the next value of a generator that must not start at 0 (xorshift). */
static uint64_t
random_next(uint64_t value)
{
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
    return value;
}

static __attribute__((noinline)) uint64_t
work(uint64_t value)
{
    for (int i = 0; i < LEAF_STEPS; i++) {
        value = random_next(value);
    }
    return value;
}

static uint64_t call(uint64_t path, uint64_t depth);

/* Both keep something on their stack after the call, so that neither call is a jump. */
static __attribute__((noinline)) uint64_t
left(uint64_t path, uint64_t depth)
{
    volatile uint64_t frame[FRAME_WORDS] = {path, depth};

    return call(path >> 1, depth - 1) + frame[0];
}

static __attribute__((noinline)) uint64_t
right(uint64_t path, uint64_t depth)
{
    volatile uint64_t frame[FRAME_WORDS] = {depth, path};

    return call(path >> 1, depth - 1) ^ frame[1];
}

static __attribute__((noinline)) uint64_t
call(uint64_t path, uint64_t depth)
{
    if (depth == 0) {
        return work(path | 1);
    }
    return path & 1 ? left(path, depth) : right(path, depth);
}

static uint64_t
time_ns(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int
main(int argc, char **argv)
{
    const uint64_t begun_ns = time_ns(CLOCK_MONOTONIC);
    const unsigned long depth = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    const unsigned long rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    uint64_t path = 1;
    uint64_t result = 0;

    if (depth == 0 || depth > DEPTH_MAX || rounds == 0) {
        (void)fprintf(stderr, "usage: nest DEPTH ROUNDS\n");
        return 2;
    }
    for (unsigned long i = 0; i < rounds; i++) {
        path = random_next(path);
        result += call(path, depth);
    }
    printf("work wall_ns=%" PRIu64 " cpu_ns=%" PRIu64 " result=%016" PRIx64 "\n",
           time_ns(CLOCK_MONOTONIC) - begun_ns, time_ns(CLOCK_PROCESS_CPUTIME_ID),
           result);
    return 0;
}
