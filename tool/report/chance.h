/* SPDX-License-Identifier: MIT */
/*
 * chance.h - how likely chance alone makes a change of hits. For tool/report alone.
 *
 * Hits are drawn: a run that does the same once more does not give the same counts. Of
 * two counts each function gives the probability, both sides together, of counts as far
 * apart or farther if what they count did not change. 1 means no sign of a change.
 */
#ifndef REPORT_CHANCE_H
#define REPORT_CHANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With fewer hits on both sides together nothing is said: no split of them would mean
 * anything. */
enum { CHANCE_HITS_MIN = 6 };

/*
 * Two Poisson counts, given their sum (the conditional test of Przyborowski and
 * Wilenski): new_hits of the sum are binomial.
 *
 *   new_part  0 to 1, both excluded: what part of all hits were to be expected on the
 *             new side
 */
double chance_of_counts(uint64_t old_hits, uint64_t new_hits, double new_part);

/* Two shares, given both totals (Fisher's exact test). hits are at most total. */
double chance_of_shares(uint64_t old_hits, uint64_t old_total, uint64_t new_hits,
                        uint64_t new_total);

/*
 * Corrects for looking at many rows (Holm): after it, at most a part x of all reports
 * has even one row below x by chance. Each *probabilities[i] is raised, to at most 1.
 * They must be in order, smallest first.
 */
void chance_correct(double **probabilities, size_t count);

#endif
