/* SPDX-License-Identifier: MIT */
/* clock.h - the system's clocks in nanoseconds. */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND_NS UINT64_C(1000000000)

/* clock_ns - what a clock says. */
uint64_t clock_ns(clockid_t clock);

/* clock_now_ns - what CLOCK_MONOTONIC says, by which all waiting is done. */
uint64_t clock_now_ns(void);

/* clock_timespec - the same time, or as long a time, as calls of the system take it. */
struct timespec clock_timespec(uint64_t time_ns);

#endif
