/* SPDX-License-Identifier: MIT */
/*
 * dwarf.c - fuzz target: units, functions, names and ranges of forged debug
 * information.
 *
 * An input is a list of sections, each a byte of kind (16 and more: of the
 * supplementary file, 32 and more: of a file of split units), three bytes of size,
 * lowest first, and its bytes.
 */
#include "sym/dwarf_reader.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 3, LOOKUPS_MAX = 200, CHAIN_MAX = 1 << 20 };

static void
require(bool good)
{
    if (!good) {
        abort();
    }
}

/* Bytes of their own for each section, so that a read behind one is found. */
struct input {
    struct sym_dwarf_sections sections[FILES];
    unsigned char *bytes[FILES][SYM_DWARF_SECTIONS];
};

static void
take_section(struct input *input, unsigned int kind, const uint8_t *data, size_t size)
{
    const unsigned int file = kind >> 4;
    const unsigned int id = kind & 15;
    unsigned char *bytes;

    if (file >= FILES || id >= SYM_DWARF_SECTIONS || input->bytes[file][id] != NULL) {
        return;
    }
    bytes = malloc(size == 0 ? 1 : size);
    require(bytes != NULL);
    memcpy(bytes, data, size);
    input->bytes[file][id] = bytes;
    input->sections[file].items[id].bytes = bytes;
    input->sections[file].items[id].size = size;
}

static void
parse(struct input *input, const uint8_t *data, size_t size)
{
    memset(input, 0, sizeof(*input));
    while (size >= 4) {
        const size_t wanted =
            (size_t)data[1] | (size_t)data[2] << 8 | (size_t)data[3] << 16;
        const size_t taken = wanted < size - 4 ? wanted : size - 4;

        take_section(input, data[0], data + 4, taken);
        data += 4 + taken;
        size -= 4 + taken;
    }
}

static void
check_string(const char *text)
{
    require(text != NULL && strlen(text) < SIZE_MAX);
}

/* A chain ends, and names are there. */
static void
check_chain(struct sym_dwarf_unit *unit, struct sym_dwarf_scope *scope)
{
    for (size_t depth = 0; scope != NULL; depth++) {
        const size_t at = (size_t)(scope - unit->scopes->items);

        require(depth < CHAIN_MAX && at < unit->scopes->count);
        if (depth < 64) {
            sym_dwarf_name_scope(unit, scope);
            check_string(scope->name);
            check_string(scope->system_name);
        }
        require(scope->parent == SYM_DWARF_NO_SCOPE || scope->parent < at);
        scope = scope->parent == SYM_DWARF_NO_SCOPE
                    ? NULL
                    : &unit->scopes->items[scope->parent];
    }
}

static void
look_up(struct sym_dwarf_unit *unit, uint64_t address)
{
    check_chain(unit, sym_dwarf_find_scope(unit, address));
}

/* Some addresses that the unit's functions begin at, and what is beside them. */
static void
look_through(struct sym_dwarf_unit *unit)
{
    look_up(unit, 0x1000);
    for (size_t i = 0; unit->scopes != NULL && i < unit->scopes->places.range_count &&
                       i < LOOKUPS_MAX;
         i++) {
        look_up(unit, unit->scopes->places.ranges[i].start);
        look_up(unit, unit->scopes->places.ranges[i].end);
    }
}

/* As dwarf_split.c joins the two halves of a unit. */
static void
join_first(struct sym_dwarf_unit *skeleton, struct sym_dwarf *split)
{
    struct sym_dwarf_entry root;

    if (split != NULL && split->units[0].skeleton == NULL &&
        sym_dwarf_root(&split->units[0], &root)) {
        split->units[0].skeleton = skeleton;
        split->units[0].low_pc = skeleton->low_pc;
    }
}

static void
read_units(struct sym_dwarf *dwarf, struct sym_dwarf *split)
{
    for (size_t i = 0; i < dwarf->unit_count && i < LOOKUPS_MAX; i++) {
        struct sym_dwarf_entry root;

        if (!sym_dwarf_root(&dwarf->units[i], &root)) {
            continue;
        }
        (void)sym_dwarf_string(&dwarf->units[i], &root.dwo_name);
        join_first(&dwarf->units[i], split);
        look_through(&dwarf->units[i]);
    }
    for (uint64_t address = 0; address < 0x4000; address += 0x100) {
        (void)sym_dwarf_find_unit(dwarf, address);
    }
}

static struct sym_dwarf *
open_file(struct input *input, size_t file)
{
    const struct sym_dwarf_section *info = &input->sections[file].items[SYM_DWARF_INFO];

    return info->size == 0 ? NULL : sym_dwarf_open(&input->sections[file], file == 2);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_dwarf *files[FILES];
    struct input input;

    parse(&input, data, size);
    for (size_t i = 0; i < FILES; i++) {
        files[i] = open_file(&input, i);
    }
    if (files[0] != NULL) {
        files[0]->supplement = files[1];
        read_units(files[0], files[2]);
    }
    if (files[2] != NULL) {
        read_units(files[2], NULL);
    }
    for (size_t i = 0; i < FILES; i++) {
        sym_dwarf_close(files[FILES - 1 - i]);
        for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
            free(input.bytes[i][id]);
        }
    }
    return 0;
}
