/* SPDX-License-Identifier: MIT */
/*
 * progress.h - a line on a terminal that shows what a command is doing, once it has
 * worked for a second.
 *
 * A separate thread draws it, so that no loop has to check the time and long calls are
 * covered too. If standard error is not a terminal, or TERM is dumb, there is neither
 * line nor thread.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>

/* Whether TERM says that the terminal knows no escape sequences: it can neither clear a
 * line nor show colours. */
bool progress_terminal_is_dumb(void);

/* Report the current activity, such as "reading FILE". Names must have been escaped
 * with text_show. Only one thread may call it. */
void progress_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Report "DOING PATH", with PATH escaped. */
void progress_report_file(const char *doing, const char *path);

/* Remove the line until the next report. Call it before printing anything else on the
 * terminal; cmd_fail does. */
void progress_end(void);

/* Do the same unless standard output is a regular file: otherwise it may be the same
 * terminal, or a pipe to it. */
void progress_end_for_output(void);

#endif
