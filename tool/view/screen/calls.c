/* SPDX-License-Identifier: MIT */
/* calls.c - goes through the calls of a profile once, callers before what they call. */
#include "view/screen/calls.h"

#include <stdlib.h>

/* tui_stack - what is known of the stacks that have a call as their innermost one. */
struct tui_stack {
    uint32_t caller; /* of the target: index of its call or end; 0: it is not there */
    uint32_t callee; /* index of the call that the target called; 0: none yet */
};

uint32_t
tui_call_function(const struct profile *profile, uint32_t call)
{
    const struct profile_row place = {
        .function = profile->calls[call].function,
        .caller = profile->calls[call].inlined,
    };

    return profile_outer_function(profile, &place);
}

/* Return whether a call is in the target's code. */
static bool
is_target(const struct tui_calls *calls, uint32_t call)
{
    const struct profile_call *const known = &calls->profile->calls[call];

    return known->end == NULL &&
           tui_target_is(calls->target, calls->profile, known->image,
                         tui_call_function(calls->profile, call));
}

/* Return the caller of a target that was called by this call: it, or if it is the
 * target's own, the caller of that. */
static uint32_t
caller_by(const struct tui_calls *calls, uint32_t call)
{
    const struct tui_stack *const stack = &calls->stacks[call];

    return stack->caller != 0 && stack->callee == 0 ? stack->caller : call;
}

bool
tui_calls_find(struct tui_calls *calls, const struct profile *profile,
               const struct tui_target *target)
{
    *calls = (struct tui_calls){
        profile, target, calloc(profile->call_count + 1, sizeof(struct tui_stack))};
    if (calls->stacks == NULL) {
        return false;
    }
    for (uint32_t i = 1; i < profile->call_count; i++) {
        const uint32_t outside = profile->calls[i].caller;
        struct tui_stack *const stack = &calls->stacks[i];

        *stack = calls->stacks[outside];
        if (is_target(calls, i)) {
            *stack = (struct tui_stack){.caller = caller_by(calls, outside)};
        } else if (stack->caller != 0 && stack->callee == 0) {
            stack->callee = i;
        }
    }
    return true;
}

void
tui_calls_finish(struct tui_calls *calls)
{
    free(calls->stacks);
    *calls = (struct tui_calls){0};
}

bool
tui_calls_link(const struct tui_calls *calls, const struct profile_row *row,
               struct tui_link *link)
{
    const struct profile *const profile = calls->profile;
    const struct tui_stack *const stack = &calls->stacks[row->stack];

    *link = (struct tui_link){
        .caller = stack->caller,
        .callee_image = row->image,
        .callee_function = profile_outer_function(profile, row),
    };
    if (row->stack == 0) {
        return false;
    }
    if (tui_target_is(calls->target, profile, row->image, link->callee_function)) {
        link->itself = true;
        link->caller = caller_by(calls, row->stack);
    } else if (stack->callee != 0) {
        link->callee_image = profile->calls[stack->callee].image;
        link->callee_function = tui_call_function(profile, stack->callee);
    }
    return link->caller != 0;
}
