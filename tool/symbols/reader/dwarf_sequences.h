/* SPDX-License-Identifier: MIT */
/*
 * dwarf_sequences.h - sequences of a line table: each is the rows of one stretch of
 * code, as its linker placed it.
 */
#ifndef SYMBOLS_READER_DWARF_SEQUENCES_H
#define SYMBOLS_READER_DWARF_SEQUENCES_H

#include "symbols/reader/dwarf_files.h"
#include "symbols/reader/elf_code.h"

/* sym_dwarf_row - code from address on is of a line. */
struct sym_dwarf_row {
    uint64_t address;
    uint32_t order; /* in the table */
    uint32_t file;  /* UINT32_MAX: none that can be */
    uint32_t line;  /* 0: not known */
    uint32_t discriminator;
    bool end; /* code of nothing begins here */
};

/* sym_dwarf_rows - of all sequences, by address; of one address the last counts. */
struct sym_dwarf_rows {
    struct sym_dwarf_row *items;
    size_t count;
    size_t room;
};

/*
 * Reads the table at an offset of .debug_line, with the files that its operations
 * define. Sequences that begin where there is no code are left out: the linker threw
 * their code away, and wrote some other address in its place. A damaged table has no
 * rows.
 *
 *   code    of the image; NULL or empty: not known
 *   budget  what rows are taken from, as long as the image is open
 *
 * False: out of memory or budget; then there are no rows, and nothing is taken.
 */
bool sym_dwarf_rows_read(struct sym_dwarf_rows *rows,
                         const struct sym_dwarf_part *lines, uint64_t offset,
                         const struct sym_elf_code *code, struct sym_dwarf_files *files,
                         struct sym_budget *budget);

/*
 * Adds where sequences with code begin and end. False: out of memory or budget.
 *
 *   any  out: has the table sequences, added or not?
 */
bool sym_dwarf_add_sequences(const struct sym_dwarf_part *lines, uint64_t offset,
                             const struct sym_elf_code *code, uint32_t tag,
                             struct sym_table *table, bool *any);

#endif
