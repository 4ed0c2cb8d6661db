/* SPDX-License-Identifier: MIT */
/*
 * dwarf_sections.c - copies debug sections, unpacked, into one block of memory.
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

/* Unpacked, all sections together. */
#define DWARF_BYTES_MAX (UINT64_C(1) << 30)

/* elf.h of elfutils 0.188 does not know it. */
#define COMPRESS_ZSTD 2

/* Zstandard packs runs without bound; what claims more than this is a bomb. */
#define ZSTD_RATIO_MAX 4096

/* Deflate packs at most 1032 to 1: what claims more is no such stream. */
#define DEFLATE_RATIO_MAX 1032

/* Behind ".debug_" of ordinary sections; of split ones with ".dwo", but for the index.
 */
static const char *const section_names[SYM_DWARF_SECTIONS] = {
    [SYM_DWARF_LINE] = "line",
    [SYM_DWARF_INFO] = "info",
    [SYM_DWARF_ABBREV] = "abbrev",
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

/* layout - the copy: sections, one behind the other. */
struct layout {
    struct piece pieces[SYM_DWARF_SECTIONS];
    uint64_t total;
    char *why;
    size_t why_size;
};

/* Who packs what does not get smaller? It is read at once. */
#define PACKED_MORE_MAX 65536

static bool
claims_too_much(const struct piece *piece, uint64_t ratio)
{
    const uint64_t packed = piece->end - piece->at;

    return piece->size / ratio > packed || packed > piece->size + PACKED_MORE_MAX;
}

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
measure_packed(const struct sym_elf *file, struct layout *layout, struct piece *piece)
{
    Elf64_Chdr header;

    if (piece->end - piece->at > DWARF_BYTES_MAX ||
        !read_packed_header(file, piece, &header)) {
        return false;
    }
    piece->size = header.ch_size;
    if (header.ch_type == ELFCOMPRESS_ZLIB) {
        piece->packing = PACKING_DEFLATE;
        return !claims_too_much(piece, DEFLATE_RATIO_MAX);
    }
#ifdef NTPROF_HAS_ZSTD
    if (header.ch_type == COMPRESS_ZSTD) {
        piece->packing = PACKING_ZSTD;
        return !claims_too_much(piece, ZSTD_RATIO_MAX);
    }
#endif
    snprintf(layout->why, layout->why_size,
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
    return !claims_too_much(piece, DEFLATE_RATIO_MAX);
}

static bool
measure_section(const struct sym_elf *file, size_t index, bool old_packed,
                struct layout *layout, struct piece *piece)
{
    const GElf_Shdr *section = &file->sections[index];

    if (!sym_elf_section_in_file(file, index)) {
        return false;
    }
    piece->at = section->sh_offset;
    piece->end = section->sh_offset + section->sh_size;
    if (old_packed) {
        return measure_old_packed(file, piece);
    }
    if ((section->sh_flags & SHF_COMPRESSED) != 0) {
        return measure_packed(file, layout, piece);
    }
    piece->size = section->sh_size;
    return true;
}

/* Finds a section under its name or the one of old packed sections. */
static void
measure(const struct sym_elf *file, const char *name, bool split, struct layout *layout,
        struct piece *piece)
{
    const bool index_section = strcmp(name, section_names[SYM_DWARF_CU_INDEX]) == 0;
    const char *behind = split && !index_section ? ".dwo" : "";
    char old_name[SECTION_NAME_BYTES + 1];
    bool old_packed = false;
    size_t index;

    *piece = (struct piece){.size = 0};
    snprintf(piece->name, sizeof(piece->name), ".debug_%s%s", name, behind);
    index = sym_elf_find_section(file, piece->name);
    if (index == 0) {
        snprintf(old_name, sizeof(old_name), ".z%s", piece->name + 1);
        index = sym_elf_find_section(file, old_name);
        old_packed = true;
    }
    if (index == 0 || !measure_section(file, index, old_packed, layout, piece)) {
        piece->size = 0;
    }
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

static bool
copy_piece(const struct sym_elf *file, const struct piece *piece, char *to)
{
    return piece->packing != PACKING_NONE
               ? copy_packed(file, piece, to)
               : sym_elf_read(file, piece->at, to, (size_t)piece->size);
}

static bool
plan(const struct sym_elf *file, bool split, struct layout *layout)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < SYM_DWARF_SECTIONS; i++) {
        struct piece *piece = &layout->pieces[i];

        measure(file, section_names[i], split, layout, piece);
        if (piece->size > DWARF_BYTES_MAX - sum) {
            snprintf(layout->why, layout->why_size,
                     "its debug sections are larger than %llu MiB",
                     (unsigned long long)(DWARF_BYTES_MAX >> 20));
            return false;
        }
        sum += piece->size;
    }
    layout->total = sum;
    return layout->pieces[SYM_DWARF_INFO].size > 0 &&
           layout->pieces[SYM_DWARF_ABBREV].size > 0;
}

static bool
copy_pieces(const struct sym_elf *file, const struct layout *layout,
            struct sym_dwarf_sections *sections)
{
    uint64_t at = 0;

    for (size_t i = 0; i < SYM_DWARF_SECTIONS; i++) {
        const struct piece *piece = &layout->pieces[i];

        if (piece->size > 0 && !copy_piece(file, piece, sections->block + at)) {
            snprintf(layout->why, layout->why_size, "its %s is damaged", piece->name);
            return false;
        }
        sections->items[i].bytes = (const unsigned char *)sections->block + at;
        sections->items[i].size = piece->size;
        at += piece->size;
    }
    return true;
}

bool
sym_dwarf_sections_copy(const struct sym_elf *file, bool split,
                        struct sym_budget *budget, struct sym_dwarf_sections *sections,
                        char *why, size_t why_size)
{
    struct layout layout = {.why = why, .why_size = why_size};

    *sections = (struct sym_dwarf_sections){.block = NULL, .budget = budget};
    why[0] = '\0';
    if (file->big_endian != (__BYTE_ORDER == __BIG_ENDIAN) ||
        !plan(file, split, &layout)) {
        return false;
    }
    if (!sym_budget_take(budget, layout.total)) {
        snprintf(why, why_size, "its debug sections have %llu MiB",
                 (unsigned long long)(layout.total >> 20));
        return false;
    }
    sections->block_bytes = (size_t)layout.total;
    sections->block = calloc(1, sections->block_bytes);
    if (sections->block == NULL) {
        snprintf(why, why_size, "there is no memory for its debug sections");
        sym_dwarf_sections_finish(sections);
        return false;
    }
    if (!copy_pieces(file, &layout, sections)) {
        sym_dwarf_sections_finish(sections);
        return false;
    }
    return true;
}

void
sym_dwarf_sections_finish(struct sym_dwarf_sections *sections)
{
    free(sections->block);
    sym_budget_give(sections->budget, sections->block_bytes);
    *sections = (struct sym_dwarf_sections){.block = NULL};
}
