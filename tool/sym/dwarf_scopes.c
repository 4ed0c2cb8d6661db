/* SPDX-License-Identifier: MIT */
/*
 * dwarf_scopes.c - the functions of a unit and what was inlined into them.
 *
 * A unit's entries are walked once, in their order in the file: no tree is made and
 * nothing recurses. Of scopes that overlap the one that comes last is the innermost,
 * since children come after their parents.
 */
#include "sym/dwarf_reader.h"

#include "sym/dwarf_constants.h"
#include "sym/sym.h"

#include <stdlib.h>

/* A name is sought through so many references: declaration, definition, inlined copy
 * and spare ones. */
#define REFERENCES_MAX 16

/* walk - the way through a unit's entries. */
struct walk {
    struct sym_dwarf_unit *unit;
    struct sym_dwarf_scopes *scopes;
    uint32_t *parents; /* scope around the children of each open entry */
    size_t depth;
    size_t room;
    uint32_t scope; /* around the next entry */
    uint32_t added; /* the scope whose ranges are read */
    bool no_memory;
};

static bool
push_parent(struct walk *walk)
{
    uint32_t *const larger =
        sym_budget_grow(walk->unit->dwarf->sections.budget, walk->parents, walk->depth,
                        &walk->room, sizeof(*larger));

    if (larger == NULL) {
        walk->no_memory = true;
        return false;
    }
    walk->parents = larger;
    walk->parents[walk->depth++] = walk->scope;
    return true;
}

static uint32_t
clamp_number(const struct sym_dwarf_value *value)
{
    return value->number > INT32_MAX ? 0 : (uint32_t)value->number;
}

static bool
append_scope(struct walk *walk, const struct sym_dwarf_entry *entry)
{
    struct sym_dwarf_scopes *const scopes = walk->scopes;
    struct sym_dwarf_scope *const larger =
        sym_budget_grow(walk->unit->dwarf->sections.budget, scopes->items,
                        scopes->count, &scopes->room, sizeof(*larger));

    if (larger == NULL) {
        walk->no_memory = true;
        return false;
    }
    scopes->items = larger;
    scopes->items[scopes->count] = (struct sym_dwarf_scope){
        .entry = entry->offset,
        .parent =
            entry->tag == DW_TAG_inlined_subroutine ? walk->scope : SYM_DWARF_NO_SCOPE,
        .call_file = clamp_number(&entry->call_file),
        .call_line = clamp_number(&entry->call_line),
        .call_discriminator = clamp_number(&entry->discriminator),
    };
    walk->added = (uint32_t)scopes->count++;
    return true;
}

static bool
add_range(void *context, uint64_t start, uint64_t end)
{
    struct walk *walk = context;
    const struct sym_entry entry = {
        .start = start, .end = end, .name = "scope", .tag = walk->added, .sized = true};

    if (start != 0 && !sym_table_add(&walk->scopes->places, &entry)) {
        walk->no_memory = true;
        return false;
    }
    return true;
}

static bool
has_code(const struct sym_dwarf_entry *entry)
{
    return (entry->tag == DW_TAG_subprogram ||
            entry->tag == DW_TAG_inlined_subroutine) &&
           (entry->ranges.form != 0 || entry->high_pc.form != 0);
}

/* Can code stand below an entry of this kind? */
static bool
holds_code(uint32_t tag)
{
    switch (tag) {
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_skeleton_unit:
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        return true;
    default:
        return false;
    }
}

/* Goes over the children of an entry by its sibling. False if it does not tell one
 * behind it. */
static bool
skip_children(struct walk *walk, const struct sym_dwarf_entry *entry,
              struct sym_dwarf_cursor *cursor)
{
    const unsigned char *info = walk->unit->dwarf->sections.items[SYM_DWARF_INFO].bytes;
    uint64_t offset;

    if (holds_code(entry->tag) ||
        sym_dwarf_reference(walk->unit, &entry->sibling, &offset) != walk->unit ||
        offset <= (uint64_t)(cursor->at - info)) {
        return false;
    }
    cursor->at = info + offset;
    return true;
}

/* Takes an entry that is no end of children. False ends the walk. */
static bool
take_entry(struct walk *walk, const struct sym_dwarf_entry *entry,
           struct sym_dwarf_cursor *cursor)
{
    uint32_t inside = walk->scope;

    if (has_code(entry)) {
        if (!append_scope(walk, entry)) {
            return false;
        }
        /* Damaged ranges cost the scope its places, no more. */
        (void)sym_dwarf_ranges(walk->unit, entry, add_range, walk);
        inside = walk->added;
    }
    if (entry->children && !skip_children(walk, entry, cursor)) {
        if (!push_parent(walk)) {
            return false;
        }
        walk->scope = inside;
    }
    return !walk->no_memory;
}

static void
walk_entries(struct walk *walk)
{
    struct sym_dwarf_cursor cursor =
        sym_dwarf_unit_cursor(walk->unit, walk->unit->first);
    struct sym_dwarf_entry entry;

    while (sym_dwarf_next_entry(walk->unit, &cursor, &entry)) {
        if (entry.tag != 0) {
            if (!take_entry(walk, &entry, &cursor)) {
                return;
            }
        } else if (walk->depth > 0) {
            walk->scope = walk->parents[--walk->depth];
        }
        if (walk->depth == 0) {
            return;
        }
    }
}

static struct sym_dwarf_scopes *
read_scopes(struct sym_dwarf_unit *unit)
{
    struct sym_dwarf_scopes *scopes = calloc(1, sizeof(*scopes));
    struct walk walk = {.unit = unit, .scopes = scopes, .scope = SYM_DWARF_NO_SCOPE};

    if (scopes == NULL) {
        return NULL;
    }
    scopes->places.budget = unit->dwarf->sections.budget;
    walk_entries(&walk);
    free(walk.parents);
    sym_budget_give(unit->dwarf->sections.budget, walk.room * sizeof(*walk.parents));
    if (walk.no_memory || !sym_table_build(&scopes->places, SYM_OVERLAP_LATEST)) {
        sym_table_finish(&scopes->places); /* and is not tried again at each address */
    }
    return scopes;
}

void
sym_dwarf_scopes_delete(struct sym_dwarf_scopes *scopes)
{
    if (scopes == NULL) {
        return;
    }
    for (size_t i = 0; i < scopes->count; i++) {
        free(scopes->items[i].owned);
    }
    free(scopes->items);
    sym_table_finish(&scopes->places);
    free(scopes);
}

struct sym_dwarf_scope *
sym_dwarf_find_scope(struct sym_dwarf_unit *unit, uint64_t address)
{
    const struct sym_range *range;

    if (unit->scopes == NULL) {
        unit->scopes = read_scopes(unit);
    }
    range =
        unit->scopes == NULL ? NULL : sym_table_find(&unit->scopes->places, address);
    return range == NULL ? NULL : &unit->scopes->items[range->tag];
}

/* --- names --- */

/* Adds what an entry tells to what is known. */
static void
take_names(const struct sym_dwarf_unit *unit, const struct sym_dwarf_entry *entry,
           struct sym_dwarf_scope *scope)
{
    if (scope->name == NULL) {
        scope->name = sym_dwarf_string(unit, &entry->name);
    }
    if (scope->system_name == NULL) {
        scope->system_name = sym_dwarf_string(unit, &entry->linkage_name);
    }
    if (scope->start_line == 0) {
        scope->start_line = clamp_number(&entry->decl_line);
    }
}

/* The definition may tell a line and the declaration another: the first found counts.
 */
static void
seek_names(struct sym_dwarf_unit *unit, struct sym_dwarf_scope *scope)
{
    uint64_t offset = scope->entry;

    for (int i = 0; i < REFERENCES_MAX && unit != NULL; i++) {
        struct sym_dwarf_cursor cursor = sym_dwarf_unit_cursor(unit, offset);
        struct sym_dwarf_entry entry;
        struct sym_dwarf_entry root;

        if (!unit->root_read && !sym_dwarf_root(unit, &root)) {
            return;
        }
        if (!sym_dwarf_next_entry(unit, &cursor, &entry) || entry.tag == 0) {
            return;
        }
        take_names(unit, &entry, scope);
        unit = sym_dwarf_reference(unit, &entry.origin, &offset);
    }
}

void
sym_dwarf_name_scope(struct sym_dwarf_unit *unit, struct sym_dwarf_scope *scope)
{
    if (scope->name != NULL) {
        return;
    }
    seek_names(unit, scope);
    if (scope->system_name == NULL || scope->system_name[0] == '\0') {
        scope->system_name = scope->name != NULL ? scope->name : "";
    } else {
        scope->owned = sym_demangle(scope->system_name);
    }
    if (scope->owned != NULL) {
        scope->name = scope->owned;
    } else if (scope->name == NULL) {
        scope->name = scope->system_name;
    }
}
