/* SPDX-License-Identifier: MIT */
/*
 * line_cost.h - what it would cost to have libdw read a line table, for tool/sym alone.
 *
 * libdw decodes a table at once, in up to 112 bytes for a row of one byte, and joins
 * each file's name with its folder's. So the table is walked before, which keeps
 * nothing and takes a hundredth of the time.
 */
#ifndef SYM_LINE_COST_H
#define SYM_LINE_COST_H

#include "sym/dwarf_sections.h"

#define SYM_LINE_COST_UNKNOWN UINT64_MAX

/*
 * An upper bound in bytes, rows and names; limit + 1: more than limit.
 * SYM_LINE_COST_UNKNOWN: the table is damaged, or readers may take it for different
 * ones.
 *
 *   offset         in .debug_line
 *   address_bytes  of the unit
 *   folder_length  of the compilation
 */
uint64_t sym_line_cost(const struct sym_dwarf_sections *sections, uint64_t offset,
                       size_t address_bytes, uint64_t folder_length, uint64_t limit);

#endif
