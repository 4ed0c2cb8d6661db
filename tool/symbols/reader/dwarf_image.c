/* SPDX-License-Identifier: MIT */
/*
 * dwarf_image.c - puts debug sections, unpacked, behind the headers of an ELF file.
 */
#include "symbols/reader/dwarf_image.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef NTPROF_HAS_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif
#ifdef NTPROF_HAS_ZSTD
#include <zstd.h>
#endif

/* ELFCOMPRESS_ZSTD, which elf.h of elfutils 0.188 does not have. */
enum { PACKING_ZSTD = 2 };

/* More than any memory has, and the sum of sizes does not wrap. */
#define BYTES_MAX (UINT64_C(1) << 48)

enum { NAME_BYTES = 32 };

/* The size on x86. Where it is another one, fewer pages are large ones. */
#define LARGE_PAGE_BYTES ((size_t)2 << 20)

/* Names of sections without ".debug_". Those of split units end with ".dwo", except the
 * index. */
static const char *const section_names[SYM_DWARF_SECTIONS] = {
    [SYM_DWARF_INFO] = "info",
    [SYM_DWARF_ABBREV] = "abbrev",
    [SYM_DWARF_LINE] = "line",
    [SYM_DWARF_STR] = "str",
    [SYM_DWARF_LINE_STR] = "line_str",
    [SYM_DWARF_RANGES] = "ranges",
    [SYM_DWARF_RNGLISTS] = "rnglists",
    [SYM_DWARF_ADDR] = "addr",
    [SYM_DWARF_STR_OFFSETS] = "str_offsets",
    [SYM_DWARF_CU_INDEX] = "cu_index",
    [SYM_DWARF_ARANGES] = "aranges",
    [SYM_DWARF_FRAME] = "frame",
};

/* --- images --- */

/* headers - of the ELF file. Section 0 is none, the last one has the names. */
struct headers {
    Elf64_Ehdr header;
    Elf64_Shdr sections[SYM_DWARF_SECTIONS + 2];
    char names[SYM_DWARF_SECTIONS + 2][NAME_BYTES];
    unsigned char build_id[SYM_ELF_BUILD_ID_BYTES_MAX]; /* of the file, for is_of */
};

/* Return the space for a section of this size: sections begin at multiples of 8. */
static uint64_t
rounded(uint64_t size)
{
    return (size + 7) & ~UINT64_C(7);
}

/* Return the size of an image with sections of these sizes. */
static uint64_t
size_of_image(const uint64_t sizes[SYM_DWARF_SECTIONS])
{
    /* A word of zeros at the end: libdw reads a string in .debug_info up to its NUL,
     * even beyond the end of the section. */
    uint64_t size = sizeof(struct headers) + sizeof(uint64_t);

    for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
        size += sizes[id] < BYTES_MAX ? rounded(sizes[id]) : BYTES_MAX;
    }
    return size;
}

/* Write the headers of an ELF file that has sections of these sizes, one after the
 * other behind the headers. */
static void
fill_headers(struct headers *headers, const uint64_t sizes[SYM_DWARF_SECTIONS])
{
    uint64_t at = sizeof(*headers);

    *headers = (struct headers){
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                               __BYTE_ORDER == __BIG_ENDIAN ? ELFDATA2MSB : ELFDATA2LSB,
                               EV_CURRENT},
                   .e_type = ET_DYN,
                   .e_version = EV_CURRENT,
                   .e_shoff = offsetof(struct headers, sections),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = SYM_DWARF_SECTIONS + 2,
                   .e_shstrndx = SYM_DWARF_SECTIONS + 1}};
    headers->sections[SYM_DWARF_SECTIONS + 1] =
        (Elf64_Shdr){.sh_type = SHT_STRTAB,
                     .sh_offset = offsetof(struct headers, names),
                     .sh_size = sizeof(headers->names)};
    for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
        if (sizes[id] > 0) {
            snprintf(headers->names[id + 1], NAME_BYTES, ".debug_%s",
                     section_names[id]);
            headers->sections[id + 1] =
                (Elf64_Shdr){.sh_name = (Elf64_Word)((id + 1) * NAME_BYTES),
                             .sh_type = SHT_PROGBITS,
                             .sh_offset = at,
                             .sh_size = sizes[id],
                             .sh_addralign = 1};
            at += rounded(sizes[id]);
        }
    }
}

/* Allocate an image, for free(), or return NULL. Large pages are asked for, as far as
 * the image fills them: each byte is written once, and the kernel clears a large page
 * in less time than it takes for the faults of 512 small ones. */
static unsigned char *
allocate_image(uint64_t size)
{
    const size_t large = (size_t)size / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
    void *bytes = NULL;

    if (large == 0) {
        return malloc((size_t)size);
    }
    if (posix_memalign(&bytes, LARGE_PAGE_BYTES, (size_t)size) != 0) {
        return NULL;
    }
    (void)madvise(bytes, large, MADV_HUGEPAGE);
    return bytes;
}

/* Clear what is behind each section, and the end of the image: the caller fills only
 * the sections. */
static void
clear_gaps(struct sym_dwarf_image *image)
{
    for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
        const struct sym_dwarf_part *const part = &image->parts[id];

        if (part->size > 0) {
            memset(part->bytes + part->size, 0,
                   (size_t)(rounded(part->size) - part->size));
        }
    }
    memset(image->bytes + image->size - sizeof(uint64_t), 0, sizeof(uint64_t));
}

/* Set the parts of an image with sections of these sizes, by its headers. */
static void
set_parts(struct sym_dwarf_image *image, const uint64_t sizes[SYM_DWARF_SECTIONS])
{
    const struct headers *const headers = (const void *)image->bytes;

    for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
        image->parts[id] = (struct sym_dwarf_part){
            image->bytes + headers->sections[id + 1].sh_offset, sizes[id]};
    }
}

bool
sym_dwarf_image_make(struct sym_dwarf_image *image,
                     const uint64_t sizes[SYM_DWARF_SECTIONS],
                     struct sym_budget *budget)
{
    const uint64_t size = size_of_image(sizes);

    *image = (struct sym_dwarf_image){.budget = budget};
    if (!sym_budget_take(budget, size)) {
        return false;
    }
    image->bytes = allocate_image(size);
    if (image->bytes == NULL) {
        sym_budget_give(budget, size);
        return false;
    }
    image->size = size;
    fill_headers((struct headers *)(void *)image->bytes, sizes);
    set_parts(image, sizes);
    clear_gaps(image);
    return true;
}

/* libdw calls this if memory runs out. Its own handler would print a line first, for
 * which a process without rights is killed; this exit status says what happened. */
static void __attribute__((noreturn)) exit_without_memory(void)
{
    _exit(ENOMEM);
}

static void
close_image(struct sym_dwarf_image *image)
{
    dwarf_end(image->dwarf);
    elf_end(image->elf);
    image->dwarf = NULL;
    image->elf = NULL;
}

bool
sym_dwarf_image_open(struct sym_dwarf_image *image)
{
    close_image(image);
    image->elf = elf_memory(
        (char *)image->bytes,
        (size_t)(image->mapped_bytes > 0 ? image->mapped_bytes : image->size));
    image->dwarf =
        image->elf == NULL ? NULL : dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
    if (image->dwarf == NULL) {
        return false;
    }
    dwarf_new_oom_handler(image->dwarf, exit_without_memory);
    return true;
}

struct sym_dwarf_part
sym_dwarf_image_part(Dwarf_CU *unit, enum sym_dwarf_section id)
{
    char *const bytes = elf_rawfile(dwarf_getelf(dwarf_cu_getdwarf(unit)), NULL);
    const struct headers *const headers = (const void *)bytes;

    return bytes == NULL
               ? (struct sym_dwarf_part){NULL, 0}
               : (struct sym_dwarf_part){(unsigned char *)bytes +
                                             headers->sections[id + 1].sh_offset,
                                         headers->sections[id + 1].sh_size};
}

void
sym_dwarf_image_finish(struct sym_dwarf_image *image)
{
    close_image(image);
    if (image->mapped_bytes > 0) {
        munmap(image->bytes, (size_t)image->mapped_bytes);
    } else {
        free(image->bytes);
    }
    sym_budget_give(image->budget, image->size);
    *image = (struct sym_dwarf_image){.bytes = NULL};
}

/* --- sections of a file --- */

/* stored - a section as its file has it. */
struct stored {
    const unsigned char *bytes; /* of the stream if packed */
    uint64_t stored_size;
    uint64_t size; /* unpacked; 0: there is none */
    bool packed;
    uint32_t packing; /* ELFCOMPRESS_ZLIB and the like, as a foreign header has it */
};

/* Set what the header before a compressed section says of it; size 0: it is damaged. */
static void
read_packing(const struct sym_elf *file, size_t index, struct stored *stored)
{
    const uint64_t header_size = file->wide ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
    GElf_Chdr header;

    if (gelf_getchdr(elf_getscn(file->elf, index), &header) == NULL) {
        stored->size = 0;
        return;
    }
    *stored =
        (struct stored){stored->bytes + header_size, stored->stored_size - header_size,
                        header.ch_size, true, header.ch_type};
}

/* Set what the header of an old ".zdebug_" section says of it: "ZLIB", the size in
 * eight bytes, most significant first, then the stream. Size 0: it is damaged. */
static void
read_old_packing(struct stored *stored)
{
    uint64_t size = 0;

    if (stored->stored_size > 12 && memcmp(stored->bytes, "ZLIB", 4) == 0) {
        memcpy(&size, stored->bytes + 4, sizeof(size));
    }
    *stored = (struct stored){stored->bytes + 12, stored->stored_size - 12,
                              be64toh(size), true, ELFCOMPRESS_ZLIB};
}

/* Find a section. Returns false if it is missing or cannot be read. */
static bool
find_section(const struct sym_elf *file, bool split, size_t id, struct stored *stored)
{
    const GElf_Shdr *section;
    char name[NAME_BYTES];
    size_t index;
    bool old;

    snprintf(name, sizeof(name), ".zdebug_%s%s", section_names[id],
             split && id != SYM_DWARF_CU_INDEX ? ".dwo" : "");
    index = sym_elf_find_section(file, name);
    old = index != 0;
    if (!old) {
        name[1] = '.'; /* ".debug_" begins there */
        index = sym_elf_find_section(file, name + 1);
    }
    if (index == 0 || !sym_elf_section_in_file(file, index)) {
        return false;
    }
    section = &file->sections[index];
    *stored = (struct stored){file->bytes + section->sh_offset, section->sh_size,
                              section->sh_size, false, 0};
    if (old) {
        read_old_packing(stored);
    } else if ((section->sh_flags & SHF_COMPRESSED) != 0) {
        read_packing(file, index, stored);
    }
    return stored->size > 0;
}

/* Decompress a section by zlib. Returns false unless it has exactly the size that its
 * header says. */
static bool
inflate_all(const struct stored *stored, unsigned char *to)
{
#ifdef NTPROF_HAS_LIBDEFLATE
    struct libdeflate_decompressor *const inflater = libdeflate_alloc_decompressor();
    const bool whole =
        inflater != NULL && libdeflate_zlib_decompress(
                                inflater, stored->bytes, (size_t)stored->stored_size,
                                to, (size_t)stored->size, NULL) == LIBDEFLATE_SUCCESS;

    libdeflate_free_decompressor(inflater);
    return whole;
#else
    uLongf got = (uLongf)stored->size;

    return uncompress(to, &got, stored->bytes, (uLong)stored->stored_size) == Z_OK &&
           got == stored->size;
#endif
}

/* Copy a section to stored->size bytes at to, decompressed if need be. Returns false if
 * it is damaged or compressed in another way. */
static bool
unpack(const struct stored *stored, unsigned char *to)
{
    if (!stored->packed) {
        memcpy(to, stored->bytes, (size_t)stored->size);
        return true;
    }
    switch (stored->packing) {
    case ELFCOMPRESS_ZLIB:
        return inflate_all(stored, to);
#ifdef NTPROF_HAS_ZSTD
    case PACKING_ZSTD:
        return ZSTD_decompress(to, (size_t)stored->size, stored->bytes,
                               (size_t)stored->stored_size) == stored->size;
#endif
    default:
        return false;
    }
}

/* --- whole images --- */

/* Map a file behind room for headers, and a page of zeros behind it: libdw reads a
 * string up to its NUL, even beyond the end of its section. The first page can be
 * written to. Returns the room, or NULL; *bytes: out, the size of all. */
static unsigned char *
map_behind(size_t room, int fd, uint64_t size, uint64_t *bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE); /* more than the headers need */
    unsigned char *mapped;

    *bytes = room + size + page;
    mapped = mmap(NULL, (size_t)*bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        return NULL;
    }
    if (mmap(mapped + room, (size_t)size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
            MAP_FAILED ||
        mprotect(mapped, page, PROT_READ | PROT_WRITE) != 0) {
        munmap(mapped, (size_t)*bytes);
        return NULL;
    }
    return mapped;
}

/* Make the image of sections that are not packed by mapping their file once more.
 * Returns false if that cannot be done; then they can be copied. */
static bool
map_sections(struct sym_dwarf_image *image, const struct sym_elf *file,
             const struct stored stored[SYM_DWARF_SECTIONS],
             const uint64_t sizes[SYM_DWARF_SECTIONS], struct sym_budget *budget)
{
    const size_t room = (size_t)sysconf(_SC_PAGESIZE);
    const uint64_t size = size_of_image(sizes);
    struct headers *headers;

    if (file->fd < 0 || !sym_budget_take(budget, size)) {
        return false;
    }
    *image = (struct sym_dwarf_image){.budget = budget, .size = size};
    image->bytes = map_behind(room, file->fd, file->size, &image->mapped_bytes);
    if (image->bytes == NULL) {
        sym_budget_give(budget, size);
        return false;
    }
    headers = (struct headers *)(void *)image->bytes;
    fill_headers(headers, sizes);
    for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
        if (sizes[id] > 0) {
            const uint64_t at = room + (uint64_t)(stored[id].bytes - file->bytes);

            headers->sections[id + 1].sh_offset = at;
            image->parts[id] = (struct sym_dwarf_part){image->bytes + at, sizes[id]};
        }
    }
    return true;
}

/* Whether a descriptor is of an image of this size, and of a file with the same
 * build-id. */
static bool
is_of(int fd, const struct sym_elf *file, uint64_t size)
{
    unsigned char id[SYM_ELF_BUILD_ID_BYTES_MAX] = {0};
    unsigned char kept[SYM_ELF_BUILD_ID_BYTES_MAX];

    (void)sym_elf_build_id(file, id);
    return lseek(fd, 0, SEEK_END) == (off_t)size &&
           pread(fd, kept, sizeof(kept), offsetof(struct headers, build_id)) ==
               (ssize_t)sizeof(kept) &&
           memcmp(kept, id, sizeof(id)) == 0;
}

/* Make the image of packed sections by mapping a copy of it from a cache, with headers
 * of our own. As much is taken from the budget as for a copy. Returns false if there is
 * none. */
static bool
map_kept(struct sym_dwarf_image *image, const struct sym_elf *file, bool split,
         const uint64_t sizes[SYM_DWARF_SECTIONS], const struct sym_files *files,
         struct sym_budget *budget)
{
    const uint64_t size = size_of_image(sizes);
    int fd = -1;

    if (files == NULL || files->unpacked == NULL || file->fd < 0 ||
        !sym_budget_take(budget, size)) {
        return false;
    }
    *image = (struct sym_dwarf_image){.budget = budget, .size = size};
    fd = files->unpacked(files->context, file->fd, split, size);
    if (fd >= 0 && is_of(fd, file, size)) {
        image->bytes = map_behind(0, fd, size, &image->mapped_bytes);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (image->bytes == NULL) {
        sym_budget_give(budget, size);
        return false;
    }
    fill_headers((struct headers *)(void *)image->bytes, sizes);
    set_parts(image, sizes);
    return true;
}

bool
sym_dwarf_image_copy(struct sym_dwarf_image *image, const struct sym_elf *file,
                     bool split, const struct sym_files *files,
                     struct sym_budget *budget, char *why, size_t why_size)
{
    struct stored stored[SYM_DWARF_SECTIONS];
    uint64_t sizes[SYM_DWARF_SECTIONS] = {0};
    bool packed = false;

    *image = (struct sym_dwarf_image){.bytes = NULL};
    why[0] = '\0';
    for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
        if (id != SYM_DWARF_FRAME && find_section(file, split, id, &stored[id])) {
            sizes[id] = stored[id].size;
            packed |= stored[id].packed;
        }
    }
    if (sizes[SYM_DWARF_INFO] == 0 || sizes[SYM_DWARF_ABBREV] == 0 ||
        file->big_endian != (__BYTE_ORDER == __BIG_ENDIAN)) {
        return false;
    }
    if (packed ? map_kept(image, file, split, sizes, files, budget)
               : map_sections(image, file, stored, sizes, budget)) {
        return true;
    }
    if (!sym_dwarf_image_make(image, sizes, budget)) {
        snprintf(why, why_size, "there is no memory for its debug sections");
        return false;
    }
    (void)sym_elf_build_id(file, ((struct headers *)(void *)image->bytes)->build_id);
    for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
        if (sizes[id] > 0 && !unpack(&stored[id], image->parts[id].bytes)) {
            snprintf(why, why_size,
                     "its .debug_%s is damaged, or packed as this build cannot unpack",
                     section_names[id]);
            sym_dwarf_image_finish(image);
            return false;
        }
    }
    return true;
}

bool
sym_dwarf_image_copy_frames(struct sym_dwarf_image *image, const struct sym_elf *file,
                            struct sym_budget *budget)
{
    uint64_t sizes[SYM_DWARF_SECTIONS] = {0};
    struct stored stored;

    *image = (struct sym_dwarf_image){.bytes = NULL};
    if (!find_section(file, /* split */ false, SYM_DWARF_FRAME, &stored)) {
        return false;
    }
    sizes[SYM_DWARF_FRAME] = stored.size;
    if (!sym_dwarf_image_make(image, sizes, budget)) {
        return false;
    }
    if (!unpack(&stored, image->parts[SYM_DWARF_FRAME].bytes)) {
        sym_dwarf_image_finish(image);
        return false;
    }
    /* libdw knows by it what a register is where the tables do not say. */
    ((struct headers *)(void *)image->bytes)->header.e_machine = file->machine;
    return true;
}
