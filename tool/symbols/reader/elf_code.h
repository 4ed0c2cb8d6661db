/* SPDX-License-Identifier: MIT */
/*
 * elf_code.h - which addresses of an ELF file are code.
 */
#ifndef SYMBOLS_READER_ELF_CODE_H
#define SYMBOLS_READER_ELF_CODE_H

#include "symbols/border/table.h"
#include "symbols/reader/elf_file.h"

/* sym_elf_code - executable areas: in order, disjoint, not empty. */
struct sym_elf_code {
    struct sym_bound *areas;
    size_t count;
};

/*
 * Read the executable areas: the executable sections, whose headers a separate debug
 * file has, too; or the executable segments of a file without sections. Returns false
 * if memory ran out.
 */
bool sym_elf_code_read(struct sym_elf_code *code, const struct sym_elf *file);
void sym_elf_code_finish(struct sym_elf_code *code);

bool sym_elf_code_holds(const struct sym_elf_code *code, uint64_t address);

#endif
