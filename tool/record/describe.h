/* SPDX-License-Identifier: MIT */
/* describe.h - texts about a recording. Those that its profile contains are malloc'd,
 * and NULL if memory runs out. */
#ifndef RECORD_DESCRIBE_H
#define RECORD_DESCRIBE_H

#include "record/collect/collector.h"
#include "record/record_options.h"

#include <stdio.h>

/* Join the words of a command line with blanks. */
char *describe_command(char **words);

/* Return why no better back end is in use, what this one may not do, how the pace was
 * chosen and, if the options have --user or --region, what alone was profiled. */
char *describe_limits(const ntprof_session_info *info, const char *pace,
                      const struct record_options *options);

/* Return what was not profiled or may be attributed wrongly and, with interim, that the
 * recording had not ended. "" if there is nothing to say. */
char *describe_gaps(const struct collector_gaps *gaps, const struct profile *profile,
                    bool interim);

/*
 * Print a line that says how complete the stacks are. Returns false if writing fails or
 * memory runs out.
 *
 *   ends         hits by how their stacks end
 *   stack_bytes  that were copied at most
 *   asked_bytes  that were asked for: smaller copies are reported
 *   contexts     rows with callers or calls, of contexts_max
 */
bool describe_stacks(FILE *out, const uint64_t ends[STACK_ENDS], uint64_t stack_bytes,
                     uint64_t asked_bytes, uint64_t contexts, uint64_t contexts_max);

#endif
