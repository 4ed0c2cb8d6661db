/* SPDX-License-Identifier: MIT */
/*
 * part.h - what the looks of some time have counted together: a window, or a profile
 * that a client asked for.
 */
#ifndef DAEMON_PART_H
#define DAEMON_PART_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct profile_merger;

/* part - looks added up. All zero: none. */
struct part {
    struct profile_merger *merger;
    uint64_t hits; /* taken, of the looks that merger has */
    uint64_t lost; /* taken, of the looks that could not be added up */
};

/* part_add - add a look, and take ownership of it. If memory runs out, its hits and all
 * that the part had are counted as lost. */
void part_add(struct part *part, struct profile *look);

/* part_take - return the sum of the looks, which the caller then owns; the part is
 * empty then, except for lost. Returns NULL if it has no look, or if memory runs out,
 * which counts their hits as lost. */
struct profile *part_take(struct part *part);

/* part_copy_look - return a copy of a look, for another part; NULL if memory runs
 * out. */
struct profile *part_copy_look(const struct profile *look);

#endif
