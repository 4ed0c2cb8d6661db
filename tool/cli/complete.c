/* SPDX-License-Identifier: MIT */
/* complete.c - finds out what stands at a place of a command line: a command, an
 * option, its value or another word. */
#include "cli/complete.h"
#include "cli/cmd.h"

#include <stdio.h>
#include <string.h>

/* place - what the words before the completed one lead to. */
struct place {
    const struct options_row *row; /* its value is expected; NULL: none */
    size_t words;                  /* that are no options */
    bool no_options;               /* behind -- */
    int program;                   /* the word that begins a program; 0: none */
};

void
complete_print(const char *before, const char *word, const char *meaning)
{
    /* A name that reads as more lines, or as a request to the shell, is left out. */
    for (const char *at = word; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            return;
        }
    }
    if (before[0] == '\0' && word[0] == ':') {
        return;
    }
    printf("%s%s%s%s\n", before, word, meaning != NULL ? "\t" : "",
           meaning != NULL ? meaning : "");
}

static bool
needs_value(const struct options_row *row)
{
    return row != NULL && !options_has_no_value(row) && !options_value_is_optional(row);
}

/* Find an option by its letter, or if that is 0 by its name. */
static const struct options_row *
find_option(const struct options_syntax *syntax, char letter, const char *name,
            size_t length)
{
    struct options_cursor cursor = {0};
    const struct options_row *row;

    while ((row = options_next(syntax, &cursor)) != NULL) {
        if (row->name != NULL &&
            (letter != 0 ? row->letter == letter
                         : strlen(row->name) == length &&
                               strncmp(row->name, name, length) == 0)) {
            return row;
        }
    }
    return NULL;
}

/* Return the option whose value is the word behind this one, or NULL. */
static const struct options_row *
expects_value(const struct options_syntax *syntax, const char *word)
{
    const struct options_row *row = NULL;

    if (word[1] == '-') {
        row = find_option(syntax, 0, word + 2, strlen(word + 2));
        return needs_value(row) ? row : NULL;
    }
    for (word++; *word != '\0'; word++) {
        row = find_option(syntax, *word, NULL, 0);
        if (needs_value(row)) {
            return word[1] == '\0' ? row : NULL; /* the rest of the word is the value */
        }
    }
    return NULL;
}

static bool
is_option(const struct place *place, const char *word)
{
    return !place->no_options && word[0] == '-' && word[1] != '\0';
}

/* Read the words behind the command, but the last one. */
static void
find_place(const struct options_syntax *syntax, int argc, char **argv,
           struct place *place)
{
    for (int i = 2; i < argc - 1 && place->program == 0; i++) {
        if (place->row != NULL) {
            place->row = NULL; /* this was its value */
        } else if (!is_option(place, argv[i])) {
            place->words++;
            place->program = syntax->program ? i : 0;
        } else if (strcmp(argv[i], "--") == 0) {
            place->no_options = true;
            place->program = syntax->program ? i + 1 : 0;
        } else {
            place->row = expects_value(syntax, argv[i]);
        }
    }
}

static void
print_options(const struct options_syntax *syntax)
{
    struct options_cursor cursor = {0};
    const struct options_row *row;
    char letter[] = "-x";

    while ((row = options_next(syntax, &cursor)) != NULL) {
        if (row->name != NULL && row->letter != 0) {
            letter[1] = row->letter;
            complete_print("", letter, row->help);
        }
        if (row->name != NULL) {
            complete_print("--", row->name, row->help);
        }
    }
    complete_print("--", "help", "help");
}

static void
complete_word(const struct options_syntax *syntax, size_t words, const char *word)
{
    const char *kinds = NULL;

    for (size_t i = 0; i <= words && i < OPTIONS_WORD_PLACES; i++) {
        kinds = syntax->complete[i] != NULL ? syntax->complete[i] : kinds;
    }
    if (syntax->words_max > words) {
        complete_values("", word, kinds);
    }
}

static void
complete_in_command(const struct options_syntax *syntax, int argc, char **argv)
{
    const char *const word = argv[argc - 1];
    const char *const equals = strchr(word, '=');
    struct place place = {0};
    const struct options_row *row;
    char before[64];

    find_place(syntax, argc, argv, &place);
    if (place.row != NULL) {
        complete_values("", word, place.row->complete);
    } else if (place.program == 0 && is_option(&place, word) && word[1] == '-' &&
               equals != NULL) {
        row = find_option(syntax, 0, word + 2, (size_t)(equals - word) - 2);
        if (row != NULL && !options_has_no_value(row)) {
            snprintf(before, sizeof(before), "--%s=", row->name);
            complete_values(before, equals + 1, row->complete);
        }
    } else if (place.program == 0 && !place.no_options && word[0] == '-') {
        print_options(syntax);
    } else if (syntax->program) {
        printf(":program %d\n", place.program != 0 ? place.program : argc - 1);
    } else {
        complete_word(syntax, place.words, word);
    }
}

int
complete_words(int argc, char **argv)
{
    const struct command *command;

    if (argc == 2 && argv[1][0] == '-') {
        complete_print("", "--help", "help");
        complete_print("", "--version", "the version");
    } else if (argc == 2) {
        complete_values("", argv[1], "<command>");
    } else if (argc > 2) {
        command = command_find(argv[1]);
        if (command != NULL) {
            complete_in_command(command->options, argc, argv);
        }
    }
    return CMD_OK;
}
