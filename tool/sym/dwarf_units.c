/* SPDX-License-Identifier: MIT */
/*
 * dwarf_units.c - headers of units, tables of abbreviations, entries.
 */
#include "sym/dwarf_reader.h"

#include "sym/dwarf_constants.h"
#include "sym/dwarf_lines.h"
#include <stdlib.h>

/* A unit's length that begins a 64-bit header. */
#define LENGTH_64 UINT64_C(0xffffffff)
#define LENGTH_RESERVED UINT64_C(0xfffffff0)

/* --- headers --- */

/* Version 5: a type and what belongs to it. */
static void
read_header_5(struct sym_dwarf_unit *unit, struct sym_dwarf_cursor *cursor)
{
    unit->type = (uint8_t)sym_dwarf_fixed(cursor, 1);
    unit->address_bytes = (uint8_t)sym_dwarf_fixed(cursor, 1);
    unit->abbrevs_at = sym_dwarf_fixed(cursor, unit->offset_bytes);
    if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile) {
        unit->id = sym_dwarf_fixed(cursor, 8);
    } else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type) {
        sym_dwarf_skip(cursor, 8 + (uint64_t)unit->offset_bytes);
    }
}

/* A header. False if the section is damaged here: then nothing behind it is found
 * either. */
static bool
read_header(const struct sym_dwarf *dwarf, uint64_t offset, struct sym_dwarf_unit *unit)
{
    const struct sym_dwarf_section *info = &dwarf->sections.items[SYM_DWARF_INFO];
    struct sym_dwarf_cursor cursor =
        sym_dwarf_cursor_at(info->bytes, info->size, offset);
    uint64_t length = sym_dwarf_fixed(&cursor, 4);

    *unit = (struct sym_dwarf_unit){.offset = offset, .offset_bytes = 4};
    if (length == LENGTH_64) {
        unit->offset_bytes = 8;
        length = sym_dwarf_fixed(&cursor, 8);
    } else if (length >= LENGTH_RESERVED) {
        return false;
    }
    if (cursor.failed || length > (uint64_t)(cursor.end - cursor.at)) {
        return false;
    }
    cursor.end = cursor.at + length;
    unit->end = (uint64_t)(cursor.end - info->bytes);
    unit->version = (uint16_t)sym_dwarf_fixed(&cursor, 2);
    if (unit->version >= 5) {
        read_header_5(unit, &cursor);
    } else {
        unit->type = DW_UT_compile;
        unit->abbrevs_at = sym_dwarf_fixed(&cursor, unit->offset_bytes);
        unit->address_bytes = (uint8_t)sym_dwarf_fixed(&cursor, 1);
    }
    unit->first = (uint64_t)(cursor.at - info->bytes);
    return !cursor.failed;
}

static bool
can_be_read(const struct sym_dwarf_unit *unit)
{
    return unit->version >= 2 && unit->version <= 5 &&
           (unit->address_bytes == 4 || unit->address_bytes == 8);
}

static bool
append_unit(struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit)
{
    struct sym_dwarf_unit *const larger =
        sym_budget_grow(dwarf->sections.budget, dwarf->units, dwarf->unit_count,
                        &dwarf->unit_room, sizeof(*larger));

    if (larger == NULL) {
        return false;
    }
    dwarf->units = larger;
    dwarf->units[dwarf->unit_count] = *unit;
    dwarf->units[dwarf->unit_count++].dwarf = dwarf;
    return true;
}

static bool
read_headers(struct sym_dwarf *dwarf)
{
    const uint64_t size = dwarf->sections.items[SYM_DWARF_INFO].size;
    struct sym_dwarf_unit unit;

    for (uint64_t at = 0; at < size && read_header(dwarf, at, &unit); at = unit.end) {
        if (can_be_read(&unit) && !append_unit(dwarf, &unit)) {
            return false;
        }
    }
    return dwarf->unit_count > 0;
}

struct sym_dwarf *
sym_dwarf_open(struct sym_dwarf_sections *sections, bool split)
{
    struct sym_dwarf *dwarf = calloc(1, sizeof(*dwarf));

    if (dwarf == NULL) {
        sym_dwarf_sections_finish(sections);
        return NULL;
    }
    dwarf->sections = *sections;
    dwarf->is_split = split;
    dwarf->places.budget = dwarf->sections.budget;
    *sections = (struct sym_dwarf_sections){.owned = false};
    if (!read_headers(dwarf)) {
        sym_dwarf_close(dwarf);
        return NULL;
    }
    return dwarf;
}

void
sym_dwarf_close(struct sym_dwarf *dwarf)
{
    if (dwarf == NULL) {
        return;
    }
    for (size_t i = 0; i < dwarf->unit_count; i++) {
        sym_dwarf_scopes_delete(dwarf->units[i].scopes);
        sym_dwarf_lines_delete(dwarf->units[i].lines);
    }
    for (size_t i = 0; i < dwarf->abbrevs_count; i++) {
        free(dwarf->abbrevs[i]->items);
        free(dwarf->abbrevs[i]);
    }
    free(dwarf->units);
    free(dwarf->abbrevs);
    hash_index_finish(&dwarf->abbrevs_index);
    sym_table_finish(&dwarf->places);
    sym_dwarf_sections_finish(&dwarf->sections);
    free(dwarf);
}

struct sym_dwarf_unit *
sym_dwarf_unit_at(struct sym_dwarf *dwarf, uint64_t offset)
{
    const size_t count = sym_count_below(dwarf->units, dwarf->unit_count,
                                         sizeof(*dwarf->units), offset + 1);
    struct sym_dwarf_unit *const unit = count == 0 ? NULL : &dwarf->units[count - 1];

    return unit != NULL && offset >= unit->first && offset < unit->end ? unit : NULL;
}

struct sym_dwarf_cursor
sym_dwarf_unit_cursor(const struct sym_dwarf_unit *unit, uint64_t offset)
{
    const struct sym_dwarf_section *info = &unit->dwarf->sections.items[SYM_DWARF_INFO];

    return sym_dwarf_cursor_at(info->bytes, unit->end, offset);
}

/* --- abbreviations --- */

/* Goes over the attributes of an abbreviation. False if there are too many or they do
 * not end. */
static bool
skip_attributes(struct sym_dwarf_cursor *cursor)
{
    for (size_t i = 0; i <= SYM_DWARF_ATTRIBUTES_MAX; i++) {
        const uint64_t name = sym_dwarf_uleb(cursor);
        const uint64_t form = sym_dwarf_uleb(cursor);

        if (form == DW_FORM_implicit_const) {
            sym_dwarf_uleb(cursor);
        }
        if (cursor->failed) {
            return false;
        }
        if (name == 0 && form == 0) {
            return true;
        }
    }
    return false;
}

/* The next one of a table. Code 0: its end. False if it is damaged. */
static bool
read_abbrev(struct sym_dwarf_cursor *cursor, struct sym_dwarf_abbrev *abbrev)
{
    abbrev->code = sym_dwarf_uleb(cursor);
    if (abbrev->code == 0) {
        return !cursor->failed;
    }
    abbrev->tag = (uint32_t)sym_dwarf_uleb(cursor);
    abbrev->children = sym_dwarf_fixed(cursor, 1) != 0;
    abbrev->attributes = cursor->at;
    return skip_attributes(cursor);
}

static bool
append_abbrev(struct sym_dwarf *dwarf, struct sym_dwarf_abbrevs *table,
              const struct sym_dwarf_abbrev *abbrev)
{
    struct sym_dwarf_abbrev *const larger =
        sym_budget_grow(dwarf->sections.budget, table->items, table->count,
                        &table->room, sizeof(*larger));

    if (larger == NULL) {
        return false;
    }
    table->items = larger;
    table->items[table->count++] = *abbrev;
    return true;
}

static int
compare_abbrevs(const void *left, const void *right)
{
    const struct sym_dwarf_abbrev *a = left;
    const struct sym_dwarf_abbrev *b = right;

    return (a->code > b->code) - (a->code < b->code);
}

/* Nearly every writer numbers from 1 without gaps; any other table is sorted. */
static void
sort_abbrevs(struct sym_dwarf_abbrevs *table)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i].code != i + 1) {
            qsort(table->items, table->count, sizeof(*table->items), compare_abbrevs);
            return;
        }
    }
}

static struct sym_dwarf_cursor
abbrevs_cursor(const struct sym_dwarf *dwarf, uint64_t offset)
{
    const struct sym_dwarf_section *section = &dwarf->sections.items[SYM_DWARF_ABBREV];

    return sym_dwarf_cursor_at(section->bytes, section->size, offset);
}

/* What is damaged ends a table; what stands before is used. */
static bool
fill_abbrevs(struct sym_dwarf *dwarf, struct sym_dwarf_abbrevs *table)
{
    struct sym_dwarf_cursor cursor = abbrevs_cursor(dwarf, table->offset);
    struct sym_dwarf_abbrev abbrev;

    while (read_abbrev(&cursor, &abbrev) && abbrev.code != 0) {
        if (!append_abbrev(dwarf, table, &abbrev)) {
            return false;
        }
    }
    sort_abbrevs(table);
    return true;
}

static bool
keep_abbrevs(struct sym_dwarf *dwarf, struct sym_dwarf_abbrevs *table, uint32_t hash)
{
    struct sym_dwarf_abbrevs **const larger =
        sym_budget_grow(dwarf->sections.budget, dwarf->abbrevs, dwarf->abbrevs_count,
                        &dwarf->abbrevs_room, sizeof(*larger));

    if (larger == NULL) {
        return false;
    }
    dwarf->abbrevs = larger;
    if (!hash_index_add(&dwarf->abbrevs_index, hash, (uint32_t)dwarf->abbrevs_count)) {
        return false;
    }
    dwarf->abbrevs[dwarf->abbrevs_count++] = table;
    return true;
}

static const struct sym_dwarf_abbrevs *
find_abbrevs(struct sym_dwarf *dwarf, uint64_t offset)
{
    const uint32_t hash = hash_mix(0, offset);
    struct sym_dwarf_abbrevs *table;
    size_t probe = 0;
    uint32_t index;

    while ((index = hash_index_find(&dwarf->abbrevs_index, hash, &probe)) !=
           HASH_INDEX_NONE) {
        if (dwarf->abbrevs[index]->offset == offset) {
            return dwarf->abbrevs[index];
        }
    }
    table = calloc(1, sizeof(*table));
    if (table == NULL) {
        return NULL;
    }
    table->offset = offset;
    if (!fill_abbrevs(dwarf, table) || !keep_abbrevs(dwarf, table, hash)) {
        free(table->items);
        free(table);
        return NULL;
    }
    return table;
}

static const struct sym_dwarf_abbrev *
find_code(const struct sym_dwarf_abbrevs *table, uint64_t code)
{
    const struct sym_dwarf_abbrev key = {.code = code};

    if (code - 1 < table->count && table->items[code - 1].code == code) {
        return &table->items[code - 1];
    }
    return table->count == 0 ? NULL
                             : bsearch(&key, table->items, table->count,
                                       sizeof(*table->items), compare_abbrevs);
}

/*
 * The abbreviation of a code. Most roots have the first one of a table of their own, so
 * that looking at all roots reads no table to its end.
 */
static bool
find_abbrev(struct sym_dwarf_unit *unit, uint64_t code, struct sym_dwarf_abbrev *abbrev)
{
    const struct sym_dwarf_abbrev *found;

    if (unit->abbrevs == NULL) {
        struct sym_dwarf_cursor cursor = abbrevs_cursor(
            unit->dwarf, unit->abbrevs_at + unit->parts[SYM_DWARF_ABBREV].offset);

        if (!unit->root_read && read_abbrev(&cursor, abbrev) && abbrev->code == code) {
            return true;
        }
        unit->abbrevs = find_abbrevs(
            unit->dwarf, unit->abbrevs_at + unit->parts[SYM_DWARF_ABBREV].offset);
    }
    found = unit->abbrevs == NULL ? NULL : find_code(unit->abbrevs, code);
    if (found == NULL) {
        return false;
    }
    *abbrev = *found;
    return true;
}

/* --- entries --- */

/* Where a value of this attribute is kept; NULL: nowhere. */
static struct sym_dwarf_value *
place_of(struct sym_dwarf_entry *entry, uint64_t attribute)
{
    switch (attribute) {
    case DW_AT_name:
        return &entry->name;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        return &entry->linkage_name;
    case DW_AT_abstract_origin:
        return &entry->origin;
    case DW_AT_specification:
        return entry->origin.form == 0 ? &entry->origin : NULL;
    case DW_AT_sibling:
        return &entry->sibling;
    case DW_AT_low_pc:
        return &entry->low_pc;
    case DW_AT_high_pc:
        return &entry->high_pc;
    case DW_AT_ranges:
        return &entry->ranges;
    case DW_AT_call_file:
        return &entry->call_file;
    case DW_AT_call_line:
        return &entry->call_line;
    case DW_AT_GNU_discriminator:
        return &entry->discriminator;
    case DW_AT_decl_line:
        return &entry->decl_line;
    case DW_AT_comp_dir:
        return &entry->comp_dir;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
        return &entry->dwo_name;
    case DW_AT_GNU_dwo_id:
        return &entry->dwo_id;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        return &entry->addr_base;
    case DW_AT_str_offsets_base:
        return &entry->str_offsets_base;
    case DW_AT_rnglists_base:
        return &entry->rnglists_base;
    case DW_AT_GNU_ranges_base:
        return &entry->gnu_ranges_base;
    case DW_AT_stmt_list:
        return &entry->stmt_list;
    default:
        return NULL;
    }
}

static void
read_attributes(const struct sym_dwarf_unit *unit, struct sym_dwarf_cursor *cursor,
                const struct sym_dwarf_abbrev *abbrev, struct sym_dwarf_entry *entry)
{
    const struct sym_dwarf_section *section =
        &unit->dwarf->sections.items[SYM_DWARF_ABBREV];
    struct sym_dwarf_cursor attributes = {abbrev->attributes,
                                          section->bytes + section->size, false};

    while (!cursor->failed) {
        const uint64_t name = sym_dwarf_uleb(&attributes);
        const uint64_t form = sym_dwarf_uleb(&attributes);
        const uint64_t implicit =
            form == DW_FORM_implicit_const ? sym_dwarf_sleb(&attributes) : 0;
        struct sym_dwarf_value *place;
        struct sym_dwarf_value value;

        if (name == 0 && form == 0) {
            return;
        }
        value = sym_dwarf_read_value(unit, cursor, form, implicit);
        place = place_of(entry, name);
        if (place != NULL) {
            *place = value;
        }
    }
}

bool
sym_dwarf_next_entry(struct sym_dwarf_unit *unit, struct sym_dwarf_cursor *cursor,
                     struct sym_dwarf_entry *entry)
{
    const unsigned char *info = unit->dwarf->sections.items[SYM_DWARF_INFO].bytes;
    const unsigned char *begin = cursor->at;
    const uint64_t code = sym_dwarf_uleb(cursor);
    struct sym_dwarf_abbrev abbrev;

    *entry = (struct sym_dwarf_entry){.tag = 0};
    if (cursor->failed) {
        return false;
    }
    entry->offset = (uint64_t)(begin - info);
    if (code == 0) {
        return true;
    }
    if (!find_abbrev(unit, code, &abbrev)) {
        return false;
    }
    entry->tag = abbrev.tag;
    entry->children = abbrev.children;
    read_attributes(unit, cursor, &abbrev, entry);
    return !cursor->failed && entry->tag != 0;
}

/* Split units have no base of their own: their part of a section begins with a header.
 */
static void
set_split_bases(struct sym_dwarf_unit *unit)
{
    const uint64_t offsets_header = unit->offset_bytes == 8 ? 16 : 8;
    const uint64_t ranges_header = unit->offset_bytes == 8 ? 20 : 12;

    unit->str_offsets_base = unit->parts[SYM_DWARF_STR_OFFSETS].offset;
    unit->rnglists_base = unit->parts[SYM_DWARF_RNGLISTS].offset + ranges_header;
    if (unit->version >= 5) {
        unit->str_offsets_base += offsets_header;
    }
}

static void
set_bases(struct sym_dwarf_unit *unit, const struct sym_dwarf_entry *root)
{
    if (unit->dwarf->is_split) {
        set_split_bases(unit);
    } else {
        unit->addr_base = root->addr_base.number;
        unit->str_offsets_base = root->str_offsets_base.number;
        unit->rnglists_base = root->rnglists_base.number;
        unit->gnu_ranges_base = root->gnu_ranges_base.number;
    }
    unit->folder = sym_dwarf_string(unit, &root->comp_dir);
    if (root->dwo_id.form != 0) {
        unit->id = root->dwo_id.number;
    }
    if (!sym_dwarf_address(unit, &root->low_pc, &unit->low_pc)) {
        unit->low_pc = 0;
    }
}

bool
sym_dwarf_root(struct sym_dwarf_unit *unit, struct sym_dwarf_entry *root)
{
    struct sym_dwarf_cursor cursor = sym_dwarf_unit_cursor(unit, unit->first);

    if (!sym_dwarf_next_entry(unit, &cursor, root) || root->tag == 0) {
        return false;
    }
    if (!unit->root_read) {
        unit->root_read = true;
        set_bases(unit, root);
    }
    return true;
}

/* --- units by address --- */

struct place_context {
    struct sym_dwarf *dwarf;
    uint32_t unit;
};

/* What the linker threw away stands at address 0. */
static bool
add_place(void *context, uint64_t start, uint64_t end)
{
    const struct place_context *place = context;

    return start == 0 ||
           sym_table_add(&place->dwarf->places, &(struct sym_entry){.start = start,
                                                                    .end = end,
                                                                    .name = "unit",
                                                                    .tag = place->unit,
                                                                    .sized = true});
}

static void
read_places(struct sym_dwarf *dwarf)
{
    dwarf->places_read = true;
    for (size_t i = 0; i < dwarf->unit_count; i++) {
        struct place_context place = {dwarf, (uint32_t)i};
        struct sym_dwarf_entry root;

        if (sym_dwarf_root(&dwarf->units[i], &root)) {
            (void)sym_dwarf_ranges(&dwarf->units[i], &root, add_place, &place);
        }
    }
    if (!sym_table_build(&dwarf->places, SYM_OVERLAP_INNERMOST)) {
        sym_table_finish(&dwarf->places);
    }
}

struct sym_dwarf_unit *
sym_dwarf_find_unit(struct sym_dwarf *dwarf, uint64_t address)
{
    const struct sym_range *range;

    if (!dwarf->places_read) {
        read_places(dwarf);
    }
    range = sym_table_find(&dwarf->places, address);
    return range == NULL ? NULL : &dwarf->units[range->tag];
}
