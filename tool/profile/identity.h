/* SPDX-License-Identifier: MIT */
/*
 * identity.h - which rows of a profile are the same function.
 *
 * Within a build of an image, a function is its address; where that is not known, its
 * names and file. What was inlined is its definition: names, file and line. Functions
 * of several builds of an image are the same if their names are and, where a build has
 * several of a name, if the last part of the file's path is too. All code of an image
 * that has neither name nor bounds is one function.
 */
#ifndef PROFILE_IDENTITY_H
#define PROFILE_IDENTITY_H

#include "profile/profile.h"

/* identities - numbers of functions, which are at most twice the number of rows. */
struct identities {
    uint32_t *outer; /* by row: number of the function in whose machine code it is */
    /* By row: number of the innermost function; that of outer if nothing was inlined.
     */
    uint32_t *inner;
};

/* Find the functions of all rows. Returns false if memory runs out; finish must be
 * called in any case. */
bool identities_find(const struct profile *profile, struct identities *identities);

void identities_finish(struct identities *identities);

/* Return the source file that defines a function, or "". */
const char *identity_file(const struct profile_function *function);

#endif
