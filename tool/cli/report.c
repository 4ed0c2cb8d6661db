/* SPDX-License-Identifier: MIT */
/* cli/report.c - ntprof report: shows a profile file. */
#include "base/progress.h"
#include "cli/cmd.h"
#include "cli/missing_names.h"
#include "cli/stack_options.h"
#include "cli/terminal.h"
#include "cli/view_options.h"
#include "input/input.h"
#include "profile/pprof.h"
#include "record/collect/symbolize.h"
#include "record/default_output.h"
#include "record/keys_option.h"
#include "symbols/client/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Examples\n"
    "  ntprof report                            ntprof.pb.gz by function\n"
    "  ntprof report old.pb.gz --by image       where, roughly\n"
    "  ntprof report --by process,function --image 'libc.so*'   whose hits there\n"
    "  ntprof report --callers-of malloc --skip-image 'libc.so*'   who allocates\n"
    "  ntprof report --tree --min 2%            what calls what\n"
    "  ntprof report --rows 0 --csv > all.csv   everything, for a spreadsheet\n"
    "  ntprof report --symbolize -o new.pb.gz p.pb.gz   add names to a profile\n"
    "\n"
    "usage: ntprof report [options] [FILE]\n";

struct arguments {
    struct view_options view;
    struct stack_options stacks;
    struct input_options input;
    const char *file;
    const char *output; /* NULL: do not write the profile */
    struct names_options names;
    bool symbolize;
};

static const struct options_row view_rows[] = {
    {"by", 0, "KEY[,KEY..]",
     "what a row is: function (default), inline (innermost, where it was inlined), "
     "line, image, address, bucket, process, thread, cpu, unit, source; or several",
     ",<key>", OPTIONS_INTO(keys_option_take, struct view_options, report.by.keys)},
    {"event", 'e', "SOURCE", "only hits of this source", "<source>",
     OPTIONS_TEXT(struct view_options, source)},
    {"image", 0, "GLOB",
     "only images whose path or file name matches, or whose build-id starts so; "
     "repeatable, as are the next two",
     "<file>", OPTIONS_CALL(view_take_filter)},
    {"process", 0, "GLOB", "only processes whose name matches", NULL,
     OPTIONS_CALL(view_take_filter)},
    {"symbol", 0, "GLOB", "only functions whose name matches", NULL,
     OPTIONS_CALL(view_take_filter)},
    {0},
};

static const struct options_row own_rows[] = {
    {"verbose", 'v', NULL, "below the table: the back end, rates and all sums", NULL,
     OPTIONS_FLAG(struct arguments, view.report.verbose)},
    {"symbolize", 0, NULL,
     "look for names and lines that the profile lacks, in files of this machine", NULL,
     OPTIONS_FLAG(struct arguments, symbolize)},
    {"debuginfod", 0, "[=URL]",
     "with it: get debug files from servers; also if the variable DEBUGINFOD_URLS is "
     "set",
     NULL, OPTIONS_INTO(names_take_debuginfod, struct arguments, names)},
    {"no-cache", 0, NULL,
     "with it: unpack debug sections anew, and keep none for later", NULL,
     OPTIONS_FLAG(struct arguments, names.no_cache)},
    {"output", 'o', "FILE", "with it: write the profile with its names", "<file>",
     OPTIONS_TEXT(struct arguments, output)},
    {0},
};

const struct options_syntax cmd_report_options = {
    .command = "report",
    .help = help,
    .groups = {{view_rows, offsetof(struct arguments, view)},
               {view_format_rows, offsetof(struct arguments, view)},
               {own_rows, 0},
               {stack_option_rows, offsetof(struct arguments, stacks)},
               {input_foreign_rows, offsetof(struct arguments, input)},
               {input_rows, offsetof(struct arguments, input)}},
    .words_max = 1,
    .words_too_many = "only one FILE can be shown",
    .complete = {"<profile>"},
};

/* Check that options which need another one have it. Returns false after an error
 * line. */
static bool
check(struct arguments *arguments)
{
    if (!stack_options_finish(&arguments->stacks, "report")) {
        return false;
    }
    if (arguments->symbolize ||
        (arguments->output == NULL && !arguments->names.download &&
         !arguments->names.no_cache)) {
        return true;
    }
    return cmd_refuse("report",
                      arguments->output != NULL   ? "-o"
                      : arguments->names.download ? "--debuginfod"
                                                  : "--no-cache",
                      "needs --symbolize");
}

/* Add names to the profile, and write it if -o was given. Returns false after an error
 * line. */
static bool
add_names(struct profile *profile, const struct arguments *arguments)
{
    struct symbolize_statistics statistics;
    struct pprof_error error;
    bool done = symbolize_for_command("report", arguments->file, &arguments->names,
                                      profile, &statistics);

    profile->symbolized = true;
    if (done && arguments->output != NULL) {
        progress_report_file("writing", arguments->output);
        done = pprof_write(profile, arguments->output, &error) ||
               cmd_refuse("report", "-o", error.text);
    }
    return done;
}

/* Check that -o can be written, before any work is done. Returns false after an error
 * line. */
static bool
check_output(const struct arguments *arguments)
{
    struct pprof_error error;

    if (arguments->output == NULL) {
        return true;
    }
    if (strcmp(arguments->output, "-") == 0) {
        return cmd_refuse("report", "-o -",
                          "standard output has the report; name a file");
    }
    return pprof_check_writable(arguments->output, &error) ||
           cmd_refuse("report", "-o", error.text);
}

/* Read the profile and print rows of it or the tree. Returns the exit status. */
static int
show(const struct arguments *arguments)
{
    const struct stack_options *const stacks = &arguments->stacks;
    struct report_options options = arguments->view.report;
    struct pprof_error error;
    struct profile *profile;
    char why[512];
    int status = CMD_FAILED;

    if (!check_output(arguments)) {
        return CMD_FAILED;
    }
    progress_report_file("reading", arguments->file);
    profile = input_read(arguments->file, &arguments->input, &error);
    if (profile == NULL) {
        return cmd_fail("report", "%s", error.text);
    }
    terminal_fit(stdout, &options);
    options.by.relation = stacks->relation;
    options.ready = progress_end_for_output;
    options.advise = missing_names_advise;
    if ((arguments->symbolize && !add_names(profile, arguments)) ||
        !view_options_choose(&arguments->view, "report", profile)) {
        status = CMD_FAILED; /* the error was printed */
    } else if (!(stacks->is_tree
                     ? report_check_tree(profile, &options, why, sizeof(why))
                     : report_check(profile, &options, why, sizeof(why)))) {
        status = cmd_fail("report", "%s", why);
    } else {
        if (stacks->is_tree) {
            input_report_units("report", profile);
        }
        progress_report_file("adding up", arguments->file);
        errno = 0;
        status = terminal_status(
            "report", stacks->is_tree
                          ? report_print_tree(stdout, profile, &options, &stacks->tree)
                          : report_print(stdout, profile, &options));
    }
    profile_delete(profile);
    return status;
}

int
cmd_report(int argc, char **argv)
{
    struct arguments arguments = {.view.report.rows = CMD_ROWS_DEFAULT,
                                  .stacks = STACK_OPTIONS_DEFAULT,
                                  .input.stacks = true,
                                  .input.selection.needs_row = true};
    struct options_words words;
    int status;

    if (options_take(&cmd_report_options, argc, argv, &arguments, &words, &status)) {
        arguments.file = words.count > 0 ? words.list[0] : CMD_FILE_DEFAULT;
        status = check(&arguments) ? show(&arguments) : CMD_FAILED;
    }
    free(arguments.view.filters);
    free(arguments.stacks.skipped);
    return status;
}
