/* SPDX-License-Identifier: MIT */
/*
 * difference.h - prints a difference as a table, JSON or CSV. Names are escaped as in
 * report.h.
 */
#ifndef VIEW_REPORT_DIFFERENCE_H
#define VIEW_REPORT_DIFFERENCE_H

#include "profile/difference_rows.h"
#include "view/report/report.h"

/* Print the difference; the keys of options are those of the difference. Returns false
 * if memory runs out or writing to out fails. */
bool diff_print(FILE *out, const struct diff *diff,
                const struct report_options *options);

/* The formats of diff_print. */
bool diff_print_table(FILE *out, const struct diff *diff,
                      const struct report_options *options);
bool diff_print_json(FILE *out, const struct diff *diff);
bool diff_print_csv(FILE *out, const struct diff *diff);

/* Print the lines below the table: what was compared, and what limits the comparison.
 * Returns false if memory runs out. */
bool diff_print_notes(FILE *out, const struct diff *diff);

#endif
