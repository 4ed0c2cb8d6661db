/* SPDX-License-Identifier: MIT */
/*
 * lines.h - source file and line of an address, and the functions that were inlined
 * there.
 *
 * The debug sections of a file are copied or mapped at opening. Units are read when an
 * address in them is looked up, and what was read is kept until sym_lines_close.
 */
#ifndef SYMBOLS_READER_LINES_H
#define SYMBOLS_READER_LINES_H

#include "symbols/reader/elf_file.h"
#include "symbols/reader/reader.h"

struct sym_lines;

/* sym_lines_source - where lines are read from. */
struct sym_lines_source {
    const struct sym_elf *file; /* the file that has them; may be closed afterwards */
    const char *root;           /* "" or the folder that stands for "/" */
    const char *path;           /* of file below root; its relative links start there */
    const char *image;          /* path of the image below root */
    const struct sym_files *files; /* outlives lines */
    struct sym_budget *budget;     /* of the image; outlives lines */
    bool discriminators; /* whether frames get discriminators; else they are 0 */
};

/*
 * Open the debug information of a file. Memory is taken from the budget, now and when
 * units are read; a unit for which it runs out has no lines.
 *
 *   note  in and out: replaced if there are no lines, or not all, by the reason for
 *         people; else unchanged
 *
 * Returns NULL if there is no debug information, or if memory or the budget ran out.
 */
struct sym_lines *sym_lines_open(const struct sym_lines_source *source, char *note,
                                 size_t note_size);
void sym_lines_close(struct sym_lines *lines); /* NULL is allowed */

/*
 * Find the functions at an address: innermost first, so that all but the last are
 * inlined calls.
 *
 *   frames  out: valid until the next call, and the caller may change them; their
 *           strings live as long as lines. The name is "" if only a line is known.
 *
 * Returns the number of frames, 0 if nothing is known.
 */
size_t sym_lines_find(struct sym_lines *lines, uint64_t address,
                      struct sym_frame **frames);

/* Do what sym_image_line_rows asks for: call take for the rows of line tables in
 * [start, end). */
bool sym_lines_rows(struct sym_lines *lines, uint64_t start, uint64_t end,
                    sym_line_row *take, void *context);

/* For people: which separate debug information was missing so far; "" for none. */
const char *sym_lines_note(struct sym_lines *lines);

#endif
