/* SPDX-License-Identifier: MIT */
/*
 * dwarf_aranges.h - reads .debug_aranges, the index from addresses to units, so that
 * the addresses of a unit are known without reading its entries.
 */
#ifndef SYMBOLS_READER_DWARF_ARANGES_H
#define SYMBOLS_READER_DWARF_ARANGES_H

#include "symbols/reader/dwarf_image.h"

/* sym_dwarf_arange - an address range [start, end) of a unit. */
struct sym_dwarf_arange {
    uint64_t unit; /* offset of the unit's header in .debug_info */
    uint64_t start;
    uint64_t end;
    uint64_t order; /* index of the range in the section */
};

struct sym_dwarf_aranges {
    struct sym_dwarf_arange *items; /* sorted by unit, then by order */
    size_t count;
    size_t room;
    struct sym_budget *budget;
};

/*
 * Read the section of an image. If it is missing or damaged, or memory or the image's
 * budget ran out, there are no ranges: the caller then gets them from the units, so
 * this is no failure. Memory is taken from the image's budget, which must outlive the
 * ranges; sym_dwarf_aranges_finish gives it back.
 */
void sym_dwarf_aranges_read(struct sym_dwarf_aranges *aranges,
                            const struct sym_dwarf_image *image);

void sym_dwarf_aranges_finish(struct sym_dwarf_aranges *aranges);

#endif
