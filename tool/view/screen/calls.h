/* SPDX-License-Identifier: MIT */
/*
 * calls.h - the caller and the callee of one function, its target, on each stack of a
 * profile that it is on.
 *
 * They are functions in whose machine code the calls are, found as by report
 * --callers-of and --callees-of (profile/relation.h).
 */
#ifndef VIEW_SCREEN_CALLS_H
#define VIEW_SCREEN_CALLS_H

#include "profile/relation.h"
#include "view/screen/target.h"

/* tui_calls - which functions of a profile are the target. All zero: none is known. */
struct tui_calls {
    const struct profile *profile;
    struct identities identities;
    struct relation relation;
};

/* tui_related - a caller or a callee. */
struct tui_related {
    enum relation_found found;
    const char *end;   /* how the stack ends, if that is in place of a caller */
    uint32_t image;    /* else: index in the profile, also of the target itself */
    uint32_t function; /* the same */
};

/* Find out which functions are the target. The profile must outlive calls. Returns
 * false if memory runs out; finish must be called in any case. */
bool tui_calls_find(struct tui_calls *calls, const struct profile *profile,
                    const struct tui_target *target);
void tui_calls_finish(struct tui_calls *calls);

/* Get the caller or the callee on the stack of a row, which must have one. */
struct tui_related tui_calls_related(const struct tui_calls *calls,
                                     enum report_relation_kind kind,
                                     const struct profile_row *row);

#endif
