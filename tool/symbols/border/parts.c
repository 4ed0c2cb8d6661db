/* SPDX-License-Identifier: MIT */
/*
 * parts.c - parts that a compiler split off a function count to that function:
 * "work.cold", "work.cold.3", "work.part.0" and "work.part.0.cold" to "work". Clones
 * ("work.constprop.0") are functions of their own, with parts of their own.
 *
 * A part is a local symbol of the same source file as its function, which may be local
 * too; files may have functions of one name.
 */
#include "symbols/border/parts.h"

#include "base/hash_index.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Suffixes that are taken off one name ("f.part.0.cold" has two); a name with more is
 * forged. */
enum { SPLITS_MAX = 4 };

/* base - what is left of a part's name when suffixes are taken off: the name of the
 * function that the part may belong to. */
struct base {
    const char *name; /* the beginning of a part's name */
    size_t length;
};

/* part - a symbol of a split-off part, with the names that are left when its suffixes
 * are taken off. */
struct part {
    uint32_t entry;
    uint32_t bases[SPLITS_MAX]; /* the shortest first */
    size_t count;
};

/* candidate - a symbol with the name of a base. */
struct candidate {
    uint32_t base;
    bool shared;    /* it is of no file */
    uint32_t group; /* its file */
    uint32_t entry;
    uint64_t start;
};

struct joiner {
    struct sym_table *table;
    struct base *bases;
    size_t base_count;
    size_t base_room;
    struct hash_index index; /* of bases, by name */
    struct part *parts;
    size_t part_count;
    size_t part_room;
    struct candidate *candidates; /* sorted at last */
    size_t candidate_count;
    size_t candidate_room;
};

/* --- names --- */

static size_t
pass_back_digits(const char *name, size_t length)
{
    while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9') {
        length--;
    }
    return length;
}

size_t
sym_split_length(const char *name, size_t length)
{
    static const char *const numbered[] = {".cold.", ".part.", ".__part."};
    const size_t before = pass_back_digits(name, length);

    if (text_ends_with(name, length, ".cold")) {
        return length - strlen(".cold");
    }
    for (size_t i = 0; before < length && i < sizeof(numbered) / sizeof(numbered[0]);
         i++) {
        if (text_ends_with(name, before, numbered[i])) {
            return before - strlen(numbered[i]);
        }
    }
    return length;
}

/* --- parts --- */

/* Return the number of the base with a name, or HASH_INDEX_NONE. */
static uint32_t
find_base(const struct joiner *joiner, const char *name, size_t length)
{
    const uint32_t hash = hash_bytes(name, length);
    size_t probe = 0;
    uint32_t found;

    while ((found = hash_index_find(&joiner->index, hash, &probe)) != HASH_INDEX_NONE) {
        if (joiner->bases[found].length == length &&
            memcmp(joiner->bases[found].name, name, length) == 0) {
            break;
        }
    }
    return found;
}

/* Find or add a base. Returns false if memory or the budget ran out. */
static bool
add_base(struct joiner *joiner, const char *name, size_t length, uint32_t *number)
{
    struct base *larger;

    *number = find_base(joiner, name, length);
    if (*number != HASH_INDEX_NONE) {
        return true;
    }
    larger = sym_budget_grow(joiner->table->budget, joiner->bases, joiner->base_count,
                             &joiner->base_room, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    joiner->bases = larger;
    joiner->bases[joiner->base_count] = (struct base){name, length};
    *number = (uint32_t)joiner->base_count++;
    return hash_index_add(&joiner->index, hash_bytes(name, length), *number);
}

/* Add a symbol to the parts if its name has a suffix of one, with the names that are
 * left when its suffixes are taken off one by one. Returns false if memory or the
 * budget ran out. */
static bool
add_part(struct joiner *joiner, uint32_t entry, const char *name)
{
    struct part *larger;
    struct part part = {.entry = entry};
    size_t lengths[SPLITS_MAX];
    size_t length = strlen(name);

    while (part.count < SPLITS_MAX && sym_split_length(name, length) < length) {
        length = sym_split_length(name, length);
        lengths[part.count++] = length;
    }
    if (part.count == 0) {
        return true;
    }
    for (size_t i = 0; i < part.count; i++) {
        if (!add_base(joiner, name, lengths[part.count - 1 - i], &part.bases[i])) {
            return false;
        }
    }
    larger = sym_budget_grow(joiner->table->budget, joiner->parts, joiner->part_count,
                             &joiner->part_room, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    joiner->parts = larger;
    joiner->parts[joiner->part_count++] = part;
    return true;
}

/* Collect the parts among the symbols. Returns false if memory or the budget ran
 * out. */
static bool
find_parts(struct joiner *joiner)
{
    const struct sym_table *const table = joiner->table;

    for (size_t i = 0; i < table->entry_count; i++) {
        const struct sym_entry *const entry = &table->entries[i];

        if (entry->rank == SYM_RANK_LOCAL && entry->tag != SYM_TAG_STUB &&
            !add_part(joiner, (uint32_t)i, entry->name)) {
            return false;
        }
    }
    return true;
}

/* --- their functions --- */

/* Find the symbols that have the name of a base: these may be the functions of parts.
 * Returns false if memory or the budget ran out. */
static bool
find_candidates(struct joiner *joiner)
{
    const struct sym_table *const table = joiner->table;

    for (size_t i = 0; i < table->entry_count; i++) {
        const struct sym_entry *const entry = &table->entries[i];
        const size_t length = sym_shown_length(entry->name, entry->tag);
        const uint32_t base = entry->tag == SYM_TAG_STUB
                                  ? HASH_INDEX_NONE
                                  : find_base(joiner, entry->name, length);
        struct candidate *larger;

        if (base == HASH_INDEX_NONE) {
            continue;
        }
        larger =
            sym_budget_grow(table->budget, joiner->candidates, joiner->candidate_count,
                            &joiner->candidate_room, sizeof(*larger));
        if (larger == NULL) {
            return false;
        }
        joiner->candidates = larger;
        joiner->candidates[joiner->candidate_count++] =
            (struct candidate){.base = base,
                               .shared = entry->rank != SYM_RANK_LOCAL,
                               .group = entry->group,
                               .entry = (uint32_t)i,
                               .start = entry->start};
    }
    return true;
}

/* By base; those of one file together, and those of none last. */
static int
compare_candidates(const void *left, const void *right)
{
    const struct candidate *const a = left;
    const struct candidate *const b = right;

    if (a->base != b->base) {
        return a->base < b->base ? -1 : 1;
    }
    if (a->shared != b->shared) {
        return a->shared ? 1 : -1;
    }
    if (!a->shared && a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    return (a->start > b->start) - (a->start < b->start);
}

/* Return how many candidates come before this one. */
static size_t
count_before(const struct joiner *joiner, const struct candidate *wanted)
{
    size_t low = 0;
    size_t high = joiner->candidate_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (compare_candidates(&joiner->candidates[middle], wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Return the entry of the candidate for a base and group, or NULL if there is none or
 * there are several with different addresses. wanted: its base and group, start 0. */
static const struct sym_entry *
only_one(const struct joiner *joiner, struct candidate wanted)
{
    const size_t first = count_before(joiner, &wanted);
    const struct candidate *found;
    struct candidate behind;
    size_t end;

    if (first == joiner->candidate_count) {
        return NULL;
    }
    found = &joiner->candidates[first];
    behind = *found;
    behind.start++;
    wanted.start = found->start;
    end = count_before(joiner, &behind);
    if (compare_candidates(found, &wanted) != 0) { /* it is of another base or group */
        return NULL;
    }
    /* Are all candidates of this base and group at the address of the first one? */
    behind.start = UINT64_MAX;
    return end == count_before(joiner, &behind) ? &joiner->table->entries[found->entry]
                                                : NULL;
}

/* Return the function of a part, by a base of its name and its group: a symbol of the
 * same source file, or else a global one; or NULL. */
static const struct sym_entry *
find_function(const struct joiner *joiner, uint32_t base, uint32_t group)
{
    const struct candidate own = {.base = base, .group = group};
    const struct candidate shared = {.base = base, .shared = true};
    const struct sym_entry *const found = only_one(joiner, own);

    return found != NULL ? found : only_one(joiner, shared);
}

/* Return a copy of a base's name that the table owns; NULL if memory runs out. */
static const char *
own_name(struct joiner *joiner, const struct base *base)
{
    char *const copy = sym_table_take(joiner->table, base->length + 1)
                           ? strndup(base->name, base->length)
                           : NULL;

    return sym_table_own(joiner->table, copy) ? copy : NULL;
}

/* Give a part the name and the origin of its function. If there is no symbol for the
 * function, the part still gets its name, and a part of a part gets the origin of the
 * latter. */
static void
join_part(struct joiner *joiner, const struct part *part)
{
    struct sym_entry *const entry = &joiner->table->entries[part->entry];
    const struct sym_entry *function =
        find_function(joiner, part->bases[0], entry->group);
    const char *name = function != NULL ? function->name : NULL;

    if (name != NULL) {
        entry->tag =
            function->tag == SYM_TAG_VERSIONED ? SYM_TAG_VERSIONED : entry->tag;
    } else {
        name = own_name(joiner, &joiner->bases[part->bases[0]]);
    }
    for (size_t i = 1; i < part->count && function == NULL; i++) {
        function = find_function(joiner, part->bases[i], entry->group);
    }
    if (name != NULL) {
        entry->name = name;
        entry->origin = function != NULL ? function->start : entry->start;
    }
}

static void
finish(struct joiner *joiner)
{
    struct sym_budget *const budget = joiner->table->budget;

    sym_budget_give(budget, joiner->base_room * sizeof(*joiner->bases) +
                                joiner->part_room * sizeof(*joiner->parts) +
                                joiner->candidate_room * sizeof(*joiner->candidates));
    hash_index_finish(&joiner->index);
    free(joiner->bases);
    free(joiner->parts);
    free(joiner->candidates);
}

void
sym_elf_join_parts(struct sym_table *table)
{
    struct joiner joiner = {.table = table};

    if (find_parts(&joiner) && joiner.part_count > 0 && find_candidates(&joiner)) {
        if (joiner.candidate_count > 0) {
            qsort(joiner.candidates, joiner.candidate_count, sizeof(*joiner.candidates),
                  compare_candidates);
        }
        for (size_t i = 0; i < joiner.part_count; i++) {
            join_part(&joiner, &joiner.parts[i]);
        }
    }
    finish(&joiner);
}
