/* SPDX-License-Identifier: MIT */
/*
 * name_map.c - lookups in names by run-time address.
 */
#include "symbols/border/name_map.h"

#include <stdlib.h>

struct sym_map *
sym_map_share(struct sym_map *map)
{
    map->shares++;
    return map;
}

void
sym_map_close(struct sym_map *map)
{
    if (map == NULL) {
        return;
    }
    if (map->shares > 0) {
        map->shares--;
        return;
    }
    sym_table_finish(&map->table);
    free(map->modules);
    free(map);
}

bool
sym_map_lookup(const struct sym_map *map, uint64_t address, struct sym_name *name,
               const char **module)
{
    struct sym_range *range = sym_table_find(&map->table, address);

    *name = (struct sym_name){.file = "", .definition = "", .address = address};
    *module = "";
    if (range == NULL || !sym_range_name(range, &name->name, &name->system_name)) {
        return false;
    }
    name->has_start = map->has_starts;
    name->start = name->has_start ? range->origin : 0;
    if (range->tag < map->module_count) {
        *module = map->modules[range->tag];
    }
    return true;
}

bool
sym_map_lookup_bucket(const struct sym_map *map, uint64_t address, uint64_t bytes,
                      struct sym_name *name, const char **module)
{
    const struct sym_range *last = NULL;
    bool found;

    if (bytes > 1 && address <= UINT64_MAX - bytes) {
        last = sym_table_find_before(&map->table, address + bytes);
    }
    found = sym_map_lookup(
        map, last != NULL && last->start > address ? last->start : address, name,
        module);
    name->address = address;
    return found;
}

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool
sym_parse_hex(const char **text, uint64_t *value)
{
    const char *at = *text;
    const char *first;

    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && hex_digit(at[2]) >= 0) {
        at += 2;
    }
    first = at;
    *value = 0;
    while (hex_digit(*at) >= 0) {
        if (*value >> 60 != 0) {
            return false;
        }
        *value = *value << 4 | (uint64_t)hex_digit(*at++);
    }
    *text = at;
    return at > first;
}
