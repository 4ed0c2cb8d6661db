/* SPDX-License-Identifier: MIT */
/*
 * dwarf_walk.h - walks all entries below one once, in their order in the file, into
 * each that has children. Nothing recurses.
 */
#ifndef SYMBOLS_READER_DWARF_WALK_H
#define SYMBOLS_READER_DWARF_WALK_H

#include "base/budget.h"

#include <elfutils/libdw.h>

/*
 * Takes an entry.
 *
 *   tag     DW_TAG_subprogram and the like: asking libdw for it takes a search
 *   around  what its parent gave as inside
 *   inside  in and out: around at first; what its children get as around
 *
 * False ends the walk.
 */
typedef bool sym_dwarf_visit(void *context, Dwarf_Die *entry, int tag, uint32_t around,
                             uint32_t *inside);

/* sym_dwarf_shapes - what the abbreviations of a unit say of its entries. */
struct sym_dwarf_shapes;

/*
 * Reads those of the unit that an entry is in, which is one of a struct
 * sym_dwarf_image. What is damaged ends the table. NULL: too much memory, or it makes
 * no sense.
 *
 *   budget  borrowed
 */
struct sym_dwarf_shapes *sym_dwarf_shapes_read(const Dwarf_Die *entry,
                                               struct sym_budget *budget);
void sym_dwarf_shapes_free(struct sym_dwarf_shapes *shapes); /* NULL is allowed */

/* Can the unit have a function with code? */
bool sym_dwarf_shapes_have_code(const struct sym_dwarf_shapes *shapes);

/*
 * Visits all entries below root, which is in the unit of the shapes, and whose children
 * get around. What is damaged ends the walk; what stands before was visited. False:
 * visit ended it, or too much memory.
 */
bool sym_dwarf_walk(const struct sym_dwarf_shapes *shapes, const Dwarf_Die *root,
                    uint32_t around, sym_dwarf_visit *visit, void *context);

#endif
