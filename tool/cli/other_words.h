/* SPDX-License-Identifier: MIT */
/*
 * other_words.h - commands and options of other profilers, mostly perf's, and what to
 * type here instead.
 */
#ifndef CLI_OTHER_WORDS_H
#define CLI_OTHER_WORDS_H

#include "base/suggest.h"

/* What other tools call commands of ours. */
extern const struct suggest_word command_words[];

/* What to type instead of a command of perf; NULL if word is not such a command. */
const char *other_command(const char *word);

/* What to type instead of an option of other tools, such as "-i" or "--sort=x", that
 * the command does not have; NULL if word is not such an option. */
const char *other_option(const char *command, const char *word);

/*
 * Print the line to type for one that starts with options instead of a command. argv[0]
 * is the first option; command is the place of a later word that is a command of ours,
 * or 0. May change the order of argv. Returns the exit status.
 */
int other_refuse_options(int argc, char **argv, int command);

#endif
