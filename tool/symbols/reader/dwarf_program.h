/* SPDX-License-Identifier: MIT */
/*
 * dwarf_program.h - runs the line number programs of DWARF 2 to 5, opcode by opcode.
 */
#ifndef SYMBOLS_READER_DWARF_PROGRAM_H
#define SYMBOLS_READER_DWARF_PROGRAM_H

#include "symbols/reader/dwarf_bytes.h"
#include "symbols/reader/dwarf_image.h"

/* sym_dwarf_special - what a special opcode adds to registers, if an instruction is one
 * operation. */
struct sym_dwarf_special {
    uint16_t address;
    int16_t line;
};

/* sym_dwarf_program - a line number program: its header, then the registers of the
 * state machine. */
struct sym_dwarf_program {
    struct sym_dwarf_bytes bytes; /* from the next opcode to the end of the table */
    uint16_t version;
    uint8_t offset_bytes;
    uint8_t instruction_bytes;
    uint8_t operations_max; /* operations in an instruction (VLIW), at least 1 */
    int8_t line_base;       /* this and the next two: see special opcodes in DWARF */
    uint8_t line_range;     /* at least 1 */
    uint8_t opcode_base;    /* the first special opcode, at least 1 */
    const unsigned char *operand_counts; /* of the standard opcodes, from opcode 1 on */
    struct sym_dwarf_bytes tables;       /* the tables of folders and files */
    uint64_t address;
    uint64_t op_index; /* number of the operation in its instruction */
    uint64_t file;
    uint64_t line; /* modulo 2^64 */
    uint64_t discriminator;
    const unsigned char *file_at; /* what the last DW_LNE_define_file defined */
    struct sym_dwarf_special specials[256]; /* by opcode, from opcode_base on */
};

/* What the caller has to do after an opcode. */
enum sym_dwarf_effect {
    SYM_DWARF_NOTHING,
    SYM_DWARF_ROW,     /* append a row with the registers */
    SYM_DWARF_ADDRESS, /* nothing: DW_LNE_set_address set the address */
    SYM_DWARF_FILE,    /* add the file at file_at */
    SYM_DWARF_END /* append a row that ends the sequence, and reset the registers */
};

/* Read the header of the line table at an offset of .debug_line, reset the registers
 * and go to the first opcode. Returns false if the header is damaged or of another
 * version. */
bool sym_dwarf_program_begin(struct sym_dwarf_program *program,
                             const struct sym_dwarf_part *lines, uint64_t offset);

/* Give the registers the values that they have at the start of a sequence. */
void sym_dwarf_program_reset(struct sym_dwarf_program *program);

/* Run the next opcode, whatever it is. */
enum sym_dwarf_effect sym_dwarf_program_step_any(struct sym_dwarf_program *program);

/* Run the next opcode. After SYM_DWARF_ROW the caller must clear the discriminator, as
 * DWARF says; it is left to the caller since it belongs to the row. */
static inline enum sym_dwarf_effect
sym_dwarf_program_step(struct sym_dwarf_program *program)
{
    struct sym_dwarf_bytes *const bytes = &program->bytes;

    if (bytes->at < bytes->end && *bytes->at >= program->opcode_base &&
        program->operations_max == 1) {
        const struct sym_dwarf_special *const special =
            &program->specials[*bytes->at++];

        program->address += special->address;
        program->line += (uint64_t)(int64_t)special->line;
        return SYM_DWARF_ROW;
    }
    return sym_dwarf_program_step_any(program);
}

#endif
