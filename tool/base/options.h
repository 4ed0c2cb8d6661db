/* SPDX-License-Identifier: MIT */
/*
 * options.h - one table of options for each command. The parser, the help and the
 * completions of shells come from it, so that they cannot differ, and all commands
 * report the same mistake in the same words.
 *
 * Every command also has --help, which stands in no table. No two rows of a command
 * have one name or one letter.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Rows of a table without --rows. */
enum { CMD_ROWS_DEFAULT = 20 };

/* Limits of a table: of its groups, its options, and the words with completions of
 * their own. */
enum { OPTIONS_GROUPS_MAX = 10, OPTIONS_MAX = 64, OPTIONS_WORD_PLACES = 3 };

/* options_given - an option as it stands in a command line. */
struct options_given {
    const char *command;
    const struct options_row *row;
    char *value; /* NULL: none */
};

/* Stores an option of the command line in a member of the command's arguments. Returns
 * false after an error line. */
typedef bool options_take_one(void *into, const struct options_given *given);

/*
 * options_row - an option, or if it has no name a heading of the help, below an empty
 * line; "" is only the line.
 *
 * complete has what shells offer as its value: words with blanks between, of which
 * those in <> stand for what record/offers.c, cli/complete_values.c or the shell finds
 * out. A comma in front: the value is a list.
 */
struct options_row {
    const char *name;     /* without dashes */
    char letter;          /* 0: none */
    const char *value;    /* as the help names it; "[=NAME]": optional; NULL: none */
    const char *help;     /* one paragraph, without line ends */
    const char *complete; /* NULL: nothing */
    options_take_one *take;
    size_t offset; /* of what take writes, in the struct that the group fills */
};

/* The last two members of a row: a function that stores the option somewhere in the
 * arguments or in one member of them, a bool that the option sets, or a text that
 * becomes its value. The compiler reports a bool or text of another type. */
#define OPTIONS_CALL(take) take, 0
#define OPTIONS_INTO(take, type, member) take, offsetof(type, member)
#define OPTIONS_FLAG(type, member) \
    options_take_flag,             \
        offsetof(type, member) + 0 * sizeof((bool *)0 == &((type *)0)->member)
#define OPTIONS_TEXT(type, member) \
    options_take_text,             \
        offsetof(type, member) + 0 * sizeof((const char **)0 == &((type *)0)->member)

options_take_one options_take_flag;
options_take_one options_take_text;

/* Store a number in a size_t; 0 means all, or none. */
options_take_one options_take_count_or_all;
options_take_one options_take_count_or_none;

/* options_group - rows that several commands may share; they end with {0}. */
struct options_group {
    const struct options_row *rows;
    size_t offset; /* of the struct that they fill, in the command's arguments */
};

/* options_syntax - help, options and words of a command. */
struct options_syntax {
    const char *command;  /* such as "run", for messages */
    const char *help;     /* examples, usage, what it does: above the options */
    const char *help_end; /* below them; NULL: nothing */
    struct options_group groups[OPTIONS_GROUPS_MAX + 1]; /* end with {0} */
    size_t words_max; /* limit of the words that are not options */
    /* message if there are more; NULL: no word is allowed */
    const char *words_too_many;
    /* what shells offer as first word and so on, as options_row.complete; what is last
     * is for the rest */
    const char *complete[OPTIONS_WORD_PLACES];
    bool program; /* the words are a command line with its own options */
    /* what help shows, for a command that has other options in another use; NULL: this
     * one */
    const struct options_syntax *shown;
};

/* Return what to type instead of an option that a command does not have. NULL:
 * unknown. */
typedef const char *options_advise(const char *command, const char *word);

/* Have this function asked about unknown options. Called before the first command. */
void options_set_adviser(options_advise *advise);

/* options_words - the words of argv that are not options, in order; moved within
 * argv. */
struct options_words {
    char **list; /* NULL-terminated if it is a program's command line */
    size_t count;
};

/*
 * Read argv into arguments. Returns true if the command has to run; *exit_status is
 * then CMD_FAILED, for a caller that refuses something itself. Returns false after its
 * help or an error line; *exit_status is then that of the command.
 */
bool options_take(const struct options_syntax *syntax, int argc, char **argv,
                  void *arguments, struct options_words *words, int *exit_status);

/* options_cursor - a position in the table of a command. All zero: before the first
 * row. */
struct options_cursor {
    size_t group;
    size_t row; /* the next one */
};

/* Return the next row, or NULL at the end. It belongs to
 * syntax->groups[cursor->group]. */
const struct options_row *options_next(const struct options_syntax *syntax,
                                       struct options_cursor *cursor);

/* Whether an option takes no value, or only one behind an equals sign. */
bool options_has_no_value(const struct options_row *row);
bool options_value_is_optional(const struct options_row *row);

void options_print_help(FILE *out, const struct options_syntax *syntax);

/* Report that a value is refused. Returns false, so that callers can return its
 * value. */
bool options_refuse(const struct options_given *given, const char *why);

/* options_times - the times that an option takes. */
struct options_times {
    uint64_t min_ns;
    uint64_t max_ns;
    const char *refusal; /* such as "not a time above 0; such as 30s, 5m or 10" */
};

/* Parse the value as a time. Returns false after an error line. */
bool options_time(const struct options_given *given, const struct options_times *times,
                  uint64_t *ns);

/* Parse a percentage, with or without its sign, which is a finite number. Returns false
 * if it is none, which the caller reports. */
bool options_percent(const char *value, double *percent);

#endif
