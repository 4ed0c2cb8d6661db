/* SPDX-License-Identifier: MIT */
/*
 * table.c - a report as a table for the terminal, with statistics below.
 *
 * The text of each cell is made twice: first to find the widths, then to print.
 */
#include "profile/estimate.h"
#include "view/report/fit.h"
#include "view/report/formats.h"
#include "view/report/summary.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BOLD "\033[1m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define RESET "\033[0m"

/* A longer title of a source shifts the next column. */
enum { TITLE_PAD_MAX = 40 };

enum cell {
    SHARE,
    ERROR,
    HITS,
    ESTIMATE,
    RATIO, /* the last of the number cells */
    FUNCTION,
    IMAGE,
    PATH,
    ADDRESS,
    BUCKET,
    LINE,
    PROCESS,
    THREAD,
    UNIT,
    CPU,
    SOURCE,
    CELL_COUNT
};

/* The source that a row shows first; grouped by source, its own. */
#define MAIN SIZE_MAX

/* Capacity of a list of cells: each cell is in it at most once. */
enum { NAME_CELLS_MAX = CELL_COUNT };

struct column {
    enum cell cell;
    size_t source; /* source of a number */
    size_t width;
    struct report_ratio ratio; /* of RATIO cells */
};

struct table {
    FILE *out;
    const struct profile *profile;
    const struct report_groups *groups;
    const struct report_options *options;
    struct column *columns;
    size_t column_count;
    size_t shown;
    struct buffer text; /* the current cell */
};

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

/* Append the title of a column of hits or estimates, with the source where that is
 * needed. */
static void
put_number_title(const struct table *table, const struct column *column,
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
        buffer_append_text(out, "hits");
    } else if (column->cell == HITS &&
               has_estimate(&table->profile->sources[column->source])) {
        buffer_append_text(out, " hits");
    }
}

static const char *
make_title(struct table *table, const struct column *column)
{
    static const char *const titles[CELL_COUNT] = {
        [SHARE] = "share",   [ERROR] = "+-",   [FUNCTION] = "function",
        [IMAGE] = "image",   [PATH] = "image", [ADDRESS] = "address",
        [BUCKET] = "bucket", [LINE] = "line",  [PROCESS] = "process",
        [THREAD] = "thread", [CPU] = "cpu",    [SOURCE] = "source",
        [UNIT] = "unit",
    };

    table->text.size = 0;
    if (column->cell == HITS || column->cell == ESTIMATE) {
        put_number_title(table, column, &table->text);
    } else if (column->cell == RATIO) {
        buffer_append_text(&table->text, column->ratio.title);
    } else {
        buffer_append_text(&table->text, titles[column->cell]);
    }
    return buffer_text(&table->text);
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
put_named(struct buffer *out, const char *name)
{
    text_escape(out, name[0] != '\0' ? name : "[unknown]");
}

/* Append the range of a bucket. Its end is the first byte after it, which foreign files
 * do not have. */
static void
put_bucket(const struct table *table, const struct report_group *group,
           struct buffer *out)
{
    const uint64_t end = report_group_bucket_end(table->groups, group);

    if (!group->has_address) {
        return; /* of hits in no row */
    }
    buffer_print(out, "0x%" PRIx64, group->address);
    if (end != 0) {
        buffer_print(out, "-0x%" PRIx64, end);
    }
}

/* Append what hits of a source stand for. In a column of several sources, events get
 * their unit. */
static void
put_estimate(struct table *table, const struct column *column, size_t source,
             uint64_t hits)
{
    const struct profile_source *shown = &table->profile->sources[source];
    const double value = (double)hits * report_interval(shown);
    struct buffer *text = &table->text;

    if (report_is_time(shown)) {
        report_put_time(text, value);
        return;
    }
    if (report_is_exact(shown)) {
        buffer_print(text, "%" PRIu64, hits);
    } else {
        report_put_events(text, value);
    }
    buffer_append_text(text, column->source == MAIN ? " events" : "");
}

static void
put_ratio(const struct report_ratio *ratio, const struct profile *profile,
          uint64_t numerator_hits, uint64_t denominator_hits, struct buffer *out)
{
    double value;

    if (report_ratio_value(profile, ratio, numerator_hits, denominator_hits, &value)) {
        buffer_print(out, "%.2f", value);
    } else {
        buffer_append_byte(out, '-');
    }
}

/* Append nothing if every event is a hit. */
static void
put_error(double error, struct buffer *out)
{
    if (error > 0) {
        buffer_print(out, "%.2f%%", error * 100);
    }
}

static void
put_number(struct table *table, const struct report_group *group,
           const struct column *column)
{
    const struct report_groups *groups = table->groups;
    const size_t source = column->source == MAIN
                              ? report_group_main_source(groups, group)
                              : column->source;
    struct buffer *text = &table->text;

    switch (column->cell) {
    case SHARE:
        buffer_print(text, "%.2f%%", report_group_share(groups, group, source) * 100);
        break;
    case ERROR:
        put_error(report_group_error(groups, group, source), text);
        break;
    case HITS:
        buffer_print(text, "%" PRIu64, report_group_hits(groups, group, source));
        break;
    case ESTIMATE:
        put_estimate(table, column, source, report_group_hits(groups, group, source));
        break;
    default:
        put_ratio(&column->ratio, table->profile,
                  report_group_hits(groups, group, column->ratio.numerator),
                  report_group_hits(groups, group, column->ratio.denominator), text);
        break;
    }
}

static void
put_name(struct table *table, const struct report_group *group, enum cell cell)
{
    struct buffer *text = &table->text;

    switch (cell) {
    case FUNCTION:
        report_group_name(group, text);
        break;
    case IMAGE:
        report_image_name(group->image, text);
        break;
    case PATH:
        put_named(text, group->image->path);
        break;
    case ADDRESS:
        if (group->has_address) {
            buffer_print(text, "0x%" PRIx64, group->address);
        }
        break;
    case BUCKET:
        put_bucket(table, group, text);
        break;
    case LINE:
        put_line(text, group);
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
        if (group->cpu_plus_1 != 0) {
            buffer_print(text, "%" PRIu32, group->cpu_plus_1 - 1);
        } else {
            buffer_append_text(text, "[unknown]");
        }
        break;
    default:
        text_escape(text, group->source->name);
        break;
    }
}

/* Make the text of a cell in table->text. Returns NULL if memory runs out. */
static const char *
make_cell(struct table *table, const struct report_group *group,
          const struct column *column)
{
    table->text.size = 0;
    if (column->cell <= RATIO) {
        put_number(table, group, column);
    } else {
        put_name(table, group, column->cell);
    }
    return buffer_text(&table->text);
}

static struct column *
add_column(struct table *table, enum cell cell, size_t source)
{
    struct column *column = &table->columns[table->column_count++];

    *column = (struct column){.cell = cell, .source = source};
    return column;
}

static void
add_source_columns(struct table *table, size_t source)
{
    struct report_ratio ratio;

    add_column(table, HITS, source);
    if (has_estimate(&table->profile->sources[source])) {
        add_column(table, ESTIMATE, source);
    }
    if (has_several_sources(table) &&
        report_ratio_find(table->profile, source, &ratio)) {
        add_column(table, RATIO, source)->ratio = ratio;
    }
}

/* Whether there are so few hits that the error of a share needs a column. */
static bool
is_error_shown(const struct table *table)
{
    bool shown = false;

    for (size_t i = 0; i < table->shown; i++) {
        const struct report_group *group = &table->groups->groups[i];
        const size_t source = report_group_main_source(table->groups, group);

        shown |= table->groups->totals[source] < REPORT_SURE_HITS &&
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

static void
choose_numbers(struct table *table)
{
    const size_t first = is_by_source(table) ? MAIN : 0;

    add_column(table, SHARE, first);
    if (is_error_shown(table)) {
        add_column(table, ERROR, first);
    }
    if (!is_by_source(table)) {
        for (size_t i = 0; i < table->profile->source_count; i++) {
            add_source_columns(table, i);
        }
        return;
    }
    add_column(table, HITS, MAIN);
    if (any_has_estimate(table->profile)) {
        add_column(table, ESTIMATE, MAIN);
    }
}

/* Return the cells of a key, the most important first. SHARE, which is no name, ends
 * the list. */
static const enum cell *
cells_of(enum report_key key)
{
    static const enum cell cells[][5] = {
        [REPORT_BY_FUNCTION] = {FUNCTION, IMAGE, SHARE},
        [REPORT_BY_LINE] = {LINE, FUNCTION, IMAGE, SHARE},
        [REPORT_BY_IMAGE] = {PATH, SHARE},
        [REPORT_BY_ADDRESS] = {ADDRESS, FUNCTION, LINE, IMAGE, SHARE},
        [REPORT_BY_BUCKET] = {BUCKET, FUNCTION, LINE, IMAGE, SHARE},
        [REPORT_BY_PROCESS] = {PROCESS, SHARE},
        [REPORT_BY_THREAD] = {THREAD, SHARE},
        [REPORT_BY_CPU] = {CPU, SHARE},
        [REPORT_BY_SOURCE] = {SOURCE, SHARE},
        [REPORT_BY_UNIT] = {UNIT, SHARE},
    };

    return cells[key];
}

static void
add_name_column(struct table *table, enum cell cell)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].cell == cell) {
            return;
        }
    }
    if (cell != IMAGE || !report_has_key(&table->options->keys, REPORT_BY_IMAGE)) {
        add_column(table, cell, 0);
    }
}

/* Choose the first cell of each key, in the order of the keys; then their other
 * cells. */
static void
choose_names(struct table *table)
{
    static const struct report_keys by_function = {{REPORT_BY_FUNCTION}, 1};
    const struct report_keys *keys =
        table->options->keys.count > 0 ? &table->options->keys : &by_function;

    for (size_t i = 0; i < keys->count; i++) {
        add_name_column(table, *cells_of(keys->list[i]));
    }
    for (size_t i = 0; i < keys->count; i++) {
        for (const enum cell *cell = cells_of(keys->list[i]); *cell != SHARE; cell++) {
            add_name_column(table, *cell);
        }
    }
}

static bool
choose_columns(struct table *table)
{
    /* Share and error and, for each source, hits, an estimate and a ratio. */
    const size_t numbers = 2 + 3 * (table->profile->source_count + 1);

    table->columns = calloc(numbers + NAME_CELLS_MAX, sizeof(*table->columns));
    if (table->columns == NULL) {
        return false;
    }
    choose_numbers(table);
    choose_names(table);
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

/* Make the total of a column over all rows, shown or not. Returns NULL if memory runs
 * out. */
static const char *
make_total(struct table *table, const struct column *column)
{
    const uint64_t *selected = table->groups->selected;
    struct buffer *text = &table->text;

    text->size = 0;
    switch (is_by_source(table) ? ERROR : column->cell) {
    case SHARE:
        buffer_print(text, "%.2f%%",
                     report_selected_share(table->groups, column->source) * 100);
        break;
    case HITS:
        buffer_print(text, "%" PRIu64, selected[column->source]);
        break;
    case ESTIMATE:
        put_estimate(table, column, column->source, selected[column->source]);
        break;
    case RATIO:
        put_ratio(&column->ratio, table->profile, selected[column->ratio.numerator],
                  selected[column->ratio.denominator], text);
        break;
    default:
        break;
    }
    return buffer_text(text);
}

static bool
measure(struct table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        struct column *column = &table->columns[i];

        if (!widen(column, make_title(table, column))) {
            return false;
        }
        if (column->width > TITLE_PAD_MAX) {
            column->width = TITLE_PAD_MAX;
        }
        if (!widen(column, make_total(table, column))) {
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

static enum fit_kind
kind_of(const struct column *column)
{
    switch (column->cell) {
    case FUNCTION:
        return FIT_FUNCTION;
    case PATH:
    case LINE:
        return FIT_PATH;
    case IMAGE:
    case PROCESS:
    case THREAD:
    case UNIT:
    case SOURCE:
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

    for (size_t i = 0; i < table->column_count; i++) {
        fit_add(&fit, kind_of(&table->columns[i]), &table->columns[i].width);
    }
    fit_settle(&fit, table->options->width);
}

static void
print_cell(const struct table *table, const struct column *column, const char *text)
{
    fit_print(table->out, kind_of(column), column->width, table->options->width, text,
              column == &table->columns[table->column_count - 1]);
}

static const char *
color_of(const struct table *table, const struct report_group *group)
{
    const double share = report_group_share(
        table->groups, group, report_group_main_source(table->groups, group));

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

/* Print why there is no column of errors. */
static void
print_no_errors(const struct table *table)
{
    bool exact = true;
    bool sure = false;

    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].cell == ERROR) {
            return;
        }
    }
    for (size_t i = 0; i < table->shown; i++) {
        const struct report_group *group = &table->groups->groups[i];
        const size_t source = report_group_main_source(table->groups, group);

        exact &= report_is_exact(&table->profile->sources[source]);
        sure |= report_group_error(table->groups, group, source) > 0;
    }
    fprintf(table->out, "ntprof: +- is left out: %s\n",
            exact  ? "every event is a hit, so shares are exact"
            : sure ? "with so many hits shares are within 1%"
                   : "each row is all hits of its source");
}

/* Print sums of the number columns, and how many rows are not shown. */
static bool
print_total(struct table *table)
{
    const size_t count = table->groups->count;

    for (size_t i = 0;
         i < table->column_count && kind_of(&table->columns[i]) == FIT_NUMBER; i++) {
        const char *text = make_total(table, &table->columns[i]);

        if (text == NULL) {
            return false;
        }
        print_cell(table, &table->columns[i], text);
    }
    fprintf(table->out, "%zu row%s in all", count, count == 1 ? "" : "s");
    if (table->groups->filtered) {
        fputs(" that the filters let through", table->out);
    }
    if (table->shown < count) {
        fprintf(table->out, "; %zu not shown (--rows 0 shows all)",
                count - table->shown);
    }
    fputc('\n', table->out);
    return true;
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
    set_widths(table);
    if (!print_titles(table)) {
        return false;
    }
    for (size_t i = 0; i < table->shown; i++) {
        if (!print_row(table, &table->groups->groups[i])) {
            return false;
        }
    }
    if (table->groups->keys != 1u << REPORT_BY_SOURCE && !print_total(table)) {
        return false;
    }
    print_no_errors(table);
    return true;
}

bool
report_print_table(FILE *out, const struct report_groups *groups,
                   const struct report_options *options)
{
    struct table table = {
        .out = out,
        .profile = groups->profile,
        .groups = groups,
        .options = options,
        .shown = report_rows_shown(options, groups->count),
    };
    const bool done =
        print_body(&table) && report_print_summary(out, groups->profile, groups);

    free(table.columns);
    buffer_finish(&table.text);
    return done;
}
