/* SPDX-License-Identifier: MIT */
/*
 * complete.h - what shells offer at a place of a command line, from the tables of
 * options. The scripts in completions/ ask for it:
 *
 *   ntprof --complete WORD...
 *
 * The words are those behind ntprof, up to the one that is completed, which may be
 * empty. The answer has a line for each candidate, the whole word with a tab and its
 * meaning if there is one; the shell leaves out those that do not begin as the word
 * does. Lines of the following forms ask the shell to add its own:
 *
 *   :file N :folder N :profile N :host N :executable N
 *                for what is behind the first N bytes of the word, which are an option
 *   :program N   word N, counted from ntprof as 0, begins the command line of a program
 *
 * Words, and candidates, are what the command gets: the shell takes quotes off words,
 * and puts them around candidates.
 */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

/* complete_words - answer a request; argv[0] is --complete. Returns the exit status. */
int complete_words(int argc, char **argv);

/*
 * complete_values - print candidates for a value.
 *
 *   before  what the word has in front of the value
 *   value   the part of the value that was typed
 *   kinds   as options_row.complete, may be NULL
 */
void complete_values(const char *before, const char *value, const char *kinds);

/* complete_print - print one candidate: the whole word, and its meaning unless NULL. */
void complete_print(const char *before, const char *word, const char *meaning);

#endif
