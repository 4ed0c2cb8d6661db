/* SPDX-License-Identifier: MIT */
/* dwarf_program.c - headers and operations of line tables. */
#include "symbols/reader/dwarf_program.h"

#include <dwarf.h>
#include <string.h>

/* --- numbers --- */

uint64_t
sym_dwarf_program_number(struct sym_dwarf_program *program, size_t width)
{
    uint64_t number = 0;

    if (program->failed || program->size - program->at < width ||
        width > sizeof(number)) {
        program->failed = true;
        return 0;
    }
    for (size_t i = 0; i < width; i++) {
        const size_t place = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? width - 1 - i : i;

        number |= (uint64_t)program->bytes[program->at + place] << 8 * i;
    }
    program->at += width;
    return number;
}

static uint8_t
get_byte(struct sym_dwarf_program *program)
{
    if (program->at >= program->size) {
        program->failed = true;
        return 0;
    }
    return program->bytes[program->at++];
}

/* Its bits, and how many of them there are. */
static uint64_t
get_bits(struct sym_dwarf_program *program, unsigned int *count)
{
    uint64_t number = 0;
    uint64_t byte = 0x80;

    *count = 0;
    while ((byte & 0x80) != 0 && !program->failed) {
        byte = get_byte(program);
        number |= *count < 64 ? (byte & 0x7f) << *count : 0;
        *count += *count < 64 ? 7 : 0;
    }
    return number;
}

uint64_t
sym_dwarf_program_leb128(struct sym_dwarf_program *program)
{
    unsigned int count;

    return get_bits(program, &count);
}

/* Signed, modulo 2^64. */
static uint64_t
get_signed(struct sym_dwarf_program *program)
{
    unsigned int count;
    const uint64_t number = get_bits(program, &count);

    return count > 0 && count < 64 && (number >> (count - 1) & 1) != 0
               ? number | UINT64_MAX << count
               : number;
}

void
sym_dwarf_program_pass(struct sym_dwarf_program *program, uint64_t size)
{
    program->failed |= size > program->size - program->at;
    program->at += program->failed ? 0 : size;
}

const char *
sym_dwarf_program_string(struct sym_dwarf_program *program)
{
    const char *const text = (const char *)program->bytes + program->at;
    const char *const end =
        program->failed ? NULL
                        : memchr(text, '\0', (size_t)(program->size - program->at));

    if (end == NULL) {
        program->failed = true;
        return "";
    }
    program->at += (uint64_t)(end - text) + 1;
    return text;
}

/* --- header --- */

/* What rows depend on. False if it makes no sense. */
static bool
read_parameters(struct sym_dwarf_program *program)
{
    program->instruction_bytes = (uint8_t)sym_dwarf_program_number(program, 1);
    program->most_operations =
        program->version < 4 ? 1 : (uint8_t)sym_dwarf_program_number(program, 1);
    (void)sym_dwarf_program_number(program, 1); /* whether rows are statements */
    program->line_base = (int8_t)sym_dwarf_program_number(program, 1);
    program->line_range = (uint8_t)sym_dwarf_program_number(program, 1);
    program->first_special = (uint8_t)sym_dwarf_program_number(program, 1);
    program->operands = program->bytes + program->at;
    if (program->first_special > 0) {
        sym_dwarf_program_pass(program, program->first_special - 1u);
    }
    program->tables_at = program->at;
    return !program->failed && program->most_operations > 0 &&
           program->line_range > 0 && program->first_special > 0;
}

bool
sym_dwarf_program_begin(struct sym_dwarf_program *program,
                        const struct sym_dwarf_part *lines, uint64_t offset)
{
    uint64_t length;

    *program = (struct sym_dwarf_program){
        .bytes = lines->bytes, .size = lines->size, .at = offset, .offset_bytes = 4};
    program->failed = offset >= lines->size;
    length = sym_dwarf_program_number(program, 4);
    if (length == UINT32_MAX) {
        program->offset_bytes = 8;
        length = sym_dwarf_program_number(program, 8);
    }
    if (program->failed || length > program->size - program->at) {
        return false;
    }
    program->size = program->at + length;
    program->version = (uint16_t)sym_dwarf_program_number(program, 2);
    if (program->version >= 5) {
        sym_dwarf_program_pass(program, 2); /* sizes of addresses and segments */
    }
    length = sym_dwarf_program_number(program, program->offset_bytes);
    if (program->failed || program->version < 2 || program->version > 5 ||
        length > program->size - program->at) {
        return false;
    }
    program->first_at = program->at + length;
    if (!read_parameters(program) || program->tables_at > program->first_at) {
        return false;
    }
    program->at = program->first_at;
    sym_dwarf_program_reset(program);
    return true;
}

/* --- operations --- */

void
sym_dwarf_program_reset(struct sym_dwarf_program *program)
{
    program->address = 0;
    program->operation = 0;
    program->file = 1;
    program->line = 1;
    program->discriminator = 0;
}

static void
advance(struct sym_dwarf_program *program, uint64_t operations)
{
    operations += program->operation;
    program->address +=
        program->instruction_bytes * (operations / program->most_operations);
    program->operation = operations % program->most_operations;
}

static void
run_standard(struct sym_dwarf_program *program, uint8_t code)
{
    const uint8_t operands = program->operands[code - 1];

    if (code == DW_LNS_advance_pc && operands == 1) {
        advance(program, sym_dwarf_program_leb128(program));
    } else if (code == DW_LNS_advance_line && operands == 1) {
        program->line += get_signed(program);
    } else if (code == DW_LNS_set_file && operands == 1) {
        program->file = sym_dwarf_program_leb128(program);
    } else if (code == DW_LNS_const_add_pc && operands == 0) {
        advance(program,
                (uint64_t)(255 - program->first_special) / program->line_range);
    } else if (code == DW_LNS_fixed_advance_pc && operands == 1) {
        program->address += sym_dwarf_program_number(program, 2);
        program->operation = 0;
    } else {
        for (uint8_t i = 0; i < operands; i++) {
            (void)sym_dwarf_program_leb128(program);
        }
    }
}

static enum sym_dwarf_effect
run_extended(struct sym_dwarf_program *program)
{
    const uint64_t length = sym_dwarf_program_leb128(program);
    const uint64_t end = program->at + length;
    enum sym_dwarf_effect effect = SYM_DWARF_NOTHING;

    if (program->failed || length == 0 || length > program->size - program->at) {
        program->failed = true;
        return SYM_DWARF_NOTHING;
    }
    switch (sym_dwarf_program_number(program, 1)) {
    case DW_LNE_set_address:
        program->address = sym_dwarf_program_number(program, (size_t)(length - 1));
        program->operation = 0;
        effect = SYM_DWARF_ADDRESS;
        break;
    case DW_LNE_set_discriminator:
        program->discriminator = sym_dwarf_program_leb128(program);
        break;
    case DW_LNE_define_file:
        program->defined_at = program->at;
        effect = SYM_DWARF_FILE;
        break;
    case DW_LNE_end_sequence:
        effect = SYM_DWARF_END;
        break;
    default:
        break;
    }
    program->at = end;
    return effect;
}

enum sym_dwarf_effect
sym_dwarf_program_step(struct sym_dwarf_program *program)
{
    const uint8_t code = get_byte(program);

    if (program->failed) {
        return SYM_DWARF_NOTHING;
    }
    if (code >= program->first_special) {
        const unsigned int both = (unsigned int)code - program->first_special;

        advance(program, both / program->line_range);
        program->line += (uint64_t)(int64_t)program->line_base;
        program->line += both % program->line_range;
        return SYM_DWARF_ROW;
    }
    if (code == 0) {
        return run_extended(program);
    }
    run_standard(program, code);
    return code == DW_LNS_copy ? SYM_DWARF_ROW : SYM_DWARF_NOTHING;
}
