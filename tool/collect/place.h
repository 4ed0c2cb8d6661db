/* SPDX-License-Identifier: MIT */
/*
 * place.h - puts what is known of an address into a profile.
 */
#ifndef COLLECT_PLACE_H
#define COLLECT_PLACE_H

#include "profile/profile.h"
#include "sym/sym.h"

/* Adds the function, and those that it was inlined into, and names the place after
 * them. False: out of memory. */
bool place_set_name(struct profile *profile, const struct sym_name *name,
                    struct profile_place *place);

#endif
