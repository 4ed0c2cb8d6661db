/* SPDX-License-Identifier: MIT */
/*
 * stack_walk.h - the functions on the stack of a row, from where the hit is outwards.
 *
 * A stack without an outermost function ends with the end that it has, such as
 * "[cut at 16 kB]". A row without a stack has its own functions only.
 */
#ifndef PROFILE_STACK_WALK_H
#define PROFILE_STACK_WALK_H

#include "profile/identity.h"
#include "profile/profile.h"

/* stack_walk - between stack_walk_start and the end of a walk. */
struct stack_walk {
    const struct profile *profile;
    const struct identities *identities; /* NULL: functions get no numbers */
    const struct profile_row *row;
    bool inlined; /* also stop at functions that were inlined */
    bool started;
    uint32_t call; /* of the place at hand, or an end; 0: that of the row */
    /*
     * A row as if the hits were in the place at hand. Its function is the innermost one
     * there or, with inlined, the function at hand. Of an end, only the function is of
     * use.
     */
    struct profile_row place;
    uint32_t outer;  /* with inlined: index of the function that has the code there */
    uint32_t number; /* of the function at hand */
};

/* Start before the innermost function of a row. Without inlined, only functions that
 * have the machine code of a place are met. */
static inline struct stack_walk
stack_walk_start(const struct profile *profile, const struct identities *identities,
                 const struct profile_row *row, bool inlined)
{
    return (struct stack_walk){
        .profile = profile, .identities = identities, .row = row, .inlined = inlined};
}

/* Go to the next function. Returns false behind the last one. */
bool stack_walk_next(struct stack_walk *walk);

/* Return whether the function at hand is an end. */
static inline bool
stack_walk_is_end(const struct stack_walk *walk)
{
    return walk->profile->calls[walk->call].end != NULL;
}

#endif
