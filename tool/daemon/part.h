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

/* All zero is empty. */
struct part {
    struct profile_merger *merger;
    uint64_t hits; /* taken, of the looks in merger */
    uint64_t lost; /* taken, of those that could not be added up */
};

/* Add a look and take ownership of it, also on failure: then its hits and those before
 * are lost and counted so. */
void part_add(struct part *part, struct profile *look);

/* Return the sum, which the caller then owns, and empty the part except for lost.
 * Returns NULL if it has no look. */
struct profile *part_take(struct part *part);

/* Copy a look, for another part. Returns NULL if memory runs out. */
struct profile *part_copy_look(const struct profile *look);

#endif
