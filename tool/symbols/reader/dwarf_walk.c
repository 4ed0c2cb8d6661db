/* SPDX-License-Identifier: MIT */
/*
 * dwarf_walk.c - visits entries in the order of their bytes in .debug_info.
 *
 * Why not with libdw: to find the next entry it reads the attributes of an entry twice,
 * and to find the sibling of an entry without DW_AT_sibling it reads all descendants,
 * once at each depth. Here each entry is read once: its abbreviation has the sizes of
 * its attributes, and the next entry starts where the attributes end. DW_AT_sibling is
 * not used, since a forged one could lead to the same entries again and again.
 */
#include "symbols/reader/dwarf_walk.h"

#include "symbols/border/table.h"
#include "symbols/reader/dwarf_bytes.h"
#include "symbols/reader/dwarf_image.h"

#include <dwarf.h>
#include <stdlib.h>

/* abbreviation - how to skip the attributes of an entry with this code: first
 * fixed_bytes, then one attribute for each form. */
struct abbreviation {
    uint64_t code;
    uint64_t fixed_bytes; /* of the attributes before the first of variable size */
    uint32_t first_form;  /* index in forms: that first one and all after it */
    uint32_t form_count;
    uint16_t tag;
    bool has_children;
    bool is_code; /* of functions with addresses */
};

struct sym_dwarf_abbreviations {
    struct sym_budget *budget;
    Dwarf_CU *unit;
    Dwarf_Half version;
    uint8_t address_bytes;
    uint8_t offset_bytes;
    struct sym_dwarf_bytes unit_entries; /* from the end of the unit's length on */
    struct abbreviation *items;          /* sorted by code */
    size_t count;
    size_t room;
    uint16_t *forms;
    size_t form_count;
    size_t form_room;
};

struct walk {
    const struct sym_dwarf_abbreviations *abbreviations;
    struct sym_dwarf_bytes entries;
    uint32_t *scopes; /* a stack: the scopes to go back to, one for each open parent */
    size_t depth;
    size_t room;
};

/* --- forms --- */

/* Entries of sizes[] for attributes whose size depends on the unit or on the attribute
 * itself. They are larger than any size in bytes. */
enum {
    SIZE_ADDRESS = 64,
    SIZE_OFFSET,
    SIZE_REFERENCE, /* an offset, but an address before version 3 */
    SIZE_LEB128,
    SIZE_STRING,
    SIZE_BLOCK, /* a LEB128 number of bytes */
    SIZE_BLOCK_1,
    SIZE_BLOCK_2,
    SIZE_BLOCK_4,
    SIZE_INDIRECT,
    SIZE_UNKNOWN
};

/* Entry of sizes[] for attributes of 0 bytes: a 0 there means an unknown form. */
enum { SIZE_NOTHING = SIZE_UNKNOWN + 1 };

/* By DW_FORM_...: the size of an attribute in bytes, or one of SIZE_... */
static const uint8_t sizes[] = {
    [DW_FORM_flag_present] = SIZE_NOTHING,
    [DW_FORM_implicit_const] = SIZE_NOTHING,
    [DW_FORM_data1] = 1,
    [DW_FORM_ref1] = 1,
    [DW_FORM_flag] = 1,
    [DW_FORM_strx1] = 1,
    [DW_FORM_addrx1] = 1,
    [DW_FORM_data2] = 2,
    [DW_FORM_ref2] = 2,
    [DW_FORM_strx2] = 2,
    [DW_FORM_addrx2] = 2,
    [DW_FORM_strx3] = 3,
    [DW_FORM_addrx3] = 3,
    [DW_FORM_data4] = 4,
    [DW_FORM_ref4] = 4,
    [DW_FORM_ref_sup4] = 4,
    [DW_FORM_strx4] = 4,
    [DW_FORM_addrx4] = 4,
    [DW_FORM_data8] = 8,
    [DW_FORM_ref8] = 8,
    [DW_FORM_ref_sig8] = 8,
    [DW_FORM_ref_sup8] = 8,
    [DW_FORM_data16] = 16,
    [DW_FORM_addr] = SIZE_ADDRESS,
    [DW_FORM_ref_addr] = SIZE_REFERENCE,
    [DW_FORM_strp] = SIZE_OFFSET,
    [DW_FORM_line_strp] = SIZE_OFFSET,
    [DW_FORM_strp_sup] = SIZE_OFFSET,
    [DW_FORM_sec_offset] = SIZE_OFFSET,
    [DW_FORM_udata] = SIZE_LEB128,
    [DW_FORM_sdata] = SIZE_LEB128,
    [DW_FORM_ref_udata] = SIZE_LEB128,
    [DW_FORM_strx] = SIZE_LEB128,
    [DW_FORM_addrx] = SIZE_LEB128,
    [DW_FORM_loclistx] = SIZE_LEB128,
    [DW_FORM_rnglistx] = SIZE_LEB128,
    [DW_FORM_string] = SIZE_STRING,
    [DW_FORM_block] = SIZE_BLOCK,
    [DW_FORM_exprloc] = SIZE_BLOCK,
    [DW_FORM_block1] = SIZE_BLOCK_1,
    [DW_FORM_block2] = SIZE_BLOCK_2,
    [DW_FORM_block4] = SIZE_BLOCK_4,
    [DW_FORM_indirect] = SIZE_INDIRECT,
};

/* Return the size of an attribute in bytes, or one of SIZE_LEB128 to SIZE_UNKNOWN. */
static unsigned int
form_size(const struct sym_dwarf_abbreviations *abbreviations, uint64_t form)
{
    unsigned int size = form < sizeof(sizes) / sizeof(sizes[0]) ? sizes[form] : 0;

    if (form == DW_FORM_GNU_addr_index || form == DW_FORM_GNU_str_index) {
        size = SIZE_LEB128;
    } else if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt) {
        size = SIZE_OFFSET;
    }
    switch (size) {
    case 0:
        return SIZE_UNKNOWN;
    case SIZE_NOTHING:
        return 0;
    case SIZE_ADDRESS:
        return abbreviations->address_bytes;
    case SIZE_OFFSET:
        return abbreviations->offset_bytes;
    case SIZE_REFERENCE:
        return abbreviations->version < 3 ? abbreviations->address_bytes
                                          : abbreviations->offset_bytes;
    default:
        return size;
    }
}

/* Skip one attribute. An unknown form fails, since its size is not known. */
static void
skip_attribute(struct walk *walk, uint64_t form)
{
    struct sym_dwarf_bytes *const entries = &walk->entries;
    unsigned int size = form_size(walk->abbreviations, form);

    /* This ends: each indirection consumes at least one byte. */
    while (size == SIZE_INDIRECT && !entries->failed) {
        size = form_size(walk->abbreviations, sym_dwarf_bytes_leb128(entries));
    }
    switch (size) {
    case SIZE_LEB128:
        (void)sym_dwarf_bytes_leb128(entries);
        break;
    case SIZE_STRING:
        (void)sym_dwarf_bytes_string(entries);
        break;
    case SIZE_BLOCK:
        sym_dwarf_bytes_skip(entries, sym_dwarf_bytes_leb128(entries));
        break;
    case SIZE_BLOCK_1:
        sym_dwarf_bytes_skip(entries, sym_dwarf_bytes_number(entries, 1));
        break;
    case SIZE_BLOCK_2:
        sym_dwarf_bytes_skip(entries, sym_dwarf_bytes_number(entries, 2));
        break;
    case SIZE_BLOCK_4:
        sym_dwarf_bytes_skip(entries, sym_dwarf_bytes_number(entries, 4));
        break;
    case SIZE_UNKNOWN:
    case SIZE_INDIRECT:
        sym_dwarf_bytes_fail(entries);
        break;
    default:
        sym_dwarf_bytes_skip(entries, size);
        break;
    }
}

static void
skip_attributes(struct walk *walk, const struct abbreviation *abbreviation)
{
    sym_dwarf_bytes_skip(&walk->entries, abbreviation->fixed_bytes);
    for (uint32_t i = 0; i < abbreviation->form_count && !walk->entries.failed; i++) {
        skip_attribute(walk, walk->abbreviations->forms[abbreviation->first_form + i]);
    }
}

/* --- abbreviations --- */

/* Add an attribute to an abbreviation: to fixed_bytes while all have fixed sizes, else
 * to the forms. Returns false if memory or the budget ran out. */
static bool
add_form(struct sym_dwarf_abbreviations *abbreviations,
         struct abbreviation *abbreviation, uint64_t form)
{
    const unsigned int size = form_size(abbreviations, form);
    uint16_t *larger;

    if (abbreviation->form_count == 0 && size < SIZE_ADDRESS) {
        abbreviation->fixed_bytes += size;
        return true;
    }
    larger = sym_budget_grow(abbreviations->budget, abbreviations->forms,
                             abbreviations->form_count, &abbreviations->form_room,
                             sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    abbreviations->forms = larger;
    abbreviations->forms[abbreviations->form_count++] =
        form > UINT16_MAX ? UINT16_MAX : (uint16_t)form;
    abbreviation->form_count++;
    return true;
}

/* Read the attributes of an abbreviation, up to the pair (0, 0) or the damage. Returns
 * false if memory or the budget ran out. */
static bool
read_forms(struct sym_dwarf_abbreviations *abbreviations, struct sym_dwarf_bytes *table,
           struct abbreviation *abbreviation)
{
    uint64_t name = 1;
    uint64_t form = 1;

    abbreviation->first_form = (uint32_t)abbreviations->form_count;
    while (!table->failed && (name != 0 || form != 0)) {
        name = sym_dwarf_bytes_leb128(table);
        form = sym_dwarf_bytes_leb128(table);
        if (form == DW_FORM_implicit_const) {
            (void)sym_dwarf_bytes_leb128(table);
        }
        abbreviation->is_code |= abbreviation->tag == DW_TAG_subprogram &&
                                 (name == DW_AT_low_pc || name == DW_AT_ranges);
        if (!table->failed && (name != 0 || form != 0) &&
            !add_form(abbreviations, abbreviation, form)) {
            return false;
        }
    }
    return true;
}

static int
compare_codes(const void *left, const void *right)
{
    const struct abbreviation *const a = left;
    const struct abbreviation *const b = right;

    return (a->code > b->code) - (a->code < b->code);
}

/* Read all abbreviations up to the code 0 or the damage. Returns false if memory or the
 * budget ran out. */
static bool
read_table(struct sym_dwarf_abbreviations *abbreviations, struct sym_dwarf_bytes table)
{
    uint64_t last = 0;
    bool ordered = true;

    for (;;) {
        struct abbreviation abbreviation = {.code = sym_dwarf_bytes_leb128(&table)};
        const uint64_t tag = sym_dwarf_bytes_leb128(&table);
        struct abbreviation *larger;

        abbreviation.tag = tag > UINT16_MAX ? UINT16_MAX : (uint16_t)tag;
        abbreviation.has_children = sym_dwarf_bytes_number(&table, 1) != 0;
        if (abbreviation.code == 0 || table.failed) {
            break;
        }
        if (!read_forms(abbreviations, &table, &abbreviation)) {
            return false;
        }
        larger = sym_budget_grow(abbreviations->budget, abbreviations->items,
                                 abbreviations->count, &abbreviations->room,
                                 sizeof(*larger));
        if (larger == NULL) {
            return false;
        }
        abbreviations->items = larger;
        abbreviations->items[abbreviations->count++] = abbreviation;
        ordered = ordered && abbreviation.code > last;
        last = abbreviation.code;
    }
    if (!ordered) {
        qsort(abbreviations->items, abbreviations->count, sizeof(*abbreviations->items),
              compare_codes);
    }
    return true;
}

/* Find the bytes of the unit (unit_entries) and of its abbreviation table. Returns
 * false if the unit's header is damaged. */
static bool
find_tables(struct sym_dwarf_abbreviations *abbreviations, const Dwarf_Die *entry,
            struct sym_dwarf_bytes *table)
{
    const struct sym_dwarf_part info = sym_dwarf_image_part(entry->cu, SYM_DWARF_INFO);
    const struct sym_dwarf_part section =
        sym_dwarf_image_part(entry->cu, SYM_DWARF_ABBREV);
    const uint64_t at = (uint64_t)((unsigned char *)entry->addr - info.bytes);
    const uint64_t in_unit = dwarf_cuoffset((Dwarf_Die *)(uintptr_t)entry);
    struct sym_dwarf_bytes *const entries = &abbreviations->unit_entries;
    uint64_t length;
    Dwarf_Off offset;
    Dwarf_Die first;

    if (dwarf_cu_die(entry->cu, &first, &abbreviations->version, &offset,
                     &abbreviations->address_bytes, &abbreviations->offset_bytes, NULL,
                     NULL) == NULL ||
        at >= info.size || in_unit > at || offset >= section.size) {
        return false;
    }
    *entries = (struct sym_dwarf_bytes){.at = info.bytes + (at - in_unit),
                                        .end = info.bytes + info.size};
    length = sym_dwarf_bytes_number(entries, 4);
    length =
        abbreviations->offset_bytes == 8 ? sym_dwarf_bytes_number(entries, 8) : length;
    /* A truncated unit ends with the section. */
    if (length < sym_dwarf_bytes_left(entries)) {
        entries->end = entries->at + length;
    }
    abbreviations->unit = entry->cu;
    *table = (struct sym_dwarf_bytes){.at = section.bytes + offset,
                                      .end = section.bytes + section.size};
    return !entries->failed;
}

struct sym_dwarf_abbreviations *
sym_dwarf_abbreviations_read(const Dwarf_Die *entry, struct sym_budget *budget)
{
    struct sym_dwarf_abbreviations *const abbreviations =
        calloc(1, sizeof(*abbreviations));
    struct sym_dwarf_bytes table;

    if (abbreviations == NULL) {
        return NULL;
    }
    abbreviations->budget = budget;
    if (!find_tables(abbreviations, entry, &table) ||
        !read_table(abbreviations, table)) {
        sym_dwarf_abbreviations_free(abbreviations);
        return NULL;
    }
    return abbreviations;
}

void
sym_dwarf_abbreviations_free(struct sym_dwarf_abbreviations *abbreviations)
{
    if (abbreviations != NULL) {
        sym_budget_give(abbreviations->budget,
                        abbreviations->room * sizeof(*abbreviations->items) +
                            abbreviations->form_room * sizeof(*abbreviations->forms));
        free(abbreviations->items);
        free(abbreviations->forms);
        free(abbreviations);
    }
}

bool
sym_dwarf_abbreviations_have_code(const struct sym_dwarf_abbreviations *abbreviations)
{
    bool found = false;

    for (size_t i = 0; i < abbreviations->count && !found; i++) {
        found = abbreviations->items[i].is_code;
    }
    return found;
}

/* Return the abbreviation with a code, or NULL. */
static const struct abbreviation *
find_abbreviation(const struct sym_dwarf_abbreviations *abbreviations, uint64_t code)
{
    size_t at = (size_t)code - 1;

    /* Compilers number codes from 1 without gaps, so try the index before a search. */
    if (code > abbreviations->count || abbreviations->items[at].code != code) {
        at = sym_count_below(abbreviations->items, abbreviations->count,
                             sizeof(*abbreviations->items), code);
    }
    return at < abbreviations->count && abbreviations->items[at].code == code
               ? &abbreviations->items[at]
               : NULL;
}

/* --- entries --- */

/* Push the scope to go back to at the end of a parent's children. Returns false if
 * memory or the budget ran out. */
static bool
push_scope(struct walk *walk, uint32_t scope)
{
    uint32_t *const larger = sym_budget_grow(walk->abbreviations->budget, walk->scopes,
                                             walk->depth, &walk->room, sizeof(*larger));

    if (larger == NULL) {
        return false;
    }
    walk->scopes = larger;
    walk->scopes[walk->depth++] = scope;
    return true;
}

/* Walk from root, at which the cursor stands, to the end of its children. The arguments
 * and the result are those of sym_dwarf_walk. */
static bool
walk_entries(struct walk *walk, uint32_t scope, sym_dwarf_visit *visit, void *context)
{
    while (walk->entries.at < walk->entries.end) {
        Dwarf_Die entry = {.addr = (void *)(uintptr_t)walk->entries.at,
                           .cu = walk->abbreviations->unit};
        const uint64_t code = sym_dwarf_bytes_leb128(&walk->entries);
        const struct abbreviation *const abbreviation =
            code == 0 ? NULL : find_abbreviation(walk->abbreviations, code);
        uint32_t child_scope = scope;

        /* Code 0 ends the children of a parent; at depth 1, where no abbreviation is
         * found for it, those of root. */
        if (code == 0 && walk->depth > 1) {
            scope = walk->scopes[--walk->depth];
            continue;
        }
        if (abbreviation == NULL || walk->entries.failed) {
            return true;
        }
        /* Only root, which is not visited, is at depth 0. */
        if (walk->depth > 0 &&
            !visit(context, &entry, abbreviation->tag, scope, &child_scope)) {
            return false;
        }
        skip_attributes(walk, abbreviation);
        if (walk->entries.failed || (walk->depth == 0 && !abbreviation->has_children)) {
            return true;
        }
        if (abbreviation->has_children) {
            if (!push_scope(walk, scope)) {
                return false;
            }
            scope = child_scope;
        }
    }
    return true;
}

bool
sym_dwarf_walk(const struct sym_dwarf_abbreviations *abbreviations,
               const Dwarf_Die *root, uint32_t scope, sym_dwarf_visit *visit,
               void *context)
{
    const unsigned char *const at = root->addr;
    struct walk walk = {.abbreviations = abbreviations,
                        .entries = abbreviations->unit_entries};
    bool done;

    if (root->cu != abbreviations->unit || at < walk.entries.at ||
        at >= walk.entries.end) {
        return true;
    }
    walk.entries.at = at;
    done = walk_entries(&walk, scope, visit, context);
    sym_budget_give(abbreviations->budget, walk.room * sizeof(*walk.scopes));
    free(walk.scopes);
    return done;
}
