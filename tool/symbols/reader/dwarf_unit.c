/* SPDX-License-Identifier: MIT */
/*
 * dwarf_unit.c - functions, inlined calls and files of one unit.
 *
 * A unit's entries are walked once for its functions, in their order in the file, and
 * those of a function that an address is in once more for what was inlined into it and
 * into the functions nested in it. Nothing recurses: libdw's own search for scopes
 * would walk all of them anew for each address. Of scopes that overlap the one that
 * comes last is the innermost, since children come after their parents.
 */
#include "symbols/reader/dwarf_unit.h"

#include "base/path.h"
#include "symbols/border/demangle.h"
#include "symbols/reader/dwarf_sequences.h"

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
sym_dwarf_is_code(const struct sym_elf_code *code, uint64_t address)
{
    return code == NULL || code->count == 0 ? address != 0
                                            : sym_elf_code_holds(code, address);
}

bool
sym_dwarf_add_ranges(Dwarf_Die *entry, const struct sym_elf_code *code, uint32_t tag,
                     struct sym_table *table, bool *any)
{
    struct sym_entry place = {.name = "code", .tag = tag, .sized = true};
    Dwarf_Addr base;
    ptrdiff_t at = 0;

    *any = false;
    /* What is damaged ends a list; what stands before is used. */
    while ((at = dwarf_ranges(entry, at, &base, &place.start, &place.end)) > 0) {
        *any = true;
        if (sym_dwarf_is_code(code, place.start) && !sym_table_add(table, &place)) {
            return false;
        }
    }
    return true;
}

/* --- scopes --- */

/* scopes_walk - what a visit adds scopes to. */
struct scopes_walk {
    struct sym_dwarf_unit *unit;
    struct sym_budget *budget;
    struct sym_table *places;
    uint32_t next; /* of what was inlined: the next function in the unit's scopes */
};

/* What is below is of another function, or of one that the linker threw away: what was
 * inlined there is gone with it, wherever its addresses seem to be. */
#define GONE (UINT32_MAX - 1)

/* Adds a scope if the entry has code. False: too much memory. */
static bool
add_scope(struct scopes_walk *walk, Dwarf_Die *entry, uint32_t parent, uint32_t *inside)
{
    struct sym_dwarf_unit *const unit = walk->unit;
    const size_t ranges = walk->places->entry_count;
    struct sym_dwarf_scope *larger;
    bool any;

    if (!sym_dwarf_add_ranges(entry, unit->code, (uint32_t)unit->scope_count,
                              walk->places, &any)) {
        return false;
    }
    if (walk->places->entry_count == ranges) {
        *inside = any ? GONE : *inside;
        return true;
    }
    larger = sym_budget_grow(walk->budget, unit->scopes, unit->scope_count,
                             &unit->scope_room, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    unit->scopes = larger;
    *inside = (uint32_t)unit->scope_count++;
    unit->scopes[*inside] = (struct sym_dwarf_scope){.entry = *entry, .parent = parent};
    return true;
}

/* Each entry that has children may have functions: compilers put them into the types
 * that they are local to, of whatever kind. */
static bool
add_function(void *context, Dwarf_Die *entry, int tag, uint32_t around,
             uint32_t *inside)
{
    struct scopes_walk *const walk = context;
    struct sym_dwarf_unit *const unit = walk->unit;

    if (tag != DW_TAG_subprogram) {
        return true;
    }
    if (!add_scope(walk, entry, SYM_DWARF_NO_SCOPE, inside)) {
        return false;
    }
    if (*inside == GONE) {
        *inside = around;
    } else if (*inside != around) {
        unit->scopes[*inside].outermost =
            around == SYM_DWARF_NO_SCOPE ? *inside : unit->scopes[around].outermost;
    }
    return true;
}

/* Functions come in the order in which they were added. */
static bool
add_inlined(void *context, Dwarf_Die *entry, int tag, uint32_t around, uint32_t *inside)
{
    struct scopes_walk *const walk = context;
    const struct sym_dwarf_unit *const unit = walk->unit;

    if (tag == DW_TAG_subprogram) {
        *inside = walk->next < unit->scope_count &&
                          unit->scopes[walk->next].entry.addr == entry->addr
                      ? walk->next++
                      : GONE;
    }
    return tag != DW_TAG_inlined_subroutine || around == GONE ||
           add_scope(walk, entry, around, inside);
}

const struct sym_dwarf_shapes *
sym_dwarf_unit_shapes(struct sym_dwarf_unit *unit, struct sym_budget *budget)
{
    /* A skeleton's other half may have been found since. */
    if (unit->shapes_of != unit->functions.cu) {
        sym_dwarf_shapes_free(unit->shapes);
        unit->shapes = sym_dwarf_shapes_read(&unit->functions, budget);
        unit->shapes_of = unit->functions.cu;
    }
    return unit->shapes;
}

static void
read_functions(struct sym_dwarf_unit *unit, struct sym_budget *budget)
{
    const struct sym_dwarf_shapes *const shapes = sym_dwarf_unit_shapes(unit, budget);
    struct scopes_walk walk = {.unit = unit, .budget = budget, .places = &unit->places};

    unit->places.budget = budget;
    if (shapes == NULL ||
        !sym_dwarf_walk(shapes, &unit->functions, SYM_DWARF_NO_SCOPE, add_function,
                        &walk) ||
        !sym_table_build(&unit->places, SYM_OVERLAP_LATEST)) {
        sym_table_finish(&unit->places);
    }
}

/* What was inlined into the outermost function of a number, and into those nested in
 * it; NULL: nothing, or too much memory. */
static const struct sym_table *
read_inlined(struct sym_dwarf_unit *unit, uint32_t function, struct sym_budget *budget)
{
    const Dwarf_Die entry = unit->scopes[function].entry;
    struct sym_table places = {.budget = budget};
    struct scopes_walk walk = {
        .unit = unit, .budget = budget, .places = &places, .next = function + 1};
    struct sym_table *kept = NULL;

    if (unit->scopes[function].inlined_sought) {
        return unit->scopes[function].inlined;
    }
    if (sym_dwarf_walk(unit->shapes, &entry, function, add_inlined, &walk) &&
        places.entry_count > 0 && sym_table_build(&places, SYM_OVERLAP_LATEST)) {
        kept = malloc(sizeof(*kept));
    }
    if (kept != NULL) {
        *kept = places;
    } else {
        sym_table_finish(&places);
    }
    unit->scopes[function].inlined_sought = true;
    unit->scopes[function].inlined = kept;
    return kept;
}

struct sym_dwarf_scope *
sym_dwarf_find_scope(struct sym_dwarf_unit *unit, uint64_t address,
                     struct sym_budget *budget)
{
    const struct sym_range *range;
    const struct sym_table *inlined;
    uint32_t function;

    if (!unit->scopes_sought) {
        unit->scopes_sought = true;
        read_functions(unit, budget);
    }
    range = sym_table_find(&unit->places, address);
    if (range == NULL) {
        return NULL;
    }
    function = range->tag;
    inlined = read_inlined(unit, unit->scopes[function].outermost, budget);
    range = inlined == NULL ? NULL : sym_table_find(inlined, address);
    return &unit->scopes[range == NULL ? function : range->tag];
}

/* A string of an entry or of what it is a copy or the definition of; NULL: none. */
static const char *
string_of(Dwarf_Die *entry, unsigned int attribute)
{
    Dwarf_Attribute found;

    return sym_dwarf_text(dwarf_attr_integrate(entry, attribute, &found));
}

/* The entry that has the number may be of another unit, whose files are numbered in
 * another way. */
void
sym_dwarf_place_scope(struct sym_dwarf_scope *scope, Dwarf_Die *entry)
{
    Dwarf_Attribute found;
    Dwarf_Word number;
    int line;

    if (dwarf_decl_line(entry, &line) == 0 && line > 0) {
        scope->start_line = (uint32_t)line;
    }
    if (dwarf_attr_integrate(entry, DW_AT_decl_file, &found) != NULL &&
        dwarf_formudata(&found, &number) == 0 && number <= INT32_MAX) {
        scope->definer = found.cu;
        scope->definition = (uint32_t)number;
    }
}

void
sym_dwarf_name_scope(struct sym_dwarf_scope *scope)
{
    if (scope->name != NULL) {
        return;
    }
    scope->call_file = small_number(&scope->entry, DW_AT_call_file);
    scope->call_line = small_number(&scope->entry, DW_AT_call_line);
    scope->call_discriminator = small_number(&scope->entry, GNU_DISCRIMINATOR);
    scope->name = string_of(&scope->entry, DW_AT_name);
    scope->system_name = string_of(&scope->entry, DW_AT_linkage_name);
    if (scope->system_name == NULL) {
        scope->system_name = string_of(&scope->entry, DW_AT_MIPS_linkage_name);
    }
    sym_dwarf_place_scope(scope, &scope->entry);
    scope->bare = scope->system_name == NULL && scope->name != NULL;
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

bool
sym_dwarf_read_files(struct sym_dwarf_unit *unit, const struct sym_dwarf_image *image)
{
    Dwarf_Attribute folder;

    if (!unit->files_sought) {
        unit->files_sought = true;
        unit->files_refused = !sym_dwarf_files_read(
            &unit->files, image, sym_dwarf_number(&unit->root, DW_AT_stmt_list),
            sym_dwarf_text(dwarf_attr(&unit->root, DW_AT_comp_dir, &folder)),
            image->budget);
    }
    return !unit->files_refused;
}

bool
sym_dwarf_read_lines(struct sym_dwarf_unit *unit, const struct sym_dwarf_image *image)
{
    if (!unit->lines_sought) {
        unit->lines_sought = true;
        unit->lines_refused =
            !sym_dwarf_read_files(unit, image) ||
            !sym_dwarf_rows_read(&unit->rows, &image->parts[SYM_DWARF_LINE],
                                 sym_dwarf_number(&unit->root, DW_AT_stmt_list),
                                 unit->code, &unit->files, image->budget);
    }
    return !unit->lines_refused;
}

size_t
sym_dwarf_rows_until(const struct sym_dwarf_unit *unit, uint64_t address)
{
    return address == UINT64_MAX
               ? unit->rows.count
               : sym_count_below(unit->rows.items, unit->rows.count,
                                 sizeof(*unit->rows.items), address + 1);
}

/* In its folder, which may be in that of the compilation. NULL: out of memory, or
 * nobody reads such a path. */
static char *
make_path(struct sym_dwarf_unit *unit, const struct sym_dwarf_file_name *file)
{
    Dwarf_Attribute found;
    const char *const base =
        sym_dwarf_text(dwarf_attr(&unit->root, DW_AT_comp_dir, &found));
    const char *const folder =
        file->name[0] == '/' || file->folder == NULL ? "" : file->folder;
    const bool is_whole =
        file->name[0] == '/' || folder[0] == '/' || base == NULL || base[0] != '/';
    char *path = NULL;

    if (strnlen(folder, TEXT_BYTES_MAX) + strnlen(file->name, TEXT_BYTES_MAX) >=
            TEXT_BYTES_MAX ||
        asprintf(&path, "%s%s%s%s%s", is_whole ? "" : base,
                 is_whole || base[strlen(base) - 1] == '/' ? "" : "/", folder,
                 folder[0] == '\0' ? "" : "/", file->name) < 0) {
        return NULL;
    }
    path_clean(path);
    return path;
}

const char *
sym_dwarf_file(struct sym_dwarf_unit *unit, size_t number)
{
    struct sym_dwarf_file_name *file;

    if (number >= unit->files.count) {
        return "";
    }
    file = &unit->files.items[number];
    if (file->path == NULL) {
        file->path = make_path(unit, file);
    }
    return file->path == NULL ? "" : file->path;
}

void
sym_dwarf_unit_finish(struct sym_dwarf_unit *unit)
{
    for (size_t i = 0; i < unit->scope_count; i++) {
        free(unit->scopes[i].owned);
        if (unit->scopes[i].inlined != NULL) {
            sym_table_finish(unit->scopes[i].inlined);
            free(unit->scopes[i].inlined);
        }
    }
    free(unit->scopes);
    free(unit->containers);
    free(unit->rows.items);
    sym_dwarf_files_finish(&unit->files);
    sym_table_finish(&unit->places);
    sym_dwarf_shapes_free(unit->shapes);
    if (unit->split != NULL) {
        sym_dwarf_image_finish(unit->split);
        free(unit->split);
    }
}
