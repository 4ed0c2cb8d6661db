/* SPDX-License-Identifier: MIT */
/*
 * elf_dynamic.h - reads what the dynamic linker needs from an ELF file, and what is
 * therefore there even if all sections were removed: symbols and names of versions.
 */
#ifndef SYMBOLS_READER_ELF_DYNAMIC_H
#define SYMBOLS_READER_ELF_DYNAMIC_H

#include "symbols/reader/elf_file.h"

/* sym_elf_dynamic - the values of PT_DYNAMIC: link-time addresses and sizes in bytes. A
 * value that is missing is 0. */
struct sym_elf_dynamic {
    uint64_t symbols;
    uint64_t symbol_bytes; /* of one */
    uint64_t strings;
    uint64_t strings_size;
    uint64_t hash;
    uint64_t gnu_hash;
    uint64_t defined_versions;
    uint64_t needed_versions;
};

/* Read PT_DYNAMIC. Returns false if the file has no such segment, or not all of it. */
bool sym_elf_dynamic_read(struct sym_elf_dynamic *dynamic, const struct sym_elf *file);

/* Return the number of dynamic symbols, by a hash table; 0 if there is none or it is
 * damaged. */
uint64_t sym_elf_dynamic_count(const struct sym_elf_dynamic *dynamic,
                               const struct sym_elf *file);

/* sym_elf_versions - the names of the symbol versions that the file defines or needs,
 * sorted. All zero: none. */
struct sym_elf_versions {
    char **names;
    size_t count;
};

/* Read the versions. If memory runs out there are none. */
void sym_elf_versions_read(struct sym_elf_versions *versions,
                           const struct sym_elf *file);
void sym_elf_versions_finish(struct sym_elf_versions *versions);

/* Whether a name ends with "@" and one of the versions, as linkers write it:
 * "memcpy@@GLIBC_2.14", "memcpy@GLIBC_2.2.5". */
bool sym_elf_versions_end(const struct sym_elf_versions *versions, const char *name);

#endif
