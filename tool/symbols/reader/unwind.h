/* SPDX-License-Identifier: MIT */
/* unwind.h - reads the unwind tables of an ELF file: .eh_frame and .debug_frame. Only
 * this machine's code is supported. */
#ifndef SYMBOLS_READER_UNWIND_H
#define SYMBOLS_READER_UNWIND_H

#include "symbols/border/unwind.h"
#include "symbols/reader/dwarf_image.h"

#include <stdbool.h>

/* sym_unwind_tables - the tables of one file. All zero at first. */
struct sym_unwind_tables {
    bool opened;
    Dwarf_CFI *exceptions;        /* .eh_frame; NULL: there is none */
    Dwarf_CFI *debug;             /* .debug_frame, of image; NULL: there is none */
    struct sym_dwarf_image image; /* has .debug_frame only */
    bool searched;                /* for trampoline */
    uint64_t trampoline; /* of arm64: where signal handlers return to; 0: not there */
};

/*
 * Get the row of an address and rows right behind it, or one row that says why there is
 * none. Rows cover the address, are in order and do not overlap.
 *
 *   file    outlives the tables; the same at each call
 *   budget  memory for .debug_frame is taken from it until sym_unwind_tables_finish;
 *           outlives the tables
 *
 * Returns the number of rows, at least 1.
 */
size_t sym_unwind_tables_find(struct sym_unwind_tables *tables,
                              const struct sym_elf *file, struct sym_budget *budget,
                              uint64_t address,
                              struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX]);

void sym_unwind_tables_finish(struct sym_unwind_tables *tables);

#endif
