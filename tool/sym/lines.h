/* SPDX-License-Identifier: MIT */
/*
 * lines.h - source file and line of an address, by libdw.
 *
 * libdw trusts that what it reads holds still, follows names in the file to other files, and loads
 * sections that lines do not need. So it is given a copy in memory of just those that they do need.
 */
#ifndef SYM_LINES_H
#define SYM_LINES_H

#include "sym/elf_file.h"

struct sym_lines;

/* NULL if there is no line table, if it is too large, or memory ran out. The file may be closed after. */
struct sym_lines *sym_lines_open(const struct sym_elf *file);
void sym_lines_close(struct sym_lines *lines); /* NULL is allowed */

/* False if nothing is known. file lives as long as lines. */
bool sym_lines_find(struct sym_lines *lines, uint64_t address, const char **file,
                    uint32_t *line);

#endif
