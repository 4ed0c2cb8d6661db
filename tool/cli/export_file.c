/* SPDX-License-Identifier: MIT */
/* export_file.c - reads a profile, and writes it in the format of another tool. */
#include "base/message.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/whole_file.h"
#include "cli/export.h"
#include "cli/source_choice.h"
#include "view/export/flames.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Report that a profile has no stacks. Returns false. */
static bool
refuse_flames(const char *file, const struct profile *profile)
{
    return cmd_refuse("export", file,
                      profile->of_store
                          ? "stores keep no stacks, so there is no flame graph"
                          : "has no stacks, so there is no flame graph (-g records "
                            "them)");
}

/* Choose the source for a format that holds only one. */
static bool
choose_source(const struct profile *profile, struct export_arguments *arguments)
{
    if (!arguments->format->one_source) {
        return true;
    }
    if (profile->source_count == 0) {
        return cmd_refuse("export", arguments->file,
                          "has no source, so there is nothing to show");
    }
    return arguments->source == NULL ||
           source_choose("export", profile, arguments->source,
                         &arguments->options.source);
}

/* Report the sources that the output lacks, unless one was chosen with -e. */
static void
report_left_out(const struct profile *profile, const struct export_arguments *arguments)
{
    char shown[256];
    char list[512];

    if (arguments->format->one_source && arguments->source == NULL &&
        profile->source_count > 1) {
        cmd_fail("export", "%s holds one source: %s; left out: %s (-e chooses)",
                 arguments->format->name,
                 text_show(shown, sizeof(shown), profile->sources[0].name),
                 source_list(list, sizeof(list), profile, 0));
    }
}

/* Write the profile, whole or not at all. Returns the exit status. */
static int
write_export(const struct profile *profile, const struct export_arguments *arguments)
{
    struct whole_file_error error;
    struct whole_file file;
    struct export_messages messages;

    if (!whole_file_open(&file, arguments->output, "export", &error)) {
        return cmd_fail("export", "%s", error.text);
    }
    progress_report("exporting %s", arguments->format->name);
    if (strcmp(arguments->output, "-") == 0) {
        progress_end_for_output();
    }
    if (!export_write(file.stream, profile, arguments->format, &arguments->options,
                      &messages)) {
        whole_file_discard(&file);
        return cmd_fail("export", "%s", messages.error);
    }
    if (!whole_file_replace(&file, /* keep_it */ false, &error)) {
        /* The reader of a pipe may close it at any time. */
        return errno == EPIPE ? CMD_OK : cmd_fail("export", "%s", error.text);
    }
    report_left_out(profile, arguments);
    if (messages.note[0] != '\0') {
        cmd_fail("export", "%s", messages.note);
    }
    return CMD_OK;
}

/* Check that the output can be written, before any work is done, that it is not what is
 * read, and that only a format of text goes to a terminal. Returns false with the error
 * set. */
static bool
check_output(const struct export_arguments *arguments, struct whole_file_error *error)
{
    char shown[200];

    if (strcmp(arguments->output, "-") == 0) {
        return !arguments->format->unreadable ||
               whole_file_check("-", "form for programs", error);
    }
    if (path_is_same_file(arguments->output, arguments->file) ||
        (arguments->old != NULL &&
         path_is_same_file(arguments->output, arguments->old))) {
        snprintf(error->text, sizeof(error->text),
                 "%s: is the profile itself, which would be lost; name another file",
                 text_show(shown, sizeof(shown), arguments->output));
        return false;
    }
    return whole_file_check(arguments->output, "export", error);
}

/* Read the profile that flame graphs are compared with. Returns NULL after an error
 * line. */
static struct profile *
read_old(const struct export_arguments *arguments)
{
    const struct input_options input = {.value = arguments->input.value,
                                        .stacks = true};
    struct pprof_error error;
    struct profile *old;

    progress_report_file("reading", arguments->old);
    old = input_read(arguments->old, &input, &error);
    if (old == NULL) {
        cmd_fail("export", "%s", error.text);
    } else if (!profile_has_stacks(old)) {
        refuse_flames(arguments->old, old);
        profile_delete(old);
        old = NULL;
    }
    return old;
}

/* Make the flame graphs of a profile with stacks, and sum its rows over them. Returns
 * false after an error line. */
static bool
read_flames(struct profile *profile, struct export_arguments *arguments,
            struct flames *flames)
{
    struct profile *old = NULL;
    bool done;

    if (!profile_has_stacks(profile)) {
        return arguments->old == NULL || refuse_flames(arguments->file, profile);
    }
    if (arguments->old != NULL) {
        old = read_old(arguments);
        if (old == NULL) {
            return false;
        }
    }
    done = flames_read(flames, profile, old) && profile_remove_stacks(profile);
    profile_delete(old);
    arguments->options.flames = flames;
    return done || cmd_refuse("export", arguments->file, "out of memory");
}

int
export_file(struct export_arguments *arguments)
{
    struct whole_file_error unwritable;
    struct flames flames = {0};
    struct pprof_error error;
    struct profile *profile;
    bool done;
    int status;

    if (!check_output(arguments, &unwritable)) {
        return cmd_fail("export", "%s", unwritable.text);
    }
    progress_report_file("reading", arguments->file);
    arguments->input.stacks =
        arguments->format->has_stacks || arguments->format->has_flames;
    arguments->input.selection.needs_row = true;
    profile = input_read(arguments->file, &arguments->input, &error);
    if (profile == NULL) {
        return cmd_fail("export", "%s", error.text);
    }
    done = !arguments->format->has_flames || read_flames(profile, arguments, &flames);
    if (done && strcmp(arguments->format->name, "pprof") != 0) {
        input_make_plain("export", profile);
    }
    status = done && choose_source(profile, arguments)
                 ? write_export(profile, arguments)
                 : CMD_FAILED;
    flames_finish(&flames);
    profile_delete(profile);
    return status;
}
