/* SPDX-License-Identifier: MIT */
/*
 * dwarf_split.h - the other half of a unit that the compiler split (-gsplit-dwarf): in
 * a file of its own, .dwo, or in a package beside the image, .dwp. Either is believed
 * when the unit's id is in it.
 *
 * A half is of use only with what its skeleton has: addresses, and until version 4
 * ranges. So both are put together, as a unit that is whole, in an image of its own.
 */
#ifndef SYMBOLS_READER_DWARF_SPLIT_H
#define SYMBOLS_READER_DWARF_SPLIT_H

#include "symbols/reader/dwarf_unit.h"
#include "symbols/reader/reader.h"

#include <limits.h>

/* sym_dwarf_split - where other halves are looked for, and of what. */
struct sym_dwarf_split {
    /* The file that has the skeletons; set before the first search. */
    const struct sym_dwarf_image *own;
    const struct sym_dwarf_unit *units;
    size_t unit_count;
    const char *root;              /* "" or the folder that stands for "/" */
    const char *image;             /* path of the image in root */
    char *debug;                   /* path in root of the file with the skeletons */
    const struct sym_files *files; /* where others come from */
    struct sym_dwarf_image package;
    bool package_sought;
    uint64_t missing;
    uint64_t refused;
    char first[PATH_MAX]; /* name of the first that was missing or refused */
    char note[PATH_MAX + 200];
};

/* Looks for the other half of a skeleton, once: sets split and functions. */
void sym_dwarf_split_find(struct sym_dwarf_split *split, struct sym_dwarf_unit *unit);

/* "" or, for people, which other halves were not found or not used. */
const char *sym_dwarf_split_note(struct sym_dwarf_split *split);

/*
 * Puts a skeleton and its other half together.
 *
 *   parts  of the sections of split units: what is of this unit
 *
 * True if the unit is in it: then unit->split and unit->functions are set.
 */
bool sym_dwarf_split_join(const struct sym_dwarf_split *split,
                          struct sym_dwarf_unit *unit,
                          const struct sym_dwarf_part parts[SYM_DWARF_SECTIONS]);

#endif
