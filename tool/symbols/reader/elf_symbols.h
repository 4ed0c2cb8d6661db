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
    char *strings; /* the caller's */
    size_t strings_size;
};

/* 0, -ENOENT if there is none of the type (SHT_SYMTAB or SHT_DYNSYM), -EIO if it cannot
 * be read, -EFBIG if its names are more than the budget has. */
int sym_elf_symbols_open(struct sym_elf_symbols *symbols, const struct sym_elf *file,
                         uint32_t type, struct sym_budget *budget);

/* A symbol and its name, or "". False behind the last one. */
bool sym_elf_symbol(const struct sym_elf_symbols *symbols, uint64_t index,
                    GElf_Sym *symbol, const char **name);

/*
 * Each adds to the table what it finds; names are copied. 1 if there was a table, 0 if
 * there was none or nobody can read it, -ENOMEM, -EFBIG if it is more than the table's
 * budget has.
 *
 *   type      SHT_SYMTAB or SHT_DYNSYM
 *   versions  of the image: names that end with one have SYM_TAG_VERSIONED; NULL: none
 *
 * Local symbols of a source file, as the table has it, have a group.
 */
int sym_elf_add_symbols(const struct sym_elf *file, uint32_t type,
                        const struct sym_elf_versions *versions,
                        struct sym_table *table);

/* The stubs of the procedure linkage table, "puts@plt" (x86-64, AArch64). */
int sym_elf_add_stubs(const struct sym_elf *file, struct sym_table *table);

/* Bounds of functions, by .eh_frame: those without a name need them. */
int sym_elf_add_unwind(const struct sym_elf *file, struct sym_table *table);

/* The symbol table in the compressed .gnu_debugdata section. */
int sym_elf_add_mini_debuginfo(const struct sym_elf *file,
                               const struct sym_elf_versions *versions,
                               struct sym_table *table);

#endif
