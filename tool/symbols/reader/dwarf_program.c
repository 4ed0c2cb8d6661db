/* SPDX-License-Identifier: MIT */
/* dwarf_program.c - headers and opcodes of line number programs. */
#include "symbols/reader/dwarf_program.h"

#include <dwarf.h>

/* --- header --- */

/* Read the part of the header that opcodes depend on, up to the tables of folders and
 * files. Returns false if it is damaged. */
static bool
read_parameters(struct sym_dwarf_program *program, struct sym_dwarf_bytes *header)
{
    program->instruction_bytes = (uint8_t)sym_dwarf_bytes_number(header, 1);
    program->operations_max =
        program->version < 4 ? 1 : (uint8_t)sym_dwarf_bytes_number(header, 1);
    (void)sym_dwarf_bytes_number(header, 1); /* whether rows are statements */
    program->line_base = (int8_t)sym_dwarf_bytes_number(header, 1);
    program->line_range = (uint8_t)sym_dwarf_bytes_number(header, 1);
    program->opcode_base = (uint8_t)sym_dwarf_bytes_number(header, 1);
    program->operand_counts = header->at;
    if (program->opcode_base > 0) {
        sym_dwarf_bytes_skip(header, program->opcode_base - 1u);
    }
    return !header->failed && program->operations_max > 0 && program->line_range > 0 &&
           program->opcode_base > 0;
}

/* Divide once for each special opcode, and not for each time that it is run. */
static void
set_specials(struct sym_dwarf_program *program)
{
    for (unsigned int code = program->opcode_base; code < 256; code++) {
        const unsigned int adjusted = code - program->opcode_base;

        program->specials[code] = (struct sym_dwarf_special){
            .address = (uint16_t)(program->instruction_bytes *
                                  (adjusted / program->line_range)),
            .line =
                (int16_t)(program->line_base + (int)(adjusted % program->line_range))};
    }
}

bool
sym_dwarf_program_begin(struct sym_dwarf_program *program,
                        const struct sym_dwarf_part *lines, uint64_t offset)
{
    struct sym_dwarf_bytes *const bytes = &program->bytes;
    uint64_t length;

    *program = (struct sym_dwarf_program){.offset_bytes = 4};
    if (offset >= lines->size) {
        return false;
    }
    *bytes = (struct sym_dwarf_bytes){.at = lines->bytes + offset,
                                      .end = lines->bytes + lines->size};
    length = sym_dwarf_bytes_number(bytes, 4);
    if (length == UINT32_MAX) {
        program->offset_bytes = 8;
        length = sym_dwarf_bytes_number(bytes, 8);
    }
    if (bytes->failed || length > sym_dwarf_bytes_left(bytes)) {
        return false;
    }
    bytes->end = bytes->at + length;
    program->version = (uint16_t)sym_dwarf_bytes_number(bytes, 2);
    if (program->version >= 5) {
        sym_dwarf_bytes_skip(bytes, 2); /* sizes of addresses and segments */
    }
    length = sym_dwarf_bytes_number(bytes, program->offset_bytes);
    if (bytes->failed || program->version < 2 || program->version > 5 ||
        length > sym_dwarf_bytes_left(bytes)) {
        return false;
    }
    program->tables =
        (struct sym_dwarf_bytes){.at = bytes->at, .end = bytes->at + length};
    if (!read_parameters(program, &program->tables)) {
        return false;
    }
    bytes->at = program->tables.end;
    set_specials(program);
    sym_dwarf_program_reset(program);
    return true;
}

/* --- opcodes --- */

void
sym_dwarf_program_reset(struct sym_dwarf_program *program)
{
    program->address = 0;
    program->op_index = 0;
    program->file = 1;
    program->line = 1;
    program->discriminator = 0;
}

/* Advance the address by a number of operations, not of bytes. */
static void
advance(struct sym_dwarf_program *program, uint64_t operations)
{
    if (program->operations_max == 1) { /* nearly all machines: no division */
        program->address += program->instruction_bytes * operations;
        return;
    }
    operations += program->op_index;
    program->address +=
        program->instruction_bytes * (operations / program->operations_max);
    program->op_index = operations % program->operations_max;
}

/* Run a standard opcode that changes a register. Others, known or not, and those for
 * which the header gives another number of operands than DWARF does, are skipped by
 * that number; the caller makes the row of DW_LNS_copy. */
static void
run_standard(struct sym_dwarf_program *program, uint8_t code)
{
    static const uint8_t usual[] = {[DW_LNS_advance_pc] = 1,
                                    [DW_LNS_advance_line] = 1,
                                    [DW_LNS_set_file] = 1,
                                    [DW_LNS_const_add_pc] = 0,
                                    [DW_LNS_fixed_advance_pc] = 1};
    const uint8_t operands = program->operand_counts[code - 1];

    switch (code < sizeof(usual) && operands == usual[code] ? code : 0) {
    case DW_LNS_advance_pc:
        advance(program, sym_dwarf_bytes_leb128(&program->bytes));
        break;
    case DW_LNS_advance_line:
        program->line += sym_dwarf_bytes_signed(&program->bytes);
        break;
    case DW_LNS_set_file:
        program->file = sym_dwarf_bytes_leb128(&program->bytes);
        break;
    case DW_LNS_const_add_pc:
        advance(program, (uint64_t)(255 - program->opcode_base) / program->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        program->address += sym_dwarf_bytes_number(&program->bytes, 2);
        program->op_index = 0;
        break;
    default:
        for (uint8_t i = 0; i < operands; i++) {
            (void)sym_dwarf_bytes_leb128(&program->bytes);
        }
        break;
    }
}

/* Run an extended opcode. One that is unknown is skipped by its length. */
static enum sym_dwarf_effect
run_extended(struct sym_dwarf_program *program)
{
    struct sym_dwarf_bytes *const bytes = &program->bytes;
    const uint64_t length = sym_dwarf_bytes_leb128(bytes);
    enum sym_dwarf_effect effect = SYM_DWARF_NOTHING;
    const unsigned char *end;

    if (length == 0 || length > sym_dwarf_bytes_left(bytes)) {
        sym_dwarf_bytes_fail(bytes);
        return SYM_DWARF_NOTHING;
    }
    end = bytes->at + length;
    switch (sym_dwarf_bytes_number(bytes, 1)) {
    case DW_LNE_set_address:
        program->address = sym_dwarf_bytes_number(bytes, (size_t)(length - 1));
        program->op_index = 0;
        effect = SYM_DWARF_ADDRESS;
        break;
    case DW_LNE_set_discriminator:
        program->discriminator = sym_dwarf_bytes_leb128(bytes);
        break;
    case DW_LNE_define_file:
        program->file_at = bytes->at;
        effect = SYM_DWARF_FILE;
        break;
    case DW_LNE_end_sequence:
        effect = SYM_DWARF_END;
        break;
    default:
        break;
    }
    bytes->at = bytes->failed ? bytes->end : end;
    return effect;
}

enum sym_dwarf_effect
sym_dwarf_program_step_any(struct sym_dwarf_program *program)
{
    const uint8_t code = (uint8_t)sym_dwarf_bytes_number(&program->bytes, 1);

    if (program->bytes.failed) {
        return SYM_DWARF_NOTHING;
    }
    if (code >= program->opcode_base) {
        /* A special opcode encodes an advance of the address and one of the line. */
        const unsigned int adjusted = (unsigned int)code - program->opcode_base;

        advance(program, adjusted / program->line_range);
        program->line += (uint64_t)(int64_t)program->line_base;
        program->line += adjusted % program->line_range;
        return SYM_DWARF_ROW;
    }
    if (code == 0) {
        return run_extended(program);
    }
    run_standard(program, code);
    return code == DW_LNS_copy ? SYM_DWARF_ROW : SYM_DWARF_NOTHING;
}
