/* SPDX-License-Identifier: MIT */
/* difference_rows.h - the rows of a difference, for those who print it. */
#ifndef PROFILE_DIFFERENCE_ROWS_H
#define PROFILE_DIFFERENCE_ROWS_H

#include "profile/difference.h"
#include "profile/group.h"
#include "profile/pair.h"

struct diff_row {
    const struct report_group *group;
    uint64_t hits[PAIR_SIDES];
    uint64_t units[PAIR_SIDES];   /* of the granted interval: hits, unless of several */
    double variances[PAIR_SIDES]; /* of units */
    /* ns or events, or shares from 0 to 1; hits if the interval is unknown */
    double values[PAIR_SIDES];
    /* Of the stacks that the row is on, of which more may be not known: change and
     * error are of what is known, chance is that of the least change. NULL: of no
     * stacks. */
    const struct diff_row *total;
    double change; /* new value - old value */
    double error;  /* half the width of the 95% interval around change */
    /* probability of the change by chance, corrected for the number of rows */
    double chance;
    bool beyond_chance;
};

struct diff_source {
    const struct pair_source *of;
    double intervals[PAIR_SIDES]; /* value of one unit; 1 if unknown */
    bool known;                   /* intervals are in ns or events */
    /* Those beyond chance first, then those whose total is; each part sorted by
     * weight. */
    struct diff_row *rows;
    size_t row_count;
    size_t beyond_count;
    size_t total_beyond_count; /* rows whose total is, and they are not */
    /* those that rows point to, in the order of groups; NULL: there are no stacks */
    struct diff_row *totals;
    uint64_t unknown[PAIR_SIDES]; /* units of stacks that are not known whole */
    struct diff_row whole;        /* sum of all that pass the filters; has no group */
    /* sum of those of which nothing is beyond chance; has no group and no chance */
    struct diff_row rest;
};

struct diff {
    const struct diff_options *options;
    struct pair pair;
    struct report_groups groups;
    struct diff_source *sources;
    size_t source_count;
};

/* Return the number of rows of a source that were requested, and how many of them are
 * printed. */
size_t diff_rows_asked(const struct diff *diff, const struct diff_source *source);
size_t diff_rows_shown(const struct diff *diff, const struct diff_source *source);

/* Return the source's name, such as "time"; both sides have it. */
const char *diff_source_name(const struct diff_source *source);

/* Return the share of one side that is on stacks which are not known whole. */
double diff_unknown_share(const struct diff_source *source, unsigned side);

/* Return "changed", "new" or "gone"; by its total if it has no hits of its own. */
const char *diff_row_kind(const struct diff_row *row);

#endif
