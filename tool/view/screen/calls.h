/* SPDX-License-Identifier: MIT */
/*
 * calls.h - the caller and the callee of one function, its target, on each stack of a
 * profile that it is on.
 *
 * They are functions in whose machine code the calls are. Of a function that is on a
 * stack several times, the innermost call counts; a function that calls itself directly
 * is not its own caller or callee.
 */
#ifndef VIEW_SCREEN_CALLS_H
#define VIEW_SCREEN_CALLS_H

#include "view/screen/target.h"

/* tui_calls - what is known of a profile's stacks. All zero: nothing. */
struct tui_calls {
    const struct profile *profile;
    const struct tui_target *target;
    struct tui_stack *stacks; /* by index of the innermost call */
};

/* tui_link - indexes are those of the profile. */
struct tui_link {
    uint32_t caller; /* of the call from which the target was called, or of an end */
    bool itself;     /* the hit is in the target, and there is no callee */
    uint32_t callee_image;
    uint32_t callee_function;
};

/* Find out which stacks the target is on. Profile and target must outlive calls.
 * Returns false if memory runs out. */
bool tui_calls_find(struct tui_calls *calls, const struct profile *profile,
                    const struct tui_target *target);
void tui_calls_finish(struct tui_calls *calls);

/* Get caller and callee of the target on the stack of a row. Returns false if it is not
 * on it. */
bool tui_calls_link(const struct tui_calls *calls, const struct profile_row *row,
                    struct tui_link *link);

/* Return the function in whose machine code a call is, by its index. */
uint32_t tui_call_function(const struct profile *profile, uint32_t call);

#endif
