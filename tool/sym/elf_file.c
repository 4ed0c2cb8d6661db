/* SPDX-License-Identifier: MIT */
/*
 * elf_file.c - reads ELF headers, sections and notes with every bound checked first.
 */
#include "sym/elf_file.h"

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

uint64_t
sym_elf_integer(const struct sym_elf *file, const unsigned char *bytes, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++) {
        value = value << 8 | bytes[file->big_endian ? i : size - 1 - i];
    }
    return value;
}

static bool
header_is_sane(struct sym_elf *file)
{
    unsigned char header[sizeof(Elf64_Ehdr)] = {0};

    if (!sym_elf_read(file, 0, header, sizeof(Elf32_Ehdr)) ||
        memcmp(header, ELFMAG, SELFMAG) != 0 || header[EI_VERSION] != EV_CURRENT ||
        (header[EI_DATA] != ELFDATA2LSB && header[EI_DATA] != ELFDATA2MSB) ||
        (header[EI_CLASS] != ELFCLASS64 && header[EI_CLASS] != ELFCLASS32)) {
        return false;
    }
    if (header[EI_CLASS] == ELFCLASS64 &&
        !sym_elf_read(file, 0, header, sizeof(header))) {
        return false;
    }
    file->wide = header[EI_CLASS] == ELFCLASS64;
    file->big_endian = header[EI_DATA] == ELFDATA2MSB;
    return true;
}

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

static int
load_sections(struct sym_elf *file)
{
    size_t count;
    size_t names;

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
    if (elf_getshdrstrndx(file->elf, &names) == 0) {
        file->section_names = sym_elf_section_copy(file, names, SYM_ELF_NAMES_BYTES_MAX,
                                                   &file->section_names_size);
    }
    return 0;
}

static int
open_headers(struct sym_elf *file)
{
    GElf_Ehdr header;
    int error;

    if (!header_is_sane(file)) {
        return -ENOEXEC;
    }
    file->elf = elf_memory((char *)(uintptr_t)file->bytes, (size_t)file->size);
    if (file->elf == NULL || elf_kind(file->elf) != ELF_K_ELF ||
        gelf_getehdr(file->elf, &header) == NULL) {
        return -ENOEXEC;
    }
    file->machine = header.e_machine;
    error = load_segments(file);
    return error != 0 ? error : load_sections(file);
}

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
        *file = (struct sym_elf){.bytes = NULL};
        return size <= 0 || errno == ENODEV ? -ENOEXEC : -errno;
    }
    *file = (struct sym_elf){.bytes = bytes, .size = (uint64_t)size, .mapped = true};
    return open_or_close(file);
}

int
sym_elf_open_memory(struct sym_elf *file, const void *bytes, size_t size)
{
    *file = (struct sym_elf){.bytes = bytes, .size = size};
    return open_or_close(file);
}

void
sym_elf_close(struct sym_elf *file)
{
    elf_end(file->elf);
    free(file->segments);
    free(file->sections);
    free(file->section_names);
    if (file->mapped) {
        munmap((void *)(uintptr_t)file->bytes, (size_t)file->size);
    }
    *file = (struct sym_elf){.bytes = NULL};
}

const char *
sym_elf_section_name(const struct sym_elf *file, size_t index)
{
    if (index >= file->section_count || file->section_names == NULL ||
        file->sections[index].sh_name >= file->section_names_size) {
        return "";
    }
    return file->section_names + file->sections[index].sh_name;
}

size_t
sym_elf_find_section(const struct sym_elf *file, const char *name)
{
    for (size_t i = 1; i < file->section_count; i++) {
        if (strcmp(sym_elf_section_name(file, i), name) == 0) {
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

static size_t
build_id_in_notes(Elf_Data *data, unsigned char *id)
{
    GElf_Nhdr note;
    size_t name_offset;
    size_t text_offset;
    size_t next;

    for (size_t at = 0;
         (next = gelf_getnote(data, at, &note, &name_offset, &text_offset)) > 0;
         at = next) {
        const char *bytes = data->d_buf;

        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
            memcmp(bytes + name_offset, "GNU", sizeof("GNU")) == 0 &&
            note.n_descsz > 0 && note.n_descsz <= SYM_ELF_BUILD_ID_BYTES_MAX) {
            memcpy(id, bytes + text_offset, note.n_descsz);
            return note.n_descsz;
        }
    }
    return 0;
}

static size_t
build_id_at(const struct sym_elf *file, uint64_t offset, uint64_t size,
            uint64_t alignment, unsigned char *id)
{
    const Elf_Type type = alignment == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
    Elf_Data *data;

    if (size == 0 || size > SYM_ELF_NOTE_BYTES_MAX ||
        !range_in_file(file, offset, size)) {
        return 0;
    }
    data = elf_getdata_rawchunk(file->elf, (int64_t)offset, (size_t)size, type);
    return data == NULL || data->d_buf == NULL ? 0 : build_id_in_notes(data, id);
}

size_t
sym_elf_build_id(const struct sym_elf *file,
                 unsigned char id[SYM_ELF_BUILD_ID_BYTES_MAX])
{
    unsigned int looked_at = 0;
    size_t size = 0;

    for (size_t i = 0; i < file->segment_count && size == 0; i++) {
        const GElf_Phdr *segment = &file->segments[i];

        if (segment->p_type == PT_NOTE && looked_at++ < SYM_ELF_NOTES_MAX) {
            size = build_id_at(file, segment->p_offset, segment->p_filesz,
                               segment->p_align, id);
        }
    }
    for (size_t i = 1; i < file->section_count && size == 0; i++) {
        const GElf_Shdr *section = &file->sections[i];

        if (section->sh_type == SHT_NOTE && sym_elf_section_in_file(file, i) &&
            looked_at++ < SYM_ELF_NOTES_MAX) {
            size = build_id_at(file, section->sh_offset, section->sh_size,
                               section->sh_addralign, id);
        }
    }
    return size;
}
