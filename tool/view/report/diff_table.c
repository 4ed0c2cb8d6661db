/* SPDX-License-Identifier: MIT */
/*
 * diff_table.c - a difference as a table for the terminal.
 *
 * The text of each cell is made twice: first to find the widths, then to print.
 */
#include "profile/difference_rows.h"
#include "profile/estimate.h"
#include "view/report/fit.h"
#include "view/report/summary.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOLD "\033[1m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define RESET "\033[0m"

/* Numbers come first and are right-aligned. */
enum cell {
    CHANGE,
    ERROR,
    RELATIVE,
    OLD,
    NEW,
    LAST_NUMBER = NEW,
    FUNCTION,
    LINE,
    ADDRESS,
    BUCKET,
    IMAGE,
    PROCESS,
    THREAD,
    UNIT,
    CPU,
    CELL_COUNT
};

struct table {
    FILE *out;
    const struct diff *diff;
    const struct diff_source *source;
    enum cell cells[CELL_COUNT];
    size_t cell_count;
    size_t widths[CELL_COUNT]; /* by cell */
    struct buffer text;        /* the current cell */
};

static const char *
title(enum cell cell)
{
    static const char *const titles[CELL_COUNT] = {
        [CHANGE] = "change", [ERROR] = "+-",        [RELATIVE] = "by",
        [OLD] = "old",       [NEW] = "new",         [FUNCTION] = "function",
        [LINE] = "line",     [ADDRESS] = "address", [BUCKET] = "bucket",
        [IMAGE] = "image",   [PROCESS] = "process", [THREAD] = "thread",
        [UNIT] = "unit",     [CPU] = "cpu",
    };

    return titles[cell];
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

/* A difference of percentages is in points, not percent. */
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
put_named(struct buffer *out, const char *name)
{
    text_escape(out, name != NULL && name[0] != '\0' ? name : "[unknown]");
}

static void
put_line(struct buffer *out, const struct report_group *group)
{
    if (group->function == NULL || group->function->file[0] == '\0') {
        return;
    }
    text_escape(out, group->function->file);
    if (group->line > 0) {
        buffer_print(out, ":%" PRIu32, group->line);
    }
}

static void
put_key(struct table *table, const struct report_group *group, enum cell cell)
{
    struct buffer *text = &table->text;

    switch (cell) {
    case FUNCTION:
        report_group_name(group, text);
        break;
    case LINE:
        put_line(text, group);
        break;
    case ADDRESS:
    case BUCKET:
        buffer_print(text, group->address != 0 ? "0x%" PRIx64 : "-", group->address);
        break;
    case IMAGE:
        put_named(text, group->image != NULL ? group->image->path : NULL);
        break;
    case PROCESS:
        put_named(text, group->process);
        break;
    case THREAD:
        put_named(text, group->thread);
        break;
    case UNIT:
        put_named(text, group->unit);
        break;
    case CPU:
        if (group->cpu_plus_1 > 0) {
            buffer_print(text, "%" PRIu32, group->cpu_plus_1 - 1);
        } else {
            put_named(text, NULL);
        }
        break;
    default:
        break;
    }
}

/* Make the text of a cell in table->text. Returns NULL if memory runs out. */
static const char *
make_cell(struct table *table, const struct diff_row *row, enum cell cell)
{
    struct buffer *text = &table->text;

    text->size = 0;
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
    case NEW:
        put_value(table, text, row->values[PAIR_NEW]);
        break;
    default:
        put_key(table, row->group, cell);
        break;
    }
    return buffer_text(text);
}

/* --- columns --- */

static void
add_cell(struct table *table, enum cell cell)
{
    for (size_t i = 0; i < table->cell_count; i++) {
        if (table->cells[i] == cell) {
            return;
        }
    }
    table->cells[table->cell_count++] = cell;
}

/* Choose the cells that identify rows by each key, in the order of the keys. */
static void
choose_cells(struct table *table)
{
    static const enum cell by[REPORT_KEY_COUNT][4] = {
        [REPORT_BY_FUNCTION] = {FUNCTION, IMAGE},
        [REPORT_BY_LINE] = {LINE, FUNCTION, IMAGE},
        [REPORT_BY_IMAGE] = {IMAGE},
        [REPORT_BY_ADDRESS] = {ADDRESS, FUNCTION, LINE, IMAGE},
        [REPORT_BY_BUCKET] = {BUCKET, FUNCTION, LINE, IMAGE},
        [REPORT_BY_PROCESS] = {PROCESS},
        [REPORT_BY_THREAD] = {THREAD},
        [REPORT_BY_CPU] = {CPU},
        [REPORT_BY_UNIT] = {UNIT},
    };
    static const struct report_keys by_function = {{REPORT_BY_FUNCTION}, 1};
    const struct report_keys *keys = &table->diff->options->report.keys;

    keys = keys->count > 0 ? keys : &by_function;
    for (int cell = CHANGE; cell <= LAST_NUMBER; cell++) {
        add_cell(table, (enum cell)cell);
    }
    for (size_t i = 0; i < keys->count; i++) {
        /* CHANGE is 0 and never a cell of a key, so it ends each list. */
        for (size_t at = 0; at < 4 && by[keys->list[i]][at] != CHANGE; at++) {
            add_cell(table, by[keys->list[i]][at]);
        }
    }
}

static bool
widen(struct table *table, enum cell cell, const char *text)
{
    const size_t columns = text != NULL ? text_columns(text) : 0;

    if (columns > table->widths[cell]) {
        table->widths[cell] = columns;
    }
    return text != NULL;
}

static bool
measure(struct table *table, size_t shown)
{
    for (size_t i = 0; i < table->cell_count; i++) {
        const enum cell cell = table->cells[i];

        widen(table, cell, title(cell));
        if (cell <= LAST_NUMBER &&
            !widen(table, cell, make_cell(table, &table->source->whole, cell))) {
            return false;
        }
        for (size_t row = 0; row < shown; row++) {
            if (!widen(table, cell,
                       make_cell(table, &table->source->rows[row], cell))) {
                return false;
            }
        }
    }
    return true;
}

static enum fit_kind
kind_of(enum cell cell)
{
    switch (cell) {
    case FUNCTION:
        return FIT_FUNCTION;
    case LINE:
    case IMAGE:
        return FIT_PATH;
    case PROCESS:
    case THREAD:
    case UNIT:
        return FIT_NAME;
    case ADDRESS:
    case BUCKET:
    case CPU:
        return FIT_ADDRESS;
    default:
        return FIT_NUMBER;
    }
}

/* Shrink names so that the other columns fit on the screen. */
static void
set_widths(struct table *table)
{
    struct fit fit = {0};

    for (size_t i = 0; i < table->cell_count; i++) {
        fit_add(&fit, kind_of(table->cells[i]), &table->widths[table->cells[i]]);
    }
    fit_settle(&fit, table->diff->options->report.width);
}

/* --- printing --- */

static void
print_cell(const struct table *table, enum cell cell, const char *text, bool last)
{
    fit_print(table->out, kind_of(cell), table->widths[cell],
              table->diff->options->report.width, text, last);
}

static const char *
color_of(const struct table *table, const struct diff_row *row)
{
    if (!table->diff->options->report.color || !row->beyond_chance) {
        return "";
    }
    return row->change > 0 ? RED : GREEN;
}

static bool
print_row(struct table *table, const struct diff_row *row, size_t cells)
{
    const char *color = color_of(table, row);

    for (size_t i = 0; i < cells; i++) {
        const enum cell cell = table->cells[i];
        const char *text = make_cell(table, row, cell);

        if (text == NULL) {
            return false;
        }
        fputs(cell == CHANGE ? color : "", table->out);
        print_cell(table, cell, text, i + 1 == table->cell_count);
        fputs(cell == CHANGE && color[0] != '\0' ? RESET : "", table->out);
    }
    return true;
}

static void
print_titles(const struct table *table)
{
    const bool color = table->diff->options->report.color;

    fputs(color ? BOLD : "", table->out);
    for (size_t i = 0; i < table->cell_count; i++) {
        print_cell(table, table->cells[i], title(table->cells[i]),
                   i + 1 == table->cell_count);
    }
    fputs(color ? RESET "\n" : "\n", table->out);
}

/* Print how many rows are not shown, in one line. */
static bool
print_rest(struct table *table)
{
    const struct diff_source *source = table->source;
    const size_t rest = source->row_count - source->beyond_count;

    if (rest == 0 || table->diff->options->all) {
        return true;
    }
    table->text.size = 0;
    put_change(table, &table->text, source->rest.change);
    if (buffer_text(&table->text) == NULL) {
        return false;
    }
    fprintf(table->out,
            "%zu %srow%s changed no more than chance explains, together by %s "
            "(--all shows them)\n",
            rest, source->beyond_count > 0 ? "other " : "", rest == 1 ? "" : "s",
            (const char *)table->text.data);
    return true;
}

static bool
print_whole(struct table *table, size_t shown)
{
    const size_t asked = diff_rows_asked(table->diff, table->source);
    const size_t count = table->source->row_count;

    if (!print_row(table, &table->source->whole, LAST_NUMBER + 1)) {
        return false;
    }
    fprintf(table->out, "%zu row%s in all", count, count == 1 ? "" : "s");
    if (shown < asked) {
        fprintf(table->out, "; %zu not shown (--rows 0 shows all)", asked - shown);
    }
    fputc('\n', table->out);
    return print_rest(table);
}

static bool
print_source(struct table *table)
{
    const size_t shown = diff_rows_shown(table->diff, table->source);

    if (table->source->row_count == 0) {
        fputs("no hits on either side\n", table->out);
        return true;
    }
    if (!measure(table, shown)) {
        return false;
    }
    set_widths(table);
    print_titles(table);
    for (size_t i = 0; i < shown; i++) {
        if (!print_row(table, &table->source->rows[i], table->cell_count)) {
            return false;
        }
        fputc('\n', table->out);
    }
    return print_whole(table, shown);
}

bool
diff_print_table(FILE *out, const struct diff *diff)
{
    bool done = true;

    for (size_t i = 0; done && i < diff->source_count; i++) {
        struct table table = {.out = out, .diff = diff, .source = &diff->sources[i]};

        if (diff->source_count > 1) {
            text_escape(&table.text, diff_source_name(table.source));
            done = buffer_text(&table.text) != NULL;
            fprintf(out, "%s%s\n", i > 0 ? "\n" : "",
                    done ? (const char *)table.text.data : "");
        }
        choose_cells(&table);
        done = done && print_source(&table);
        buffer_finish(&table.text);
    }
    return done;
}
