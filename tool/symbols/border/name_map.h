/* SPDX-License-Identifier: MIT */
/*
 * name_map.h - names by run-time address: those of a JIT's /tmp/perf-PID.map, or the
 * kernel's.
 */
#ifndef SYMBOLS_BORDER_NAME_MAP_H
#define SYMBOLS_BORDER_NAME_MAP_H

#include "symbols/border/name.h"
#include "symbols/border/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sym_map - names by run-time address. The tag of an entry is its module's index. */
struct sym_map {
    struct sym_table table;
    const char **modules; /* [0] is ""; strings are owned by the table */
    size_t module_count;
    bool has_starts;     /* a range of one name is one function */
    unsigned int shares; /* users beside the first */
};

/* Add a user of the map: it is freed when each user has closed it. Returns it. */
struct sym_map *sym_map_share(struct sym_map *map);

void sym_map_close(struct sym_map *map); /* NULL is allowed */

/* Name the code at an address. module: out, "" or the kernel module of the symbol.
 * Returns false if no symbol covers the address. */
bool sym_map_lookup(const struct sym_map *map, uint64_t address, struct sym_name *name,
                    const char **module);

/* Name a bucket: by the last symbol that begins in it, or else by the one at its first
 * byte, as sym_image_lookup_bucket does. */
bool sym_map_lookup_bucket(const struct sym_map *map, uint64_t address, uint64_t bytes,
                           struct sym_name *name, const char **module);

/* Parse a hexadecimal number with or without 0x, and advance *text beyond it. Returns
 * false if there is none or it has more than 64 bits. */
bool sym_parse_hex(const char **text, uint64_t *value);

#endif
