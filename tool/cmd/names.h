/* SPDX-License-Identifier: MIT */
/*
 * names.h - how commands look for names: settings, downloads when asked for, and on
 * standard error what is missing and, on a terminal after a second, how far it is.
 */
#ifndef CMD_NAMES_H
#define CMD_NAMES_H

#include "sym/sym.h"

/* names_options - as given on the command line. */
struct names_options {
    bool no_lines;    /* --no-lines */
    bool download;    /* --debuginfod */
    const char *urls; /* its value; NULL: those of DEBUGINFOD_URLS */
};

struct names {
    const char *command; /* for messages */
    bool quiet;          /* say nothing but errors */
    struct sym_settings settings;
    struct sym_download *download;
    bool telling; /* between names_begin and names_end: of progress, too */
};

/* DEBUGINFOD_URLS alone asks for downloads too. False after an error line. names must
 * not move; names_close is due in any case. */
bool names_open(struct names *names, const char *command,
                const struct names_options *options, bool quiet);
void names_close(struct names *names);

/* Between the two progress is shown, if it takes more than a second. */
void names_begin(struct names *names);
void names_end(struct names *names);

#endif
