/* SPDX-License-Identifier: MIT */
/* kernel_table.h - the kernel's functions in order of address, as /proc/kallsyms has
 * them. For kernel.c, the files that are called so, and their tests. */
#ifndef SYMBOLS_CLIENT_KERNEL_TABLE_H
#define SYMBOLS_CLIENT_KERNEL_TABLE_H

#include "base/buffer.h"
#include "symbols/border/name_map.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* kernel_symbol - a function. Names are where they begin in the table's names. */
struct kernel_symbol {
    uint64_t address;
    uint32_t name;
    uint32_t module; /* 0: "", which names begin with */
    uint8_t rank;
    uint8_t sought;    /* 1: the function of a wanted part: only its address counts */
    uint8_t unused[6]; /* 0 */
};

/* kernel_text - a stretch of code that has a known end. */
struct kernel_text {
    uint64_t start;
    uint64_t end;
};

/*
 * kernel_table - functions of the kernel and its modules.
 *
 * Invariants: symbols are sorted by address, then in the order of the file, but for
 * those that are sought. names are strings, the first one "". All zero: there are none.
 */
struct kernel_table {
    struct kernel_text core; /* from _stext to _etext */
    struct buffer texts;     /* of struct kernel_text, of modules */
    struct buffer symbols;   /* of struct kernel_symbol */
    struct buffer names;
};

/*
 * Read all functions from files of the form of /proc/kallsyms and /proc/modules.
 *
 *   table    all zero; for kernel_table_finish, also on failure
 *   modules  NULL: there are none
 *
 * Returns 0 or a negative errno: -EACCES if all addresses read as 0, -ENODATA if there
 * is no line.
 */
int kernel_table_read(struct kernel_table *table, FILE *kallsyms, FILE *modules);

/*
 * Append a symbol, which comes behind the last one.
 *
 *   symbol       its name and module are set
 *   last_module  in and out: the last module's name in the table; 0 at first
 *
 * If memory runs out, symbols or names of the table have failed.
 */
void kernel_table_add(struct kernel_table *table, struct kernel_symbol *symbol,
                      const char *name, const char *module, uint32_t *last_module);

void kernel_table_finish(struct kernel_table *table);

/* Make the map of a table, which is freed. begin and end, and the result, are those of
 * sym_map_read_kernel. */
struct sym_map *kernel_table_map(struct kernel_table *table, uint64_t *begin,
                                 uint64_t *end);

/* Return the text that has an address, or NULL. */
const struct kernel_text *kernel_table_text(const struct kernel_table *table,
                                            uint64_t address);

/* Return the symbols, and their number. */
static inline const struct kernel_symbol *
kernel_table_symbols(const struct kernel_table *table, size_t *count)
{
    *count = table->symbols.size / sizeof(struct kernel_symbol);
    return (const struct kernel_symbol *)(const void *)table->symbols.data;
}

static inline const char *
kernel_table_name(const struct kernel_table *table, uint32_t name)
{
    return (const char *)table->names.data + name;
}

#endif
