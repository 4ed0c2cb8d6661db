/* SPDX-License-Identifier: MIT */
/*
 * lines.c - lines and functions of one image, from one copy of its debug sections.
 *
 * A lookup is three binary searches: for the unit, its row of lines, and its innermost
 * scope. A unit's line program and its functions are read at the first address in it.
 */
#include "symbols/reader/lines.h"

#include "symbols/reader/debug_file.h"
#include "symbols/reader/dwarf_split.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Deeper chains are forged: the outer end is cut off. */
#define FRAMES_MAX 512

/* What libdw keeps of a unit of which only the root was read. */
#define UNIT_BYTES 512

struct sym_lines {
    struct sym_dwarf_image own;
    struct sym_dwarf_image supplement; /* shared with other files */
    struct sym_dwarf_split split;
    struct sym_budget *budget;
    struct sym_dwarf_unit *units;
    size_t unit_count;
    size_t unit_room;
    struct sym_table places; /* tag: unit */
    bool discriminators;
    struct sym_frame frames[FRAMES_MAX];
};

/* --- files --- */

/* False if there is nothing to read; why is "" or says why not. */
static bool
open_file(struct sym_dwarf_image *image, const struct sym_elf *file,
          struct sym_budget *budget, char *why, size_t why_size)
{
    return sym_dwarf_image_copy(image, file, false, budget, why, why_size) &&
           sym_dwarf_image_open(image);
}

/* Without it names and folders that it holds are missing, no more. */
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
        if (open_file(&lines->supplement, &file, source->budget, why, sizeof(why))) {
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
    *unit = (struct sym_dwarf_unit){
        .root = *root, .functions = *root, .split_sought = type != DW_UT_skeleton};
    if (type == DW_UT_skeleton) {
        /* One of the two is there. */
        unit->addr_base = sym_dwarf_number(root, DW_AT_addr_base) +
                          sym_dwarf_number(root, DW_AT_GNU_addr_base);
        unit->ranges_base = sym_dwarf_number(root, DW_AT_GNU_ranges_base);
    }
    return sym_dwarf_add_ranges(root, (uint32_t)lines->unit_count++, &lines->places);
}

/* What is damaged ends the list; what stands before is used. */
static bool
read_units(struct sym_lines *lines)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die root;
    uint8_t type;

    lines->places.budget = lines->budget;
    while (dwarf_get_units(lines->own.dwarf, unit, &unit, NULL, &type, &root, NULL) ==
           0) {
        if (!add_unit(lines, &root, type)) {
            return false;
        }
    }
    lines->split.units = lines->units;
    lines->split.unit_count = lines->unit_count;
    return lines->unit_count > 0 &&
           sym_table_build(&lines->places, SYM_OVERLAP_INNERMOST);
}

static bool
open_all(struct sym_lines *lines, const struct sym_lines_source *source, char *note,
         size_t note_size)
{
    char why[256];

    lines->budget = source->budget;
    lines->discriminators = source->discriminators;
    if (!open_file(&lines->own, source->file, source->budget, why, sizeof(why))) {
        if (why[0] != '\0') {
            snprintf(note, note_size, "no lines from %s: %s", source->path, why);
        }
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
    sym_table_finish(&lines->places);
    sym_dwarf_image_finish(&lines->split.package);
    free(lines->split.debug);
    sym_dwarf_image_finish(&lines->own);
    sym_dwarf_image_finish(&lines->supplement);
    free(lines);
}

const char *
sym_lines_note(struct sym_lines *lines)
{
    return sym_dwarf_split_note(&lines->split);
}

/* The unit of an address, with its rows. */
static struct sym_dwarf_unit *
find_unit(struct sym_lines *lines, uint64_t address)
{
    const struct sym_range *const range = sym_table_find(&lines->places, address);
    struct sym_dwarf_unit *const unit =
        range == NULL ? NULL : &lines->units[range->tag];

    return unit != NULL && sym_dwarf_read_lines(unit, &lines->own) ? unit : NULL;
}

/* --- frames --- */

static uint32_t
line_of(Dwarf_Line *row)
{
    int line = 0;

    return dwarf_lineno(row, &line) == 0 && line > 0 ? (uint32_t)line : 0;
}

static void
set_line(struct sym_lines *lines, struct sym_dwarf_unit *unit, uint64_t address,
         struct sym_frame *frame)
{
    const size_t until = sym_dwarf_rows_until(unit, address);
    uint64_t begin;
    bool end;
    Dwarf_Line *const row =
        until == 0 ? NULL : sym_dwarf_row(unit, until - 1, &begin, &end);

    if (row != NULL && !end) {
        frame->file = sym_dwarf_row_file(unit, row);
        frame->line = frame->file[0] == '\0' ? 0 : line_of(row);
        if (lines->discriminators) {
            (void)dwarf_linediscriminator(row, &frame->discriminator);
        }
    }
}

/* Names the frame, and goes on with the scope around; NULL: that was the outermost. */
static struct sym_dwarf_scope *
take_scope(struct sym_dwarf_unit *unit, struct sym_dwarf_scope *scope,
           struct sym_frame *frame)
{
    sym_dwarf_name_scope(scope);
    frame->name = scope->name;
    frame->system_name = scope->system_name;
    frame->start_line = scope->start_line;
    return scope->parent == SYM_DWARF_NO_SCOPE ? NULL : &unit->scopes[scope->parent];
}

size_t
sym_lines_find(struct sym_lines *lines, uint64_t address, struct sym_frame **frames)
{
    static const struct sym_frame nothing = {.name = "", .system_name = "", .file = ""};
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
    while (scope != NULL && count < FRAMES_MAX) {
        struct sym_dwarf_scope *around =
            take_scope(unit, scope, &lines->frames[count++]);

        if (around != NULL && count < FRAMES_MAX) {
            lines->frames[count] = nothing;
            lines->frames[count].file = sym_dwarf_file(unit, scope->call_file);
            lines->frames[count].line = scope->call_line;
            lines->frames[count].discriminator = scope->call_discriminator;
        }
        scope = around;
    }
    return count;
}

/* --- rows --- */

/* Calls take with rows of a unit from an address on, which becomes that where they end,
 * or end. False if take did. */
static bool
take_rows(struct sym_dwarf_unit *unit, uint64_t *at, uint64_t end, sym_line_row *take,
          void *context)
{
    const uint64_t from = *at;
    size_t index = sym_dwarf_rows_until(unit, from);
    uint64_t begin = 0;
    uint64_t next = 0;
    bool ends = true;
    Dwarf_Line *row = index == 0 ? NULL : sym_dwarf_row(unit, index - 1, &begin, &ends);

    while (row != NULL && !ends && begin < end) {
        Dwarf_Line *const behind = sym_dwarf_row(unit, index++, &next, &ends);

        /* Of rows at one address the last counts. */
        if (behind != NULL && next > begin &&
            !take(context, begin, sym_dwarf_row_file(unit, row), line_of(row))) {
            return false;
        }
        row = behind;
        begin = next;
    }
    *at = row != NULL && ends && begin > from && begin < end ? begin : end;
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
