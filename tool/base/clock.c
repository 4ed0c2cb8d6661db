/* SPDX-License-Identifier: MIT */
/* clock.c - the system's clocks in nanoseconds. */
#include "base/clock.h"

uint64_t
clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * CLOCK_SECOND_NS + (uint64_t)now.tv_nsec;
}

uint64_t
clock_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

struct timespec
clock_timespec(uint64_t time_ns)
{
    return (struct timespec){.tv_sec = (time_t)(time_ns / CLOCK_SECOND_NS),
                             .tv_nsec = (long)(time_ns % CLOCK_SECOND_NS)};
}
