/* SPDX-License-Identifier: MIT */
/*
 * dwarf_lines.h - the line table of one unit, of DWARF 2 to 5, for tool/sym alone.
 *
 * Invariants: sequences are sorted by address, and so are the rows of each of them, of
 * which no two share an address. Work and memory are bounded by the size of the program
 * and by the budget. What is damaged ends a table: the sequences before it are used.
 * Discriminators, which few ask for, stand beside the rows.
 */
#ifndef SYM_DWARF_LINES_H
#define SYM_DWARF_LINES_H

#include "sym/dwarf_reader.h"

/* sym_dwarf_row - code from address on, up to the next row or the sequence's end. */
struct sym_dwarf_row {
    uint64_t address;
    uint32_t file; /* index into files; may be beyond them */
    uint32_t line; /* 0: of none */
};

/* sym_dwarf_sequence - code that lies together. */
struct sym_dwarf_sequence {
    uint64_t start;
    uint64_t end;
    size_t first; /* of its rows */
    size_t count; /* at least 1 */
};

/* sym_dwarf_file - a file, or a folder. */
struct sym_dwarf_file {
    const char *name; /* as long as the sections; "" if there is none */
    const char *path; /* the user's; NULL until set */
    uint64_t folder;  /* index into folders; may be beyond them */
};

struct sym_dwarf_files {
    struct sym_dwarf_file *items;
    size_t count;
    size_t room;
};

struct sym_dwarf_lines {
    struct sym_dwarf_row *rows;
    size_t row_count;
    size_t row_room;
    uint32_t *discriminators; /* of each row; NULL: not asked for, or no rows */
    size_t discriminator_room;
    struct sym_dwarf_sequence *sequences;
    size_t sequence_count;
    size_t sequence_room;
    struct sym_dwarf_files files;   /* by the number that rows and calls have */
    struct sym_dwarf_files folders; /* the first is that of the compilation */
    struct sym_budget *budget;
};

/* The table at an offset of .debug_line. NULL: out of memory, budget or time. */
struct sym_dwarf_lines *sym_dwarf_lines_read(const struct sym_dwarf_unit *unit,
                                             uint64_t offset);

void sym_dwarf_lines_delete(struct sym_dwarf_lines *lines); /* NULL is allowed */

/* The row that covers an address, and its sequence; NULL: none does. */
const struct sym_dwarf_row *
sym_dwarf_lines_find(const struct sym_dwarf_lines *lines, uint64_t address,
                     const struct sym_dwarf_sequence **sequence);

#endif
