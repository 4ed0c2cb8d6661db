/* SPDX-License-Identifier: MIT */
/*
 * dwarf_values.c - what attributes mean: strings, addresses, references and lists of
 * ranges.
 */
#include "sym/dwarf_reader.h"

#include "sym/dwarf_constants.h"

/* --- forms --- */

/* Bytes of a form that has always as many; 0: it has not, or is unknown. */
static size_t
fixed_bytes(const struct sym_dwarf_unit *unit, uint64_t form)
{
    switch (form) {
    case DW_FORM_addr:
        return unit->address_bytes;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_ref_addr:
        return unit->version < 3 ? unit->address_bytes : unit->offset_bytes;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return unit->offset_bytes;
    default:
        return 0;
    }
}

/* Forms without a fixed size. False if the form is unknown: what follows cannot be
 * found. */
static bool
read_other(const struct sym_dwarf_unit *unit, struct sym_dwarf_cursor *cursor,
           struct sym_dwarf_value *value)
{
    const unsigned char *info = unit->dwarf->sections.items[SYM_DWARF_INFO].bytes;
    const unsigned char *end;

    switch (value->form) {
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        value->number = sym_dwarf_uleb(cursor);
        return true;
    case DW_FORM_sdata:
        value->number = sym_dwarf_sleb(cursor);
        return true;
    case DW_FORM_flag_present:
        value->number = 1;
        return true;
    case DW_FORM_string:
        value->number = (uint64_t)(cursor->at - info);
        end = memchr(cursor->at, 0, (size_t)(cursor->end - cursor->at));
        sym_dwarf_skip(cursor,
                       end == NULL ? UINT64_MAX : (uint64_t)(end + 1 - cursor->at));
        return true;
    case DW_FORM_block1:
        sym_dwarf_skip(cursor, sym_dwarf_fixed(cursor, 1));
        return true;
    case DW_FORM_block2:
        sym_dwarf_skip(cursor, sym_dwarf_fixed(cursor, 2));
        return true;
    case DW_FORM_block4:
        sym_dwarf_skip(cursor, sym_dwarf_fixed(cursor, 4));
        return true;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        sym_dwarf_skip(cursor, sym_dwarf_uleb(cursor));
        return true;
    case DW_FORM_data16:
        sym_dwarf_skip(cursor, 16);
        return true;
    default:
        return false;
    }
}

struct sym_dwarf_value
sym_dwarf_read_value(const struct sym_dwarf_unit *unit, struct sym_dwarf_cursor *cursor,
                     uint64_t form, uint64_t implicit)
{
    struct sym_dwarf_value value;
    size_t size;

    if (form == DW_FORM_indirect) {
        form = sym_dwarf_uleb(cursor); /* one more of these is unknown below */
    }
    value = (struct sym_dwarf_value){.form = (uint32_t)form, .number = implicit};
    if (form == DW_FORM_implicit_const) {
        return value;
    }
    size = fixed_bytes(unit, form);
    if (size > 0) {
        value.number = sym_dwarf_fixed(cursor, size);
    } else if (form > UINT32_MAX || !read_other(unit, cursor, &value)) {
        sym_dwarf_fail(cursor);
    }
    return value;
}

/* --- strings --- */

/* Longer names are forged: one that is as long as the file could be that of each
 * function. */
#define STRING_BYTES_MAX ((size_t)1 << 16)

static const char *
string_at(const struct sym_dwarf *dwarf, enum sym_dwarf_section_id id, uint64_t offset)
{
    const struct sym_dwarf_section *section;
    size_t left;

    if (dwarf == NULL) {
        return NULL;
    }
    section = &dwarf->sections.items[id];
    if (offset >= section->size) {
        return NULL;
    }
    left = (size_t)(section->size - offset);
    if (memchr(section->bytes + offset, 0,
               left < STRING_BYTES_MAX ? left : STRING_BYTES_MAX) == NULL) {
        return NULL;
    }
    return (const char *)section->bytes + offset;
}

/* A word of a table of offsets or addresses. */
static bool
word_at(const struct sym_dwarf *dwarf, enum sym_dwarf_section_id id, uint64_t base,
        uint64_t index, size_t word_bytes, uint64_t *word)
{
    const struct sym_dwarf_section *section = &dwarf->sections.items[id];
    struct sym_dwarf_cursor cursor;
    uint64_t at;

    if (__builtin_mul_overflow(index, word_bytes, &at) ||
        __builtin_add_overflow(at, base, &at)) {
        return false;
    }
    cursor = sym_dwarf_cursor_at(section->bytes, section->size, at);
    if (cursor.failed) {
        return false;
    }
    *word = sym_dwarf_fixed(&cursor, word_bytes);
    return !cursor.failed;
}

static const char *
indexed_string(const struct sym_dwarf_unit *unit, uint64_t index)
{
    uint64_t offset;

    return word_at(unit->dwarf, SYM_DWARF_STR_OFFSETS, unit->str_offsets_base, index,
                   unit->offset_bytes, &offset)
               ? string_at(unit->dwarf, SYM_DWARF_STR, offset)
               : NULL;
}

const char *
sym_dwarf_string(const struct sym_dwarf_unit *unit, const struct sym_dwarf_value *value)
{
    switch (value->form) {
    case DW_FORM_string:
        return string_at(unit->dwarf, SYM_DWARF_INFO, value->number);
    case DW_FORM_strp:
        return string_at(unit->dwarf, SYM_DWARF_STR, value->number);
    case DW_FORM_line_strp:
        return string_at(unit->dwarf, SYM_DWARF_LINE_STR, value->number);
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
        return string_at(unit->dwarf->supplement, SYM_DWARF_STR, value->number);
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
        return indexed_string(unit, value->number);
    default:
        return NULL;
    }
}

/* --- addresses --- */

/* A split unit's addresses are in its skeleton's file. */
static bool
indexed_address(const struct sym_dwarf_unit *unit, uint64_t index, uint64_t *address)
{
    const struct sym_dwarf_unit *owner = unit->skeleton != NULL ? unit->skeleton : unit;

    return word_at(owner->dwarf, SYM_DWARF_ADDR, owner->addr_base, index,
                   unit->address_bytes, address);
}

bool
sym_dwarf_address(const struct sym_dwarf_unit *unit,
                  const struct sym_dwarf_value *value, uint64_t *address)
{
    switch (value->form) {
    case DW_FORM_addr:
        *address = value->number;
        return true;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
        return indexed_address(unit, value->number, address);
    default:
        return false;
    }
}

/* --- references --- */

static struct sym_dwarf_unit *
unit_of(struct sym_dwarf *dwarf, uint64_t offset)
{
    return dwarf == NULL ? NULL : sym_dwarf_unit_at(dwarf, offset);
}

struct sym_dwarf_unit *
sym_dwarf_reference(struct sym_dwarf_unit *unit, const struct sym_dwarf_value *value,
                    uint64_t *offset)
{
    *offset = value->number;
    switch (value->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        if (value->number >= unit->end - unit->offset) {
            return NULL;
        }
        *offset = unit->offset + value->number;
        return *offset >= unit->first ? unit : NULL;
    case DW_FORM_ref_addr:
        return unit_of(unit->dwarf, *offset);
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
    case DW_FORM_GNU_ref_alt:
        return unit_of(unit->dwarf->supplement, *offset);
    default:
        return NULL;
    }
}

/* --- ranges --- */

/* list - a list of ranges on its way to the taker. */
struct list {
    struct sym_dwarf_unit *unit;
    struct sym_dwarf *dwarf; /* whose section it is in */
    uint64_t base;
    sym_dwarf_range *take;
    void *context;
};

static bool
take_range(const struct list *list, uint64_t base, uint64_t start, uint64_t end)
{
    if (start >= end || __builtin_add_overflow(start, base, &start) ||
        __builtin_add_overflow(end, base, &end)) {
        return true; /* empty, or no range at all */
    }
    return list->take(list->context, start, end);
}

/* Until version 4: pairs of addresses; the largest one as the first says that the
 * second is a base. */
static bool
walk_ranges(struct list *list, uint64_t offset)
{
    const struct sym_dwarf_section *section =
        &list->dwarf->sections.items[SYM_DWARF_RANGES];
    const size_t word_bytes = list->unit->address_bytes;
    const uint64_t largest = word_bytes == 8 ? UINT64_MAX : UINT32_MAX;
    struct sym_dwarf_cursor cursor =
        sym_dwarf_cursor_at(section->bytes, section->size, offset);

    while (!cursor.failed) {
        const uint64_t start = sym_dwarf_fixed(&cursor, word_bytes);
        const uint64_t end = sym_dwarf_fixed(&cursor, word_bytes);

        if (start == 0 && end == 0) {
            return !cursor.failed;
        }
        if (start == largest) {
            list->base = end;
        } else if (!take_range(list, list->base, start, end)) {
            return false;
        }
    }
    return false;
}

/* One entry of a list of version 5. */
struct range_entry {
    unsigned int kind;
    uint64_t start;
    uint64_t end;
    bool known; /* start and end are */
};

static void
read_range_entry(const struct list *list, struct sym_dwarf_cursor *cursor,
                 struct range_entry *entry)
{
    const size_t word_bytes = list->unit->address_bytes;

    *entry = (struct range_entry){.kind = (unsigned int)sym_dwarf_fixed(cursor, 1),
                                  .known = true};
    switch (entry->kind) {
    case DW_RLE_base_addressx:
        entry->known =
            indexed_address(list->unit, sym_dwarf_uleb(cursor), &entry->start);
        break;
    case DW_RLE_startx_endx:
        entry->known =
            indexed_address(list->unit, sym_dwarf_uleb(cursor), &entry->start);
        entry->known &=
            indexed_address(list->unit, sym_dwarf_uleb(cursor), &entry->end);
        break;
    case DW_RLE_startx_length:
        entry->known =
            indexed_address(list->unit, sym_dwarf_uleb(cursor), &entry->start);
        entry->end = entry->start + sym_dwarf_uleb(cursor);
        break;
    case DW_RLE_offset_pair:
        entry->start = sym_dwarf_uleb(cursor);
        entry->end = sym_dwarf_uleb(cursor);
        break;
    case DW_RLE_base_address:
        entry->start = sym_dwarf_fixed(cursor, word_bytes);
        break;
    case DW_RLE_start_end:
        entry->start = sym_dwarf_fixed(cursor, word_bytes);
        entry->end = sym_dwarf_fixed(cursor, word_bytes);
        break;
    case DW_RLE_start_length:
        entry->start = sym_dwarf_fixed(cursor, word_bytes);
        entry->end = entry->start + sym_dwarf_uleb(cursor);
        break;
    default:
        sym_dwarf_fail(cursor);
        break;
    }
}

static bool
walk_rnglist(struct list *list, uint64_t offset)
{
    const struct sym_dwarf_section *section =
        &list->dwarf->sections.items[SYM_DWARF_RNGLISTS];
    struct sym_dwarf_cursor cursor =
        sym_dwarf_cursor_at(section->bytes, section->size, offset);

    while (!cursor.failed) {
        struct range_entry entry;

        read_range_entry(list, &cursor, &entry);
        if (cursor.failed) {
            return false;
        }
        if (entry.kind == DW_RLE_end_of_list) {
            return true;
        }
        if (entry.kind == DW_RLE_base_addressx || entry.kind == DW_RLE_base_address) {
            list->base = entry.known ? entry.start : 0;
        } else if (entry.known &&
                   !take_range(list, entry.kind == DW_RLE_offset_pair ? list->base : 0,
                               entry.start, entry.end)) {
            return false;
        }
    }
    return false;
}

static bool
walk_rnglist_index(struct list *list, uint64_t index)
{
    const struct sym_dwarf_unit *unit = list->unit;
    uint64_t offset;

    return word_at(unit->dwarf, SYM_DWARF_RNGLISTS, unit->rnglists_base, index,
                   unit->offset_bytes, &offset) &&
           !__builtin_add_overflow(offset, unit->rnglists_base, &offset) &&
           walk_rnglist(list, offset);
}

static bool
walk_list(struct list *list, const struct sym_dwarf_value *value)
{
    const struct sym_dwarf_unit *unit = list->unit;
    uint64_t offset = value->number;

    if (value->form == DW_FORM_rnglistx) {
        return walk_rnglist_index(list, value->number);
    }
    if (unit->version >= 5) {
        return walk_rnglist(list, offset);
    }
    if (unit->skeleton != NULL) {
        list->dwarf = unit->skeleton->dwarf;
        if (__builtin_add_overflow(offset, unit->skeleton->gnu_ranges_base, &offset)) {
            return false;
        }
    }
    return walk_ranges(list, offset);
}

bool
sym_dwarf_ranges(struct sym_dwarf_unit *unit, const struct sym_dwarf_entry *entry,
                 sym_dwarf_range *take, void *context)
{
    struct list list = {unit, unit->dwarf, unit->low_pc, take, context};
    uint64_t start;
    uint64_t end;

    if (entry->ranges.form != 0) {
        return walk_list(&list, &entry->ranges);
    }
    if (entry->high_pc.form == 0 || !sym_dwarf_address(unit, &entry->low_pc, &start)) {
        return true;
    }
    /* Since version 4 a constant is a length. */
    if (!sym_dwarf_address(unit, &entry->high_pc, &end) &&
        __builtin_add_overflow(start, entry->high_pc.number, &end)) {
        return false;
    }
    return take_range(&list, 0, start, end);
}
