/* SPDX-License-Identifier: MIT */
/*
 * dwarf_files.h - the numbered files of a line table, read from its header only,
 * without its rows.
 */
#ifndef SYMBOLS_READER_DWARF_FILES_H
#define SYMBOLS_READER_DWARF_FILES_H

#include "symbols/reader/dwarf_program.h"

/* sym_dwarf_file_name - a file as the table has it. The strings are those in the image,
 * which must outlive it. */
struct sym_dwarf_file_name {
    const char *folder; /* may be relative to the compilation's; NULL: none */
    const char *name;   /* relative to folder, or absolute */
    char *path;         /* of both; NULL until asked for */
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
 * Read the files of the line table at an offset of .debug_line. A damaged table has no
 * files, and neither has one with names in a form that no compiler is known to write
 * there: in the supplementary file, or by number in .debug_str_offsets.
 *
 *   folder  the compilation's (DW_AT_comp_dir), or NULL; must outlive files
 *   budget  memory is taken from it, and given back by sym_dwarf_files_finish
 *
 * Returns false if memory or the budget ran out; then there are no files, and nothing
 * is taken from the budget.
 */
bool sym_dwarf_files_read(struct sym_dwarf_files *files,
                          const struct sym_dwarf_image *image, uint64_t offset,
                          const char *folder, struct sym_budget *budget);

/* Add the file that the program defined; called after SYM_DWARF_FILE. Does nothing if
 * the table has no files, since its numbers would be wrong, or if the file's entry is
 * damaged or memory runs out. */
void sym_dwarf_files_define(struct sym_dwarf_files *files,
                            const struct sym_dwarf_program *program);

void sym_dwarf_files_finish(struct sym_dwarf_files *files);

#endif
