/* SPDX-License-Identifier: MIT */
/*
 * lines.c - lines and functions of one image, from its debug sections.
 *
 * A lookup is three binary searches: for the unit, its row of lines, and its innermost
 * scope. A unit's line program and its functions are read at the first address in it.
 * Each unit is a struct sym_dwarf_unit here, and a Dwarf_CU of libdw; one whose split
 * unit was found has a second Dwarf_CU, that of the entries of its functions.
 *
 * The supplement is a DWARF supplementary file, as dwz makes: names and files that
 * several files share, without code. Units there are called shared units.
 */
#include "symbols/reader/lines.h"

#include "symbols/reader/debug_file.h"
#include "symbols/reader/dwarf_aranges.h"
#include "symbols/reader/dwarf_qualify.h"
#include "symbols/reader/dwarf_sequences.h"
#include "symbols/reader/dwarf_split.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An estimate of libdw's memory for a unit of which only the root entry was read. */
#define UNIT_BYTES 512

struct sym_lines {
    struct sym_dwarf_image own;
    struct sym_dwarf_image supplement;
    struct sym_dwarf_split split;
    struct sym_budget *budget;
    struct sym_dwarf_unit *units;
    size_t unit_count;
    size_t unit_room;
    struct sym_dwarf_unit *shared; /* of the supplement; read when one is needed */
    size_t shared_count;
    size_t shared_room;
    bool shared_sought;
    struct sym_elf_code code;
    struct sym_table ranges; /* the ranges that units declare; tag: index of unit */
    struct sym_table more_ranges; /* ranges by lines and functions, for addresses that
                                     are not in ranges; tag: index of unit */
    bool more_sought;
    bool discriminators;
    uint64_t unread_form; /* of names of files, the first that was seen; 0: none */
    char note[PATH_MAX + 200];
    struct sym_frame frames[SYM_FRAMES_MAX];
};

/* --- files --- */

/* Take the debug sections of a file and give them to libdw. Returns false if there are
 * none or they cannot be used; why: out, the reason for people, or "" for none. */
static bool
open_file(struct sym_dwarf_image *image, const struct sym_elf *file,
          const struct sym_lines_source *source, char *why, size_t why_size)
{
    return sym_dwarf_image_copy(image, file, /* split */ false, source->files,
                                source->budget, why, why_size) &&
           sym_dwarf_image_open(image);
}

/* Open the supplement of the file, if it has one. That it is missing is no failure:
 * only the names and folders in it are missing then, which note says. */
static void
open_supplement(struct sym_lines *lines, const struct sym_lines_source *source,
                char *note, size_t note_size)
{
    struct sym_debug_file found;
    struct sym_elf file;
    char why[512];

    sym_debug_file_open_supplement(source->file, source->path, source->root,
                                   source->files, &found, why, sizeof(why));
    if (found.fd >= 0 && sym_elf_open(&file, found.fd) == 0) {
        if (open_file(&lines->supplement, &file, source, why, sizeof(why))) {
            dwarf_setalt(lines->own.dwarf, lines->supplement.dwarf);
        }
        sym_elf_close(&file);
    }
    if (found.fd >= 0) {
        close(found.fd);
    }
    if (why[0] != '\0') {
        snprintf(note, note_size, "%s", why);
    }
}

/* --- units --- */

/* Add a unit by its root entry and its type (DW_UT_...). Returns false if memory or the
 * budget ran out. */
static bool
add_unit(struct sym_lines *lines, Dwarf_Die *root, uint8_t type)
{
    struct sym_dwarf_unit *const larger =
        sym_budget_grow(lines->budget, lines->units, lines->unit_count,
                        &lines->unit_room, sizeof(*larger));
    struct sym_dwarf_unit *unit;

    if (larger == NULL || !sym_budget_take(lines->budget, UNIT_BYTES)) {
        return false;
    }
    lines->units = larger;
    unit = &lines->units[lines->unit_count];
    *unit = (struct sym_dwarf_unit){.offset = dwarf_dieoffset(root),
                                    .root = *root,
                                    .code = &lines->code,
                                    .functions = *root,
                                    .split_sought = type != DW_UT_skeleton};
    if (type == DW_UT_skeleton) {
        /* A unit has at most one of the two attributes, by its version. */
        unit->addr_base = sym_dwarf_number(root, DW_AT_addr_base) +
                          sym_dwarf_number(root, DW_AT_GNU_addr_base);
        unit->ranges_base = sym_dwarf_number(root, DW_AT_GNU_ranges_base);
    }
    lines->unit_count++;
    return true;
}

/* Add the ranges that .debug_aranges has for the unit of this number, and advance next
 * beyond them: units come in the order of aranges. any: out, whether there are some.
 * Returns false if memory or the budget ran out. */
static bool
add_aranges(struct sym_lines *lines, uint32_t number,
            const struct sym_dwarf_aranges *aranges, size_t *next, bool *any)
{
    struct sym_dwarf_unit *const unit = &lines->units[number];
    const uint64_t at = unit->offset - dwarf_cuoffset(&unit->root);
    struct sym_entry range = {.name = "code", .tag = number, .sized = true};

    *any = false;
    while (*next < aranges->count && aranges->items[*next].unit < at) {
        (*next)++;
    }
    for (; *next < aranges->count && aranges->items[*next].unit == at; (*next)++) {
        range.start = aranges->items[*next].start;
        range.end = aranges->items[*next].end;
        *any = true;
        if (sym_dwarf_is_code(&lines->code, range.start) &&
            !sym_table_add(&lines->ranges, &range)) {
            return false;
        }
    }
    return true;
}

/* Add the ranges of all units to ranges: those in .debug_aranges, or for units that are
 * not there, those of their root entries, which take longer to read. Returns false if
 * memory or the budget ran out. */
static bool
add_unit_ranges(struct sym_lines *lines)
{
    struct sym_dwarf_aranges aranges;
    bool added = true;
    size_t next = 0;

    sym_dwarf_aranges_read(&aranges, &lines->own);
    for (size_t i = 0; added && i < lines->unit_count; i++) {
        bool any;

        added = add_aranges(lines, (uint32_t)i, &aranges, &next, &any) &&
                (any || sym_dwarf_add_ranges(&lines->units[i].root, &lines->code,
                                             (uint32_t)i, &lines->ranges, &any));
    }
    sym_dwarf_aranges_finish(&aranges);
    return added;
}

/* List the units and their ranges. The units before a damaged one are used. Returns
 * false if there are none, or if memory or the budget ran out. */
static bool
read_units(struct sym_lines *lines)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die root;
    uint8_t type;

    lines->ranges.budget = lines->budget;
    lines->more_ranges.budget = lines->budget;
    while (dwarf_get_units(lines->own.dwarf, unit, &unit, NULL, &type, &root, NULL) ==
           0) {
        if (!add_unit(lines, &root, type)) {
            return false;
        }
    }
    lines->split.units = lines->units;
    lines->split.unit_count = lines->unit_count;
    return lines->unit_count > 0 && add_unit_ranges(lines) &&
           sym_table_build(&lines->ranges, SYM_OVERLAP_INNERMOST);
}

/* Open the debug information of a file. Returns false if it has none or memory or the
 * budget ran out; then note may say why. */
static bool
open_all(struct sym_lines *lines, const struct sym_lines_source *source, char *note,
         size_t note_size)
{
    char why[256];

    lines->budget = source->budget;
    lines->discriminators = source->discriminators;
    if (!open_file(&lines->own, source->file, source, why, sizeof(why))) {
        if (why[0] != '\0') {
            snprintf(note, note_size, "no lines from %s: %s", source->path, why);
        }
        return false;
    }
    if (!sym_elf_code_read(&lines->code, source->file)) {
        return false;
    }
    open_supplement(lines, source, note, note_size);
    lines->split = (struct sym_dwarf_split){.own = &lines->own,
                                            .root = source->root,
                                            .image = source->image,
                                            .debug = strdup(source->path),
                                            .files = source->files};
    return lines->split.debug != NULL && read_units(lines);
}

struct sym_lines *
sym_lines_open(const struct sym_lines_source *source, char *note, size_t note_size)
{
    struct sym_lines *lines = calloc(1, sizeof(*lines));

    if (lines != NULL && !open_all(lines, source, note, note_size)) {
        sym_lines_close(lines);
        return NULL;
    }
    return lines;
}

void
sym_lines_close(struct sym_lines *lines)
{
    if (lines == NULL) {
        return;
    }
    for (size_t i = 0; i < lines->unit_count; i++) {
        sym_dwarf_unit_finish(&lines->units[i]);
    }
    free(lines->units);
    for (size_t i = 0; i < lines->shared_count; i++) {
        sym_dwarf_unit_finish(&lines->shared[i]);
    }
    free(lines->shared);
    sym_table_finish(&lines->ranges);
    sym_table_finish(&lines->more_ranges);
    sym_elf_code_finish(&lines->code);
    sym_dwarf_image_finish(&lines->split.package);
    free(lines->split.debug);
    sym_dwarf_image_finish(&lines->own);
    sym_dwarf_image_finish(&lines->supplement);
    free(lines);
}

const char *
sym_lines_note(struct sym_lines *lines)
{
    if (lines->unread_form == 0) {
        return sym_dwarf_split_note(&lines->split);
    }
    snprintf(
        lines->note, sizeof(lines->note),
        "line tables of %s name files in a form that is not read (DW_FORM 0x%llx): "
        "code is shown without its lines",
        lines->split.image, (unsigned long long)lines->unread_form);
    return lines->note;
}

/* Add the ranges of a unit's functions to more_ranges. Returns false if memory or the
 * budget ran out. */
static bool
add_functions(struct sym_lines *lines, struct sym_dwarf_unit *unit)
{
    const uint32_t number = (uint32_t)(unit - lines->units);
    const struct sym_dwarf_abbreviations *abbreviations;

    sym_dwarf_split_find(&lines->split, unit);
    abbreviations = sym_dwarf_unit_abbreviations(unit, lines->budget);
    if (abbreviations == NULL || !sym_dwarf_abbreviations_have_code(abbreviations)) {
        return true;
    }
    (void)sym_dwarf_find_scope(unit, 0, lines->budget); /* reads unit->ranges */
    for (size_t i = 0; i < unit->ranges.range_count; i++) {
        const struct sym_entry range = {.start = unit->ranges.ranges[i].start,
                                        .end = unit->ranges.ranges[i].end,
                                        .name = "code",
                                        .tag = number,
                                        .sized = true};

        if (!sym_table_add(&lines->more_ranges, &range)) {
            return false;
        }
    }
    return true;
}

/* Add the ranges of a unit to more_ranges: those of the sequences in its line table, or
 * without any, those of its functions. Some units declare no ranges, and the ranges of
 * others are cut off where a linker discarded a function: neither those of the unit nor
 * those of .debug_aranges are believed to be complete. Returns false if memory or the
 * budget ran out. */
static bool
add_more_ranges(struct sym_lines *lines, struct sym_dwarf_unit *unit)
{
    const int tag = dwarf_tag(&unit->root);
    bool any = false;
    Dwarf_Attribute rows;
    Dwarf_Word at;

    if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit) {
        return true;
    }
    if (dwarf_attr(&unit->root, DW_AT_stmt_list, &rows) != NULL &&
        dwarf_formudata(&rows, &at) == 0 &&
        !sym_dwarf_add_sequences(&lines->own.parts[SYM_DWARF_LINE], at, &lines->code,
                                 (uint32_t)(unit - lines->units), &lines->more_ranges,
                                 &any)) {
        return false;
    }
    return any || add_functions(lines, unit);
}

/* Fill more_ranges. That reads all line tables, so it is done only when an address is
 * in no declared range. */
static void
find_more_ranges(struct sym_lines *lines)
{
    bool added = true;

    lines->more_sought = true;
    for (size_t i = 0; added && i < lines->unit_count; i++) {
        added = add_more_ranges(lines, &lines->units[i]);
    }
    if (!added || !sym_table_build(&lines->more_ranges, SYM_OVERLAP_INNERMOST)) {
        sym_table_finish(&lines->more_ranges);
    }
}

/* Return the range of a unit that covers an address, or NULL. Its tag is the index of
 * the unit. */
static const struct sym_range *
find_range(struct sym_lines *lines, uint64_t address)
{
    const struct sym_range *const range = sym_table_find(&lines->ranges, address);

    if (range != NULL || !sym_elf_code_holds(&lines->code, address)) {
        return range;
    }
    if (!lines->more_sought) {
        find_more_ranges(lines);
    }
    return sym_table_find(&lines->more_ranges, address);
}

/* If a unit has names of files in a form that is not read, keep the form for
 * sym_lines_note. */
static void
note_files(struct sym_lines *lines, const struct sym_dwarf_unit *unit)
{
    if (lines->unread_form == 0) {
        lines->unread_form = unit->files.unread_form;
    }
}

/* Return the unit that has an address, with its line table read; or NULL. */
static struct sym_dwarf_unit *
find_unit(struct sym_lines *lines, uint64_t address)
{
    const struct sym_range *const range = find_range(lines, address);
    struct sym_dwarf_unit *const unit =
        range == NULL ? NULL : &lines->units[range->tag];

    if (unit == NULL || !sym_dwarf_read_lines(unit, &lines->own)) {
        return NULL;
    }
    note_files(lines, unit);
    return unit;
}

/* --- frames --- */

/* Set file, line and discriminator of the innermost frame, as far as the line table has
 * them. */
static void
set_line(struct sym_lines *lines, struct sym_dwarf_unit *unit, uint64_t address,
         struct sym_frame *frame)
{
    const size_t until = sym_dwarf_rows_until(unit, address);
    const struct sym_dwarf_row *const row =
        until == 0 ? NULL : &unit->rows.items[until - 1];

    if (row != NULL && !row->end) {
        frame->file = sym_dwarf_file(unit, row->file);
        frame->line = frame->file[0] == '\0' ? 0 : row->line;
        if (lines->discriminators) {
            frame->discriminator = row->discriminator;
        }
    }
}

/* List the units of the supplement, once. The list ends before a damaged unit, and
 * where memory or the budget runs out. */
static void
read_shared_units(struct sym_lines *lines)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die root;

    if (lines->shared_sought || lines->supplement.dwarf == NULL) {
        return;
    }
    lines->shared_sought = true;
    while (dwarf_get_units(lines->supplement.dwarf, unit, &unit, NULL, NULL, &root,
                           NULL) == 0) {
        struct sym_dwarf_unit *const larger =
            sym_budget_grow(lines->budget, lines->shared, lines->shared_count,
                            &lines->shared_room, sizeof(*larger));

        if (larger == NULL || !sym_budget_take(lines->budget, UNIT_BYTES)) {
            return;
        }
        lines->shared = larger;
        lines->shared[lines->shared_count++] = (struct sym_dwarf_unit){
            .offset = dwarf_dieoffset(&root), .root = root, .functions = root};
    }
}

/* Return the one of our units whose root is at that offset, if it is libdw's unit
 * wanted; otherwise NULL. */
static struct sym_dwarf_unit *
find_same(struct sym_dwarf_unit *units, size_t count, uint64_t offset,
          const Dwarf_CU *wanted)
{
    const size_t at = sym_count_below(units, count, sizeof(*units), offset);

    return at < count && units[at].root.cu == wanted ? &units[at] : NULL;
}

/*
 * Return our unit for a unit of libdw, or NULL if there is none.
 *
 *   unit    a unit of ours, which is compared first
 *   wanted  libdw's unit: of the image, of a split unit, or of the supplement
 *   image   out: the image that has the unit's file table
 */
static struct sym_dwarf_unit *
unit_of(struct sym_lines *lines, struct sym_dwarf_unit *unit, Dwarf_CU *wanted,
        const struct sym_dwarf_image **image)
{
    struct sym_dwarf_unit *found;
    Dwarf_Die root;

    *image = &lines->own;
    if (wanted == NULL ||
        dwarf_cu_info(wanted, NULL, NULL, &root, NULL, NULL, NULL, NULL) != 0) {
        return NULL;
    }
    if (wanted == unit->root.cu || wanted == unit->functions.cu) {
        return unit;
    }
    found = find_same(lines->units, lines->unit_count, dwarf_dieoffset(&root), wanted);
    if (found == NULL) {
        read_shared_units(lines);
        *image = &lines->supplement;
        found = find_same(lines->shared, lines->shared_count, dwarf_dieoffset(&root),
                          wanted);
    }
    return found;
}

/* Return the path of the file where the function of a scope is defined, or "". */
static const char *
definition_of(struct sym_lines *lines, struct sym_dwarf_unit *unit,
              const struct sym_dwarf_scope *scope)
{
    const struct sym_dwarf_image *image;
    struct sym_dwarf_unit *const definer = unit_of(lines, unit, scope->definer, &image);

    if (definer == NULL || !sym_dwarf_read_files(definer, image)) {
        return "";
    }
    note_files(lines, definer);
    return sym_dwarf_file(definer, scope->definition);
}

/* Whether names are qualified in the language of a unit. */
static bool
has_scopes(struct sym_dwarf_unit *unit)
{
    return sym_dwarf_has_scopes(unit->split != NULL
                                    ? unit->language
                                    : sym_dwarf_number(&unit->root, DW_AT_language));
}

/* Replace the name of a scope by its qualified name, if it has no linkage name. */
static void
qualify(struct sym_lines *lines, struct sym_dwarf_unit *unit,
        struct sym_dwarf_scope *scope)
{
    const struct sym_dwarf_image *image;
    Dwarf_Die declaration = scope->entry;
    struct sym_dwarf_unit *definer;
    Dwarf_Die parent;

    if (!scope->bare) {
        return;
    }
    scope->bare = false;
    sym_dwarf_find_declaration(&declaration);
    definer = unit_of(lines, unit, declaration.cu, &image);
    if (definer != NULL && (has_scopes(unit) || has_scopes(definer))) {
        scope->owned =
            sym_dwarf_qualify(definer, &declaration, scope->name, lines->budget);
        scope->name = scope->owned != NULL ? scope->owned : scope->name;
        /* g++ gives a lambda's operator() no line, but the type that contains it. */
        if (scope->start_line == 0 &&
            sym_dwarf_find_parent(definer, &declaration, lines->budget, &parent)) {
            sym_dwarf_set_definition(scope, &parent);
        }
    }
}

/* Set the names, start_line and definition of a frame from a scope. Returns the parent
 * of the scope, or NULL. */
static struct sym_dwarf_scope *
name_frame(struct sym_lines *lines, struct sym_dwarf_unit *unit,
           struct sym_dwarf_scope *scope, struct sym_frame *frame)
{
    sym_dwarf_name_scope(scope);
    qualify(lines, unit, scope);
    frame->name = scope->name;
    frame->system_name = scope->system_name;
    frame->start_line = scope->start_line;
    frame->definition = definition_of(lines, unit, scope);
    return scope->parent == SYM_DWARF_NO_SCOPE ? NULL : &unit->scopes[scope->parent];
}

size_t
sym_lines_find(struct sym_lines *lines, uint64_t address, struct sym_frame **frames)
{
    static const struct sym_frame nothing = {
        .name = "", .system_name = "", .file = "", .definition = ""};
    struct sym_dwarf_unit *const unit = find_unit(lines, address);
    struct sym_dwarf_scope *scope;
    size_t count = 0;

    *frames = lines->frames;
    if (unit == NULL) {
        return 0;
    }
    sym_dwarf_split_find(&lines->split, unit);
    scope = sym_dwarf_find_scope(unit, address, lines->budget);
    lines->frames[0] = nothing;
    set_line(lines, unit, address, &lines->frames[0]);
    if (scope == NULL) {
        return lines->frames[0].line > 0;
    }
    while (scope != NULL && count < SYM_FRAMES_MAX) {
        struct sym_dwarf_scope *parent =
            name_frame(lines, unit, scope, &lines->frames[count++]);

        if (parent != NULL && count < SYM_FRAMES_MAX) {
            lines->frames[count] = nothing;
            lines->frames[count].file = sym_dwarf_file(unit, scope->call_file);
            lines->frames[count].line = scope->call_line;
            lines->frames[count].discriminator = scope->call_discriminator;
        }
        scope = parent;
    }
    return count;
}

/* --- rows --- */

/* Call take for the rows of a unit from address *at on. *at is set to the address where
 * the sequence ends, or to end. Returns false if take did. */
static bool
take_rows(struct sym_dwarf_unit *unit, uint64_t *at, uint64_t end, sym_line_row *take,
          void *context)
{
    const uint64_t from = *at;
    const struct sym_dwarf_row *const rows = unit->rows.items;
    const size_t until = sym_dwarf_rows_until(unit, from);
    size_t index = until == 0 ? unit->rows.count : until - 1;

    for (; index < unit->rows.count && !rows[index].end && rows[index].address < end;
         index++) {
        const struct sym_dwarf_row *const row = &rows[index];

        /* Of rows with the same address only the last one is valid. */
        if (index + 1 < unit->rows.count && row[1].address > row->address &&
            !take(context, row->address, sym_dwarf_file(unit, row->file), row->line)) {
            return false;
        }
    }
    *at = index < unit->rows.count && rows[index].end && rows[index].address > from &&
                  rows[index].address < end
              ? rows[index].address
              : end;
    return true;
}

bool
sym_lines_rows(struct sym_lines *lines, uint64_t start, uint64_t end,
               sym_line_row *take, void *context)
{
    struct sym_dwarf_unit *unit;
    uint64_t at = start;

    while (at < end && (unit = find_unit(lines, at)) != NULL) {
        if (!take_rows(unit, &at, end, take, context)) {
            return false;
        }
    }
    return true;
}
