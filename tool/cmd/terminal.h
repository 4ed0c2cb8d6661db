/* SPDX-License-Identifier: MIT */
/* terminal.h - what the place that a report goes to can show. */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include "report/report.h"

#include <stdio.h>

/* Sets color and width for out: colours on a terminal alone, not if NO_COLOR is set and
 * not empty, and not if TERM says that it shows none. What is no terminal is left as it
 * is. */
void terminal_fit(FILE *out, struct report_options *options);

#endif
