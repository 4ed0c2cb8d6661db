/* SPDX-License-Identifier: MIT */
/*
 * recording_sources.h - the session of a recording and its sources. All functions print
 * their own errors. Order of calls: find_functions and find_region, open_session,
 * find_source.
 */
#ifndef RECORD_RECORDING_SOURCES_H
#define RECORD_RECORDING_SOURCES_H

#include "record/recording.h"

/* Find the uprobe and breakpoint of each source that is a function. Returns false after
 * an error line. */
bool recording_find_functions(struct recording *recording);

/* Find the region of --region, if it is given. Returns false after an error line. */
bool recording_find_region(struct recording *recording);

/* Open the session with the intervals of the options, and use it. */
bool recording_open_session(struct recording *recording);

/* Have the command load a preload object instead of a session. better: why there is
 * none, and what would allow it; empty if the user wants none. Prints why it cannot. */
bool recording_open_preload(struct recording *recording, const char *better);

/* Find the session's source of options->sources[at]. */
bool recording_find_source(struct recording *recording, size_t at);

#endif
