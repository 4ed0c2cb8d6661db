/* SPDX-License-Identifier: MIT */
/*
 * elf_dynamic.h - what the dynamic linker needs of an ELF file, which is there without
 * any section: symbols, and the names of versions.
 */
#ifndef SYMBOLS_READER_ELF_DYNAMIC_H
#define SYMBOLS_READER_ELF_DYNAMIC_H

#include "symbols/reader/elf_file.h"

/* sym_elf_dynamic - link-time addresses and sizes; 0: there is none. */
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

/* False if the file has no such segment. */
bool sym_elf_dynamic_read(struct sym_elf_dynamic *dynamic, const struct sym_elf *file);

/* How many symbols there are, as the hash table says; 0: it cannot be known. */
uint64_t sym_elf_dynamic_count(const struct sym_elf_dynamic *dynamic,
                               const struct sym_elf *file);

/* sym_elf_versions - names of versions that symbols are defined with or need, sorted.
 * All zero has none. */
struct sym_elf_versions {
    char **names;
    size_t count;
};

/* Reads them; none if memory runs out. */
void sym_elf_versions_read(struct sym_elf_versions *versions,
                           const struct sym_elf *file);
void sym_elf_versions_finish(struct sym_elf_versions *versions);

/* Is what stands behind the last "@" of a name one of them? As a linker writes it:
 * "memcpy@@GLIBC_2.14", "memcpy@GLIBC_2.2.5". */
bool sym_elf_versions_end(const struct sym_elf_versions *versions, const char *name);

#endif
