/* SPDX-License-Identifier: MIT */
/*
 * other_words.h - commands and options of other profilers, mostly perf's, and what to
 * type here instead.
 */
#ifndef CLI_OTHER_WORDS_H
#define CLI_OTHER_WORDS_H

#include "base/suggest.h"

/* command_words - what other tools call commands of ours. */
extern const struct suggest_word command_words[];

/* other_command - return what to type instead of a command of perf; NULL if word is not
 * such a command. */
const char *other_command(const char *word);

/* other_option - return what to type instead of an option of other tools, such as "-i"
 * or "--sort=x", that the command does not have; NULL if word is not such an option. */
const char *other_option(const char *command, const char *word);

/*
 * other_refuse_options - refuse a command line that starts with options instead of a
 * command, and print the line to type instead. argv[0] is the first option; command is
 * the index of a later word that is a command of ours, or 0. May change the order of
 * argv. Returns the exit status.
 */
int other_refuse_options(int argc, char **argv, int command);

#endif
