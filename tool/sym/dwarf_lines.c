/* SPDX-License-Identifier: MIT */
/*
 * dwarf_lines.c - runs line programs.
 */
#include "sym/dwarf_lines.h"

#include "sym/dwarf_constants.h"

#include <stdlib.h>

#define FORMS_MAX 16

/* Longer names are forged. */
#define NAME_BYTES_MAX ((size_t)1 << 16)

/* program - a table while it is read: its header, and the registers. */
struct program {
    struct sym_dwarf_lines *lines;
    struct sym_dwarf_unit unit; /* a copy, with the sizes that the table has */
    struct sym_dwarf_cursor at;
    unsigned int opcode_base;
    const unsigned char *lengths; /* of standard opcodes, from opcode 1 on */
    uint64_t instruction_bytes;
    uint64_t operations; /* in an instruction; 1 but on VLIW machines */
    int64_t line_base;
    uint64_t line_range;
    uint64_t address;
    uint64_t operation;
    uint64_t file;
    uint64_t line;
    uint64_t discriminator;
    size_t first;   /* row of the sequence */
    bool exhausted; /* memory or budget was */
};

static const char *
take_name(struct sym_dwarf_cursor *at)
{
    const size_t left = (size_t)(at->end - at->at);
    const size_t limit = left < NAME_BYTES_MAX ? left : NAME_BYTES_MAX;
    const char *const name = (const char *)at->at;
    const size_t length = limit == 0 ? 0 : strnlen(name, limit);

    if (length == limit) {
        (void)sym_dwarf_fail(at);
        return "";
    }
    at->at += length + 1;
    return name;
}

/* --- headers --- */

static bool
add_name(struct program *program, struct sym_dwarf_files *files, const char *name,
         uint64_t folder)
{
    struct sym_budget *const budget = program->lines->budget;
    struct sym_dwarf_file *const larger = sym_budget_grow(
        budget, files->items, files->count, &files->room, sizeof(*larger));

    if (larger == NULL) {
        program->exhausted = true;
        return false;
    }
    files->items = larger;
    files->items[files->count++] =
        (struct sym_dwarf_file){.name = name, .folder = folder};
    return true;
}

/* A file of version 2 to 4: its name is followed by folder, time and size. */
static bool
read_old_file(struct program *program, struct sym_dwarf_cursor *at, const char *name)
{
    const uint64_t folder = sym_dwarf_uleb(at);

    (void)sym_dwarf_uleb(at);
    (void)sym_dwarf_uleb(at);
    return !at->failed && add_name(program, &program->lines->files, name, folder);
}

/* Until version 4: folders, then files, both from number 1 on, each list ended by an
 * empty name. */
static bool
read_names(struct program *program)
{
    struct sym_dwarf_cursor *const at = &program->at;
    const char *name;

    if (!add_name(program, &program->lines->folders, "", 0) ||
        !add_name(program, &program->lines->files, "", 0)) {
        return false;
    }
    while (*(name = take_name(at)) != '\0') {
        if (!add_name(program, &program->lines->folders, name, 0)) {
            return false;
        }
    }
    while (!at->failed && *(name = take_name(at)) != '\0') {
        if (!read_old_file(program, at, name)) {
            return false;
        }
    }
    return !at->failed;
}

/* forms - of the entries of folders, or of files. */
struct forms {
    uint64_t contents[FORMS_MAX];
    uint64_t forms[FORMS_MAX];
    size_t count;
};

static bool
read_forms(struct program *program, struct forms *forms)
{
    forms->count = (size_t)sym_dwarf_fixed(&program->at, 1);
    if (forms->count > FORMS_MAX) {
        return false;
    }
    for (size_t i = 0; i < forms->count; i++) {
        forms->contents[i] = sym_dwarf_uleb(&program->at);
        forms->forms[i] = sym_dwarf_uleb(&program->at);
    }
    return !program->at.failed;
}

static bool
read_entry(struct program *program, const struct forms *forms,
           struct sym_dwarf_files *files)
{
    struct sym_dwarf_cursor *const at = &program->at;
    const char *name = NULL;
    uint64_t folder = 0;

    for (size_t i = 0; i < forms->count; i++) {
        const char *const inside = (const char *)at->at;
        const bool is_inside = forms->forms[i] == DW_FORM_string;
        struct sym_dwarf_value value = {.form = DW_FORM_string};

        if (is_inside) {
            (void)take_name(at);
        } else {
            value = sym_dwarf_read_value(&program->unit, at, forms->forms[i], 0);
        }
        if (at->failed) {
            return false;
        }
        if (forms->contents[i] == DW_LNCT_path) {
            name = is_inside ? inside : sym_dwarf_string(&program->unit, &value);
        } else if (forms->contents[i] == DW_LNCT_directory_index) {
            folder = value.number;
        }
    }
    return add_name(program, files, name == NULL ? "" : name, folder);
}

/* Version 5: as many entries as it says, of the forms that it says. */
static bool
read_entries(struct program *program, struct sym_dwarf_files *files)
{
    struct forms forms;
    uint64_t count;

    if (!read_forms(program, &forms)) {
        return false;
    }
    count = sym_dwarf_uleb(&program->at);
    /* No real entry is empty. */
    if (count > (uint64_t)(program->at.end - program->at.at)) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!read_entry(program, &forms, files)) {
            return false;
        }
    }
    return !program->at.failed;
}

/* What opcodes mean. */
static bool
read_parameters(struct program *program)
{
    struct sym_dwarf_cursor *const at = &program->at;

    program->instruction_bytes = sym_dwarf_fixed(at, 1);
    program->operations = program->unit.version >= 4 ? sym_dwarf_fixed(at, 1) : 1;
    if (program->operations == 0) {
        program->operations = 1;
    }
    sym_dwarf_skip(at, 1);
    program->line_base = (int8_t)sym_dwarf_fixed(at, 1);
    program->line_range = sym_dwarf_fixed(at, 1);
    program->opcode_base = (unsigned int)sym_dwarf_fixed(at, 1);
    if (program->opcode_base == 0 || program->line_range == 0) {
        return false;
    }
    program->lengths = at->at;
    sym_dwarf_skip(at, program->opcode_base - 1);
    return !at->failed;
}

/* The table's length and version. The cursor ends with the table then. */
static bool
read_size(struct program *program)
{
    struct sym_dwarf_cursor *const at = &program->at;
    uint64_t length = sym_dwarf_fixed(at, 4);

    program->unit.offset_bytes = 4;
    if (length == UINT32_MAX) {
        program->unit.offset_bytes = 8;
        length = sym_dwarf_fixed(at, 8);
    }
    if (at->failed || length > (uint64_t)(at->end - at->at)) {
        return false;
    }
    at->end = at->at + length;
    program->unit.version = (uint16_t)sym_dwarf_fixed(at, 2);
    if (program->unit.version >= 5) {
        program->unit.address_bytes = (uint8_t)sym_dwarf_fixed(at, 1);
        sym_dwarf_skip(at, 1); /* of segments: no machine that we know has them */
    }
    return program->unit.version >= 2 && program->unit.version <= 5 &&
           (program->unit.address_bytes == 4 || program->unit.address_bytes == 8);
}

/* Up to the program, where the cursor is then. */
static bool
read_header(struct program *program)
{
    struct sym_dwarf_cursor *const at = &program->at;
    const unsigned char *begin;
    const unsigned char *end;
    uint64_t length;

    if (!read_size(program)) {
        return false;
    }
    length = sym_dwarf_fixed(at, program->unit.offset_bytes);
    if (at->failed || length > (uint64_t)(at->end - at->at)) {
        return false;
    }
    begin = at->at + length;
    end = at->end;
    at->end = begin;
    if (!read_parameters(program) ||
        !(program->unit.version >= 5
              ? read_entries(program, &program->lines->folders) &&
                    read_entries(program, &program->lines->files)
              : read_names(program))) {
        return false;
    }
    *at = (struct sym_dwarf_cursor){begin, end, false};
    return true;
}

/* --- rows --- */

static void
reset(struct program *program)
{
    program->address = 0;
    program->operation = 0;
    program->file = 1;
    program->line = 1;
    program->discriminator = 0;
    program->first = program->lines->row_count;
}

static bool
set_discriminator(struct program *program, size_t row)
{
    struct sym_dwarf_lines *const lines = program->lines;
    uint32_t *larger;

    if (!program->unit.dwarf->discriminators) {
        return true;
    }
    larger = sym_budget_grow(lines->budget, lines->discriminators, row,
                             &lines->discriminator_room, sizeof(*larger));
    if (larger == NULL) {
        program->exhausted = true;
        return false;
    }
    lines->discriminators = larger;
    lines->discriminators[row] =
        program->discriminator > UINT32_MAX ? 0 : (uint32_t)program->discriminator;
    return true;
}

/* Of rows at one address the last counts, and addresses only rise in a sequence. */
static bool
store_row(struct program *program)
{
    struct sym_dwarf_lines *const lines = program->lines;
    const struct sym_dwarf_row row = {
        program->address,
        program->file > UINT32_MAX ? UINT32_MAX : (uint32_t)program->file,
        program->line > INT32_MAX ? 0 : (uint32_t)program->line};
    struct sym_dwarf_row *larger;

    if (lines->row_count > program->first) {
        struct sym_dwarf_row *const last = &lines->rows[lines->row_count - 1];

        if (row.address < last->address) {
            return true;
        }
        if (row.address == last->address) {
            *last = row;
            return set_discriminator(program, lines->row_count - 1);
        }
    }
    larger = sym_budget_grow(lines->budget, lines->rows, lines->row_count,
                             &lines->row_room, sizeof(*larger));
    if (larger == NULL) {
        program->exhausted = true;
        return false;
    }
    lines->rows = larger;
    lines->rows[lines->row_count++] = row;
    return set_discriminator(program, lines->row_count - 1);
}

static bool
add_row(struct program *program)
{
    const bool stored = store_row(program);

    program->discriminator = 0;
    return stored;
}

/* Keeps the sequence's rows, unless it is empty or the linker threw its code away,
 * which stands at address 0. */
static bool
end_sequence(struct program *program)
{
    struct sym_dwarf_lines *const lines = program->lines;
    struct sym_dwarf_sequence *larger;

    while (lines->row_count > program->first &&
           lines->rows[lines->row_count - 1].address >= program->address) {
        lines->row_count--;
    }
    if (lines->row_count > program->first && lines->rows[program->first].address == 0) {
        lines->row_count = program->first;
    }
    if (lines->row_count > program->first) {
        larger = sym_budget_grow(lines->budget, lines->sequences, lines->sequence_count,
                                 &lines->sequence_room, sizeof(*larger));
        if (larger == NULL) {
            program->exhausted = true;
            return false;
        }
        lines->sequences = larger;
        lines->sequences[lines->sequence_count++] = (struct sym_dwarf_sequence){
            lines->rows[program->first].address, program->address, program->first,
            lines->row_count - program->first};
    }
    reset(program);
    return true;
}

/* --- programs --- */

static void
advance(struct program *program, uint64_t operations)
{
    const uint64_t sum = program->operation + operations;

    program->address += program->instruction_bytes * (sum / program->operations);
    program->operation = sum % program->operations;
}

static bool
run_special(struct program *program, unsigned int opcode)
{
    const uint64_t adjusted = opcode - program->opcode_base;

    advance(program, adjusted / program->line_range);
    program->line +=
        (uint64_t)(program->line_base + (int64_t)(adjusted % program->line_range));
    return add_row(program);
}

/* False: damaged. Unknown ones are passed over, as they tell their length. */
static bool
run_extended(struct program *program)
{
    struct sym_dwarf_cursor *const at = &program->at;
    const uint64_t length = sym_dwarf_uleb(at);
    struct sym_dwarf_cursor inside = *at;

    sym_dwarf_skip(at, length);
    if (at->failed || length == 0) {
        return false;
    }
    inside.end = at->at;
    switch (sym_dwarf_fixed(&inside, 1)) {
    case DW_LNE_end_sequence:
        return end_sequence(program);
    case DW_LNE_set_address:
        if (length - 1 > sizeof(program->address)) {
            return false;
        }
        program->address = sym_dwarf_fixed(&inside, (size_t)length - 1);
        program->operation = 0;
        return true;
    case DW_LNE_set_discriminator:
        program->discriminator = sym_dwarf_uleb(&inside);
        return true;
    case DW_LNE_define_file:
        return read_old_file(program, &inside, take_name(&inside));
    default:
        return true;
    }
}

static bool
run_standard(struct program *program, unsigned int opcode)
{
    struct sym_dwarf_cursor *const at = &program->at;

    switch (opcode) {
    case DW_LNS_copy:
        return add_row(program);
    case DW_LNS_advance_pc:
        advance(program, sym_dwarf_uleb(at));
        return true;
    case DW_LNS_advance_line:
        program->line += sym_dwarf_sleb(at);
        return true;
    case DW_LNS_set_file:
        program->file = sym_dwarf_uleb(at);
        return true;
    case DW_LNS_const_add_pc:
        advance(program, (255 - program->opcode_base) / program->line_range);
        return true;
    case DW_LNS_fixed_advance_pc:
        program->address += sym_dwarf_fixed(at, 2);
        program->operation = 0;
        return true;
    default: /* nothing that rows have here */
        for (unsigned int i = 0; i < program->lengths[opcode - 1]; i++) {
            (void)sym_dwarf_uleb(at);
        }
        return true;
    }
}

static void
run(struct program *program)
{
    struct sym_dwarf_cursor *const at = &program->at;
    bool good = true;

    reset(program);
    while (good && at->at < at->end) {
        const unsigned int opcode = *at->at++;

        if (opcode >= program->opcode_base) {
            good = run_special(program, opcode);
        } else if (opcode == 0) {
            good = run_extended(program);
        } else {
            good = run_standard(program, opcode);
        }
    }
    program->lines->row_count = program->first; /* a sequence without an end */
}

/* --- tables --- */

/* Of sequences that begin together the last counts. */
static int
compare_sequences(const void *left, const void *right)
{
    const struct sym_dwarf_sequence *const a = left;
    const struct sym_dwarf_sequence *const b = right;

    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    return (a->first > b->first) - (a->first < b->first);
}

/* Most linkers leave them in order. */
static void
sort_sequences(struct sym_dwarf_lines *lines)
{
    for (size_t i = 1; i < lines->sequence_count; i++) {
        if (lines->sequences[i].start < lines->sequences[i - 1].start) {
            qsort(lines->sequences, lines->sequence_count, sizeof(*lines->sequences),
                  compare_sequences);
            return;
        }
    }
}

struct sym_dwarf_lines *
sym_dwarf_lines_read(const struct sym_dwarf_unit *unit, uint64_t offset)
{
    const struct sym_dwarf_section *const section =
        &unit->dwarf->sections.items[SYM_DWARF_LINE];
    struct program program = {
        .lines = calloc(1, sizeof(*program.lines)),
        .unit = *unit,
        .at = sym_dwarf_cursor_at(section->bytes, section->size, offset),
    };

    if (program.lines == NULL) {
        return NULL;
    }
    program.lines->budget = unit->dwarf->sections.budget;
    if (!program.at.failed && read_header(&program)) {
        run(&program);
        sort_sequences(program.lines);
    }
    if (program.exhausted) {
        sym_dwarf_lines_delete(program.lines);
        return NULL;
    }
    return program.lines;
}

void
sym_dwarf_lines_delete(struct sym_dwarf_lines *lines)
{
    if (lines == NULL) {
        return;
    }
    sym_budget_give(lines->budget,
                    lines->row_room * sizeof(*lines->rows) +
                        lines->discriminator_room * sizeof(*lines->discriminators) +
                        lines->sequence_room * sizeof(*lines->sequences) +
                        lines->files.room * sizeof(*lines->files.items) +
                        lines->folders.room * sizeof(*lines->folders.items));
    free(lines->rows);
    free(lines->discriminators);
    free(lines->sequences);
    free(lines->files.items);
    free(lines->folders.items);
    free(lines);
}

const struct sym_dwarf_row *
sym_dwarf_lines_find(const struct sym_dwarf_lines *lines, uint64_t address,
                     const struct sym_dwarf_sequence **sequence)
{
    /* Of the last address there is nothing: it could not end behind it. */
    const size_t below = sym_count_below(lines->sequences, lines->sequence_count,
                                         sizeof(*lines->sequences), address + 1);
    const struct sym_dwarf_sequence *const found =
        below == 0 ? NULL : &lines->sequences[below - 1];
    const struct sym_dwarf_row *rows;

    *sequence = found;
    if (found == NULL || found->end <= address) {
        return NULL;
    }
    /* The first row begins where the sequence does. */
    rows = &lines->rows[found->first];
    return &rows[sym_count_below(rows, found->count, sizeof(*rows), address + 1) - 1];
}
