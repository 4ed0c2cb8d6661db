/* SPDX-License-Identifier: MIT */
/*
 * elf_file.h - opens an untrusted ELF file for reading.
 *
 * Invariants: every offset and size is checked against the file's size, in 64 bits,
 * before libelf or malloc gets it; every allocation is limited by the size of the file
 * and by the limits below. The file is mapped: if it shrinks meanwhile, SIGBUS ends the
 * process, which reads no other image. A file with damaged section headers still has
 * its program headers.
 */
#ifndef SYMBOLS_READER_ELF_FILE_H
#define SYMBOLS_READER_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits against forged files; real files stay far below. */
#define SYM_ELF_SEGMENTS_MAX (1u << 12)
#define SYM_ELF_TABLE_BYTES_MAX (UINT64_C(1) << 30)
#define SYM_ELF_BUILD_ID_BYTES_MAX 64u

struct sym_elf {
    Elf *elf;
    const unsigned char *bytes;
    uint64_t size;
    int fd; /* of a mapped file; -1: it is in memory */
    uint16_t machine;
    bool wide; /* 64-bit */
    bool big_endian;
    GElf_Shdr *sections; /* a copy, which costs no calls of libelf */
    size_t section_count;
    size_t names; /* index of the section with the names of sections */
    GElf_Phdr *segments;
    size_t segment_count;
};

/*
 * Open a file, or one in memory. fd must stay open and bytes must stay until
 * sym_elf_close. Returns 0; -ENOEXEC if it is no ELF file or its header is damaged;
 * -ENOMEM; or another negative errno of reading.
 */
int sym_elf_open(struct sym_elf *file, int fd);
int sym_elf_open_memory(struct sym_elf *file, const void *bytes, size_t size);
void sym_elf_close(struct sym_elf *file);

/* Copy size bytes at a file offset. Returns false if the file has less there. */
bool sym_elf_read(const struct sym_elf *file, uint64_t offset, void *to, size_t size);

/* Get the file offset of the byte at a link-time address, and left, the number of bytes
 * from it on that are both in its segment and in the file. Returns false if the file
 * has no byte of that address. */
bool sym_elf_find_offset(const struct sym_elf *file, uint64_t address, uint64_t *offset,
                         uint64_t *left);

/* Return the index of the first section of that name; 0: there is none. */
size_t sym_elf_find_section(const struct sym_elf *file, const char *name);

/* Whether the section has bytes in the file (it is not SHT_NOBITS), all of them. */
bool sym_elf_section_in_file(const struct sym_elf *file, size_t index);

/*
 * Return a copy of the section's bytes with a NUL after them, for free(); or NULL if
 * they are not in the file, compressed, or more than limit, or memory ran out.
 */
char *sym_elf_section_copy(const struct sym_elf *file, size_t index, uint64_t limit,
                           size_t *size);

/* Copy the GNU build-id. Returns its size, or 0 if there is none. */
size_t sym_elf_build_id(const struct sym_elf *file,
                        unsigned char id[SYM_ELF_BUILD_ID_BYTES_MAX]);

#endif
