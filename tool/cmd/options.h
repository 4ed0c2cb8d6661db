/* SPDX-License-Identifier: MIT */
/*
 * options.h - reads the command line of any subcommand, so that the same mistake is
 * told in the same words by all of them.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

/* Values of options without a letter. Each table of options has OPTION_HELP_ROW and
 * ends with {0}. */
enum { OPTION_HELP = 256, OPTION_OWN };

#define OPTION_HELP_ROW                        \
    {                                          \
        "help", no_argument, NULL, OPTION_HELP \
    }

/* options_syntax - what a command takes. */
struct options_syntax {
    const char *command;        /* "run": in messages */
    const struct option *known; /* a value below 256 is the option's letter as well */
    size_t words_max;           /* words that are no options */
    const char *words_too_many; /* why no more of them; NULL: where none is taken */
    bool program; /* the words are a command line, with options of its own */

    /* Called for each option but --help; value is NULL if it has none. False after an
     * error line. NULL: there is no other option. */
    bool (*set)(void *arguments, int option, char *value);
};

/* options_words - those of argv that are no options, in their order; moved within argv.
 */
struct options_words {
    char **list; /* of a program's command line: NULL-terminated */
    size_t count;
};

/*
 * Reads argv. True: the command is to run. False: *exit_status is what it exits with,
 * after its help or an error line.
 */
bool options_take(const struct options_syntax *syntax, int argc, char **argv,
                  void *arguments, struct options_words *words, int *exit_status);

/* The same for a command that takes nothing but --json. */
bool options_take_json(const char *command, int argc, char **argv, bool *json,
                       int *exit_status);

/* A number of things as the value of an option; zero tells what 0 means: "all". False
 * after an error line. */
bool options_count(const char *command, const char *option, const char *value,
                   const char *zero, size_t *count);

#endif
