/* SPDX-License-Identifier: MIT */
/* terminal.h - fits a report to the terminal that it is printed on. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "view/listing/print.h"
#include "view/report/report.h"

#include <stdio.h>

/* Set color and width for out. Colours are used only on a terminal, unless NO_COLOR is
 * set and not empty or TERM names a terminal without colours. If out is not a terminal
 * nothing changes. */
void terminal_fit(FILE *out, struct report_options *options);

/* Do the same for a listing, and set utf8. */
void terminal_fit_listing(FILE *out, struct listing_print_options *options);

/* Return the exit status of a command that has printed on standard output, with errno 0
 * at the start. A reader of a pipe may close it at any time. */
int terminal_status(const char *command, bool done);

#endif
