/* SPDX-License-Identifier: MIT */
/*
 * dwarf_files.c - reads the file tables of DWARF 2 to 4, in which folder 0 is that of
 * the compilation and there is no file 0, and of DWARF 5, which declares the format of
 * its entries in front of them.
 */
#include "symbols/reader/dwarf_files.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* reading - the state while a header is read. */
struct reading {
    struct sym_dwarf_files *files;
    const struct sym_dwarf_image *image;
    struct sym_dwarf_bytes header; /* failed: the table is damaged */
    uint8_t offset_bytes;
    bool full;            /* memory or the budget ran out */
    uint64_t unread_form; /* 0: none */
};

/* Add a folder. It may be NULL: there is none, or its entry is damaged. */
static void
add_folder(struct reading *reading, const char *folder)
{
    struct sym_dwarf_files *const files = reading->files;
    const char **const larger =
        sym_budget_grow(files->budget, files->folders, files->folder_count,
                        &files->folder_room, sizeof(*larger));

    if (larger == NULL) {
        reading->full = true;
        return;
    }
    files->folders = larger;
    files->folders[files->folder_count++] = folder;
}

/* Add a file. name may be NULL: damaged. folder is an index of the folders. */
static void
add_file(struct reading *reading, const char *name, uint64_t folder)
{
    struct sym_dwarf_files *const files = reading->files;
    struct sym_dwarf_file_name *larger;

    if (name == NULL || folder >= files->folder_count) {
        sym_dwarf_bytes_fail(&reading->header);
        return;
    }
    larger = sym_budget_grow(files->budget, files->items, files->count, &files->room,
                             sizeof(*larger));
    if (larger == NULL) {
        reading->full = true;
        return;
    }
    files->items = larger;
    files->items[files->count++] =
        (struct sym_dwarf_file_name){.folder = files->folders[folder], .name = name};
}

/* Whether there is no reason yet to stop reading. */
static bool
goes_on(const struct reading *reading)
{
    return !reading->header.failed && !reading->full;
}

/* --- before version 5 --- */

/* Read what follows the name of a file, and add the file. */
static void
read_file(struct reading *reading, const char *name)
{
    const uint64_t folder = sym_dwarf_bytes_leb128(&reading->header);

    (void)sym_dwarf_bytes_leb128(&reading->header); /* when it was written */
    (void)sym_dwarf_bytes_leb128(&reading->header); /* its size */
    add_file(reading, name, folder);
}

/* Read the two lists, of folders and of files; an empty string ends each. */
static void
read_lists(struct reading *reading, const char *folder)
{
    struct sym_dwarf_bytes *const header = &reading->header;
    const char *text;

    add_folder(reading, folder);
    while (goes_on(reading) && (text = sym_dwarf_bytes_string(header))[0] != '\0') {
        add_folder(reading, text);
    }
    if (goes_on(reading)) {
        add_file(reading, "???", 0); /* file 0: the list begins with file 1 */
    }
    while (goes_on(reading) && (text = sym_dwarf_bytes_string(header))[0] != '\0') {
        read_file(reading, text);
    }
}

/* --- version 5 --- */

/* format - the fields of each entry: what they are (DW_LNCT_...) and their forms. */
struct format {
    size_t count;
    uint64_t kinds[UINT8_MAX];
    uint64_t forms[UINT8_MAX];
};

/* Read the format of the entries of a table. */
static void
read_format(struct reading *reading, struct format *format)
{
    format->count = (size_t)sym_dwarf_bytes_number(&reading->header, 1);
    for (size_t i = 0; i < format->count; i++) {
        format->kinds[i] = sym_dwarf_bytes_leb128(&reading->header);
        format->forms[i] = sym_dwarf_bytes_leb128(&reading->header);
    }
}

/* Longer strings are no names: each entry of a forged table may name the same one. */
enum { STRING_BYTES_MAX = 1 << 16 };

/* Return the string at an offset of a section, or NULL if there is none. */
static const char *
section_string(const struct sym_dwarf_part *section, uint64_t offset)
{
    uint64_t most;

    if (offset >= section->size) {
        return NULL;
    }
    most = section->size - offset;
    most = most < STRING_BYTES_MAX ? most : STRING_BYTES_MAX;
    return memchr(section->bytes + offset, '\0', (size_t)most) != NULL
               ? (const char *)section->bytes + offset
               : NULL;
}

/* Read one field of an entry, and set text or number by its form, or none of the two if
 * the form is skipped. A form that makes no sense here counts as damage. */
static void
read_content(struct reading *reading, uint64_t form, const char **text,
             uint64_t *number)
{
    struct sym_dwarf_bytes *const header = &reading->header;

    switch (form) {
    case DW_FORM_string:
        *text = sym_dwarf_bytes_string(header);
        break;
    case DW_FORM_line_strp:
        *text = section_string(&reading->image->parts[SYM_DWARF_LINE_STR],
                               sym_dwarf_bytes_number(header, reading->offset_bytes));
        break;
    case DW_FORM_strp:
        *text = section_string(&reading->image->parts[SYM_DWARF_STR],
                               sym_dwarf_bytes_number(header, reading->offset_bytes));
        break;
    case DW_FORM_udata:
        *number = sym_dwarf_bytes_leb128(header);
        break;
    case DW_FORM_data1:
        *number = sym_dwarf_bytes_number(header, 1);
        break;
    case DW_FORM_data2:
        *number = sym_dwarf_bytes_number(header, 2);
        break;
    case DW_FORM_data4:
        *number = sym_dwarf_bytes_number(header, 4);
        break;
    case DW_FORM_data8:
        *number = sym_dwarf_bytes_number(header, 8);
        break;
    case DW_FORM_data16:
        sym_dwarf_bytes_skip(header, 16);
        break;
    case DW_FORM_block:
        sym_dwarf_bytes_skip(header, sym_dwarf_bytes_leb128(header));
        break;
    case DW_FORM_strp_sup:
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
        reading->unread_form = form;
        sym_dwarf_bytes_fail(header);
        break;
    default:
        sym_dwarf_bytes_fail(header);
        break;
    }
}

/* Read an entry. Returns its path, or NULL if it is damaged or has none. folder: out,
 * the number of its folder; UINT64_MAX if it has none. */
static const char *
read_entry(struct reading *reading, const struct format *format, uint64_t *folder)
{
    const char *path = NULL;

    *folder = UINT64_MAX;
    for (size_t i = 0; i < format->count; i++) {
        const char *text = NULL;
        uint64_t number = UINT64_MAX;

        read_content(reading, format->forms[i], &text, &number);
        if (format->kinds[i] == DW_LNCT_path) {
            path = text;
        } else if (format->kinds[i] == DW_LNCT_directory_index) {
            *folder = number;
        }
    }
    return reading->header.failed ? NULL : path;
}

/* Fail if entries have no fields: they would take no bytes, and a forged count would
 * loop for ever. */
static void
refuse_empty(struct reading *reading, const struct format *format, uint64_t count)
{
    if (format->count == 0 && count > 0) {
        sym_dwarf_bytes_fail(&reading->header);
    }
}

/* Read the two tables, of folders and of files, each after its format. */
static void
read_tables(struct reading *reading)
{
    struct format format;
    uint64_t folder;
    uint64_t count;

    read_format(reading, &format);
    count = sym_dwarf_bytes_leb128(&reading->header);
    refuse_empty(reading, &format, count);
    for (uint64_t i = 0; i < count && goes_on(reading); i++) {
        add_folder(reading, read_entry(reading, &format, &folder));
    }
    read_format(reading, &format);
    count = sym_dwarf_bytes_leb128(&reading->header);
    refuse_empty(reading, &format, count);
    for (uint64_t i = 0; i < count && goes_on(reading); i++) {
        const char *const path = read_entry(reading, &format, &folder);

        add_file(reading, path, folder);
    }
}

/* --- both --- */

bool
sym_dwarf_files_read(struct sym_dwarf_files *files, const struct sym_dwarf_image *image,
                     uint64_t offset, const char *folder, struct sym_budget *budget)
{
    struct reading reading = {.files = files, .image = image};
    struct sym_dwarf_program program;

    *files = (struct sym_dwarf_files){.budget = budget};
    if (!sym_dwarf_program_begin(&program, &image->parts[SYM_DWARF_LINE], offset)) {
        return true;
    }
    reading.header = program.tables;
    reading.offset_bytes = program.offset_bytes;
    if (program.version < 5) {
        read_lists(&reading, folder);
    } else {
        read_tables(&reading);
    }
    if (!goes_on(&reading)) {
        sym_dwarf_files_finish(files);
        files->unread_form = reading.unread_form;
    }
    return !reading.full;
}

void
sym_dwarf_files_define(struct sym_dwarf_files *files,
                       const struct sym_dwarf_program *program)
{
    struct reading reading = {
        .files = files, .header = {.at = program->file_at, .end = program->bytes.end}};
    const char *name;

    if (files->count > 0) {
        name = sym_dwarf_bytes_string(&reading.header);
        read_file(&reading, name);
    }
}

void
sym_dwarf_files_finish(struct sym_dwarf_files *files)
{
    if (files->budget != NULL) {
        sym_budget_give(files->budget, files->folder_room * sizeof(*files->folders) +
                                           files->room * sizeof(*files->items));
    }
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
    }
    free(files->folders);
    free(files->items);
    *files = (struct sym_dwarf_files){.budget = files->budget};
}
