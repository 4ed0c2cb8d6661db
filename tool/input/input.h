/* SPDX-License-Identifier: MIT */
/* input.h - reads the profile that a word of the command line names, and the options
 * that select what is read of a store or of another tool's file. */
#ifndef INPUT_INPUT_H
#define INPUT_INPUT_H

#include "base/options.h"
#include "store/store.h"

/* input_options - what was given of these. All zero: nothing. */
struct input_options {
    struct store_selection selection;
    const char *given; /* the first one of a store, for messages; NULL: none */
    const char
        *value;  /* which of the values of another tool's file; NULL: its counts */
    bool stacks; /* keep them; otherwise input_read sums over them */
};

enum { INPUT_ROWS = 8 };

/* Options for struct input_options: what selects in a store, and in another tool's
 * file. */
extern const struct options_row input_rows[INPUT_ROWS];
extern const struct options_row input_foreign_rows[];

/* Take a value of input_rows, by the name of its row. Returns false after an error
 * line. */
bool input_select(struct input_options *options, const char *command, const char *name,
                  const char *value);

/* Read a file, or the selection of a store if the word is a URL (store/store.h). The
 * error names it. Returns NULL with the error set on failure, also if options select
 * from a file. Hits of several intervals are added up (profile/join.h). */
struct profile *input_read(const char *word, const struct input_options *options,
                           struct pprof_error *error);

/* Read a profile for what shows neither hits of several intervals nor buckets of
 * several sizes: rows begin where the widest buckets do, and a line says what numbers
 * are. */
struct profile *input_read_plain(const char *command, const char *word,
                                 const struct input_options *options,
                                 struct pprof_error *error);

/* As input_read, but leave the intervals apart. */
struct profile *input_read_apart(const char *word, const struct input_options *options,
                                 struct pprof_error *error);

#endif
