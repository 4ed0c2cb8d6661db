/* SPDX-License-Identifier: MIT */
/* callgrind_calls.c - finds calls on stacks. */
#include "view/export/callgrind_calls.h"

#include "base/arithmetic.h"
#include "base/array.h"
#include "profile/stack_walk.h"

#include <stdlib.h>
#include <string.h>

static bool
is_same_call(const struct callgrind_call *a, const struct callgrind_call *b)
{
    return a->caller == b->caller && a->callee == b->callee &&
           a->address == b->address && a->line == b->line && a->function == b->function;
}

/* Find or add a call. Returns NULL if memory runs out. */
static const struct callgrind_call *
find_call(struct callgrind_calls *calls, struct callgrind_call wanted, size_t sources)
{
    const uint32_t hash = hash_mix(
        hash_mix(hash_mix(wanted.caller, wanted.callee), wanted.address), wanted.line);
    const size_t hits_size = sources * sizeof(uint64_t);
    struct callgrind_call *larger;
    size_t probe = 0;
    uint8_t *hits;
    uint32_t at;

    while ((at = hash_index_find(&calls->index, hash, &probe)) != HASH_INDEX_NONE) {
        if (is_same_call(&calls->list[at], &wanted)) {
            return &calls->list[at];
        }
    }
    larger = array_grow(calls->list, calls->count, &calls->room, sizeof(*larger));
    if (larger == NULL) {
        return NULL;
    }
    calls->list = larger;
    hits = buffer_reserve(&calls->hits, hits_size);
    if (hits == NULL || !hash_index_add(&calls->index, hash, (uint32_t)calls->count)) {
        return NULL;
    }
    memset(hits, 0, hits_size);
    wanted.hits_at = calls->hits.size / sizeof(uint64_t);
    calls->hits.size += hits_size;
    calls->list[calls->count] = wanted;
    return &calls->list[calls->count++];
}

/* Add the calls on the stack of a row.
 *
 *   called  by number of a function: the last row on whose stack it was met, plus 1; it
 *           has a call only where it is met first
 */
static bool
add_row(struct callgrind_calls *calls, const struct profile *profile,
        const struct identities *identities, const struct profile_row *row,
        size_t *called)
{
    const size_t number = (size_t)(row - profile->rows) + 1;
    struct stack_walk walk =
        stack_walk_start(profile, identities, row, /* inlined */ false);
    uint32_t callee = IDENTITY_NONE;

    while (stack_walk_next(&walk)) {
        if (called[walk.number] != number && callee != IDENTITY_NONE) {
            const struct callgrind_call *const call =
                find_call(calls,
                          (struct callgrind_call){.caller = walk.number,
                                                  .callee = callee,
                                                  .address = walk.place.address,
                                                  .line = walk.place.line,
                                                  .function = walk.place.function},
                          profile->source_count);
            uint64_t *hits;

            if (call == NULL) {
                return false;
            }
            hits = (uint64_t *)(void *)calls->hits.data + call->hits_at;
            for (size_t i = 0; i < profile->source_count; i++) {
                hits[i] += row->hits[i]; /* export_write added all of them up */
            }
        }
        called[walk.number] = number;
        callee = walk.number;
    }
    return true;
}

static int
compare_calls(const void *left, const void *right)
{
    const struct callgrind_call *const a = left;
    const struct callgrind_call *const b = right;
    int order = compare_numbers(a->caller, b->caller);

    if (order == 0) {
        order = compare_numbers(a->address, b->address);
    }
    if (order == 0) {
        order = compare_numbers(a->line, b->line);
    }
    return order != 0 ? order : compare_numbers(a->callee, b->callee);
}

bool
callgrind_calls_find(const struct profile *profile, const struct identities *identities,
                     struct callgrind_calls *calls)
{
    size_t *const called = calloc(identities->count + 1, sizeof(*called));
    bool done = called != NULL;

    for (size_t i = 0; done && profile_has_stacks(profile) && i < profile->row_count;
         i++) {
        done = add_row(calls, profile, identities, &profile->rows[i], called);
    }
    if (done && calls->count > 1) {
        qsort(calls->list, calls->count, sizeof(*calls->list), compare_calls);
    }
    free(called);
    return done;
}

void
callgrind_calls_finish(struct callgrind_calls *calls)
{
    free(calls->list);
    hash_index_finish(&calls->index);
    buffer_finish(&calls->hits);
}

const uint64_t *
callgrind_call_hits(const struct callgrind_calls *calls,
                    const struct callgrind_call *call)
{
    return (const uint64_t *)(const void *)calls->hits.data + call->hits_at;
}
