/* SPDX-License-Identifier: MIT */
/* terminal.h - fits a report to the terminal that it is printed on. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "view/listing/print.h"
#include "view/report/report.h"

#include <stdio.h>

/* terminal_fit - set color and width for out. Colours are used only on a terminal,
 * unless NO_COLOR is set and not empty or TERM is dumb. If out is not a terminal
 * nothing changes. */
void terminal_fit(FILE *out, struct report_options *options);

/* terminal_fit_listing - set color and width of a listing as terminal_fit does, and
 * utf8 if the locale's encoding is UTF-8. */
void terminal_fit_listing(FILE *out, struct listing_print_options *options);

/* terminal_status - return the exit status of a command that has printed on standard
 * output: done, or an error line by errno, which was 0 before. EPIPE is no error: the
 * reader closed the pipe. */
int terminal_status(const char *command, bool done);

#endif
