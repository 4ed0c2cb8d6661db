/* SPDX-License-Identifier: MIT */
/* view_rows.c - sorts the rows of an image, and lists them without any file. */
#include "view/listing/views.h"

#include "base/arithmetic.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int
compare_rows(const void *left, const void *right)
{
    const struct view_row *a = left;
    const struct view_row *b = right;

    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    return (a->end > b->end) - (a->end < b->end);
}

struct view_row *
view_rows(struct view *view, uint32_t image, size_t *count)
{
    const struct profile *profile = view->profile;
    struct view_row *rows = calloc(profile->row_count + 1, sizeof(*rows));
    struct view_row *smaller;
    size_t found = 0;

    *count = 0;
    if (rows == NULL) {
        view->listing->private->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];
        struct listing_place place;

        if (listing_same_image(profile, row->image, image)) {
            rows[found++] =
                (struct view_row){row->address, listing_row_end(profile, row), row,
                                  listing_find_place(profile, view->identities,
                                                     view->target, row, &place)};
        }
    }
    qsort(rows, found, sizeof(*rows), compare_rows);
    smaller = reallocarray(rows, found + 1, sizeof(*rows));
    *count = found;
    return smaller != NULL ? smaller : rows;
}

/* Distance of tab stops in columns. */
enum { TAB_COLUMNS = 8 };

const char *
view_copy_line(struct view *view, const struct source_text *text, uint32_t line)
{
    char copy[SOURCE_TEXT_COLUMNS_MAX];
    size_t columns = 0;
    size_t size;
    const char *bytes = source_text_line(text, line, &size);

    for (size_t i = 0; bytes != NULL && i < size && columns < sizeof(copy); i++) {
        if (bytes[i] != '\t' && bytes[i] != '\f') {
            copy[columns++] = bytes[i];
            continue;
        }
        do {
            copy[columns++] = ' ';
        } while (bytes[i] == '\t' && columns < sizeof(copy) &&
                 columns % TAB_COLUMNS != 0);
    }
    return bytes == NULL ? NULL : listing_copy(view->listing, copy, columns);
}

/* --- buckets by address --- */

/* This many bytes before and after an address are listed. */
#define AROUND_BYTES UINT64_C(4096)

/* Return whether a row is listed: it is of the target, in its range, or near its
 * address. */
static bool
is_wanted(const struct view *view, const struct view_row *row)
{
    const uint64_t address = view->target->address;

    if (view->target->kind == LISTING_OF_RANGE) {
        return row->start < view->target->end && row->end > address;
    }
    if (view->target->kind != LISTING_OF_ADDRESS) {
        return row->of_target;
    }
    return row->start < address ? address - row->start <= AROUND_BYTES
                                : row->start - address < AROUND_BYTES;
}

/* Return what tables call code of which only the bounds are known. */
static const char *
name_nameless(struct view *view, const struct profile_function *function,
              const struct profile_image *image)
{
    struct buffer name = {0};
    const char *copied = "";

    display_function(function, image, DISPLAY_SHORT, &name);
    if (buffer_text(&name) != NULL) {
        copied =
            listing_copy(view->listing, buffer_text(&name), strlen(buffer_text(&name)));
    }
    view->listing->private->failed |= name.failed;
    buffer_finish(&name);
    return copied;
}

/* Return the text of a bucket's line: what its code is called; in a range with a name,
 * the distance from its start. */
static const char *
text_of(struct view *view, const struct view_row *row, const struct listing_line *line)
{
    const struct listing_target *const target = view->target;

    const struct profile_function *const function =
        &view->profile->functions[row->row->function];

    if (function->name[0] == '\0' && function->has_address) {
        return name_nameless(view, function, &view->profile->images[row->row->image]);
    }
    if (target->kind == LISTING_OF_RANGE && target->name[0] != '\0') {
        return listing_format(view->listing, "%s+0x%" PRIx64, target->name,
                              row->start - target->address);
    }
    return line->line == 0 ? line->function
                           : listing_format(view->listing, "%s  %s:%" PRIu32,
                                            line->function, line->file, line->line);
}

/* Add a line for a bucket, by what the profile says of a row in it. */
static void
add_bucket(struct view *view, uint32_t image, const struct view_row *row)
{
    const struct profile_function *function =
        &view->profile->functions[row->row->function];
    struct listing *listing = view->listing;
    struct listing_line *line = listing_add_line(listing, LISTING_BUCKET);
    struct listing_bucket *bucket =
        listing_add_bucket(listing, row->start, row->end, image);

    bucket->first_line = bucket->last_line = (uint32_t)(listing->count - 1);
    bucket->hits_at = line->hits_at = listing_add_hits(listing);
    line->bucket = (uint32_t)(listing->bucket_count - 1);
    line->address = row->start;
    line->size = (uint32_t)(row->end - row->start);
    line->function = listing_copy(listing, function->name, strlen(function->name));
    line->file = listing_copy(listing, function->file, strlen(function->file));
    line->line = row->row->line;
    line->text = text_of(view, row, line);
    line->chosen = view->target->kind == LISTING_OF_ADDRESS &&
                   row->start <= view->target->address &&
                   view->target->address < row->end;
}

/* Add the buckets of an image in the order of their addresses; those that overlap
 * become one. */
static void
add_image_buckets(struct view *view, uint32_t image)
{
    struct listing *listing = view->listing;
    uint64_t shown_end = 0;
    size_t count;
    struct view_row *const rows = view_rows(view, image, &count);

    for (size_t i = 0; rows != NULL && i < count; i++) {
        if (!is_wanted(view, &rows[i])) {
            continue;
        }
        if (listing->bucket_count == 0 || rows[i].start >= shown_end ||
            listing->buckets[listing->bucket_count - 1].image != image) {
            add_bucket(view, image, &rows[i]);
            shown_end = 0;
        }
        shown_end = rows[i].end > shown_end ? rows[i].end : shown_end;
        if (listing->bucket_count > 0) {
            listing->buckets[listing->bucket_count - 1].end = shown_end;
            listing_sum(listing, listing->buckets[listing->bucket_count - 1].hits_at,
                        rows[i].row->hits);
        }
        if (listing_is_by_address(view->target)) {
            add_all_clamped(listing->own, rows[i].row->hits, listing->source_count);
        }
    }
    free(rows);
}

/* Return whether an image with a smaller index is listed that is the same for the
 * user. */
static bool
is_listed_before(const struct profile *profile, const bool *images, uint32_t image)
{
    for (uint32_t i = 0; i < image; i++) {
        if (images[i] && listing_same_image(profile, i, image)) {
            return true;
        }
    }
    return false;
}

bool *
view_images(struct view *view)
{
    const struct profile *const profile = view->profile;
    bool *const images = calloc(profile->image_count + 1, sizeof(*images));

    for (size_t i = 0; images != NULL && i < profile->row_count; i++) {
        struct listing_place place;

        if (listing_find_place(profile, view->identities, view->target,
                               &profile->rows[i], &place)) {
            images[profile->rows[i].image] = true;
        }
    }
    for (uint32_t i = 0; images != NULL && i < profile->image_count; i++) {
        images[i] = images[i] && !is_listed_before(profile, images, i);
    }
    view->listing->private->failed |= images == NULL;
    return images;
}

void
view_buckets(struct view *view)
{
    const struct profile *profile = view->profile;
    bool *images;

    if (view->target->image != LISTING_NONE) {
        add_image_buckets(view, view->target->image);
        return;
    }
    images = view_images(view);
    for (uint32_t i = 0; images != NULL && i < profile->image_count; i++) {
        if (images[i]) {
            listing_add_line(view->listing, LISTING_HEADING)->text =
                listing_copy(view->listing, profile->images[i].path,
                             strlen(profile->images[i].path));
            add_image_buckets(view, i);
        }
    }
    free(images);
}
