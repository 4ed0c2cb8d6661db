/* SPDX-License-Identifier: MIT */
/*
 * dwarf_unit.h - a unit of debug information: its functions and its line table, read
 * when an address in it is looked up, for tool/symbols/reader only.
 */
#ifndef SYMBOLS_READER_DWARF_UNIT_H
#define SYMBOLS_READER_DWARF_UNIT_H

#include "symbols/border/table.h"
#include "symbols/reader/dwarf_image.h"
#include "symbols/reader/dwarf_sequences.h"
#include "symbols/reader/dwarf_walk.h"
#include "symbols/reader/elf_code.h"

#define SYM_DWARF_NO_SCOPE UINT32_MAX

/* sym_dwarf_container - an entry that functions can be in. */
struct sym_dwarf_container {
    uint64_t entry;  /* where libdw has it: containers are in that order */
    uint32_t parent; /* SYM_DWARF_NO_SCOPE: none */
};

/*
 * sym_dwarf_scope - a function, or what was inlined into one. Its parent comes before
 * it. What was inlined into a function, and into those nested in it, is read when an
 * address of one of them is looked up: most functions of a unit have none.
 */
struct sym_dwarf_scope {
    Dwarf_Die entry;
    uint32_t parent;    /* of what was inlined: where; SYM_DWARF_NO_SCOPE: a function */
    uint32_t call_file; /* this and what follows: set with name */
    uint32_t call_line;
    uint32_t call_discriminator;
    uint32_t start_line;
    Dwarf_CU *definer;   /* the unit that has the next number; or NULL */
    uint32_t definition; /* of the file where the function is defined */
    const char *name;    /* NULL until asked for; for people */
    const char *system_name;
    char *owned;        /* name, if it was made */
    bool bare;          /* the name is not qualified: there is no linkage name */
    uint32_t outermost; /* of a function: the one that it is nested in, or itself */
    bool inlined_sought;
    struct sym_table *inlined; /* of an outermost function, as places */
};

struct sym_dwarf_unit {
    uint64_t offset; /* of root: units are in that order */
    Dwarf_Die root;
    const struct sym_elf_code *code; /* of the image; NULL: not known */
    uint64_t addr_base;   /* of a skeleton: where its part of .debug_addr begins */
    uint64_t ranges_base; /* of one before version 5: the same of .debug_ranges */
    uint64_t language;    /* of a skeleton that has its other half: that of it */
    bool split_sought;
    bool scopes_sought;
    bool lines_sought;
    bool files_sought;
    bool lines_refused;            /* they are too much */
    bool files_refused;            /* the same */
    struct sym_dwarf_image *split; /* the other half of a skeleton; NULL: none */
    Dwarf_Die functions;           /* the root that has them: root, or of split */
    struct sym_dwarf_scope *scopes;
    size_t scope_count;
    size_t scope_room;
    struct sym_dwarf_shapes *shapes; /* NULL: none, or too much memory */
    Dwarf_CU *shapes_of;     /* as libdw has it; not that of functions: not read */
    struct sym_table places; /* of functions; tag: scope */
    struct sym_dwarf_container *containers;
    size_t container_count;
    size_t container_room;
    bool containers_sought;
    struct sym_dwarf_rows rows;
    struct sym_dwarf_files files;
};

/* The number that an attribute of an entry has; 0: it has none. */
uint64_t sym_dwarf_number(Dwarf_Die *entry, unsigned int attribute);

/* The string that an attribute has, if it is not too long; NULL: none. */
const char *sym_dwarf_text(Dwarf_Attribute *attribute);

/* Is there code of the image? Without knowledge of it only 0 is none. */
bool sym_dwarf_is_code(const struct sym_elf_code *code, uint64_t address);

/*
 * Adds the ranges of an entry, without those that begin where there is no code: the
 * linker threw it away. False: out of memory or budget.
 *
 *   any  out: has it ranges, added or not?
 */
bool sym_dwarf_add_ranges(Dwarf_Die *entry, const struct sym_elf_code *code,
                          uint32_t tag, struct sym_table *table, bool *any);

/* What the abbreviations of the unit that has functions say, read once; NULL: none, or
 * too much memory. */
const struct sym_dwarf_shapes *sym_dwarf_unit_shapes(struct sym_dwarf_unit *unit,
                                                     struct sym_budget *budget);

/* The innermost scope of an address, valid until the next; NULL: none, or too much
 * memory. */
struct sym_dwarf_scope *sym_dwarf_find_scope(struct sym_dwarf_unit *unit,
                                             uint64_t address,
                                             struct sym_budget *budget);

/* Sets what is set with name: "" and 0 if it is not known. */
void sym_dwarf_name_scope(struct sym_dwarf_scope *scope);

/* Sets where the function is defined, if the entry has that. */
void sym_dwarf_place_scope(struct sym_dwarf_scope *scope, Dwarf_Die *entry);

/* Reads the unit's table once, or only its files. False if it is too much. */
bool sym_dwarf_read_lines(struct sym_dwarf_unit *unit,
                          const struct sym_dwarf_image *image);
bool sym_dwarf_read_files(struct sym_dwarf_unit *unit,
                          const struct sym_dwarf_image *image);

/* How many rows begin at or before an address. */
size_t sym_dwarf_rows_until(const struct sym_dwarf_unit *unit, uint64_t address);

/* The path of a file; "" if there is none of that number. */
const char *sym_dwarf_file(struct sym_dwarf_unit *unit, size_t number);

void sym_dwarf_unit_finish(struct sym_dwarf_unit *unit);

#endif
