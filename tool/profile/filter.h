/* SPDX-License-Identifier: MIT */
/*
 * filter.h - filters the rows of a profile. Only tool/view/report includes it.
 *
 * Each name is matched once, not once per row.
 */
#ifndef PROFILE_FILTER_H
#define PROFILE_FILTER_H

#include "view/report/report.h"

/* row_filter - all zero lets every row pass. */
struct row_filter {
    /* by index of the name: whether it passes; NULL: all pass */
    bool *kinds[REPORT_FILTER_KINDS];
};

/* Match all names. Returns false if memory runs out; finish must be called in any
 * case. */
bool row_filter_init(struct row_filter *filter, const struct profile *profile,
                     const struct report_options *options);
void row_filter_finish(struct row_filter *filter);

bool row_filter_passes(const struct row_filter *filter, const struct profile_row *row);

/* Set *matched if one filter lets any name of the profile pass. Returns false if memory
 * runs out. */
bool filter_matches_any(const struct profile *profile,
                        const struct report_filter *filter, bool *matched);

/* Return "image" for the option --image, and so on. */
const char *filter_kind_name(enum report_filter_kind kind);

#endif
