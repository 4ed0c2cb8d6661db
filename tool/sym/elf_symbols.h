/* SPDX-License-Identifier: MIT */
/*
 * elf_symbols.h - the functions that an ELF file's tables tell of.
 */
#ifndef SYM_ELF_SYMBOLS_H
#define SYM_ELF_SYMBOLS_H

#include "sym/elf_file.h"
#include "sym/table.h"

/*
 * Each adds to the table what it finds; names are copied. 1 if there was a table, 0 if
 * there was none or nobody can read it, -ENOMEM, -EFBIG if it is more than the table's
 * budget has.
 *
 *   section_type  SHT_SYMTAB or SHT_DYNSYM
 */
int sym_elf_add_symbols(const struct sym_elf *file, uint32_t section_type,
                        struct sym_table *table);

/* The first section of a type that is in the file; 0: none is. */
size_t sym_elf_find_type(const struct sym_elf *file, uint32_t type);

/* The symbol at bytes as the file has it. */
GElf_Sym sym_elf_decode_symbol(const struct sym_elf *file, const unsigned char *bytes);

/* The stubs of the procedure linkage table, "puts@plt" (x86-64, AArch64). */
int sym_elf_add_stubs(const struct sym_elf *file, struct sym_table *table);

/* The symbol table in the compressed .gnu_debugdata section. */
int sym_elf_add_mini_debuginfo(const struct sym_elf *file, struct sym_table *table);

#endif
