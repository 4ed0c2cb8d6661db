/* SPDX-License-Identifier: MIT */
/* place.c - functions and frames of a profile from symbol names. */
#include "record/collect/place.h"

/* What add_function gets for inlined functions, which have no start: the start in a
 * name is that of the outermost function. */
static const struct sym_name no_start = {.has_start = false};

/* Find or add the function of a frame, and store its index. outermost is the name that
 * the frame is of, which has its start; for an inlined frame it is no_start. Returns
 * false if memory runs out. */
static bool
add_function(struct profile *profile, const struct sym_frame *frame,
             const struct sym_name *outermost, uint32_t *index)
{
    const struct profile_function function = {
        .name = frame->name,
        .system_name = frame->system_name,
        .file = frame->file,
        .start_line = frame->start_line,
        .definition = frame->definition,
        .has_address = outermost->has_start,
        .address = outermost->start,
    };

    return profile_add_function(profile, &function, index);
}

/* Return the number of callers up to the first one without a name. That one and
 * those outside of it are left out: they would appear to call the function
 * inside it directly. */
static size_t
named_callers(const struct sym_name *name)
{
    size_t count = 0;

    while (count < name->caller_count && name->callers[count].name[0] != '\0') {
        count++;
    }
    return count;
}

/* Add the functions that the code is inlined into, the outermost first, because each
 * frame of a profile refers to its caller. *caller becomes the index of the innermost,
 * or 0. Returns false if memory runs out. */
static bool
add_callers(struct profile *profile, const struct sym_name *name, uint32_t *caller)
{
    *caller = 0;
    for (size_t count = named_callers(name); count > 0; count--) {
        struct profile_frame frame = {.line = name->callers[count - 1].line,
                                      .caller = *caller};

        if (!add_function(profile, &name->callers[count - 1],
                          count == name->caller_count ? name : &no_start,
                          &frame.function) ||
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
        .definition = name->definition,
    };

    if (name->name == NULL && !name->has_start) {
        return true;
    }
    place->line = name->line;
    return add_function(profile, &innermost, name->caller_count == 0 ? name : &no_start,
                        &place->function) &&
           add_callers(profile, name, &place->caller);
}
