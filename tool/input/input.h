/* SPDX-License-Identifier: MIT */
/* input.h - reads the profile that a word of the command line names, and the options
 * that select what is read of a store. */
#ifndef INPUT_INPUT_H
#define INPUT_INPUT_H

#include "base/options.h"
#include "store/store.h"

enum {
    INPUT_SINCE = 0x400, /* above each command's own */
    INPUT_UNTIL,
    INPUT_HOST,
    INPUT_UNIT,
    INPUT_LABEL,
    INPUT_BUILD_ID,
};

#define INPUT_OPTION_ROWS                                   \
    {"since", required_argument, NULL, INPUT_SINCE},        \
        {"until", required_argument, NULL, INPUT_UNTIL},    \
        {"host", required_argument, NULL, INPUT_HOST},      \
        {"unit", required_argument, NULL, INPUT_UNIT},      \
        {"label", required_argument, NULL, INPUT_LABEL},    \
    {                                                       \
        "build-id", required_argument, NULL, INPUT_BUILD_ID \
    }

/* input_options - what was given of these. All zero: nothing. */
struct input_options {
    struct store_selection selection;
    const char *given; /* the first one, for messages; NULL: none */
};

/* Return whether an option is one of INPUT_OPTION_ROWS. */
bool input_is_option(int option);

/* Handle such an option. Returns false after an error line. */
bool input_set(struct input_options *options, const char *command, int option,
               const char *value);

/* Read a file, or the selection of a store if the word is a URL (store/store.h). The
 * error names it. Returns NULL with the error set on failure, also if options select
 * from a file. */
struct profile *input_read(const char *word, const struct input_options *options,
                           struct pprof_error *error);

#endif
