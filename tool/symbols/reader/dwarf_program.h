/* SPDX-License-Identifier: MIT */
/*
 * dwarf_program.h - runs the line programs of DWARF 2 to 5, an operation at a time.
 */
#ifndef SYMBOLS_READER_DWARF_PROGRAM_H
#define SYMBOLS_READER_DWARF_PROGRAM_H

#include "symbols/reader/dwarf_bytes.h"
#include "symbols/reader/dwarf_image.h"

/* sym_dwarf_program - of a table, and its registers. */
struct sym_dwarf_program {
    struct sym_dwarf_bytes bytes; /* the next operation, up to the end of the table */
    uint16_t version;
    uint8_t offset_bytes;
    uint8_t instruction_bytes;
    uint8_t most_operations; /* of an instruction, at least 1 */
    int8_t line_base;
    uint8_t line_range;
    uint8_t first_special;
    const unsigned char *operands; /* how many, of operation 1 on */
    struct sym_dwarf_bytes tables; /* folders and files */
    uint64_t address;
    uint64_t operation; /* in its instruction */
    uint64_t file;
    uint64_t line; /* modulo 2^64 */
    uint64_t discriminator;
    const unsigned char *defined; /* of the last DW_LNE_define_file: its file */
};

/* What an operation did. */
enum sym_dwarf_effect {
    SYM_DWARF_NOTHING,
    SYM_DWARF_ROW,
    SYM_DWARF_ADDRESS,
    SYM_DWARF_FILE,
    SYM_DWARF_END /* a row that ends a sequence */
};

/* Reads the header of the table at an offset of .debug_line, and goes to the first
 * operation. False if it makes no sense. */
bool sym_dwarf_program_begin(struct sym_dwarf_program *program,
                             const struct sym_dwarf_part *lines, uint64_t offset);

/* Sets the registers to what they are at the begin of a sequence. */
void sym_dwarf_program_reset(struct sym_dwarf_program *program);

/* Runs the next operation. Whoever takes a row clears the discriminator. */
enum sym_dwarf_effect sym_dwarf_program_step(struct sym_dwarf_program *program);

#endif
