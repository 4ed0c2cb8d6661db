/* SPDX-License-Identifier: MIT */
/*
 * identity.h - which rows of a profile are the same function.
 *
 * Within a build of an image, a function is its address; where that is not known, its
 * names and file. What was inlined is its definition: names, file and line. Functions
 * of several builds of an image are the same if their names are and, where a build has
 * several of a name, if the last part of the file's path is too. All code of an image
 * that has neither name nor bounds is one function. Each end of stacks that is shown,
 * such as "[cut at 16 kB]", is a function of its own, which is in no image.
 */
#ifndef PROFILE_IDENTITY_H
#define PROFILE_IDENTITY_H

#include "profile/profile.h"

#define IDENTITY_NONE UINT32_MAX

/* identities - numbers of functions. Those of rows are at most twice the number of
 * rows. */
struct identities {
    uint32_t *outer; /* by row: number of the function in whose machine code it is */
    /* By row: number of the innermost function; that of outer if nothing was inlined.
     */
    uint32_t *inner;
    /* By call: number of the function in whose machine code it is; of an end that is
     * not shown and of no stack IDENTITY_NONE. */
    uint32_t *calls;
    uint32_t count; /* all numbers are less */
    struct identity_finder *finder;
};

/* Find the functions of all rows and calls. Returns false if memory runs out; finish
 * must be called in any case. */
bool identities_find(const struct profile *profile, struct identities *identities);

void identities_finish(struct identities *identities);

/*
 * Return the number of a function that is on the stack of a row: whatever its code is
 * inlined into, or code is inlined into it. Only of profiles with stacks.
 *
 *   image     index of the image that the code is in
 *   function  index of the function
 *   inlined   whether it was inlined there
 */
uint32_t identity_number(const struct identities *identities, uint32_t image,
                         uint32_t function, bool inlined);

/* The image that is shown for ends of stacks, and for hits that have no caller. */
extern const struct profile_image identity_stack_image;

/* Return an entry of the function with a number, and set *image to an image that it is
 * in: of an end identity_stack_image. */
const struct profile_function *identity_function(const struct identities *identities,
                                                 uint32_t number,
                                                 const struct profile_image **image);

/* Return whether a number is that of a function where it was inlined. */
bool identity_is_inlined(const struct identities *identities, uint32_t number);

/* Return whether a number is that of an end. */
bool identity_is_end(const struct identities *identities, uint32_t number);

/* Return the source file that defines a function, or "". */
const char *identity_file(const struct profile_function *function);

#endif
