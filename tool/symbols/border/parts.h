/* SPDX-License-Identifier: MIT */
/* parts.h - parts that a compiler split off a function. */
#ifndef SYMBOLS_BORDER_PARTS_H
#define SYMBOLS_BORDER_PARTS_H

#include "symbols/border/table.h"

#include <stddef.h>

/* Give parts of functions that a compiler split off ("work.cold") the name and origin
 * of their function. Call it when all symbols were added. If memory runs out, the rest
 * of the parts keep their own names. */
void sym_elf_join_parts(struct sym_table *table);

/* Return the length of a name without its last suffix of such a part, ".cold" and the
 * like, or length if the name has none. */
size_t sym_split_length(const char *name, size_t length);

#endif
