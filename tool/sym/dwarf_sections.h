/* SPDX-License-Identifier: MIT */
/*
 * dwarf_sections.h - the debug sections that names and lines need, in memory.
 *
 * What is read twice from a file may differ, and a mapped file that shrinks kills its
 * reader. So each section is copied once, unpacked.
 */
#ifndef SYM_DWARF_SECTIONS_H
#define SYM_DWARF_SECTIONS_H

#include "sym/budget.h"
#include "sym/elf_file.h"

enum sym_dwarf_section_id {
    SYM_DWARF_INFO, /* there always, and so is the next */
    SYM_DWARF_ABBREV,
    SYM_DWARF_LINE,
    SYM_DWARF_STR,
    SYM_DWARF_LINE_STR,
    SYM_DWARF_RANGES,
    SYM_DWARF_RNGLISTS,
    SYM_DWARF_ADDR,
    SYM_DWARF_STR_OFFSETS,
    SYM_DWARF_CU_INDEX, /* of a package of split units */
    SYM_DWARF_SECTIONS
};

struct sym_dwarf_section {
    const unsigned char *bytes;
    uint64_t size; /* 0: there is none */
};

struct sym_dwarf_sections {
    struct sym_dwarf_section items[SYM_DWARF_SECTIONS];
    bool owned; /* their bytes are */
    struct sym_budget
        *budget; /* they and what is made of them are taken from it; may be NULL */
};

/*
 * Copies. The file may be closed after.
 *
 *   budget borrowed by sections
 *   split  sections of split units (".debug_info.dwo") instead of ordinary ones
 *   why    out: "" or, for people, why a file that has such sections cannot be used
 *
 * False if there is no .debug_info, with what it needs, in native byte order and
 * readable.
 */
bool sym_dwarf_sections_copy(const struct sym_elf *file, bool split,
                             struct sym_budget *budget,
                             struct sym_dwarf_sections *sections, char *why,
                             size_t why_size);

void sym_dwarf_sections_finish(struct sym_dwarf_sections *sections);

#endif
