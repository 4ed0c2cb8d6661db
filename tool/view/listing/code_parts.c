/* SPDX-License-Identifier: MIT */
/* code_parts.c - finds the code of a target: symbols, or the surroundings of an
 * address. */
#include "view/listing/code_view.h"

#include <stdlib.h>

/* This much code around an address is shown if it has no symbol. Rows without a symbol
 * that are less than this apart belong to one part. */
#define AROUND_BYTES UINT64_C(256)

/* Profiles of ntprof have link-time addresses, so their shift is 0. Profiles of other
 * tools have run-time addresses; the file offset in their mappings leads to the
 * link-time address. */
uint64_t
code_find_shift(const struct code_view *code)
{
    const struct profile_image *image = &code->view->profile->images[code->image_index];
    uint64_t linked;

    if (code->view->profile->bucket_bytes > 0 ||
        !sym_image_address(code->image, image->offset, &linked)) {
        return 0;
    }
    return linked - image->start;
}

/* Return the part that a row is in: its symbol, or without one its bucket. The bucket
 * may start in the padding before the symbol. */
static struct part
part_of_row(const struct code_view *code, const struct view_row *row)
{
    struct part part = {row->start + code->shift, row->end + code->shift, false, true};
    uint64_t start;
    uint64_t end;

    if (sym_image_range(code->image, part.start, &start, &end) ||
        sym_image_range(code->image, part.end - 1, &start, &end)) {
        part.start = start;
        part.end = end;
    } else {
        part.symbol = false;
    }
    part.target_only =
        code->view->target->kind != LISTING_OF_FUNCTION || code->view->target->inlined;
    return part;
}

/* Append a part, or extend the last one if they overlap or are close. */
static void
add_part(struct code_view *code, struct part part)
{
    struct part *last =
        code->part_count == 0 ? NULL : &code->parts[code->part_count - 1];
    const uint64_t near = part.symbol ? 0 : AROUND_BYTES;

    if (last != NULL && last->symbol == part.symbol && part.start >= last->start &&
        (part.start < last->end || part.start - last->end < near)) {
        last->end = part.end > last->end ? part.end : last->end;
        last->target_only &= part.target_only;
        return;
    }
    code->parts[code->part_count++] = part;
}

/* Add the function that an address is in; if none is known, the code around the
 * address. */
static void
add_address_part(struct code_view *code)
{
    const uint64_t address = code->view->target->address + code->shift;
    struct part part = {.symbol = true};

    if (!sym_image_range(code->image, address, &part.start, &part.end)) {
        part.symbol = false;
        part.start = address > AROUND_BYTES ? address - AROUND_BYTES : 0;
        part.end =
            address < UINT64_MAX - AROUND_BYTES ? address + AROUND_BYTES : UINT64_MAX;
    }
    add_part(code, part);
}

/* Add the range as a part of its own, which may begin within a function. */
static void
add_range_part(struct code_view *code)
{
    const struct listing_target *const target = code->view->target;
    struct part part = {.start = target->address + code->shift,
                        .end = target->end + code->shift};
    uint64_t start;
    uint64_t end;

    part.symbol =
        sym_image_range(code->image, part.start, &start, &end) && start == part.start;
    add_part(code, part);
}

bool
code_find_parts(struct code_view *code)
{
    code->parts = calloc(code->row_count + 1, sizeof(*code->parts));
    if (code->parts == NULL) {
        return code_out_of_memory(code);
    }
    if (code->view->target->kind == LISTING_OF_ADDRESS) {
        add_address_part(code);
    }
    if (code->view->target->kind == LISTING_OF_RANGE) {
        add_range_part(code);
    }
    for (size_t i = 0; i < code->row_count; i++) {
        if (code->rows[i].of_target) {
            add_part(code, part_of_row(code, &code->rows[i]));
        }
    }
    return code->part_count > 0;
}
