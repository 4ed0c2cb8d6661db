/* SPDX-License-Identifier: MIT */
/*
 * group.h - the rows of a report: rows of a profile added up by keys. For tool/report
 * alone.
 */
#ifndef REPORT_GROUP_H
#define REPORT_GROUP_H

#include "report/report.h"

#include "util/buffer.h"

/* report_group - one row. What its keys leave open is NULL, false or 0. */
struct report_group {
    const struct profile_function *function; /* NULL: no name */
    const struct profile_image *image;
    const char *process;
    const char *thread;                  /* "": not told */
    const struct profile_source *source; /* by source only */
    uint64_t address;                    /* the lowest that was hit */
    uint64_t hits_at;                    /* index into hits */
    uint32_t line;
    uint32_t cpu_plus_1; /* 0: not told */
    bool has_address;
};

struct report_groups {
    const struct profile *profile;
    unsigned keys; /* bits, 1 << enum report_key */
    bool filtered; /* some rows of the profile may be left out */
    struct report_group *groups;
    size_t count;
    struct buffer hits; /* uint64_t: one per source; by source one in all */
    uint64_t *totals;   /* one per source: of all rows of the profile */
    uint64_t *selected; /* the same, of those that the filters let through */
};

/* Largest first. False: out of memory; finish it in any case. */
bool report_group_rows(const struct profile *profile,
                       const struct report_options *options,
                       struct report_groups *groups);

/*
 * Adds a row "[no image]", or "[user mode]" where that was left out, in its place, if
 * sources have hits in no row (outside), and adds those to the totals, so that shares
 * are of all hits. What a filter takes has no such row, and the same totals. False: out
 * of memory.
 */
bool report_groups_add_outside(struct report_groups *groups);

void report_groups_finish(struct report_groups *groups);

/* Is key one of those that rows were added up by? */
bool report_groups_by(const struct report_groups *groups, enum report_key key);

uint64_t report_group_hits(const struct report_groups *groups,
                           const struct report_group *group, size_t source);

/* The source that is shown first: 0, or the group's own. Not without sources. */
size_t report_group_main_source(const struct report_groups *groups,
                                const struct report_group *group);

/* Share of all hits of a source, filtered or not: 0 to 1. */
double report_group_share(const struct report_groups *groups,
                          const struct report_group *group, size_t source);

/* How far the share may be off: see report_error. 0 where it is exact. */
double report_group_error(const struct report_groups *groups,
                          const struct report_group *group, size_t source);

/* The same for hits of a source that are all that the filters let through. */
double report_selected_share(const struct report_groups *groups, size_t source);

/* What the function column says: a name, or image+0xoffset; escaped, appended. */
void report_group_name(const struct report_group *group, struct buffer *out);

/* First byte behind the bucket of a group that has an address; 0 if it is not known. */
uint64_t report_group_bucket_end(const struct report_groups *groups,
                                 const struct report_group *group);

/* The last part of the image's path, escaped, appended. */
void report_image_name(const struct profile_image *image, struct buffer *out);

#endif
