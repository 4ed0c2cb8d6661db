/* SPDX-License-Identifier: MIT */
/*
 * dwarf_sections.c - copies debug sections, unpacked.
 */
#include "sym/dwarf_sections.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef NTPROF_HAS_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif
#ifdef NTPROF_HAS_ZSTD
#include <zstd.h>
#endif

/* Of one section, unpacked; all together have a budget. */
#define DWARF_BYTES_MAX (UINT64_C(1) << 30)

/* elf.h of elfutils 0.188 does not know it. */
#define COMPRESS_ZSTD 2

/* Behind ".debug_" of ordinary sections; of split ones with ".dwo", but for the index.
 */
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
};

#define SECTION_NAME_BYTES 32

enum packing { PACKING_NONE, PACKING_DEFLATE, PACKING_ZSTD };

/* piece - a section on its way into the copy. */
struct piece {
    char name[SECTION_NAME_BYTES];
    enum packing packing;
    uint64_t at;   /* in the file, of the stream if packed */
    uint64_t end;  /* in the file */
    uint64_t size; /* unpacked; 0: there is none */
};

/* source - a file that sections are copied from. */
struct source {
    const struct sym_elf *file;
    bool split;
    char *why;
    size_t why_size;
};

/* An Elf_Chdr in our byte order, in the wide form. Not by libelf, which reads the whole
 * section for it. */
static bool
read_packed_header(const struct sym_elf *file, struct piece *piece, Elf64_Chdr *header)
{
    const bool wide = gelf_getclass(file->elf) != ELFCLASS32;
    const size_t size = wide ? sizeof(*header) : sizeof(Elf32_Chdr);
    Elf32_Chdr narrow;

    if (piece->end - piece->at < size ||
        !sym_elf_read(file, piece->at, wide ? (void *)header : &narrow, size)) {
        return false;
    }
    if (!wide) {
        *header = (Elf64_Chdr){.ch_type = narrow.ch_type, .ch_size = narrow.ch_size};
    }
    piece->at += size;
    return true;
}

/* A section with SHF_COMPRESSED: its header, then the stream. */
static bool
measure_packed(const struct source *source, struct piece *piece)
{
    Elf64_Chdr header;

    if (piece->end - piece->at > DWARF_BYTES_MAX ||
        !read_packed_header(source->file, piece, &header)) {
        return false;
    }
    piece->size = header.ch_size;
    if (header.ch_type == ELFCOMPRESS_ZLIB) {
        piece->packing = PACKING_DEFLATE;
        return true;
    }
#ifdef NTPROF_HAS_ZSTD
    if (header.ch_type == COMPRESS_ZSTD) {
        piece->packing = PACKING_ZSTD;
        return true;
    }
#endif
    snprintf(source->why, source->why_size,
             "%s is packed by %s, which this build cannot unpack", piece->name,
             header.ch_type == COMPRESS_ZSTD ? "zstd" : "an unknown method");
    return false;
}

/* An old ".zdebug_" section: "ZLIB", the size in eight bytes, largest first, then the
 * stream. */
static bool
measure_old_packed(const struct sym_elf *file, struct piece *piece)
{
    unsigned char header[12];

    if (piece->end - piece->at < sizeof(header) ||
        piece->end - piece->at > DWARF_BYTES_MAX ||
        !sym_elf_read(file, piece->at, header, sizeof(header)) ||
        memcmp(header, "ZLIB", 4) != 0) {
        return false;
    }
    piece->at += sizeof(header);
    piece->size = 0;
    for (size_t i = 4; i < sizeof(header); i++) {
        piece->size = piece->size << 8 | header[i];
    }
    piece->packing = PACKING_DEFLATE;
    return true;
}

static bool
measure_section(const struct source *source, size_t index, bool old_packed,
                struct piece *piece)
{
    const GElf_Shdr *section = &source->file->sections[index];

    if (!sym_elf_section_in_file(source->file, index)) {
        return false;
    }
    piece->at = section->sh_offset;
    piece->end = section->sh_offset + section->sh_size;
    if (old_packed) {
        return measure_old_packed(source->file, piece);
    }
    if ((section->sh_flags & SHF_COMPRESSED) != 0) {
        return measure_packed(source, piece);
    }
    piece->size = section->sh_size;
    return true;
}

/* Finds a section under its name or the one of old packed sections. False if there is
 * none that can be read. */
static bool
measure(const struct source *source, enum sym_dwarf_section_id id, struct piece *piece)
{
    char old_name[SECTION_NAME_BYTES + 1];
    bool old_packed = false;
    size_t index;

    *piece = (struct piece){.size = 0};
    snprintf(piece->name, sizeof(piece->name), ".debug_%s%s", section_names[id],
             source->split && id != SYM_DWARF_CU_INDEX ? ".dwo" : "");
    index = sym_elf_find_section(source->file, piece->name);
    if (index == 0) {
        snprintf(old_name, sizeof(old_name), ".z%s", piece->name + 1);
        index = sym_elf_find_section(source->file, old_name);
        old_packed = true;
    }
    return index != 0 && measure_section(source, index, old_packed, piece) &&
           piece->size > 0;
}

/* All at once, and not by libelf, which would keep what it unpacks beside our copy. */
static bool
inflate_all(const char *packed, size_t packed_size, char *to, size_t size)
{
#ifdef NTPROF_HAS_LIBDEFLATE
    struct libdeflate_decompressor *const inflater = libdeflate_alloc_decompressor();
    const bool whole = inflater != NULL &&
                       libdeflate_zlib_decompress(inflater, packed, packed_size, to,
                                                  size, NULL) == LIBDEFLATE_SUCCESS;

    libdeflate_free_decompressor(inflater);
    return whole;
#else
    uLongf got = (uLongf)size;

    return uncompress((Bytef *)to, &got, (const Bytef *)packed, (uLong)packed_size) ==
               Z_OK &&
           got == size;
#endif
}

static bool
unpack(enum packing packing, const char *packed, size_t packed_size, char *to,
       size_t size)
{
#ifdef NTPROF_HAS_ZSTD
    if (packing == PACKING_ZSTD) {
        return ZSTD_decompress(to, size, packed, packed_size) == size;
    }
#endif
    return packing == PACKING_DEFLATE && inflate_all(packed, packed_size, to, size);
}

static bool
copy_packed(const struct sym_elf *file, const struct piece *piece, char *to)
{
    const size_t packed_size = (size_t)(piece->end - piece->at);
    char *packed = malloc(packed_size + 1);
    const bool whole =
        packed != NULL && sym_elf_read(file, piece->at, packed, packed_size) &&
        unpack(piece->packing, packed, packed_size, to, (size_t)piece->size);

    free(packed);
    return whole;
}

/* False, and why is set: all of it is of no use then. */
static bool
copy_section(const struct source *source, const struct piece *piece,
             struct sym_budget *budget, struct sym_dwarf_section *section)
{
    const bool fits =
        piece->size <= DWARF_BYTES_MAX && sym_budget_take(budget, piece->size);
    char *const bytes = fits ? malloc((size_t)piece->size) : NULL;

    if (!fits) {
        snprintf(source->why, source->why_size, "its %s has %llu MiB", piece->name,
                 (unsigned long long)(piece->size >> 20));
        return false;
    }
    *section = (struct sym_dwarf_section){(const unsigned char *)bytes, piece->size};
    if (bytes == NULL) {
        snprintf(source->why, source->why_size, "there is no memory for its %s",
                 piece->name);
        return false;
    }
    if (piece->packing == PACKING_NONE
            ? !sym_elf_read(source->file, piece->at, bytes, (size_t)piece->size)
            : !copy_packed(source->file, piece, bytes)) {
        snprintf(source->why, source->why_size, "its %s is damaged", piece->name);
        return false;
    }
    return true;
}

static bool
copy_sections(const struct source *source, struct sym_dwarf_sections *sections)
{
    for (size_t id = 0; id < SYM_DWARF_SECTIONS; id++) {
        struct piece piece;

        if (measure(source, (enum sym_dwarf_section_id)id, &piece)
                ? !copy_section(source, &piece, sections->budget, &sections->items[id])
                : id <= SYM_DWARF_ABBREV) {
            return false;
        }
    }
    return true;
}

bool
sym_dwarf_sections_copy(const struct sym_elf *file, bool split,
                        struct sym_budget *budget, struct sym_dwarf_sections *sections,
                        char *why, size_t why_size)
{
    const struct source source = {file, split, why, why_size};

    *sections = (struct sym_dwarf_sections){.budget = budget, .owned = true};
    why[0] = '\0';
    if (file->big_endian == (__BYTE_ORDER == __BIG_ENDIAN) &&
        copy_sections(&source, sections)) {
        return true;
    }
    sym_dwarf_sections_finish(sections);
    return false;
}

void
sym_dwarf_sections_finish(struct sym_dwarf_sections *sections)
{
    for (size_t id = 0; sections->owned && id < SYM_DWARF_SECTIONS; id++) {
        free((void *)(uintptr_t)sections->items[id].bytes);
        sym_budget_give(sections->budget, sections->items[id].size);
    }
    *sections = (struct sym_dwarf_sections){.owned = false};
}
