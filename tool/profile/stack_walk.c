/* SPDX-License-Identifier: MIT */
/* stack_walk.c - the functions on the stack of a row. */
#include "profile/stack_walk.h"

#include "profile/stack_ends.h"

#include <assert.h>

/* Set the number of the function at hand. */
static void
number_function(struct stack_walk *walk)
{
    const struct identities *const identities = walk->identities;

    if (identities == NULL) {
        return;
    }
    if (walk->inlined && walk->place.caller != 0) {
        walk->number = identity_number(identities, walk->place.image,
                                       walk->place.function, /* inlined */ true);
    } else if (walk->call != 0) {
        walk->number = identities->calls[walk->call];
    } else {
        walk->number = identities->outer[walk->row - walk->profile->rows];
    }
}

/* Set what is the same for all functions at a place. */
static void
enter_place(struct stack_walk *walk)
{
    if (walk->inlined) {
        walk->outer = profile_outer_function(walk->profile, &walk->place);
    }
}

/* Go to the place of a call or an end. Returns false if it is none. */
static bool
go_to_call(struct stack_walk *walk, uint32_t number)
{
    const struct profile_call *const call = &walk->profile->calls[number];

    assert(number < walk->profile->call_count);
    if (number == 0 || (call->end != NULL && !profile_end_is_shown(call->end))) {
        return false;
    }
    walk->call = number;
    walk->place.image = call->image;
    walk->place.address = call->address;
    walk->place.function = call->function;
    walk->place.line = call->line;
    walk->place.caller = call->inlined;
    enter_place(walk);
    return true;
}

/* Go to the next function or place. Returns false behind the last one. */
static bool
go_on(struct stack_walk *walk)
{
    if (!walk->started) {
        walk->started = true;
        walk->place = *walk->row;
        enter_place(walk);
        return true;
    }
    if (walk->inlined && walk->place.caller != 0) {
        const struct profile_frame *const frame =
            &walk->profile->frames[walk->place.caller];

        walk->place.function = frame->function;
        walk->place.line = frame->line;
        walk->place.caller = frame->caller;
        return true;
    }
    return go_to_call(walk, walk->call != 0 ? walk->profile->calls[walk->call].caller
                                            : walk->row->stack);
}

bool
stack_walk_next(struct stack_walk *walk)
{
    const bool found = go_on(walk);

    if (found) {
        number_function(walk);
    }
    return found;
}
