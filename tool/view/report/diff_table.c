/* SPDX-License-Identifier: MIT */
/* diff_table.c - a difference as a table for the terminal. */
#include "profile/estimate.h"
#include "view/report/difference.h"
#include "view/report/grid.h"
#include "view/report/summary.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>

enum { CHANGE = CELL_NUMBERS, ERROR, RELATIVE, OLD, NEW, TOTAL, LAST_NUMBER = TOTAL };

struct table {
    const struct diff *diff;
    const struct diff_source *source;
    struct grid grid;
};

static const char *
title(unsigned cell)
{
    static const char *const titles[] = {"change", "+-", "by", "old", "new", "total"};

    return titles[cell - CELL_NUMBERS];
}

/* --- cells --- */

static void
put_value(const struct table *table, struct buffer *out, double value)
{
    const struct diff_source *source = table->source;

    if (table->diff->options->normalize) {
        buffer_print(out, "%.2f%%", value * 100);
    } else if (!source->known) {
        buffer_print(out, "%.0f", value);
    } else if (report_is_time(source->of->sides[PAIR_OLD])) {
        report_put_time(out, value);
    } else {
        report_put_events(out, value);
    }
}

/* Put a change. A difference of percentages is in points, not percent. */
static void
put_difference(const struct table *table, struct buffer *out, double value)
{
    if (table->diff->options->normalize) {
        buffer_print(out, "%.2fpp", value * 100);
    } else {
        put_value(table, out, value);
    }
}

static void
put_change(const struct table *table, struct buffer *out, double change)
{
    if (change > 0 || change < 0) {
        buffer_append_byte(out, change > 0 ? '+' : '-');
    }
    put_difference(table, out, fabs(change));
}

/* Put the change of a total; in parentheses if it may be none. */
static void
put_total(const struct table *table, struct buffer *out, const struct diff_row *total)
{
    if (total == NULL) {
        return;
    }
    buffer_append_text(out, total->beyond_chance ? "" : "(");
    put_change(table, out, total->change);
    buffer_append_text(out, total->beyond_chance ? "" : ")");
}

/* Put by what part of its old value a row changed; from eleven times the old value on,
 * how many times it is. */
static void
put_relative(struct buffer *out, const struct diff_row *row)
{
    const double part = row->change / row->values[PAIR_OLD];

    if (row->hits[PAIR_OLD] == 0 || row->hits[PAIR_NEW] == 0) {
        buffer_append_text(out, diff_row_kind(row));
    } else if (part >= 10) {
        buffer_print(out, "x%.3g", part + 1);
    } else {
        buffer_print(out, "%+.1f%%", part * 100);
    }
}

static void
put_number(const struct table *table, struct buffer *text, const struct diff_row *row,
           unsigned cell)
{
    if (cell != TOTAL && row->hits[PAIR_OLD] == 0 && row->hits[PAIR_NEW] == 0) {
        buffer_append_byte(text, '-'); /* it only calls */
        return;
    }
    switch (cell) {
    case CHANGE:
        put_change(table, text, row->change);
        break;
    case ERROR:
        put_difference(table, text, row->error);
        break;
    case RELATIVE:
        put_relative(text, row);
        break;
    case OLD:
        put_value(table, text, row->values[PAIR_OLD]);
        break;
    case TOTAL:
        put_total(table, text, row->total);
        break;
    default:
        put_value(table, text, row->values[PAIR_NEW]);
        break;
    }
}

static const struct diff_row *
row_at(const struct table *table, size_t row)
{
    return row == GRID_TOTALS ? &table->source->whole : &table->source->rows[row];
}

static void
put_cell(struct grid *grid, const struct grid_column *column, size_t row)
{
    const struct table *const table = grid->table;
    struct buffer *text = &grid->text;

    if (row == GRID_TITLES) {
        buffer_append_text(text, title(column->cell));
    } else if (grid_is_number(column)) {
        put_number(table, text, row_at(table, row), column->cell);
    } else if (column->cell == CELL_ADDRESS || column->cell == CELL_BUCKET) {
        const uint64_t address = row_at(table, row)->group->address;

        buffer_print(text, address != 0 ? "0x%" PRIx64 : "-", address);
    } else {
        grid_put_name(grid, row_at(table, row)->group, column->cell);
    }
}

/* --- columns --- */

/* Choose the numbers, and the names that identify rows by each key, in the order of the
 * keys. Returns false if memory runs out. */
static bool
choose_columns(struct table *table)
{
    const struct report_keys *keys = report_keys_used(&table->diff->options->by.keys);

    if (!grid_reserve(&table->grid, LAST_NUMBER + 1 - CELL_NUMBERS)) {
        return false;
    }
    for (unsigned cell = CHANGE; cell <= NEW; cell++) {
        grid_add(&table->grid, cell, 0);
    }
    if (table->source->totals != NULL) {
        grid_add(&table->grid, TOTAL, 0);
    }
    for (size_t i = 0; i < keys->count; i++) {
        for (const unsigned *cell = grid_cells_of(keys->list[i]); *cell != CELL_NUMBERS;
             cell++) {
            grid_add_name(&table->grid, *cell == CELL_IMAGE ? CELL_PATH : *cell);
        }
    }
    return true;
}

/* --- printing --- */

static const char *
color_of(const struct table *table, const struct diff_row *row)
{
    const struct diff_row *const by =
        row->beyond_chance || row->total == NULL ? row : row->total;

    if (!table->grid.options->color || !by->beyond_chance) {
        return "";
    }
    return by->change > 0 ? GRID_RED : GRID_GREEN;
}

/* Print how many rows are left out because chance explains their changes, in one line.
 */
static bool
print_rest(struct table *table)
{
    const struct diff_source *source = table->source;
    const size_t rest =
        source->row_count - source->beyond_count - source->total_beyond_count;

    if (rest == 0 || table->diff->options->all) {
        return true;
    }
    table->grid.text.size = 0;
    put_change(table, &table->grid.text, source->rest.change);
    if (buffer_text(&table->grid.text) == NULL) {
        return false;
    }
    fprintf(table->grid.out,
            "%zu %srow%s changed no more than chance explains, together by %s "
            "(--all shows them)\n",
            rest, rest < source->row_count ? "other " : "", rest == 1 ? "" : "s",
            (const char *)table->grid.text.data);
    return true;
}

/* Print the row of all hits, and how many rows there are and are not shown. Returns
 * false if memory runs out. */
static bool
print_totals(struct table *table)
{
    const size_t asked = diff_rows_asked(table->diff, table->source);
    const size_t count = table->source->row_count;

    if (!grid_print_row(&table->grid, GRID_TOTALS,
                        color_of(table, &table->source->whole))) {
        return false;
    }
    fprintf(table->grid.out, "%zu row%s in all", count, count == 1 ? "" : "s");
    if (table->grid.rows < asked) {
        fprintf(table->grid.out, "; %zu not shown (--rows 0 shows all)",
                asked - table->grid.rows);
    }
    fputc('\n', table->grid.out);
    return print_rest(table);
}

static bool
print_source(struct table *table)
{
    struct grid *grid = &table->grid;

    if (table->source->row_count == 0) {
        fputs("no hits on either side\n", grid->out);
        return true;
    }
    if (!choose_columns(table) || !grid_settle(grid) || !grid_print_titles(grid)) {
        return false;
    }
    for (size_t i = 0; i < grid->rows; i++) {
        if (!grid_print_row(grid, i, color_of(table, &table->source->rows[i]))) {
            return false;
        }
        fputc('\n', grid->out);
    }
    return print_totals(table);
}

bool
diff_print_table(FILE *out, const struct diff *diff,
                 const struct report_options *options)
{
    bool done = report_groups_tell_apart(&diff->groups, diff->groups.count,
                                         options->full_names);

    for (size_t i = 0; done && i < diff->source_count; i++) {
        struct table table = {
            .diff = diff,
            .source = &diff->sources[i],
            .grid = {.out = out,
                     .options = options,
                     .groups = &diff->groups,
                     .put = put_cell,
                     .table = &table,
                     .rows = diff_rows_shown(diff, &diff->sources[i])},
        };

        if (diff->source_count > 1) {
            text_escape(&table.grid.text, diff_source_name(table.source));
            done = buffer_text(&table.grid.text) != NULL;
            fprintf(out, "%s%s\n", i > 0 ? "\n" : "",
                    done ? (const char *)table.grid.text.data : "");
        }
        done = done && print_source(&table);
        grid_finish(&table.grid);
    }
    return done;
}
