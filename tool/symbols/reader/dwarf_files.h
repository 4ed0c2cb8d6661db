/* SPDX-License-Identifier: MIT */
/*
 * dwarf_files.h - the files that a line table has, by number, read from its header
 * alone: rows need not be read for them.
 */
#ifndef SYMBOLS_READER_DWARF_FILES_H
#define SYMBOLS_READER_DWARF_FILES_H

#include "symbols/reader/dwarf_program.h"

/* sym_dwarf_file_name - as the table has it, where its image has the strings. */
struct sym_dwarf_file_name {
    const char *folder; /* NULL: none */
    const char *name;   /* in the folder, unless it begins with a slash */
    char *path;         /* of it; NULL until asked for */
};

struct sym_dwarf_files {
    const char **folders;
    size_t folder_count;
    size_t folder_room;
    struct sym_dwarf_file_name *items;
    size_t count;
    size_t room;
    uint64_t unread_form; /* DW_FORM_... of names, for which there are none; 0: none */
    struct sym_budget *budget;
};

/*
 * Reads the files of the table at an offset of .debug_line. A damaged table has none,
 * and so has one with names in a form that no compiler is known to write there: in the
 * supplementary file, or by number in .debug_str_offsets.
 *
 *   folder  of the compilation, or NULL
 *   budget  what they are taken from, until they are finished
 *
 * False: out of memory or budget; then there are none, and nothing is taken.
 */
bool sym_dwarf_files_read(struct sym_dwarf_files *files,
                          const struct sym_dwarf_image *image, uint64_t offset,
                          const char *folder, struct sym_budget *budget);

/* Adds the one that an operation defined, if there are any. */
void sym_dwarf_files_define(struct sym_dwarf_files *files,
                            const struct sym_dwarf_program *program);

void sym_dwarf_files_finish(struct sym_dwarf_files *files);

#endif
