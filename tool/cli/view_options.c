/* SPDX-License-Identifier: MIT */
/* view_options.c - options of both report and diff. */
#include "cli/view_options.h"
#include "cli/cmd.h"
#include "cli/source_choice.h"

#include <stdio.h>
#include <stdlib.h>

static bool
add_filter(struct view_options *view, const char *command, enum report_filter_kind kind,
           const char *glob)
{
    struct report_options *const report = &view->report;
    struct report_filter *const filters =
        reallocarray(view->filters, report->filter_count + 1, sizeof(*filters));

    if (filters == NULL) {
        return cmd_refuse(command, glob, "out of memory");
    }
    filters[report->filter_count++] = (struct report_filter){kind, glob};
    view->filters = filters;
    report->filters = filters;
    return true;
}

static bool
set_format(struct view_options *view, const char *command, enum report_format format)
{
    if (view->report.format != REPORT_TABLE && view->report.format != format) {
        return cmd_refuse(command, "--json, --csv", "only one of them");
    }
    view->report.format = format;
    return true;
}

bool
view_options_keys(const char *command, const char *value, bool by_source,
                  struct report_keys *keys)
{
    char allowed[200];

    if (report_keys_parse(value, keys)) {
        return true;
    }
    snprintf(allowed, sizeof(allowed),
             "allowed are function, line, image, address, bucket, process, thread, "
             "cpu, unit%s, each once; several with commas: process,function",
             by_source ? ", source" : "");
    return cmd_refuse_value(command, "--by", value, allowed);
}

void
view_options_init(struct view_options *view, bool by_source)
{
    *view = (struct view_options){.report = {.rows = CMD_ROWS_DEFAULT},
                                  .by_source = by_source};
}

void
view_options_finish(struct view_options *view)
{
    free(view->filters);
}

bool
view_options_set(struct view_options *view, const char *command, int option,
                 const char *value)
{
    switch (option) {
    case 'e':
        view->source = value;
        return true;
    case VIEW_ROWS:
        return options_count(command, "--rows", value, "all", &view->report.rows);
    case VIEW_BY:
        return view_options_keys(command, value, view->by_source, &view->report.keys);
    case VIEW_IMAGE:
        return add_filter(view, command, REPORT_FILTER_IMAGE, value);
    case VIEW_PROCESS:
        return add_filter(view, command, REPORT_FILTER_PROCESS, value);
    case VIEW_SYMBOL:
        return add_filter(view, command, REPORT_FILTER_SYMBOL, value);
    case VIEW_JSON:
        return set_format(view, command, REPORT_JSON);
    case VIEW_CSV:
        return set_format(view, command, REPORT_CSV);
    default:
        return false;
    }
}

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
