/* SPDX-License-Identifier: MIT */
/*
 * group.h - the rows of a report: rows of a profile, grouped by keys. Only tool/profile
 * and tool/view/report include it.
 */
#ifndef PROFILE_GROUP_H
#define PROFILE_GROUP_H

#include "view/report/report.h"

#include "base/buffer.h"

/* report_group - one row. Members that its keys do not determine are NULL, false or
 * 0. */
struct report_group {
    const struct profile_function *function; /* NULL: no name */
    const struct profile_image *image;
    const char *process;
    const char *thread;                  /* "": unknown */
    const char *unit;                    /* "": unknown */
    const struct profile_source *source; /* only if grouped by source */
    uint64_t address;                    /* the lowest address that was hit */
    uint64_t hits_at;                    /* index into hits */
    uint32_t line;
    uint32_t cpu_plus_1; /* 0: unknown */
    bool has_address;
};

struct report_groups {
    const struct profile *profile;
    unsigned keys; /* bits, 1 << enum report_key */
    bool filtered; /* a filter may leave rows out */
    struct report_group *groups;
    size_t count;
    /* uint64_t: one for each source; grouped by source, one for each group */
    struct buffer hits;
    uint64_t *totals;   /* one for each source: hits of all rows of the profile */
    uint64_t *selected; /* the same of the rows that pass the filters */
};

/* Group the rows, largest first. Returns false if memory runs out; finish must be
 * called in any case. */
bool report_group_rows(const struct profile *profile,
                       const struct report_options *options,
                       struct report_groups *groups);

/*
 * Add a row "[no image]", or "[user mode]" if that was left out, for the hits that are
 * outside, in its place in the order. Their number is added to the totals, so that
 * shares are of all hits. With filters there is no such row, but the totals are the
 * same. Returns false if memory runs out.
 */
bool report_groups_add_outside(struct report_groups *groups);

void report_groups_finish(struct report_groups *groups);

/* Return whether key is one of the grouping keys. */
bool report_groups_by(const struct report_groups *groups, enum report_key key);

uint64_t report_group_hits(const struct report_groups *groups,
                           const struct report_group *group, size_t source);

/* Return the source that is shown first: 0, or the group's own. The profile must have
 * sources. */
size_t report_group_main_source(const struct report_groups *groups,
                                const struct report_group *group);

/* Return the share of all hits of a source, filtered or not: 0 to 1. */
double report_group_share(const struct report_groups *groups,
                          const struct report_group *group, size_t source);

/* Return the error of the share, see report_error; 0 if it is exact. */
double report_group_error(const struct report_groups *groups,
                          const struct report_group *group, size_t source);

/* Return the share of a source's hits that pass the filters. */
double report_selected_share(const struct report_groups *groups, size_t source);

/* Append the text of the function column, escaped: a name, or image+0xoffset. */
void report_group_name(const struct report_group *group, struct buffer *out);

/* Return the first byte after the bucket of a group with an address, or 0 if
 * unknown. */
uint64_t report_group_bucket_end(const struct report_groups *groups,
                                 const struct report_group *group);

/* Append the last part of the image's path, escaped. */
void report_image_name(const struct profile_image *image, struct buffer *out);

#endif
