/* SPDX-License-Identifier: MIT */
/* views.h - the ways to list a target. Only tool/view/listing includes it. */
#ifndef VIEW_LISTING_VIEWS_H
#define VIEW_LISTING_VIEWS_H

#include "view/listing/annotator.h"

/* view - a listing while it is built. */
struct view {
    struct annotator *annotator;
    const struct profile *profile;
    const struct identities *identities; /* of the profile; only set if the target is a
                                          * function */
    const struct listing_target *target; /* for view_source never one by address */
    struct listing *listing;
    struct listing_target around; /* a substitute target that the view makes */
};

/* view_row - a row of the profile, sorted by address. */
struct view_row {
    uint64_t start;
    uint64_t end;
    const struct profile_row *row;
    bool of_target;
};

/*
 * view_rows - return the rows of one image by address, for free(), or NULL if memory
 * runs out, which the listing remembers. of_target is set if a row belongs to the
 * target's function or line; for an address or range it never is.
 */
struct view_row *view_rows(struct view *view, uint32_t image, size_t *count);

/*
 * view_images - return for each image of the profile whether it is listed, because the
 * target has hits in it; for free().
 * A profile may contain an image more than once; of these only the first is listed,
 * with the rows of all. Returns NULL if memory runs out, which the listing remembers.
 */
bool *view_images(struct view *view);

/* view_copy_line - copy a source line into the listing, with tabs and form feeds
 * replaced by blanks. Returns NULL if there is no such line. */
const char *view_copy_line(struct view *view, const struct source_text *text,
                           uint32_t line);

/* view_code - list instructions. Returns false if there is no code to show; only notes
 * were added then. */
bool view_code(struct view *view);

/* view_source - list source lines. Returns false if no hit of a function has a line;
 * only notes were added then. A requested line is always listed. */
bool view_source(struct view *view);

/* view_below_code - add the hits below the instructions of an image, if the settings
 * ask for them. These are the lines from first_line on. shift: what to add to addresses
 * of the profile. */
void view_below_code(struct view *view, uint32_t image, uint64_t shift,
                     size_t first_line);

/* view_below_source - add those below the source lines. */
void view_below_source(struct view *view);

/* view_buckets - list buckets by address. */
void view_buckets(struct view *view);

#endif
