/* SPDX-License-Identifier: MIT */
/*
 * line_cost.c - walks line tables of DWARF 2 to 5 as libdw would, and counts.
 *
 * What is damaged, or could be read in two ways, is refused: then it does not matter
 * how libdw reads it.
 */
#include "sym/line_cost.h"

#include "sym/dwarf_cursor.h"

#include <dwarf.h>

/* A row in a list, then in an array, at the same time. */
#define ROW_BYTES 112

/* The same of files and folders. */
#define FILE_BYTES 128

/* Names are no longer than this. */
#define NAME_BYTES_MAX 65536

/* libdw stops reading a number after ten bytes. */
#define LEB_BYTES_MAX 9

#define FORMS_MAX 16

struct table {
    const struct sym_dwarf_sections *sections;
    struct sym_dwarf_cursor at;
    unsigned int version;
    size_t offset_bytes;
    size_t address_bytes;
    unsigned int opcode_base;
    const unsigned char *lengths; /* of standard opcodes, from opcode 1 on */
    uint64_t folder;              /* the longest */
    uint64_t cost;
    uint64_t limit;
    bool exceeded;
};

/* forms - of the entries of folders, or of files. */
struct forms {
    uint64_t contents[FORMS_MAX];
    uint64_t forms[FORMS_MAX];
    size_t count;
};

static bool
spend(struct table *table, uint64_t bytes)
{
    if (bytes > table->limit - table->cost) {
        table->exceeded = true;
        return false;
    }
    table->cost += bytes;
    return true;
}

static uint64_t
read_leb(struct sym_dwarf_cursor *at)
{
    const unsigned char *const begin = at->at;
    const uint64_t value = sym_dwarf_uleb(at);

    return at->at - begin > LEB_BYTES_MAX ? sym_dwarf_fail(at) : value;
}

/* Goes behind a string that ends; its length. */
static uint64_t
skip_name(struct sym_dwarf_cursor *at)
{
    const size_t left = (size_t)(at->end - at->at);
    const size_t length =
        strnlen((const char *)at->at, left < NAME_BYTES_MAX ? left : NAME_BYTES_MAX);

    if (length == left || length == NAME_BYTES_MAX) {
        return sym_dwarf_fail(at);
    }
    at->at += length + 1;
    return length;
}

static uint64_t
skip_name_elsewhere(struct table *table, enum sym_dwarf_section_id id)
{
    const struct sym_dwarf_section *const section = &table->sections->items[id];
    struct sym_dwarf_cursor there =
        sym_dwarf_cursor_at(section->bytes, section->size,
                            sym_dwarf_fixed(&table->at, table->offset_bytes));
    const uint64_t length = there.failed ? 0 : skip_name(&there);

    return there.failed ? sym_dwarf_fail(&table->at) : length;
}

/* Goes over a value; the length of a string. */
static uint64_t
skip_value(struct table *table, uint64_t form)
{
    switch (form) {
    case DW_FORM_string:
        return skip_name(&table->at);
    case DW_FORM_line_strp:
        return skip_name_elsewhere(table, SYM_DWARF_LINE_STR);
    case DW_FORM_strp:
        return skip_name_elsewhere(table, SYM_DWARF_STR);
    case DW_FORM_udata:
        (void)read_leb(&table->at);
        return 0;
    case DW_FORM_data1:
        sym_dwarf_skip(&table->at, 1);
        return 0;
    case DW_FORM_data2:
        sym_dwarf_skip(&table->at, 2);
        return 0;
    case DW_FORM_data4:
        sym_dwarf_skip(&table->at, 4);
        return 0;
    case DW_FORM_data8:
        sym_dwarf_skip(&table->at, 8);
        return 0;
    case DW_FORM_data16:
        sym_dwarf_skip(&table->at, 16);
        return 0;
    case DW_FORM_block:
        sym_dwarf_skip(&table->at, read_leb(&table->at));
        return 0;
    default:
        return sym_dwarf_fail(&table->at);
    }
}

/* --- headers --- */

/* Until version 4: folders, then files, each list ended by an empty name. */
static bool
walk_names(struct table *table)
{
    struct sym_dwarf_cursor *const at = &table->at;
    uint64_t length;

    while ((length = skip_name(at)) != 0) {
        table->folder = length > table->folder ? length : table->folder;
        if (!spend(table, FILE_BYTES)) {
            return false;
        }
    }
    while (!at->failed && (length = skip_name(at)) != 0) {
        for (int i = 0; i < 3; i++) {
            (void)read_leb(at);
        }
        if (at->failed || !spend(table, FILE_BYTES + table->folder + length)) {
            return false;
        }
    }
    return !at->failed;
}

static bool
read_forms(struct table *table, struct forms *forms)
{
    forms->count = (size_t)sym_dwarf_fixed(&table->at, 1);
    if (forms->count > FORMS_MAX) {
        return false;
    }
    for (size_t i = 0; i < forms->count; i++) {
        forms->contents[i] = read_leb(&table->at);
        forms->forms[i] = read_leb(&table->at);
    }
    return !table->at.failed;
}

/* Version 5: as many entries as it says, of the forms that it says. */
static bool
walk_entries(struct table *table, bool folders)
{
    struct forms forms;
    uint64_t count;

    if (!read_forms(table, &forms)) {
        return false;
    }
    count = read_leb(&table->at);
    for (uint64_t n = 0; n < count && !table->at.failed; n++) {
        uint64_t name = 0;

        for (size_t i = 0; i < forms.count; i++) {
            const uint64_t form = forms.forms[i];

            if (forms.contents[i] == DW_LNCT_path) {
                name = skip_value(table, form);
            } else if (form == DW_FORM_line_strp || form == DW_FORM_strp) {
                sym_dwarf_skip(&table->at, table->offset_bytes);
            } else {
                (void)skip_value(table, form);
            }
        }
        if (folders && name > table->folder) {
            table->folder = name;
        }
        if (!spend(table, FILE_BYTES + (folders ? 0 : table->folder + name))) {
            return false;
        }
    }
    return !table->at.failed;
}

/* Up to the program, whose end at.end is from then on. */
static bool
walk_header(struct table *table)
{
    struct sym_dwarf_cursor *const at = &table->at;
    uint64_t length = sym_dwarf_fixed(at, 4);
    const unsigned char *program;
    const unsigned char *end;

    table->offset_bytes = 4;
    if (length == UINT32_MAX) {
        table->offset_bytes = 8;
        length = sym_dwarf_fixed(at, 8);
    }
    if (at->failed || length > (uint64_t)(at->end - at->at)) {
        return false;
    }
    end = at->at + length;
    at->end = end;
    table->version = (unsigned int)sym_dwarf_fixed(at, 2);
    if (table->version < 2 || table->version > 5) {
        return false;
    }
    if (table->version == 5 && (sym_dwarf_fixed(at, 1) != table->address_bytes ||
                                sym_dwarf_fixed(at, 1) != 0)) {
        return false;
    }
    length = sym_dwarf_fixed(at, table->offset_bytes);
    if (at->failed || length > (uint64_t)(at->end - at->at)) {
        return false;
    }
    program = at->at + length;
    at->end = program;
    sym_dwarf_skip(at, table->version >= 4 ? 5 : 4);
    table->opcode_base = (unsigned int)sym_dwarf_fixed(at, 1);
    table->lengths = at->at;
    if (table->opcode_base == 0) {
        return false;
    }
    sym_dwarf_skip(at, table->opcode_base - 1);
    if (at->failed ||
        !(table->version == 5 ? walk_entries(table, true) && walk_entries(table, false)
                              : walk_names(table))) {
        return false;
    }
    *at = (struct sym_dwarf_cursor){program, end, false};
    return true;
}

/* --- programs --- */

/* A file that the program adds. */
static bool
walk_file(struct table *table, struct sym_dwarf_cursor *inside)
{
    const uint64_t length = skip_name(inside);

    for (int i = 0; i < 3; i++) {
        (void)read_leb(inside);
    }
    return !inside->failed && spend(table, FILE_BYTES + table->folder + length);
}

/* Length and operands must agree: readers go by the one or the other. */
static bool
walk_extended(struct table *table)
{
    struct sym_dwarf_cursor *const at = &table->at;
    const uint64_t length = sym_dwarf_fixed(at, 1);
    struct sym_dwarf_cursor inside = {at->at, at->at + length, false};
    bool good = true;

    if (length == 0 || length > 127 || length > (uint64_t)(at->end - at->at)) {
        return false;
    }
    at->at = inside.end;
    switch (sym_dwarf_fixed(&inside, 1)) {
    case DW_LNE_end_sequence:
        good = spend(table, ROW_BYTES);
        break;
    case DW_LNE_set_address:
        sym_dwarf_skip(&inside, table->address_bytes);
        break;
    case DW_LNE_define_file:
        good = walk_file(table, &inside);
        break;
    case DW_LNE_set_discriminator:
        (void)read_leb(&inside);
        break;
    case DW_LNE_NVIDIA_inlined_call:
    case DW_LNE_NVIDIA_set_function_name:
        return false;
    default:
        return true;
    }
    return good && !inside.failed && inside.at == inside.end;
}

/* Operands of the standard opcodes of version 3 and later, from opcode 1 on. */
static const unsigned char operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};

static bool
walk_standard(struct table *table, unsigned int opcode)
{
    const unsigned int count = table->lengths[opcode - 1];

    if (opcode <= sizeof(operands) && count != operands[opcode - 1]) {
        return false;
    }
    if (opcode == DW_LNS_fixed_advance_pc) {
        sym_dwarf_skip(&table->at, 2);
        return true;
    }
    for (unsigned int i = 0; i < count; i++) {
        (void)read_leb(&table->at);
    }
    return opcode != DW_LNS_copy || spend(table, ROW_BYTES);
}

static bool
walk_program(struct table *table)
{
    struct sym_dwarf_cursor *const at = &table->at;
    bool good = true;

    while (good && at->at < at->end) {
        const unsigned int opcode = *at->at++;

        if (opcode >= table->opcode_base) {
            good = spend(table, ROW_BYTES);
        } else if (opcode == 0) {
            good = walk_extended(table);
        } else {
            good = walk_standard(table, opcode);
        }
    }
    return good && !at->failed;
}

uint64_t
sym_line_cost(const struct sym_dwarf_sections *sections, uint64_t offset,
              size_t address_bytes, uint64_t folder_length, uint64_t limit)
{
    const struct sym_dwarf_section *const section = &sections->items[SYM_DWARF_LINE];
    struct table table = {
        .sections = sections,
        .at = sym_dwarf_cursor_at(section->bytes, section->size, offset),
        .address_bytes = address_bytes,
        .folder = folder_length,
        .limit = limit,
    };

    if (!table.at.failed && walk_header(&table) && walk_program(&table)) {
        return table.cost;
    }
    return table.exceeded && limit < UINT64_MAX - 1 ? limit + 1 : SYM_LINE_COST_UNKNOWN;
}
