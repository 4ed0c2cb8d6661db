/* SPDX-License-Identifier: MIT */
/* options_place.c - reads a command line up to where it ends for now, as options.c
 * would. */
#include "base/options_place.h"

#include <string.h>

const struct options_row *
options_find(const struct options_syntax *syntax, const char *name, size_t length)
{
    struct options_cursor cursor = {0};
    const struct options_row *row;

    while ((row = options_next(syntax, &cursor)) != NULL) {
        if (row->name != NULL && strlen(row->name) == length &&
            strncmp(row->name, name, length) == 0) {
            return row;
        }
    }
    return NULL;
}

static const struct options_row *
find_letter(const struct options_syntax *syntax, char letter)
{
    struct options_cursor cursor = {0};
    const struct options_row *row;

    while ((row = options_next(syntax, &cursor)) != NULL) {
        if (row->name != NULL && row->letter == letter) {
            return row;
        }
    }
    return NULL;
}

/* split - an option in a word that begins with '-', and its value in that word. */
struct split {
    const struct options_row *row; /* the first that may have a value; NULL: none */
    const char *value;             /* NULL: there is none in the word */
};

/* Find the option with which a word ends, as in -qF99. Letters without a value in front
 * of it are passed over; a word of nothing else has none. */
static struct split
split_word(const struct options_syntax *syntax, const char *word)
{
    struct split split = {NULL, NULL};

    if (word[1] == '-') {
        const size_t length = strcspn(word + 2, "=");

        split.row = options_find(syntax, word + 2, length);
        split.value = word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
        return split;
    }
    for (word++; *word != '\0'; word++) {
        split.row = find_letter(syntax, *word);
        if (split.row == NULL || !options_has_no_value(split.row)) {
            split.value = split.row != NULL && word[1] != '\0' ? word + 1 : NULL;
            return split;
        }
    }
    return (struct split){NULL, NULL};
}

/* Return the option whose value is the next word, or NULL. */
static const struct options_row *
expects_value(const struct options_syntax *syntax, const char *word)
{
    const struct split split = split_word(syntax, word);

    return split.row != NULL && split.value == NULL &&
                   !options_has_no_value(split.row) &&
                   !options_value_is_optional(split.row)
               ? split.row
               : NULL;
}

/* Read the words before the last one. Sets place->words, place->program and, if the
 * last word is the value of an option, place->row. Returns whether "--" ended the
 * options. */
static bool
pass_words(const struct options_syntax *syntax, int argc, char *const *argv,
           struct options_place *place)
{
    bool ended = false;

    for (int i = 1; i < argc - 1 && place->program == 0; i++) {
        if (place->row != NULL) {
            place->row = NULL; /* this was its value */
        } else if (ended || argv[i][0] != '-' || argv[i][1] == '\0') {
            place->words++;
            place->program = syntax->program ? i : 0;
        } else if (strcmp(argv[i], "--") == 0) {
            ended = true;
            place->program = syntax->program ? i + 1 : 0;
        } else {
            place->row = expects_value(syntax, argv[i]);
        }
    }
    return ended;
}

/* Find out what the last word is if it begins with '-' and options have not ended. */
static void
classify_option(const struct options_syntax *syntax, const char *word,
                struct options_place *place)
{
    const struct split split = split_word(syntax, word);

    if (split.value == NULL) {
        place->kind = OPTIONS_PLACE_OPTION;
    } else if (split.row != NULL && !options_has_no_value(split.row)) {
        place->kind = OPTIONS_PLACE_VALUE;
        place->row = split.row;
        place->value = split.value;
    } else {
        place->kind = OPTIONS_PLACE_NOTHING;
    }
}

/* The last word may be the value of the option before it, an option, or a word of the
 * program that is run, which the words before may have begun. */
void
options_find_place(const struct options_syntax *syntax, int argc, char *const *argv,
                   struct options_place *place)
{
    const char *const word = argv[argc - 1];
    bool ended;

    *place = (struct options_place){.kind = OPTIONS_PLACE_WORD, .value = word};
    ended = pass_words(syntax, argc, argv, place);
    if (place->row != NULL) {
        place->kind = OPTIONS_PLACE_VALUE;
    } else if (place->program == 0 && !ended && word[0] == '-') {
        classify_option(syntax, word, place);
    } else if (syntax->program) {
        place->kind = OPTIONS_PLACE_PROGRAM;
        place->program = place->program != 0 ? place->program : argc - 1;
    }
}
