/* SPDX-License-Identifier: MIT */
/*
 * string_set.c - a set of strings. Their bytes are in blocks that never move.
 */
#include "base/string_set.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct string_block {
    struct string_block *next;
    size_t used;
    size_t capacity;
    char bytes[];
};

void
string_set_finish(struct string_set *set)
{
    while (set->blocks != NULL) {
        struct string_block *next = set->blocks->next;

        free(set->blocks);
        set->blocks = next;
    }
    free(set->texts);
    hash_index_finish(&set->index);
    hash_index_finish(&set->by_pointer);
    memset(set, 0, sizeof(*set));
}

/* Copy a text into the set's memory. Returns NULL if memory runs out. */
static char *
keep(struct string_set *set, const char *text, size_t size)
{
    struct string_block *block = set->blocks;
    char *copy;

    if (block == NULL || block->capacity - block->used <= size) {
        const size_t capacity = size < BLOCK_BYTES ? BLOCK_BYTES : size + 1;

        block = malloc(sizeof(*block) + capacity);
        if (block == NULL) {
            return NULL;
        }
        block->next = set->blocks;
        block->used = 0;
        block->capacity = capacity;
        set->blocks = block;
    }
    copy = block->bytes + block->used;
    memcpy(copy, text, size);
    copy[size] = '\0';
    block->used += size + 1;
    return copy;
}

static bool
reserve(struct string_set *set)
{
    const char **const texts =
        array_grow(set->texts, set->count, &set->capacity, sizeof(*texts));

    set->texts = texts != NULL ? texts : set->texts;
    return texts != NULL;
}

static uint32_t
hash_pointer(const char *text)
{
    return hash_mix(0, (uint64_t)(uintptr_t)text);
}

bool
string_set_owns(const struct string_set *set, const char *text)
{
    const uint32_t hash = hash_pointer(text);
    size_t probe = 0;
    uint32_t number;

    while ((number = hash_index_find(&set->by_pointer, hash, &probe)) !=
           HASH_INDEX_NONE) {
        if (set->texts[number] == text) {
            return true;
        }
    }
    return false;
}

uint32_t
string_set_add(struct string_set *set, const char *text, size_t size)
{
    const uint32_t hash = hash_bytes(text, size);
    size_t probe = 0;
    uint32_t number;
    char *copy;

    while ((number = hash_index_find(&set->index, hash, &probe)) != HASH_INDEX_NONE) {
        if (strncmp(set->texts[number], text, size) == 0 &&
            set->texts[number][size] == '\0') {
            return number;
        }
    }
    if (set->count >= HASH_INDEX_NONE || !reserve(set)) {
        return HASH_INDEX_NONE;
    }
    copy = keep(set, text, size);
    if (copy == NULL) {
        return HASH_INDEX_NONE;
    }
    /* Store it before indexing: if indexing fails, one index may already refer to
     * it. */
    set->texts[set->count] = copy;
    if (!hash_index_add(&set->by_pointer, hash_pointer(copy), (uint32_t)set->count) ||
        !hash_index_add(&set->index, hash, (uint32_t)set->count)) {
        return HASH_INDEX_NONE;
    }
    return (uint32_t)set->count++;
}
