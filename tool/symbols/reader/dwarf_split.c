/* SPDX-License-Identifier: MIT */
/*
 * dwarf_split.c - finds the split units of skeletons, in packages and in files of their
 * own.
 */
#include "symbols/reader/dwarf_split.h"

#include "base/path.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- files --- */

/* Take the debug sections of split units from a file below root. Returns false if it
 * cannot be opened, has none, or memory or the budget ran out. */
static bool
open_below(const struct sym_dwarf_split *split, const char *root, const char *path,
           struct sym_dwarf_image *image)
{
    const int fd = split->files->open == NULL
                       ? -1
                       : split->files->open(split->files->context, root, path);
    struct sym_elf file;
    char why[256];
    bool read = false;

    if (fd >= 0 && sym_elf_open(&file, fd) == 0) {
        read = sym_dwarf_image_copy(image, &file, /* split */ true, split->files,
                                    split->own->budget, why, sizeof(why));
        sym_elf_close(&file);
    }
    if (fd >= 0) {
        close(fd);
    }
    return read;
}

/* Open a file in the image's root or, if it is not there, in ours. */
static bool
open_path(const struct sym_dwarf_split *split, const char *path,
          struct sym_dwarf_image *image)
{
    return open_below(split, split->root, path, image) ||
           (split->root[0] != '\0' && open_below(split, "", path, image));
}

/* --- packages --- */

/* index - .debug_cu_index: a hash table of unit ids, and their parts of sections. */
struct index {
    const struct sym_dwarf_part *section;
    uint32_t version;
    uint64_t columns;
    uint64_t units;
    uint64_t slots; /* a power of two */
};

/* Return the word of four bytes at an offset of the section; 0 beyond its end. */
static uint32_t
index_word(const struct index *index, uint64_t at)
{
    uint32_t word = 0;

    if (at <= index->section->size - sizeof(word)) {
        memcpy(&word, index->section->bytes + at, sizeof(word));
    }
    return word;
}

/* .debug_cu_index has a head, the ids and the rows of all slots, the kinds of the
 * columns, and for each row the offsets and then the sizes of its columns. */
enum { HEAD_BYTES = 16, ID_BYTES = 8, WORD_BYTES = 4 };

/* Read the head of .debug_cu_index. Version 5 has two bytes of version and two of
 * padding; the one before had four. Returns false if it makes no sense. */
static bool
read_index(const struct sym_dwarf_image *package, struct index *index)
{
    uint16_t version;

    index->section = &package->parts[SYM_DWARF_CU_INDEX];
    if (index->section->size < HEAD_BYTES) {
        return false;
    }
    memcpy(&version, index->section->bytes, sizeof(version));
    index->version = index_word(index, 0) == 2 ? 2 : version;
    index->columns = index_word(index, 4);
    index->units = index_word(index, 8);
    index->slots = index_word(index, 12);
    return (index->version == 2 || index->version == 5) && index->columns <= 16 &&
           index->slots > 0 && (index->slots & (index->slots - 1)) == 0 &&
           index->slots <= index->section->size / (ID_BYTES + WORD_BYTES);
}

/* Return the row of a unit, from 1 on; 0: it is not there. */
static uint64_t
find_row(const struct index *index, uint64_t id)
{
    const uint64_t mask = index->slots - 1;
    const uint64_t step = ((id >> 32) & mask) | 1;
    uint64_t slot = id & mask;
    uint64_t found;

    for (uint64_t i = 0; i < index->slots; i++) {
        const uint64_t row =
            index_word(index, HEAD_BYTES + ID_BYTES * index->slots + WORD_BYTES * slot);

        if (row == 0) {
            return 0;
        }
        memcpy(&found, index->section->bytes + HEAD_BYTES + ID_BYTES * slot,
               sizeof(found));
        if (found == id) {
            return row <= index->units ? row : 0;
        }
        slot = (slot + step) & mask;
    }
    return 0;
}

/* The sections of columns, by the kind that the index gives (DW_SECT_...). Of
 * DW_SECT_INFO it is 0, SYM_DWARF_INFO; other kinds with 0 are not needed. */
static const enum sym_dwarf_section columns[] = {
    [DW_SECT_ABBREV] = SYM_DWARF_ABBREV,
    [DW_SECT_STR_OFFSETS] = SYM_DWARF_STR_OFFSETS,
    [DW_SECT_RNGLISTS] = SYM_DWARF_RNGLISTS, /* before version 5: macros */
};

/* Find the parts of sections that belong to a unit. Returns false if one is not inside
 * its section. */
static bool
read_parts(const struct index *index, uint64_t row,
           const struct sym_dwarf_image *package,
           struct sym_dwarf_part parts[SYM_DWARF_SECTIONS])
{
    const uint64_t kinds = HEAD_BYTES + (ID_BYTES + WORD_BYTES) * index->slots;
    const uint64_t row_bytes = WORD_BYTES * index->columns;
    const uint64_t offsets = kinds + row_bytes;
    const uint64_t sizes = offsets + row_bytes * index->units;
    const uint64_t at = row_bytes * (row - 1);

    parts[SYM_DWARF_STR] = package->parts[SYM_DWARF_STR];
    for (uint64_t column = 0; column < index->columns; column++) {
        const uint32_t kind = index_word(index, kinds + WORD_BYTES * column);
        const bool known = kind < sizeof(columns) / sizeof(columns[0]) &&
                           (kind != DW_SECT_RNGLISTS || index->version == 5);
        /* SYM_DWARF_INFO stands for kinds that are not used here, too. */
        const enum sym_dwarf_section id = known ? columns[kind] : SYM_DWARF_INFO;
        const uint64_t offset = index_word(index, offsets + at + WORD_BYTES * column);
        const uint64_t size = index_word(index, sizes + at + WORD_BYTES * column);

        if (id != SYM_DWARF_INFO || kind == DW_SECT_INFO) {
            const struct sym_dwarf_part *const section = &package->parts[id];

            if (offset > section->size || size > section->size - offset) {
                return false;
            }
            parts[id] = (struct sym_dwarf_part){section->bytes + offset, size};
        }
    }
    return true;
}

/* Find the split unit of a skeleton in the package, by the id of the skeleton, and join
 * the two. Returns false if it is not there. */
static bool
join_in_package(const struct sym_dwarf_split *split, struct sym_dwarf_unit *unit)
{
    const struct sym_dwarf_image *const package = &split->package;
    struct sym_dwarf_part parts[SYM_DWARF_SECTIONS] = {{NULL, 0}};
    struct index index;
    uint64_t row;
    uint64_t id;

    if (package->bytes == NULL || !read_index(package, &index) ||
        dwarf_cu_info(unit->root.cu, NULL, NULL, NULL, NULL, &id, NULL, NULL) != 0) {
        return false;
    }
    row = find_row(&index, id);
    return row != 0 && read_parts(&index, row, package, parts) &&
           sym_dwarf_split_join(split, unit, parts);
}

/* Open the package of the image or of its debug file, FILE.dwp; it is sought once. */
static void
find_package(struct sym_dwarf_split *split)
{
    const char *const beside[] = {split->image, split->debug};
    bool found = false;
    char path[PATH_MAX];

    for (size_t i = 0; i < 2 && !found && !split->package_sought; i++) {
        const int length = snprintf(path, sizeof(path), "%s.dwp", beside[i]);

        found = beside[i][0] == '/' && length > 0 && (size_t)length < sizeof(path) &&
                open_path(split, path, &split->package);
    }
    split->package_sought = true;
}

/* --- search --- */

/* Join a skeleton with its split unit in the file folder + name, if that makes an
 * absolute path. refused: out, set if there is a file without the split unit. */
static bool
join_at(const struct sym_dwarf_split *split, struct sym_dwarf_unit *unit,
        const char *folder, size_t folder_length, const char *name, bool *refused)
{
    struct sym_dwarf_image file;
    char path[PATH_MAX];
    bool joined;
    int length;

    if (name[0] == '/') {
        folder_length = 0;
    } else if (folder_length == 0 || folder[0] != '/') {
        return false;
    }
    length = snprintf(path, sizeof(path), "%.*s%s%s", (int)folder_length, folder,
                      folder_length > 0 ? "/" : "", name);
    if (length < 0 || (size_t)length >= sizeof(path) ||
        !open_path(split, path, &file)) {
        return false;
    }
    joined = sym_dwarf_split_join(split, unit, file.parts);
    sym_dwarf_image_finish(&file);
    *refused |= !joined;
    return joined;
}

/* Join a skeleton with its split unit in a file of its own: the one that the compiler
 * names, or else one beside the image. If there is none, that is counted. */
static void
join_by_name(struct sym_dwarf_split *split, struct sym_dwarf_unit *unit,
             const char *folder, const char *name)
{
    const char *const slash = strrchr(split->image, '/');
    const size_t beside = slash == NULL ? 0 : (size_t)(slash - split->image);
    bool refused = false;

    if (join_at(split, unit, folder, strlen(folder), name, &refused) ||
        (beside < INT_MAX &&
         join_at(split, unit, split->image, beside, path_file_name(name), &refused))) {
        return;
    }
    if (split->missing + split->refused == 0) {
        snprintf(split->first, sizeof(split->first), "%s", name);
    }
    split->refused += refused;
    split->missing += !refused;
}

void
sym_dwarf_split_find(struct sym_dwarf_split *split, struct sym_dwarf_unit *unit)
{
    Dwarf_Attribute found;
    const char *folder;
    const char *name;

    if (unit->split_sought) {
        return;
    }
    unit->split_sought = true;
    /* dwarf_attr_integrate would have libdw open the split unit itself. */
    folder = sym_dwarf_text(dwarf_attr(&unit->root, DW_AT_comp_dir, &found));
    name = sym_dwarf_text(dwarf_attr(&unit->root, DW_AT_dwo_name, &found));
    if (name == NULL) {
        name = sym_dwarf_text(dwarf_attr(&unit->root, DW_AT_GNU_dwo_name, &found));
    }
    if (name != NULL && name[0] != '\0') {
        find_package(split);
        if (!join_in_package(split, unit)) {
            join_by_name(split, unit, folder == NULL ? "" : folder, name);
        }
    }
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
