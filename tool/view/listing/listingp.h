/* SPDX-License-Identifier: MIT */
/* listingp.h - how listings are built. Only tool/view/listing includes it. */
#ifndef VIEW_LISTING_LISTINGP_H
#define VIEW_LISTING_LISTINGP_H

#include "view/listing/listing.h"

#include "base/string_set.h"

struct listing_private {
    struct string_set texts;
    struct string_set missing; /* paths of missing sources */
    size_t line_room;
    size_t bucket_room;
    size_t note_room;
    size_t hits_count;
    size_t hits_room;
    bool failed; /* memory ran out */
    /* What functions return after a failure. */
    struct listing_line scrap_line;
    struct listing_bucket scrap_bucket;
};

/* listing_failed - return whether memory ran out while the listing was built. */
bool listing_failed(const struct listing *listing);

/* listing_copy - return a copy of size bytes without NUL, as a text that the listing
 * owns; equal ones have one pointer. Returns "" if memory runs out. */
const char *listing_copy(struct listing *listing, const char *bytes, size_t size);

/* listing_format - return a text that is formatted as by printf and owned by the
 * listing; newlines become blanks. */
__attribute__((format(printf, 2, 3))) const char *
listing_format(struct listing *listing, const char *format, ...);

/* listing_add_line - append an empty line. It is valid until the next one is added. */
struct listing_line *listing_add_line(struct listing *listing, enum listing_kind kind);

/* listing_add_note - append a note, unless one with the same text exists. */
__attribute__((format(printf, 3, 4))) void listing_add_note(struct listing *listing,
                                                            enum listing_note_kind kind,
                                                            const char *format, ...);

/* listing_add_bucket - append a bucket without lines and hits. It is valid until the
 * next one is added. */
struct listing_bucket *listing_add_bucket(struct listing *listing, uint64_t start,
                                          uint64_t end, uint32_t image);

/* listing_add_hits - append a zero for each source to hits. Returns the index of the
 * first, or LISTING_NO_HITS if memory runs out. */
size_t listing_add_hits(struct listing *listing);

/* listing_sum - add a count for each source to hits at this index, unless it is
 * LISTING_NO_HITS. */
void listing_sum(struct listing *listing, size_t at, const uint64_t *hits);

/* --- rows of a profile --- */

/* listing_place - a function and line of code: the innermost, or one that it was
 * inlined into. */
struct listing_place {
    uint32_t function;
    uint32_t line;
    uint32_t caller; /* frame of the next outer place; 0: none */
    uint32_t depth;  /* number of places inside this one */
};

/* Longer chains are forged; their outer end is ignored. */
#define LISTING_DEPTH_MAX 512

/* listing_first_place - return the innermost place of a row. */
struct listing_place listing_first_place(const struct profile_row *row);

/* listing_next_place - move to the place that this one was inlined into. Returns false
 * if there is none. */
bool listing_next_place(const struct profile *profile, struct listing_place *place);

/* listing_same_image - return whether two images have the same path and build-id, so
 * that they are one for the user. */
bool listing_same_image(const struct profile *profile, uint32_t left, uint32_t right);

/* listing_is_by_address - return whether hits belong to the target by their address,
 * not by their names. */
bool listing_is_by_address(const struct listing_target *target);

/* listing_same_function - return whether functions of one image are the same, by their
 * names and where they are. */
bool listing_same_function(const struct profile_function *left,
                           const struct profile_function *right);

/* listing_is_nameless - return whether a target is all code of an image without names
 * and bounds. */
bool listing_is_nameless(const struct profile *profile,
                         const struct listing_target *target);

/* listing_find_place - find the innermost place of a row that is in the target's
 * function or line; if no place is although the row's hits are the function's, the
 * outermost place. Returns false if the row's hits are not of the target. identities:
 * NULL for lines. */
bool listing_find_place(const struct profile *profile,
                        const struct identities *identities,
                        const struct listing_target *target,
                        const struct profile_row *row, struct listing_place *place);

/* listing_is_around - return whether the row's code was inlined into the target, which
 * is a function that was inlined itself. */
bool listing_is_around(const struct profile *profile,
                       const struct listing_target *target,
                       const struct profile_row *row);

/* listing_row_end - return the first byte after a row's bucket. */
uint64_t listing_row_end(const struct profile *profile, const struct profile_row *row);

#endif
