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
    struct diff_row *rows; /* those beyond chance first, each part sorted by weight */
    size_t row_count;
    size_t beyond_count;
    struct diff_row whole; /* sum of all that pass the filters; has no group */
    /* sum of those not beyond chance; has no group and no chance */
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

/* Return "changed", "new" or "gone". */
const char *diff_row_kind(const struct diff_row *row);

#endif
