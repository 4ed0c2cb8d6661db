/* SPDX-License-Identifier: MIT */
/*
 * report.h - a profile as a table, JSON or CSV, and the summary line.
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
    REPORT_BY_LINE,
    REPORT_BY_IMAGE,
    REPORT_BY_ADDRESS,
    REPORT_BY_BUCKET, /* as by address, but shown as a range */
    REPORT_BY_PROCESS,
    REPORT_BY_THREAD,
    REPORT_BY_CPU,
    REPORT_BY_SOURCE,
    REPORT_KEY_COUNT
};

/* report_keys - what a row is: all of these. All zero: by function. */
struct report_keys {
    enum report_key list[REPORT_KEY_COUNT]; /* each once */
    size_t count;
};

enum report_format { REPORT_TABLE, REPORT_JSON, REPORT_CSV };

enum report_filter_kind {
    REPORT_FILTER_IMAGE,   /* path, or its last part */
    REPORT_FILTER_PROCESS, /* name */
    REPORT_FILTER_SYMBOL,  /* function, demangled or not */
    REPORT_FILTER_KINDS
};

/*
 * report_filter - lets rows through whose name is glob, or matches it (*, ?, [...]), as
 * names are printed. A row passes if for each kind that there is, one filter lets it.
 */
struct report_filter {
    enum report_filter_kind kind;
    const char *glob;
};

struct report_options {
    struct report_keys keys;
    const struct report_filter *filters;
    size_t filter_count;
    enum report_format format;
    size_t rows;         /* 0: all */
    bool color;          /* table only */
    int width;           /* columns of the terminal, 0: do not cut */
    void (*ready)(void); /* called before the first byte is written; NULL: nothing */
};

/* "function" or "process,function" and so on to keys. False if a word is none, or there
 * twice. */
bool report_keys_parse(const char *text, struct report_keys *keys);

bool report_has_key(const struct report_keys *keys, enum report_key key);

/*
 * Can the profile be shown so? False if it does not tell what a key asks for, or a
 * filter lets nothing through; why is then said in at most size bytes.
 */
bool report_check(const struct profile *profile, const struct report_options *options,
                  char *why, size_t size);

/*
 * Prints the report. The table ends with the summary line: HAL used and why no
 * better one, rate asked and measured, hits expected, taken, outside, lost; "complete"
 * only when it is; a warning when there were too few hits. False if memory ran out or
 * out failed.
 */
bool report_print(FILE *out, const struct profile *profile,
                  const struct report_options *options);

/* The lines under the table alone. False as above. */
bool report_print_statistics(FILE *out, const struct profile *profile);

#endif
