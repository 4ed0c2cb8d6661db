/* SPDX-License-Identifier: MIT */
/* place.c - functions and frames of a profile from symbol names. */
#include "record/collect/place.h"

/* Find or add the function of a name that was looked up. */
static bool
add_function(struct profile *profile, const struct sym_frame *frame, uint32_t *index)
{
    const struct profile_function function = {
        .name = frame->name,
        .system_name = frame->system_name,
        .file = frame->file,
        .start_line = frame->start_line,
    };

    return profile_add_function(profile, &function, index);
}

/* Add the functions that the code is inlined into, the outermost first, because each
 * frame of a profile refers to its caller. Callers beyond one without a name are left
 * out: they would appear to call the function inside it directly. */
static bool
add_callers(struct profile *profile, const struct sym_name *name, uint32_t *caller)
{
    size_t count = 0;

    *caller = 0;
    while (count < name->caller_count && name->callers[count].name[0] != '\0') {
        count++;
    }
    for (; count > 0; count--) {
        struct profile_frame frame = {.line = name->callers[count - 1].line,
                                      .caller = *caller};

        if (!add_function(profile, &name->callers[count - 1], &frame.function) ||
            !profile_add_frame(profile, &frame, caller)) {
            return false;
        }
    }
    return true;
}

bool
place_set_name(struct profile *profile, const struct sym_name *name,
               struct profile_place *place)
{
    const struct sym_frame innermost = {
        .name = name->name,
        .system_name = name->system_name,
        .file = name->file != NULL ? name->file : "",
        .start_line = name->start_line,
    };

    if (name->name == NULL) {
        return true;
    }
    place->line = name->line;
    return add_function(profile, &innermost, &place->function) &&
           add_callers(profile, name, &place->caller);
}
