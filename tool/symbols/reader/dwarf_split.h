/* SPDX-License-Identifier: MIT */
/*
 * dwarf_split.h - finds split units (-gsplit-dwarf): the compiler leaves a skeleton
 * unit in the file, and writes the rest to a file of its own, .dwo, or a package beside
 * the image, .dwp. Either is used only if it has the id of the skeleton.
 *
 * A split unit refers to addresses, and until DWARF 4 to ranges, that are with its
 * skeleton. So both are joined to one complete unit, in an image of its own.
 */
#ifndef SYMBOLS_READER_DWARF_SPLIT_H
#define SYMBOLS_READER_DWARF_SPLIT_H

#include "symbols/reader/dwarf_unit.h"
#include "symbols/reader/reader.h"

#include <limits.h>

/* sym_dwarf_split - where split units are searched for, and what was missing. */
struct sym_dwarf_split {
    /* The file that has the skeletons; set before the first search. */
    const struct sym_dwarf_image *own;
    const struct sym_dwarf_unit *units;
    size_t unit_count;
    const char *root;              /* "" or the folder that stands for "/" */
    const char *image;             /* path of the image in root */
    char *debug;                   /* path in root of the file with the skeletons */
    const struct sym_files *files; /* opens other files */
    struct sym_dwarf_image package;
    bool package_sought;
    uint64_t missing;     /* split units of which no file was found */
    uint64_t refused;     /* split units that are not in the file that was found */
    char first[PATH_MAX]; /* name of the first that was missing or refused */
    char note[PATH_MAX + 200];
};

/* Find the split unit of a unit that is a skeleton, once, and set unit->split and
 * unit->functions. */
void sym_dwarf_split_find(struct sym_dwarf_split *split, struct sym_dwarf_unit *unit);

/* For people: which split units were not found or not used; "" for none. */
const char *sym_dwarf_split_note(struct sym_dwarf_split *split);

/*
 * Join a skeleton and its split unit.
 *
 *   parts  the parts of the sections of split units that belong to this unit
 *
 * Returns true, with unit->split and unit->functions set, if the unit is in the parts.
 */
bool sym_dwarf_split_join(const struct sym_dwarf_split *split,
                          struct sym_dwarf_unit *unit,
                          const struct sym_dwarf_part parts[SYM_DWARF_SECTIONS]);

#endif
