/* SPDX-License-Identifier: MIT */
/*
 * dwarf_reader.h - units and entries of .debug_info, for tool/sym alone.
 *
 * Invariants: every read is bounded by its section, and nothing recurses. How long a
 * forged file takes is bounded by the time of the process that reads it.
 */
#ifndef SYM_DWARF_READER_H
#define SYM_DWARF_READER_H

#include "sym/dwarf_cursor.h"
#include "sym/dwarf_sections.h"
#include "sym/table.h"
#include "util/hash_index.h"

/* Real entries have some thirty. */
#define SYM_DWARF_ATTRIBUTES_MAX 128

struct sym_dwarf;
struct sym_dwarf_unit;
struct sym_dwarf_scopes;
struct sym_dwarf_lines;

/* sym_dwarf_abbrev - what an entry of one code looks like. */
struct sym_dwarf_abbrev {
    uint64_t code;
    uint32_t tag;
    bool children;
    const unsigned char *attributes; /* pairs of name and form, up to 0, 0 */
};

/* sym_dwarf_abbrevs - a table of them, by code. */
struct sym_dwarf_abbrevs {
    uint64_t offset;
    struct sym_dwarf_abbrev *items;
    size_t count;
    size_t room;
};

/* sym_dwarf_value - an attribute as it stands. What number means is up to form. */
struct sym_dwarf_value {
    uint32_t form; /* 0: there is none */
    uint64_t number;
};

/* sym_dwarf_entry - attributes of an entry that names, places and calls come from. */
struct sym_dwarf_entry {
    uint64_t offset; /* in .debug_info */
    uint32_t tag;    /* 0: the end of a list of children */
    bool children;
    struct sym_dwarf_value name;
    struct sym_dwarf_value linkage_name;
    struct sym_dwarf_value origin; /* abstract origin, else specification */
    struct sym_dwarf_value sibling;
    struct sym_dwarf_value low_pc;
    struct sym_dwarf_value high_pc;
    struct sym_dwarf_value ranges;
    struct sym_dwarf_value call_file;
    struct sym_dwarf_value call_line;
    struct sym_dwarf_value discriminator; /* of a call */
    struct sym_dwarf_value decl_line;
    /* of units: */
    struct sym_dwarf_value comp_dir;
    struct sym_dwarf_value dwo_name;
    struct sym_dwarf_value dwo_id; /* before version 5 */
    struct sym_dwarf_value addr_base;
    struct sym_dwarf_value str_offsets_base;
    struct sym_dwarf_value rnglists_base;
    struct sym_dwarf_value gnu_ranges_base;
    struct sym_dwarf_value stmt_list;
};

/* sym_dwarf_part - of a section: what belongs to one unit of a package, else all. */
struct sym_dwarf_part {
    uint64_t offset;
    uint64_t size;
};

struct sym_dwarf_unit {
    uint64_t offset; /* of the header in .debug_info */
    struct sym_dwarf *dwarf;
    uint64_t first; /* of the first entry */
    uint64_t end;
    uint64_t abbrevs_at; /* in .debug_abbrev */
    uint64_t id;         /* of skeletons and split units: pairs them */
    uint16_t version;
    uint8_t type; /* DW_UT_... */
    uint8_t address_bytes;
    uint8_t offset_bytes;
    bool root_read;
    bool split_sought;
    bool lines_sought;
    const char *folder; /* of the compilation, or NULL; set with root_read */
    const struct sym_dwarf_abbrevs *abbrevs; /* NULL until needed */
    uint64_t low_pc;
    uint64_t addr_base;
    uint64_t str_offsets_base;
    uint64_t rnglists_base;
    uint64_t gnu_ranges_base; /* of skeletons: where lists of the split unit begin */
    struct sym_dwarf_unit *split;    /* of a skeleton, if it was found */
    struct sym_dwarf_unit *skeleton; /* of a split unit */
    struct sym_dwarf_part parts[SYM_DWARF_SECTIONS]; /* of a split unit */
    struct sym_dwarf_scopes *scopes;                 /* NULL until needed */
    struct sym_dwarf_lines *lines; /* NULL until needed, or if they cost too much */
};

struct sym_dwarf {
    struct sym_dwarf_sections sections;
    bool is_split;
    bool discriminators;          /* of rows are kept */
    struct sym_dwarf_unit *units; /* by offset */
    size_t unit_count;
    size_t unit_room;
    struct sym_dwarf_abbrevs **abbrevs;
    size_t abbrevs_count;
    size_t abbrevs_room;
    struct hash_index abbrevs_index; /* by offset */
    struct sym_table places;         /* tag: unit; filled at the first search */
    bool places_read;
    struct sym_dwarf
        *supplement; /* borrowed: the file that DW_FORM_GNU_ref_alt leads to */
};

/* Takes the sections over, also on failure. NULL: out of memory or budget, or no unit
 * at all. What is read of them is taken from their budget. */
struct sym_dwarf *sym_dwarf_open(struct sym_dwarf_sections *sections, bool split);

void sym_dwarf_close(struct sym_dwarf *dwarf); /* NULL is allowed */

/* The unit whose root says that it has the address, or NULL. */
struct sym_dwarf_unit *sym_dwarf_find_unit(struct sym_dwarf *dwarf, uint64_t address);

/* The unit that holds an offset of .debug_info, or NULL. */
struct sym_dwarf_unit *sym_dwarf_unit_at(struct sym_dwarf *dwarf, uint64_t offset);

/* A cursor at an offset inside the unit. */
struct sym_dwarf_cursor sym_dwarf_unit_cursor(const struct sym_dwarf_unit *unit,
                                              uint64_t offset);

/* Reads the entry at the cursor, which goes behind its attributes. False if it is
 * damaged. */
bool sym_dwarf_next_entry(struct sym_dwarf_unit *unit, struct sym_dwarf_cursor *cursor,
                          struct sym_dwarf_entry *entry);

/* The root, with the unit's bases set. */
bool sym_dwarf_root(struct sym_dwarf_unit *unit, struct sym_dwarf_entry *root);

/* Reads or skips one value. */
struct sym_dwarf_value sym_dwarf_read_value(const struct sym_dwarf_unit *unit,
                                            struct sym_dwarf_cursor *cursor,
                                            uint64_t form, uint64_t implicit);

/* NULL if it is no string, or none that ends within 64 KiB. Lives as long as the file's
 * sections. */
const char *sym_dwarf_string(const struct sym_dwarf_unit *unit,
                             const struct sym_dwarf_value *value);

bool sym_dwarf_address(const struct sym_dwarf_unit *unit,
                       const struct sym_dwarf_value *value, uint64_t *address);

/* The entry that a reference leads to: its unit, and its offset. NULL if there is none.
 */
struct sym_dwarf_unit *sym_dwarf_reference(struct sym_dwarf_unit *unit,
                                           const struct sym_dwarf_value *value,
                                           uint64_t *offset);

/* False ends the walk. */
typedef bool sym_dwarf_range(void *context, uint64_t start, uint64_t end);

/* Calls take with each range of addresses of an entry. False if take did or the entry
 * is damaged. */
bool sym_dwarf_ranges(struct sym_dwarf_unit *unit, const struct sym_dwarf_entry *entry,
                      sym_dwarf_range *take, void *context);

/* --- functions --- */

#define SYM_DWARF_NO_SCOPE UINT32_MAX

/* sym_dwarf_scope - a function, or what was inlined into one. Its parent comes before
 * it. */
struct sym_dwarf_scope {
    uint64_t entry;  /* offset in .debug_info */
    uint32_t parent; /* of what was inlined: where; SYM_DWARF_NO_SCOPE: a function */
    uint32_t call_file;
    uint32_t call_line;
    uint32_t call_discriminator;
    uint32_t start_line; /* set with name */
    const char *name;    /* NULL until asked for; for people */
    const char *system_name;
    char *owned; /* name, if demangling made it */
};

struct sym_dwarf_scopes {
    struct sym_dwarf_scope *items;
    size_t count;
    size_t room;
    struct sym_table places; /* tag: scope, the innermost one */
};

/* The innermost scope of an address of a unit, which the unit keeps; NULL: none, or out
 * of memory. */
struct sym_dwarf_scope *sym_dwarf_find_scope(struct sym_dwarf_unit *unit,
                                             uint64_t address);

/* Sets name, system_name and start_line: "" and 0 if they are not known. */
void sym_dwarf_name_scope(struct sym_dwarf_unit *unit, struct sym_dwarf_scope *scope);

void sym_dwarf_scopes_delete(struct sym_dwarf_scopes *scopes); /* NULL is allowed */

#endif
