/* SPDX-License-Identifier: MIT */
/* until_end.h - records what runs already: some processes, or the whole machine. */
#ifndef RECORD_UNTIL_END_H
#define RECORD_UNTIL_END_H

#include "record/recording.h"

/* record_until_end - record the processes of options, or the whole machine if it names
 * none, until a signal, the time or the end of those processes, and write the results.
 * words is the command line, which the profile keeps; print prints the table. All
 * processes are watched before counting begins: if one given by its number cannot be,
 * none is recorded. Returns false after an error line. */
bool record_until_end(const struct record_options *options, char **words,
                      recording_print *print);

#endif
