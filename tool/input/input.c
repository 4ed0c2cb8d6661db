/* SPDX-License-Identifier: MIT */
/* input.c - checks values of the options, reads a file or a selection of a store, and
 * joins its intervals. */
#include "input/input.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/message.h"
#include "base/progress.h"
#include "base/text.h"
#include "profile/join.h"
#include "view/report/report.h"

#include <stdio.h>

bool
input_select(struct input_options *options, const char *command, const char *name,
             const char *value)
{
    struct pprof_error error;

    options->given = options->given != NULL ? options->given : name;
    if (!store_select(&options->selection, name, value,
                      (int64_t)clock_ns(CLOCK_REALTIME), &error)) {
        cmd_fail(command, "--%s", error.text);
        return false;
    }
    return true;
}

static bool
take_selected(void *into, const struct options_given *given)
{
    return input_select(into, given->command, given->row->name, given->value);
}

static bool
take_value(void *into, const struct options_given *given)
{
    *(const char **)into = given->value;
    return given->value[0] != '\0' || options_refuse(given, "an empty name");
}

const struct options_row input_rows[INPUT_ROWS] = {
    {.help = "Of a store, named by its URL (ntprof help store):"},
    {"since", 0, "TIME", "windows that end after it: 1h (ago), 2026-11-23T10:30",
     "1h 1d 7d", OPTIONS_CALL(take_selected)},
    {"until", 0, "TIME", "windows that start before it", "1h 1d 7d",
     OPTIONS_CALL(take_selected)},
    {"host", 0, "GLOB", "windows of hosts called so", "<host>",
     OPTIONS_CALL(take_selected)},
    {"unit", 0, "GLOB", "rows of systemd units, containers, cgroups called so", NULL,
     OPTIONS_CALL(take_selected)},
    {"label", 0, "KEY=VALUE", "windows with this label; repeatable", NULL,
     OPTIONS_CALL(take_selected)},
    {"build-id", 0, "PREFIX", "rows of images whose build-id starts so", NULL,
     OPTIONS_CALL(take_selected)},
    {0},
};

const struct options_row input_foreign_rows[] = {
    {.help = "Of a file of another tool:"},
    {"value", 0, "NAME",
     "this of its values, such as inuse_space, instead of those that count", NULL,
     OPTIONS_INTO(take_value, struct input_options, value)},
    {0},
};

struct profile *
input_read_apart(const char *word, const struct input_options *options,
                 struct pprof_error *error)
{
    const struct pprof_choice choice = {.value = options->value,
                                        .flat = !options->stacks};
    char shown[128];

    if (store_is_url(word) && options->value != NULL) {
        snprintf(error->text, sizeof(error->text),
                 "%s is a store: --value chooses in files of other tools; -e chooses a "
                 "source",
                 text_show(shown, sizeof(shown), word));
        return NULL;
    }
    if (store_is_url(word)) {
        return store_read_url(word, &options->selection, error);
    }
    if (options->given != NULL) {
        snprintf(error->text, sizeof(error->text),
                 "%s is a file: --%s selects only in a store, named as "
                 "sqlite:PATH",
                 text_show(shown, sizeof(shown), word), options->given);
        return NULL;
    }
    return pprof_read_choice(word, &choice, error);
}

struct profile *
input_read(const char *word, const struct input_options *options,
           struct pprof_error *error)
{
    struct profile *const profile = input_read_apart(word, options, error);
    struct pprof_error why;
    char shown[128];

    if (profile != NULL && !profile_join_intervals(profile, &why)) {
        snprintf(error->text, sizeof(error->text), "%s: %.300s",
                 text_show(shown, sizeof(shown), word), why.text);
        profile_delete(profile);
        return NULL;
    }
    return profile;
}

struct profile *
input_read_plain(const char *command, const char *word,
                 const struct input_options *options, struct pprof_error *error)
{
    struct profile *const profile = input_read(word, options, error);

    if (profile != NULL) {
        input_make_plain(command, profile);
    }
    return profile;
}

void
input_report_units(const char *command, const struct profile *profile)
{
    struct buffer lines = {0};

    report_put_units(&lines, command, profile);
    if (lines.size > 0 && buffer_text(&lines) != NULL) {
        progress_end();
        fputs(buffer_text(&lines), stderr);
    }
    buffer_finish(&lines);
}

void
input_make_plain(const char *command, struct profile *profile)
{
    profile_join_buckets(profile);
    input_report_units(command, profile);
}
