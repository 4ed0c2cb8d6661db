/* SPDX-License-Identifier: MIT */
/*
 * string_set.h - a set of strings, numbered from 0 in the order of insertion.
 */
#ifndef BASE_STRING_SET_H
#define BASE_STRING_SET_H

#include "base/hash_index.h"

/* All zero is an empty set. */
struct string_set {
    const char **texts; /* by number; pointers stay valid as long as the set exists */
    size_t count;
    size_t capacity;
    struct hash_index index;
    struct hash_index by_pointer;
    struct string_block *blocks;
};

void string_set_finish(struct string_set *set);

/*
 * Find text, or add a copy. Returns its number, or HASH_INDEX_NONE if memory runs out.
 *
 *   size  length of text in bytes; it contains no NUL
 */
uint32_t string_set_add(struct string_set *set, const char *text, size_t size);

/* Return whether this pointer is one of texts. Does not read the text, which may be
 * long. */
bool string_set_owns(const struct string_set *set, const char *text);

#endif
