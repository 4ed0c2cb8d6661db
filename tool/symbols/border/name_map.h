/* SPDX-License-Identifier: MIT */
/*
 * name_map.h - what the readers of perf maps and of the kernel's symbols share.
 */
#ifndef SYMBOLS_BORDER_NAME_MAP_H
#define SYMBOLS_BORDER_NAME_MAP_H

#include "symbols/border/table.h"
#include "symbols/client/image.h"

#include <stdio.h>

/* sym_map - names by run-time address. The tag of an entry is its module's index. */
struct sym_map {
    struct sym_table table;
    const char **modules; /* [0] is ""; strings are owned by the table */
    size_t module_count;
    unsigned int shares; /* users beside the first */
};

/*
 * The kernel's symbols from /proc/kallsyms and /proc/modules, which may be NULL.
 * Errors, and what wanted is for, as in sym_map_open_kernel.
 */
struct sym_map *sym_map_read_kernel(FILE *kallsyms, FILE *modules,
                                    const struct sym_wanted *wanted, uint64_t *begin,
                                    uint64_t *end);

/* A number in base 16 with or without 0x; moves text behind it. False if there is none
 * or it is too large. */
bool sym_parse_hex(const char **text, uint64_t *value);

#endif
