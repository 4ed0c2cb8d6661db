/* SPDX-License-Identifier: MIT */
/*
 * dwarf_unit.h - a unit of debug information: its functions and its line table, read
 * when an address in it is looked up, for tool/symbols/reader only.
 */
#ifndef SYMBOLS_READER_DWARF_UNIT_H
#define SYMBOLS_READER_DWARF_UNIT_H

#include "symbols/border/table.h"
#include "symbols/reader/dwarf_image.h"

#define SYM_DWARF_NO_SCOPE UINT32_MAX

/* sym_dwarf_scope - a function, or what was inlined into one. Its parent comes before
 * it. */
struct sym_dwarf_scope {
    Dwarf_Die entry;
    uint32_t parent; /* of what was inlined: where; SYM_DWARF_NO_SCOPE: a function */
    uint32_t call_file;
    uint32_t call_line;
    uint32_t call_discriminator;
    uint32_t start_line; /* set with name */
    const char *name;    /* NULL until asked for; for people */
    const char *system_name;
    char *owned; /* name, if demangling made it */
};

struct sym_dwarf_unit {
    Dwarf_Die root;
    uint64_t addr_base;   /* of a skeleton: where its part of .debug_addr begins */
    uint64_t ranges_base; /* of one before version 5: the same of .debug_ranges */
    bool split_sought;
    bool scopes_sought;
    bool lines_sought;
    bool lines_refused;            /* they are too much */
    struct sym_dwarf_image *split; /* the other half of a skeleton; NULL: none */
    Dwarf_Die functions;           /* the root that has them: root, or of split */
    struct sym_dwarf_scope *scopes;
    size_t scope_count;
    size_t scope_room;
    struct sym_table places; /* tag: scope, the innermost one */
    Dwarf_Lines *lines;      /* by address; of one address the last counts */
    size_t line_count;
    Dwarf_Files *files;
    size_t file_count;
    char **paths; /* of files; each NULL until asked for */
};

/* The number that an attribute of an entry has; 0: it has none. */
uint64_t sym_dwarf_number(Dwarf_Die *entry, unsigned int attribute);

/* The string that an attribute has, if it is not too long; NULL: none. */
const char *sym_dwarf_text(Dwarf_Attribute *attribute);

/* Adds the ranges of an entry, without those that the linker threw away. False: out of
 * memory or budget. */
bool sym_dwarf_add_ranges(Dwarf_Die *entry, uint32_t tag, struct sym_table *table);

/* The innermost scope of an address; NULL: none, or too much memory. */
struct sym_dwarf_scope *sym_dwarf_find_scope(struct sym_dwarf_unit *unit,
                                             uint64_t address,
                                             struct sym_budget *budget);

/* Sets name, system_name and start_line: "" and 0 if they are not known. */
void sym_dwarf_name_scope(struct sym_dwarf_scope *scope);

/* Reads the unit's table once. False if it is too much. */
bool sym_dwarf_read_lines(struct sym_dwarf_unit *unit,
                          const struct sym_dwarf_image *image);

/* How many rows begin at or before an address. */
size_t sym_dwarf_rows_until(const struct sym_dwarf_unit *unit, uint64_t address);

/* A row; NULL: there is none. end: out, code of nothing begins there. */
Dwarf_Line *sym_dwarf_row(const struct sym_dwarf_unit *unit, size_t index,
                          uint64_t *address, bool *end);

/* The path of a file; "" if there is none of that number. */
const char *sym_dwarf_file(struct sym_dwarf_unit *unit, size_t number);
const char *sym_dwarf_row_file(struct sym_dwarf_unit *unit, Dwarf_Line *row);

void sym_dwarf_unit_finish(struct sym_dwarf_unit *unit);

#endif
