/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - names of the kernel's functions, from a table of all (kernel_table.h).
 *
 * There are no sizes: a symbol reaches to the next one, but not out of the text it lies
 * in, that of the core (all but modules) or of a module. Where it is known what will be
 * looked up, only symbols that may name it are kept.
 */
#include "symbols/client/kernel.h"

#include "symbols/border/parts.h"
#include "symbols/client/kernel_cache.h"
#include "symbols/client/kernel_selection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How far a name holds outside all known texts (BPF programs, trampolines). */
#define LOOSE_BYTES (UINT64_C(1) << 16)

/* --- maps --- */

/* Return where the text that an address is in ends: that of the core or of a module. A
 * symbol that is in none is given LOOSE_BYTES. */
static uint64_t
end_of_text(const struct kernel_table *table, uint64_t address)
{
    const struct kernel_text *const text = kernel_table_text(table, address);

    if (text != NULL) {
        return text->end;
    }
    return address <= UINT64_MAX - LOOSE_BYTES ? address + LOOSE_BYTES : UINT64_MAX;
}

/* Get the index of a module's name, which is added if it is not the last one: the lines
 * of a module are together, so few names are added twice. Returns false if memory ran
 * out. */
static bool
module_index(struct sym_map *map, const char *name, uint32_t *index)
{
    const char **larger;

    if (name[0] == '\0' && map->module_count > 0) {
        *index = 0; /* the core, whose lines come first */
        return true;
    }
    if (map->module_count > 0 &&
        strcmp(map->modules[map->module_count - 1], name) == 0) {
        *index = (uint32_t)(map->module_count - 1);
        return true;
    }
    larger = realloc(map->modules, (map->module_count + 1) * sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    map->modules = larger;
    map->modules[map->module_count] = name;
    *index = (uint32_t)map->module_count++;
    return true;
}

/* Make the map of the symbols of a table, whose names it owns then. Returns false if
 * memory ran out. */
static bool
fill_map(struct kernel_table *table, struct sym_map *map)
{
    size_t count;
    const struct kernel_symbol *const symbols = kernel_table_symbols(table, &count);
    char *const names = (char *)table->names.data;
    uint32_t none;
    bool complete = module_index(map, "", &none);

    map->has_starts = true;
    table->names = (struct buffer){.data = NULL};
    complete &= names == NULL || sym_table_own(&map->table, names);
    for (size_t i = 0; complete && i < count; i++) {
        struct sym_entry entry = {
            .start = symbols[i].address,
            .end = end_of_text(table, symbols[i].address),
            .name = names + symbols[i].name,
            .rank = symbols[i].rank,
        };

        if (symbols[i].sought) {
            entry.end = entry.start + 1;
        }
        complete = module_index(map, names + symbols[i].module, &entry.tag);
        entry.group = entry.tag;
        complete = complete && sym_table_add(&map->table, &entry);
    }
    sym_elf_join_parts(&map->table);
    return complete && sym_table_build(&map->table, SYM_OVERLAP_INNERMOST);
}

struct sym_map *
kernel_table_map(struct kernel_table *table, uint64_t *begin, uint64_t *end)
{
    struct sym_map *map = calloc(1, sizeof(*map));

    if (map != NULL && !fill_map(table, map)) {
        sym_map_close(map);
        map = NULL;
    }
    if (map != NULL) {
        *begin = table->core.start;
        *end = table->core.end;
    }
    kernel_table_finish(table);
    errno = map == NULL ? ENOMEM : errno;
    return map;
}

/* Make the map of a table that was read, or free it if that failed; parameters and
 * result are those of sym_map_read_kernel. */
static struct sym_map *
make_map(struct kernel_table *table, int error, uint64_t *begin, uint64_t *end)
{
    if (error != 0) {
        kernel_table_finish(table);
        errno = -error;
        return NULL;
    }
    return kernel_table_map(table, begin, end);
}

/* Drop all symbols of a table that no wanted bucket can be named by. Returns as
 * kernel_table_select. */
static int
drop_unwanted(struct kernel_table *table, const struct sym_wanted *wanted)
{
    struct kernel_table kept = {.core = table->core};
    const int error = kernel_table_select(table, wanted, &kept);

    buffer_finish(&table->symbols);
    buffer_finish(&table->names);
    table->symbols = kept.symbols;
    table->names = kept.names;
    return error;
}

struct sym_map *
sym_map_read_kernel(FILE *kallsyms, FILE *modules, const struct sym_wanted *wanted,
                    uint64_t *begin, uint64_t *end)
{
    struct kernel_table table = {.core = {0}};
    int error = kernel_table_read(&table, kallsyms, modules);

    if (error == 0 && wanted != NULL) {
        error = drop_unwanted(&table, wanted);
    }
    return make_map(&table, error, begin, end);
}

/* --- files --- */

/* Where the core's functions are kept from one command to the next, until the next
 * boot. */
#define CACHE_FOLDER "/run/ntprof"

/* At most so many of the first symbols are at 0 where addresses are shown. */
enum { LINES_AT_0_MAX = 256 };

/* Read all functions from /proc. Returns as kernel_table_read. */
static int
read_proc(struct kernel_table *table)
{
    FILE *const kallsyms = fopen("/proc/kallsyms", "re");
    FILE *modules;
    int error;

    if (kallsyms == NULL) {
        return -errno;
    }
    modules = fopen("/proc/modules", "re"); /* NULL: there are none */
    error = kernel_table_read(table, kallsyms, modules);
    fclose(kallsyms);
    if (modules != NULL) {
        fclose(modules);
    }
    return error;
}

/* Whether /proc/kallsyms shows the caller addresses: who may not see them gets no names
 * from a cache, either. They all read as 0 if not. */
static bool
shows_addresses(void)
{
    FILE *const kallsyms = fopen("/proc/kallsyms", "re");
    unsigned long long address = 0;

    /* Symbols of processors' own data come first, and the first of them are at 0. */
    for (int i = 0; i < LINES_AT_0_MAX && address == 0 && kallsyms != NULL; i++) {
        if (fscanf(kallsyms, "%llx%*[^\n]", &address) != 1) {
            break;
        }
    }
    if (kallsyms != NULL) {
        fclose(kallsyms);
    }
    return address != 0;
}

/* Read the symbols that are wanted (NULL: all) from /proc. boot: of the cache that is
 * written; NULL: none. Returns as kernel_table_read. */
static int
read_proc_wanted(struct kernel_table *table, const struct sym_wanted *wanted,
                 const char *boot)
{
    const int error = read_proc(table);

    if (error == 0 && boot != NULL) {
        kernel_cache_write(CACHE_FOLDER, boot, table);
    }
    return error == 0 && wanted != NULL ? drop_unwanted(table, wanted) : error;
}

/* Get the symbols that are wanted from the cache of a boot; or else from /proc, and
 * then the cache is written unless it was right. Returns as kernel_table_read. */
static int
read_cached(struct kernel_table *table, const struct sym_wanted *wanted,
            const char *boot)
{
    const int cached = kernel_cache_find(CACHE_FOLDER, boot, wanted, table);

    return cached == 0
               ? 0
               : read_proc_wanted(table, wanted, cached == -ENXIO ? NULL : boot);
}

struct sym_map *
sym_map_open_kernel(const struct sym_wanted *wanted, uint64_t *begin, uint64_t *end)
{
    const bool is_root = getuid() == 0 && geteuid() == 0;
    char boot[KERNEL_BOOT_BYTES];
    struct kernel_table table = {.core = {0}};
    int error;

    if (is_root && wanted != NULL && kernel_cache_boot(boot) && shows_addresses()) {
        error = read_cached(&table, wanted, boot);
    } else {
        error = read_proc_wanted(&table, wanted, NULL);
    }
    return make_map(&table, error, begin, end);
}
