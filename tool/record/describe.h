/* SPDX-License-Identifier: MIT */
/* describe.h - texts about a recording, which its profile contains. All are malloc'd,
 * and NULL if memory runs out. */
#ifndef RECORD_DESCRIBE_H
#define RECORD_DESCRIBE_H

#include "record/collect/collector.h"

/* Join the words with blanks. */
char *describe_command(char **words);

/* Say why no better back end is in use, what this one may not do, how the pace was
 * chosen, and which region only was profiled, unless it is NULL. */
char *describe_limits(const ntprof_session_info *info, const char *pace,
                      const char *region);

/* Say what was not profiled or may be attributed wrongly and, with interim, that the
 * recording had not ended. */
char *describe_gaps(const struct collector_gaps *gaps, const struct profile *profile,
                    bool interim);

#endif
