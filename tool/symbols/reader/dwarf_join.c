/* SPDX-License-Identifier: MIT */
/*
 * dwarf_join.c - makes one complete unit of a skeleton and its split unit.
 *
 * libdw takes the parts of a unit without attributes such as DW_AT_addr_base to begin
 * where their sections begin. So an image whose sections have only the parts of the
 * split unit and of its skeleton reads as a complete unit. One thing is missing: the
 * address that ranges are relative to, DW_AT_low_pc of the skeleton's root. The root of
 * the split unit, of which only the language is needed and read before, is overwritten
 * by a new root that has that address.
 */
#include "symbols/reader/dwarf_split.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* The abbreviation of the new root, which is put before those of the unit: a code of
 * three bytes that no real table gets to; a compile unit with children; DW_AT_low_pc as
 * an address; and a string, whose attribute 0x2000 means nothing, that fills what is
 * left of the old root. */
static const unsigned char root_abbrev[] = {
    0xff,         0xff, 0x7f, DW_TAG_compile_unit, 1, DW_AT_low_pc,
    DW_FORM_addr, 0x80, 0x40, DW_FORM_string,      0, 0};
enum { CODE_BYTES = 3, UNIT_ID_BYTES = 8 };

/* --- strings --- */

static uint64_t
get_word(const unsigned char *bytes, size_t width)
{
    uint64_t wide;
    uint32_t narrow;

    if (width == sizeof(wide)) {
        memcpy(&wide, bytes, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, bytes, sizeof(narrow));
    return narrow;
}

static void
put_word(unsigned char *bytes, size_t width, uint64_t word)
{
    const uint32_t narrow = (uint32_t)word;

    memcpy(bytes, width == sizeof(word) ? (const void *)&word : &narrow, width);
}

/* offsets - .debug_str_offsets of a unit: 8 bytes each if its length says so, and
 * behind a header from version 5 on. */
struct offsets {
    struct sym_dwarf_part part;
    size_t width;
    uint64_t first;
};

/* Find the unit's table of string offsets by the length and version at the head of its
 * .debug_info. */
static struct offsets
offsets_of(const struct sym_dwarf_part parts[SYM_DWARF_SECTIONS])
{
    const struct sym_dwarf_part *const info = &parts[SYM_DWARF_INFO];
    const bool known = info->size >= 16;
    const bool wide = known && get_word(info->bytes, 4) == UINT32_MAX;
    uint16_t version = 0;

    if (known) {
        memcpy(&version, info->bytes + (wide ? 12 : 4), sizeof(version));
    }
    return (struct offsets){.part = parts[SYM_DWARF_STR_OFFSETS],
                            .width = wide ? 8 : 4,
                            .first = version < 5 ? 0 : (wide ? 16 : 8)};
}

/*
 * Copy the strings of one unit, since a package has those of all units, and make the
 * unit's offsets those of the copies. A string outside the section becomes "".
 *
 *   to  NULL: count only, and change nothing
 *
 * Returns the bytes of the copies, with the NUL of each.
 */
static uint64_t
copy_strings(const struct sym_dwarf_part *strings, const struct offsets *offsets,
             unsigned char *to)
{
    uint64_t size = 0;

    for (uint64_t at = offsets->first; at + offsets->width <= offsets->part.size;
         at += offsets->width) {
        unsigned char *const entry = offsets->part.bytes + at;
        const uint64_t from = get_word(entry, offsets->width);
        size_t length = 0;

        if (from < strings->size) {
            length = strnlen((const char *)strings->bytes + from, strings->size - from);
        }
        if (to != NULL) {
            put_word(entry, offsets->width, size);
            memcpy(to + size, strings->bytes + (length == 0 ? 0 : from), length);
            to[size + length] = '\0';
        }
        size += length + 1;
    }
    return size;
}

/* --- sections --- */

/* Return the skeleton's part of a section: from its base to that of the next skeleton,
 * or to the end. */
static struct sym_dwarf_part
skeleton_part(const struct sym_dwarf_split *split, const struct sym_dwarf_unit *unit,
              enum sym_dwarf_section id)
{
    const struct sym_dwarf_part *const section = &split->own->parts[id];
    const uint64_t base = id == SYM_DWARF_ADDR ? unit->addr_base : unit->ranges_base;
    uint64_t end = section->size;

    for (size_t i = 0; i < split->unit_count; i++) {
        const struct sym_dwarf_unit *const other = &split->units[i];
        const uint64_t next =
            id == SYM_DWARF_ADDR ? other->addr_base : other->ranges_base;

        if (next > base && next < end) {
            end = next;
        }
    }
    return base < end ? (struct sym_dwarf_part){section->bytes + base, end - base}
                      : (struct sym_dwarf_part){NULL, 0};
}

/* Make the image of the joined unit. Returns false if memory or the budget ran out. */
static bool
compose(const struct sym_dwarf_part parts[SYM_DWARF_SECTIONS],
        struct sym_budget *budget, struct sym_dwarf_image *image)
{
    struct offsets offsets = offsets_of(parts);
    uint64_t sizes[SYM_DWARF_SECTIONS];

    for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
        sizes[id] = parts[id].size;
    }
    sizes[SYM_DWARF_ABBREV] += sizeof(root_abbrev);
    sizes[SYM_DWARF_STR] = copy_strings(&parts[SYM_DWARF_STR], &offsets, /* to */ NULL);
    if (!sym_dwarf_image_make(image, sizes, budget)) {
        return false;
    }
    memcpy(image->parts[SYM_DWARF_ABBREV].bytes, root_abbrev, sizeof(root_abbrev));
    for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
        if (id != SYM_DWARF_STR && parts[id].size > 0) {
            memcpy(image->parts[id].bytes + sizes[id] - parts[id].size, parts[id].bytes,
                   parts[id].size);
        }
    }
    offsets.part = image->parts[SYM_DWARF_STR_OFFSETS];
    (void)copy_strings(&parts[SYM_DWARF_STR], &offsets,
                       image->parts[SYM_DWARF_STR].bytes);
    return true;
}

/* --- roots --- */

/* Find the root of the split unit with an id; type units may be in the image too.
 * Returns false if it is not there. */
static bool
find_root(struct sym_dwarf_image *image, uint64_t wanted, Dwarf_Die *root)
{
    Dwarf_CU *unit = NULL;
    uint64_t id;
    uint8_t type;

    while (dwarf_get_units(image->dwarf, unit, &unit, NULL, &type, root, NULL) == 0) {
        if (type == DW_UT_split_compile &&
            dwarf_cu_info(unit, NULL, NULL, NULL, NULL, &id, NULL, NULL) == 0 &&
            id == wanted) {
            return true;
        }
    }
    return false;
}

/* Overwrite the root of a split unit by one with low_pc, and make its header that of a
 * complete unit, which has no id before the root. Returns the offset of the new root in
 * .debug_info, or 0 if the old root has too little space or the unit is damaged. */
static Dwarf_Off
replace_root(struct sym_dwarf_image *image, Dwarf_Die *root, uint64_t low_pc)
{
    unsigned char *const info = image->parts[SYM_DWARF_INFO].bytes;
    Dwarf_Off at = dwarf_dieoffset(root);
    uint8_t address_bytes;
    uint8_t offset_bytes;
    Dwarf_Half version;
    Dwarf_Die child;
    Dwarf_Off text;
    Dwarf_Off end;

    if (dwarf_child(root, &child) != 0 ||
        dwarf_cu_info(root->cu, &version, NULL, NULL, NULL, NULL, &address_bytes,
                      &offset_bytes) != 0) {
        return 0;
    }
    end = dwarf_dieoffset(&child);
    if (version >= 5) {
        /* After the length and the version of the unit's header. */
        info[at - dwarf_cuoffset(root) + (offset_bytes == 8 ? 14 : 6)] = DW_UT_compile;
        at -= UNIT_ID_BYTES;
    }
    text = at + CODE_BYTES + address_bytes;
    if (end <= text || end > image->parts[SYM_DWARF_INFO].size) {
        return 0;
    }
    memcpy(info + at, root_abbrev, CODE_BYTES);
    put_word(info + at + CODE_BYTES, address_bytes, low_pc);
    memset(info + text, ' ', end - text);
    info[end - 1] = '\0';
    return at;
}

/* Find the unit's split unit in the image, make a complete unit of it, and set
 * unit->functions and unit->language. Returns false if that is not possible. */
static bool
open_joined(struct sym_dwarf_image *image, struct sym_dwarf_unit *unit)
{
    Dwarf_Addr low_pc = 0;
    Dwarf_Die root;
    Dwarf_Off at;
    uint64_t id;

    if (dwarf_cu_info(unit->root.cu, NULL, NULL, NULL, NULL, &id, NULL, NULL) != 0 ||
        !sym_dwarf_image_open(image) || !find_root(image, id, &root)) {
        return false;
    }
    if (dwarf_lowpc(&unit->root, &low_pc) != 0) {
        low_pc = 0;
    }
    unit->language = sym_dwarf_number(&root, DW_AT_language);
    at = replace_root(image, &root, low_pc);
    return at != 0 && sym_dwarf_image_open(image) &&
           dwarf_offdie(image->dwarf, at, &unit->functions) != NULL;
}

bool
sym_dwarf_split_join(const struct sym_dwarf_split *split, struct sym_dwarf_unit *unit,
                     const struct sym_dwarf_part parts[SYM_DWARF_SECTIONS])
{
    const struct sym_dwarf_part all[SYM_DWARF_SECTIONS] = {
        [SYM_DWARF_INFO] = parts[SYM_DWARF_INFO],
        [SYM_DWARF_ABBREV] = parts[SYM_DWARF_ABBREV],
        [SYM_DWARF_STR] = parts[SYM_DWARF_STR],
        [SYM_DWARF_STR_OFFSETS] = parts[SYM_DWARF_STR_OFFSETS],
        [SYM_DWARF_RNGLISTS] = parts[SYM_DWARF_RNGLISTS],
        [SYM_DWARF_RANGES] = skeleton_part(split, unit, SYM_DWARF_RANGES),
        [SYM_DWARF_ADDR] = skeleton_part(split, unit, SYM_DWARF_ADDR),
    };
    struct sym_dwarf_image *const image = calloc(1, sizeof(*image));

    if (image == NULL) {
        return false;
    }
    if (!compose(all, split->own->budget, image) || !open_joined(image, unit)) {
        unit->functions = unit->root;
        sym_dwarf_image_finish(image);
        free(image);
        return false;
    }
    unit->split = image;
    return true;
}
