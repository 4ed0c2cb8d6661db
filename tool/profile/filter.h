/* SPDX-License-Identifier: MIT */
/*
 * filter.h - filters the rows of a profile.
 *
 * Each name is matched once, not once per row.
 */
#ifndef PROFILE_FILTER_H
#define PROFILE_FILTER_H

#include "base/buffer.h"
#include "profile/grouping.h"
#include "profile/profile.h"
#include "profile/stack_walk.h"

/* row_filter - all zero lets every row pass. */
struct row_filter {
    const struct profile *profile;
    const struct report_grouping *grouping; /* borrowed */
    bool by_inline;        /* rows are shown by innermost functions too */
    struct buffer scratch; /* the text of a name */
    /* by index of the name: whether it passes; NULL: all pass */
    bool *kinds[REPORT_FILTER_KINDS];
};

/* Match all names. Returns false if memory runs out; finish must be called in any
 * case. */
bool row_filter_init(struct row_filter *filter, const struct profile *profile,
                     const struct report_grouping *grouping);
void row_filter_finish(struct row_filter *filter);

/* Return whether a row passes. Without memory it does not: see row_filter_failed. */
bool row_filter_passes(struct row_filter *filter, const struct profile_row *row);

/* Return whether the function at hand on a stack passes, as if the hits were there. An
 * end is in no image. */
bool row_filter_passes_on_stack(struct row_filter *filter,
                                const struct stack_walk *walk);

/* Return whether memory ran out, so that rows may have been left out. */
bool row_filter_failed(const struct row_filter *filter);

/* Return whether a row passes whose hits are shown in no code. */
bool row_filter_passes_nowhere(const struct row_filter *filter,
                               const struct profile_row *row);

/* Return whether any row passes or, on_stacks, any function that is on one's stack. */
bool row_filter_passes_any(struct row_filter *filter, bool on_stacks);

/* Set *matched if one filter alone lets any row pass, as row_filter_passes_any. Returns
 * false if memory runs out. */
bool filter_matches_any(const struct profile *profile, const struct report_keys *keys,
                        const struct report_filter *filter, bool on_stacks,
                        bool *matched);

/* Return "image" for the option --image, and so on. */
const char *filter_kind_name(enum report_filter_kind kind);

#endif
