/* SPDX-License-Identifier: MIT */
/* listing.c - the model of a listing: lines, buckets, notes and hits, and how to query
 * them. */
#include "view/listing/listingp.h"

#include "base/arithmetic.h"
#include "base/array.h"
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
listing_failed(const struct listing *listing)
{
    return listing->private == NULL || listing->private->failed;
}

void
listing_finish(struct listing *listing)
{
    if (listing->private != NULL) {
        string_set_finish(&listing->private->texts);
        string_set_finish(&listing->private->missing);
    }
    free(listing->private);
    free(listing->lines);
    free(listing->buckets);
    free(listing->notes);
    free(listing->hits);
    free(listing->own);
    free(listing->inlined);
    free(listing->totals);
    free(listing->shown);
    *listing = (struct listing){.lines = NULL};
}

/* --- building --- */

/* Make room for one more item of size bytes in an array with room for *room items, of
 * which count are used. Returns false if memory runs out, which the listing
 * remembers. */
static bool
grow(struct listing *listing, void **items, size_t count, size_t *room, size_t size)
{
    const bool grown = !listing->private->failed &&
                       array_reserve(items, count, room, size, LISTING_NONE - 1);

    listing->private->failed = !grown;
    return grown;
}

const char *
listing_copy(struct listing *listing, const char *bytes, size_t size)
{
    const uint32_t number = size == 0
                                ? HASH_INDEX_NONE
                                : string_set_add(&listing->private->texts, bytes, size);

    if (number == HASH_INDEX_NONE) {
        listing->private->failed |= size > 0;
        return "";
    }
    return listing->private->texts.texts[number];
}

/* Copy a text into the listing, with newlines as blanks. text is changed. */
static const char *
copy_one_line(struct listing *listing, char *text)
{
    for (char *at = text; *at != '\0'; at++) {
        if (*at == '\n') {
            *at = ' ';
        }
    }
    return listing_copy(listing, text, strlen(text));
}

static const char *
format_text(struct listing *listing, const char *format, va_list arguments)
{
    char *text = NULL;
    const char *copy;

    if (vasprintf(&text, format, arguments) < 0) {
        listing->private->failed = true;
        return "";
    }
    copy = copy_one_line(listing, text);
    free(text);
    return copy;
}

const char *
listing_format(struct listing *listing, const char *format, ...)
{
    va_list arguments;
    const char *text;

    va_start(arguments, format);
    text = format_text(listing, format, arguments);
    va_end(arguments);
    return text;
}

struct listing_line *
listing_add_line(struct listing *listing, enum listing_kind kind)
{
    struct listing_line *line = &listing->private->scrap_line;

    if (grow(listing, (void **)&listing->lines, listing->count,
             &listing->private->line_room, sizeof(*line))) {
        line = &listing->lines[listing->count++];
    }
    *line = (struct listing_line){
        .kind = kind,
        .text = "",
        .file = "",
        .function = "",
        .bucket = LISTING_NONE,
        .target = LISTING_NONE,
        .hits_at = LISTING_NO_HITS,
        .shared_at = LISTING_NO_HITS,
        .inlined_at = LISTING_NO_HITS,
        .below_at = LISTING_NO_HITS,
    };
    return line;
}

static bool
has_note(const struct listing *listing, const char *text)
{
    for (size_t i = 0; i < listing->note_count; i++) {
        if (listing->notes[i].text == text) {
            return true;
        }
    }
    return false;
}

void
listing_add_note(struct listing *listing, enum listing_note_kind kind,
                 const char *format, ...)
{
    va_list arguments;
    const char *text;

    va_start(arguments, format);
    text = format_text(listing, format, arguments);
    va_end(arguments);
    if (!has_note(listing, text) &&
        grow(listing, (void **)&listing->notes, listing->note_count,
             &listing->private->note_room, sizeof(*listing->notes))) {
        listing->notes[listing->note_count++] = (struct listing_note){kind, text};
    }
}

struct listing_bucket *
listing_add_bucket(struct listing *listing, uint64_t start, uint64_t end,
                   uint32_t image)
{
    struct listing_bucket *bucket = &listing->private->scrap_bucket;

    if (grow(listing, (void **)&listing->buckets, listing->bucket_count,
             &listing->private->bucket_room, sizeof(*bucket))) {
        bucket = &listing->buckets[listing->bucket_count++];
    }
    *bucket = (struct listing_bucket){
        .start = start,
        .end = end,
        .image = image,
        .first_line = LISTING_NONE,
        .last_line = LISTING_NONE,
        .hits_at = LISTING_NO_HITS,
    };
    return bucket;
}

size_t
listing_add_hits(struct listing *listing)
{
    const size_t at = listing->private->hits_count;

    for (size_t i = 0; i < listing->source_count; i++) {
        if (!grow(listing, (void **)&listing->hits, listing->private->hits_count,
                  &listing->private->hits_room, sizeof(*listing->hits))) {
            return LISTING_NO_HITS;
        }
        listing->hits[listing->private->hits_count++] = 0;
    }
    return at;
}

void
listing_sum(struct listing *listing, size_t at, const uint64_t *hits)
{
    if (at != LISTING_NO_HITS) {
        add_all_clamped(&listing->hits[at], hits, listing->source_count);
    }
}

/* --- queries --- */

/* Return the count for a source at an index of hits; 0 without one. */
static uint64_t
hits_at(const struct listing *listing, size_t at, size_t source)
{
    return at == LISTING_NO_HITS || source >= listing->source_count
               ? 0
               : listing->hits[at + source];
}

uint64_t
listing_line_hits(const struct listing *listing, const struct listing_line *line,
                  size_t source)
{
    return hits_at(listing, line->hits_at, source);
}

uint64_t
listing_line_shared(const struct listing *listing, const struct listing_line *line,
                    size_t source)
{
    return hits_at(listing, line->shared_at, source);
}

uint64_t
listing_line_inlined(const struct listing *listing, const struct listing_line *line,
                     size_t source)
{
    return hits_at(listing, line->inlined_at, source);
}

uint64_t
listing_line_below(const struct listing *listing, const struct listing_line *line,
                   size_t source)
{
    return hits_at(listing, line->below_at, source);
}

uint64_t
listing_bucket_hits(const struct listing *listing, const struct listing_line *line,
                    size_t source)
{
    return line->bucket >= listing->bucket_count
               ? 0
               : hits_at(listing, listing->buckets[line->bucket].hits_at, source);
}

/* --- rows of a profile --- */

struct listing_place
listing_first_place(const struct profile_row *row)
{
    return (struct listing_place){row->function, row->line, row->caller, 0};
}

bool
listing_next_place(const struct profile *profile, struct listing_place *place)
{
    const struct profile_frame *frame = &profile->frames[place->caller];

    if (place->caller == 0 || place->depth >= LISTING_DEPTH_MAX) {
        return false;
    }
    *place = (struct listing_place){frame->function, frame->line, frame->caller,
                                    place->depth + 1};
    return true;
}

/* Return whether two texts of a profile are equal. They are interned, so that most
 * equal ones have one pointer. */
static bool
same_text(const char *left, const char *right)
{
    return left == right || strcmp(left, right) == 0;
}

bool
listing_same_image(const struct profile *profile, uint32_t left, uint32_t right)
{
    return left == right ||
           (profile->images[left].path == profile->images[right].path &&
            profile->images[left].build_id == profile->images[right].build_id);
}

bool
listing_is_by_address(const struct listing_target *target)
{
    return target->kind == LISTING_OF_ADDRESS || target->kind == LISTING_OF_RANGE;
}

bool
listing_same_function(const struct profile_function *left,
                      const struct profile_function *right)
{
    return same_text(left->name, right->name) &&
           same_text(left->system_name, right->system_name) &&
           same_text(identity_file(left), identity_file(right)) &&
           (!left->has_address || !right->has_address ||
            left->address == right->address);
}

bool
listing_is_nameless(const struct profile *profile, const struct listing_target *target)
{
    const struct profile_function *const function =
        &profile->functions[target->function];

    return target->kind == LISTING_OF_FUNCTION && function->name[0] == '\0' &&
           !function->has_address;
}

/* Return whether a place of a row, that of its code or of a call that was inlined,
 * belongs to the target's line or function. */
static bool
is_place(const struct profile *profile, const struct listing_target *target,
         const struct listing_place *place)
{
    const struct profile_function *const function =
        &profile->functions[place->function];

    return target->kind == LISTING_OF_LINE
               ? place->function != 0 && place->line == target->line &&
                     same_text(function->file, target->file)
               : listing_same_function(function, &profile->functions[target->function]);
}

/* Move from a place outwards to the first one of the target. Returns false at the
 * outermost place if none is of the target. */
static bool
walk(const struct profile *profile, const struct listing_target *target,
     struct listing_place *place)
{
    do {
        if (is_place(profile, target, place)) {
            return true;
        }
    } while (listing_next_place(profile, place));
    return false;
}

bool
listing_is_around(const struct profile *profile, const struct listing_target *target,
                  const struct profile_row *row)
{
    struct listing_place place = listing_first_place(row);

    return target->inlined && listing_same_image(profile, target->image, row->image) &&
           listing_next_place(profile, &place) && walk(profile, target, &place) &&
           place.caller != 0;
}

/* Return whether the hits of a row are those of the target, which is a function. */
static bool
is_of_function(const struct profile *profile, const struct identities *identities,
               const struct listing_target *target, const struct profile_row *row)
{
    const size_t number = (size_t)(row - profile->rows);

    if (!target->inlined) {
        return identities->outer[number] == target->id;
    }
    if (target->within != LISTING_NONE && identities->outer[number] != target->within) {
        return false;
    }
    return target->id != LISTING_NONE
               ? row->caller != 0 && identities->inner[number] == target->id
               : listing_is_around(profile, target, row);
}

bool
listing_find_place(const struct profile *profile, const struct identities *identities,
                   const struct listing_target *target, const struct profile_row *row,
                   struct listing_place *place)
{
    *place = listing_first_place(row);
    if (listing_is_by_address(target) ||
        (target->image != LISTING_NONE &&
         !listing_same_image(profile, target->image, row->image))) {
        return false;
    }
    if (target->kind == LISTING_OF_LINE) {
        return walk(profile, target, place);
    }
    if (!is_of_function(profile, identities, target, row)) {
        return false;
    }
    (void)walk(profile, target, place); /* moves to the outermost place if none is of
                                         * the target */
    return true;
}

uint64_t
listing_row_end(const struct profile *profile, const struct profile_row *row)
{
    const uint64_t size = profile->bucket_bytes > 0 ? profile->bucket_bytes : 1;

    return row->address > UINT64_MAX - size ? UINT64_MAX : row->address + size;
}
