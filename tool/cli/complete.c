/* SPDX-License-Identifier: MIT */
/* complete.c - prints what can stand at a place of a command line: a command, an
 * option, its value or another word. */
#include "cli/complete.h"
#include "base/options_place.h"
#include "cli/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
complete_print(const char *before, const char *word, const char *meaning)
{
    /* A name that the shell would read as several lines, or as a request of the form
     * ":file", is left out. */
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

/* Print all options of a command. */
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

/* Print candidates for a word that is no option. words: how many of these stand before
 * it. */
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

/* Print candidates for a value. It ends the word, so what the word has before value is
 * put in front of each candidate. */
static void
print_values(const char *word, const char *value, const char *kinds)
{
    char *const before = strndup(word, (size_t)(value - word));

    if (before != NULL) {
        complete_values(before, value, kinds);
    }
    free(before);
}

/* Print candidates for the last word of a command's line; argv[0] is the command's
 * name. */
static void
complete_in_command(const struct options_syntax *syntax, int argc, char **argv)
{
    const char *const word = argv[argc - 1];
    struct options_place place;

    options_find_place(syntax, argc, argv, &place);
    switch (place.kind) {
    case OPTIONS_PLACE_OPTION:
        print_options(syntax);
        break;
    case OPTIONS_PLACE_VALUE:
        print_values(word, place.value, place.row->complete);
        break;
    case OPTIONS_PLACE_WORD:
        complete_word(syntax, place.words, word);
        break;
    case OPTIONS_PLACE_PROGRAM:
        printf(":program %d\n", place.program + 1);
        break;
    case OPTIONS_PLACE_NOTHING:
        break;
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
            complete_in_command(command->options, argc - 1, argv + 1);
        }
    }
    return CMD_OK;
}
