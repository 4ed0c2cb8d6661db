/* SPDX-License-Identifier: MIT */
/*
 * callgrind_calls.h - which functions call which, from where, with the hits of all
 * stacks that have the call.
 *
 * A function has at most one call on a stack: of several places the innermost one's.
 * So the hits in a function and those of its calls add up to its total, whatever calls
 * itself, which is what readers of callgrind's format do.
 */
#ifndef VIEW_EXPORT_CALLGRIND_CALLS_H
#define VIEW_EXPORT_CALLGRIND_CALLS_H

#include "base/buffer.h"
#include "base/hash_index.h"
#include "profile/identity.h"

struct callgrind_call {
    uint32_t caller;  /* number of the function (identity.h), or of an end of stacks */
    uint32_t callee;  /* number */
    uint64_t address; /* of the call; 0 of an end */
    uint32_t line;
    uint32_t function; /* index: whose file line is of */
    size_t hits_at;    /* of its hits, one for each source, in hits */
};

/* callgrind_calls - by caller, address and callee. Initially all zero. */
struct callgrind_calls {
    struct callgrind_call *list;
    size_t count;
    size_t room;
    struct hash_index index;
    struct buffer hits; /* uint64_t */
};

/* Find the calls on all stacks. Returns false if memory runs out; finish must be called
 * in any case. */
bool callgrind_calls_find(const struct profile *profile,
                          const struct identities *identities,
                          struct callgrind_calls *calls);

void callgrind_calls_finish(struct callgrind_calls *calls);

/* Return the hits of a call, one for each source. */
const uint64_t *callgrind_call_hits(const struct callgrind_calls *calls,
                                    const struct callgrind_call *call);

#endif
