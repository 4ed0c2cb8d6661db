/* SPDX-License-Identifier: MIT */
/*
 * symbolize.h - adds names and lines to a profile without them, from files of this
 * machine. A file is used only if its build-id is the one in the profile.
 */
#ifndef RECORD_COLLECT_SYMBOLIZE_H
#define RECORD_COLLECT_SYMBOLIZE_H

#include "profile/profile.h"
#include "symbols/client/names.h"

/* symbolize_statistics - numbers of rows and images. */
struct symbolize_statistics {
    uint64_t rows;  /* without a name or without a line */
    uint64_t named; /* have a name or a line now */
    /* whose file was not found or is of another build; each was reported */
    uint64_t images;
};

/* Add names to the rows that lack them; existing names stay. Files that cannot be used
 * are reported to settings->say. Returns false if memory runs out. */
bool symbolize(struct profile *profile, const struct sym_settings *settings,
               struct symbolize_statistics *statistics);

/* Call symbolize for a command with these options, and show progress. about is the
 * profile that lacks the names, for error lines. Returns false after an error line. */
bool symbolize_for_command(const char *command, const char *about,
                           const struct names_options *options, struct profile *profile,
                           struct symbolize_statistics *statistics);

#endif
