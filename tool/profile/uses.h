/* SPDX-License-Identifier: MIT */
/*
 * uses.h - which functions and frames the rows of a profile need.
 *
 * Functions keep their addresses where an address is the same code in each run, and
 * lose them elsewhere, so that the code of several runs is one function. A profile has
 * both kinds of rows, so each function and each frame may be needed in two kinds.
 */
#ifndef PROFILE_USES_H
#define PROFILE_USES_H

#include "profile/profile.h"

/* The two kinds: a function as rows need it that are not of a known build, and as rows
 * need it that are. */
enum { FUNCTION_WITHOUT_ADDRESS, FUNCTION_WITH_ADDRESS, FUNCTION_KINDS };

/* profile_uses - whether an entry is needed, by FUNCTION_KINDS * index in the profile +
 * kind. */
struct profile_uses {
    bool *functions, *frames;
};

/* Start with only index 0 of both tables, which stands for none. Returns false if
 * memory runs out; profile_uses_finish must be called in any case. */
bool profile_uses_init(struct profile_uses *uses, const struct profile *profile);

void profile_uses_finish(struct profile_uses *uses);

/* Mark the functions and frames of a row as needed in a kind. */
void profile_uses_mark(struct profile_uses *uses, const struct profile *profile,
                       const struct profile_row *row, unsigned kind);

/* Do the same with the names of a call. */
void profile_uses_mark_call(struct profile_uses *uses, const struct profile *profile,
                            const struct profile_call *call, unsigned kind);

/* Return a function as it is in a kind: without an address it keeps its name, and if it
 * has none it is function 0. */
struct profile_function profile_uses_function(const struct profile *profile,
                                              size_t index, unsigned kind);

#endif
