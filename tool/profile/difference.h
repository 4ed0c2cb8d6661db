/* SPDX-License-Identifier: MIT */
/*
 * difference.h - compares two profiles, and finds the changes that chance does not
 * explain.
 */
#ifndef PROFILE_DIFFERENCE_H
#define PROFILE_DIFFERENCE_H

#include "profile/grouping.h"
#include "profile/profile.h"

/* Fraction of all comparisons without any change that report a changed row: 5%. If rows
 * have totals, as many comparisons report a changed total. */
#define DIFF_LEVEL 0.05

struct diff_options {
    struct report_grouping by; /* keys except by source, filters */
    size_t rows;               /* of each source that are shown; 0: all */
    bool normalize;            /* compare shares instead of time and events */
    bool all;                  /* show also rows that chance explains */
};

struct diff;

/* Compare two profiles. Borrows the profiles and options. Returns NULL if memory runs
 * out. */
struct diff *diff_new(const struct profile *old_profile,
                      const struct profile *new_profile,
                      const struct diff_options *options);
void diff_delete(struct diff *diff); /* may be NULL */

/* Return the number of sources that both profiles have; 0 if there is nothing to
 * compare. */
size_t diff_source_count(const struct diff *diff);

/* Return the number of rows of all sources that have hits on either side and pass the
 * filters. */
size_t diff_row_count(const struct diff *diff);

/* Return whether a row's own hits grew, beyond chance, by more than percent of the old
 * total; if normalized, by more than percent points of its share. */
bool diff_grew(const struct diff *diff, double percent);

#endif
