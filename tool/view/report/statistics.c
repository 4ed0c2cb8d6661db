/* SPDX-License-Identifier: MIT */
/* statistics.c - the lines below a report's table, for callers that have shown the rows
 * themselves. */
#include "view/report/summary.h"

bool
report_print_statistics(FILE *out, const struct profile *profile, report_advise *advise,
                        bool verbose)
{
    const struct report_grouping by_source = {.keys = {{REPORT_BY_SOURCE}, 1}};
    struct report_groups groups;
    const bool done = report_group_rows(profile, &by_source, &groups) &&
                      report_print_summary(out, profile, &groups, advise, verbose);

    report_groups_finish(&groups);
    return done && !ferror(out);
}
