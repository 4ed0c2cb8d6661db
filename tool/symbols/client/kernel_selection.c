/* SPDX-License-Identifier: MIT */
/*
 * kernel_selection.c - the symbols of a kernel's table that are wanted.
 *
 * A command has hits in some hundred of the kernel's hundred thousand functions, and
 * the table may be a mapped file: only what a search needs is looked at, so that its
 * other pages are not read. Not so if a part (work.cold) is kept: to find its function
 * all symbols are looked at.
 */
#include "symbols/client/kernel_selection.h"

#include "symbols/border/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* Linux's names have at most 511 characters. */
enum { NAME_BYTES_MAX = 1024 };

/* selection - symbols of a table that are kept. */
struct selection {
    const struct kernel_table *all;
    struct kernel_table *kept;
    uint32_t module; /* name of the module of the last one, in kept */
    bool damaged;    /* one was not as kernel_table.h says */
};

/* Whether a name is a string of the table, and no long one. */
static bool
is_name(const struct kernel_table *table, uint32_t name)
{
    return name < table->names.size &&
           strnlen(kernel_table_name(table, name), NAME_BYTES_MAX) < NAME_BYTES_MAX;
}

static void
keep(struct selection *selection, const struct kernel_symbol *symbol, bool sought)
{
    const struct kernel_table *const all = selection->all;
    struct kernel_symbol copy = {
        .address = symbol->address, .rank = symbol->rank, .sought = sought};

    if (symbol->rank > SYM_RANK_GLOBAL || !is_name(all, symbol->name) ||
        !is_name(all, symbol->module)) {
        selection->damaged = true;
        return;
    }
    kernel_table_add(selection->kept, &copy, kernel_table_name(all, symbol->name),
                     kernel_table_name(all, symbol->module), &selection->module);
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

/* Keep the functions that parts among the kept symbols belong to. */
static void
keep_functions(struct selection *selection)
{
    struct functions functions = {.names = NULL};
    size_t count;
    const struct kernel_symbol *symbols = kernel_table_symbols(selection->kept, &count);
    bool complete = true;

    for (size_t i = 0; complete && i < count; i++) {
        complete = add_functions(&functions,
                                 kernel_table_name(selection->kept, symbols[i].name));
    }
    if (complete && functions.count > 0) {
        qsort(functions.names, functions.count, sizeof(*functions.names),
              compare_names);
        symbols = kernel_table_symbols(selection->all, &count);
        for (size_t i = 0; i < count; i++) {
            if (symbols[i].name < selection->all->names.size &&
                has_function(&functions,
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

int
kernel_table_select(const struct kernel_table *all, const struct sym_wanted *wanted,
                    struct kernel_table *kept)
{
    struct selection selection = {.all = all, .kept = kept};

    keep_wanted(&selection, wanted);
    if (!selection.damaged && !kept->names.failed) {
        keep_functions(&selection);
    }
    if (selection.damaged) {
        return -EINVAL;
    }
    return kept->symbols.failed || kept->names.failed ? -ENOMEM : 0;
}
