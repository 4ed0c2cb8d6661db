/* SPDX-License-Identifier: MIT */
/* view_options.c - options of both report and diff. */
#include "cli/view_options.h"
#include "cli/cmd.h"
#include "cli/source_choice.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool
view_take_filter(void *into, const struct options_given *given)
{
    static const char *const names[REPORT_FILTER_KINDS] = {
        [REPORT_FILTER_IMAGE] = "image",
        [REPORT_FILTER_PROCESS] = "process",
        [REPORT_FILTER_SYMBOL] = "symbol",
    };
    struct view_options *const view = into;
    struct report_options *const report = &view->report;
    enum report_filter_kind kind = REPORT_FILTER_IMAGE;
    struct report_filter *const filters =
        reallocarray(view->filters, report->by.filter_count + 1, sizeof(*filters));

    if (filters == NULL) {
        return cmd_refuse(given->command, given->value, "out of memory");
    }
    while (strcmp(names[kind], given->row->name) != 0) {
        kind++;
        assert(kind < REPORT_FILTER_KINDS);
    }
    filters[report->by.filter_count++] = (struct report_filter){kind, given->value};
    view->filters = filters;
    report->by.filters = filters;
    return true;
}

static bool
take_format(void *into, const struct options_given *given)
{
    enum report_format *const format = into;
    const enum report_format wanted =
        strcmp(given->row->name, "csv") == 0 ? REPORT_CSV : REPORT_JSON;

    if (*format != REPORT_TABLE && *format != wanted) {
        return cmd_refuse(given->command, "--json, --csv", "only one of them");
    }
    *format = wanted;
    return true;
}

const struct options_row view_format_rows[] = {
    {"rows", 0, "N", "rows to show (default 20); 0 for all", NULL,
     OPTIONS_INTO(options_take_count_or_all, struct view_options, report.rows)},
    {"full-names", 0, NULL,
     "functions with types, parameters and all template arguments", NULL,
     OPTIONS_FLAG(struct view_options, report.full_names)},
    {"json", 0, NULL, "as JSON", NULL,
     OPTIONS_INTO(take_format, struct view_options, report.format)},
    {"csv", 0, NULL, "as comma-separated values", NULL,
     OPTIONS_INTO(take_format, struct view_options, report.format)},
    {0},
};

bool
view_options_choose(const struct view_options *view, const char *command,
                    struct profile *profile)
{
    size_t source;

    if (view->source == NULL) {
        return true;
    }
    if (!source_choose(command, profile, view->source, &source)) {
        return false;
    }
    profile_keep_source(profile, source);
    return true;
}
