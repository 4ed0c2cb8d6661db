/* SPDX-License-Identifier: MIT */
/*
 * elf_file.h - an ELF file that nobody trusts, open for reading.
 *
 * Invariants: every offset and size is held against the file's size in 64 bits before
 * libelf or malloc sees it; every allocation is bounded by what the file really holds
 * and by the limits below. A file is mapped: one that shrinks meanwhile ends the
 * process by SIGBUS, which is one for this file only. A file with damaged section
 * headers still has its program headers.
 */
#ifndef SYMBOLS_READER_ELF_FILE_H
#define SYMBOLS_READER_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No real file comes near these; a forged one gets no further. */
#define SYM_ELF_SEGMENTS_MAX (1u << 12)
#define SYM_ELF_TABLE_BYTES_MAX (UINT64_C(1) << 30)
#define SYM_ELF_BUILD_ID_BYTES_MAX 64u

struct sym_elf {
    Elf *elf;
    const unsigned char *bytes;
    uint64_t size;
    bool mapped;
    uint16_t machine;
    bool wide; /* 64-bit */
    bool big_endian;
    GElf_Shdr *sections; /* a copy: no call per look */
    size_t section_count;
    size_t names; /* the section of their names */
    GElf_Phdr *segments;
    size_t segment_count;
};

/*
 * Open. fd may be closed after; bytes are borrowed until sym_elf_close. 0, -ENOEXEC if
 * it is no ELF file or its header makes no sense, -ENOMEM, or another negative errno of
 * reading.
 */
int sym_elf_open(struct sym_elf *file, int fd);
int sym_elf_open_memory(struct sym_elf *file, const void *bytes, size_t size);
void sym_elf_close(struct sym_elf *file);

/* Exactly size bytes at offset, or false. */
bool sym_elf_read(const struct sym_elf *file, uint64_t offset, void *to, size_t size);

/* Where in the file the byte of an address is, and how many follow it in its segment
 * and in the file. False: it has none. */
bool sym_elf_place(const struct sym_elf *file, uint64_t address, uint64_t *offset,
                   uint64_t *left);

/* Index of the first section of that name, type PROGBITS or the like; 0 if none. */
size_t sym_elf_find_section(const struct sym_elf *file, const char *name);

/* Does the section have bytes, all of them inside the file? */
bool sym_elf_section_in_file(const struct sym_elf *file, size_t index);

/*
 * A copy of a section's bytes, as they stand in the file, with a NUL behind them:
 * malloc'd, or NULL if it is not in the file, compressed, or larger than limit.
 */
char *sym_elf_section_copy(const struct sym_elf *file, size_t index, uint64_t limit,
                           size_t *size);

/* The GNU build-id; its size, or 0 if there is none. */
size_t sym_elf_build_id(const struct sym_elf *file,
                        unsigned char id[SYM_ELF_BUILD_ID_BYTES_MAX]);

#endif
