/* SPDX-License-Identifier: MIT */
/*
 * flames.h - the flame graphs of a profile: a tree for each source, with the hits of an
 * older profile beside its own.
 */
#ifndef VIEW_EXPORT_FLAMES_H
#define VIEW_EXPORT_FLAMES_H

#include "view/export/flame.h"

/* flames_source - of one source; sides without it have 0. */
struct flames_source {
    struct flame tree;
    uint64_t all[FLAME_SIDES];   /* hits that shares are of: also those in no row */
    double counted[FLAME_SIDES]; /* the same as a number of hits: see join.h */
    bool exact;                  /* each event is a hit on both sides */
};

/* flames - all zero: none. */
struct flames {
    struct flame_frames frames;
    struct flames_source *sources; /* as in the profile */
    size_t count;
    bool compared; /* with an older one */
};

/*
 * Read the stacks of a profile, which must have some.
 *
 *   old  the profile that it is compared with; NULL: none
 *
 * Returns false if memory runs out; finish must be called in any case.
 */
bool flames_read(struct flames *flames, const struct profile *profile,
                 const struct profile *old);
void flames_finish(struct flames *flames);

/*
 * Set by how much the share of a node changed, from -1 to 1, and how far off that may
 * be, 95 times of 100. Returns whether it changed beyond chance.
 */
bool flames_change(const struct flames_source *source, const struct flame_node *node,
                   double *change, double *error);

#endif
