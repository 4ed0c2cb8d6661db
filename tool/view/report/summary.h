/* SPDX-License-Identifier: MIT */
/* summary.h - says in a sentence what was measured and what was not. */
#ifndef VIEW_REPORT_SUMMARY_H
#define VIEW_REPORT_SUMMARY_H

#include "profile/group.h"
#include "view/report/report.h"

/* Below this many hits a share is meaningless. */
enum { REPORT_FEW_HITS = 100 };

/* From this share of hits without a function on, the summary says how to get names. */
enum { REPORT_UNNAMED_PERCENT = 20 };

/* It then says so of this many images at most, each with so many of the hits. */
enum { REPORT_ADVICES_MAX = 4, REPORT_ADVICE_PERCENT = 3 };

/* Return whether the recording wrote statistics; foreign profiles have none. */
bool report_has_statistics(const struct profile *profile,
                           const struct profile_source *source, uint64_t total);

/* Return whether no expected hit is missing, each is in a row, and nothing was left
 * out. */
bool report_is_complete(const struct profile *profile,
                        const struct profile_source *source);

/* Print the lines below a table: one for each source, with rates and all sums if
 * verbose, and warnings; advise as in report_options. Returns false if memory runs out.
 */
bool report_print_summary(FILE *out, const struct profile *profile,
                          const struct report_groups *groups, report_advise *advise,
                          bool verbose);

#endif
