/* SPDX-License-Identifier: MIT */
/* parts.h - parts that a compiler split off a function. */
#ifndef SYMBOLS_BORDER_PARTS_H
#define SYMBOLS_BORDER_PARTS_H

#include "symbols/border/table.h"

#include <stddef.h>

/* Gives parts that a compiler split off the name and the origin of their functions,
 * after all symbols were added. Where memory is short they keep their own. */
void sym_elf_join_parts(struct sym_table *table);

/* The length that is left of a name without the last mark of such a part; the same if
 * it has none. */
size_t sym_split_length(const char *name, size_t length);

#endif
