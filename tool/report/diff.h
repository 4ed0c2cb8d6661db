/* SPDX-License-Identifier: MIT */
/*
 * diff.h - what changed between two profiles, and what of it chance does not explain.
 *
 * Hostile names are made harmless here as in report.h.
 */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include "report/report.h"

/* Of all differences without any change so large a part shows a row as changed: 5%. */
#define DIFF_LEVEL 0.05

struct diff_options {
    struct report_options report; /* keys but by source, filters, format, rows, ... */
    bool normalize;               /* compare shares, not time and events */
    bool all;                     /* show rows that chance explains, too */
};

struct diff;

/* Borrows the profiles and options. NULL: out of memory. */
struct diff *diff_new(const struct profile *old_profile,
                      const struct profile *new_profile,
                      const struct diff_options *options);
void diff_delete(struct diff *diff); /* NULL is allowed */

/* Sources that both profiles have: 0 if there is nothing to compare. */
size_t diff_source_count(const struct diff *diff);

/* Rows with hits on either side, of all sources, that the filters let through. */
size_t diff_row_count(const struct diff *diff);

/* False if memory ran out or out failed. */
bool diff_print(FILE *out, const struct diff *diff);

/* Did a row grow, beyond chance, by more than percent of all that was in the old
 * profile? Points of shares if normalized. */
bool diff_grew(const struct diff *diff, double percent);

#endif
