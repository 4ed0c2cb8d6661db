/* SPDX-License-Identifier: MIT */
/*
 * elf_symbols.h - the functions that an ELF file's tables list.
 */
#ifndef SYMBOLS_READER_ELF_SYMBOLS_H
#define SYMBOLS_READER_ELF_SYMBOLS_H

#include "symbols/border/table.h"
#include "symbols/reader/elf_dynamic.h"

/* sym_elf_symbols - a symbol table and a copy of its names. */
struct sym_elf_symbols {
    Elf_Data *data;
    char *strings; /* the caller frees it */
    size_t strings_size;
};

/* Open the symbol table of a type, SHT_SYMTAB or SHT_DYNSYM. Returns 0; -ENOENT if
 * there is none; -EIO if it cannot be read; -EFBIG if the budget has less than its
 * names take. */
int sym_elf_symbols_open(struct sym_elf_symbols *symbols, const struct sym_elf *file,
                         uint32_t type, struct sym_budget *budget);

/* Get a symbol and its name, which is "" if it has none. Returns false if there is no
 * symbol with that index. */
bool sym_elf_symbol(const struct sym_elf_symbols *symbols, uint64_t index,
                    GElf_Sym *symbol, const char **name);

/*
 * This and the next functions add symbols from one source each to the table, and copy
 * names. They return 1 if the file has such a source, 0 if it has none or a damaged
 * one, -ENOMEM, or -EFBIG if the table's budget ran out.
 *
 *   type      SHT_SYMTAB or SHT_DYNSYM
 *   versions  the symbol versions of the image: a name that ends with one gets
 *             SYM_TAG_VERSIONED; NULL: none
 *
 * Local symbols get a group for each source file that the symbol table names.
 */
int sym_elf_add_symbols(const struct sym_elf *file, uint32_t type,
                        const struct sym_elf_versions *versions,
                        struct sym_table *table);

/* The stubs of the procedure linkage table, "puts@plt" (x86-64, AArch64). This and the
 * next function return -ENOMEM also if the budget ran out. */
int sym_elf_add_stubs(const struct sym_elf *file, struct sym_table *table);

/* The bounds of functions, by .eh_frame: functions without a name have no others. */
int sym_elf_add_unwind(const struct sym_elf *file, struct sym_table *table);

/* The symbol table in the compressed .gnu_debugdata section. */
int sym_elf_add_mini_debuginfo(const struct sym_elf *file,
                               const struct sym_elf_versions *versions,
                               struct sym_table *table);

#endif
