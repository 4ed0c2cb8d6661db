/* SPDX-License-Identifier: MIT */
/* describe.h - the texts about a recording that its profile holds. All are malloc'd;
 * NULL: out of memory. */
#ifndef CMD_DESCRIBE_H
#define CMD_DESCRIBE_H

#include "collect/collector.h"

/* The words with blanks between. */
char *describe_command(char **words);

/* Why no better back end, and what this one may not do. */
char *describe_limits(const ntprof_session_info *info);

/* What was not profiled at all, or perhaps for another; interim: and that it still went
 * on. */
char *describe_gaps(const struct collector_gaps *gaps, const struct profile *profile,
                    bool interim);

#endif
