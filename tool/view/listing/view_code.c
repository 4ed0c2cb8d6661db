/* SPDX-License-Identifier: MIT */
/* view_code.c - lists instructions with the hits of their buckets, and source lines
 * between them. */
#include "view/listing/code_view.h"

#include <inttypes.h>
#include <stdlib.h>

bool
code_out_of_memory(struct code_view *code)
{
    code->listing->private->failed = true;
    return false;
}

/* List a part. Returns false, after adding a note, if its code cannot be read or
 * decoded. */
static bool
list_part(struct code_view *code, const struct part *part)
{
    if (!code_read_part(code, part) || !code_decode_part(code, part)) {
        return false;
    }
    if (!part->symbol) {
        listing_add_note(code->listing, LISTING_NOTE_DECODER,
                         "no symbol says where code starts around 0x%" PRIx64
                         ": the first instructions shown may be wrong",
                         part->start);
    }
    code_choose_insns(code, part);
    code_add_heading(code, part);
    code_add_buckets(code, part);
    code_count_insns(code);
    code_add_lines(code, part);
    if (!listing_failed(code->listing)) {
        code_finish_buckets(code, part);
    }
    return true;
}

/* --- jumps --- */

/* by_address - lines of instructions, sorted for searching. */
struct by_address {
    uint64_t address;
    uint32_t line;
};

static int
compare_addresses(const void *left, const void *right)
{
    const struct by_address *a = left;
    const struct by_address *b = right;

    if (a->address != b->address) {
        return a->address < b->address ? -1 : 1;
    }
    return (a->line > b->line) - (a->line < b->line);
}

/* Set the line to which each jump and call leads, if its target is in the listing, and
 * count the jumps to each line. */
static void
mark_targets(struct code_view *code)
{
    struct listing *listing = code->listing;
    struct by_address *places = calloc(listing->count + 1, sizeof(*places));
    size_t count = 0;

    if (places == NULL) {
        code_out_of_memory(code);
        return;
    }
    for (size_t i = code->first_line; i < listing->count; i++) {
        if (listing->lines[i].kind == LISTING_INSTRUCTION) {
            places[count++] =
                (struct by_address){listing->lines[i].address, (uint32_t)i};
        }
    }
    qsort(places, count, sizeof(*places), compare_addresses);
    for (size_t i = code->first_line; i < listing->count; i++) {
        struct listing_line *line = &listing->lines[i];
        size_t low = 0;
        size_t high = line->has_target ? count : 0;

        while (low < high) {
            const size_t middle = low + (high - low) / 2;

            if (places[middle].address < line->target_address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (line->has_target && low < count &&
            places[low].address == line->target_address) {
            line->target = places[low].line;
            listing->lines[line->target].jumps += !line->is_call;
        }
    }
    free(places);
}

/* --- whole listing --- */

/* List the parts of the target that are in an image. Returns whether any part was
 * listed. */
static bool
list_image(struct view *view, uint32_t image)
{
    struct code_view code = {.view = view,
                             .listing = view->listing,
                             .image_index = image,
                             .first_line = view->listing->count};
    bool any = false;

    code.image = annotator_image(view->annotator, view->listing, view->profile, image);
    if (code.image != NULL) {
        code.shift = code_find_shift(&code);
        code.rows = view_rows(view, image, &code.row_count);
    }
    if (code.rows != NULL && code_find_parts(&code)) {
        for (size_t i = 0; i < code.part_count && !listing_failed(view->listing); i++) {
            any |= list_part(&code, &code.parts[i]);
        }
    }
    if (any) {
        mark_targets(&code);
        view_below_code(view, image, code.shift, code.first_line);
    }
    free(code.rows);
    free(code.parts);
    free(code.bytes);
    free(code.starts);
    free(code.insns);
    return any;
}

/* List the code of a line in each image that has some. Returns whether any was
 * listed. */
static bool
list_images(struct view *view)
{
    bool *const images = view_images(view);
    bool any = false;

    for (uint32_t i = 0; images != NULL && i < view->profile->image_count; i++) {
        if (images[i]) {
            any |= list_image(view, i);
        }
    }
    free(images);
    return any;
}

bool
view_code(struct view *view)
{
    const bool any = view->target->image == LISTING_NONE
                         ? list_images(view)
                         : list_image(view, view->target->image);

    view->listing->has_instructions = any;
    return any;
}
