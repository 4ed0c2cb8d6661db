/* SPDX-License-Identifier: MIT */
/* options_place.h - finds what the last word of a command line is that somebody is
 * typing, so that shells can complete it. */
#ifndef BASE_OPTIONS_PLACE_H
#define BASE_OPTIONS_PLACE_H

#include "base/options.h"

/* Return the option whose name is the first length bytes of name, or NULL. */
const struct options_row *options_find(const struct options_syntax *syntax,
                                       const char *name, size_t length);

enum options_place_kind {
    OPTIONS_PLACE_OPTION,  /* the last word begins an option */
    OPTIONS_PLACE_VALUE,   /* it is or has the value of the option row */
    OPTIONS_PLACE_NOTHING, /* it has a value that the option does not take */
    OPTIONS_PLACE_WORD,    /* it is none of the options */
    OPTIONS_PLACE_PROGRAM  /* it is of the command line of a program */
};

/* options_place - what the last word is, by those before it. */
struct options_place {
    enum options_place_kind kind;
    const struct options_row *row; /* of a value */
    const char *value;             /* the end of the last word, or all of it */
    size_t words;                  /* before it, that are no options */
    int program;                   /* the word that begins the program */
};

/* Find out what the last of the words is. argv[0] is the command. */
void options_find_place(const struct options_syntax *syntax, int argc,
                        char *const *argv, struct options_place *place);

#endif
