/* SPDX-License-Identifier: MIT */
/*
 * lines.c - lines and functions of one image, from one copy of its debug sections.
 *
 * A lookup is three binary searches: for the unit, its row of lines, and its innermost
 * scope. A unit's line program and its functions are read at the first address in it.
 */
#include "sym/lines.h"

#include "sym/debug_file.h"
#include "sym/dwarf_lines.h"
#include "sym/dwarf_split.h"
#include "util/buffer.h"
#include "util/string_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Deeper chains are forged: the outer end is cut off. */
#define FRAMES_MAX 512

struct sym_lines {
    struct sym_dwarf *own;
    struct sym_dwarf *supplement; /* shared with other files, or NULL */
    struct sym_dwarf_split *split;
    struct sym_budget *budget;
    struct string_set paths; /* of files, joined with the folder of the compilation */
    struct buffer path;
    struct sym_frame frames[FRAMES_MAX];
};

/* NULL if there is nothing to read; why is "" or says why not. */
static struct sym_dwarf *
open_file(const struct sym_elf *file, struct sym_budget *budget, char *why,
          size_t why_size)
{
    struct sym_dwarf_sections sections;

    return sym_dwarf_sections_copy(file, false, budget, &sections, why, why_size)
               ? sym_dwarf_open(&sections, false)
               : NULL;
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
        lines->supplement = open_file(&file, source->budget, why, sizeof(why));
        lines->own->supplement = lines->supplement;
        sym_elf_close(&file);
    }
    if (found.fd >= 0) {
        close(found.fd);
    }
    if (why[0] != '\0') {
        snprintf(note, note_size, "%s", why);
    }
}

static bool
open_all(struct sym_lines *lines, const struct sym_lines_source *source, char *note,
         size_t note_size)
{
    char why[256];

    lines->budget = source->budget;
    lines->own = open_file(source->file, source->budget, why, sizeof(why));
    if (lines->own == NULL) {
        if (why[0] != '\0') {
            snprintf(note, note_size, "no lines from %s: %s", source->path, why);
        }
        return false;
    }
    lines->own->discriminators = source->discriminators;
    open_supplement(lines, source, note, note_size);
    lines->split = sym_dwarf_split_new(source->root, source->image, source->path,
                                       source->files, source->budget);
    return lines->split != NULL;
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
    /* Split units lead to ours, and ours to those of the supplement. */
    sym_dwarf_split_delete(lines->split);
    sym_dwarf_close(lines->own);
    sym_dwarf_close(lines->supplement);
    string_set_finish(&lines->paths);
    buffer_finish(&lines->path);
    free(lines);
}

const char *
sym_lines_note(struct sym_lines *lines)
{
    return sym_dwarf_split_note(lines->split);
}

/* --- tables of units --- */

/* Reads the unit's table once. False if it is too much. */
static bool
read_lines(struct sym_dwarf_unit *unit)
{
    struct sym_dwarf_entry root;

    if (!unit->lines_sought) {
        unit->lines_sought = true;
        if (sym_dwarf_root(unit, &root)) {
            /* Behind the section's end stands an empty table. */
            unit->lines = sym_dwarf_lines_read(
                unit, root.stmt_list.form == 0 ? UINT64_MAX : root.stmt_list.number);
        }
    }
    return unit->lines != NULL;
}

/* --- frames --- */

static void
append_folder(struct buffer *path, const char *folder)
{
    if (folder[0] != '\0') {
        buffer_print(path, "%s%s", folder,
                     folder[strlen(folder) - 1] == '/' ? "" : "/");
    }
}

/* A file's folder may be relative to that of the compilation. */

static const char *
join_path(struct sym_lines *lines, const struct sym_dwarf_unit *unit,
          const struct sym_dwarf_file *file)
{
    const struct sym_dwarf_lines *const table = unit->lines;
    const char *const folder = file->folder < table->folders.count
                                   ? table->folders.items[file->folder].name
                                   : "";
    const char *text;
    uint32_t number;
    size_t known;

    lines->path.size = 0;
    if (file->name[0] != '/') {
        if (folder[0] != '/' && unit->folder != NULL) {
            append_folder(&lines->path, unit->folder);
        }
        append_folder(&lines->path, folder);
    }
    buffer_append_text(&lines->path, file->name);
    text = buffer_text(&lines->path);
    if (text == NULL || !sym_budget_take(lines->budget, lines->path.size)) {
        return "";
    }
    known = lines->paths.count;
    number = string_set_add(&lines->paths, text, lines->path.size);
    if (lines->paths.count == known) {
        sym_budget_give(lines->budget, lines->path.size);
    }
    return number == HASH_INDEX_NONE ? "" : lines->paths.texts[number];
}

/* The path of a file of the unit's table; "" if it has none. */
static const char *
file_path(struct sym_lines *lines, struct sym_dwarf_unit *unit, uint32_t number)
{
    struct sym_dwarf_file *file;

    if (number >= unit->lines->files.count) {
        return "";
    }
    file = &unit->lines->files.items[number];
    if (file->path == NULL) {
        file->path = file->name[0] == '\0' ? "" : join_path(lines, unit, file);
    }
    return file->path;
}

static void
set_line(struct sym_lines *lines, struct sym_dwarf_unit *unit, uint64_t address,
         struct sym_frame *frame)
{
    const struct sym_dwarf_sequence *sequence;
    const struct sym_dwarf_row *const row =
        sym_dwarf_lines_find(unit->lines, address, &sequence);

    if (row != NULL) {
        frame->file = file_path(lines, unit, row->file);
        frame->line = frame->file[0] == '\0' ? 0 : row->line;
        frame->discriminator =
            unit->lines->discriminators == NULL
                ? 0
                : unit->lines->discriminators[row - unit->lines->rows];
    }
}

/* Names the frame, and goes on with the scope around; NULL: that was the outermost. */
static struct sym_dwarf_scope *
take_scope(struct sym_dwarf_unit *unit, struct sym_dwarf_scope *scope,
           struct sym_frame *frame)
{
    sym_dwarf_name_scope(unit, scope);
    frame->name = scope->name;
    frame->system_name = scope->system_name;
    frame->start_line = scope->start_line;
    return scope->parent == SYM_DWARF_NO_SCOPE ? NULL
                                               : &unit->scopes->items[scope->parent];
}

static struct sym_dwarf_unit *
find_unit(struct sym_lines *lines, uint64_t address)
{
    struct sym_dwarf_unit *const unit = sym_dwarf_find_unit(lines->own, address);

    return unit != NULL && read_lines(unit) ? unit : NULL;
}

size_t
sym_lines_find(struct sym_lines *lines, uint64_t address, struct sym_frame **frames)
{
    static const struct sym_frame nothing = {.name = "", .system_name = "", .file = ""};
    struct sym_dwarf_unit *unit;
    struct sym_dwarf_unit *functions;
    struct sym_dwarf_scope *scope;
    size_t count = 0;

    *frames = lines->frames;
    unit = find_unit(lines, address);
    if (unit == NULL) {
        return 0;
    }
    functions = sym_dwarf_split_find(lines->split, unit);
    scope = sym_dwarf_find_scope(functions, address);
    lines->frames[0] = nothing;
    set_line(lines, unit, address, &lines->frames[0]);
    if (scope == NULL) {
        return lines->frames[0].line > 0;
    }
    while (scope != NULL && count < FRAMES_MAX) {
        struct sym_dwarf_scope *around =
            take_scope(functions, scope, &lines->frames[count++]);

        if (around != NULL && count < FRAMES_MAX) {
            lines->frames[count] = nothing;
            lines->frames[count].file = file_path(lines, unit, scope->call_file);
            lines->frames[count].line = scope->call_line;
            lines->frames[count].discriminator = scope->call_discriminator;
        }
        scope = around;
    }
    return count;
}

/* --- rows --- */

bool
sym_lines_rows(struct sym_lines *lines, uint64_t start, uint64_t end,
               sym_line_row *take, void *context)
{
    const struct sym_dwarf_sequence *sequence;
    struct sym_dwarf_unit *unit;

    for (uint64_t at = start; at < end && (unit = find_unit(lines, at)) != NULL;
         at = sequence->end) {
        const struct sym_dwarf_row *row =
            sym_dwarf_lines_find(unit->lines, at, &sequence);
        const struct sym_dwarf_row *behind;

        if (row == NULL) {
            break;
        }
        behind = unit->lines->rows + sequence->first + sequence->count;
        for (; row < behind && row->address < end; row++) {
            if (!take(context, row->address, file_path(lines, unit, row->file),
                      row->line)) {
                return false;
            }
        }
    }
    return true;
}
