/* SPDX-License-Identifier: MIT */
/*
 * summary.h - what was measured and what was not, in a sentence. For tool/report alone.
 */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

#include "report/group.h"

/* Below this many hits a share says nothing. */
enum { REPORT_FEW_HITS = 100 };

/* From this share of hits without a function on, it is told what would give them names.
 */
enum { REPORT_UNNAMED_PERCENT = 20 };

/* Did the run write statistics? Foreign profiles have none. */
bool report_has_statistics(const struct profile *profile,
                           const struct profile_source *source, uint64_t total);

/* No hit that should have been is missing, each is in a row, and nothing was left out.
 */
bool report_is_complete(const struct profile *profile,
                        const struct profile_source *source);

/* The lines under a table: one per source, and warnings. False: out of memory. */
bool report_print_summary(FILE *out, const struct profile *profile,
                          const struct report_groups *groups);

#endif
