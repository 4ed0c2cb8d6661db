/* SPDX-License-Identifier: MIT */
/*
 * formats.h - the three formats of a report. Only files beside it include it.
 *
 * Each function prints to out and returns false if memory runs out. The caller checks
 * whether writing to out failed.
 */
#ifndef VIEW_REPORT_FORMATS_H
#define VIEW_REPORT_FORMATS_H

#include "profile/group.h"
#include "view/report/report.h"

bool report_print_table(FILE *out, const struct report_groups *groups,
                        const struct report_options *options);
bool report_print_json(FILE *out, const struct report_groups *groups,
                       const struct report_options *options);
bool report_print_csv(FILE *out, const struct report_groups *groups,
                      const struct report_options *options);

/* Put what rows are callers or callees of, and what is skipped, if that was asked. */
void report_put_relation(struct buffer *json, const struct report_relation *relation);

/* Return the number of rows to show of count. */
size_t report_rows_shown(const struct report_options *options, size_t count);

#endif
