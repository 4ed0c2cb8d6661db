/* SPDX-License-Identifier: MIT */
/*
 * filter.h - which rows of a profile a report is of. For tool/report alone.
 *
 * Names are matched once each, not once a row.
 */
#ifndef REPORT_FILTER_H
#define REPORT_FILTER_H

#include "report/report.h"

/* row_filter - all zero lets everything through. */
struct row_filter {
    bool *kinds[REPORT_FILTER_KINDS]; /* by index of the name: passes; NULL: all do */
};

/* False: out of memory; finish it in any case. */
bool row_filter_init(struct row_filter *filter, const struct profile *profile,
                     const struct report_options *options);
void row_filter_finish(struct row_filter *filter);

bool row_filter_passes(const struct row_filter *filter, const struct profile_row *row);

/* Does one filter let any name of the profile through? matched: out. False: out of
 * memory. */
bool filter_matches_any(const struct profile *profile,
                        const struct report_filter *filter, bool *matched);

/* "image", as in the option --image. */
const char *filter_kind_name(enum report_filter_kind kind);

#endif
