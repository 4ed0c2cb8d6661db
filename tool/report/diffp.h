/* SPDX-License-Identifier: MIT */
/* diffp.h - the rows of a difference. For diff*.c alone. */
#ifndef REPORT_DIFFP_H
#define REPORT_DIFFP_H

#include "report/diff.h"
#include "report/group.h"
#include "report/pair.h"

struct diff_row {
    const struct report_group *group;
    uint64_t hits[PAIR_SIDES];
    /* ns or events, or shares of 0 to 1; hits if not known */
    double values[PAIR_SIDES];
    double change; /* new value - old value */
    double error;  /* half the width of a 95% interval about it */
    double chance; /* corrected for all rows */
    bool beyond_chance;
};

struct diff_source {
    const struct pair_source *of;
    double intervals[PAIR_SIDES]; /* what a hit is in values; 1 if not known */
    bool known;                   /* they are ns or events */
    struct diff_row *rows;        /* those beyond chance first, each kind by weight */
    size_t row_count;
    size_t beyond_count;
    struct diff_row whole; /* all that the filters let through; no group */
    struct diff_row rest;  /* those not beyond chance; no group, no chance */
};

struct diff {
    const struct diff_options *options;
    struct pair pair;
    struct report_groups groups;
    struct diff_source *sources;
    size_t source_count;
};

/* Rows of a source that are asked for, and of them as many as are to be printed. */
size_t diff_rows_asked(const struct diff *diff, const struct diff_source *source);
size_t diff_rows_shown(const struct diff *diff, const struct diff_source *source);

/* "time", as both sides call it. */
const char *diff_source_name(const struct diff_source *source);

/* "changed", "new" or "gone". */
const char *diff_row_kind(const struct diff_row *row);

bool diff_print_table(FILE *out, const struct diff *diff);
bool diff_print_json(FILE *out, const struct diff *diff);
bool diff_print_csv(FILE *out, const struct diff *diff);

/* The lines under the table: what was compared, and what stands in the way. False: out
 * of memory. */
bool diff_print_notes(FILE *out, const struct diff *diff);

#endif
