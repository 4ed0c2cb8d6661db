/* SPDX-License-Identifier: MIT */
/* cli/report.c - ntprof report: shows a profile file. */
#include "base/progress.h"
#include "cli/cmd.h"
#include "cli/terminal.h"
#include "cli/view_options.h"
#include "input/input.h"
#include "profile/pprof.h"
#include "record/collect/symbolize.h"
#include "symbols/client/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_SYMBOLIZE = OPTION_BEHIND_VIEW, OPTION_DEBUGINFOD };

static const struct option LONG_OPTIONS[] = {
    VIEW_OPTION_ROWS,
    INPUT_OPTION_ROWS,
    {"symbolize", no_argument, NULL, OPTION_SYMBOLIZE},
    {"debuginfod", optional_argument, NULL, OPTION_DEBUGINFOD},
    {"output", required_argument, NULL, 'o'},
    OPTION_HELP_ROW,
    {0},
};

struct arguments {
    struct view_options view;
    struct input_options input;
    const char *file;
    const char *output; /* NULL: do not write the profile */
    struct names_options names;
    bool symbolize;
};

/* Print an error line. Returns false, so that callers can return its value. */
static bool
fail(const char *about, const char *why)
{
    return cmd_refuse("report", about, why);
}

static bool
set_option(void *context, int option, char *value)
{
    struct arguments *const arguments = context;

    switch (option) {
    case OPTION_SYMBOLIZE:
        arguments->symbolize = true;
        return true;
    case OPTION_DEBUGINFOD:
        arguments->names.download = true;
        arguments->names.urls = value;
        return true;
    case 'o':
        arguments->output = value;
        return true;
    default:
        return input_is_option(option)
                   ? input_set(&arguments->input, "report", option, value)
                   : view_options_set(&arguments->view, "report", option, value);
    }
}

static const struct options_syntax syntax = {
    .command = "report",
    .known = LONG_OPTIONS,
    .words_max = 1,
    .words_too_many = "only one FILE can be shown",
    .set = set_option,
};

static bool
check(const struct arguments *arguments)
{
    if (arguments->symbolize ||
        (arguments->output == NULL && !arguments->names.download)) {
        return true;
    }
    return fail(arguments->output != NULL ? "-o" : "--debuginfod", "needs --symbolize");
}

static int
print(const struct profile *profile, const struct report_options *options)
{
    errno = 0;
    if (report_print(stdout, profile, options)) {
        return CMD_OK;
    }
    if (errno == EPIPE) {
        return CMD_OK; /* the reader of the pipe closed it */
    }
    return cmd_fail("report", "cannot write to standard output: %s",
                    strerror(errno != 0 ? errno : ENOMEM));
}

/* Add names, and write the profile with them if -o was given. */
static bool
add_names(struct profile *profile, const struct arguments *arguments)
{
    struct symbolize_statistics statistics;
    struct pprof_error error;
    struct names names;
    bool done = names_open(&names, "report", &arguments->names, false);

    if (done) {
        names_begin(&names);
        done = symbolize(profile, &names.settings, &statistics) ||
               fail(arguments->file, "out of memory for its names");
        names_end(&names);
    }
    names_close(&names);
    if (done && arguments->output != NULL) {
        progress_report_file("writing", arguments->output);
        done =
            pprof_write(profile, arguments->output, &error) || fail("-o", error.text);
    }
    return done;
}

/* Check that the profile with its names can be written, before any work is done. */
static bool
check_output(const struct arguments *arguments)
{
    struct pprof_error error;

    if (arguments->output == NULL) {
        return true;
    }
    if (strcmp(arguments->output, "-") == 0) {
        return fail("-o -", "standard output has the report; name a file");
    }
    return pprof_check_writable(arguments->output, &error) || fail("-o", error.text);
}

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
    if ((arguments->symbolize && !add_names(profile, arguments)) ||
        !view_options_choose(&arguments->view, "report", profile)) {
        status = CMD_FAILED; /* the error was printed */
    } else if (!report_check(profile, &options, why, sizeof(why))) {
        status = cmd_fail("report", "%s", why);
    } else {
        progress_report_file("adding up", arguments->file);
        status = print(profile, &options);
    }
    profile_delete(profile);
    return status;
}

int
cmd_report(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct options_words words;
    int status;

    view_options_init(&arguments.view, true);
    if (options_take(&syntax, argc, argv, &arguments, &words, &status)) {
        arguments.file = words.count > 0 ? words.list[0] : CMD_FILE_DEFAULT;
        status = check(&arguments) ? show(&arguments) : CMD_FAILED;
    }
    view_options_finish(&arguments.view);
    return status;
}
