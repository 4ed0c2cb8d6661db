/* SPDX-License-Identifier: MIT */
/*
 * names.h - settings with which commands look up names: downloads if requested,
 * messages about missing names and, after a second, progress on a terminal.
 */
#ifndef SYMBOLS_CLIENT_NAMES_H
#define SYMBOLS_CLIENT_NAMES_H

#include "base/options.h"
#include "symbols/client/image.h"

#include <limits.h>

/* names_options - as given on the command line. */
struct names_options {
    bool no_lines;    /* --no-lines */
    bool no_cache;    /* --no-cache */
    bool download;    /* --debuginfod */
    const char *urls; /* value of --debuginfod; NULL: the servers of DEBUGINFOD_URLS */
};

/* Store --debuginfod[=URL] in names_options. */
options_take_one names_take_debuginfod;

struct names {
    const char *command; /* for messages */
    bool quiet;          /* print only errors */
    struct sym_settings settings;
    struct sym_download *download;
    char cache[PATH_MAX]; /* section_cache.h */
    bool showing;         /* between names_begin and names_end: show progress */
    unsigned warnings;    /* that were printed */
};

/* Prepare settings from the options and the environment; DEBUGINFOD_URLS also requests
 * downloads. names must not move. Returns false after an error line; names_close must
 * be called in any case. */
bool names_open(struct names *names, const char *command,
                const struct names_options *options, bool quiet);
void names_close(struct names *names);

/* Between these two calls progress is shown, if they are more than a second apart. */
void names_begin(struct names *names);
void names_end(struct names *names);

#endif
