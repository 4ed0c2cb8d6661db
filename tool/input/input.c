/* SPDX-License-Identifier: MIT */
/* input.c - see input.h. */
#include "input/input.h"

#include "base/clock.h"
#include "base/text.h"
#include "cli/cmd.h"

#include <stdio.h>

static const char *const names[] = {"since", "until", "host",
                                    "unit",  "label", "build-id"};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

bool
input_is_option(int option)
{
    return option >= INPUT_SINCE && option < INPUT_SINCE + NAMES;
}

bool
input_set(struct input_options *options, const char *command, int option,
          const char *value)
{
    const char *const name = names[option - INPUT_SINCE];
    struct pprof_error error;

    options->given = options->given != NULL ? options->given : name;
    if (!store_select(&options->selection, name, value,
                      (int64_t)clock_ns(CLOCK_REALTIME), &error)) {
        cmd_fail(command, "--%s", error.text);
        return false;
    }
    return true;
}

struct profile *
input_read(const char *word, const struct input_options *options,
           struct pprof_error *error)
{
    char shown[128];

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
    return pprof_read(word, error);
}
