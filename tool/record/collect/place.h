/* SPDX-License-Identifier: MIT */
/*
 * place.h - adds the name of an address to a profile.
 */
#ifndef RECORD_COLLECT_PLACE_H
#define RECORD_COLLECT_PLACE_H

#include "profile/profile.h"
#include "symbols/client/image.h"

/* Add to a profile the function of a name that was looked up and the functions that it
 * was inlined into, and store its line, the function and the chain of inlining
 * (caller) in place. Without function and start, place stays as it is. Returns false
 * if memory runs out. */
bool place_set_name(struct profile *profile, const struct sym_name *name,
                    struct profile_place *place);

#endif
