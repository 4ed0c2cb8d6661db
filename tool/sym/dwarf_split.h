/* SPDX-License-Identifier: MIT */
/*
 * dwarf_split.h - the other half of a unit that the compiler split (-gsplit-dwarf): in
 * a file of its own, .dwo, or in a package beside the image, .dwp. Either is believed
 * when the unit's id is in it.
 */
#ifndef SYM_DWARF_SPLIT_H
#define SYM_DWARF_SPLIT_H

#include "sym/dwarf_reader.h"
#include "sym/reader.h"

struct sym_dwarf_split;

/*
 *   root   "" or the folder that stands for "/"
 *   image  path of the image in root; both outlive the result
 *   debug  path of the file with the skeletons in root; may be the same; is copied
 *
 *   files  where others come from; outlives the result
 *
 * NULL: out of memory.
 */
struct sym_dwarf_split *sym_dwarf_split_new(const char *root, const char *image,
                                            const char *debug,
                                            const struct sym_files *files,
                                            struct sym_budget *budget);

/* Before the file of the skeletons is closed, or after. NULL is allowed. */
void sym_dwarf_split_delete(struct sym_dwarf_split *split);

/* The unit that has the functions of a unit: its other half, or itself if it is whole
 * or that is not found. Files are looked for once. */
struct sym_dwarf_unit *sym_dwarf_split_find(struct sym_dwarf_split *split,
                                            struct sym_dwarf_unit *unit);

/* "" or, for people, which other halves were not found or not used. */
const char *sym_dwarf_split_note(struct sym_dwarf_split *split);

#endif
