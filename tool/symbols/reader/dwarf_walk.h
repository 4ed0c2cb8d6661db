/* SPDX-License-Identifier: MIT */
/*
 * dwarf_walk.h - visits the descendants of a debugging information entry (DIE), each
 * once, parents before children, in the order of the file. Nothing recurses, so a
 * deeply nested forged file cannot exhaust the stack.
 */
#ifndef SYMBOLS_READER_DWARF_WALK_H
#define SYMBOLS_READER_DWARF_WALK_H

#include "base/budget.h"

#include <elfutils/libdw.h>

/*
 * sym_dwarf_visit - called for each entry of a walk.
 *
 *   tag          DW_TAG_...; given because libdw would search for it
 *   scope        a number that the caller of the walk chose for root's children, and
 *                the visit of the parent for all others; such as an index of a scope
 *   child_scope  in: the same as scope; out: the scope that this entry's children get
 *
 * Returns false to end the walk.
 */
typedef bool sym_dwarf_visit(void *context, Dwarf_Die *entry, int tag, uint32_t scope,
                             uint32_t *child_scope);

/* sym_dwarf_abbreviations - the abbreviations of a unit: for each code its tag, and how
 * to skip the attributes of an entry that has it. */
struct sym_dwarf_abbreviations;

/*
 * Read the abbreviations of the unit that contains an entry. The unit must belong to a
 * struct sym_dwarf_image. If the table is damaged, the abbreviations before the damage
 * are used.
 *
 *   budget  memory is taken from it, and given back by sym_dwarf_abbreviations_free
 *
 * Returns NULL if memory or the budget ran out, or if the unit's header is damaged.
 */
struct sym_dwarf_abbreviations *sym_dwarf_abbreviations_read(const Dwarf_Die *entry,
                                                             struct sym_budget *budget);
void sym_dwarf_abbreviations_free(
    struct sym_dwarf_abbreviations *abbreviations); /* NULL is allowed */

/* Whether the unit may have a function with code: an abbreviation of functions has
 * addresses. Costs less than reading the entries. */
bool
sym_dwarf_abbreviations_have_code(const struct sym_dwarf_abbreviations *abbreviations);

/*
 * Visit all descendants of root, which must be in the unit of the abbreviations.
 *
 *   scope  what visit gets for the children of root
 *
 * A damaged entry ends the walk, which still succeeds. Returns false if visit did, or
 * if memory or the budget ran out.
 */
bool sym_dwarf_walk(const struct sym_dwarf_abbreviations *abbreviations,
                    const Dwarf_Die *root, uint32_t scope, sym_dwarf_visit *visit,
                    void *context);

#endif
