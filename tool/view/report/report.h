/* SPDX-License-Identifier: MIT */
/*
 * report.h - prints a profile as a table, JSON or CSV, and the summary line.
 *
 * Names come from outside: control characters and invalid UTF-8 are escaped in all
 * formats, so that no name can control a terminal.
 */
#ifndef VIEW_REPORT_REPORT_H
#define VIEW_REPORT_REPORT_H

#include "base/buffer.h"
#include "profile/grouping.h"
#include "profile/profile.h"

#include <stdio.h>

enum report_format { REPORT_TABLE, REPORT_JSON, REPORT_CSV };

/* report_advice - an image without names, and how to get them. */
struct report_advice {
    const struct profile_image *image; /* in: a file that was stripped */
    char text[512];                    /* out: a clause in the imperative, or "" */
    char server[64]; /* out: a debuginfod server that has them, or "" */
};

typedef void report_advise(struct report_advice *list, size_t count);

struct report_options {
    struct report_grouping by;
    enum report_format format;
    size_t rows;           /* 0: all */
    bool color;            /* table only */
    bool verbose;          /* table only: rates and all sums below it */
    bool ends_printed;     /* table only: how stacks end is printed elsewhere */
    bool full_names;       /* table only: with return types and parameters */
    int width;             /* columns of the terminal; 0: do not cut */
    void (*ready)(void);   /* called before the first byte is written; may be NULL */
    report_advise *advise; /* table only: asked at most once; NULL: nobody knows */
    /* Prints more members of the JSON report, each with a comma after it, and returns
     * false if that fails; NULL: there are none. */
    bool (*print_members)(FILE *out, const void *context);
    const void *members_context;
};

/*
 * Check that the profile has the data for each key, rows that pass the filters and,
 * with a relation, stacks with its function.
 * Returns false otherwise, with the reason in why, of at most size bytes.
 */
bool report_check(const struct profile *profile, const struct report_options *options,
                  char *why, size_t size);

/* Check that a profile has the stacks that an option needs. Returns false likewise. */
bool report_check_stacks(const struct profile *profile, const char *option, char *why,
                         size_t size);

/*
 * Print the report. Below the table a line says how many hits there are and what is
 * missing, "complete" only if nothing is; others say why no better back end was used,
 * and warn, as of too few hits. With verbose the line has the HAL, the requested and
 * measured rate, and the expected, taken, outside and lost hits. Returns
 * false if memory runs out or writing to out fails.
 */
bool report_print(FILE *out, const struct profile *profile,
                  const struct report_options *options);

/* Append, for each source with several intervals, a line on what its numbers are in a
 * format that has no place for both hits and what they stand for. */
void report_put_units(struct buffer *lines, const char *command,
                      const struct profile *profile);

/* Print only the lines below the table; advise as in report_options. Returns false as
 * above. */
bool report_print_statistics(FILE *out, const struct profile *profile,
                             report_advise *advise, bool verbose);

#endif
