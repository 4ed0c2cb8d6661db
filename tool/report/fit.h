/* SPDX-License-Identifier: MIT */
/*
 * fit.h - columns of a table: how wide they are, and how their cells are printed. On a
 * terminal names give way, so that a row is one line; elsewhere nothing is cut. For
 * tool/report alone.
 */
#ifndef REPORT_FIT_H
#define REPORT_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { FIT_GAP = 2, FIT_COLUMNS_MAX = 16 };

enum fit_kind {
    FIT_NUMBER,   /* set to the right; never cut */
    FIT_ADDRESS,  /* never cut */
    FIT_FUNCTION, /* cut at its end, and later than others */
    FIT_NAME,     /* cut at its end */
    FIT_PATH      /* cut at its beginning: what tells most is at the end */
};

/* fit - the names of a table, and what the other columns take. All zero to begin with.
 */
struct fit {
    size_t fixed;                    /* columns of the screen */
    size_t *widths[FIT_COLUMNS_MAX]; /* of names */
    enum fit_kind kinds[FIT_COLUMNS_MAX];
    size_t count;
};

/* Tells of a column, as wide as its widest cell. There are FIT_COLUMNS_MAX names at
 * most. */
void fit_add(struct fit *fit, enum fit_kind kind, size_t *width);

/* Sets the widths of names for a terminal of so many columns; 0: there is none. */
void fit_settle(struct fit *fit, int terminal);

/* One cell with its padding and gap; the last of a line has none behind it. */
void fit_print(FILE *out, enum fit_kind kind, size_t width, int terminal,
               const char *text, bool last);

#endif
