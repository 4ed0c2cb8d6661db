/* SPDX-License-Identifier: MIT */
/*
 * formats.h - the three forms of a report. For tool/report alone.
 *
 * Each prints; failure of out is asked for by the caller. False: out of memory.
 */
#ifndef REPORT_FORMATS_H
#define REPORT_FORMATS_H

#include "report/group.h"

bool report_print_table(FILE *out, const struct report_groups *groups,
                        const struct report_options *options);
bool report_print_json(FILE *out, const struct report_groups *groups,
                       const struct report_options *options);
bool report_print_csv(FILE *out, const struct report_groups *groups,
                      const struct report_options *options);

/* Rows to show of count. */
size_t report_rows_shown(const struct report_options *options, size_t count);

const char *report_key_name(enum report_key key);

#endif
