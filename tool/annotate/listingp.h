/* SPDX-License-Identifier: MIT */
/*
 * listingp.h - how listings are built. For tool/annotate alone.
 *
 * Failure sticks: whoever builds appends as much as there is and asks listing_failed
 * once. What is given back meanwhile is never NULL.
 */
#ifndef ANNOTATE_LISTINGP_H
#define ANNOTATE_LISTINGP_H

#include "annotate/listing.h"

#include "util/string_set.h"

struct listing_private {
    struct string_set texts;
    struct string_set missing; /* paths of sources that are not there */
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

/* A copy of size bytes without NUL; "" if memory ran out. */
const char *listing_copy(struct listing *listing, const char *bytes, size_t size);

/* The same as printf makes it. */
__attribute__((format(printf, 2, 3))) const char *
listing_format(struct listing *listing, const char *format, ...);

/* A line of nothing. Valid until the next. */
struct listing_line *listing_add_line(struct listing *listing, enum listing_kind kind);

/* The same, at most once with one text. */
__attribute__((format(printf, 3, 4))) void listing_add_note(struct listing *listing,
                                                            enum listing_note_kind kind,
                                                            const char *format, ...);

/* A bucket without lines and hits. Valid until the next. */
struct listing_bucket *listing_add_bucket(struct listing *listing, uint64_t start,
                                          uint64_t end, uint32_t image);

/* Zeros, one per source; where they are. LISTING_NO_HITS if memory ran out. */
size_t listing_add_hits(struct listing *listing);

/* Adds one count per source; nothing if at is LISTING_NO_HITS. */
void listing_sum(struct listing *listing, size_t at, const uint64_t *hits);

/* The same to a sum of any place. */
void listing_add_clamped(uint64_t *sums, const uint64_t *hits, size_t count);

/* --- rows of a profile --- */

/* listing_place - a function and a line that code is of: the innermost, or what that
 * was inlined into. */
struct listing_place {
    uint32_t function;
    uint32_t line;
    uint32_t caller; /* frame of the next place outwards; 0: none */
    uint32_t depth;  /* places inside of this one */
};

/* Deeper chains are forged: their outer end is not looked at. */
#define LISTING_DEPTH_MAX 512

struct listing_place listing_first_place(const struct profile_row *row);

/* The one that it was inlined into. False: it was not. */
bool listing_next_place(const struct profile *profile, struct listing_place *place);

/* Are they one image, as people tell them apart? */
bool listing_same_image(const struct profile *profile, uint32_t left, uint32_t right);

/* Is the place of the function or the line of a target? */
bool listing_is_place(const struct profile *profile,
                      const struct listing_target *target,
                      const struct listing_place *place);

/* The innermost place of a row that is of a target. False: none is, or it is in another
 * image. */
bool listing_find_place(const struct profile *profile,
                        const struct listing_target *target,
                        const struct profile_row *row, struct listing_place *place);

/* First byte behind a row's bucket. */
uint64_t listing_row_end(const struct profile *profile, const struct profile_row *row);

/* Last part of a path. */
const char *listing_last_part(const char *path);

#endif
