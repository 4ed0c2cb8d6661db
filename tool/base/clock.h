/* SPDX-License-Identifier: MIT */
/* clock.h - the system's clocks in nanoseconds. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND_NS UINT64_C(1000000000)

/* clock_ns - return the time of a clock. */
uint64_t clock_ns(clockid_t clock);

/* clock_now_ns - return the time of CLOCK_MONOTONIC, which all waiting uses. */
uint64_t clock_now_ns(void);

/* clock_timespec - convert a time or a duration for system calls. */
struct timespec clock_timespec(uint64_t time_ns);

#endif
