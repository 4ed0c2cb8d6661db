/* SPDX-License-Identifier: MIT */
/*
 * dwarf_lines.c - fuzz target: forged line tables.
 *
 * An input is a list of sections (the line tables, and strings), each a byte of
 * kind, three bytes of size, lowest first, and its bytes.
 */
#include "sym/dwarf_lines.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More than honest tables of the corpus need, and little for a forged one. */
#define BUDGET_BYTES (UINT64_C(1) << 20)

static void
require(bool good)
{
    if (!good) {
        abort();
    }
}

/* Bytes of their own for each section, so that a read behind one is found. */
static void
take_section(struct sym_dwarf_sections *sections, unsigned int id, const uint8_t *data,
             size_t size)
{
    unsigned char *bytes;

    if (id >= SYM_DWARF_SECTIONS || sections->items[id].bytes != NULL) {
        return;
    }
    bytes = malloc(size == 0 ? 1 : size);
    require(bytes != NULL);
    memcpy(bytes, data, size);
    sections->items[id] = (struct sym_dwarf_section){bytes, size};
}

static void
parse(struct sym_dwarf_sections *sections, const uint8_t *data, size_t size)
{
    while (size >= 4) {
        const size_t wanted =
            (size_t)data[1] | (size_t)data[2] << 8 | (size_t)data[3] << 16;
        const size_t taken = wanted < size - 4 ? wanted : size - 4;

        take_section(sections, data[0], data + 4, taken);
        data += 4 + taken;
        size -= 4 + taken;
    }
}

static void
check_rows(const struct sym_dwarf_lines *lines, const struct sym_dwarf_sequence *one)
{
    const struct sym_dwarf_sequence *found;

    require(one->count > 0 && one->first <= lines->row_count &&
            one->count <= lines->row_count - one->first);
    require(lines->rows[one->first].address == one->start && one->start > 0);
    for (size_t i = one->first; i < one->first + one->count; i++) {
        const struct sym_dwarf_row *const row =
            sym_dwarf_lines_find(lines, lines->rows[i].address, &found);

        require(lines->rows[i].address < one->end);
        require(i == one->first || lines->rows[i].address > lines->rows[i - 1].address);
        require(found != one || row == &lines->rows[i]);
    }
}

static void
check(const struct sym_dwarf_lines *lines)
{
    for (size_t i = 0; i < lines->sequence_count; i++) {
        require(i == 0 || lines->sequences[i].start >= lines->sequences[i - 1].start);
        check_rows(lines, &lines->sequences[i]);
    }
    for (size_t i = 0; i < lines->files.count; i++) {
        require(strlen(lines->files.items[i].name) < SIZE_MAX &&
                lines->files.items[i].path == NULL);
    }
    for (size_t i = 0; i < lines->folders.count; i++) {
        require(strlen(lines->folders.items[i].name) < SIZE_MAX);
    }
}

/* The first table, of a unit with addresses of so many bytes. */
static void
read_table(const struct sym_dwarf_sections *sections, uint8_t address_bytes)
{
    struct sym_budget budget;
    struct sym_dwarf dwarf = {.sections = *sections};
    const struct sym_dwarf_unit unit = {.dwarf = &dwarf,
                                        .version = 4,
                                        .address_bytes = address_bytes,
                                        .offset_bytes = 4};
    struct sym_dwarf_lines *lines;

    sym_budget_begin(&budget, BUDGET_BYTES);
    dwarf.sections.budget = &budget;
    lines = sym_dwarf_lines_read(&unit, 0);
    require(lines != NULL || budget.refused);
    if (lines != NULL) {
        check(lines);
    }
    sym_dwarf_lines_delete(lines);
    require(budget.left == BUDGET_BYTES);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_dwarf_sections sections = {.owned = false};

    parse(&sections, data, size);
    read_table(&sections, 8);
    read_table(&sections, 4);
    for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
        free((void *)(uintptr_t)sections.items[id].bytes);
    }
    return 0;
}
