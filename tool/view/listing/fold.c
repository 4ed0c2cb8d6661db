/* SPDX-License-Identifier: MIT */
/* fold.c - hides lines that are far from any hits, so that large functions stay
 * readable. */
#include "view/listing/listing.h"

#include <stdlib.h>

/* Shorter gaps are shown, since the line that replaces them would save nothing. */
enum { GAP_LINES_MIN = 3 };

/* Return what decides whether a line is shown: its hits of all sources, and those below
 * it, so that no line with hits of any source is hidden. */
static uint64_t
weight(const struct listing *listing, const struct listing_line *line)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < listing->source_count; i++) {
        if (__builtin_add_overflow(sum, listing_line_hits(listing, line, i), &sum) ||
            __builtin_add_overflow(sum, listing_line_below(listing, line, i), &sum)) {
            return UINT64_MAX;
        }
    }
    return sum;
}

static int
compare_down(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a < b) - (a > b);
}

/* Return the smallest weight of lines that count as having hits: that of the last of
 * the rows with the most hits; 1 if all count (rows is 0) or memory runs out. *ties
 * becomes how many lines of that weight are among the rows. */
static uint64_t
least_weight(const struct listing *listing, size_t rows, size_t *ties)
{
    uint64_t *const weights =
        rows == 0 ? NULL : calloc(listing->count + 1, sizeof(*weights));
    uint64_t least = 1;

    *ties = SIZE_MAX;
    if (weights == NULL) {
        return 1;
    }
    for (size_t i = 0; i < listing->count; i++) {
        weights[i] = weight(listing, &listing->lines[i]);
    }
    qsort(weights, listing->count, sizeof(*weights), compare_down);
    if (rows <= listing->count && weights[rows - 1] > 0) {
        least = weights[rows - 1];
        for (*ties = 0; *ties < rows && weights[rows - 1 - *ties] == least; (*ties)++) {
        }
    }
    free(weights);
    return least;
}

/* Show a line, the lines of its bracket, and context lines before and after them. */
static void
show_around(struct listing *listing, size_t at, uint32_t context)
{
    const struct listing_line *line = &listing->lines[at];
    size_t first = at;
    size_t last = at;

    if (line->bucket < listing->bucket_count &&
        listing->buckets[line->bucket].first_line == at &&
        listing->buckets[line->bucket].last_line < listing->count) {
        last = listing->buckets[line->bucket].last_line;
    }
    first = first > context ? first - context : 0;
    last = listing->count - 1 - last > context ? last + context : listing->count - 1;
    for (size_t i = first; i <= last; i++) {
        listing->lines[i].hidden = false;
    }
}

/* Set gap_lines of the first of consecutive hidden lines to their number. Fewer than
 * GAP_LINES_MIN are shown after all. */
static void
count_gaps(struct listing *listing)
{
    for (size_t first = 0, end; first < listing->count; first = end + 1) {
        for (end = first; end < listing->count && listing->lines[end].hidden; end++) {
        }
        if (end - first >= GAP_LINES_MIN) {
            listing->lines[first].gap_lines = (uint32_t)(end - first);
            continue;
        }
        for (size_t i = first; i < end; i++) {
            listing->lines[i].hidden = false;
        }
    }
}

void
listing_fold(struct listing *listing, uint32_t context, size_t rows)
{
    size_t ties; /* lines of the least weight that may still be shown: the first ones */
    const uint64_t least = least_weight(listing, rows, &ties);

    for (size_t i = 0; i < listing->count; i++) {
        struct listing_line *line = &listing->lines[i];

        line->hidden = context != UINT32_MAX && line->kind != LISTING_HEADING &&
                       line->kind != LISTING_GAP;
        line->gap_lines = 0;
    }
    for (size_t i = 0; i < listing->count && context != UINT32_MAX; i++) {
        const uint64_t hits = weight(listing, &listing->lines[i]);
        const bool hot = hits > least || (hits == least && ties > 0);

        ties -= hits == least && ties > 0;
        if (hot || listing->lines[i].chosen) {
            show_around(listing, i, context);
        }
    }
    count_gaps(listing);
}
