/* SPDX-License-Identifier: MIT */
/*
 * places.c - small functions that call each other, until it has used so many
 * milliseconds of processor time. What runs when depends on pseudo-random numbers, so
 * no timer stays in step.
 *
 * usage: places MILLISECONDS. tests/integration/command_places.py builds it with each
 * compiler.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { COUNT = 64, ROUNDS = 50 };

static uint32_t state = 1;
static volatile uint32_t sink;

static inline uint32_t
mix(uint32_t value)
{
    value ^= value << 13;
    value ^= value >> 17;
    value ^= value << 5;
    return value;
}

__attribute__((noinline)) static int
compare(const uint32_t *one, const uint32_t *other)
{
    return *one < *other ? -1 : *one > *other;
}

__attribute__((noinline)) static uint32_t
draw(void)
{
    state = mix(state);
    return state;
}

__attribute__((noinline)) static uint32_t
triple(uint32_t value)
{
    return value * 3 + sink;
}

__attribute__((noinline)) static uint32_t
divide(uint32_t value, uint32_t by)
{
    return value / (by | 1);
}

__attribute__((noinline)) static void
fill(uint32_t *array)
{
    for (int i = 0; i < COUNT; i++) {
        array[i] = draw();
    }
}

__attribute__((noinline)) static void
sort(uint32_t *array)
{
    for (int i = 1; i < COUNT; i++) {
        for (int k = i; k > 0 && compare(&array[k - 1], &array[k]) > 0; k--) {
            const uint32_t kept = array[k];

            array[k] = array[k - 1];
            array[k - 1] = kept;
        }
    }
}

__attribute__((noinline)) static void
work(void)
{
    uint32_t array[COUNT];

    for (int round = 0; round < ROUNDS; round++) {
        fill(array);
        sort(array);
        for (int i = 0; i < COUNT; i++) {
            sink = divide(triple(array[i]), draw());
        }
    }
}

int
main(int argc, char **argv)
{
    const long long limit = (argc > 1 ? atoll(argv[1]) : 100) * (CLOCKS_PER_SEC / 1000);

    while (clock() < limit) {
        work();
    }
    return 0;
}
