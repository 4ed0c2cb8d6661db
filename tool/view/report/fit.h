/* SPDX-License-Identifier: MIT */
/*
 * fit.h - columns of a table: their widths, and printing of cells. On a terminal names
 * are cut, so that each row fits on a line; elsewhere nothing is cut. Only
 * tool/view/report includes it.
 */
#ifndef VIEW_REPORT_FIT_H
#define VIEW_REPORT_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { FIT_GAP = 2, FIT_COLUMNS_MAX = 16 };

enum fit_kind {
    FIT_NUMBER,   /* right-aligned; never cut */
    FIT_ADDRESS,  /* never cut */
    FIT_FUNCTION, /* cut at its end, but only after the others */
    FIT_NAME,     /* cut at its end */
    FIT_PATH      /* cut at its start, since its end identifies it */
};

/* fit - the columns of names in a table, and the space of the others. Initially all
 * zero. */
struct fit {
    size_t fixed;                    /* screen columns that other cells use */
    size_t *widths[FIT_COLUMNS_MAX]; /* of the columns of names */
    enum fit_kind kinds[FIT_COLUMNS_MAX];
    size_t count;
};

/* Add a column with the width of its widest cell. At most FIT_COLUMNS_MAX are names. */
void fit_add(struct fit *fit, enum fit_kind kind, size_t *width);

/* Set the widths of names for a terminal with this many columns; 0: no terminal. */
void fit_settle(struct fit *fit, int terminal);

/* Print one cell with its padding and gap; the last of a line has neither. */
void fit_print(FILE *out, enum fit_kind kind, size_t width, int terminal,
               const char *text, bool last);

#endif
