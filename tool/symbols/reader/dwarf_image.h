/* SPDX-License-Identifier: MIT */
/*
 * dwarf_image.h - the debug sections that names and lines need, as an ELF file in
 * memory, which libdw reads.
 *
 * libdw of elfutils 0.188 knows neither sections packed by zstd nor packages of split
 * units, and it opens supplementary files and split units itself, which a reader has no
 * right to. So it is given unpacked sections under their plain names, and no links.
 */
#ifndef SYMBOLS_READER_DWARF_IMAGE_H
#define SYMBOLS_READER_DWARF_IMAGE_H

#include "base/budget.h"
#include "symbols/reader/elf_file.h"

#include <elfutils/libdw.h>

enum sym_dwarf_section {
    SYM_DWARF_INFO, /* there always, and so is the next */
    SYM_DWARF_ABBREV,
    SYM_DWARF_LINE,
    SYM_DWARF_STR,
    SYM_DWARF_LINE_STR,
    SYM_DWARF_RANGES,
    SYM_DWARF_RNGLISTS,
    SYM_DWARF_ADDR,
    SYM_DWARF_STR_OFFSETS,
    SYM_DWARF_CU_INDEX, /* of a package of split units */
    SYM_DWARF_ARANGES,
    SYM_DWARF_SECTIONS
};

/* sym_dwarf_part - a section, or a part of one. */
struct sym_dwarf_part {
    unsigned char *bytes;
    uint64_t size; /* 0: there is none */
};

struct sym_dwarf_image {
    unsigned char *bytes; /* NULL: there is none */
    uint64_t size;        /* taken from the budget */
    struct sym_dwarf_part parts[SYM_DWARF_SECTIONS];
    struct sym_budget *budget; /* may be NULL */
    Elf *elf;
    Dwarf *dwarf; /* NULL until opened */
};

/*
 * Copies the sections of a file. The file may be closed after.
 *
 *   budget  borrowed by the image
 *   split   sections of split units (".debug_info.dwo") instead of ordinary ones
 *   why     out: "" or, for people, why a file that has such sections cannot be used
 *
 * False if there is no .debug_info, with what it needs, in native byte order and
 * readable.
 */
bool sym_dwarf_image_copy(struct sym_dwarf_image *image, const struct sym_elf *file,
                          bool split, struct sym_budget *budget, char *why,
                          size_t why_size);

/* An image whose sections have these sizes, for the caller to fill. False: out of
 * memory or budget. */
bool sym_dwarf_image_make(struct sym_dwarf_image *image,
                          const uint64_t sizes[SYM_DWARF_SECTIONS],
                          struct sym_budget *budget);

/* Gives the image to libdw, anew if it has it already: all of that is gone then. False
 * if it takes it not. */
bool sym_dwarf_image_open(struct sym_dwarf_image *image);

/* A section of the image that a unit is in. */
struct sym_dwarf_part sym_dwarf_image_part(Dwarf_CU *unit, enum sym_dwarf_section id);

void sym_dwarf_image_finish(struct sym_dwarf_image *image);

#endif
