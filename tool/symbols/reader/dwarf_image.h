/* SPDX-License-Identifier: MIT */
/*
 * dwarf_image.h - makes an ELF file in memory of the debug sections that names and
 * lines need, for libdw to read.
 *
 * libdw of elfutils 0.188 supports neither sections compressed by zstd nor packages of
 * split units, and it opens supplementary files and split units itself, which a process
 * without rights cannot. So it gets decompressed sections under their ordinary names,
 * and none that refers to another file.
 */
#ifndef SYMBOLS_READER_DWARF_IMAGE_H
#define SYMBOLS_READER_DWARF_IMAGE_H

#include "base/budget.h"
#include "symbols/reader/elf_file.h"
#include "symbols/reader/reader.h"

#include <elfutils/libdw.h>

enum sym_dwarf_section {
    SYM_DWARF_INFO, /* this one and the next are always there */
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
    SYM_DWARF_FRAME, /* in an image of its own */
    SYM_DWARF_SECTIONS
};

/* sym_dwarf_part - a section, or a part of one. */
struct sym_dwarf_part {
    unsigned char *bytes;
    uint64_t size; /* 0: there is none */
};

struct sym_dwarf_image {
    unsigned char *bytes;  /* the whole ELF file; NULL: there is none */
    uint64_t size;         /* taken from the budget */
    uint64_t mapped_bytes; /* that bytes are a mapping of; 0: they are allocated */
    struct sym_dwarf_part parts[SYM_DWARF_SECTIONS];
    struct sym_budget *budget; /* may be NULL */
    Elf *elf;
    Dwarf *dwarf; /* NULL until opened */
};

/*
 * Copy the sections of a file, which may be closed afterwards. They are mapped instead,
 * which costs less time and memory, if none of them is packed, or files have them
 * unpacked; as much is taken from the budget, so that all have the same lines.
 *
 *   split   copy the sections of split units (".debug_info.dwo"), not the ordinary ones
 *   files   has a cache of unpacked sections; NULL: there is none
 *   budget  memory is taken from it; must outlive the image
 *   why     out: "" or, for people, why a file that has such sections cannot be used
 *
 * Returns false if there is no .debug_info and .debug_abbrev, or they cannot be read or
 * are not in native byte order, or if memory or the budget ran out.
 */
bool sym_dwarf_image_copy(struct sym_dwarf_image *image, const struct sym_elf *file,
                          bool split, const struct sym_files *files,
                          struct sym_budget *budget, char *why, size_t why_size);

/* Copy only .debug_frame, the unwind table. Returns false if there is none, it cannot
 * be read, or memory or the budget ran out. */
bool sym_dwarf_image_copy_frames(struct sym_dwarf_image *image,
                                 const struct sym_elf *file, struct sym_budget *budget);

/* Make an image with sections of these sizes, which the caller has to fill. Returns
 * false if memory or the budget ran out. */
bool sym_dwarf_image_make(struct sym_dwarf_image *image,
                          const uint64_t sizes[SYM_DWARF_SECTIONS],
                          struct sym_budget *budget);

/* Open the image by libdw. If it is open it is closed before, and all that libdw
 * returned for it becomes invalid. Returns false if libdw refuses it. */
bool sym_dwarf_image_open(struct sym_dwarf_image *image);

/* Return a section of the image to which a unit of libdw belongs. */
struct sym_dwarf_part sym_dwarf_image_part(Dwarf_CU *unit, enum sym_dwarf_section id);

void sym_dwarf_image_finish(struct sym_dwarf_image *image);

#endif
