/* SPDX-License-Identifier: MIT */
/*
 * pair.h - two profiles as one, to be grouped as any other: each source that both have
 * is two sources of it. For tool/report alone.
 *
 * What two builds have in common are names, so names say what is the same: an image is
 * its file name (its path, if both have that and several of one have the file name), a
 * function its name, a line its file's name and number. Addresses are kept where the
 * builds are the same and else are 0.
 */
#ifndef REPORT_PAIR_H
#define REPORT_PAIR_H

#include "report/report.h"

enum { PAIR_OLD, PAIR_NEW, PAIR_SIDES };

/* pair_source - what both profiles have of a source. */
struct pair_source {
    const struct profile_source *sides[PAIR_SIDES]; /* borrowed */
    uint64_t totals[PAIR_SIDES]; /* hits of all rows, filtered or not */
};

struct pair {
    const struct profile *sides[PAIR_SIDES]; /* borrowed */
    struct profile
        *joined; /* source 2 * i is the old side of sources[i], the next its new one */
    struct pair_source *sources;
    size_t source_count; /* 0: they have none in common */
};

/* Takes the filters of options. False: out of memory; finish it in any case. */
bool pair_init(struct pair *pair, const struct profile *old_profile,
               const struct profile *new_profile, const struct report_options *options);
void pair_finish(struct pair *pair);

#endif
