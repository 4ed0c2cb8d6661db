/* SPDX-License-Identifier: MIT */
/*
 * lines.h - source file and line of an address, and the functions that were inlined
 * there.
 *
 * Each file's debug information is read once, at opening, and only units that an
 * address is asked for are looked into. What was found out stays.
 */
#ifndef SYMBOLS_READER_LINES_H
#define SYMBOLS_READER_LINES_H

#include "symbols/reader/elf_file.h"
#include "symbols/reader/reader.h"

struct sym_lines;

/* sym_lines_source - where lines are read from. */
struct sym_lines_source {
    const struct sym_elf *file;    /* open; may be closed after */
    const char *root;              /* "" or the folder that stands for "/" */
    const char *path;              /* of file, below root: links in it begin there */
    const char *image;             /* path of the image below root */
    const struct sym_files *files; /* outlives lines */
    struct sym_budget *budget;     /* of the image, which outlives lines */
    bool discriminators;
};

/*
 * NULL if there is no debug information, if it is too large, or memory or the budget
 * ran out. What is read later is taken from the budget too; what is too much has no
 * lines.
 *
 *   note  kept if nothing is to be said, else for people: why there are none, or not
 *         all
 */
struct sym_lines *sym_lines_open(const struct sym_lines_source *source, char *note,
                                 size_t note_size);
void sym_lines_close(struct sym_lines *lines); /* NULL is allowed */

/*
 * The functions at an address, innermost first: the last is not inlined. A name is ""
 * if there is a line and no function. 0 if nothing is known.
 *
 *   frames  out: valid until the next call, the caller may write there; strings live as
 *           long as lines
 */
size_t sym_lines_find(struct sym_lines *lines, uint64_t address,
                      struct sym_frame **frames);

/* As sym_image_line_rows. */
bool sym_lines_rows(struct sym_lines *lines, uint64_t start, uint64_t end,
                    sym_line_row *take, void *context);

/* "" or, for people, what was found missing until now. */
const char *sym_lines_note(struct sym_lines *lines);

#endif
