/* SPDX-License-Identifier: MIT */
/* view_options.h - options of both report and diff: the keys of rows, which rows are
 * shown, and their format. */
#ifndef CLI_VIEW_OPTIONS_H
#define CLI_VIEW_OPTIONS_H

#include "base/options.h"
#include "view/report/report.h"

enum {
    VIEW_ROWS = OPTION_OWN,
    VIEW_BY,
    VIEW_IMAGE,
    VIEW_PROCESS,
    VIEW_SYMBOL,
    VIEW_JSON,
    VIEW_CSV,
    OPTION_BEHIND_VIEW /* first value for a command's own options */
};

#define VIEW_OPTION_ROWS                                    \
    {"event", required_argument, NULL, 'e'},                \
        {"rows", required_argument, NULL, VIEW_ROWS},       \
        {"by", required_argument, NULL, VIEW_BY},           \
        {"image", required_argument, NULL, VIEW_IMAGE},     \
        {"process", required_argument, NULL, VIEW_PROCESS}, \
        {"symbol", required_argument, NULL, VIEW_SYMBOL},   \
        {"json", no_argument, NULL, VIEW_JSON},             \
    {                                                       \
        "csv", no_argument, NULL, VIEW_CSV                  \
    }

struct view_options {
    struct report_options report;
    struct report_filter *filters; /* backs report.filters */
    const char *source;            /* the source that is shown; NULL: all */
    bool by_source;                /* --by may contain source; for messages */
};

/* Parse the value of --by. Returns false after an error line. */
bool view_options_keys(const char *command, const char *value, bool by_source,
                       struct report_keys *keys);

void view_options_init(struct view_options *view, bool by_source);
void view_options_finish(struct view_options *view);

/* Handle an option of VIEW_OPTION_ROWS. Returns false after an error line. */
bool view_options_set(struct view_options *view, const char *command, int option,
                      const char *value);

/* Remove all sources of a profile except the chosen one, if one was chosen. Returns
 * false after an error line. */
bool view_options_choose(const struct view_options *view, const char *command,
                         struct profile *profile);

#endif
