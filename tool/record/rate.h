/* SPDX-License-Identifier: MIT */
/*
 * rate.h - measures what a hit of source time costs the interrupted thread.
 *
 * Where the interval of hits is shorter than that, the machine runs only interrupts,
 * and the program makes no progress.
 */
#ifndef RECORD_RATE_H
#define RECORD_RATE_H

#include <stddef.h>
#include <stdint.h>

/*
 * rate_measure - measure the time that a hit takes, by hits of the calling thread. It
 * takes 10 ms on an idle machine, and a tenth of a second where hits are rare.
 *
 *   hal  as in ntprof_session_options.backend
 *
 * Returns nanoseconds, or 0 if there are no hits to measure: the recording itself then
 * reports why.
 */
uint64_t rate_measure(const char *hal);

/* Return what a hit costs: the median length of the longest gaps, of as many as there
 * were hits; 0 if there are none. Sorts gaps_ns, which has count entries. */
uint64_t rate_hit_ns(uint64_t *gaps_ns, size_t count, uint64_t hits);

#endif
