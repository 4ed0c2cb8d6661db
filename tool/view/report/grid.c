/* SPDX-License-Identifier: MIT */
/* grid.c - makes and prints the cells of a table. */
#include "view/report/grid.h"
#include "view/report/fit.h"

#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define BOLD "\033[1m"
#define RESET "\033[0m"

/* A longer title of a source shifts the next column. */
enum { TITLE_PAD_MAX = 40 };

static const struct {
    const char *title;
    enum fit_kind kind;
} names[CELL_NUMBERS] = {
    [CELL_FUNCTION] = {"function", FIT_FUNCTION},
    [CELL_INLINE] = {"innermost function", FIT_FUNCTION},
    [CELL_IMAGE] = {"image", FIT_NAME},
    [CELL_PATH] = {"image", FIT_PATH},
    [CELL_ADDRESS] = {"address", FIT_ADDRESS},
    [CELL_BUCKET] = {"bucket", FIT_ADDRESS},
    [CELL_LINE] = {"line", FIT_PATH},
    [CELL_PROCESS] = {"process", FIT_NAME},
    [CELL_PID] = {"process", FIT_NAME},
    [CELL_THREAD] = {"thread", FIT_NAME},
    [CELL_UNIT] = {"unit", FIT_NAME},
    [CELL_CPU] = {"cpu", FIT_ADDRESS},
    [CELL_SOURCE] = {"source", FIT_NAME},
};

/* --- columns --- */

bool
grid_reserve(struct grid *grid, size_t numbers)
{
    grid->columns = calloc(numbers + CELL_NUMBERS, sizeof(*grid->columns));
    return grid->columns != NULL;
}

struct grid_column *
grid_add(struct grid *grid, unsigned cell, size_t source)
{
    struct grid_column *column = &grid->columns[grid->count++];

    *column = (struct grid_column){.cell = cell, .source = source};
    return column;
}

void
grid_add_name(struct grid *grid, unsigned cell)
{
    assert(cell < CELL_NUMBERS);
    for (size_t i = 0; i < grid->count; i++) {
        if (grid->columns[i].cell == cell) {
            return;
        }
    }
    grid_add(grid, cell, 0);
}

const unsigned *
grid_cells_of(enum report_key key)
{
    static const unsigned cells[][5] = {
        [REPORT_BY_FUNCTION] = {CELL_FUNCTION, CELL_IMAGE, CELL_NUMBERS},
        [REPORT_BY_INLINE] = {CELL_INLINE, CELL_IMAGE, CELL_NUMBERS},
        [REPORT_BY_LINE] = {CELL_LINE, CELL_FUNCTION, CELL_IMAGE, CELL_NUMBERS},
        [REPORT_BY_IMAGE] = {CELL_PATH, CELL_NUMBERS},
        [REPORT_BY_ADDRESS] = {CELL_ADDRESS, CELL_FUNCTION, CELL_LINE, CELL_IMAGE,
                               CELL_NUMBERS},
        [REPORT_BY_BUCKET] = {CELL_BUCKET, CELL_FUNCTION, CELL_LINE, CELL_IMAGE,
                              CELL_NUMBERS},
        [REPORT_BY_PROCESS] = {CELL_PROCESS, CELL_NUMBERS},
        [REPORT_BY_THREAD] = {CELL_THREAD, CELL_NUMBERS},
        [REPORT_BY_CPU] = {CELL_CPU, CELL_NUMBERS},
        [REPORT_BY_SOURCE] = {CELL_SOURCE, CELL_NUMBERS},
        [REPORT_BY_UNIT] = {CELL_UNIT, CELL_NUMBERS},
        [REPORT_BY_PID] = {CELL_PID, CELL_NUMBERS},
    };

    return cells[key];
}

bool
grid_is_number(const struct grid_column *column)
{
    return column->cell >= CELL_NUMBERS;
}

/* --- cells --- */

static void
put_line(struct buffer *out, const struct report_group *group)
{
    if (group->file == NULL || group->file[0] == '\0') {
        return;
    }
    text_escape(out, group->file);
    if (group->line > 0) {
        buffer_print(out, ":%" PRIu32, group->line);
    }
}

static void
put_known(struct buffer *out, const char *name)
{
    text_escape(out, name != NULL && name[0] != '\0' ? name : "[unknown]");
}

/* Append the range of a bucket. Its end is the first byte after it, which foreign files
 * do not have. */
static void
put_address(struct grid *grid, const struct report_group *group, bool bucket)
{
    const uint64_t end = bucket ? report_group_bucket_end(grid->groups, group) : 0;

    if (!group->has_address) {
        return; /* of hits in no row */
    }
    buffer_print(&grid->text, "0x%" PRIx64, group->address);
    if (end != 0) {
        buffer_print(&grid->text, "-0x%" PRIx64, end);
    }
}

void
grid_put_name(struct grid *grid, const struct report_group *group, unsigned cell)
{
    struct buffer *text = &grid->text;

    switch (cell) {
    case CELL_FUNCTION:
        report_group_name(group, DISPLAY_SHORT, text);
        break;
    case CELL_INLINE:
        report_group_inner_name(grid->groups, group, DISPLAY_SHORT, text);
        break;
    case CELL_IMAGE:
        display_image(group->image, text);
        break;
    case CELL_PATH:
        put_known(text, group->image != NULL ? group->image->path : NULL);
        break;
    case CELL_ADDRESS:
    case CELL_BUCKET:
        put_address(grid, group, cell == CELL_BUCKET);
        break;
    case CELL_LINE:
        put_line(text, group);
        break;
    case CELL_PROCESS:
    case CELL_PID:
        put_known(text, group->process);
        if (cell == CELL_PID && group->pid != 0) {
            buffer_print(text, " (%" PRIu32 ")", group->pid);
        }
        break;
    case CELL_THREAD:
        put_known(text, group->thread);
        break;
    case CELL_UNIT:
        put_known(text, group->unit);
        break;
    case CELL_CPU:
        if (group->cpu_plus_1 != 0) {
            buffer_print(text, "%" PRIu32, group->cpu_plus_1 - 1);
        } else {
            put_known(text, /* name */ NULL);
        }
        break;
    default:
        text_escape(text, group->source->name);
        break;
    }
}

/* Make the text of a cell in grid->text. Returns NULL if memory runs out. */
static const char *
make_cell(struct grid *grid, const struct grid_column *column, size_t row)
{
    grid->text.size = 0;
    if (grid_is_number(column) || row < grid->rows) {
        grid->put(grid, column, row);
    } else if (row == GRID_TITLES) {
        buffer_append_text(&grid->text, names[column->cell].title);
    }
    return buffer_text(&grid->text);
}

/* --- widths --- */

/* Widen a column for a cell. Titles do it only up to a limit. */
static bool
widen(struct grid *grid, struct grid_column *column, size_t row)
{
    const char *const text = make_cell(grid, column, row);
    const size_t columns = text != NULL ? text_columns(text) : 0;

    if (columns > column->width) {
        column->width = columns;
    }
    if (row == GRID_TITLES && column->width > TITLE_PAD_MAX) {
        column->width = TITLE_PAD_MAX;
    }
    return text != NULL;
}

static bool
measure(struct grid *grid, struct grid_column *column)
{
    bool done = widen(grid, column, GRID_TITLES) && widen(grid, column, GRID_TOTALS);

    for (size_t row = 0; done && row < grid->rows; row++) {
        done = widen(grid, column, row);
    }
    return done;
}

static enum fit_kind
kind_of(const struct grid_column *column)
{
    return grid_is_number(column) ? FIT_NUMBER : names[column->cell].kind;
}

/* cell_texts - the cells of a column. */
struct cell_texts {
    struct grid *grid;
    const struct grid_column *column;
};

static const char *
text_of_row(void *context, size_t row)
{
    const struct cell_texts *const texts = context;

    return make_cell(texts->grid, texts->column, row);
}

/* Find the names that would read like another one if they were cut. */
static bool
find_uncut(struct grid *grid, struct grid_column *column)
{
    struct cell_texts texts = {grid, column};

    if (kind_of(column) != FIT_FUNCTION) {
        return true;
    }
    column->whole = fit_find_alike(text_of_row, &texts, grid->rows, column->width,
                                   grid->options->width);
    return column->whole != NULL;
}

bool
grid_settle(struct grid *grid)
{
    struct fit fit = {0};
    bool done = true;

    for (size_t i = 0; done && i < grid->count; i++) {
        done = measure(grid, &grid->columns[i]);
        fit_add(&fit, kind_of(&grid->columns[i]), &grid->columns[i].width);
    }
    fit_settle(&fit, grid->options->width);
    for (size_t i = 0; done && i < grid->count; i++) {
        done = find_uncut(grid, &grid->columns[i]);
    }
    return done;
}

/* --- printing --- */

static void
print_cell(const struct grid *grid, const struct grid_column *column, size_t row,
           const char *text)
{
    const bool whole =
        row < grid->rows &&
        (grid->options->full_names || (column->whole != NULL && column->whole[row]));

    fit_print(grid->out, fit_kind_whole(kind_of(column), whole), column->width,
              grid->options->width, text, column == &grid->columns[grid->count - 1]);
}

bool
grid_print_row(struct grid *grid, size_t row, const char *color)
{
    for (size_t i = 0; i < grid->count; i++) {
        const struct grid_column *const column = &grid->columns[i];
        const bool colored = i == 0 && color[0] != '\0';
        const char *text;

        if (row == GRID_TOTALS && !grid_is_number(column)) {
            break;
        }
        text = make_cell(grid, column, row);
        if (text == NULL) {
            return false;
        }
        fputs(colored ? color : "", grid->out);
        print_cell(grid, column, row, text);
        fputs(colored ? RESET : "", grid->out);
    }
    return true;
}

bool
grid_print_titles(struct grid *grid)
{
    const bool color = grid->options->color;

    fputs(color ? BOLD : "", grid->out);
    if (!grid_print_row(grid, GRID_TITLES, "")) {
        return false;
    }
    fputs(color ? RESET "\n" : "\n", grid->out);
    return true;
}

void
grid_finish(struct grid *grid)
{
    for (size_t i = 0; i < grid->count; i++) {
        free(grid->columns[i].whole);
    }
    free(grid->columns);
    buffer_finish(&grid->text);
}
