/* SPDX-License-Identifier: MIT */
/* summary.h - says in a sentence what was measured and what was not. */
#ifndef VIEW_REPORT_SUMMARY_H
#define VIEW_REPORT_SUMMARY_H

#include "profile/group.h"
#include "view/report/report.h"

/* Below this many hits a share is meaningless. */
enum { REPORT_FEW_HITS = 100 };

/* If at least this share of the hits has no function, the summary advises how to get
 * names. */
enum { REPORT_UNNAMED_PERCENT = 20 };

/* At most so many images are named in the advice, each with at least this share of the
 * hits. */
enum { REPORT_ADVICES_MAX = 4, REPORT_ADVICE_PERCENT = 3 };

/* Return whether the recording wrote statistics; foreign profiles have none. total: the
 * hits of the source. */
bool report_has_statistics(const struct profile *profile,
                           const struct profile_source *source, uint64_t total);

/* Return whether no expected hit is missing, and each is in a row, but for user mode
 * where the user left that out. */
bool report_is_complete(const struct profile *profile,
                        const struct profile_source *source);

/*
 * Print the lines below a table: one for each source, and warnings.
 *
 *   advise   as in struct report_options
 *   verbose  give rates and all sums of each source, and the back end, instead of the
 *            hits taken and what is wrong only
 *
 * Returns false if memory runs out.
 */
bool report_print_summary(FILE *out, const struct profile *profile,
                          const struct report_groups *groups, report_advise *advise,
                          bool verbose);

#endif
