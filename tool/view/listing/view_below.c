/* SPDX-License-Identifier: MIT */
/*
 * view_below.c - hits below the lines of a listing: of what they call, by the stacks of
 * the profile. A line has those of a stack once, however often it is on it.
 */
#include "view/listing/views.h"

#include <stdlib.h>
#include <string.h>

/* below - lines of calls, while hits are added. */
struct below {
    struct view *view;
    uint32_t *lines; /* by call: its line; LISTING_NONE: none */
    size_t *added;   /* by line: the row that was added last, plus 1 */
    uint32_t *order; /* lines of one kind, sorted */
    size_t order_count;
};

/* Begin without lines. Returns false if there are no stacks, nobody asked for them, or
 * memory runs out, which the listing remembers. */
static bool
below_begin(struct below *below, struct view *view)
{
    const size_t calls = view->profile->call_count;

    *below = (struct below){.view = view};
    if (!profile_has_stacks(view->profile) ||
        !annotator_settings_of(view->annotator)->below) {
        return false;
    }
    below->lines = calloc(calls, sizeof(*below->lines));
    below->added = calloc(view->listing->count + 1, sizeof(*below->added));
    below->order = calloc(view->listing->count + 1, sizeof(*below->order));
    if (below->lines == NULL || below->added == NULL || below->order == NULL) {
        view->listing->private->failed = true;
        return false;
    }
    for (size_t i = 0; i < calls; i++) {
        below->lines[i] = LISTING_NONE;
    }
    return true;
}

static void
below_finish(struct below *below)
{
    free(below->lines);
    free(below->added);
    free(below->order);
}

/* Add the hits of all rows to the lines of their calls. */
static void
add_rows(struct below *below)
{
    const struct profile *const profile = below->view->profile;
    struct listing *const listing = below->view->listing;

    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];

        for (uint32_t at = row->stack; at != 0; at = profile->calls[at].caller) {
            const uint32_t number = below->lines[at];
            struct listing_line *line;

            if (number == LISTING_NONE || below->added[number] == i + 1) {
                continue;
            }
            below->added[number] = i + 1;
            line = &listing->lines[number];
            if (line->below_at == LISTING_NO_HITS) {
                line->below_at = listing_add_hits(listing);
            }
            listing_sum(listing, line->below_at, row->hits);
        }
    }
}

/* --- instructions --- */

static int
compare_addresses(const void *left, const void *right, void *context)
{
    const struct listing *const listing = context;
    const uint64_t a = listing->lines[*(const uint32_t *)left].address;
    const uint64_t b = listing->lines[*(const uint32_t *)right].address;

    return (a > b) - (a < b);
}

/* Return the line of the instruction with the byte at an address. */
static uint32_t
find_instruction(const struct below *below, uint64_t address)
{
    const struct listing *const listing = below->view->listing;
    size_t low = 0;
    size_t high = below->order_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (listing->lines[below->order[middle]].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0 || address - listing->lines[below->order[low - 1]].address >=
                        listing->lines[below->order[low - 1]].size) {
        return LISTING_NONE;
    }
    return below->order[low - 1];
}

void
view_below_code(struct view *view, uint32_t image, uint64_t shift, size_t first_line)
{
    const struct profile *const profile = view->profile;
    struct listing *const listing = view->listing;
    struct below below;

    if (below_begin(&below, view)) {
        for (size_t i = first_line; i < listing->count; i++) {
            if (listing->lines[i].kind == LISTING_INSTRUCTION) {
                below.order[below.order_count++] = (uint32_t)i;
            }
        }
        qsort_r(below.order, below.order_count, sizeof(*below.order), compare_addresses,
                listing);
        for (size_t i = 1; i < profile->call_count; i++) {
            const struct profile_call *const call = &profile->calls[i];

            if (call->end == NULL && listing_same_image(profile, image, call->image)) {
                below.lines[i] = find_instruction(&below, call->address + shift);
            }
        }
        add_rows(&below);
    }
    below_finish(&below);
}

/* --- source lines --- */

static int
compare_places(const char *a_file, uint32_t a_line, const char *b_file, uint32_t b_line)
{
    const int order = strcmp(a_file, b_file);

    return order != 0 ? order : (a_line > b_line) - (a_line < b_line);
}

static int
compare_lines(const void *left, const void *right, void *context)
{
    const struct listing *const listing = context;
    const struct listing_line *const a = &listing->lines[*(const uint32_t *)left];
    const struct listing_line *const b = &listing->lines[*(const uint32_t *)right];

    return compare_places(a->file, a->line, b->file, b->line);
}

/* Return the source line of a place in a function, if that may be the target's. */
static uint32_t
find_source(const struct below *below, uint32_t function, uint32_t line)
{
    const struct view *const view = below->view;
    const struct profile_function *const of = &view->profile->functions[function];
    size_t low = 0;
    size_t high = below->order_count;

    if (view->target->kind == LISTING_OF_FUNCTION &&
        !listing_same_function(of, &view->profile->functions[view->target->function])) {
        return LISTING_NONE;
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct listing_line *const at =
            &view->listing->lines[below->order[middle]];
        const int order = compare_places(at->file, at->line, of->file, line);

        if (order == 0) {
            return below->order[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return LISTING_NONE;
}

/* Return whether a call is in machine code that is listed: by its image and, as hits of
 * the target are, by the function in whose machine code it is. */
static bool
is_in_target(const struct below *below, uint32_t number)
{
    const struct view *const view = below->view;
    const struct listing_target *const target = view->target;
    const uint32_t wanted = target->inlined ? target->within : target->id;

    return view->profile->calls[number].end == NULL &&
           (target->image == LISTING_NONE ||
            listing_same_image(view->profile, target->image,
                               view->profile->calls[number].image)) &&
           (target->kind != LISTING_OF_FUNCTION ||
            (target->inlined && wanted == LISTING_NONE) ||
            view->identities->calls[number] == wanted);
}

/* Return the source line of a call: of the innermost function there that has one. The
 * outermost one is not where a target was inlined. */
static uint32_t
find_call(const struct below *below, const struct profile_call *call)
{
    const struct profile *const profile = below->view->profile;
    const bool inlined = below->view->target->inlined;
    struct profile_frame place = {call->function, call->line, call->inlined};
    uint32_t found = LISTING_NONE;

    for (;;) {
        if (place.caller != 0 || !inlined) {
            found = find_source(below, place.function, place.line);
        }
        if (found != LISTING_NONE || place.caller == 0) {
            return found;
        }
        place = profile->frames[place.caller];
    }
}

void
view_below_source(struct view *view)
{
    const struct profile *const profile = view->profile;
    struct listing *const listing = view->listing;
    struct below below;

    if (below_begin(&below, view)) {
        for (size_t i = 0; i < listing->count; i++) {
            if (listing->lines[i].kind == LISTING_SOURCE) {
                below.order[below.order_count++] = (uint32_t)i;
            }
        }
        qsort_r(below.order, below.order_count, sizeof(*below.order), compare_lines,
                listing);
        for (uint32_t i = 1; i < profile->call_count; i++) {
            if (is_in_target(&below, i)) {
                below.lines[i] = find_call(&below, &profile->calls[i]);
            }
        }
        add_rows(&below);
    }
    below_finish(&below);
}
