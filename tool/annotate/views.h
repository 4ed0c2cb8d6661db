/* SPDX-License-Identifier: MIT */
/* views.h - the ways to list a target. For tool/annotate alone. */
#ifndef ANNOTATE_VIEWS_H
#define ANNOTATE_VIEWS_H

#include "annotate/annotator.h"

/* view - a listing in the making. */
struct view {
    struct annotator *annotator;
    const struct profile *profile;
    const struct listing_target *target; /* never LISTING_OF_ADDRESS for view_source */
    struct listing *listing;
    struct listing_target around; /* for a target made up on the way */
};

/* view_row - a row of the profile, in order of address. */
struct view_row {
    uint64_t start;
    uint64_t end;
    const struct profile_row *row;
    bool of_target;
};

/*
 * The rows of one image, by address. of_target: of the function or line of the target;
 * of an address none is. NULL: out of memory, which sticks.
 */
struct view_row *view_rows(struct view *view, uint32_t image, size_t *count);

/* A copy of a source line without tabs and form feeds, which stand for room. NULL: no
 * such line. */
const char *view_copy_line(struct view *view, const struct source_text *text,
                           uint32_t line);

/* Instructions. False if there is no code to show: nothing was added but notes. */
bool view_code(struct view *view);

/* Source lines. False if no hit has a line: nothing was added but notes. */
bool view_source(struct view *view);

/* Buckets by address. */
void view_buckets(struct view *view);

#endif
