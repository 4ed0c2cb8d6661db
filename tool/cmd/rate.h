/* SPDX-License-Identifier: MIT */
/*
 * rate.h - measures the highest rate of interrupts for "-F max".
 *
 * Above it the machine runs only interrupts: if one takes longer than the interval that
 * the kernel allows, the program makes no progress.
 */
#ifndef CMD_RATE_H
#define CMD_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* rate - limits of source time. */
struct rate {
    uint64_t hit_ns; /* time that a hit takes from the interrupted thread */
    /* shortest interval at which hits take less than a third of the time */
    uint64_t interval_100ns;
};

/*
 * rate_measure - measure the cost of a hit by work of the calling thread with and
 * without interrupts. Takes a tenth of a second on an idle machine.
 *
 *   hal   in: as in ntprof_session_options.backend
 *   rate  out
 *
 * Returns false if there are no hits to measure; the recording itself then reports why.
 */
bool rate_measure(const char *hal, struct rate *rate);

#endif
