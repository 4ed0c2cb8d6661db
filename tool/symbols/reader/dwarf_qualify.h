/* SPDX-License-Identifier: MIT */
/*
 * dwarf_qualify.h - makes qualified names ("a::B::f") of functions that have no linkage
 * name: inlined lambdas, and members of local types and of types in anonymous
 * namespaces. The qualifiers are the entries that contain the function's declaration.
 */
#ifndef SYMBOLS_READER_DWARF_QUALIFY_H
#define SYMBOLS_READER_DWARF_QUALIFY_H

#include "symbols/reader/dwarf_unit.h"

/* Whether names are qualified in the language of a unit (DW_LANG_...). */
bool sym_dwarf_has_scopes(uint64_t language);

/* Replace the entry of a function or of an inlined call by the entry of the function's
 * declaration, by following DW_AT_abstract_origin and DW_AT_specification. Only that
 * one is nested in the function's namespaces and types. */
void sym_dwarf_find_declaration(Dwarf_Die *entry);

/*
 * Find the innermost namespace, type or function that contains a declaration.
 *
 *   unit    the unit that has the declaration
 *   parent  out: set if true is returned
 *
 * Returns false if only the unit contains it, or if memory or the budget ran out.
 */
bool sym_dwarf_find_parent(struct sym_dwarf_unit *unit, const Dwarf_Die *declaration,
                           struct sym_budget *budget, Dwarf_Die *parent);

/*
 * The qualified name of a function, such as "app::(anonymous namespace)::Work::run" or
 * "run(int)::<lambda(int)>::operator()".
 *
 *   unit         the unit that has the declaration
 *   declaration  of the function
 *   name         of the function, without qualifiers
 *
 * Returns a string for free(), whose bytes stay taken from the budget, or NULL if there
 * is nothing to qualify the name with, or memory or the budget ran out.
 */
char *sym_dwarf_qualify(struct sym_dwarf_unit *unit, Dwarf_Die *declaration,
                        const char *name, struct sym_budget *budget);

#endif
