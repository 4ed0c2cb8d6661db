/* SPDX-License-Identifier: MIT */
/*
 * fit.h - columns of a table: their widths, and printing of cells. On a terminal names
 * are cut, so that each row fits on a line; elsewhere only long names of functions are.
 * Only files beside it include it.
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
    FIT_FUNCTION, /* shortened everywhere, but only after the others */
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

/* Add a column with the width of its widest cell. At most FIT_COLUMNS_MAX are names: it
 * is fit_settle that sets *width of these to what fits. */
void fit_add(struct fit *fit, enum fit_kind kind, size_t *width);

/* Returns the text of a row in a column, valid until the next call, or NULL if memory
 * runs out. */
typedef const char *fit_text(void *context, size_t row);

/*
 * Find the rows whose texts in a column of functions would read like another one when
 * they are cut, and so must not be. Returns an array by row, for the caller to free, or
 * NULL if memory runs out.
 *
 *   width  as set by fit_settle
 */
bool *fit_find_alike(fit_text *text, void *context, size_t rows, size_t width,
                     int terminal);

/* Set the widths of names for a terminal with this many columns; 0: no terminal. */
void fit_settle(struct fit *fit, int terminal);

/* Return the kind of a cell that must not be cut if whole. */
enum fit_kind fit_kind_whole(enum fit_kind kind, bool whole);

/* Print one cell with its padding and gap; the last of a line has neither. */
void fit_print(FILE *out, enum fit_kind kind, size_t width, int terminal,
               const char *text, bool last);

#endif
