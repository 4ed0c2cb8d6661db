/* SPDX-License-Identifier: MIT */
/*
 * function_names.h - the functions of a profile as exports have them: numbered, and
 * with what each is called. Only tool/view/export includes it.
 */
#ifndef VIEW_EXPORT_FUNCTION_NAMES_H
#define VIEW_EXPORT_FUNCTION_NAMES_H

#include "profile/display.h"
#include "profile/identity.h"
#include "profile/profile.h"

/* function_names - each name has the detail that distinguishes it from others. */
struct function_names {
    struct identities identities;
    struct display_name *items;
    size_t count;
    /* By row: the number of the function in whose machine code it is. */
    uint32_t *outer;
    /* By row: the number of the innermost function, as one that was inlined; that of
     * outer if nothing was. */
    uint32_t *inner;
};

/* Name the functions of all rows, with at least this detail. Returns false if memory
 * runs out; finish must be called in any case. */
bool function_names_find(const struct profile *profile, enum display_detail least,
                         struct function_names *names);
void function_names_finish(struct function_names *names);

/* Is this a function? If not, only buckets of its code can be shown. */
static inline bool
function_has_name_or_bounds(const struct profile_function *function)
{
    return function->name[0] != '\0' || function->has_address;
}

/* Append the names of functions as rows have them, escaped, each with its NUL: of at
 * most FUNCTION_NAME_COLUMNS characters, unless that would be the name of another one
 * too. starts has where each begins. */
enum { FUNCTION_NAME_COLUMNS = 100 };
bool function_names_short(const struct function_names *names, struct buffer *out,
                          size_t *starts);

/* Set, by index of the function, with what detail it is distinguished where it was
 * inlined, at least in full. Returns false if memory runs out. */
bool function_names_inlined(const struct profile *profile,
                            enum display_detail *details);

#endif
