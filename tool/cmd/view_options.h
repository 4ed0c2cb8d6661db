/* SPDX-License-Identifier: MIT */
/* view_options.h - what report and diff have in common: what a row is, which rows there
 * are, and their form. */
#ifndef CMD_VIEW_OPTIONS_H
#define CMD_VIEW_OPTIONS_H

#include "cmd/options.h"
#include "report/report.h"

enum {
    VIEW_ROWS = OPTION_OWN,
    VIEW_BY,
    VIEW_IMAGE,
    VIEW_PROCESS,
    VIEW_SYMBOL,
    VIEW_JSON,
    VIEW_CSV,
    OPTION_BEHIND_VIEW /* the first that a command may have of its own */
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
    struct report_filter *filters; /* what report.filters is */
    const char *source;            /* the one that is shown; NULL: all */
    bool by_source;                /* a row may be one of a source: in messages */
};

/* The value of --by. False after an error line. */
bool view_options_keys(const char *command, const char *value, bool by_source,
                       struct report_keys *keys);

void view_options_init(struct view_options *view, bool by_source);
void view_options_finish(struct view_options *view);

/* Takes an option of VIEW_OPTION_ROWS. False after an error line. */
bool view_options_set(struct view_options *view, const char *command, int option,
                      const char *value);

/* Leaves of a profile what the source that was chosen counted, if one was. False after
 * an error line. */
bool view_options_choose(const struct view_options *view, const char *command,
                         struct profile *profile);

#endif
