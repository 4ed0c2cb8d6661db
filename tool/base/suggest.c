/* SPDX-License-Identifier: MIT */
/* suggest.c - the distance of two words, by Damerau and Levenshtein. */
#include "base/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Longer words are no names of ours. */
enum { LENGTH_MAX = 63, PREFIX_MIN = 3, FAR = LENGTH_MAX + 1 };

static size_t
least_of(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

static bool
same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Return how many letters must be changed, inserted, left out or swapped. */
static size_t
distance_of(const char *a, size_t a_length, const char *b, size_t b_length)
{
    /* rows[i % 3][j] is the distance of the first i letters of a from the first j of b.
     * Three rows are kept: the current one, the one above, and the one before that. */
    size_t rows[3][LENGTH_MAX + 1];

    if (a_length > LENGTH_MAX || b_length > LENGTH_MAX) {
        return FAR;
    }
    for (size_t j = 0; j <= b_length; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        size_t *const row = rows[i % 3];
        const size_t *const above = rows[(i - 1) % 3];
        const size_t *const before = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least_of(above[j] + 1, row[j - 1] + 1,
                              above[j - 1] + !same_letter(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1]) && before[j - 2] + 1 < row[j]) {
                row[j] = before[j - 2] + 1;
            }
        }
    }
    return rows[a_length % 3][b_length];
}

void
suggest_begin(struct suggestion *suggestion, const char *text, size_t length)
{
    *suggestion = (struct suggestion){.text = text, .length = length, .distance = FAR};
}

/* Make name the suggestion if word is more similar than the words before: at most a
 * third of the letters differ, or it goes on where the text ends. */
static void
offer_name(struct suggestion *suggestion, const char *word, const char *name)
{
    const size_t length = strlen(word);
    size_t distance = distance_of(suggestion->text, suggestion->length, word, length);

    if (distance > suggestion->length / 3 && suggestion->length >= PREFIX_MIN &&
        length > suggestion->length &&
        strncasecmp(suggestion->text, word, suggestion->length) == 0) {
        distance = 1;
    } else if (distance > suggestion->length / 3) {
        return;
    }
    if (distance < suggestion->distance) {
        suggestion->distance = distance;
        suggestion->best = name;
    }
}

void
suggest_offer(struct suggestion *suggestion, const char *name)
{
    offer_name(suggestion, name, name);
}

void
suggest_offer_words(struct suggestion *suggestion, const struct suggest_word *words)
{
    for (; words->word != NULL; words++) {
        offer_name(suggestion, words->word, words->name);
    }
}

bool
suggest_append(const struct suggestion *suggestion, char *text, size_t size)
{
    const size_t used = strlen(text);

    if (suggestion->best != NULL) {
        snprintf(text + used, size - used, " (did you mean %s?)", suggestion->best);
    }
    return suggestion->best != NULL;
}
