/* SPDX-License-Identifier: MIT */
/*
 * table.c - a report for people: columns as wide as what they show, books underneath.
 *
 * Cells are text made one at a time, first to find the widths, then to print.
 */
#include "report/formats.h"
#include "report/honesty.h"

#include "util/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BOLD "\033[1m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define RESET "\033[0m"

enum {
    FUNCTION_WIDTH_MIN = 20,
    FUNCTION_PAD_MAX = 60, /* longer names push the next column, when nothing is cut */
    GAP = 2,
};

enum cell { SHARE, HITS, FUNCTION, IMAGE, PATH, ADDRESS, LINE, PROCESS, SOURCE };

struct column {
    enum cell cell;
    size_t source; /* HITS: whose; SIZE_MAX: the main one */
    size_t width;
};

struct table {
    FILE *out;
    const struct profile *profile;
    const struct report_groups *groups;
    const struct report_options *options;
    struct column *columns;
    size_t column_count;
    size_t shown;
    struct buffer text; /* the cell at hand */
};

static const char *
title(const struct table *table, const struct column *column)
{
    static const char *const titles[] = {
        [SHARE] = "share", [HITS] = "hits",       [FUNCTION] = "function",
        [IMAGE] = "image", [PATH] = "image",      [ADDRESS] = "address",
        [LINE] = "line",   [PROCESS] = "process", [SOURCE] = "source",
    };

    if (column->cell == HITS && column->source != SIZE_MAX) {
        return table->profile->sources[column->source].name;
    }
    return titles[column->cell];
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
put_named(struct buffer *out, const char *name, const char *otherwise)
{
    text_escape(out, name[0] != '\0' ? name : otherwise);
}

/* The cell in table->text. NULL: out of memory. */
static const char *
make_cell(struct table *table, const struct report_group *group,
          const struct column *column)
{
    struct buffer *text = &table->text;

    text->size = 0;
    switch (column->cell) {
    case SHARE:
        buffer_print(text, "%.2f%%",
                     report_group_share(table->profile, table->groups, group) * 100);
        break;
    case HITS:
        buffer_print(text, "%" PRIu64,
                     column->source == SIZE_MAX
                         ? report_group_main_hits(table->profile, table->groups, group)
                         : report_group_hits(table->groups, group, column->source));
        break;
    case FUNCTION:
        report_group_name(group, text);
        break;
    case IMAGE:
        report_image_name(group->image, text);
        break;
    case PATH:
        put_named(text, group->image->path, "[unknown]");
        break;
    case ADDRESS:
        buffer_print(text, "0x%" PRIx64, group->address);
        break;
    case LINE:
        put_line(text, group);
        break;
    case PROCESS:
        put_named(text, group->process, "[unknown]");
        break;
    case SOURCE:
        text_escape(text, group->source->name);
        break;
    }
    return buffer_text(text);
}

static const char *
make_title(struct table *table, const struct column *column)
{
    table->text.size = 0;
    text_escape(&table->text, title(table, column));
    return buffer_text(&table->text);
}

static void
add_column(struct table *table, enum cell cell, size_t source)
{
    table->columns[table->column_count++] =
        (struct column){.cell = cell, .source = source};
}

static bool
choose_columns(struct table *table)
{
    const enum report_key key = table->options->key;
    static const enum cell rest[][5] = {
        [REPORT_BY_FUNCTION] = {FUNCTION, IMAGE, SHARE},
        [REPORT_BY_IMAGE] = {PATH, SHARE},
        [REPORT_BY_ADDRESS] = {ADDRESS, FUNCTION, LINE, IMAGE, SHARE},
        [REPORT_BY_PROCESS] = {PROCESS, SHARE},
        [REPORT_BY_SOURCE] = {SOURCE, SHARE},
        [REPORT_BY_LINE] = {LINE, FUNCTION, IMAGE, SHARE},
    };
    const size_t sources = table->profile->source_count;

    table->columns = calloc(sources + 7, sizeof(*table->columns));
    if (table->columns == NULL) {
        return false;
    }
    add_column(table, SHARE, 0);
    if (sources <= 1 || key == REPORT_BY_SOURCE) {
        add_column(table, HITS, SIZE_MAX);
    } else {
        for (size_t i = 0; i < sources; i++) {
            add_column(table, HITS, i);
        }
    }
    /* SHARE ends each list: it is only ever the first column. */
    for (const enum cell *cell = rest[key]; *cell != SHARE; cell++) {
        add_column(table, *cell, 0);
    }
    return true;
}

static bool
widen(struct column *column, const char *text)
{
    const size_t columns = text != NULL ? text_columns(text) : 0;

    if (columns > column->width) {
        column->width = columns;
    }
    return text != NULL;
}

/* The total under the first columns must fit as well. */
static bool
widen_for_total(struct table *table, struct column *column)
{
    table->text.size = 0;
    if (column->cell == SHARE) {
        buffer_append_text(&table->text, "100.00%");
    } else if (column->cell == HITS && column->source != SIZE_MAX) {
        buffer_print(&table->text, "%" PRIu64, table->groups->totals[column->source]);
    } else if (column->cell == HITS) {
        buffer_print(&table->text, "%" PRIu64, table->groups->totals[0]);
    }
    return widen(column, buffer_text(&table->text));
}

static bool
measure(struct table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        struct column *column = &table->columns[i];

        if (!widen(column, make_title(table, column)) ||
            !widen_for_total(table, column)) {
            return false;
        }
        for (size_t row = 0; row < table->shown; row++) {
            if (!widen(column, make_cell(table, &table->groups->groups[row], column))) {
                return false;
            }
        }
    }
    return true;
}

/* Makes the function column give what the others need of the screen. */
static void
fit(struct table *table)
{
    struct column *function = NULL;
    size_t others = 0;
    size_t room;

    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].cell == FUNCTION) {
            function = &table->columns[i];
        } else {
            others += table->columns[i].width + GAP;
        }
    }
    if (function == NULL) {
        return;
    }
    room = table->options->width > 0 ? (size_t)table->options->width : 0;
    room = room > others + FUNCTION_WIDTH_MIN ? room - others : FUNCTION_WIDTH_MIN;
    if (table->options->width <= 0) {
        room = FUNCTION_PAD_MAX;
    }
    if (function->width > room) {
        function->width = room;
    }
}

static bool
is_number(const struct column *column)
{
    return column->cell == SHARE || column->cell == HITS;
}

static void
print_blanks(FILE *out, size_t count)
{
    while (count-- > 0) {
        fputc(' ', out);
    }
}

/* One cell with its padding; the last of a line has none behind it. */
static void
print_cell(const struct table *table, const struct column *column, const char *text)
{
    const bool last = column == &table->columns[table->column_count - 1];
    const bool cut = column->cell == FUNCTION && table->options->width > 0;
    const size_t columns = text_columns(text);
    const size_t padding = column->width > columns ? column->width - columns : 0;

    if (is_number(column)) {
        print_blanks(table->out, padding);
    }
    if (cut && columns > column->width) {
        const size_t bytes = text_bytes_of_columns(text, column->width - 3);

        fprintf(table->out, "%.*s...", (int)bytes, text);
    } else {
        fputs(text, table->out);
    }
    if (!last) {
        print_blanks(table->out, (is_number(column) ? 0 : padding) + GAP);
    }
}

static const char *
color_of(const struct table *table, const struct report_group *group)
{
    const double share = report_group_share(table->profile, table->groups, group);

    if (!table->options->color || share < 0.005) {
        return "";
    }
    return share >= 0.05 ? RED : GREEN;
}

static bool
print_row(struct table *table, const struct report_group *group)
{
    const char *color = color_of(table, group);

    for (size_t i = 0; i < table->column_count; i++) {
        const char *text = make_cell(table, group, &table->columns[i]);

        if (text == NULL) {
            return false;
        }
        if (table->columns[i].cell == SHARE) {
            fputs(color, table->out);
        }
        print_cell(table, &table->columns[i], text);
        if (table->columns[i].cell == SHARE && color[0] != '\0') {
            fputs(RESET, table->out);
        }
    }
    fputc('\n', table->out);
    return true;
}

static bool
print_titles(struct table *table)
{
    fputs(table->options->color ? BOLD : "", table->out);
    for (size_t i = 0; i < table->column_count; i++) {
        const char *text = make_title(table, &table->columns[i]);

        if (text == NULL) {
            return false;
        }
        print_cell(table, &table->columns[i], text);
    }
    fputs(table->options->color ? RESET "\n" : "\n", table->out);
    return true;
}

/* Sums of the number columns, and how much is not shown. */
static void
print_total(const struct table *table)
{
    const size_t count = table->groups->count;

    for (size_t i = 0; i < table->column_count && is_number(&table->columns[i]); i++) {
        const struct column *column = &table->columns[i];
        char number[32] = "100.00%";

        if (column->cell == HITS) {
            const size_t source = column->source == SIZE_MAX ? 0 : column->source;

            snprintf(number, sizeof(number), "%" PRIu64, table->groups->totals[source]);
        }
        print_cell(table, column, number);
    }
    fprintf(table->out, "%zu row%s in all", count, count == 1 ? "" : "s");
    if (table->shown < count) {
        fprintf(table->out, "; %zu not shown (--rows 0 shows all)",
                count - table->shown);
    }
    fputc('\n', table->out);
}

static bool
print_body(struct table *table)
{
    if (table->groups->count == 0) {
        fputs("no hits\n", table->out);
        return true;
    }
    if (!choose_columns(table) || !measure(table)) {
        return false;
    }
    fit(table);
    if (!print_titles(table)) {
        return false;
    }
    for (size_t i = 0; i < table->shown; i++) {
        if (!print_row(table, &table->groups->groups[i])) {
            return false;
        }
    }
    if (table->options->key != REPORT_BY_SOURCE) {
        print_total(table);
    }
    return true;
}

bool
report_print_table(FILE *out, const struct profile *profile,
                   const struct report_groups *groups,
                   const struct report_options *options)
{
    struct table table = {
        .out = out,
        .profile = profile,
        .groups = groups,
        .options = options,
        .shown = report_rows_shown(options, groups->count),
    };
    const bool done = print_body(&table) && report_print_honesty(out, profile, groups);

    free(table.columns);
    buffer_finish(&table.text);
    return done;
}
