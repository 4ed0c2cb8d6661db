/* SPDX-License-Identifier: MIT */
/*
 * symbolize.h - adds names and lines to a profile that was made without them, from
 * files of this machine. A file counts only if its build-id is the one in the profile.
 */
#ifndef COLLECT_SYMBOLIZE_H
#define COLLECT_SYMBOLIZE_H

#include "profile/profile.h"
#include "sym/sym.h"

/* symbolize_statistics - rows, and what became of them. */
struct symbolize_statistics {
    uint64_t rows;   /* that had no name, or no line */
    uint64_t named;  /* have a name now, or more of one */
    uint64_t images; /* not found, or of another build; each was said */
};

/* Names that are there stay. What is not found is told to settings->say. False: out of
 * memory. */
bool symbolize(struct profile *profile, const struct sym_settings *settings,
               struct symbolize_statistics *statistics);

#endif
