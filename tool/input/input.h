/* SPDX-License-Identifier: MIT */
/* input.h - reads the profile that a word of the command line names, and the options
 * that select what is read of a store or of another tool's file. */
#ifndef INPUT_INPUT_H
#define INPUT_INPUT_H

#include "base/options.h"
#include "store/store.h"

/* input_options - what the options of this file gave. All zero: none was given. */
struct input_options {
    struct store_selection selection;
    const char *given; /* the first option that selects in a store, for messages; NULL:
                        * none */
    /* Which of the values of another tool's file; NULL: those that count. */
    const char *value;
    bool stacks; /* keep stacks; false: rows are summed over them */
};

enum { INPUT_ROWS = 8 };

/* input_rows, input_foreign_rows - options for struct input_options: what selects in a
 * store, and in another tool's file. */
extern const struct options_row input_rows[INPUT_ROWS];
extern const struct options_row input_foreign_rows[];

/* input_select - take a value of input_rows, by the name of its row. Returns false
 * after an error line. */
bool input_select(struct input_options *options, const char *command, const char *name,
                  const char *value);

/* input_read - read a file, or the selection of a store if the word is a URL
 * (store/store.h). Hits of several intervals of a source are added up (profile/join.h).
 * Returns NULL with the error set, which names the file or store; also if options
 * select in a store and the word is a file. */
struct profile *input_read(const char *word, const struct input_options *options,
                           struct pprof_error *error);

/* input_read_plain - read a profile as input_read does, for commands that show neither
 * hits of several intervals nor buckets of several sizes: rows begin where the widest
 * buckets do, and a line on standard error says which units the numbers have. */
struct profile *input_read_plain(const char *command, const char *word,
                                 const struct input_options *options,
                                 struct pprof_error *error);

/* Make that of what input_read returned. */
void input_make_plain(const char *command, struct profile *profile);

/* Print a line for each source with several intervals: what its numbers are in an
 * output that has no place for both hits and what they stand for. */
void input_report_units(const char *command, const struct profile *profile);

/* As input_read, but leave the intervals apart. */
struct profile *input_read_apart(const char *word, const struct input_options *options,
                                 struct pprof_error *error);

#endif
