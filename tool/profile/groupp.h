/* SPDX-License-Identifier: MIT */
/* groupp.h - groups while they are made. Only files beside it include it. */
#ifndef PROFILE_GROUPP_H
#define PROFILE_GROUPP_H

#include "base/hash_index.h"
#include "profile/group.h"
#include "profile/relation.h"

#define BIT(key) (1u << (key))

/* Numbers of groups that are no functions of the profile: of hits outside, less 1 if
 * they are in kernel mode; and from GROUP_NOWHERE_ID on three of group_of_nowhere. */
#define GROUP_OUTSIDE_ID UINT32_MAX
#define GROUP_NOWHERE_ID (GROUP_OUTSIDE_ID - 8)

struct grouper {
    const struct profile *profile;
    unsigned keys;
    bool join_builds;
    struct report_groups *groups;
    size_t width;     /* number of counters of a group, and as many of its totals */
    size_t row_width; /* number of counters of a row of the profile */
    /* rows are by address, and the profile has buckets of several sizes: each address
     * is rounded down to the start of a bucket of the largest size */
    bool joins_buckets;
    size_t capacity;
    struct hash_index index;
    struct relation relation; /* if groups->relation is not NULL */
};

/* Return how many counters a group has: those of a row or, grouped by source, one for
 * the source and as many more as any source has parts. */
size_t grouper_width(const struct profile *profile, unsigned keys);

/* Append a group without hits. Returns NULL if memory runs out. The result is valid
 * until another is appended. */
struct report_group *grouper_append(struct grouper *grouper,
                                    const struct report_group *wanted);

/* Return the counters of a group; its totals are behind. */
uint64_t *group_sums(const struct report_groups *groups,
                     const struct report_group *group);

/* Add the counters of one source to those of a group of its own. */
void grouper_add_own(const struct grouper *grouper, size_t source,
                     const uint64_t *counters, uint64_t *sums);

void grouper_sort(struct grouper *grouper);

#endif
