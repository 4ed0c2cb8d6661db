/* SPDX-License-Identifier: MIT */
/* diff_files.c - reads two profiles, and prints what changed between them. */
#include "base/message.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/diff.h"
#include "cli/terminal.h"
#include "view/report/difference.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Exit status with --fail-above if a row grew by more. */
enum { STATUS_GREW = 1 };

/* Read a profile, and check that it has what all keys need. Returns NULL after an error
 * line. */
static struct profile *
read_file(const struct diff_arguments *arguments, const char *path)
{
    const struct report_options keys_alone = {.by.keys =
                                                  arguments->view.report.by.keys};
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
        cmd_refuse("diff", path, why);
        profile_delete(profile);
        profile = NULL;
    }
    return profile;
}

static int
print(const struct diff_arguments *arguments, const struct diff *diff)
{
    int status;

    progress_end_for_output();
    errno = 0;
    status = terminal_status("diff", diff_print(stdout, diff, &arguments->view.report));
    return status == CMD_OK && arguments->fail_above_percent >= 0 &&
                   diff_grew(diff, arguments->fail_above_percent)
               ? STATUS_GREW
               : status;
}

/* Warn if the older file was not named and is of another command: it is what the run
 * before the last wrote, whatever that ran. */
static void
warn_of_other_command(const struct diff_arguments *arguments,
                      const struct profile *old_profile,
                      const struct profile *new_profile)
{
    char old_shown[200];
    char new_shown[200];

    if (arguments->old_name == NULL || old_profile->command[0] == '\0' ||
        new_profile->command[0] == '\0' ||
        strcmp(old_profile->command, new_profile->command) == 0) {
        return;
    }
    cmd_fail(
        "diff",
        "warning: these are runs of different commands, %s and then %s: name OLD and "
        "NEW to compare others",
        text_show(old_shown, sizeof(old_shown), old_profile->command),
        text_show(new_shown, sizeof(new_shown), new_profile->command));
}

/* Whether no row of a store is of the unit, image and build-id that are selected. */
static bool
is_empty(const struct profile *profile)
{
    return profile->rows_selected && profile->row_count == 0;
}

/* Compare the profiles and print the difference. Returns the exit status. */
static int
compare(const struct diff_arguments *arguments, const struct profile *old_profile,
        const struct profile *new_profile)
{
    const struct diff_options options = {.by = arguments->view.report.by,
                                         .rows = arguments->view.report.rows,
                                         .normalize = arguments->normalize,
                                         .all = arguments->all};
    struct diff *diff;
    int status = CMD_FAILED;

    progress_report_file("comparing", arguments->files[1]);
    diff = diff_new(old_profile, new_profile, &options);
    if (diff == NULL) {
        cmd_refuse("diff", arguments->files[1], "out of memory for the difference");
    } else if (diff_source_count(diff) == 0) {
        cmd_refuse(
            "diff", arguments->files[1],
            "has no source that the old profile has in the same unit: ntprof report "
            "--by source lists what each has");
    } else if (is_empty(old_profile) && is_empty(new_profile)) {
        cmd_refuse("diff",
                   "--unit, --build-id, image=", "select no row of either profile");
    } else if (arguments->view.report.by.filter_count > 0 &&
               diff_row_count(diff) == 0) {
        cmd_refuse("diff", "--image, --process, --symbol",
                   "let no row of either profile through");
    } else {
        status = print(arguments, diff);
    }
    diff_delete(diff);
    return status;
}

int
diff_files(struct diff_arguments *arguments)
{
    struct profile *old_profile = read_file(arguments, arguments->files[0]);
    struct profile *new_profile =
        old_profile != NULL ? read_file(arguments, arguments->files[1]) : NULL;
    int status = CMD_FAILED;

    if (new_profile != NULL) {
        warn_of_other_command(arguments, old_profile, new_profile);
        terminal_fit(stdout, &arguments->view.report);
        status = compare(arguments, old_profile, new_profile);
    }
    profile_delete(new_profile);
    profile_delete(old_profile);
    return status;
}
