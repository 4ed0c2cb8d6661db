/* SPDX-License-Identifier: MIT */
/*
 * dwarf_sequences.c - rows of line tables, and where their sequences are.
 *
 * A sequence begins at the address that it sets before its first row, or at 0. Not at
 * the first row: what the linker wrote in place of a function that it threw away may be
 * 0 or a few bytes below, and the rows behind grow into addresses of real code.
 */
#include "symbols/reader/dwarf_sequences.h"

#include "symbols/reader/dwarf_program.h"

#include <stdlib.h>
#include <string.h>

/* sequence - where it begins. */
struct sequence {
    bool begun;
    uint64_t start;
};

static void
note_effect(struct sequence *sequence, const struct sym_dwarf_program *program,
            enum sym_dwarf_effect effect)
{
    if (!sequence->begun && (effect == SYM_DWARF_ADDRESS || effect == SYM_DWARF_ROW)) {
        sequence->begun = true;
        sequence->start = effect == SYM_DWARF_ADDRESS ? program->address : 0;
    }
}

/* --- rows --- */

/* span - rows of one sequence. */
struct span {
    uint64_t start; /* address of the first one */
    size_t first;
    size_t count;
};

/* reading - of the rows of a table. */
struct reading {
    struct sym_dwarf_rows *rows;
    const struct sym_elf_code *code;
    struct sym_dwarf_files *files;
    struct sym_budget *budget;
    struct span *spans; /* of the sequences that were read */
    size_t span_count;
    size_t span_room;
    size_t first; /* row of the next sequence */
};

/* Does a row belong before another one? Of one address the end of a sequence does. */
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

/* False: too much memory. */
static bool
add_row(struct reading *reading, struct sym_dwarf_program *program, bool end)
{
    struct sym_dwarf_rows *const rows = reading->rows;
    struct sym_dwarf_row *const larger = sym_budget_grow(
        reading->budget, rows->items, rows->count, &rows->room, sizeof(*larger));

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

/* Moves the end of a sequence, which comes last, in front of rows without code. */
static void
place_end(struct sym_dwarf_rows *rows, size_t first)
{
    size_t at = rows->count - 1;
    const struct sym_dwarf_row end = rows->items[at];

    for (; end.end && at > first && rows->items[at - 1].address == end.address; at--) {
        rows->items[at] = rows->items[at - 1];
    }
    rows->items[at] = end;
}

/* Behind the last row of a sequence: drops it if the linker threw its code away. False:
 * too much memory. */
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
    place_end(rows, reading->first);
    reading->spans = larger;
    reading->spans[reading->span_count++] =
        (struct span){.start = rows->items[reading->first].address,
                      .first = reading->first,
                      .count = rows->count - reading->first};
    reading->first = rows->count;
    return true;
}

/* False: too much memory. */
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
        note_effect(&sequence, program, effect);
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

/* Puts sequences in order, which have their rows in order as a rule, and share no
 * addresses. False: too much memory. */
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

/* False: too much memory. */
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
    /* Some compilers forget it. */
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

/* --- places --- */

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
        note_effect(&sequence, &program, effect);
        /* The end of the table is one too. */
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
