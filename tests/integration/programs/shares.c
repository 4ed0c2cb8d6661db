/* SPDX-License-Identifier: MIT */
/*
 * shares.c - THREADS threads, one if not defined, that do three units of work in one
 * function for each unit in another, until the process has used so many milliseconds of
 * processor time.
 *
 * usage: shares MILLISECONDS. Built again with PREFIX wrong_, it is a namesake with
 * other names.
 */
#include <pthread.h>
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

#ifndef THREADS
#define THREADS 1
#endif

enum { UNIT = 20000 };

static long long limit;
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

static void *
work(void *argument)
{
    while (clock() < limit) {
        THREE_UNITS();
        ONE_UNIT();
    }
    return argument;
}

int
main(int argc, char **argv)
{
    pthread_t others[THREADS];

    limit = (argc > 1 ? atoll(argv[1]) : 100) * (CLOCKS_PER_SEC / 1000);
    for (int i = 1; i < THREADS; i++) {
        if (pthread_create(&others[i], NULL, work, NULL) != 0) {
            return 1;
        }
    }
    work(NULL);
    for (int i = 1; i < THREADS; i++) {
        pthread_join(others[i], NULL);
    }
    return 0;
}
