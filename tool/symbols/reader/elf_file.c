/* SPDX-License-Identifier: MIT */
/*
 * elf_file.c - reads ELF headers, sections and notes with every bound checked first.
 */
#include "symbols/reader/elf_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool
range_in_file(const struct sym_elf *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset;
}

bool
sym_elf_read(const struct sym_elf *file, uint64_t offset, void *to, size_t size)
{
    if (!range_in_file(file, offset, size)) {
        return false;
    }
    memcpy(to, file->bytes + offset, size);
    return true;
}

/* Copy the program headers; of a damaged table those before the damage. Returns 0 or
 * -ENOMEM. */
static int
load_segments(struct sym_elf *file)
{
    size_t count;

    if (elf_getphdrnum(file->elf, &count) != 0 || count == 0 ||
        count > SYM_ELF_SEGMENTS_MAX) {
        return 0;
    }
    file->segments = calloc(count, sizeof(*file->segments));
    if (file->segments == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        if (gelf_getphdr(file->elf, (int)i, &file->segments[i]) == NULL) {
            return 0;
        }
        file->segment_count = i + 1;
    }
    return 0;
}

/* Copy the section headers; of a damaged table none. Returns 0 or -ENOMEM. */
static int
load_sections(struct sym_elf *file)
{
    size_t count;

    if (elf_getshdrnum(file->elf, &count) != 0 || count == 0) {
        return 0;
    }
    file->sections = calloc(count, sizeof(*file->sections));
    if (file->sections == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        if (gelf_getshdr(elf_getscn(file->elf, i), &file->sections[i]) == NULL) {
            return 0; /* table damaged: no section is believed */
        }
    }
    file->section_count = count;
    if (elf_getshdrstrndx(file->elf, &file->names) != 0) {
        file->names = 0;
    }
    return 0;
}

/* Give the bytes of the file to libelf, and copy its headers. Returns 0 or a negative
 * errno, as sym_elf_open does. */
static int
open_headers(struct sym_elf *file)
{
    GElf_Ehdr header;
    int error;

    file->elf = elf_memory((char *)(uintptr_t)file->bytes, (size_t)file->size);
    if (file->elf == NULL || elf_kind(file->elf) != ELF_K_ELF ||
        gelf_getehdr(file->elf, &header) == NULL) {
        return -ENOEXEC;
    }
    file->machine = header.e_machine;
    file->wide = header.e_ident[EI_CLASS] == ELFCLASS64;
    file->big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
    error = load_segments(file);
    return error != 0 ? error : load_sections(file);
}

/* Open the bytes of the file; on failure they are unmapped. Returns 0 or a negative
 * errno. */
static int
open_or_close(struct sym_elf *file)
{
    int error;

    if (elf_version(EV_CURRENT) == EV_NONE) {
        return -ENOSYS;
    }
    error = open_headers(file);
    if (error != 0) {
        sym_elf_close(file);
    }
    return error;
}

int
sym_elf_open(struct sym_elf *file, int fd)
{
    const off_t size = lseek(fd, 0, SEEK_END);
    void *const bytes = size <= 0
                            ? MAP_FAILED
                            : mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);

    if (bytes == MAP_FAILED) {
        /* What is empty, or has no size or no pages, such as a pipe or a device, is no
         * ELF file. */
        *file = (struct sym_elf){.fd = -1};
        return size <= 0 || errno == ENODEV ? -ENOEXEC : -errno;
    }
    *file = (struct sym_elf){.bytes = bytes, .size = (uint64_t)size, .fd = fd};
    return open_or_close(file);
}

int
sym_elf_open_memory(struct sym_elf *file, const void *bytes, size_t size)
{
    *file = (struct sym_elf){.bytes = bytes, .size = size, .fd = -1};
    return open_or_close(file);
}

void
sym_elf_close(struct sym_elf *file)
{
    elf_end(file->elf);
    free(file->segments);
    free(file->sections);
    if (file->fd >= 0 && file->bytes != NULL) {
        munmap((void *)(uintptr_t)file->bytes, (size_t)file->size);
    }
    *file = (struct sym_elf){.fd = -1};
}

bool
sym_elf_find_offset(const struct sym_elf *file, uint64_t address, uint64_t *offset,
                    uint64_t *left)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const GElf_Phdr *const segment = &file->segments[i];
        const uint64_t inside = address - segment->p_vaddr;

        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            inside < segment->p_filesz && segment->p_offset < file->size &&
            inside < file->size - segment->p_offset) {
            const uint64_t in_segment = segment->p_filesz - inside;
            const uint64_t in_file = file->size - segment->p_offset - inside;

            *offset = segment->p_offset + inside;
            *left = in_segment < in_file ? in_segment : in_file;
            return true;
        }
    }
    return false;
}

size_t
sym_elf_find_section(const struct sym_elf *file, const char *name)
{
    for (size_t i = 1; i < file->section_count; i++) {
        const char *const own =
            elf_strptr(file->elf, file->names, file->sections[i].sh_name);

        if (own != NULL && strcmp(own, name) == 0) {
            return i;
        }
    }
    return 0;
}

bool
sym_elf_section_in_file(const struct sym_elf *file, size_t index)
{
    const GElf_Shdr *section;

    if (index >= file->section_count) {
        return false;
    }
    section = &file->sections[index];
    return section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL &&
           section->sh_size > 0 &&
           range_in_file(file, section->sh_offset, section->sh_size);
}

char *
sym_elf_section_copy(const struct sym_elf *file, size_t index, uint64_t limit,
                     size_t *size)
{
    const GElf_Shdr *section;
    char *copy;

    if (!sym_elf_section_in_file(file, index)) {
        return NULL;
    }
    section = &file->sections[index];
    if (section->sh_size > limit || (section->sh_flags & SHF_COMPRESSED) != 0) {
        return NULL;
    }
    copy = malloc((size_t)section->sh_size + 1);
    if (copy == NULL ||
        !sym_elf_read(file, section->sh_offset, copy, (size_t)section->sh_size)) {
        free(copy);
        return NULL;
    }
    copy[section->sh_size] = '\0';
    *size = (size_t)section->sh_size;
    return copy;
}

size_t
sym_elf_build_id(const struct sym_elf *file,
                 unsigned char id[SYM_ELF_BUILD_ID_BYTES_MAX])
{
    const void *found;
    const ssize_t size = dwelf_elf_gnu_build_id(file->elf, &found);

    if (size <= 0 || size > SYM_ELF_BUILD_ID_BYTES_MAX) {
        return 0;
    }
    memcpy(id, found, (size_t)size);
    return (size_t)size;
}
