/* SPDX-License-Identifier: MIT */
/*
 * dwarf_split.c - finds split units.
 */
#include "sym/dwarf_split.h"

#include "sym/dwarf_constants.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* opened - a .dwo file or a package; dwarf is NULL if it is none. */
struct opened {
    char *path;
    struct sym_dwarf *dwarf;
};

struct sym_dwarf_split {
    const char *root;
    const char *image;
    char *debug;
    struct opened *files;
    size_t file_count;
    size_t file_room;
    struct sym_dwarf *package;
    bool package_sought;
    uint64_t missing;
    uint64_t refused;
    char first[PATH_MAX]; /* name of the first that was missing or refused */
    char note[PATH_MAX + 200];
    const struct sym_files *others; /* where they come from */
    struct sym_budget *budget;
};

struct sym_dwarf_split *
sym_dwarf_split_new(const char *root, const char *image, const char *debug,
                    const struct sym_files *files, struct sym_budget *budget)
{
    struct sym_dwarf_split *split = calloc(1, sizeof(*split));

    if (split == NULL) {
        return NULL;
    }
    split->others = files;
    split->budget = budget;
    split->root = root;
    split->image = image;
    split->debug = strdup(debug);
    if (split->debug == NULL) {
        sym_dwarf_split_delete(split);
        return NULL;
    }
    return split;
}

void
sym_dwarf_split_delete(struct sym_dwarf_split *split)
{
    if (split == NULL) {
        return;
    }
    for (size_t i = 0; i < split->file_count; i++) {
        sym_dwarf_close(split->files[i].dwarf);
        free(split->files[i].path);
    }
    free(split->files);
    free(split->debug);
    free(split);
}

/* --- files --- */

static struct sym_dwarf *
read_file(struct sym_dwarf_split *split, int fd)
{
    struct sym_dwarf_sections sections;
    struct sym_elf file;
    struct sym_dwarf *dwarf = NULL;
    char why[256];

    if (sym_elf_open(&file, fd) != 0) {
        return NULL;
    }
    if (sym_dwarf_sections_copy(&file, true, split->budget, &sections, why,
                                sizeof(why))) {
        dwarf = sym_dwarf_open(&sections, true);
    }
    sym_elf_close(&file);
    return dwarf;
}

static struct opened *
append_opened(struct sym_dwarf_split *split, const char *path)
{
    struct opened *const larger =
        sym_budget_grow(split->budget, split->files, split->file_count,
                        &split->file_room, sizeof(*larger));

    if (larger == NULL) {
        return NULL;
    }
    split->files = larger;
    split->files[split->file_count] = (struct opened){.path = strdup(path)};
    return split->files[split->file_count].path == NULL
               ? NULL
               : &split->files[split->file_count++];
}

/* The last ones are the likely ones: units of one file stand together. */
static struct opened *
find_opened(const struct sym_dwarf_split *split, const char *path)
{
    for (size_t i = 0; i < split->file_count && i < 16; i++) {
        struct opened *file = &split->files[split->file_count - 1 - i];

        if (strcmp(file->path, path) == 0) {
            return file;
        }
    }
    return NULL;
}

static struct sym_dwarf *
open_below(struct sym_dwarf_split *split, const char *root, const char *path)
{
    const int fd = split->others->open == NULL
                       ? -1
                       : split->others->open(split->others->context, root, path);
    struct opened *file;

    if (fd < 0) {
        return NULL;
    }
    file = append_opened(split, path);
    if (file != NULL) {
        file->dwarf = read_file(split, fd);
    }
    close(fd);
    return file == NULL ? NULL : file->dwarf;
}

/* In the image's root, then in ours. */
static struct sym_dwarf *
open_path(struct sym_dwarf_split *split, const char *path)
{
    const struct opened *known = find_opened(split, path);
    struct sym_dwarf *dwarf;

    if (known != NULL) {
        return known->dwarf;
    }
    dwarf = open_below(split, split->root, path);
    return dwarf == NULL && split->root[0] != '\0' ? open_below(split, "", path)
                                                   : dwarf;
}

/* --- units --- */

static struct sym_dwarf_unit *
join(struct sym_dwarf_unit *skeleton, struct sym_dwarf_unit *unit)
{
    struct sym_dwarf_entry root;

    if (unit->skeleton != NULL || unit->address_bytes != skeleton->address_bytes ||
        !sym_dwarf_root(unit, &root) || unit->id != skeleton->id) {
        return NULL;
    }
    unit->skeleton = skeleton;
    unit->low_pc = skeleton->low_pc;
    skeleton->split = unit;
    return unit;
}

/* A .dwo file has one such unit, now and then a few, and units of types. */
static struct sym_dwarf_unit *
join_in_file(struct sym_dwarf_unit *skeleton, struct sym_dwarf *dwarf)
{
    for (size_t i = 0; dwarf != NULL && i < dwarf->unit_count; i++) {
        struct sym_dwarf_unit *unit = &dwarf->units[i];

        if ((unit->type == DW_UT_split_compile || unit->type == DW_UT_compile) &&
            join(skeleton, unit) != NULL) {
            return unit;
        }
    }
    return NULL;
}

/* --- packages --- */

/* index - .debug_cu_index: a hash table of unit ids, and each unit's part of each
 * section. */
struct index {
    const struct sym_dwarf_section *section;
    uint32_t version;
    uint64_t columns;
    uint64_t units;
    uint64_t slots; /* a power of two */
};

static uint64_t
index_word(const struct index *index, uint64_t at, size_t size)
{
    struct sym_dwarf_cursor cursor =
        sym_dwarf_cursor_at(index->section->bytes, index->section->size, at);

    return cursor.failed ? 0 : sym_dwarf_fixed(&cursor, size);
}

/* Version 5 has two bytes of version and two of padding; the one before had four. */
static bool
read_index(const struct sym_dwarf *dwarf, struct index *index)
{
    index->section = &dwarf->sections.items[SYM_DWARF_CU_INDEX];
    if (index->section->size < 16) {
        return false;
    }
    index->version = (uint32_t)index_word(index, 0, 4);
    if (index->version != 2) {
        index->version = (uint32_t)index_word(index, 0, 2);
    }
    index->columns = index_word(index, 4, 4);
    index->units = index_word(index, 8, 4);
    index->slots = index_word(index, 12, 4);
    return (index->version == 2 || index->version == 5) && index->columns <= 16 &&
           index->slots > 0 && (index->slots & (index->slots - 1)) == 0 &&
           index->slots <= index->section->size / 12;
}

/* The row of a unit, from 1 on; 0: it is not there. */
static uint64_t
find_row(const struct index *index, uint64_t id)
{
    const uint64_t mask = index->slots - 1;
    const uint64_t step = ((id >> 32) & mask) | 1;
    uint64_t slot = id & mask;

    for (uint64_t i = 0; i < index->slots; i++) {
        const uint64_t row = index_word(index, 16 + 8 * index->slots + 4 * slot, 4);

        if (row == 0) {
            return 0;
        }
        if (index_word(index, 16 + 8 * slot, 8) == id) {
            return row <= index->units ? row : 0;
        }
        slot = (slot + step) & mask;
    }
    return 0;
}

/* The section of a column, or SYM_DWARF_SECTIONS if it is of no use here. */
static enum sym_dwarf_section_id
section_of_column(const struct index *index, uint64_t id)
{
    switch (id) {
    case DW_SECT_INFO:
        return SYM_DWARF_INFO;
    case DW_SECT_ABBREV:
        return SYM_DWARF_ABBREV;
    case DW_SECT_LINE:
        return SYM_DWARF_LINE;
    case DW_SECT_STR_OFFSETS:
        return SYM_DWARF_STR_OFFSETS;
    case DW_SECT_RNGLISTS: /* was another section before */
        return index->version == 5 ? SYM_DWARF_RNGLISTS : SYM_DWARF_SECTIONS;
    default:
        return SYM_DWARF_SECTIONS;
    }
}

static void
read_parts(const struct index *index, uint64_t row,
           struct sym_dwarf_part parts[SYM_DWARF_SECTIONS])
{
    const uint64_t ids = 16 + 12 * index->slots;
    const uint64_t offsets = ids + 4 * index->columns;
    const uint64_t sizes = offsets + 4 * index->columns * index->units;
    const uint64_t at = 4 * index->columns * (row - 1);

    for (uint64_t column = 0; column < index->columns; column++) {
        const enum sym_dwarf_section_id id =
            section_of_column(index, index_word(index, ids + 4 * column, 4));

        if (id != SYM_DWARF_SECTIONS) {
            parts[id].offset = index_word(index, offsets + at + 4 * column, 4);
            parts[id].size = index_word(index, sizes + at + 4 * column, 4);
        }
    }
}

static struct sym_dwarf_unit *
join_in_package(struct sym_dwarf_unit *skeleton, struct sym_dwarf *dwarf)
{
    struct sym_dwarf_part parts[SYM_DWARF_SECTIONS] = {{0, 0}};
    struct sym_dwarf_unit *unit;
    struct index index;
    uint64_t row;
    size_t at;

    if (dwarf == NULL || !read_index(dwarf, &index)) {
        return NULL;
    }
    row = find_row(&index, skeleton->id);
    if (row == 0) {
        return NULL;
    }
    read_parts(&index, row, parts);
    at = sym_count_below(dwarf->units, dwarf->unit_count, sizeof(*dwarf->units),
                         parts[SYM_DWARF_INFO].offset);
    unit = &dwarf->units[at];
    if (at == dwarf->unit_count || unit->offset != parts[SYM_DWARF_INFO].offset ||
        unit->root_read) {
        return NULL;
    }
    memcpy(unit->parts, parts, sizeof(parts));
    return join(skeleton, unit);
}

static struct sym_dwarf *
find_package(struct sym_dwarf_split *split)
{
    const char *const beside[] = {split->image, split->debug};
    char path[PATH_MAX];

    if (split->package_sought) {
        return split->package;
    }
    split->package_sought = true;
    for (size_t i = 0; i < 2 && split->package == NULL; i++) {
        const int length = snprintf(path, sizeof(path), "%s.dwp", beside[i]);

        if (beside[i][0] == '/' && length > 0 && (size_t)length < sizeof(path)) {
            split->package = open_path(split, path);
        }
    }
    return split->package;
}

/* --- search --- */

/* folder + name, if that makes an absolute path. refused: set if there is a file
 * without the unit. */
static struct sym_dwarf_unit *
join_at(struct sym_dwarf_split *split, struct sym_dwarf_unit *skeleton,
        const char *folder, size_t folder_length, const char *name, bool *refused)
{
    char path[PATH_MAX];
    struct sym_dwarf *dwarf;
    struct sym_dwarf_unit *unit;
    int length;

    if (name[0] == '/') {
        folder_length = 0;
    } else if (folder_length == 0 || folder[0] != '/') {
        return NULL;
    }
    length = snprintf(path, sizeof(path), "%.*s%s%s", (int)folder_length, folder,
                      folder_length > 0 ? "/" : "", name);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return NULL;
    }
    dwarf = open_path(split, path);
    unit = join_in_file(skeleton, dwarf);
    *refused |= dwarf != NULL && unit == NULL;
    return unit;
}

/* As the compiler says, then beside the image. */
static struct sym_dwarf_unit *
join_by_name(struct sym_dwarf_split *split, struct sym_dwarf_unit *skeleton,
             const char *folder, const char *name)
{
    const char *slash = strrchr(split->image, '/');
    const char *last = strrchr(name, '/');
    const size_t beside = slash == NULL ? 0 : (size_t)(slash - split->image);
    bool refused = false;
    struct sym_dwarf_unit *unit =
        join_at(split, skeleton, folder, strlen(folder), name, &refused);

    if (unit == NULL && beside < INT_MAX) {
        unit = join_at(split, skeleton, split->image, beside,
                       last == NULL ? name : last + 1, &refused);
    }
    if (unit == NULL && split->missing + split->refused == 0) {
        snprintf(split->first, sizeof(split->first), "%s", name);
    }
    split->refused += unit == NULL && refused;
    split->missing += unit == NULL && !refused;
    return unit;
}

static void
seek(struct sym_dwarf_split *split, struct sym_dwarf_unit *unit)
{
    struct sym_dwarf_entry root;
    const char *name;
    const char *folder;

    if (!sym_dwarf_root(unit, &root)) {
        return;
    }
    name = sym_dwarf_string(unit, &root.dwo_name);
    folder = sym_dwarf_string(unit, &root.comp_dir);
    if (name == NULL || name[0] == '\0' ||
        join_in_package(unit, find_package(split)) != NULL) {
        return;
    }
    (void)join_by_name(split, unit, folder == NULL ? "" : folder, name);
}

struct sym_dwarf_unit *
sym_dwarf_split_find(struct sym_dwarf_split *split, struct sym_dwarf_unit *unit)
{
    if (!unit->split_sought) {
        unit->split_sought = true;
        seek(split, unit);
    }
    return unit->split != NULL ? unit->split : unit;
}

const char *
sym_dwarf_split_note(struct sym_dwarf_split *split)
{
    if (split->missing + split->refused == 0) {
        return "";
    }
    snprintf(
        split->note, sizeof(split->note),
        "split debug files of %s: %llu not there, %llu of another build, first %s: "
        "what was inlined there is not named",
        split->image, (unsigned long long)split->missing,
        (unsigned long long)split->refused, split->first);
    return split->note;
}
