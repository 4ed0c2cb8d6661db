/* SPDX-License-Identifier: MIT */
/*
 * rules.c - rows in an array that is sorted by image and address: one binary search
 * finds a row, and rows that come together are added by one move. Stacks have the same
 * return addresses again and again, so what look-ups found is kept until a row goes.
 *
 * Invariants: keys are in order; rows of an image do not overlap; each slot is that of
 * one key, or in the list of free ones, or was never used, as all from fresh on; what
 * was found with the present number of removals is still the slot of a key.
 */
#include "stacks/rules.h"

#include "base/hash_index.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* key - where a row begins, and where the rest of it is. */
struct key {
    uint64_t start;
    uint32_t image;
    uint16_t slot;
};

/* slot - the rest of a row, which does not move when keys do. */
struct slot {
    uint64_t end; /* if free, the number of the next free one */
    struct sym_unwind_rule rule;
};

/* found - the slot that a look-up found. */
struct found {
    uint64_t address;
    uint64_t removals; /* stack_rules.removals when this was found; if they differ, it
                        * is not valid */
    uint32_t image;
    uint16_t slot;
};

enum { FOUND_BITS = 10 };

struct stack_rules {
    size_t count;
    size_t first_free; /* slot; STACK_RULES_MAX: none */
    size_t fresh;
    uint64_t removals;                   /* of rows; from 1 on */
    struct found found[1 << FOUND_BITS]; /* by hash of image and address */
    bool used[STACK_RULES_MAX]; /* by slot: looked up since there was no room last */
    struct key keys[STACK_RULES_MAX];
    struct slot slots[STACK_RULES_MAX];
};

_Static_assert(sizeof(struct key) + sizeof(struct slot) ==
                   (SYM_UNWIND_MACHINE == EM_AARCH64 ? 96 : 64),
               "2 MiB in all, or 3");
_Static_assert(STACK_RULES_MAX <= UINT16_MAX + 1, "numbers of slots");

static void
free_slot(struct stack_rules *rules, size_t number)
{
    rules->slots[number].end = rules->first_free;
    rules->first_free = number;
}

/* Take a slot, of which there are as many as keys. */
static size_t
take_slot(struct stack_rules *rules)
{
    const size_t free = rules->first_free;

    if (free == STACK_RULES_MAX) {
        assert(rules->fresh < STACK_RULES_MAX);
        return rules->fresh++;
    }
    rules->first_free = (size_t)rules->slots[free].end;
    return free;
}

struct stack_rules *
stack_rules_create(void)
{
    struct stack_rules *const rules = malloc(sizeof(*rules));

    if (rules != NULL) {
        rules->count = 0;
        rules->first_free = STACK_RULES_MAX;
        rules->fresh = 0;
        rules->removals = 1;
        memset(rules->found, 0, sizeof(rules->found));
    }
    return rules;
}

void
stack_rules_delete(struct stack_rules *rules)
{
    free(rules);
}

size_t
stack_rules_count(const struct stack_rules *rules)
{
    return rules->count;
}

/* Return how many keys are before an address of an image. */
static size_t
count_before(const struct stack_rules *rules, uint32_t image, uint64_t address)
{
    size_t low = 0;
    size_t high = rules->count;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct key *const key = &rules->keys[middle];

        if (key->image < image || (key->image == image && key->start < address)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Return the key whose row covers an address of an image; NULL: there is none. */
static struct key *
find_key(struct stack_rules *rules, uint32_t image, uint64_t address)
{
    const size_t before =
        address < UINT64_MAX ? count_before(rules, image, address + 1) : 0;
    struct key *const key = before > 0 ? &rules->keys[before - 1] : NULL;

    return key != NULL && key->image == image && address < rules->slots[key->slot].end
               ? key
               : NULL;
}

const struct sym_unwind_rule *
stack_rules_find(struct stack_rules *rules, uint32_t image, uint64_t address)
{
    const uint32_t hash = hash_mix(image, address);
    struct found *const found = &rules->found[hash >> (32 - FOUND_BITS)];

    if (found->removals != rules->removals || found->address != address ||
        found->image != image) {
        const struct key *const key = find_key(rules, image, address);

        if (key == NULL) {
            return NULL;
        }
        *found = (struct found){address, rules->removals, image, key->slot};
    }
    rules->used[found->slot] = true;
    return &rules->slots[found->slot].rule;
}

/* Remove the rows with the keys of [from, to). */
static void
remove_keys(struct stack_rules *rules, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        free_slot(rules, rules->keys[i].slot);
    }
    memmove(&rules->keys[from], &rules->keys[to],
            (rules->count - to) * sizeof(rules->keys[0]));
    rules->count -= to - from;
    rules->removals += to > from;
}

/* Make room: remove the rows that were not looked up since the last call of this, or if
 * these are less than a quarter of the cache, every second row. */
static void
sweep(struct stack_rules *rules)
{
    size_t used = 0;
    size_t kept = 0;
    bool crowded;

    for (size_t i = 0; i < rules->count; i++) {
        used += rules->used[rules->keys[i].slot];
    }
    crowded = used > STACK_RULES_MAX / 4 * 3;
    for (size_t i = 0; i < rules->count; i++) {
        const struct key key = rules->keys[i];

        if (crowded ? i % 2 == 0 : rules->used[key.slot]) {
            rules->keys[kept++] = key;
            rules->used[key.slot] = false;
        } else {
            free_slot(rules, key.slot);
        }
    }
    rules->count = kept;
    rules->removals++;
}

/* Remove the rows of an image that overlap [start, end). */
static void
remove_overlapping(struct stack_rules *rules, uint32_t image, uint64_t start,
                   uint64_t end)
{
    const struct key *const covering = find_key(rules, image, start);

    remove_keys(rules,
                covering != NULL ? (size_t)(covering - rules->keys)
                                 : count_before(rules, image, start),
                count_before(rules, image, end));
}

void
stack_rules_add(struct stack_rules *rules, uint32_t image,
                const struct sym_unwind_row *rows, size_t count)
{
    size_t at;

    assert(count >= 1 && count <= SYM_UNWIND_ROWS_MAX);
    remove_overlapping(rules, image, rows[0].start, rows[count - 1].end);
    if (rules->count + count > STACK_RULES_MAX) {
        sweep(rules);
    }
    at = count_before(rules, image, rows[0].start);
    memmove(&rules->keys[at + count], &rules->keys[at],
            (rules->count - at) * sizeof(rules->keys[0]));
    rules->count += count;
    for (size_t i = 0; i < count; i++) {
        const size_t slot = take_slot(rules);

        assert(rows[i].start < rows[i].end);
        rules->keys[at + i] = (struct key){rows[i].start, image, (uint16_t)slot};
        rules->used[slot] = false;
        rules->slots[slot] = (struct slot){rows[i].end, rows[i].rule};
    }
}

void
stack_rules_forget(struct stack_rules *rules, uint32_t image)
{
    size_t end = count_before(rules, image, UINT64_MAX);

    /* No row begins at UINT64_MAX: it would be empty. */
    remove_keys(rules, count_before(rules, image, 0), end);
}
