/* SPDX-License-Identifier: MIT */
/* cli/diff.c - ntprof diff: what changed between two profiles. */
#include "base/progress.h"
#include "cli/cmd.h"
#include "cli/terminal.h"
#include "cli/view_options.h"
#include "input/input.h"
#include "profile/difference.h"
#include "profile/pprof.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPTION_NORMALIZE = OPTION_BEHIND_VIEW,
    OPTION_ALL,
    OPTION_FAIL_ABOVE,
    STATUS_GREW = 1, /* with --fail-above */
};

static const struct option LONG_OPTIONS[] = {
    VIEW_OPTION_ROWS,
    INPUT_OPTION_ROWS,
    {"normalize", no_argument, NULL, OPTION_NORMALIZE},
    {"all", no_argument, NULL, OPTION_ALL},
    {"fail-above", required_argument, NULL, OPTION_FAIL_ABOVE},
    OPTION_HELP_ROW,
    {0},
};

struct arguments {
    struct view_options view;
    struct input_options input;
    bool normalize;
    bool all;
    const char *files[2];
    char *old_name;            /* FILE.old, allocated; NULL: both files were named */
    double fail_above_percent; /* negative: not given */
};

/* Print an error line. Returns false, so that callers can return its value. */
static bool
fail(const char *about, const char *why)
{
    return cmd_refuse("diff", about, why);
}

/* Parse a percentage, with or without its sign. */
static bool
set_fail_above(struct arguments *arguments, const char *text)
{
    char *end;
    const double percent = strtod(text, &end);

    if (end == text || (*end != '\0' && strcmp(end, "%") != 0) || !isfinite(percent) ||
        percent < 0) {
        return cmd_refuse_value("diff", "--fail-above", text,
                                "allowed are percentages from 0 on: 5, 2.5%");
    }
    arguments->fail_above_percent = percent;
    return true;
}

static bool
set_option(void *context, int option, char *value)
{
    struct arguments *const arguments = context;

    switch (option) {
    case OPTION_NORMALIZE:
        arguments->normalize = true;
        return true;
    case OPTION_ALL:
        arguments->all = true;
        return true;
    case OPTION_FAIL_ABOVE:
        return set_fail_above(arguments, value);
    default:
        return input_is_option(option)
                   ? input_set(&arguments->input, "diff", option, value)
                   : view_options_set(&arguments->view, "diff", option, value);
    }
}

static const struct options_syntax syntax = {
    .command = "diff",
    .known = LONG_OPTIONS,
    .words_max = 2,
    .words_too_many = "only two files can be compared: OLD NEW",
    .set = set_option,
};

static bool
check_keys(const struct report_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->list[i] == REPORT_BY_SOURCE) {
            return fail("--by source", "each source is compared by itself");
        }
    }
    return true;
}

/* Use the file that pprof_write keeps in place of one that was not named. */
static bool
complete_files(struct arguments *arguments, const struct options_words *words)
{
    const char *const newer = words->count > 0 ? words->list[0] : CMD_FILE_DEFAULT;

    if (words->count == 2) {
        arguments->files[0] = words->list[0];
        arguments->files[1] = words->list[1];
        return strcmp(arguments->files[0], "-") != 0 ||
               strcmp(arguments->files[1], "-") != 0 ||
               fail("-", "standard input can be read only once");
    }
    if (strcmp(newer, "-") == 0) {
        return fail(newer, "what is it to be compared with? Name OLD and NEW");
    }
    if (asprintf(&arguments->old_name, "%s.old", newer) < 0) {
        arguments->old_name = NULL;
        return fail(newer, "out of memory");
    }
    arguments->files[0] = arguments->old_name;
    arguments->files[1] = newer;
    return true;
}

/* Read a profile, which must have the data for all keys. */
static struct profile *
read_file(const struct arguments *arguments, const char *path)
{
    const struct report_options keys_alone = {.keys = arguments->view.report.keys};
    struct pprof_error error;
    struct profile *profile;
    char why[256];

    progress_report_file("reading", path);
    profile = input_read(path, &arguments->input, &error);
    if (profile == NULL) {
        const char *const old = arguments->old_name; /* NULL: the file was named */
        const bool missing = old != NULL && path == old && access(old, F_OK) != 0;

        cmd_fail("diff", "%s%s", error.text,
                 missing
                     ? "; it is what a second run keeps of the first: run twice, or "
                       "name OLD and NEW"
                     : "");
    } else if (!view_options_choose(&arguments->view, "diff", profile)) {
        profile_delete(profile);
        profile = NULL;
    } else if (!report_check(profile, &keys_alone, why, sizeof(why))) {
        fail(path, why);
        profile_delete(profile);
        profile = NULL;
    }
    return profile;
}

static int
print(const struct arguments *arguments, const struct diff *diff)
{
    progress_end_for_output();
    errno = 0;
    if (!diff_print(stdout, diff) && errno != EPIPE) {
        return cmd_fail("diff", "cannot write to standard output: %s",
                        strerror(errno != 0 ? errno : ENOMEM));
    }
    return arguments->fail_above_percent >= 0 &&
                   diff_grew(diff, arguments->fail_above_percent)
               ? STATUS_GREW
               : CMD_OK;
}

static int
compare(const struct arguments *arguments, const struct profile *old_profile,
        const struct profile *new_profile)
{
    const struct diff_options options = {.report = arguments->view.report,
                                         .normalize = arguments->normalize,
                                         .all = arguments->all};
    struct diff *diff;
    int status = CMD_FAILED;

    progress_report_file("comparing", arguments->files[1]);
    diff = diff_new(old_profile, new_profile, &options);
    if (diff == NULL) {
        fail(arguments->files[1], "out of memory for the difference");
    } else if (diff_source_count(diff) == 0) {
        fail(arguments->files[1],
             "has no source that the old profile has: ntprof report --by source lists "
             "what each has");
    } else if (arguments->view.report.filter_count > 0 && diff_row_count(diff) == 0) {
        fail("--image, --process, --symbol", "let no row of either profile through");
    } else {
        status = print(arguments, diff);
    }
    diff_delete(diff);
    return status;
}

static int
run(struct arguments *arguments)
{
    struct profile *old_profile = read_file(arguments, arguments->files[0]);
    struct profile *new_profile =
        old_profile != NULL ? read_file(arguments, arguments->files[1]) : NULL;
    int status = CMD_FAILED;

    if (new_profile != NULL) {
        terminal_fit(stdout, &arguments->view.report);
        status = compare(arguments, old_profile, new_profile);
    }
    profile_delete(new_profile);
    profile_delete(old_profile);
    return status;
}

int
cmd_diff(int argc, char **argv)
{
    struct arguments arguments = {.fail_above_percent = -1};
    struct options_words words;
    int status;

    view_options_init(&arguments.view, false);
    if (options_take(&syntax, argc, argv, &arguments, &words, &status)) {
        status = check_keys(&arguments.view.report.keys) &&
                         complete_files(&arguments, &words)
                     ? run(&arguments)
                     : CMD_FAILED;
    }
    free(arguments.old_name);
    view_options_finish(&arguments.view);
    return status;
}
