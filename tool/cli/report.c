/* SPDX-License-Identifier: MIT */
/* cli/report.c - ntprof report: shows a profile file. */
#include "base/progress.h"
#include "cli/cmd.h"
#include "cli/missing_names.h"
#include "cli/terminal.h"
#include "cli/view_options.h"
#include "input/input.h"
#include "profile/pprof.h"
#include "record/collect/symbolize.h"
#include "record/default_output.h"
#include "record/keys_option.h"
#include "symbols/client/names.h"
#include "view/report/tree.h"

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
    struct report_tree tree;
    bool is_tree;         /* the tree is shown, no rows */
    bool direction_given; /* of the tree; else a relation decides */
    bool minimum_given;
    const char **skipped; /* backs view.report.by.relation.skipped; to be freed */
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

/* Takes --callers-of or --callees-of. */
static bool
take_relation(void *into, const struct options_given *given)
{
    struct report_relation *const relation = into;

    if (relation->glob != NULL) {
        return cmd_refuse(
            given->command, "--callers-of, --callees-of",
            "only one of them, once; the glob can match several functions");
    }
    relation->kind =
        strcmp(given->row->name, "callers-of") == 0 ? REPORT_CALLERS : REPORT_CALLEES;
    relation->glob = given->value;
    return true;
}

/* Take --skip-image, which may be given several times. */
static bool
take_skipped(void *into, const struct options_given *given)
{
    struct arguments *const arguments = into;
    struct report_relation *const relation = &arguments->view.report.by.relation;
    const char **const skipped =
        reallocarray(arguments->skipped, relation->skipped_count + 1, sizeof(*skipped));

    if (skipped == NULL) {
        return cmd_refuse(given->command, given->value, "out of memory");
    }
    skipped[relation->skipped_count++] = given->value;
    arguments->skipped = skipped;
    relation->skipped = skipped;
    return true;
}

/* Takes --tree or --tree=DIRECTION. */
static bool
take_tree(void *into, const struct options_given *given)
{
    struct arguments *const arguments = into;
    const bool up = given->value != NULL && strcmp(given->value, "up") == 0;

    if (given->value != NULL && !up && strcmp(given->value, "down") != 0) {
        return options_refuse(given, "allowed are down and up");
    }
    arguments->is_tree = true;
    arguments->direction_given = given->value != NULL;
    arguments->tree.direction = up ? CALL_TREE_UP : CALL_TREE_DOWN;
    return true;
}

static bool
take_minimum(void *into, const struct options_given *given)
{
    struct arguments *const arguments = into;
    double percent;

    if (!options_percent(given->value, &percent) || percent < 0 || percent > 100) {
        return options_refuse(given, "allowed are percentages: 1%, 0.02%, 0 for all");
    }
    arguments->tree.minimum = percent / 100;
    arguments->minimum_given = true;
    return true;
}

static const struct options_row stack_rows[] = {
    {.help = "Of a profile with call stacks (ntprof run -g):"},
    {"callers-of", 0, "GLOB", "rows are what calls functions whose name matches", NULL,
     OPTIONS_INTO(take_relation, struct arguments, view.report.by.relation)},
    {"callees-of", 0, "GLOB", "rows are what functions whose name matches call", NULL,
     OPTIONS_INTO(take_relation, struct arguments, view.report.by.relation)},
    {"tree", 0, "[=DIRECTION]",
     "as a tree: down from the outermost functions, or up from those with hits to "
     "their callers; with the options above, of their function",
     "down up", OPTIONS_CALL(take_tree)},
    {"min", 0, "PERCENT",
     "with it: functions with less of all hits are one line (default 0.5%)", NULL,
     OPTIONS_CALL(take_minimum)},
    {"skip-image", 0, "GLOB",
     "with them: pass over functions of images that match, such as 'libc.so*'; "
     "repeatable",
     "<file>", OPTIONS_CALL(take_skipped)},
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
               {stack_rows, 0},
               {input_foreign_rows, offsetof(struct arguments, input)},
               {input_rows, offsetof(struct arguments, input)}},
    .words_max = 1,
    .words_too_many = "only one FILE can be shown",
    .complete = {"<profile>"},
};

static enum call_tree_direction
direction_of(const struct report_relation *relation)
{
    return relation->kind == REPORT_CALLERS ? CALL_TREE_UP : CALL_TREE_DOWN;
}

/* Check that options which need another one have it, and do not contradict it. Returns
 * false after an error line. */
static bool
check(const struct arguments *arguments)
{
    const struct report_relation *const relation = &arguments->view.report.by.relation;

    if (relation->skipped_count > 0 && relation->glob == NULL && !arguments->is_tree) {
        return cmd_refuse("report", "--skip-image",
                          "needs --callers-of, --callees-of or --tree");
    }
    if (arguments->minimum_given && !arguments->is_tree) {
        return cmd_refuse("report", "--min", "needs --tree");
    }
    if (arguments->direction_given && relation->glob != NULL &&
        arguments->tree.direction != direction_of(relation)) {
        return cmd_refuse("report", "--tree",
                          "callers are up, callees down: leave the direction out");
    }
    if (arguments->symbolize ||
        (arguments->output == NULL && !arguments->names.download)) {
        return true;
    }
    return cmd_refuse("report", arguments->output != NULL ? "-o" : "--debuginfod",
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

static bool
print_tree(const struct arguments *arguments, const struct profile *profile,
           const struct report_options *options)
{
    struct report_tree tree = arguments->tree;

    if (options->by.relation.glob != NULL) {
        tree.direction = direction_of(&options->by.relation);
    }
    return report_print_tree(stdout, profile, options, &tree);
}

/* Read the profile and print rows of it or the tree. Returns the exit status. */
static int
show(const struct arguments *arguments)
{
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
    options.ready = progress_end_for_output;
    options.advise = missing_names_advise;
    if ((arguments->symbolize && !add_names(profile, arguments)) ||
        !view_options_choose(&arguments->view, "report", profile)) {
        status = CMD_FAILED; /* the error was printed */
    } else if (!(arguments->is_tree
                     ? report_check_tree(profile, &options, why, sizeof(why))
                     : report_check(profile, &options, why, sizeof(why)))) {
        status = cmd_fail("report", "%s", why);
    } else {
        progress_report_file("adding up", arguments->file);
        errno = 0;
        status = terminal_status(
            "report", arguments->is_tree ? print_tree(arguments, profile, &options)
                                         : report_print(stdout, profile, &options));
    }
    profile_delete(profile);
    return status;
}

int
cmd_report(int argc, char **argv)
{
    struct arguments arguments = {.view.report.rows = CMD_ROWS_DEFAULT,
                                  .input.stacks = true,
                                  .tree.minimum = 0.005};
    struct options_words words;
    int status;

    if (options_take(&cmd_report_options, argc, argv, &arguments, &words, &status)) {
        arguments.file = words.count > 0 ? words.list[0] : CMD_FILE_DEFAULT;
        status = check(&arguments) ? show(&arguments) : CMD_FAILED;
    }
    free(arguments.view.filters);
    free(arguments.skipped);
    return status;
}
