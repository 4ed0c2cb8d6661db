/* SPDX-License-Identifier: MIT */
/*
 * dwarf.c - fuzz target: forged debug information, read through libdw: units,
 * functions, rows, and split units that are put together with their skeletons.
 *
 * libdw is not instrumented: of its own faults only crashes are found, which cost a
 * reader of one file.
 *
 * An input is a list of sections, each a byte of kind (16 and more: of the
 * supplementary file, 32 and more: of a file of split units), three bytes of size,
 * lowest first, and its bytes.
 */
#include "symbols/reader/dwarf_aranges.h"
#include "symbols/reader/dwarf_qualify.h"
#include "symbols/reader/dwarf_sequences.h"
#include "symbols/reader/dwarf_split.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OWN, SUPPLEMENT, SPLIT, FILES };
enum { LOOKUPS_MAX = 200, CHAIN_MAX = 1 << 20 };

/* More than honest files of the corpus need, and little for a forged one. */
#define BUDGET_BYTES (UINT64_C(1) << 24)

static void
require(bool good)
{
    if (!good) {
        abort();
    }
}

/* input - sections, where they stand in it. */
struct input {
    const uint8_t *bytes[FILES][SYM_DWARF_SECTIONS];
    uint64_t sizes[FILES][SYM_DWARF_SECTIONS];
};

static void
parse(struct input *input, const uint8_t *data, size_t size)
{
    *input = (struct input){.sizes = {{0}}};
    while (size >= 4) {
        const size_t wanted =
            (size_t)data[1] | (size_t)data[2] << 8 | (size_t)data[3] << 16;
        const size_t taken = wanted < size - 4 ? wanted : size - 4;
        const unsigned int file = data[0] >> 4;
        const unsigned int id = data[0] & 15;

        if (file < FILES && id < SYM_DWARF_SECTIONS && input->sizes[file][id] == 0) {
            input->bytes[file][id] = data + 4;
            input->sizes[file][id] = taken;
        }
        data += 4 + taken;
        size -= 4 + taken;
    }
}

static void
make(struct sym_dwarf_image *image, const struct input *input, size_t file,
     struct sym_budget *budget)
{
    require(sym_dwarf_image_make(image, input->sizes[file], budget));
    for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
        if (input->sizes[file][id] > 0) {
            memcpy(image->parts[id].bytes, input->bytes[file][id],
                   input->sizes[file][id]);
        }
    }
}

/* A chain ends, and names are there. */
static void
check_chain(struct sym_dwarf_unit *unit, struct sym_dwarf_scope *scope,
            struct sym_budget *budget)
{
    for (size_t depth = 0; scope != NULL; depth++) {
        const size_t at = (size_t)(scope - unit->scopes);

        require(depth < CHAIN_MAX && at < unit->scope_count);
        if (depth < 64) {
            Dwarf_Die declaration = scope->entry;

            sym_dwarf_name_scope(scope);
            sym_dwarf_find_declaration(&declaration);
            if (scope->bare && (declaration.cu == unit->root.cu ||
                                declaration.cu == unit->functions.cu)) {
                free(sym_dwarf_qualify(unit, &declaration, scope->name, budget));
            }
            require(strlen(scope->name) < SIZE_MAX);
            require(strlen(scope->system_name) < SIZE_MAX);
            require(strlen(sym_dwarf_file(unit, scope->call_file)) < SIZE_MAX);
        }
        require(scope->parent == SYM_DWARF_NO_SCOPE || scope->parent < at);
        scope =
            scope->parent == SYM_DWARF_NO_SCOPE ? NULL : &unit->scopes[scope->parent];
    }
}

/* Some addresses that the unit's functions begin at, and what is beside them. */
static void
look_through_scopes(struct sym_dwarf_unit *unit, struct sym_budget *budget)
{
    check_chain(unit, sym_dwarf_find_scope(unit, 0x1000, budget), budget);
    for (size_t i = 0; i < unit->ranges.range_count && i < LOOKUPS_MAX; i++) {
        const struct sym_range *const range = &unit->ranges.ranges[i];

        check_chain(unit, sym_dwarf_find_scope(unit, range->start, budget), budget);
        check_chain(unit, sym_dwarf_find_scope(unit, range->end, budget), budget);
    }
}

static void
look_through_rows(struct sym_dwarf_unit *unit)
{
    for (size_t i = 0; i < unit->rows.count && i < LOOKUPS_MAX; i++) {
        const struct sym_dwarf_row *const row = &unit->rows.items[i];

        require(i == 0 || row->address >= row[-1].address);
        require(sym_dwarf_rows_until(unit, row->address) > i);
        require(strlen(sym_dwarf_file(unit, row->file)) < SIZE_MAX);
    }
}

static void
read_unit(struct sym_dwarf_split *split, struct sym_dwarf_unit *unit,
          const struct sym_dwarf_image *parts)
{
    split->units = unit;
    split->unit_count = 1;
    unit->addr_base = sym_dwarf_number(&unit->root, DW_AT_addr_base) +
                      sym_dwarf_number(&unit->root, DW_AT_GNU_addr_base);
    unit->ranges_base = sym_dwarf_number(&unit->root, DW_AT_GNU_ranges_base);
    (void)sym_dwarf_unit_abbreviations(unit, split->own->budget);
    if (unit->code != NULL) {
        struct sym_table table = {.budget = split->own->budget};
        bool any;

        (void)sym_dwarf_add_sequences(&split->own->parts[SYM_DWARF_LINE],
                                      sym_dwarf_number(&unit->root, DW_AT_stmt_list),
                                      unit->code, 0, &table, &any);
        sym_table_finish(&table);
    }
    if (sym_dwarf_read_lines(unit, split->own)) {
        look_through_rows(unit);
    }
    if (parts->parts[SYM_DWARF_INFO].size > 0) {
        require(sym_dwarf_split_join(split, unit, parts->parts) ==
                (unit->split != NULL));
    }
    look_through_scopes(unit, split->own->budget);
    sym_dwarf_unit_finish(unit);
}

static void
read_aranges(const struct sym_dwarf_image *image)
{
    struct sym_dwarf_aranges aranges;

    sym_dwarf_aranges_read(&aranges, image);
    for (size_t i = 0; i < aranges.count; i++) {
        require(aranges.items[i].start < aranges.items[i].end ||
                aranges.items[i].start == UINT64_MAX);
        require(i == 0 || aranges.items[i].unit >= aranges.items[i - 1].unit);
    }
    sym_dwarf_aranges_finish(&aranges);
}

static void
read_units(struct sym_dwarf_image *own, const struct sym_dwarf_image *parts)
{
    struct sym_dwarf_split split = {.own = own};
    Dwarf_CU *next = NULL;
    Dwarf_Die root;

    for (size_t i = 0; i < LOOKUPS_MAX && dwarf_get_units(own->dwarf, next, &next, NULL,
                                                          NULL, &root, NULL) == 0;
         i++) {
        struct sym_bound area = {0x1000, 0x10000};
        const struct sym_elf_code code = {&area, 1};
        struct sym_dwarf_unit unit = {
            .root = root, .code = i % 2 == 0 ? &code : NULL, .functions = root};

        read_unit(&split, &unit, parts);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_dwarf_image files[FILES];
    struct sym_budget budget;
    struct input input;

    parse(&input, data, size);
    sym_budget_begin(&budget, BUDGET_BYTES);
    (void)elf_version(EV_CURRENT);
    for (size_t i = 0; i < FILES; i++) {
        make(&files[i], &input, i, &budget);
    }
    if (sym_dwarf_image_open(&files[OWN])) {
        if (sym_dwarf_image_open(&files[SUPPLEMENT])) {
            dwarf_setalt(files[OWN].dwarf, files[SUPPLEMENT].dwarf);
        }
        read_aranges(&files[OWN]);
        read_units(&files[OWN], &files[SPLIT]);
    }
    for (size_t i = 0; i < FILES; i++) {
        sym_dwarf_image_finish(&files[i]);
    }
    return 0;
}
