/* SPDX-License-Identifier: MIT */
/*
 * table.c - a report as a table for the terminal, with statistics below.
 */
#include "profile/estimate.h"
#include "profile/stack_ends.h"
#include "view/report/formats.h"
#include "view/report/grid.h"
#include "view/report/summary.h"

#include "base/text.h"

#include <inttypes.h>

enum {
    SHARE = CELL_NUMBERS,
    ERROR,
    TOTAL, /* share of the hits of all stacks that it is on */
    HITS,
    ESTIMATE,
    RATIO,
};

/* The source that a row shows first; grouped by source, its own. */
#define MAIN SIZE_MAX

struct table {
    const struct profile *profile;
    const struct report_groups *groups;
    const struct report_options *options;
    struct grid grid;
};

/* --- what is shown --- */

static bool
is_by_source(const struct table *table)
{
    return report_groups_by(table->groups, REPORT_BY_SOURCE);
}

/* Whether there are columns for several sources. */
static bool
has_several_sources(const struct table *table)
{
    return table->profile->source_count > 1 && !is_by_source(table);
}

/* Whether an estimate in time or events is more useful than hits. */
static bool
has_estimate(const struct profile_source *source)
{
    return report_interval(source) > 0 && !report_is_exact(source);
}

/* --- titles --- */

/* Append the title of a column of hits or estimates, with the source where that is
 * needed. */
static void
put_number_title(const struct table *table, const struct grid_column *column,
                 struct buffer *out)
{
    if (column->source == MAIN) {
        buffer_append_text(out, column->cell == HITS ? "hits" : "estimate");
        return;
    }
    if (column->cell == ESTIMATE || has_several_sources(table)) {
        text_escape(out, table->profile->sources[column->source].name);
    }
    if (column->cell == HITS && !has_several_sources(table)) {
        const struct profile_source *source = &table->profile->sources[column->source];

        text_escape(out, report_numbers(source));
    } else if (column->cell == HITS &&
               has_estimate(&table->profile->sources[column->source])) {
        buffer_append_text(out, " hits");
    }
}

static void
put_title(const struct table *table, const struct grid_column *column,
          struct buffer *out)
{
    switch (column->cell) {
    case SHARE:
        buffer_append_text(out, table->groups->has_totals ? "self" : "share");
        break;
    case TOTAL:
        buffer_append_text(out, "total");
        break;
    case ERROR:
        buffer_append_text(out, "+-");
        break;
    case RATIO:
        buffer_append_text(out, column->ratio.title);
        break;
    default:
        put_number_title(table, column, out);
        break;
    }
}

/* --- cells --- */

/* Append the time or events that hits of a source represent. In a column of several
 * sources, events get their unit. */
static void
put_estimate(const struct table *table, const struct grid_column *column, size_t source,
             const struct report_count *count, struct buffer *text)
{
    const struct profile_source *shown = &table->profile->sources[source];
    const double value = (double)count->units * report_interval(shown);

    if (report_is_time(shown)) {
        report_put_time(text, value);
        return;
    }
    if (report_is_exact(shown)) {
        buffer_print(text, "%" PRIu64, count->hits);
    } else {
        report_put_events(text, value);
    }
    buffer_append_text(text, column->source == MAIN ? " events" : "");
}

static void
put_ratio(const struct report_ratio *ratio, const struct profile *profile,
          const struct report_count *numerator, const struct report_count *denominator,
          struct buffer *out)
{
    double value;

    if (report_ratio_value(profile, ratio, numerator, denominator, &value)) {
        buffer_print(out, "%.2f", value);
    } else {
        buffer_append_byte(out, '-');
    }
}

/* Append the error of an estimate; nothing if every event is a hit, so that there is no
 * error. */
static void
put_error(double error, struct buffer *out)
{
    if (error > 0) {
        buffer_print(out, "%.2f%%", error * 100);
    }
}

static void
put_number(const struct table *table, const struct report_group *group,
           const struct grid_column *column, struct buffer *text)
{
    const struct report_groups *groups = table->groups;
    const size_t source = column->source == MAIN
                              ? report_group_main_source(groups, group)
                              : column->source;
    const struct report_count count = report_group_count(groups, group, source);
    struct report_count denominator;

    switch (column->cell) {
    case SHARE:
        buffer_print(text, "%.2f%%", report_group_share(groups, group, source) * 100);
        break;
    case ERROR:
        put_error(report_group_error(groups, group, source), text);
        break;
    case TOTAL:
        buffer_print(text, "%.2f%%",
                     report_group_total_share(groups, group, source) * 100);
        break;
    case HITS:
        buffer_print(text, "%" PRIu64, count.hits);
        break;
    case ESTIMATE:
        put_estimate(table, column, source, &count, text);
        break;
    default:
        denominator = report_group_count(groups, group, column->ratio.denominator);
        put_ratio(&column->ratio, table->profile, &count, &denominator, text);
        break;
    }
}

/* Append the total of a column over all rows, shown or not. Errors have none, and
 * grouped by source nothing has: hits of different sources do not add up. */
static void
put_total(const struct table *table, const struct grid_column *column,
          struct buffer *text)
{
    const size_t source = column->source == MAIN ? 0 : column->source;
    const struct report_count selected = source < table->profile->source_count
                                             ? report_selected(table->groups, source)
                                             : (struct report_count){0};
    struct report_count denominator;

    switch (is_by_source(table) ? ERROR : column->cell) {
    case SHARE:
        buffer_print(text, "%.2f%%",
                     report_selected_share(table->groups, column->source) * 100);
        break;
    case HITS:
        buffer_print(text, "%" PRIu64, selected.hits);
        break;
    case ESTIMATE:
        put_estimate(table, column, column->source, &selected, text);
        break;
    case RATIO:
        denominator = report_selected(table->groups, column->ratio.denominator);
        put_ratio(&column->ratio, table->profile, &selected, &denominator, text);
        break;
    default:
        break;
    }
}

static void
put_cell(struct grid *grid, const struct grid_column *column, size_t row)
{
    const struct table *const table = grid->table;

    if (row == GRID_TITLES) {
        put_title(table, column, &grid->text);
    } else if (row == GRID_TOTALS) {
        put_total(table, column, &grid->text);
    } else if (grid_is_number(column)) {
        put_number(table, &table->groups->groups[row], column, &grid->text);
    } else {
        grid_put_name(grid, &table->groups->groups[row], column->cell);
    }
}

/* --- columns --- */

static void
add_source_columns(struct table *table, size_t source)
{
    struct report_ratio ratio;

    grid_add(&table->grid, HITS, source);
    if (has_estimate(&table->profile->sources[source])) {
        grid_add(&table->grid, ESTIMATE, source);
    }
    if (has_several_sources(table) &&
        report_ratio_find(table->profile, source, &ratio)) {
        grid_add(&table->grid, RATIO, source)->ratio = ratio;
    }
}

/* Whether there are so few hits that the error of a share needs a column. */
static bool
is_error_shown(const struct table *table)
{
    bool shown = false;

    for (size_t i = 0; i < table->grid.rows; i++) {
        const struct report_group *group = &table->groups->groups[i];
        const size_t source = report_group_main_source(table->groups, group);

        shown |= report_total(table->groups, source).hits < REPORT_SURE_HITS &&
                 report_group_error(table->groups, group, source) > 0;
    }
    return shown;
}

static bool
any_has_estimate(const struct profile *profile)
{
    bool any = false;

    for (size_t i = 0; i < profile->source_count; i++) {
        any |= has_estimate(&profile->sources[i]);
    }
    return any;
}

/* Choose the columns of numbers. Grouped by source, all sources share them. */
static void
choose_number_columns(struct table *table)
{
    const size_t first = is_by_source(table) ? MAIN : 0;

    grid_add(&table->grid, SHARE, first);
    if (is_error_shown(table)) {
        grid_add(&table->grid, ERROR, first);
    }
    if (table->groups->has_totals) {
        grid_add(&table->grid, TOTAL, first);
    }
    if (!is_by_source(table)) {
        for (size_t i = 0; i < table->profile->source_count; i++) {
            add_source_columns(table, i);
        }
        return;
    }
    grid_add(&table->grid, HITS, MAIN);
    if (any_has_estimate(table->profile)) {
        grid_add(&table->grid, ESTIMATE, MAIN);
    }
}

static void
add_name_column(struct table *table, unsigned cell)
{
    if (cell != CELL_IMAGE ||
        !report_has_key(&table->options->by.keys, REPORT_BY_IMAGE)) {
        grid_add_name(&table->grid, cell);
    }
}

/* Choose the first cell of each key, in the order of the keys; then their other
 * cells. */
static void
choose_name_columns(struct table *table)
{
    const struct report_keys *keys = report_keys_used(&table->options->by.keys);

    for (size_t i = 0; i < keys->count; i++) {
        add_name_column(table, *grid_cells_of(keys->list[i]));
    }
    for (size_t i = 0; i < keys->count; i++) {
        for (const unsigned *cell = grid_cells_of(keys->list[i]); *cell != CELL_NUMBERS;
             cell++) {
            add_name_column(table, *cell);
        }
    }
}

static bool
choose_columns(struct table *table)
{
    /* Share, error and total and, for each source, hits, an estimate and a ratio. */
    const size_t numbers = 3 + 3 * (table->profile->source_count + 1);

    if (!grid_reserve(&table->grid, numbers)) {
        return false;
    }
    choose_number_columns(table);
    choose_name_columns(table);
    return true;
}

/* --- printing --- */

static const char *
color_of(const struct table *table, const struct report_group *group)
{
    const double share = report_group_share(
        table->groups, group, report_group_main_source(table->groups, group));

    if (!table->options->color || share < 0.005) {
        return "";
    }
    return share >= 0.05 ? GRID_RED : GRID_GREEN;
}

/* Print why there is no column of errors. */
static void
print_no_errors(const struct table *table)
{
    bool exact = true;
    bool values = true;
    bool sure = false;

    for (size_t i = 0; i < table->grid.count; i++) {
        if (table->grid.columns[i].cell == ERROR) {
            return;
        }
    }
    for (size_t i = 0; i < table->grid.rows; i++) {
        const struct report_group *group = &table->groups->groups[i];
        const size_t source = report_group_main_source(table->groups, group);

        exact &= report_is_exact(&table->profile->sources[source]);
        values &= report_is_value(&table->profile->sources[source]);
        sure |= report_group_error(table->groups, group, source) > 0;
    }
    fprintf(table->grid.out, "ntprof: +- is left out: %s\n",
            values  ? "how certain sums of values are is not known"
            : exact ? "every event is a hit, so shares are exact"
            : sure  ? "with so many hits shares are within 1%"
                    : "each row is all hits of its source");
}

/* Print which hits the rows are of, if not of all. Returns false if memory runs out. */
static bool
print_relation(const struct table *table)
{
    const struct report_relation *const relation = table->groups->relation;
    struct buffer words = {0};
    bool done;

    if (relation != NULL) {
        buffer_append_text(&words, relation->kind == REPORT_CALLERS ? ", callers of "
                                                                    : ", called by ");
        text_escape(&words, relation->glob);
    } else if (table->groups->filtered) {
        buffer_append_text(&words, " that the filters let through");
    }
    done = buffer_text(&words) != NULL;
    if (done) {
        fputs(buffer_text(&words), table->grid.out);
    }
    buffer_finish(&words);
    return done;
}

/* Print sums of the number columns, and how many rows are not shown. */
static bool
print_total(struct table *table)
{
    const size_t count = table->groups->count;

    if (!grid_print_row(&table->grid, GRID_TOTALS, "")) {
        return false;
    }
    fprintf(table->grid.out, "%zu row%s in all", count, count == 1 ? "" : "s");
    if (!print_relation(table)) {
        return false;
    }
    if (table->grid.rows < count) {
        fprintf(table->grid.out, "; %zu not shown (--rows 0 shows all)",
                count - table->grid.rows);
    }
    fputc('\n', table->grid.out);
    return true;
}

static bool
print_body(struct table *table)
{
    if (table->groups->count == 0) {
        fputs("no hits\n", table->grid.out);
        return true;
    }
    if (!report_groups_tell_apart(table->groups, table->groups->count,
                                  table->options->full_names) ||
        !choose_columns(table) || !grid_settle(&table->grid) ||
        !grid_print_titles(&table->grid)) {
        return false;
    }
    for (size_t i = 0; i < table->grid.rows; i++) {
        if (!grid_print_row(&table->grid, i,
                            color_of(table, &table->groups->groups[i]))) {
            return false;
        }
        fputc('\n', table->grid.out);
    }
    if (!report_groups_only_by_source(table->groups) && !print_total(table)) {
        return false;
    }
    print_no_errors(table);
    return true;
}

/* Print how stacks end: where they are not whole, totals are too low. */
static bool
print_ends(const struct table *table)
{
    struct stack_ends ends;
    struct buffer line = {0};
    bool done = stack_ends_find(table->profile, 0, &ends);

    if (done) {
        stack_ends_put(&ends, &table->profile->sources[0], &line);
        done = buffer_text(&line) != NULL;
    }
    if (done) {
        fprintf(table->grid.out, "stacks: %s\n", buffer_text(&line));
    }
    stack_ends_finish(&ends);
    buffer_finish(&line);
    return done;
}

/* --- the table --- */

bool
report_print_table(FILE *out, const struct report_groups *groups,
                   const struct report_options *options)
{
    struct table table = {
        .profile = groups->profile,
        .groups = groups,
        .options = options,
        .grid = {.out = out,
                 .options = options,
                 .groups = groups,
                 .put = put_cell,
                 .table = &table,
                 .rows = report_rows_shown(options, groups->count)},
    };
    const bool done = print_body(&table) &&
                      report_print_summary(out, groups->profile, groups,
                                           options->advise, options->verbose) &&
                      (!(groups->has_totals || groups->relation != NULL) ||
                       options->ends_printed || print_ends(&table));

    grid_finish(&table.grid);
    return done;
}
