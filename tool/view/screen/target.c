/* SPDX-License-Identifier: MIT */
/* target.c - compares functions of different profiles. */
#include "view/screen/target.h"

#include "profile/identity.h"

#include <string.h>

bool
tui_is_function(const struct profile_function *left,
                const struct profile_function *right, bool same_build)
{
    return strcmp(left->name, right->name) == 0 &&
           strcmp(left->system_name, right->system_name) == 0 &&
           strcmp(identity_file(left), identity_file(right)) == 0 &&
           (!same_build || (left->has_address == right->has_address &&
                            left->address == right->address));
}

bool
tui_target_is(const struct tui_target *target, const struct profile_image *image,
              const struct profile_function *function)
{
    return strcmp(image->path, target->image) == 0 &&
           tui_is_function(function, &target->function,
                           strcmp(image->build_id, target->build_id) == 0);
}
