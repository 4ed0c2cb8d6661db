/* SPDX-License-Identifier: MIT */
/*
 * rate.h - what rate of interrupts a machine bears: what "-F max" gives.
 *
 * Above it nothing but interrupts runs: where one takes longer than the interval that
 * the kernel allows, a program stands still.
 */
#ifndef CMD_RATE_H
#define CMD_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* rate - of source time. */
struct rate {
    uint64_t hit_ns;         /* what a hit costs the thread that it interrupts */
    uint64_t interval_100ns; /* the least in which hits take below a third */
};

/*
 * rate_measure - measure what a hit costs, by work of the calling thread with and
 * without interrupts. Takes a tenth of a second where nothing else runs.
 *
 *   hal   in: as in ntprof_session_options.backend
 *   rate  out
 *
 * Returns false if there are no hits to measure: the run itself then says why.
 */
bool rate_measure(const char *hal, struct rate *rate);

#endif
