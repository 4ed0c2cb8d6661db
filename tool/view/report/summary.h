/* SPDX-License-Identifier: MIT */
/*
 * summary.h - says in a sentence what was measured and what was not. Only
 * tool/view/report includes it.
 */
#ifndef VIEW_REPORT_SUMMARY_H
#define VIEW_REPORT_SUMMARY_H

#include "profile/group.h"

/* Below this many hits a share is meaningless. */
enum { REPORT_FEW_HITS = 100 };

/* From this share of hits without a function on, the summary says how to get names. */
enum { REPORT_UNNAMED_PERCENT = 20 };

/* Return whether the recording wrote statistics; foreign profiles have none. */
bool report_has_statistics(const struct profile *profile,
                           const struct profile_source *source, uint64_t total);

/* Return whether only a region was profiled: outside hits are those elsewhere. */
bool report_is_region(const struct profile *profile);

/* Return whether no expected hit is missing, each is in a row, and nothing was left
 * out. */
bool report_is_complete(const struct profile *profile,
                        const struct profile_source *source);

/* Print the lines below a table: one for each source, and warnings. Returns false if
 * memory runs out. */
bool report_print_summary(FILE *out, const struct profile *profile,
                          const struct report_groups *groups);

#endif
