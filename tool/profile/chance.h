/* SPDX-License-Identifier: MIT */
/*
 * chance.h - how likely a change of hits is by chance.
 *
 * Hits are a sample: running the same program again gives other counts. For two counts,
 * each function returns the two-sided probability of counts that differ at least as
 * much although nothing changed. 1 means no sign of a change.
 */
#ifndef PROFILE_CHANCE_H
#define PROFILE_CHANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With fewer hits on both sides together the result is 1: no split of them is
 * significant. */
enum { CHANCE_HITS_MIN = 6 };

/*
 * Compare two Poisson counts, given their sum (the conditional test of Przyborowski and
 * Wilenski): new_hits are a binomial part of the sum.
 *
 *   new_part  0 to 1, both excluded: the fraction of all hits expected on the new side
 */
double chance_of_counts(uint64_t old_hits, uint64_t new_hits, double new_part);

/* Compare two shares, given both totals (Fisher's exact test). hits are at most
 * total. */
double chance_of_shares(uint64_t old_hits, uint64_t old_total, uint64_t new_hits,
                        uint64_t new_total);

/*
 * Correct for testing many rows (Holm): afterwards at most a fraction x of all reports
 * without changes has a row below x. Raises each *probabilities[i], to at most 1. They
 * must be sorted, smallest first.
 */
void chance_correct(double **probabilities, size_t count);

#endif
