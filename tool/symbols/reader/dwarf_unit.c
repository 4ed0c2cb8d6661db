/* SPDX-License-Identifier: MIT */
/*
 * dwarf_unit.c - functions, inlined calls and rows of one unit, by libdw.
 *
 * A unit's entries are walked once, in their order in the file, and nothing recurses:
 * libdw's own search for scopes would walk them anew for each address. Of scopes that
 * overlap the one that comes last is the innermost, since children come after their
 * parents.
 */
#include "symbols/reader/dwarf_unit.h"

#include "symbols/client/image.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* dwarf.h of elfutils 0.188 does not know it. */
#define GNU_DISCRIMINATOR 0x2136

uint64_t
sym_dwarf_number(Dwarf_Die *entry, unsigned int attribute)
{
    Dwarf_Attribute found;
    Dwarf_Word number;

    return dwarf_attr(entry, attribute, &found) != NULL &&
                   dwarf_formudata(&found, &number) == 0
               ? number
               : 0;
}

/* Nobody reads more of a name or a path. */
#define TEXT_BYTES_MAX (UINT32_C(1) << 16)

const char *
sym_dwarf_text(Dwarf_Attribute *attribute)
{
    const char *const text = dwarf_formstring(attribute);

    return text == NULL || strnlen(text, TEXT_BYTES_MAX) == TEXT_BYTES_MAX ? NULL
                                                                           : text;
}

static uint32_t
small_number(Dwarf_Die *entry, unsigned int attribute)
{
    const uint64_t number = sym_dwarf_number(entry, attribute);

    return number > INT32_MAX ? 0 : (uint32_t)number;
}

bool
sym_dwarf_add_ranges(Dwarf_Die *entry, uint32_t tag, struct sym_table *table)
{
    struct sym_entry place = {.name = "code", .tag = tag, .sized = true};
    Dwarf_Addr base;
    ptrdiff_t at = 0;

    /* What is damaged ends a list; what stands before is used. */
    while ((at = dwarf_ranges(entry, at, &base, &place.start, &place.end)) > 0) {
        if (place.start != 0 && !sym_table_add(table, &place)) {
            return false;
        }
    }
    return true;
}

/* --- scopes --- */

/* around - an entry whose children are walked, and the scope that they are in. */
struct around {
    Dwarf_Die entry;
    uint32_t scope;
};

struct walk {
    struct sym_dwarf_unit *unit;
    struct sym_budget *budget;
    struct around *open;
    size_t depth;
    size_t room;
    uint32_t scope; /* around the next entry */
};

/* Can code stand below an entry of this kind? */
static bool
holds_code(int tag)
{
    switch (tag) {
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

/* A scope if the entry is one and has code. False: too much memory. */
static bool
add_scope(struct walk *walk, Dwarf_Die *entry, int tag, uint32_t *inside)
{
    struct sym_dwarf_unit *const unit = walk->unit;
    const size_t ranges = unit->places.entry_count;
    struct sym_dwarf_scope *larger;

    *inside = walk->scope;
    if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) {
        return true;
    }
    if (!sym_dwarf_add_ranges(entry, (uint32_t)unit->scope_count, &unit->places)) {
        return false;
    }
    if (unit->places.entry_count == ranges) {
        return true;
    }
    larger = sym_budget_grow(walk->budget, unit->scopes, unit->scope_count,
                             &unit->scope_room, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    unit->scopes = larger;
    *inside = (uint32_t)unit->scope_count++;
    unit->scopes[*inside] = (struct sym_dwarf_scope){
        .entry = *entry,
        .parent = tag == DW_TAG_inlined_subroutine ? walk->scope : SYM_DWARF_NO_SCOPE,
        .call_file = small_number(entry, DW_AT_call_file),
        .call_line = small_number(entry, DW_AT_call_line),
        .call_discriminator = small_number(entry, GNU_DISCRIMINATOR),
    };
    return true;
}

static bool
push(struct walk *walk, const Dwarf_Die *entry, uint32_t inside)
{
    struct around *const larger = sym_budget_grow(walk->budget, walk->open, walk->depth,
                                                  &walk->room, sizeof(*larger));

    if (larger == NULL) {
        return false;
    }
    walk->open = larger;
    walk->open[walk->depth++] = (struct around){*entry, walk->scope};
    walk->scope = inside;
    return true;
}

/* Goes to the next entry that is no child. False: that was the last one. */
static bool
pass(struct walk *walk, Dwarf_Die *entry)
{
    while (dwarf_siblingof(entry, entry) != 0) {
        if (walk->depth == 0) {
            return false;
        }
        walk->depth--;
        *entry = walk->open[walk->depth].entry;
        walk->scope = walk->open[walk->depth].scope;
    }
    return true;
}

/* False: too much memory. */
static bool
walk_entries(struct walk *walk)
{
    Dwarf_Die entry;
    bool more = dwarf_child(&walk->unit->functions, &entry) == 0;

    while (more) {
        const int tag = dwarf_tag(&entry);
        Dwarf_Die child;
        uint32_t inside;

        if (!add_scope(walk, &entry, tag, &inside)) {
            return false;
        }
        if (!holds_code(tag) || dwarf_child(&entry, &child) != 0) {
            more = pass(walk, &entry);
        } else if (push(walk, &entry, inside)) {
            entry = child;
        } else {
            return false;
        }
    }
    return true;
}

static void
read_scopes(struct sym_dwarf_unit *unit, struct sym_budget *budget)
{
    struct walk walk = {.unit = unit, .budget = budget, .scope = SYM_DWARF_NO_SCOPE};

    unit->places.budget = budget;
    if (!walk_entries(&walk) || !sym_table_build(&unit->places, SYM_OVERLAP_LATEST)) {
        sym_table_finish(&unit->places);
    }
    free(walk.open);
    sym_budget_give(budget, walk.room * sizeof(*walk.open));
}

struct sym_dwarf_scope *
sym_dwarf_find_scope(struct sym_dwarf_unit *unit, uint64_t address,
                     struct sym_budget *budget)
{
    const struct sym_range *range;

    if (!unit->scopes_sought) {
        unit->scopes_sought = true;
        read_scopes(unit, budget);
    }
    range = sym_table_find(&unit->places, address);
    return range == NULL ? NULL : &unit->scopes[range->tag];
}

/* A string of an entry or of what it is a copy or the definition of; NULL: none. */
static const char *
string_of(Dwarf_Die *entry, unsigned int attribute)
{
    Dwarf_Attribute found;

    return sym_dwarf_text(dwarf_attr_integrate(entry, attribute, &found));
}

void
sym_dwarf_name_scope(struct sym_dwarf_scope *scope)
{
    int line;

    if (scope->name != NULL) {
        return;
    }
    scope->name = string_of(&scope->entry, DW_AT_name);
    scope->system_name = string_of(&scope->entry, DW_AT_linkage_name);
    if (scope->system_name == NULL) {
        scope->system_name = string_of(&scope->entry, DW_AT_MIPS_linkage_name);
    }
    if (dwarf_decl_line(&scope->entry, &line) == 0 && line > 0) {
        scope->start_line = (uint32_t)line;
    }
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

/* --- rows --- */

/* What libdw takes for a row while it reads a table, and what it keeps. Real tables
 * have two bytes or more for a row. */
enum { ROW_BYTES_READING = 112, ROW_BYTES_KEPT = 48, TABLE_BYTES_PER_ROW = 2 };

/* Of the unit's line table, as its header says. */
static uint64_t
table_bytes(struct sym_dwarf_unit *unit, const struct sym_dwarf_part *section)
{
    const uint64_t at = sym_dwarf_number(&unit->root, DW_AT_stmt_list);
    uint32_t length;
    uint64_t left;

    if (section->size < sizeof(length) || at > section->size - sizeof(length)) {
        return 0;
    }
    memcpy(&length, section->bytes + at, sizeof(length));
    left = section->size - at;
    /* Of 64 bits: as if it had all that follows. */
    return length < left ? length : left;
}

bool
sym_dwarf_read_lines(struct sym_dwarf_unit *unit, const struct sym_dwarf_image *image)
{
    struct sym_budget *const budget = image->budget;
    uint64_t reading;

    if (unit->lines_sought) {
        return !unit->lines_refused;
    }
    unit->lines_sought = true;
    reading = table_bytes(unit, &image->parts[SYM_DWARF_LINE]) / TABLE_BYTES_PER_ROW *
              ROW_BYTES_READING;
    if (!sym_budget_take(budget, reading)) {
        unit->lines_refused = true;
        return false;
    }
    if (dwarf_getsrclines(&unit->root, &unit->lines, &unit->line_count) != 0) {
        unit->line_count = 0;
    }
    if (dwarf_getsrcfiles(&unit->root, &unit->files, &unit->file_count) != 0) {
        unit->file_count = 0;
    }
    sym_budget_give(budget, reading);
    unit->lines_refused =
        !sym_budget_take(budget, (uint64_t)unit->line_count * ROW_BYTES_KEPT);
    return !unit->lines_refused;
}

Dwarf_Line *
sym_dwarf_row(const struct sym_dwarf_unit *unit, size_t index, uint64_t *address,
              bool *end)
{
    Dwarf_Line *const row =
        index < unit->line_count ? dwarf_onesrcline(unit->lines, index) : NULL;

    return row != NULL && dwarf_lineaddr(row, address) == 0 &&
                   dwarf_lineendsequence(row, end) == 0
               ? row
               : NULL;
}

size_t
sym_dwarf_rows_until(const struct sym_dwarf_unit *unit, uint64_t address)
{
    size_t low = 0;
    size_t high = unit->line_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        uint64_t begin = UINT64_MAX;
        bool end;

        (void)sym_dwarf_row(unit, middle, &begin, &end);
        if (begin <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* libdw joins a file with its folder, but that not with the compilation's. */
static char *
make_path(struct sym_dwarf_unit *unit, const char *path)
{
    Dwarf_Attribute found;
    const char *const folder =
        sym_dwarf_text(dwarf_attr(&unit->root, DW_AT_comp_dir, &found));
    char *joined = NULL;

    if (strnlen(path, TEXT_BYTES_MAX) == TEXT_BYTES_MAX) {
        return NULL;
    }
    if (path[0] == '/' || folder == NULL || folder[0] != '/') {
        return strdup(path);
    }
    return asprintf(&joined, "%s%s%s", folder,
                    folder[strlen(folder) - 1] == '/' ? "" : "/", path) < 0
               ? NULL
               : joined;
}

const char *
sym_dwarf_file(struct sym_dwarf_unit *unit, size_t number)
{
    const char *path;

    if (unit->paths == NULL) {
        unit->paths = calloc(unit->file_count + 1, sizeof(*unit->paths));
    }
    if (unit->paths == NULL || number >= unit->file_count) {
        return "";
    }
    if (unit->paths[number] == NULL) {
        path = dwarf_filesrc(unit->files, number, NULL, NULL);
        unit->paths[number] = path == NULL ? NULL : make_path(unit, path);
    }
    return unit->paths[number] == NULL ? "" : unit->paths[number];
}

const char *
sym_dwarf_row_file(struct sym_dwarf_unit *unit, Dwarf_Line *row)
{
    Dwarf_Files *files;
    size_t number;

    return dwarf_line_file(row, &files, &number) == 0 ? sym_dwarf_file(unit, number)
                                                      : "";
}

void
sym_dwarf_unit_finish(struct sym_dwarf_unit *unit)
{
    for (size_t i = 0; i < unit->scope_count; i++) {
        free(unit->scopes[i].owned);
    }
    free(unit->scopes);
    for (size_t i = 0; unit->paths != NULL && i < unit->file_count; i++) {
        free(unit->paths[i]);
    }
    free(unit->paths);
    sym_table_finish(&unit->places);
    if (unit->split != NULL) {
        sym_dwarf_image_finish(unit->split);
        free(unit->split);
    }
}
