/* SPDX-License-Identifier: MIT */
/*
 * dwarf_sequences.c - reads rows and ranges of the sequences of line tables.
 *
 * A function that the linker discards may keep its sequence in the table. Its address,
 * which DW_LNE_set_address sets, is then 0 or another small number, or -1 or -2, but
 * its rows advance from there and may reach addresses at which the image has code. So
 * whether a sequence is of discarded code is decided by the address that was set before
 * its first row, not by the addresses of its rows.
 */
#include "symbols/reader/dwarf_sequences.h"

#include "symbols/reader/dwarf_program.h"

#include <stdlib.h>
#include <string.h>

/* sequence - where the sequence that is being read starts. */
struct sequence {
    bool begun;     /* start is known: an address was set, or a row was appended */
    uint64_t start; /* the first address that was set; 0 if a row came before any */
};

/* Set the start of a sequence by its first SYM_DWARF_ADDRESS or SYM_DWARF_ROW. */
static void
note_start(struct sequence *sequence, const struct sym_dwarf_program *program,
           enum sym_dwarf_effect effect)
{
    if (!sequence->begun && (effect == SYM_DWARF_ADDRESS || effect == SYM_DWARF_ROW)) {
        sequence->begun = true;
        sequence->start = effect == SYM_DWARF_ADDRESS ? program->address : 0;
    }
}

/* --- rows --- */

/* span - the rows of one sequence: count of them, from rows.items[first] on. */
struct span {
    uint64_t start; /* address of the first row */
    size_t first;
    size_t count;
};

/* reading - the state while the rows of a table are read. */
struct reading {
    struct sym_dwarf_rows *rows;
    const struct sym_elf_code *code;
    struct sym_dwarf_files *files;
    struct sym_budget *budget;
    struct span *spans; /* the sequences that are complete */
    size_t span_count;
    size_t span_room;
    size_t first; /* index of the first row of the sequence that is being read */
};

/* Order by address, then ends of sequences first, so that the row of a sequence that
 * starts where another one ends is the valid one, then as in the table. */
static int
compare_rows(const void *left, const void *right)
{
    const struct sym_dwarf_row *const a = left;
    const struct sym_dwarf_row *const b = right;

    if (a->address != b->address) {
        return a->address < b->address ? -1 : 1;
    }
    if (a->end != b->end) {
        return a->end ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

/* Append a row with the registers of the program, and clear the discriminator. Of the
 * rows of a sequence that have the same address only the last one is valid, so it takes
 * the place of the one before: gcc makes several for each statement. Returns false if
 * memory or the budget ran out. */
static bool
add_row(struct reading *reading, struct sym_dwarf_program *program, bool end)
{
    struct sym_dwarf_rows *const rows = reading->rows;
    struct sym_dwarf_row *larger;

    if (!end && rows->count > reading->first &&
        rows->items[rows->count - 1].address == program->address) {
        rows->count--;
    }
    larger = sym_budget_grow(reading->budget, rows->items, rows->count, &rows->room,
                             sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    rows->items = larger;
    rows->items[rows->count] = (struct sym_dwarf_row){
        .address = program->address,
        .order = (uint32_t)rows->count,
        .file = program->file < UINT32_MAX ? (uint32_t)program->file : UINT32_MAX,
        .line = program->line <= INT32_MAX ? (uint32_t)program->line : 0,
        .discriminator = (uint32_t)program->discriminator,
        .end = end};
    program->discriminator = 0;
    rows->count++;
    return true;
}

/* Move the end of a sequence, its last row, before the rows that have the same address:
 * these have no code, and compare_rows wants the end first. */
static void
move_end(struct sym_dwarf_rows *rows, size_t first)
{
    size_t at = rows->count - 1;
    const struct sym_dwarf_row end = rows->items[at];

    for (; end.end && at > first && rows->items[at - 1].address == end.address; at--) {
        rows->items[at] = rows->items[at - 1];
    }
    rows->items[at] = end;
}

/* Complete the sequence whose rows were all appended: make it a span, or drop its rows
 * if its code was discarded. Returns false if memory or the budget ran out. */
static bool
end_sequence(struct reading *reading, const struct sequence *sequence)
{
    struct sym_dwarf_rows *const rows = reading->rows;
    struct span *larger;

    if (reading->code != NULL && reading->code->count > 0 &&
        !sym_elf_code_holds(reading->code, sequence->start)) {
        rows->count = reading->first;
        return true;
    }
    larger = sym_budget_grow(reading->budget, reading->spans, reading->span_count,
                             &reading->span_room, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    move_end(rows, reading->first);
    reading->spans = larger;
    reading->spans[reading->span_count++] =
        (struct span){.start = rows->items[reading->first].address,
                      .first = reading->first,
                      .count = rows->count - reading->first};
    reading->first = rows->count;
    return true;
}

/* Run the program to its end. If it is damaged, all rows are dropped. Returns false if
 * memory or the budget ran out. */
static bool
run(struct reading *reading, struct sym_dwarf_program *program)
{
    struct sequence sequence = {.begun = false};

    while (program->bytes.at < program->bytes.end) {
        const enum sym_dwarf_effect effect = sym_dwarf_program_step(program);

        if (program->bytes.failed) {
            reading->rows->count = 0;
            return true;
        }
        note_start(&sequence, program, effect);
        if (effect == SYM_DWARF_FILE) {
            sym_dwarf_files_define(reading->files, program);
        }
        if ((effect == SYM_DWARF_ROW || effect == SYM_DWARF_END) &&
            !add_row(reading, program, effect == SYM_DWARF_END)) {
            return false;
        }
        if (effect == SYM_DWARF_END) {
            if (!end_sequence(reading, &sequence)) {
                return false;
            }
            sequence = (struct sequence){.begun = false};
            sym_dwarf_program_reset(program);
        }
    }
    return reading->rows->count == reading->first || end_sequence(reading, &sequence);
}

static bool
is_sorted(const struct sym_dwarf_rows *rows)
{
    size_t at = 1;

    while (at < rows->count &&
           compare_rows(&rows->items[at - 1], &rows->items[at]) < 0) {
        at++;
    }
    return at >= rows->count;
}

static int
compare_spans(const void *left, const void *right)
{
    const struct span *const a = left;
    const struct span *const b = right;

    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    return (a->first > b->first) - (a->first < b->first);
}

/* Copy the rows so that sequences are in order of their start, and rows in a sequence
 * as they were. That usually sorts all rows: sequences of real files are sorted in
 * themselves and do not overlap. Returns false if memory or the budget ran out. */
static bool
order_spans(struct reading *reading)
{
    struct sym_dwarf_rows *const rows = reading->rows;
    struct sym_dwarf_row *const ordered =
        sym_budget_take(reading->budget, rows->count * sizeof(*ordered))
            ? calloc(rows->count, sizeof(*ordered))
            : NULL;
    size_t at = 0;

    if (ordered == NULL) {
        return false;
    }
    qsort(reading->spans, reading->span_count, sizeof(*reading->spans), compare_spans);
    for (size_t i = 0; i < reading->span_count; i++) {
        const struct span *const span = &reading->spans[i];

        memcpy(ordered + at, rows->items + span->first, span->count * sizeof(*ordered));
        at += span->count;
    }
    sym_budget_give(reading->budget, rows->room * sizeof(*ordered));
    free(rows->items);
    rows->items = ordered;
    rows->room = rows->count;
    return true;
}

/* Sort the rows by compare_rows. qsort is the last resort, for overlapping sequences.
 * Returns false if memory or the budget ran out. */
static bool
sort_rows(struct reading *reading)
{
    struct sym_dwarf_rows *const rows = reading->rows;

    if (rows->count == 0) {
        return true;
    }
    if (!is_sorted(rows) && !order_spans(reading)) {
        return false;
    }
    if (!is_sorted(rows)) {
        qsort(rows->items, rows->count, sizeof(*rows->items), compare_rows);
    }
    /* Some compilers do not write the last DW_LNE_end_sequence. */
    rows->items[rows->count - 1].end = true;
    return true;
}

bool
sym_dwarf_rows_read(struct sym_dwarf_rows *rows, const struct sym_dwarf_part *lines,
                    uint64_t offset, const struct sym_elf_code *code,
                    struct sym_dwarf_files *files, struct sym_budget *budget)
{
    struct reading reading = {
        .rows = rows, .code = code, .files = files, .budget = budget};
    struct sym_dwarf_program program;
    bool read;

    if (!sym_dwarf_program_begin(&program, lines, offset)) {
        return true;
    }
    read = run(&reading, &program) && sort_rows(&reading);
    sym_budget_give(budget, reading.span_room * sizeof(*reading.spans));
    free(reading.spans);
    if (!read || rows->count == 0) {
        sym_budget_give(budget, rows->room * sizeof(*rows->items));
        free(rows->items);
        *rows = (struct sym_dwarf_rows){.items = NULL};
    }
    return read;
}

/* --- ranges --- */

bool
sym_dwarf_add_sequences(const struct sym_dwarf_part *lines, uint64_t offset,
                        const struct sym_elf_code *code, uint32_t tag,
                        struct sym_table *table, bool *any)
{
    struct sym_entry entry = {.name = "code", .tag = tag, .sized = true};
    struct sequence sequence = {.begun = false};
    struct sym_dwarf_program program;

    *any = false;
    if (!sym_dwarf_program_begin(&program, lines, offset)) {
        return true;
    }
    while (program.bytes.at < program.bytes.end) {
        const enum sym_dwarf_effect effect = sym_dwarf_program_step(&program);

        if (program.bytes.failed) {
            return true;
        }
        note_start(&sequence, &program, effect);
        /* The end of the table ends a sequence, too. */
        if (effect == SYM_DWARF_END || program.bytes.at == program.bytes.end) {
            *any = true;
            entry.start = sequence.start;
            entry.end = program.address;
            if (sym_elf_code_holds(code, entry.start) &&
                !sym_table_add(table, &entry)) {
                return false;
            }
            sequence = (struct sequence){.begun = false};
            sym_dwarf_program_reset(&program);
        }
    }
    return true;
}
