/* SPDX-License-Identifier: MIT */
/* input.h - reads the profile that a word of the command line names. */
#ifndef CMD_INPUT_H
#define CMD_INPUT_H

#include "profile/pprof.h"

/* Read a file, or the selection of a store if the word is a URL (store/store.h). The
 * error names it. Returns NULL with the error set on failure. */
struct profile *input_read(const char *word, struct pprof_error *error);

#endif
