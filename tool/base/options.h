/* SPDX-License-Identifier: MIT */
/*
 * options.h - reads the command line of any subcommand, so that all of them report the
 * same mistake in the same words.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First values of options without a letter. Each table of options contains
 * OPTION_HELP_ROW and ends with {0}. */
enum { OPTION_HELP = 256, OPTION_OWN };

#define OPTION_HELP_ROW                        \
    {                                          \
        "help", no_argument, NULL, OPTION_HELP \
    }

/* options_syntax - options and words of a command. */
struct options_syntax {
    const char *command;        /* such as "run", for messages */
    const struct option *known; /* a value below 256 is also the option's letter */
    size_t words_max;           /* limit of the words that are not options */
    /* message if there are more; NULL: no word is allowed */
    const char *words_too_many;
    bool program; /* the words are a command line with its own options */

    /* Called for each option except --help; value is NULL if it has none. Returns false
     * after an error line. NULL: there are no other options. */
    bool (*set)(void *arguments, int option, char *value);
};

/* options_words - the words of argv that are not options, in order; moved within
 * argv. */
struct options_words {
    char **list; /* NULL-terminated if it is a program's command line */
    size_t count;
};

/*
 * Read argv. Returns true if the command has to run. Returns false after its help or an
 * error line; *exit_status is then the exit status.
 */
bool options_take(const struct options_syntax *syntax, int argc, char **argv,
                  void *arguments, struct options_words *words, int *exit_status);

/* Do the same for a command whose only option is --json. */
bool options_take_json(const char *command, int argc, char **argv, bool *json,
                       int *exit_status);

/* Parse a number as the value of an option; zero is the meaning of 0, such as "all".
 * Returns false after an error line. */
bool options_count(const char *command, const char *option, const char *value,
                   const char *zero, size_t *count);

/* options_times - the times that an option takes. */
struct options_times {
    uint64_t min_ns;
    uint64_t max_ns;
    const char *refusal; /* such as "not a time above 0; such as 30s, 5m or 10" */
};

/* Parse a time as the value of an option. Returns false after an error line. */
bool options_time(const char *command, const char *option, const char *value,
                  const struct options_times *times, uint64_t *ns);

#endif
