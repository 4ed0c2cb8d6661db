/* SPDX-License-Identifier: MIT */
/*
 * group.h - the rows of a report: rows of a profile, grouped by keys.
 */
#ifndef PROFILE_GROUP_H
#define PROFILE_GROUP_H

#include "profile/grouping.h"
#include "profile/profile.h"

#include "profile/estimate.h"

#include "base/buffer.h"
#include "profile/display.h"
#include "profile/identity.h"

/* report_group - one row. Members that its keys do not determine are NULL, false or
 * 0. */
struct report_group {
    /* In whose machine code the hits are; its numbers are those of identity.h. */
    const struct profile_function *function;
    const struct profile_function *inner; /* innermost, if all hits are in one */
    uint32_t function_id;
    uint32_t inner_id;
    enum display_detail detail; /* of the names in tables */
    enum display_detail inner_detail;
    const struct profile_image *image; /* of several builds one */
    bool several_builds;
    const char *file; /* of line */
    const char *process;
    const char *thread;                  /* "": unknown */
    const char *unit;                    /* "": unknown */
    const struct profile_source *source; /* only if grouped by source */
    uint64_t address;                    /* the lowest address that was hit */
    uint64_t hits_at;                    /* index into hits */
    uint32_t line;
    uint32_t cpu_plus_1; /* 0: unknown */
    uint32_t pid;        /* 0: unknown */
    bool has_address;
    bool total_only; /* no hits of its own */
    size_t total_of; /* row that was added to the total last, plus 1 */
};

struct report_groups {
    const struct profile *profile;
    unsigned keys; /* bits, 1 << enum report_key */
    struct identities identities;
    bool filtered; /* filters or the relation may leave rows out */
    const struct report_relation *relation; /* of the grouping; NULL: none */
    /* Rows have totals: the hits of all stacks that they are on, however often they are
     * on one. */
    bool has_totals;
    size_t width; /* counters of a group */
    struct report_group *groups;
    size_t count;
    /* uint64_t: counters as those of a row (profile/join.h); grouped by source, only
     * those of the group's own, the sum first; then as many of its totals */
    struct buffer hits;
    uint64_t *totals;   /* counters: of all rows of the profile */
    uint64_t *selected; /* the same of the rows that pass the filters */
};

/* Group the rows, largest first. Returns false if memory runs out; finish must be
 * called in any case. */
bool report_group_rows(const struct profile *profile,
                       const struct report_grouping *grouping,
                       struct report_groups *groups);

/*
 * Add rows for the hits that are outside, where they belong in the order: "[no image]",
 * or "[user mode]" if that was left out, and "[kernel, unknown]"; or only "[outside of
 * the region]". Grouped by source, each source has its own; grouped by nothing else,
 * the hits are added to the row of their source. Their number is added to the totals,
 * so that shares are of all hits. With filters there is no such row, but the totals are
 * the same. Returns false if memory runs out.
 */
bool report_groups_add_outside(struct report_groups *groups);

void report_groups_finish(struct report_groups *groups);

/* Return whether rows have totals: the profile has stacks, and rows are of functions,
 * lines or images, of no addresses, and of no callers or callees. */
bool report_shows_totals(const struct profile *profile,
                         const struct report_grouping *grouping);

/* Return whether the grouping keys determine functions. */
bool report_groups_have_functions(const struct report_groups *groups);

/* Return whether rows are whole sources: the source is the only key. */
bool report_groups_only_by_source(const struct report_groups *groups);

/* Return whether key is one of the grouping keys. */
bool report_groups_by(const struct report_groups *groups, enum report_key key);

/* Return what a row, all rows, or all rows that pass the filters have of a source. */
struct report_count report_group_count(const struct report_groups *groups,
                                       const struct report_group *group, size_t source);
struct report_count report_total(const struct report_groups *groups, size_t source);
struct report_count report_selected(const struct report_groups *groups, size_t source);

/* Return the total of a row, which has_totals, and its share. */
struct report_count report_group_total(const struct report_groups *groups,
                                       const struct report_group *group, size_t source);
double report_group_total_share(const struct report_groups *groups,
                                const struct report_group *group, size_t source);

/* Return the hits of report_group_count. */
uint64_t report_group_hits(const struct report_groups *groups,
                           const struct report_group *group, size_t source);

/* Return the counters of a group, unless rows are grouped by source. */
const uint64_t *report_group_counters(const struct report_groups *groups,
                                      const struct report_group *group);

/* Return the variance of a group's units of a source: 0 if the group has another. */
double report_group_variance(const struct report_groups *groups,
                             const struct report_group *group, size_t source);

/* Return the source that is shown first: 0, or the group's own. The profile must have
 * sources. */
size_t report_group_main_source(const struct report_groups *groups,
                                const struct report_group *group);

/* Return the share of all units of a source, filtered or not: 0 to 1. */
double report_group_share(const struct report_groups *groups,
                          const struct report_group *group, size_t source);

/* Return the error of the share, see report_error; 0 if it is exact. */
double report_group_error(const struct report_groups *groups,
                          const struct report_group *group, size_t source);

/* Return the share of a source's units that pass the filters. */
double report_selected_share(const struct report_groups *groups, size_t source);

/* Let the first groups of a table read differently where their functions differ. With
 * full, names are never shortened. Returns false if memory runs out. */
bool report_groups_tell_apart(const struct report_groups *groups, size_t count,
                              bool full);

/* Append the name of the function, escaped, with a detail of at least this one. */
void report_group_name(const struct report_group *group, enum display_detail detail,
                       struct buffer *out);

/* Append the name of the innermost function in the same way and, unless the function
 * has a column of its own, what it is inlined in. */
void report_group_inner_name(const struct report_groups *groups,
                             const struct report_group *group,
                             enum display_detail detail, struct buffer *out);

/* Return whether the innermost function was inlined into another. */
bool report_group_is_inlined(const struct report_group *group);

/* Return the first byte after the bucket of a group with an address, or 0 if
 * unknown. */
uint64_t report_group_bucket_end(const struct report_groups *groups,
                                 const struct report_group *group);

/* Return whether only a region was profiled: outside hits are those elsewhere. */
bool report_is_region(const struct profile *profile);

#endif
