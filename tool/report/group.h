/* SPDX-License-Identifier: MIT */
/*
 * group.h - the rows of a report: rows of a profile added up by a key. For tool/report
 * alone.
 */
#ifndef REPORT_GROUP_H
#define REPORT_GROUP_H

#include "report/report.h"

#include "util/buffer.h"

/* report_group - one row. What its key leaves open is NULL, false or 0. */
struct report_group {
    const struct profile_function *function; /* NULL: no name */
    const struct profile_image *image;
    const char *process;
    const struct profile_source *source; /* by source only */
    uint64_t address;                    /* the lowest that was hit */
    bool has_address;
    uint32_t line;
    uint64_t hits_at; /* index into hits, one per source */
};

struct report_groups {
    struct report_group *groups;
    size_t count;
    struct buffer hits; /* uint64_t */
    uint64_t *totals;   /* one per source */
};

/* Largest first. False: out of memory; finish it in any case. */
bool report_group_rows(const struct profile *profile, enum report_key key,
                       struct report_groups *groups);
void report_groups_finish(struct report_groups *groups);

uint64_t report_group_hits(const struct report_groups *groups,
                           const struct report_group *group, size_t source);

/* Hits shown first: of source 0, or of the group's own. */
uint64_t report_group_main_hits(const struct profile *profile,
                                const struct report_groups *groups,
                                const struct report_group *group);

/* Share of the same, 0 to 1. */
double report_group_share(const struct profile *profile,
                          const struct report_groups *groups,
                          const struct report_group *group);

/* What the function column says: a name, or image+0xoffset; escaped, appended. */
void report_group_name(const struct report_group *group, struct buffer *out);

/* The last part of the image's path, escaped, appended. */
void report_image_name(const struct profile_image *image, struct buffer *out);

#endif
