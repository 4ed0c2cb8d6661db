/* SPDX-License-Identifier: MIT */
/* until_end.h - records what runs already: some processes, or the whole machine. */
#ifndef RECORD_UNTIL_END_H
#define RECORD_UNTIL_END_H

#include "record/recording.h"

/*
 * Record the processes of options, or all if it names none, until a signal, the time or
 * the end of those processes, and write the results.
 *
 *   words  the command line, which the profile keeps
 *   print  prints the table
 *
 * All of them are watched before anything is waited for: if one cannot be, none is
 * recorded. Returns false after an error line.
 */
bool record_until_end(const struct record_options *options, char **words,
                      recording_print *print);

#endif
