/* SPDX-License-Identifier: MIT */
/*
 * dwarf_unit.c - functions, inlined calls and files of one unit.
 *
 * A unit's entries are walked once to find its functions. The entries of a function are
 * walked once more, for the calls inlined into it and into the functions nested in it,
 * when an address in it is looked up. (libdw's own search for scopes would walk all
 * entries for each address.) Children come after their parents, so of overlapping
 * scopes the last one is the innermost.
 */
#include "symbols/reader/dwarf_unit.h"

#include "base/path.h"
#include "symbols/border/demangle.h"
#include "symbols/reader/dwarf_sequences.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* DW_AT_GNU_discriminator, which dwarf.h of elfutils 0.188 does not have. */
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

/* A longer name or path counts as forged. */
#define TEXT_BYTES_MAX (UINT32_C(1) << 16)

const char *
sym_dwarf_text(Dwarf_Attribute *attribute)
{
    const char *const text = dwarf_formstring(attribute);

    return text == NULL || strnlen(text, TEXT_BYTES_MAX) == TEXT_BYTES_MAX ? NULL
                                                                           : text;
}

/* Return the number in an attribute of an entry, or 0 without such an attribute. A
 * number above INT32_MAX counts as forged, and gives 0. */
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
    struct sym_entry range = {.name = "code", .tag = tag, .sized = true};
    Dwarf_Addr base;
    ptrdiff_t at = 0;

    *any = false;
    /* The ranges before a damaged one are used. */
    while ((at = dwarf_ranges(entry, at, &base, &range.start, &range.end)) > 0) {
        *any = true;
        if (sym_dwarf_is_code(code, range.start) && !sym_table_add(table, &range)) {
            return false;
        }
    }
    return true;
}

/* --- scopes --- */

/* scopes_walk - the context of add_function and add_inlined. */
struct scopes_walk {
    struct sym_dwarf_unit *unit;
    struct sym_budget *budget;
    struct sym_table *ranges; /* gets the ranges of scopes; tag: index of the scope */
    uint32_t next; /* for inlined calls: the next function in the unit's scopes */
};

/* The scope of children whose inlined calls must not be added: they belong to a
 * function without code, or to code that the linker discarded, whose addresses are
 * meaningless. */
#define SKIPPED (UINT32_MAX - 1)

/* Add a scope if the entry has code in the image, and make it the scope of its
 * children. If all code of the entry was discarded, its children get SKIPPED; if it has
 * none, they keep the scope that they have. Returns false if memory or the budget ran
 * out. */
static bool
add_scope(struct scopes_walk *walk, Dwarf_Die *entry, uint32_t parent,
          uint32_t *child_scope)
{
    struct sym_dwarf_unit *const unit = walk->unit;
    const size_t before = walk->ranges->entry_count;
    struct sym_dwarf_scope *larger;
    bool any;

    if (!sym_dwarf_add_ranges(entry, unit->code, (uint32_t)unit->scope_count,
                              walk->ranges, &any)) {
        return false;
    }
    if (walk->ranges->entry_count == before) {
        *child_scope = any ? SKIPPED : *child_scope;
        return true;
    }
    larger = sym_budget_grow(walk->budget, unit->scopes, unit->scope_count,
                             &unit->scope_room, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    unit->scopes = larger;
    *child_scope = (uint32_t)unit->scope_count++;
    unit->scopes[*child_scope] =
        (struct sym_dwarf_scope){.entry = *entry, .parent = parent};
    return true;
}

/* A sym_dwarf_visit: add an entry that is a function. All entries must be visited,
 * since compilers put functions into types of any kind. What is in a function without
 * code (SKIPPED) is as if it was in what that one is in. */
static bool
add_function(void *context, Dwarf_Die *entry, int tag, uint32_t scope,
             uint32_t *child_scope)
{
    struct scopes_walk *const walk = context;
    struct sym_dwarf_unit *const unit = walk->unit;

    if (tag != DW_TAG_subprogram) {
        return true;
    }
    if (!add_scope(walk, entry, SYM_DWARF_NO_SCOPE, child_scope)) {
        return false;
    }
    if (*child_scope == SKIPPED) {
        *child_scope = scope;
    } else if (*child_scope != scope) {
        unit->scopes[*child_scope].outermost =
            scope == SYM_DWARF_NO_SCOPE ? *child_scope : unit->scopes[scope].outermost;
    }
    return true;
}

/* A sym_dwarf_visit: add an entry that is an inlined call. Functions come in the order
 * in which they were added. */
static bool
add_inlined(void *context, Dwarf_Die *entry, int tag, uint32_t scope,
            uint32_t *child_scope)
{
    struct scopes_walk *const walk = context;
    const struct sym_dwarf_unit *const unit = walk->unit;

    if (tag == DW_TAG_subprogram) {
        *child_scope = walk->next < unit->scope_count &&
                               unit->scopes[walk->next].entry.addr == entry->addr
                           ? walk->next++
                           : SKIPPED;
    }
    return tag != DW_TAG_inlined_subroutine || scope == SKIPPED ||
           add_scope(walk, entry, scope, child_scope);
}

const struct sym_dwarf_abbreviations *
sym_dwarf_unit_abbreviations(struct sym_dwarf_unit *unit, struct sym_budget *budget)
{
    /* The split unit of a skeleton may have been found since. */
    if (unit->abbreviations_of != unit->functions.cu) {
        sym_dwarf_abbreviations_free(unit->abbreviations);
        unit->abbreviations = sym_dwarf_abbreviations_read(&unit->functions, budget);
        unit->abbreviations_of = unit->functions.cu;
    }
    return unit->abbreviations;
}

/* Read the functions of a unit. On failure the unit has none. */
static void
read_functions(struct sym_dwarf_unit *unit, struct sym_budget *budget)
{
    const struct sym_dwarf_abbreviations *const abbreviations =
        sym_dwarf_unit_abbreviations(unit, budget);
    struct scopes_walk walk = {.unit = unit, .budget = budget, .ranges = &unit->ranges};

    unit->ranges.budget = budget;
    if (abbreviations == NULL ||
        !sym_dwarf_walk(abbreviations, &unit->functions, SYM_DWARF_NO_SCOPE,
                        add_function, &walk) ||
        !sym_table_build(&unit->ranges, SYM_OVERLAP_LATEST)) {
        sym_table_finish(&unit->ranges);
    }
}

/* Read, once, the inlined calls of an outermost function and of those nested in it.
 * function: index of its scope. Returns the table of their ranges, or NULL if there are
 * none, or if memory or the budget ran out. */
static const struct sym_table *
read_inlined(struct sym_dwarf_unit *unit, uint32_t function, struct sym_budget *budget)
{
    const Dwarf_Die entry = unit->scopes[function].entry;
    struct sym_table ranges = {.budget = budget};
    struct scopes_walk walk = {
        .unit = unit, .budget = budget, .ranges = &ranges, .next = function + 1};
    struct sym_table *kept = NULL;

    if (unit->scopes[function].inlined_sought) {
        return unit->scopes[function].inlined;
    }
    if (sym_dwarf_walk(unit->abbreviations, &entry, function, add_inlined, &walk) &&
        ranges.entry_count > 0 && sym_table_build(&ranges, SYM_OVERLAP_LATEST)) {
        kept = malloc(sizeof(*kept));
    }
    if (kept != NULL) {
        *kept = ranges;
    } else {
        sym_table_finish(&ranges);
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
    range = sym_table_find(&unit->ranges, address);
    if (range == NULL) {
        return NULL;
    }
    function = range->tag;
    inlined = read_inlined(unit, unit->scopes[function].outermost, budget);
    range = inlined == NULL ? NULL : sym_table_find(inlined, address);
    return &unit->scopes[range == NULL ? function : range->tag];
}

/* Return a string attribute of an entry, or of the entry that it refers to as its
 * abstract origin or specification; or NULL. */
static const char *
string_of(Dwarf_Die *entry, unsigned int attribute)
{
    Dwarf_Attribute found;

    return sym_dwarf_text(dwarf_attr_integrate(entry, attribute, &found));
}

/* DW_AT_decl_file may come from an entry in another unit: the number is valid only in
 * the file table of that one, so the unit is kept with it. */
void
sym_dwarf_set_definition(struct sym_dwarf_scope *scope, Dwarf_Die *entry)
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
    sym_dwarf_set_definition(scope, &scope->entry);
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

/* Join the folder of the compilation, the file's folder and its name, as far as they
 * are relative. Returns a string for free(), or NULL if memory ran out or the path is
 * longer than TEXT_BYTES_MAX. */
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
    sym_table_finish(&unit->ranges);
    sym_dwarf_abbreviations_free(unit->abbreviations);
    if (unit->split != NULL) {
        sym_dwarf_image_finish(unit->split);
        free(unit->split);
    }
}
