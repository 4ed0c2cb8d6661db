/* SPDX-License-Identifier: MIT */
/*
 * rate.h - measures what a hit of source time costs the interrupted thread.
 *
 * Where hits follow each other faster than that, the machine runs only interrupts, and
 * the program makes no progress.
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

/* Return the median length of as many of the longest gaps as there were hits; 0: none.
 * Sorts gaps_ns, which has count entries. */
uint64_t rate_hit_ns(uint64_t *gaps_ns, size_t count, uint64_t hits);

#endif
