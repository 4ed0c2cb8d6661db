/* SPDX-License-Identifier: MIT */
/* log.h - the log that NTPROF_LOG asks for. */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include <stdbool.h>

/*
 * log_begin - read NTPROF_LOG, and log what the command and the library do; nothing if
 * it is not set, or empty, or if ntprof has more rights than who started it.
 *
 * Returns false after a line that says why, if NTPROF_LOG is wrong or its file cannot
 * be opened.
 */
bool log_begin(void);

#endif
