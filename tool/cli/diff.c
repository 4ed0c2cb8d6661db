/* SPDX-License-Identifier: MIT */
/* cli/diff.c - ntprof diff: its options, and which files are compared. */
#include "cli/diff.h"
#include "cli/cmd.h"
#include "record/default_output.h"
#include "record/keys_option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Examples\n"
    "  ntprof diff                          ntprof.pb.gz.old against ntprof.pb.gz\n"
    "  ntprof diff old.pb.gz new.pb.gz --by line    which lines changed\n"
    "  ntprof diff old.pb.gz new.pb.gz --normalize  shares: runs of unequal length\n"
    "  ntprof diff old.pb.gz new.pb.gz --fail-above 5 >/dev/null\n"
    "  [ $? -eq 1 ] && echo slower              125 is a failure\n"
    "\n"
    "usage: ntprof diff [options] [[OLD] NEW]\n"
    "\n"
    "Shows what changed, in time or events, and leaves out what chance explains: all\n"
    "rows together show a change where there is none in one of 20 differences at\n"
    "most, and so do their totals, if the profiles have stacks. OLD is NEW.old, and\n"
    "NEW is ntprof.pb.gz, if they are not named.\n";

static const char help_end[] =
    "Exit status: 0; 1 with --fail-above if that happened; 125 if ntprof failed.\n";

static bool
take_fail_above(void *into, const struct options_given *given)
{
    double *const percent = into;

    return (options_percent(given->value, percent) && *percent >= 0) ||
           options_refuse(given, "allowed are percentages from 0 on: 5, 2.5%");
}

static const struct options_row own_rows[] = {
    {"normalize", 0, NULL, "compare shares of all hits", NULL,
     OPTIONS_FLAG(struct diff_arguments, normalize)},
    {"all", 0, NULL, "show rows that chance explains, too", NULL,
     OPTIONS_FLAG(struct diff_arguments, all)},
    {"fail-above", 0, "PERCENT",
     "exit status 1 if a row grew, beyond chance, by more than that of all that OLD "
     "has",
     NULL, OPTIONS_INTO(take_fail_above, struct diff_arguments, fail_above_percent)},
    {0},
};

static const struct options_row view_rows[] = {
    {"by", 0, "KEY[,..]",
     "what a row is: function (default), inline, line, image, address, bucket, "
     "process, thread, cpu, unit",
     ",<compared-key>",
     OPTIONS_INTO(keys_option_take_compared, struct view_options, report.by.keys)},
    {"event", 'e', "SOURCE", "compare only this source", "<source>",
     OPTIONS_TEXT(struct view_options, source)},
    {"image", 0, "GLOB", "only rows of images called so; GLOB may hold * and ?",
     "<file>", OPTIONS_CALL(view_take_filter)},
    {"process", 0, "GLOB", "only rows of processes called so", NULL,
     OPTIONS_CALL(view_take_filter)},
    {"symbol", 0, "GLOB", "only rows of functions called so", NULL,
     OPTIONS_CALL(view_take_filter)},
    {0},
};

const struct options_syntax cmd_diff_options = {
    .command = "diff",
    .help = help,
    .help_end = help_end,
    .groups = {{own_rows, 0},
               {view_rows, offsetof(struct diff_arguments, view)},
               {view_format_rows, offsetof(struct diff_arguments, view)},
               {input_foreign_rows, offsetof(struct diff_arguments, input)},
               {input_rows, offsetof(struct diff_arguments, input)}},
    .words_max = 2,
    .words_too_many = "only two files can be compared: OLD NEW",
    .complete = {"<profile>"},
};

/* Check that rows can be compared by these keys. Returns false after an error line. */
static bool
check_keys(const struct report_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->list[i] == REPORT_BY_SOURCE) {
            return cmd_refuse("diff", "--by source",
                              "each source is compared by itself");
        }
        if (keys->list[i] == REPORT_BY_PID) {
            return cmd_refuse("diff", "--by pid",
                              "process ids of two runs are not those of one "
                              "process: use --by process");
        }
    }
    return true;
}

/* Set both files. One that was not named is the default file, or the older one that
 * pprof_write keeps beside the newer one. Returns false after an error line. */
static bool
complete_files(struct diff_arguments *arguments, const struct options_words *words)
{
    const char *const newer = words->count > 0 ? words->list[0] : CMD_FILE_DEFAULT;

    if (words->count == 2) {
        arguments->files[0] = words->list[0];
        arguments->files[1] = words->list[1];
        return strcmp(arguments->files[0], "-") != 0 ||
               strcmp(arguments->files[1], "-") != 0 ||
               cmd_refuse("diff", "-", "standard input can be read only once");
    }
    if (strcmp(newer, "-") == 0) {
        return cmd_refuse("diff", newer,
                          "what is it to be compared with? Name OLD and NEW");
    }
    if (asprintf(&arguments->old_name, "%s.old", newer) < 0) {
        arguments->old_name = NULL;
        return cmd_refuse("diff", newer, "out of memory");
    }
    arguments->files[0] = arguments->old_name;
    arguments->files[1] = newer;
    return true;
}

int
cmd_diff(int argc, char **argv)
{
    struct diff_arguments arguments = {.view.report.rows = CMD_ROWS_DEFAULT,
                                       .input.stacks = true,
                                       .fail_above_percent = -1};
    struct options_words words;
    int status;

    if (options_take(&cmd_diff_options, argc, argv, &arguments, &words, &status)) {
        status = check_keys(&arguments.view.report.by.keys) &&
                         complete_files(&arguments, &words)
                     ? diff_files(&arguments)
                     : CMD_FAILED;
    }
    free(arguments.old_name);
    free(arguments.view.filters);
    return status;
}
