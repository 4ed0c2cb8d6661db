/* SPDX-License-Identifier: MIT */
/*
 * report.h - prints a profile as a table, JSON or CSV, and the summary line.
 *
 * Names come from outside: control characters and invalid UTF-8 are escaped in all
 * formats, so that no name can control a terminal.
 */
#ifndef VIEW_REPORT_REPORT_H
#define VIEW_REPORT_REPORT_H

#include "profile/profile.h"

#include <stdio.h>

enum report_key {
    REPORT_BY_FUNCTION,
    REPORT_BY_LINE,
    REPORT_BY_IMAGE,
    REPORT_BY_ADDRESS,
    REPORT_BY_BUCKET, /* like by address, but shown as a range */
    REPORT_BY_PROCESS,
    REPORT_BY_THREAD,
    REPORT_BY_CPU,
    REPORT_BY_SOURCE,
    REPORT_BY_UNIT,
    REPORT_KEY_COUNT
};

/* report_keys - rows that agree in all these keys are added up. All zero: by
 * function. */
struct report_keys {
    enum report_key list[REPORT_KEY_COUNT]; /* each once */
    size_t count;
};

enum report_format { REPORT_TABLE, REPORT_JSON, REPORT_CSV };

enum report_filter_kind {
    REPORT_FILTER_IMAGE,   /* its path, or the last part of it */
    REPORT_FILTER_PROCESS, /* name */
    REPORT_FILTER_SYMBOL,  /* a function, demangled or not */
    REPORT_FILTER_KINDS
};

/*
 * report_filter - lets rows pass whose name equals glob or matches it (*, ?, [...]), in
 * the form in which names are printed. A row passes if it passes one filter of each
 * kind that has filters.
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
    int width;           /* columns of the terminal; 0: do not cut */
    void (*ready)(void); /* called before the first byte is written; may be NULL */
    /* Prints more members of the JSON report, each with a comma after it, and returns
     * false if that fails; NULL: there are none. */
    bool (*print_members)(FILE *out, const void *context);
    const void *members_context;
};

/* Parse "function", "process,function" and so on. Returns false if a word is unknown or
 * repeated. */
bool report_keys_parse(const char *text, struct report_keys *keys);

bool report_has_key(const struct report_keys *keys, enum report_key key);

/*
 * Check that the profile has the data for each key and rows that pass the filters.
 * Returns false otherwise, with the reason in why, of at most size bytes.
 */
bool report_check(const struct profile *profile, const struct report_options *options,
                  char *why, size_t size);

/*
 * Print the report. The table ends with the summary line: the HAL and why no better
 * one, the requested and measured rate, the expected, taken, outside and lost hits,
 * "complete" only if nothing is missing, and a warning about too few hits. Returns
 * false if memory runs out or writing to out fails.
 */
bool report_print(FILE *out, const struct profile *profile,
                  const struct report_options *options);

/* Print only the lines below the table. Returns false as above. */
bool report_print_statistics(FILE *out, const struct profile *profile);

#endif
