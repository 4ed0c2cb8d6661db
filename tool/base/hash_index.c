/* SPDX-License-Identifier: MIT */
/* hash_index.c - probes one slot after the other, and doubles the slots when three
 * quarters of them are used. */
#include "base/hash_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_AT_FIRST = 64 };

void
hash_index_finish(struct hash_index *index)
{
    free(index->slots);
    memset(index, 0, sizeof(*index));
}

void
hash_index_clear(struct hash_index *index)
{
    if (index->slots != NULL) {
        memset(index->slots, 0, index->slot_count * sizeof(*index->slots));
    }
    index->used = 0;
}

uint32_t
hash_index_find(const struct hash_index *index, uint32_t hash, size_t *probe)
{
    const size_t mask = index->slot_count - 1;

    while (*probe < index->slot_count) {
        const struct hash_index_slot *slot = &index->slots[(hash + *probe) & mask];

        if (slot->entry_plus_1 == 0) {
            break;
        }
        ++*probe;
        if (slot->hash == hash) {
            return slot->entry_plus_1 - 1;
        }
    }
    return HASH_INDEX_NONE;
}

static void
put(struct hash_index *index, uint32_t hash, uint32_t entry_plus_1)
{
    const size_t mask = index->slot_count - 1;
    size_t at = hash & mask;

    assert((index->slot_count & mask) == 0);
    assert(index->used < index->slot_count / 4 * 3);
    while (index->slots[at].entry_plus_1 != 0) {
        at = (at + 1) & mask;
    }
    index->slots[at].hash = hash;
    index->slots[at].entry_plus_1 = entry_plus_1;
    index->used++;
}

/* Move all entries to so many slots. Returns false if memory runs out. */
static bool
resize(struct hash_index *index, size_t slot_count)
{
    struct hash_index bigger = {.slot_count = slot_count};

    bigger.slots = calloc(bigger.slot_count, sizeof(*bigger.slots));
    if (bigger.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < index->slot_count; i++) {
        if (index->slots[i].entry_plus_1 != 0) {
            put(&bigger, index->slots[i].hash, index->slots[i].entry_plus_1);
        }
    }
    free(index->slots);
    *index = bigger;
    return true;
}

bool
hash_index_reserve(struct hash_index *index, size_t more)
{
    size_t slot_count = index->slot_count > 0 ? index->slot_count : SLOTS_AT_FIRST;

    if (more > HASH_INDEX_NONE - index->used) {
        return false;
    }
    while (slot_count / 4 * 3 < index->used + more) {
        slot_count *= 2;
    }
    return slot_count == index->slot_count || resize(index, slot_count);
}

bool
hash_index_add(struct hash_index *index, uint32_t hash, uint32_t entry)
{
    if (entry == HASH_INDEX_NONE || !hash_index_reserve(index, 1)) {
        return false;
    }
    put(index, hash, entry + 1);
    return true;
}

uint32_t
hash_mix(uint32_t hash, uint64_t word)
{
    /* Fibonacci hashing: any odd constant with well mixed bits would do. */
    uint64_t mixed = (word ^ ((uint64_t)hash << 32 | hash)) * 0x9e3779b97f4a7c15u;

    mixed ^= mixed >> 29;
    mixed *= 0x9e3779b97f4a7c15u;
    return (uint32_t)(mixed >> 32);
}

uint32_t
hash_bytes(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint32_t hash = 0;
    uint64_t word;

    for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        hash = hash_mix(hash, word);
    }
    /* What is left, fewer than 8 bytes, with its size, so that zeros at its end
     * count. */
    word = size;
    memcpy(&word, at, size);
    return hash_mix(hash, word ^ (uint64_t)size << 56);
}
