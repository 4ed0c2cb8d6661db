/* SPDX-License-Identifier: MIT */
/* stack_walk.c - the functions on the stack of a row. */
#include "profile/stack_walk.h"

#include <assert.h>

/* Set the function at hand, which is inlined into a frame unless that is 0. */
static void
stop_at(struct stack_walk *walk, uint32_t image, uint32_t function, uint32_t frame)
{
    walk->function = function;
    walk->frame = frame;
    walk->number = identity_number(walk->identities, image, function, frame != 0);
}

/* Stop at the outermost function of a place. */
static void
stop_at_outer(struct stack_walk *walk, uint32_t number, uint32_t function,
              uint32_t inlined)
{
    const struct profile_frame *const frames = walk->profile->frames;

    for (uint32_t at = inlined; at != 0; at = frames[at].caller) {
        function = frames[at].function;
    }
    walk->function = function;
    walk->frame = 0;
    walk->number = number;
}

static bool
stop_at_row(struct stack_walk *walk)
{
    const struct profile_row *const row = walk->row;
    const size_t index = (size_t)(row - walk->profile->rows);

    assert(index < walk->profile->row_count);
    if (walk->inlined && row->caller != 0) {
        stop_at(walk, row->image, row->function, row->caller);
    } else {
        stop_at_outer(walk, walk->identities->outer[index], row->function, row->caller);
    }
    return true;
}

/* Stop at the place of a call or an end. Returns false if it is no place. */
static bool
stop_at_call(struct stack_walk *walk, uint32_t number)
{
    const struct profile_call *const call = &walk->profile->calls[number];

    assert(number < walk->profile->call_count);
    if (walk->identities->calls[number] == IDENTITY_NONE) {
        return false;
    }
    walk->call = number;
    if (walk->inlined && call->inlined != 0) {
        stop_at(walk, call->image, call->function, call->inlined);
    } else {
        stop_at_outer(walk, walk->identities->calls[number], call->function,
                      call->inlined);
    }
    return true;
}

bool
stack_walk_next(struct stack_walk *walk)
{
    const struct profile_frame *const frames = walk->profile->frames;
    const struct profile_call *const call = &walk->profile->calls[walk->call];

    if (!walk->started) {
        walk->started = true;
        return stop_at_row(walk);
    }
    if (walk->frame != 0) {
        stop_at(walk, walk->call != 0 ? call->image : walk->row->image,
                frames[walk->frame].function, frames[walk->frame].caller);
        return true;
    }
    return stop_at_call(walk, walk->call != 0 ? call->caller : walk->row->stack);
}
