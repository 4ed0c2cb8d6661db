/* SPDX-License-Identifier: MIT */
/*
 * suggest.h - which of several names a word was probably meant to be, for "did you
 * mean". Upper and lower case are the same.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

/* suggest_word - what other tools call a thing, and what it is called here. */
struct suggest_word {
    const char *word;
    const char *name;
};

struct suggestion {
    const char *text;
    size_t length;
    const char *best; /* NULL: nothing is near */
    size_t distance;
};

/* Begin with the first length bytes of text, which are borrowed. */
void suggest_begin(struct suggestion *suggestion, const char *text, size_t length);

/* Offer a name. It becomes the best if fewer letters of text must be changed, inserted,
 * left out or swapped with the next one than for any name before it, and at most a
 * third of them. A text of three letters or more with which the name starts counts as
 * one letter away. */
void suggest_offer(struct suggestion *suggestion, const char *name);

/* Offer the name of each word that text may be instead. The table ends with {0}. */
void suggest_offer_words(struct suggestion *suggestion,
                         const struct suggest_word *words);

/* Append " (did you mean NAME?)" to a message in text, if there is one and room.
 * Returns whether there is one. */
bool suggest_append(const struct suggestion *suggestion, char *text, size_t size);

#endif
