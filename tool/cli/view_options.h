/* SPDX-License-Identifier: MIT */
/* view_options.h - options of both report and diff: the keys of rows, which rows are
 * shown, and their format. */
#ifndef CLI_VIEW_OPTIONS_H
#define CLI_VIEW_OPTIONS_H

#include "base/options.h"
#include "view/report/report.h"

struct view_options {
    struct report_options report;
    struct report_filter *filters; /* backs report.filters; to be freed */
    const char *source;            /* the source that is shown; NULL: all */
};

/* view_format_rows - how many rows are shown, and in which form: --rows, --full-names,
 * --json, --csv. */
extern const struct options_row view_format_rows[];

/* view_take_filter - take the glob of --image, --process or --symbol into struct
 * view_options. */
options_take_one view_take_filter;

/* view_options_choose - remove all sources of a profile except the chosen one, if one
 * was chosen. Returns false after an error line. */
bool view_options_choose(const struct view_options *view, const char *command,
                         struct profile *profile);

#endif
