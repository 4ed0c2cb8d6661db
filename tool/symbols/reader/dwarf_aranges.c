/* SPDX-License-Identifier: MIT */
/*
 * dwarf_aranges.c - reads .debug_aranges: for each unit a set, which is a header and
 * pairs of address and length.
 */
#include "symbols/reader/dwarf_aranges.h"

#include "symbols/reader/dwarf_bytes.h"

#include <stdlib.h>

/* Add a range; its end is limited to UINT64_MAX. Returns false if memory or the budget
 * ran out. */
static bool
add_range(struct sym_dwarf_aranges *aranges, uint64_t unit, uint64_t start,
          uint64_t bytes)
{
    struct sym_dwarf_arange *const larger =
        sym_budget_grow(aranges->budget, aranges->items, aranges->count, &aranges->room,
                        sizeof(*larger));

    if (larger == NULL) {
        return false;
    }
    aranges->items = larger;
    aranges->items[aranges->count] = (struct sym_dwarf_arange){
        .unit = unit,
        .start = start,
        .end = bytes <= UINT64_MAX - start ? start + bytes : UINT64_MAX,
        .order = aranges->count};
    aranges->count++;
    return true;
}

/* Read the set at the cursor, and move the cursor behind it. Returns false if the set
 * is damaged, is of another version, has segments or unusual addresses, which no linker
 * makes, or if memory or the budget ran out. */
static bool
read_set(struct sym_dwarf_aranges *aranges, struct sym_dwarf_bytes *section)
{
    struct sym_dwarf_bytes set = *section;
    uint64_t length = sym_dwarf_bytes_number(&set, 4);
    const size_t width = length == UINT32_MAX ? 8 : 4;
    uint64_t address_bytes;
    uint64_t unit;

    length = width == 8 ? sym_dwarf_bytes_number(&set, 8) : length;
    if (set.failed || length > sym_dwarf_bytes_left(&set)) {
        return false;
    }
    set.end = set.at + length;
    if (sym_dwarf_bytes_number(&set, 2) != 2) {
        return false;
    }
    unit = sym_dwarf_bytes_number(&set, width);
    address_bytes = sym_dwarf_bytes_number(&set, 1);
    if (sym_dwarf_bytes_number(&set, 1) != 0 ||
        (address_bytes != 4 && address_bytes != 8)) {
        return false;
    }
    /* Padding: the offset of a pair in its set is a multiple of the pair's size. */
    while ((uint64_t)(set.at - section->at) % (2 * address_bytes) != 0 && !set.failed) {
        sym_dwarf_bytes_skip(&set, 1);
    }
    while (!set.failed && sym_dwarf_bytes_left(&set) >= 2 * address_bytes) {
        const uint64_t start = sym_dwarf_bytes_number(&set, (size_t)address_bytes);
        const uint64_t bytes = sym_dwarf_bytes_number(&set, (size_t)address_bytes);

        if (bytes > 0 && !add_range(aranges, unit, start, bytes)) {
            return false;
        }
    }
    section->at = set.end;
    return !set.failed;
}

static int
compare_aranges(const void *left, const void *right)
{
    const struct sym_dwarf_arange *const a = left;
    const struct sym_dwarf_arange *const b = right;

    if (a->unit != b->unit) {
        return a->unit < b->unit ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

void
sym_dwarf_aranges_read(struct sym_dwarf_aranges *aranges,
                       const struct sym_dwarf_image *image)
{
    const struct sym_dwarf_part *const part = &image->parts[SYM_DWARF_ARANGES];
    struct sym_dwarf_bytes section = {.at = part->bytes,
                                      .end = part->size > 0 ? part->bytes + part->size
                                                            : part->bytes};
    const bool refused = image->budget != NULL && image->budget->refused;
    bool read = true;

    *aranges = (struct sym_dwarf_aranges){.budget = image->budget};
    while (read && section.at < section.end) {
        read = read_set(aranges, &section);
    }
    if (!read) {
        aranges->count = 0;
    }
    if (image->budget != NULL) {
        /* Without ranges nothing is missing, so that is not to be reported. */
        image->budget->refused = refused;
    }
    if (aranges->count > 0) {
        qsort(aranges->items, aranges->count, sizeof(*aranges->items), compare_aranges);
    }
}

void
sym_dwarf_aranges_finish(struct sym_dwarf_aranges *aranges)
{
    sym_budget_give(aranges->budget, aranges->room * sizeof(*aranges->items));
    free(aranges->items);
    *aranges = (struct sym_dwarf_aranges){.items = NULL};
}
