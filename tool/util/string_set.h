/* SPDX-License-Identifier: MIT */
/*
 * string_set.h - strings kept once each, numbered from 0 in the order in which they
 * came.
 */
#ifndef UTIL_STRING_SET_H
#define UTIL_STRING_SET_H

#include "util/hash_index.h"

/* All zero is an empty set. */
struct string_set {
    const char **texts; /* by number; pointers stay valid as long as the set */
    size_t count;
    size_t capacity;
    struct hash_index index;
    struct hash_index by_pointer;
    struct string_block *blocks;
};

void string_set_finish(struct string_set *set);

/*
 * The number of text, which is copied if it is new. HASH_INDEX_NONE: out of memory.
 *
 *   size  length of text in bytes; it holds no NUL
 */
uint32_t string_set_add(struct string_set *set, const char *text, size_t size);

/* Is this pointer one of texts? Asks without looking at the text, which may be long. */
bool string_set_owns(const struct string_set *set, const char *text);

#endif
