/* SPDX-License-Identifier: MIT */
/* terminal.h - fits a report to the terminal that it is printed on. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "view/report/report.h"

#include <stdio.h>

/* Set color and width for out. Colours are used only on a terminal, unless NO_COLOR is
 * set and not empty or TERM names a terminal without colours. If out is not a terminal
 * nothing changes. */
void terminal_fit(FILE *out, struct report_options *options);

#endif
