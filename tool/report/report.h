/* SPDX-License-Identifier: MIT */
/*
 * report.h - a profile as a table, JSON or CSV, and the line of honesty.
 *
 * Hostile names are made harmless here: control characters and invalid UTF-8 are
 * escaped in all of them, so that no name can drive a terminal.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "profile/profile.h"

#include <stdio.h>

enum report_key {
    REPORT_BY_FUNCTION,
    REPORT_BY_IMAGE,
    REPORT_BY_ADDRESS,
    REPORT_BY_PROCESS,
    REPORT_BY_SOURCE,
    REPORT_BY_LINE
};

enum report_format { REPORT_TABLE, REPORT_JSON, REPORT_CSV };

struct report_options {
    enum report_key key;
    enum report_format format;
    size_t rows; /* 0: all */
    bool color;  /* table only */
    int width;   /* columns of the terminal, 0: do not cut */
};

/* "function" ... to key. False if text is none. */
bool report_key_parse(const char *text, enum report_key *key);

/*
 * Prints the report. The table ends with the line of honesty: HAL used and why no
 * better one, rate asked and measured, hits expected, taken, outside, lost; "complete"
 * only when it is; a warning when there were too few hits. False if memory ran out or
 * out failed.
 */
bool report_print(FILE *out, const struct profile *profile,
                  const struct report_options *options);

/* The lines under the table alone. False as above. */
bool report_print_books(FILE *out, const struct profile *profile);

#endif
