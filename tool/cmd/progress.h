/* SPDX-License-Identifier: MIT */
/*
 * progress.h - the line on a terminal that tells what a command is doing, once it has
 * worked for a second.
 *
 * A thread of its own draws it, by the clock: no loop has to look at the time, and
 * nothing is silent because it has no loop. Where standard error is no terminal there
 * is neither line nor thread.
 */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

/* What is done from here on, as in "reading FILE"; names must have gone through
 * text_show. For one thread. */
void progress_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As progress_tell("DOING PATH"); path is made harmless. */
void progress_tell_file(const char *doing, const char *path);

/* Before anything else is printed on the terminal: the line is gone until the next is
 * told. cmd_fail calls it. */
void progress_end(void);

/* As progress_end, unless standard output is a regular file: else it may be, or lead
 * to, the same terminal. */
void progress_make_way(void);

#endif
