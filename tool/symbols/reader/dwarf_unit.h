/* SPDX-License-Identifier: MIT */
/*
 * dwarf_unit.h - a unit of debug information: its functions and its line table, which
 * are read when an address in it is looked up. For tool/symbols/reader only.
 */
#ifndef SYMBOLS_READER_DWARF_UNIT_H
#define SYMBOLS_READER_DWARF_UNIT_H

#include "symbols/border/table.h"
#include "symbols/reader/dwarf_image.h"
#include "symbols/reader/dwarf_sequences.h"
#include "symbols/reader/dwarf_walk.h"
#include "symbols/reader/elf_code.h"

#define SYM_DWARF_NO_SCOPE UINT32_MAX

/* sym_dwarf_container - a namespace, type or function, which can contain functions. */
struct sym_dwarf_container {
    uint64_t entry;  /* its address in libdw's memory; containers are sorted by it */
    uint32_t parent; /* index of the container around it, or SYM_DWARF_NO_SCOPE */
};

/*
 * sym_dwarf_scope - a function, or a call that was inlined into one. A parent has a
 * smaller index than its children. The inlined calls of a function, and of those nested
 * in it, are read when an address of one of them is looked up, since most functions of
 * a unit are not.
 */
struct sym_dwarf_scope {
    Dwarf_Die entry;
    uint32_t parent; /* of an inlined call: the scope that calls; of a function:
                        SYM_DWARF_NO_SCOPE */
    /* From here to bare: set by sym_dwarf_name_scope. */
    uint32_t call_file; /* of an inlined call, where the call is; else 0 */
    uint32_t call_line;
    uint32_t call_discriminator;
    uint32_t start_line;
    Dwarf_CU *definer;       /* the unit whose file table has definition; or NULL */
    uint32_t definition;     /* number of the file where the function is defined */
    const char *name;        /* demangled; NULL until it is set */
    const char *system_name; /* the linkage name, or else the same */
    char *owned;             /* name, if free() must be called for it; or NULL */
    bool bare;               /* name is not qualified: there is no linkage name */
    uint32_t outermost;      /* of a function: that which it is nested in, or itself */
    bool inlined_sought;
    struct sym_table *inlined; /* of an outermost function: ranges of the inlined calls
                                  in it and in nested ones; tag: scope */
};

/* A "..._sought" means: that was read or searched for, and will not be again. */
struct sym_dwarf_unit {
    uint64_t offset; /* of root in .debug_info; units are sorted by it */
    Dwarf_Die root;
    const struct sym_elf_code *code; /* of the image; NULL: not known */
    uint64_t addr_base;   /* of a skeleton: where its part of .debug_addr begins */
    uint64_t ranges_base; /* of a skeleton before DWARF 5: the same of .debug_ranges */
    uint64_t language;    /* of a skeleton whose split unit was found: DW_LANG_... */
    bool split_sought;
    bool scopes_sought;
    bool lines_sought;
    bool files_sought;
    bool lines_refused;            /* memory or the budget ran out for the rows */
    bool files_refused;            /* the same for the files */
    struct sym_dwarf_image *split; /* the split unit of a skeleton, or NULL */
    Dwarf_Die functions;           /* root of the entries of functions: root, or that of
                                      the split unit */
    struct sym_dwarf_scope *scopes;
    size_t scope_count;
    size_t scope_room;
    struct sym_dwarf_abbreviations *abbreviations; /* of the unit of functions; NULL:
                                                      damaged, or memory ran out */
    Dwarf_CU *abbreviations_of; /* the unit that they were read of, or NULL */
    struct sym_table ranges;    /* of functions; tag: scope */
    struct sym_dwarf_container *containers;
    size_t container_count;
    size_t container_room;
    bool containers_sought;
    struct sym_dwarf_rows rows;
    struct sym_dwarf_files files;
};

/* Return the number in an attribute of an entry, or 0 without such an attribute. */
uint64_t sym_dwarf_number(Dwarf_Die *entry, unsigned int attribute);

/* Return the string in an attribute, or NULL if attribute is NULL or the string is too
 * long. */
const char *sym_dwarf_text(Dwarf_Attribute *attribute);

/* Whether the image has code at an address. If its code is not known, every address but
 * 0 counts as code. */
bool sym_dwarf_is_code(const struct sym_elf_code *code, uint64_t address);

/*
 * Add the ranges of an entry to a table. A range that begins where the image has no
 * code is left out: its function was discarded by the linker.
 *
 *   any  out: whether the entry has ranges, added or not
 *
 * Returns false if memory or the budget ran out.
 */
bool sym_dwarf_add_ranges(Dwarf_Die *entry, const struct sym_elf_code *code,
                          uint32_t tag, struct sym_table *table, bool *any);

/* The abbreviations of the unit that has the functions, read once. Returns NULL if they
 * are damaged, or if memory or the budget ran out. */
const struct sym_dwarf_abbreviations *
sym_dwarf_unit_abbreviations(struct sym_dwarf_unit *unit, struct sym_budget *budget);

/* The innermost scope at an address, valid until the next call. Returns NULL if there
 * is none, or if memory or the budget ran out. */
struct sym_dwarf_scope *sym_dwarf_find_scope(struct sym_dwarf_unit *unit,
                                             uint64_t address,
                                             struct sym_budget *budget);

/* Set name and the other members that struct sym_dwarf_scope lists, once. What is not
 * known is "" or 0. */
void sym_dwarf_name_scope(struct sym_dwarf_scope *scope);

/* Set start_line, definer and definition of a scope as far as an entry has them: the
 * scope's own, or one that contains it. */
void sym_dwarf_set_definition(struct sym_dwarf_scope *scope, Dwarf_Die *entry);

/* Read the unit's line table, or only the files in its header, once. Returns false, now
 * and at every later call, if memory or the budget ran out. */
bool sym_dwarf_read_lines(struct sym_dwarf_unit *unit,
                          const struct sym_dwarf_image *image);
bool sym_dwarf_read_files(struct sym_dwarf_unit *unit,
                          const struct sym_dwarf_image *image);

/* The number of rows whose address is at or before the given one. */
size_t sym_dwarf_rows_until(const struct sym_dwarf_unit *unit, uint64_t address);

/* The path of a file by its number in the line table; "" if there is no such file.
 * Valid as long as the unit. */
const char *sym_dwarf_file(struct sym_dwarf_unit *unit, size_t number);

void sym_dwarf_unit_finish(struct sym_dwarf_unit *unit);

#endif
