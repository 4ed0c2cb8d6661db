/* SPDX-License-Identifier: MIT */
/*
 * pair.h - joins two profiles into one that is grouped like any other: a source that
 * both have becomes two sources of it.
 *
 * Two builds have only names in common, so names decide what is the same: images by
 * file name (or by path, if both profiles have the path and several images have that
 * file name), functions by name, lines by file name and number. Addresses are kept
 * where the builds are the same, and are 0 elsewhere. Stacks are kept if both have
 * some and rows of the grouping have totals; not with filters, which are of a row's own
 * code.
 */
#ifndef PROFILE_PAIR_H
#define PROFILE_PAIR_H

#include "profile/grouping.h"
#include "profile/profile.h"

enum { PAIR_OLD, PAIR_NEW, PAIR_SIDES };

/* pair_source - a source that both profiles have. */
struct pair_source {
    const struct profile_source *sides[PAIR_SIDES]; /* borrowed */
    uint64_t totals[PAIR_SIDES]; /* units of all rows, filtered or not */
    uint64_t total_hits[PAIR_SIDES];
    double variances[PAIR_SIDES]; /* of totals */
    /* in joined: the first source with the hits of a part of this side, if any */
    size_t parts_at[PAIR_SIDES];
};

struct pair {
    const struct profile *sides[PAIR_SIDES]; /* borrowed */
    /* source 2 * i is the old side of sources[i], source 2 * i + 1 the new one; behind
     * them are the parts of sides with several intervals (profile/join.h) */
    struct profile *joined;
    struct pair_source *sources;
    size_t source_count; /* 0: the profiles have no source in common */
    bool stacks;         /* joined has those of both */
    /* By side and by its own index: the indexes in joined. Those of calls are set with
     * stacks only. */
    uint32_t *images[PAIR_SIDES], *functions[PAIR_SIDES], *calls[PAIR_SIDES];
};

/* Join two profiles and apply the filters of grouping. Returns false if memory runs
 * out; finish must be called in any case. */
bool pair_init(struct pair *pair, const struct profile *old_profile,
               const struct profile *new_profile,
               const struct report_grouping *grouping);
void pair_finish(struct pair *pair);

#endif
