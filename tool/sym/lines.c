/* SPDX-License-Identifier: MIT */
/*
 * lines.c - line tables through libdw, one compilation unit at a time.
 *
 * The unit of an address comes from .debug_aranges, and where that does not know it, from the ranges of
 * all units, collected once. libdw decodes a unit's line program at the first address in it.
 */
#include "sym/lines.h"

#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Unpacked, all sections together. */
#define DWARF_BYTES_MAX (UINT64_C(1) << 30)

/* What lines are made from. Not among them: .gnu_debugaltlink, so that libdw opens no other file. */
static const char *const section_names[] = {
    ".debug_line",     ".debug_info",   ".debug_abbrev",      ".debug_str",
    ".debug_line_str", ".debug_ranges", ".debug_rnglists",    ".debug_addr",
    ".debug_aranges",  ".debug_types",  ".debug_str_offsets",
};

#define SECTION_NAMES (sizeof(section_names) / sizeof(section_names[0]))

/* unit_range - addresses of a compilation unit. */
struct unit_range {
    uint64_t start;
    uint64_t end;
    Dwarf_Off unit;
};

struct sym_lines {
    char *image; /* the ELF file made here */
    Elf *elf;
    Dwarf *dwarf;
    size_t range_bytes; /* of the sections that hold ranges */
    bool units_loaded;
    struct unit_range *units;
    size_t unit_count;
    size_t unit_room;
};

/* piece - a section on its way into the copy. */
struct piece {
    size_t section;
    uint64_t size; /* unpacked */
    bool packed;
};

static bool
measure_packed(const struct sym_elf *file, size_t index, struct piece *piece)
{
    GElf_Chdr header;

    /* Deflate packs at most 1032 to 1: what claims more is no such stream. */
    if (file->sections[index].sh_size > DWARF_BYTES_MAX ||
        gelf_getchdr(elf_getscn(file->elf, index), &header) == NULL ||
        header.ch_type != ELFCOMPRESS_ZLIB ||
        header.ch_size / 1032 > file->sections[index].sh_size) {
        return false;
    }
    piece->size = header.ch_size;
    piece->packed = true;
    return true;
}

static bool
measure(const struct sym_elf *file, const char *name, struct piece *piece)
{
    const size_t index = sym_elf_find_section(file, name);

    *piece = (struct piece){.section = index};
    if (index == 0 || !sym_elf_section_in_file(file, index)) {
        return false;
    }
    if ((file->sections[index].sh_flags & SHF_COMPRESSED) != 0) {
        return measure_packed(file, index, piece);
    }
    piece->size = file->sections[index].sh_size;
    return true;
}

/* Goes on with the stream, which has room for what comes, by the file's next bytes. */
static int
unpack_more(const struct sym_elf *file, uint64_t *at, uint64_t end, z_stream *stream)
{
    unsigned char packed[16384];
    const uint64_t left = end - *at;
    const size_t size = left < sizeof(packed) ? (size_t)left : sizeof(packed);

    if (size == 0 || !sym_elf_read(file, *at, packed, size)) {
        return Z_BUF_ERROR;
    }
    *at += size;
    stream->next_in = packed;
    stream->avail_in = (uInt)size;
    return inflate(stream, Z_NO_FLUSH);
}

/* Not by libelf, which would keep what it unpacks beside our copy. */
static bool
copy_packed(const struct sym_elf *file, const struct piece *piece, char *to)
{
    const GElf_Shdr *section = &file->sections[piece->section];
    const size_t header_bytes = gelf_getclass(file->elf) == ELFCLASS32
                                    ? sizeof(Elf32_Chdr)
                                    : sizeof(Elf64_Chdr);
    const uint64_t end = section->sh_offset + section->sh_size;
    uint64_t at = section->sh_offset + header_bytes;
    z_stream stream = {.next_out = (Bytef *)to, .avail_out = (uInt)piece->size};
    int result;

    if (section->sh_size < header_bytes || inflateInit(&stream) != Z_OK) {
        return false;
    }
    do {
        result = unpack_more(file, &at, end, &stream);
    } while (result == Z_OK);
    inflateEnd(&stream);
    return result == Z_STREAM_END && stream.avail_out == 0;
}

static bool
copy_piece(const struct sym_elf *file, const struct piece *piece, char *to)
{
    if (piece->packed) {
        return copy_packed(file, piece, to);
    }
    return sym_elf_read(file, file->sections[piece->section].sh_offset, to,
                        (size_t)piece->size);
}

/* layout - the copy: header, section headers, their names, sections. */
struct layout {
    struct piece pieces[SECTION_NAMES];
    uint64_t total;
};

#define LAYOUT_SECTIONS (SECTION_NAMES + 2) /* the null section, ours, and the names */

static bool
plan(const struct sym_elf *file, struct layout *layout)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < SECTION_NAMES; i++) {
        if (!measure(file, section_names[i], &layout->pieces[i])) {
            layout->pieces[i] = (struct piece){0};
        }
        if (layout->pieces[i].size > DWARF_BYTES_MAX - sum) {
            return false;
        }
        sum += (layout->pieces[i].size + 7) & ~UINT64_C(7);
    }
    layout->total =
        sum + sizeof(Elf64_Ehdr) + LAYOUT_SECTIONS * sizeof(Elf64_Shdr) + 1024;
    return layout->pieces[0].size > 0 && layout->pieces[1].size > 0;
}

static void
write_header(char *image)
{
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)image;
    const uint16_t probe = 1;

    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] =
        *(const unsigned char *)&probe == 1 ? ELFDATA2LSB : ELFDATA2MSB;
    header->e_ident[EI_VERSION] = EV_CURRENT;
    header->e_type = ET_DYN;
    header->e_version = EV_CURRENT;
    header->e_ehsize = sizeof(Elf64_Ehdr);
    header->e_shoff = sizeof(Elf64_Ehdr);
    header->e_shentsize = sizeof(Elf64_Shdr);
    header->e_shnum = (Elf64_Half)LAYOUT_SECTIONS;
    header->e_shstrndx = (Elf64_Half)(LAYOUT_SECTIONS - 1);
}

static bool
write_sections(const struct sym_elf *file, const struct layout *layout, char *image)
{
    Elf64_Shdr *header = (Elf64_Shdr *)(void *)(image + sizeof(Elf64_Ehdr));
    const size_t names_at = sizeof(Elf64_Ehdr) + LAYOUT_SECTIONS * sizeof(Elf64_Shdr);
    size_t name = 1;
    uint64_t at = names_at + 1024;

    for (size_t i = 0; i < SECTION_NAMES; i++) {
        const struct piece *piece = &layout->pieces[i];

        header++;
        header->sh_name = (Elf64_Word)name;
        strcpy(image + names_at + name, section_names[i]);
        name += strlen(section_names[i]) + 1;
        header->sh_type = piece->size > 0 ? SHT_PROGBITS : SHT_NULL;
        header->sh_offset = at;
        header->sh_size = piece->size;
        header->sh_addralign = 1;
        if (piece->size > 0 && !copy_piece(file, piece, image + at)) {
            return false;
        }
        at += (piece->size + 7) & ~UINT64_C(7);
    }
    header++;
    header->sh_type = SHT_STRTAB;
    header->sh_offset = names_at;
    header->sh_size = name;
    header->sh_addralign = 1;
    return true;
}

static bool
native_byte_order(const struct sym_elf *file)
{
    const uint16_t probe = 1;
    unsigned char encoding = 0;

    return sym_elf_read(file, EI_DATA, &encoding, 1) &&
           encoding ==
               (*(const unsigned char *)&probe == 1 ? ELFDATA2LSB : ELFDATA2MSB);
}

static bool
open_copy(const struct sym_elf *file, struct sym_lines *lines)
{
    struct layout layout;

    if (!native_byte_order(file) || !plan(file, &layout)) {
        return false;
    }
    lines->image = calloc(1, (size_t)layout.total);
    if (lines->image == NULL) {
        return false;
    }
    write_header(lines->image);
    if (!write_sections(file, &layout, lines->image)) {
        return false;
    }
    lines->range_bytes = (size_t)(layout.pieces[5].size + layout.pieces[6].size);
    lines->elf = elf_memory(lines->image, (size_t)layout.total);
    lines->dwarf =
        lines->elf == NULL ? NULL : dwarf_begin_elf(lines->elf, DWARF_C_READ, NULL);
    return lines->dwarf != NULL;
}

struct sym_lines *
sym_lines_open(const struct sym_elf *file)
{
    struct sym_lines *lines = calloc(1, sizeof(*lines));

    if (lines != NULL && !open_copy(file, lines)) {
        sym_lines_close(lines);
        return NULL;
    }
    return lines;
}

void
sym_lines_close(struct sym_lines *lines)
{
    if (lines == NULL) {
        return;
    }
    dwarf_end(lines->dwarf);
    elf_end(lines->elf);
    free(lines->image);
    free(lines->units);
    free(lines);
}

static bool
add_unit_range(struct sym_lines *lines, uint64_t start, uint64_t end, Dwarf_Off unit)
{
    if (start >= end) {
        return true;
    }
    if (lines->unit_count == lines->unit_room) {
        const size_t room = lines->unit_room == 0 ? 256 : lines->unit_room * 2;
        struct unit_range *larger = realloc(lines->units, room * sizeof(*larger));

        if (larger == NULL) {
            return false;
        }
        lines->units = larger;
        lines->unit_room = room;
    }
    lines->units[lines->unit_count++] = (struct unit_range){start, end, unit};
    return true;
}

/* Units that share one list of ranges multiply it; honest ones have a list each. */
static bool
too_many_ranges(const struct sym_lines *lines, size_t units)
{
    return lines->unit_count > lines->range_bytes + units;
}

static bool
add_unit(struct sym_lines *lines, Dwarf_Die *unit, size_t units)
{
    Dwarf_Addr base;
    Dwarf_Addr start;
    Dwarf_Addr end;
    ptrdiff_t at = 0;

    while ((at = dwarf_ranges(unit, at, &base, &start, &end)) > 0) {
        if (too_many_ranges(lines, units) ||
            !add_unit_range(lines, start, end, dwarf_dieoffset(unit))) {
            return false;
        }
    }
    return true;
}

static int
compare_units(const void *left, const void *right)
{
    const struct unit_range *a = left;
    const struct unit_range *b = right;

    return (a->start > b->start) - (a->start < b->start);
}

static void
load_units(struct sym_lines *lines)
{
    Dwarf_Off at = 0;
    Dwarf_Off next;
    size_t header_size;
    size_t units = 0;

    lines->units_loaded = true;
    while (dwarf_nextcu(lines->dwarf, at, &next, &header_size, NULL, NULL, NULL) == 0 &&
           next > at) {
        Dwarf_Die unit;

        if (dwarf_offdie(lines->dwarf, at + header_size, &unit) != NULL &&
            !add_unit(lines, &unit, ++units)) {
            break;
        }
        at = next;
    }
    if (lines->unit_count > 0) {
        qsort(lines->units, lines->unit_count, sizeof(*lines->units), compare_units);
    }
}

/* Units do not overlap in an honest file, so only the last one that starts before is looked at. */
static bool
find_unit_by_ranges(struct sym_lines *lines, uint64_t address, Dwarf_Die *unit)
{
    size_t low = 0;
    size_t high;

    if (!lines->units_loaded) {
        load_units(lines);
    }
    high = lines->unit_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (lines->units[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && address < lines->units[low - 1].end &&
           dwarf_offdie(lines->dwarf, lines->units[low - 1].unit, unit) != NULL;
}

static bool
find_unit(struct sym_lines *lines, uint64_t address, Dwarf_Die *unit)
{
    return dwarf_addrdie(lines->dwarf, address, unit) != NULL ||
           find_unit_by_ranges(lines, address, unit);
}

bool
sym_lines_find(struct sym_lines *lines, uint64_t address, const char **file,
               uint32_t *line)
{
    Dwarf_Die unit;
    Dwarf_Line *row;
    const char *source;
    int number = 0;

    if (!find_unit(lines, address, &unit)) {
        return false;
    }
    row = dwarf_getsrc_die(&unit, address);
    source = row == NULL ? NULL : dwarf_linesrc(row, NULL, NULL);
    if (source == NULL || dwarf_lineno(row, &number) != 0 || number < 0) {
        return false;
    }
    *file = source;
    *line = (uint32_t)number;
    return true;
}
