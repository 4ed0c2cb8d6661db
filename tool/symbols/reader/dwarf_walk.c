/* SPDX-License-Identifier: MIT */
/*
 * dwarf_walk.c - walks entries by their bytes, from the first to the last.
 *
 * libdw goes through the attributes of an entry twice to find the next one, and once at
 * each depth through all entries inside of one that does not say where its sibling is.
 * So what an abbreviation says of the length of its entries is kept here, and each is
 * passed once. Siblings that entries name are not believed: they stand behind each
 * other, and whatever a forged one says is passed once, too.
 */
#include "symbols/reader/dwarf_walk.h"

#include "symbols/border/table.h"
#include "symbols/reader/dwarf_bytes.h"
#include "symbols/reader/dwarf_image.h"

#include <dwarf.h>
#include <stdlib.h>

/* shape - what an abbreviation says of its entries. */
struct shape {
    uint64_t code;
    uint64_t bytes; /* of the attributes in front of the first of forms */
    uint32_t first; /* of forms, from the first attribute of unknown size on */
    uint32_t count;
    uint16_t tag;
    bool has_children;
    bool is_code; /* of a function, with a place of code */
};

struct sym_dwarf_shapes {
    struct sym_budget *budget;
    Dwarf_CU *unit;
    Dwarf_Half version;
    uint8_t address_bytes;
    uint8_t offset_bytes;
    struct sym_dwarf_bytes unit_bytes;
    struct shape *items; /* by code */
    size_t count;
    size_t room;
    uint16_t *forms;
    size_t form_count;
    size_t form_room;
};

struct walk {
    const struct sym_dwarf_shapes *shapes;
    struct sym_dwarf_bytes entries;
    uint32_t *around; /* of the entries whose children are walked */
    size_t depth;
    size_t room;
};

/* --- forms --- */

/* Sizes that the unit or an entry says itself. */
enum {
    SIZE_ADDRESS = 64, /* behind that of any number */
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

/* Of forms of no bytes; 0 is a form that is not known. */
enum { SIZE_NOTHING = SIZE_UNKNOWN + 1 };

/* How many bytes an attribute of a form has, or one of those. */
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

/* Its bytes, or one of those from SIZE_LEB128 on. */
static unsigned int
form_size(const struct sym_dwarf_shapes *shapes, uint64_t form)
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
        return shapes->address_bytes;
    case SIZE_OFFSET:
        return shapes->offset_bytes;
    case SIZE_REFERENCE:
        return shapes->version < 3 ? shapes->address_bytes : shapes->offset_bytes;
    default:
        return size;
    }
}

/* Passes an attribute. */
static void
pass_form(struct walk *walk, uint64_t form)
{
    struct sym_dwarf_bytes *const entries = &walk->entries;
    unsigned int size = form_size(walk->shapes, form);

    /* Each indirection takes a byte. */
    while (size == SIZE_INDIRECT && !entries->failed) {
        size = form_size(walk->shapes, sym_dwarf_bytes_leb128(entries));
    }
    switch (size) {
    case SIZE_LEB128:
        (void)sym_dwarf_bytes_leb128(entries);
        break;
    case SIZE_STRING:
        (void)sym_dwarf_bytes_string(entries);
        break;
    case SIZE_BLOCK:
        sym_dwarf_bytes_pass(entries, sym_dwarf_bytes_leb128(entries));
        break;
    case SIZE_BLOCK_1:
        sym_dwarf_bytes_pass(entries, sym_dwarf_bytes_number(entries, 1));
        break;
    case SIZE_BLOCK_2:
        sym_dwarf_bytes_pass(entries, sym_dwarf_bytes_number(entries, 2));
        break;
    case SIZE_BLOCK_4:
        sym_dwarf_bytes_pass(entries, sym_dwarf_bytes_number(entries, 4));
        break;
    case SIZE_UNKNOWN:
    case SIZE_INDIRECT:
        sym_dwarf_bytes_fail(entries);
        break;
    default:
        sym_dwarf_bytes_pass(entries, size);
        break;
    }
}

static void
pass_attributes(struct walk *walk, const struct shape *shape)
{
    sym_dwarf_bytes_pass(&walk->entries, shape->bytes);
    for (uint32_t i = 0; i < shape->count && !walk->entries.failed; i++) {
        pass_form(walk, walk->shapes->forms[shape->first + i]);
    }
}

/* --- abbreviations --- */

/* False: too much memory. */
static bool
add_form(struct sym_dwarf_shapes *shapes, struct shape *shape, uint64_t form)
{
    const unsigned int size = form_size(shapes, form);
    uint16_t *larger;

    if (shape->count == 0 && size < SIZE_ADDRESS) {
        shape->bytes += size;
        return true;
    }
    larger = sym_budget_grow(shapes->budget, shapes->forms, shapes->form_count,
                             &shapes->form_room, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    shapes->forms = larger;
    shapes->forms[shapes->form_count++] =
        form > UINT16_MAX ? UINT16_MAX : (uint16_t)form;
    shape->count++;
    return true;
}

/* The attributes of an abbreviation. False: too much memory. */
static bool
read_forms(struct sym_dwarf_shapes *shapes, struct sym_dwarf_bytes *table,
           struct shape *shape)
{
    uint64_t name = 1;
    uint64_t form = 1;

    shape->first = (uint32_t)shapes->form_count;
    while (!table->failed && (name != 0 || form != 0)) {
        name = sym_dwarf_bytes_leb128(table);
        form = sym_dwarf_bytes_leb128(table);
        if (form == DW_FORM_implicit_const) {
            (void)sym_dwarf_bytes_leb128(table);
        }
        shape->is_code |= shape->tag == DW_TAG_subprogram &&
                          (name == DW_AT_low_pc || name == DW_AT_ranges);
        if (!table->failed && (name != 0 || form != 0) &&
            !add_form(shapes, shape, form)) {
            return false;
        }
    }
    return true;
}

static int
compare_shapes(const void *left, const void *right)
{
    const struct shape *const a = left;
    const struct shape *const b = right;

    return (a->code > b->code) - (a->code < b->code);
}

/* What is damaged ends the table; what stands before is used. False: too much memory.
 */
static bool
read_table(struct sym_dwarf_shapes *shapes, struct sym_dwarf_bytes table)
{
    uint64_t last = 0;
    bool ordered = true;

    for (;;) {
        struct shape shape = {.code = sym_dwarf_bytes_leb128(&table)};
        const uint64_t tag = sym_dwarf_bytes_leb128(&table);
        struct shape *larger;

        shape.tag = tag > UINT16_MAX ? UINT16_MAX : (uint16_t)tag;
        shape.has_children = sym_dwarf_bytes_number(&table, 1) != 0;
        if (shape.code == 0 || table.failed) {
            break;
        }
        if (!read_forms(shapes, &table, &shape)) {
            return false;
        }
        larger = sym_budget_grow(shapes->budget, shapes->items, shapes->count,
                                 &shapes->room, sizeof(*larger));
        if (larger == NULL) {
            return false;
        }
        shapes->items = larger;
        shapes->items[shapes->count++] = shape;
        ordered = ordered && shape.code > last;
        last = shape.code;
    }
    if (!ordered) {
        qsort(shapes->items, shapes->count, sizeof(*shapes->items), compare_shapes);
    }
    return true;
}

/* The bytes of the unit, and its abbreviations. False: it makes no sense. */
static bool
find_bytes(struct sym_dwarf_shapes *shapes, const Dwarf_Die *entry,
           struct sym_dwarf_bytes *table)
{
    const struct sym_dwarf_part info = sym_dwarf_image_part(entry->cu, SYM_DWARF_INFO);
    const struct sym_dwarf_part abbreviations =
        sym_dwarf_image_part(entry->cu, SYM_DWARF_ABBREV);
    const uint64_t at = (uint64_t)((unsigned char *)entry->addr - info.bytes);
    const uint64_t inside = dwarf_cuoffset((Dwarf_Die *)(uintptr_t)entry);
    struct sym_dwarf_bytes *const bytes = &shapes->unit_bytes;
    uint64_t length;
    Dwarf_Off offset;
    Dwarf_Die first;

    if (dwarf_cu_die(entry->cu, &first, &shapes->version, &offset,
                     &shapes->address_bytes, &shapes->offset_bytes, NULL,
                     NULL) == NULL ||
        at >= info.size || inside > at || offset >= abbreviations.size) {
        return false;
    }
    *bytes = (struct sym_dwarf_bytes){.at = info.bytes + (at - inside),
                                      .end = info.bytes + info.size};
    length = sym_dwarf_bytes_number(bytes, 4);
    length = shapes->offset_bytes == 8 ? sym_dwarf_bytes_number(bytes, 8) : length;
    /* A unit that is cut off ends with the section. */
    if (length < sym_dwarf_bytes_left(bytes)) {
        bytes->end = bytes->at + length;
    }
    shapes->unit = entry->cu;
    *table = (struct sym_dwarf_bytes){.at = abbreviations.bytes + offset,
                                      .end = abbreviations.bytes + abbreviations.size};
    return !bytes->failed;
}

struct sym_dwarf_shapes *
sym_dwarf_shapes_read(const Dwarf_Die *entry, struct sym_budget *budget)
{
    struct sym_dwarf_shapes *const shapes = calloc(1, sizeof(*shapes));
    struct sym_dwarf_bytes table;

    if (shapes == NULL) {
        return NULL;
    }
    shapes->budget = budget;
    if (!find_bytes(shapes, entry, &table) || !read_table(shapes, table)) {
        sym_dwarf_shapes_free(shapes);
        return NULL;
    }
    return shapes;
}

void
sym_dwarf_shapes_free(struct sym_dwarf_shapes *shapes)
{
    if (shapes != NULL) {
        sym_budget_give(shapes->budget, shapes->room * sizeof(*shapes->items) +
                                            shapes->form_room * sizeof(*shapes->forms));
        free(shapes->items);
        free(shapes->forms);
        free(shapes);
    }
}

bool
sym_dwarf_shapes_have_code(const struct sym_dwarf_shapes *shapes)
{
    bool found = false;

    for (size_t i = 0; i < shapes->count && !found; i++) {
        found = shapes->items[i].is_code;
    }
    return found;
}

/* NULL: there is none. */
static const struct shape *
find_shape(const struct sym_dwarf_shapes *shapes, uint64_t code)
{
    size_t at = (size_t)code - 1;

    /* Compilers count from 1. */
    if (code > shapes->count || shapes->items[at].code != code) {
        at =
            sym_count_below(shapes->items, shapes->count, sizeof(*shapes->items), code);
    }
    return at < shapes->count && shapes->items[at].code == code ? &shapes->items[at]
                                                                : NULL;
}

/* --- entries --- */

/* Goes into an entry. False: too much memory. */
static bool
enter(struct walk *walk, uint32_t around)
{
    uint32_t *const larger = sym_budget_grow(walk->shapes->budget, walk->around,
                                             walk->depth, &walk->room, sizeof(*larger));

    if (larger == NULL) {
        return false;
    }
    walk->around = larger;
    walk->around[walk->depth++] = around;
    return true;
}

/* From root on. False: visit ended it, or too much memory. */
static bool
walk_entries(struct walk *walk, uint32_t around, sym_dwarf_visit *visit, void *context)
{
    while (walk->entries.at < walk->entries.end) {
        Dwarf_Die entry = {.addr = (void *)(uintptr_t)walk->entries.at,
                           .cu = walk->shapes->unit};
        const uint64_t code = sym_dwarf_bytes_leb128(&walk->entries);
        const struct shape *const shape =
            code == 0 ? NULL : find_shape(walk->shapes, code);
        uint32_t inside = around;

        if (code == 0 && walk->depth > 1) {
            around = walk->around[--walk->depth];
            continue;
        }
        if (shape == NULL || walk->entries.failed) {
            return true;
        }
        /* The first one is root. */
        if (walk->depth > 0 && !visit(context, &entry, shape->tag, around, &inside)) {
            return false;
        }
        pass_attributes(walk, shape);
        if (walk->entries.failed || (walk->depth == 0 && !shape->has_children)) {
            return true;
        }
        if (shape->has_children) {
            if (!enter(walk, around)) {
                return false;
            }
            around = inside;
        }
    }
    return true;
}

bool
sym_dwarf_walk(const struct sym_dwarf_shapes *shapes, const Dwarf_Die *root,
               uint32_t around, sym_dwarf_visit *visit, void *context)
{
    const unsigned char *const at = root->addr;
    struct walk walk = {.shapes = shapes, .entries = shapes->unit_bytes};
    bool done;

    if (root->cu != shapes->unit || at < walk.entries.at || at >= walk.entries.end) {
        return true;
    }
    walk.entries.at = at;
    done = walk_entries(&walk, around, visit, context);
    sym_budget_give(shapes->budget, walk.room * sizeof(*walk.around));
    free(walk.around);
    return done;
}
