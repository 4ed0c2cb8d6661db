/* SPDX-License-Identifier: MIT */
/*
 * dwarf_qualify.h - names of functions with the namespaces, types and functions that
 * they are in, where the compiler gave them no linkage name: inlined lambdas, members
 * of local types and of those in anonymous namespaces.
 */
#ifndef SYMBOLS_READER_DWARF_QUALIFY_H
#define SYMBOLS_READER_DWARF_QUALIFY_H

#include "symbols/reader/dwarf_unit.h"

/* Does the language of a unit (DW_LANG_...) have such scopes? */
bool sym_dwarf_has_scopes(uint64_t language);

/* Goes from a function, or what was inlined, to the entry that stands in its scopes. */
void sym_dwarf_find_declaration(Dwarf_Die *entry);

/* What a declaration, of the unit, is in. False: the unit itself, or too much memory.
 */
bool sym_dwarf_find_around(struct sym_dwarf_unit *unit, const Dwarf_Die *declaration,
                           struct sym_budget *budget, Dwarf_Die *around);

/*
 * "app::(anonymous namespace)::Work::run", "run(int)::<lambda(int)>::operator()".
 *
 *   unit         that has the declaration
 *   declaration  of a function
 *   name         of it
 *
 * malloc'd; NULL: name is all, or memory or the budget ran out.
 */
char *sym_dwarf_qualify(struct sym_dwarf_unit *unit, Dwarf_Die *declaration,
                        const char *name, struct sym_budget *budget);

#endif
