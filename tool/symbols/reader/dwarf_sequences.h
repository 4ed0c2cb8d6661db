/* SPDX-License-Identifier: MIT */
/*
 * dwarf_sequences.h - reads the rows of a line table, sequence by sequence. A sequence
 * (DWARF's term) is the rows of one contiguous range of code, in ascending order of
 * address; the linker places it as a whole.
 */
#ifndef SYMBOLS_READER_DWARF_SEQUENCES_H
#define SYMBOLS_READER_DWARF_SEQUENCES_H

#include "symbols/reader/dwarf_files.h"
#include "symbols/reader/elf_code.h"

/* sym_dwarf_row - the code from address to that of the next row has this line. */
struct sym_dwarf_row {
    uint64_t address;
    uint32_t order; /* index of the row in the table as it was read */
    uint32_t file;  /* number of the file; UINT32_MAX: an invalid one */
    uint32_t line;  /* 0: not known */
    uint32_t discriminator;
    bool end; /* the sequence ends: from address on, no line is known */
};

/* sym_dwarf_rows - the rows of all sequences, sorted by address. Where several have the
 * same address, the last one is valid. */
struct sym_dwarf_rows {
    struct sym_dwarf_row *items;
    size_t count;
    size_t room;
};

/*
 * Read the rows of the line table at an offset of .debug_line, and add the files that
 * the program itself defines (DW_LNE_define_file) to files.
 *
 * A sequence that begins at an address where the image has no code is left out: it is
 * of a function that the linker discarded, which leaves some small number in place of
 * its address. A damaged table counts as one without rows.
 *
 *   code    where the image has code; NULL or empty: not known, all sequences are kept
 *   budget  memory for the rows is taken from it, and never given back: they live as
 *           long as the image
 *
 * Returns false if memory or the budget ran out; then there are no rows, and nothing is
 * taken from the budget.
 */
bool sym_dwarf_rows_read(struct sym_dwarf_rows *rows,
                         const struct sym_dwarf_part *lines, uint64_t offset,
                         const struct sym_elf_code *code, struct sym_dwarf_files *files,
                         struct sym_budget *budget);

/*
 * Add the ranges of the line table's sequences to a table of ranges, each with the tag;
 * those of discarded functions are left out, as above. A damaged table gives those
 * before the damage.
 *
 *   code  not NULL; if it is empty, no sequence is added
 *   any  out: whether the line table has sequences, added or not
 *
 * Returns false if memory or the budget ran out.
 */
bool sym_dwarf_add_sequences(const struct sym_dwarf_part *lines, uint64_t offset,
                             const struct sym_elf_code *code, uint32_t tag,
                             struct sym_table *table, bool *any);

#endif
