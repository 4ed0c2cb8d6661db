/* SPDX-License-Identifier: MIT */
/* code_buckets.c - hits of a part by bucket, and brackets around instructions that
 * share a bucket. */
#include "view/listing/code_view.h"

#include "base/arithmetic.h"

#include <inttypes.h>

/* Find the first row that ends after an address of the file. All rows have the same
 * size, so their ends are sorted, too. */
static size_t
find_first_row(const struct code_view *code, uint64_t address)
{
    size_t low = 0;
    size_t high = code->row_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (code->rows[middle].end + code->shift <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Add a note if a bucket also holds code of a function beside the part. */
static void
note_shared_bucket(struct code_view *code, const struct part *part,
                   const struct listing_bucket *bucket)
{
    if (part->symbol && (bucket->start < part->start || bucket->end > part->end)) {
        listing_add_note(code->listing, LISTING_NOTE_BUCKETS,
                         "the bucket at 0x%" PRIx64 " holds code of the function's "
                         "neighbour as well: its hits may be of either",
                         bucket->start);
    }
}

/* Return the end of a row's bucket in the file. The profile object of a range counted
 * nothing beyond it, so no bucket of a range reaches further. */
static uint64_t
end_of(const struct code_view *code, const struct part *part,
       const struct view_row *row)
{
    const uint64_t end = row->end + code->shift;

    return code->view->target->kind == LISTING_OF_RANGE && end > part->end ? part->end
                                                                           : end;
}

/* Rows that were made of calls have none. */
static bool
has_hits(const struct code_view *code, const struct profile_row *row)
{
    bool any = false;

    for (size_t i = 0; !any && i < code->listing->source_count; i++) {
        any = row->hits[i] > 0;
    }
    return any;
}

void
code_add_buckets(struct code_view *code, const struct part *part)
{
    struct listing *listing = code->listing;

    code->first_bucket = listing->bucket_count;
    for (size_t i = find_first_row(code, part->start);
         i < code->row_count && code->rows[i].start + code->shift < part->end; i++) {
        const uint64_t start = code->rows[i].start + code->shift;
        const uint64_t end = end_of(code, part, &code->rows[i]);
        struct listing_bucket *bucket =
            listing->bucket_count == code->first_bucket
                ? NULL
                : &listing->buckets[listing->bucket_count - 1];

        if (!has_hits(code, code->rows[i].row)) {
            continue;
        }
        if (bucket == NULL || start >= bucket->end) {
            const size_t hits_at = listing_add_hits(listing);

            bucket = listing_add_bucket(listing, start, end, code->image_index);
            bucket->hits_at = hits_at;
        }
        bucket->end = end > bucket->end ? end : bucket->end;
        listing_sum(listing, bucket->hits_at, code->rows[i].row->hits);
        if (listing_is_by_address(code->view->target)) {
            add_all_clamped(listing->own, code->rows[i].row->hits,
                            listing->source_count);
        }
    }
}

void
code_count_insns(struct code_view *code)
{
    struct listing *listing = code->listing;
    size_t at = 0;

    for (size_t i = code->first_bucket; i < listing->bucket_count; i++) {
        struct listing_bucket *bucket = &listing->buckets[i];
        bool shown = false;
        size_t first;

        while (at < code->insn_count && code->insns[at].address < bucket->start) {
            at++;
        }
        for (first = at; at < code->insn_count && code->insns[at].address < bucket->end;
             at++) {
            bucket->instructions++;
            shown |= code->insns[at].shown;
        }
        for (size_t k = first; k < at && shown; k++) {
            code->insns[k].shown = true;
        }
    }
}

/* Remove the buckets of the part that no line shows, because they belong to other
 * functions, and number the others anew in their lines. */
static void
drop_hidden_buckets(struct code_view *code)
{
    struct listing *listing = code->listing;
    size_t kept = code->first_bucket;

    for (size_t i = code->first_bucket; i < listing->bucket_count; i++) {
        const struct listing_bucket bucket = listing->buckets[i];

        if (bucket.first_line == LISTING_NONE) {
            continue;
        }
        for (uint32_t k = bucket.first_line; k <= bucket.last_line; k++) {
            if (listing->lines[k].bucket == i) {
                listing->lines[k].bucket = (uint32_t)kept;
            }
        }
        listing->buckets[kept++] = bucket;
    }
    listing->bucket_count = kept;
}

/* Set a bracket on the lines of each bucket that several lines share. */
static void
add_brackets(struct code_view *code, const struct part *part)
{
    struct listing *listing = code->listing;
    bool several = false;

    for (size_t i = code->first_bucket; i < listing->bucket_count; i++) {
        const struct listing_bucket *bucket = &listing->buckets[i];

        note_shared_bucket(code, part, bucket);
        if (bucket->first_line == bucket->last_line) {
            continue;
        }
        several = true;
        for (uint32_t k = bucket->first_line; k <= bucket->last_line; k++) {
            listing->lines[k].bracket = LISTING_BRACKET_INSIDE;
        }
        listing->lines[bucket->first_line].bracket = LISTING_BRACKET_FIRST;
        listing->lines[bucket->last_line].bracket = LISTING_BRACKET_LAST;
    }
    if (several) {
        listing_add_note(listing, LISTING_NOTE_BUCKETS,
                         "a bracket is a bucket in which several instructions start: "
                         "its hits are of all of these together");
    }
}

void
code_finish_buckets(struct code_view *code, const struct part *part)
{
    drop_hidden_buckets(code);
    add_brackets(code, part);
}
