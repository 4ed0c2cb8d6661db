/* SPDX-License-Identifier: MIT */
/*
 * dwarf_aranges.h - where units are, as .debug_aranges has it: their entries need not
 * be read for that.
 */
#ifndef SYMBOLS_READER_DWARF_ARANGES_H
#define SYMBOLS_READER_DWARF_ARANGES_H

#include "symbols/reader/dwarf_image.h"

/* sym_dwarf_arange - a range of code of the unit at an offset of .debug_info. */
struct sym_dwarf_arange {
    uint64_t unit;
    uint64_t start;
    uint64_t end;
    uint64_t order; /* in the section */
};

struct sym_dwarf_aranges {
    struct sym_dwarf_arange *items; /* by unit, then in their order in the section */
    size_t count;
    size_t room;
    struct sym_budget *budget;
};

/*
 * Reads the section of an image, which gives back what is taken from its budget when
 * they are finished. A damaged section, or one that is too much, has none.
 */
void sym_dwarf_aranges_read(struct sym_dwarf_aranges *aranges,
                            const struct sym_dwarf_image *image);

void sym_dwarf_aranges_finish(struct sym_dwarf_aranges *aranges);

#endif
