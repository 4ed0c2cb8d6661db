/* SPDX-License-Identifier: MIT */
/*
 * grid.h - a table for the terminal: columns that are as wide as their cells, and are
 * cut where fit.h says so. Only files beside it include it.
 *
 * Columns of numbers come first. The text of each cell is made twice: first to find the
 * widths, then to print.
 */
#ifndef VIEW_REPORT_GRID_H
#define VIEW_REPORT_GRID_H

#include "base/buffer.h"
#include "profile/estimate.h"
#include "profile/group.h"
#include "view/report/report.h"

#define GRID_RED "\033[31m"
#define GRID_GREEN "\033[32m"

/* The columns that can name a row. From CELL_NUMBERS on, each table has its own columns
 * of numbers. */
enum {
    CELL_FUNCTION,
    CELL_INLINE,
    CELL_IMAGE, /* its name */
    CELL_PATH,
    CELL_ADDRESS,
    CELL_BUCKET,
    CELL_LINE,
    CELL_PROCESS,
    CELL_PID,
    CELL_THREAD,
    CELL_UNIT,
    CELL_CPU,
    CELL_SOURCE,
    CELL_NUMBERS
};

/* Rows that are none of the report: titles, and the sums of numbers. */
#define GRID_TITLES (SIZE_MAX - 1)
#define GRID_TOTALS SIZE_MAX

struct grid_column {
    unsigned cell;
    size_t source; /* of numbers: for the table's use, as ratio is */
    struct report_ratio ratio;
    size_t width;
    bool *whole; /* of functions: by row, whether its name is not cut */
};

struct grid {
    FILE *out;
    const struct report_options *options;
    const struct report_groups *groups;
    /* Appends a cell to text: of a number for all rows, of a name not for titles and
     * totals. */
    void (*put)(struct grid *grid, const struct grid_column *column, size_t row);
    const void *table; /* for the use of put */
    size_t rows;
    struct grid_column *columns;
    size_t count;
    struct buffer text; /* the current cell */
};

/* Make room for so many columns of numbers, and those of names. Returns false if memory
 * runs out. */
bool grid_reserve(struct grid *grid, size_t numbers);

struct grid_column *grid_add(struct grid *grid, unsigned cell, size_t source);

/* Add a column of names unless it is there. */
void grid_add_name(struct grid *grid, unsigned cell);

/* Return the cells of a key, the most important first, up to CELL_NUMBERS. */
const unsigned *grid_cells_of(enum report_key key);

/* Return whether a column has numbers. */
bool grid_is_number(const struct grid_column *column);

/* Append what names a group. */
void grid_put_name(struct grid *grid, const struct report_group *group, unsigned cell);

/* Set the widths, once all columns are there. Returns false if memory runs out. */
bool grid_settle(struct grid *grid);

/* Print a line of titles. Returns false if memory runs out. */
bool grid_print_titles(struct grid *grid);

/* Print the cells of a row, the first in this color; "": in none. Totals have numbers
 * only. The caller ends the line. Returns false if memory runs out. */
bool grid_print_row(struct grid *grid, size_t row, const char *color);

void grid_finish(struct grid *grid);

#endif
