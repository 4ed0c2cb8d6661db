/* SPDX-License-Identifier: MIT */
/* target.h - a function of a live screen, to be found again in other profiles. */
#ifndef VIEW_SCREEN_TARGET_H
#define VIEW_SCREEN_TARGET_H

#include "profile/profile.h"

/* tui_target - a function in whose machine code hits are. Strings are borrowed. */
struct tui_target {
    const char *image; /* its path */
    const char *build_id;
    struct profile_function function;
};

/* Return whether functions of two profiles are the same. same_build: they are of one
 * build, in which a function has one address. */
bool tui_is_function(const struct profile_function *left,
                     const struct profile_function *right, bool same_build);

/* Return whether a function in an image is the target. */
bool tui_target_is(const struct tui_target *target, const struct profile_image *image,
                   const struct profile_function *function);

#endif
