/* SPDX-License-Identifier: MIT */
/*
 * hash_index.h - finds entries of an array by hash: open addressing over (hash, index)
 * pairs.
 *
 * The caller owns the array and compares the candidates. Entries are never removed.
 */
#ifndef BASE_HASH_INDEX_H
#define BASE_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_INDEX_NONE UINT32_MAX

struct hash_index_slot {
    uint32_t hash;
    uint32_t entry_plus_1; /* 0: free */
};

/* All zero is an empty index. */
struct hash_index {
    struct hash_index_slot *slots;
    size_t slot_count; /* 0 or a power of two, at least 4/3 of used */
    size_t used;
};

void hash_index_finish(struct hash_index *index);

/* Remove all entries but keep the memory. */
void hash_index_clear(struct hash_index *index);

/*
 * Return the next entry that was added with hash, or HASH_INDEX_NONE. *probe is 0 at
 * the first call and is advanced by each.
 */
uint32_t hash_index_find(const struct hash_index *index, uint32_t hash, size_t *probe);

/* Make room for more entries, so that adding these needs no memory. Returns false if
 * memory runs out. */
bool hash_index_reserve(struct hash_index *index, size_t more);

/* Add an entry. Returns false if memory runs out or entry is HASH_INDEX_NONE. */
bool hash_index_add(struct hash_index *index, uint32_t hash, uint32_t entry);

uint32_t hash_bytes(const void *bytes, size_t size);

/* Combine a hash with a word; the first hash is 0. */
uint32_t hash_mix(uint32_t hash, uint64_t word);

#endif
