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

/* Whether functions keep their addresses. */
enum { UNPLACED, PLACED, PLACE_KINDS };

struct profile_uses {
    bool *functions, *frames; /* by PLACE_KINDS * index + kind */
};

/* Start with nothing but what index 0 of both tables stands for. Returns false if
 * memory runs out; finish must be called in any case. */
bool profile_uses_init(struct profile_uses *uses, const struct profile *profile);

void profile_uses_finish(struct profile_uses *uses);

/* Add what a row needs. */
void profile_uses_mark(struct profile_uses *uses, const struct profile *profile,
                       const struct profile_row *row, unsigned kind);

/* Return the function as it is in that kind. Without an address, code without a name is
 * no function. */
struct profile_function profile_uses_function(const struct profile *profile,
                                              size_t index, unsigned kind);

#endif
