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

/* function_names - the functions of a profile, each with the detail that its name needs
 * to differ from the others. */
struct function_names {
    struct identities identities;
    struct display_name *items;
    size_t count;
    /* By row: the number of the function in whose machine code it is. */
    uint32_t *outer;
    /* By row: the number of the innermost function, if it was inlined; else
     * the number in outer. */
    uint32_t *inner;
};

/* function_names_find - name the functions of all rows, with this detail at
 * least. Returns false if memory runs out; function_names_finish must be
 * called in any case. */
bool function_names_find(const struct profile *profile, enum display_detail least,
                         struct function_names *names);
void function_names_finish(struct function_names *names);

/* function_has_name_or_bounds - return whether this is a known function. If it is not,
 * only buckets of its code can be shown. */
static inline bool
function_has_name_or_bounds(const struct profile_function *function)
{
    return function->name[0] != '\0' || function->has_address;
}

/* function_names_short - append the names of all functions, escaped, each with its
 * NUL. A name is shortened to FUNCTION_NAME_COLUMNS characters, unless another
 * function would then be called so, too. starts gets the offset of each name. Returns
 * false if memory runs out. */
enum { FUNCTION_NAME_COLUMNS = 100 };
bool function_names_short(const struct function_names *names, struct buffer *out,
                          size_t *starts);

/* function_names_outer - name, in full, all functions that have the machine code of
 * rows and calls, and ends of stacks that are shown. Returns a table by number, for
 * free(); NULL if memory runs out. */
struct display_name *function_names_outer(const struct profile *profile,
                                          const struct identities *identities);

/* function_names_inlined - set, by index of the function in the profile, the detail
 * that distinguishes it where it was inlined, DISPLAY_FULL at least. Returns false
 * if memory runs out. */
bool function_names_inlined(const struct profile *profile,
                            enum display_detail *details);

#endif
