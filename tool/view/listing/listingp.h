/* SPDX-License-Identifier: MIT */
/*
 * listingp.h - builds listings. Only tool/view/listing includes it.
 *
 * A listing remembers failures: callers append without checks, and call listing_failed
 * once at the end. After a failure these functions still return valid pointers.
 */
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
    struct listing_line scrap_line;
    struct listing_bucket scrap_bucket;
};

bool listing_failed(const struct listing *listing);

/* Copy size bytes without NUL. Returns "" if memory runs out. */
const char *listing_copy(struct listing *listing, const char *bytes, size_t size);

/* Do the same for text that is formatted as by printf. */
__attribute__((format(printf, 2, 3))) const char *
listing_format(struct listing *listing, const char *format, ...);

/* Append an empty line. It is valid until the next one is added. */
struct listing_line *listing_add_line(struct listing *listing, enum listing_kind kind);

/* Append a note, unless one with the same text exists. */
__attribute__((format(printf, 3, 4))) void listing_add_note(struct listing *listing,
                                                            enum listing_note_kind kind,
                                                            const char *format, ...);

/* Append a bucket without lines and hits. It is valid until the next one is added. */
struct listing_bucket *listing_add_bucket(struct listing *listing, uint64_t start,
                                          uint64_t end, uint32_t image);

/* Append a zero for each source. Returns their index, or LISTING_NO_HITS if memory runs
 * out. */
size_t listing_add_hits(struct listing *listing);

/* Add a count for each source, unless at is LISTING_NO_HITS. */
void listing_sum(struct listing *listing, size_t at, const uint64_t *hits);

/* Do the same to sums at any address; they stop at UINT64_MAX. */
void listing_add_clamped(uint64_t *sums, const uint64_t *hits, size_t count);

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

struct listing_place listing_first_place(const struct profile_row *row);

/* Move to the place that this one was inlined into. Returns false if there is none. */
bool listing_next_place(const struct profile *profile, struct listing_place *place);

/* Return whether both are the same image for the user. */
bool listing_same_image(const struct profile *profile, uint32_t left, uint32_t right);

/* Return whether hits belong to the target by their address, not by their names. */
bool listing_is_by_address(const struct listing_target *target);

/* Return whether functions of one image are one by their names and where they are. */
bool listing_same_function(const struct profile_function *left,
                           const struct profile_function *right);

/* Return whether a target is all code of an image without names and bounds. */
bool listing_is_nameless(const struct profile *profile,
                         const struct listing_target *target);

/* Find the innermost place of a row that is in the target's function or line; where the
 * target is a function and all of its code was inlined, that is the outermost place.
 * Returns false if the row is not of the target. identities: NULL for lines. */
bool listing_find_place(const struct profile *profile,
                        const struct identities *identities,
                        const struct listing_target *target,
                        const struct profile_row *row, struct listing_place *place);

/* Return whether the target is a function that others were inlined into in turn. */
bool listing_is_around(const struct profile *profile,
                       const struct listing_target *target,
                       const struct profile_row *row);

/* Return the first byte after a row's bucket. */
uint64_t listing_row_end(const struct profile *profile, const struct profile_row *row);

#endif
