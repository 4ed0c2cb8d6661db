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

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How far a name holds outside all known texts (BPF programs, trampolines). */
#define LOOSE_BYTES (UINT64_C(1) << 16)

/* --- functions of parts --- */

/* How names begin is looked at before they are compared: in so many bytes, of which a
 * hash has so many bits. */
enum { BEGIN_BYTES = 4, BEGIN_BITS = 16 };

/* functions - the names of functions that kept parts may belong to, sorted. */
struct functions {
    char **names;
    size_t count;
    uint8_t begins[(1 << BEGIN_BITS) / 8]; /* a bit for each hash of a beginning */
};

static int
compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Return the number of the bit in begins for a name: a hash of its first BEGIN_BYTES
 * bytes, which are 0 behind the end of a shorter one. */
static uint32_t
hash_begin(const char *name)
{
    unsigned char begin[BEGIN_BYTES] = "";
    uint32_t number;

    for (size_t i = 0; i < BEGIN_BYTES && name[i] != '\0'; i++) {
        begin[i] = (unsigned char)name[i];
    }
    memcpy(&number, begin, sizeof(number));
    return number * UINT32_C(2654435761) >> (32 - BEGIN_BITS);
}

/* Add the names of the functions that a part of this name may belong to: none if it is
 * no part. Returns false if memory ran out. */
static bool
add_functions(struct functions *functions, const char *name)
{
    size_t length = strlen(name);

    while (sym_split_length(name, length) < length) {
        char **const larger = reallocarray(functions->names, functions->count + 1,
                                           sizeof(*functions->names));
        uint32_t hash;

        length = sym_split_length(name, length);
        if (larger == NULL) {
            return false;
        }
        functions->names = larger;
        functions->names[functions->count] = strndup(name, length);
        if (functions->names[functions->count] == NULL) {
            return false;
        }
        hash = hash_begin(functions->names[functions->count]);
        functions->begins[hash / 8] |= (uint8_t)(1U << hash % 8);
        functions->count++;
    }
    return true;
}

static bool
has_function(const struct functions *functions, const char *name)
{
    const uint32_t hash = hash_begin(name);

    return (functions->begins[hash / 8] & 1U << hash % 8) != 0 &&
           bsearch(&name, functions->names, functions->count, sizeof(*functions->names),
                   compare_names) != NULL;
}

/* --- what is wanted --- */

/* selection - symbols of a table that are kept. */
struct selection {
    const struct kernel_table *all;
    struct kernel_table kept;
    uint32_t module; /* name of the module of the last one, in kept */
};

static void
keep(struct selection *selection, const struct kernel_symbol *symbol, bool sought)
{
    struct kernel_symbol copy = {
        .address = symbol->address, .rank = symbol->rank, .sought = sought};

    kernel_table_add(
        &selection->kept, &copy, kernel_table_name(selection->all, symbol->name),
        kernel_table_name(selection->all, symbol->module), &selection->module);
}

/* Keep the symbols that may name a wanted bucket: those that begin in it, and those at
 * the last address that is not behind its first byte. */
static void
keep_wanted(struct selection *selection, const struct sym_wanted *wanted)
{
    size_t count;
    const struct kernel_symbol *const symbols =
        kernel_table_symbols(selection->all, &count);
    size_t next = 0; /* those before were kept, or are not wanted */

    for (size_t i = 0; i < wanted->count; i++) {
        const uint64_t place = wanted->places[i];
        const uint64_t reach = wanted->bytes - 1;
        const uint64_t last = place <= UINT64_MAX - reach ? place + reach : UINT64_MAX;
        size_t at = sym_count_below(symbols, count, sizeof(*symbols), place);

        if (at > 0 && (at == count || symbols[at].address > place)) {
            at = sym_count_below(symbols, count, sizeof(*symbols),
                                 symbols[at - 1].address);
        }
        for (at = at > next ? at : next; at < count && symbols[at].address <= last;
             at++) {
            keep(selection, &symbols[at], /* sought */ false);
            next = at + 1;
        }
    }
}

/* Keep the functions that parts ("work.cold") among the kept symbols belong to. If
 * memory runs out, these parts count as functions of their own. */
static void
keep_functions(struct selection *selection)
{
    struct functions functions = {.names = NULL};
    size_t count;
    const struct kernel_symbol *symbols =
        kernel_table_symbols(&selection->kept, &count);
    bool complete = true;

    for (size_t i = 0; complete && i < count; i++) {
        complete = add_functions(&functions,
                                 kernel_table_name(&selection->kept, symbols[i].name));
    }
    if (complete && functions.count > 0) {
        qsort(functions.names, functions.count, sizeof(*functions.names),
              compare_names);
        symbols = kernel_table_symbols(selection->all, &count);
        for (size_t i = 0; i < count; i++) {
            if (has_function(&functions,
                             kernel_table_name(selection->all, symbols[i].name))) {
                keep(selection, &symbols[i], /* sought */ true);
            }
        }
    }
    for (size_t i = 0; i < functions.count; i++) {
        free(functions.names[i]);
    }
    free(functions.names);
}

/* Drop all symbols of a table that no wanted bucket can be named by. Returns false if
 * memory ran out. */
static bool
drop_unwanted(struct kernel_table *table, const struct sym_wanted *wanted)
{
    struct selection selection = {.all = table};

    keep_wanted(&selection, wanted);
    if (!selection.kept.names.failed) {
        keep_functions(&selection);
    }
    buffer_finish(&table->symbols);
    buffer_finish(&table->names);
    table->symbols = selection.kept.symbols;
    table->names = selection.kept.names;
    return !table->symbols.failed && !table->names.failed;
}

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
kernel_table_map(struct kernel_table *table, const struct sym_wanted *wanted,
                 uint64_t *begin, uint64_t *end)
{
    struct sym_map *map = calloc(1, sizeof(*map));

    if (map != NULL &&
        ((wanted != NULL && !drop_unwanted(table, wanted)) || !fill_map(table, map))) {
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

struct sym_map *
sym_map_read_kernel(FILE *kallsyms, FILE *modules, const struct sym_wanted *wanted,
                    uint64_t *begin, uint64_t *end)
{
    struct kernel_table table = {.core = {0}};
    const int error = kernel_table_read(&table, kallsyms, modules);

    if (error != 0) {
        kernel_table_finish(&table);
        errno = -error;
        return NULL;
    }
    return kernel_table_map(&table, wanted, begin, end);
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

/* Whether all wanted buckets are in the core's text, of which a cache has the
 * symbols. */
static bool
is_in_core(const struct kernel_table *table, const struct sym_wanted *wanted)
{
    const struct kernel_text *const core = &table->core;
    bool all = true;

    for (size_t i = 0; all && i < wanted->count; i++) {
        const uint64_t place = wanted->places[i];

        all = place >= core->start && place < core->end &&
              wanted->bytes - 1 < core->end - place;
    }
    return all;
}

/* Read the functions that are wanted, from the cache of a boot if it has them all; or
 * else all from /proc, and then the cache is written unless it was right. Returns as
 * kernel_table_read. */
static int
read_cached(struct kernel_table *table, const struct sym_wanted *wanted,
            const char *boot)
{
    const bool right = kernel_cache_read(CACHE_FOLDER, boot, table);
    int error;

    if (right && is_in_core(table, wanted) && shows_addresses()) {
        return 0;
    }
    kernel_table_finish(table);
    *table = (struct kernel_table){.core = {0}};
    error = read_proc(table);
    if (error == 0 && !right) {
        kernel_cache_write(CACHE_FOLDER, boot, table);
    }
    return error;
}

struct sym_map *
sym_map_open_kernel(const struct sym_wanted *wanted, uint64_t *begin, uint64_t *end)
{
    const bool is_root = getuid() == 0 && geteuid() == 0;
    char boot[KERNEL_BOOT_BYTES];
    const bool cached = is_root && wanted != NULL && kernel_cache_boot(boot);
    struct kernel_table table = {.core = {0}};
    const int error = cached ? read_cached(&table, wanted, boot) : read_proc(&table);

    if (error != 0) {
        kernel_table_finish(&table);
        errno = -error;
        return NULL;
    }
    return kernel_table_map(&table, wanted, begin, end);
}
