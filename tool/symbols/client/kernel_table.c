/* SPDX-License-Identifier: MIT */
/*
 * kernel_table.c - the kernel's functions, from /proc/kallsyms and /proc/modules.
 *
 * Lines are "ADDRESS TYPE NAME" with "\t[MODULE]" behind those of modules. Linux makes
 * each line anew, which takes longer than all that is done with it here: the file is
 * read once.
 */
#include "symbols/client/kernel_table.h"

#include "symbols/border/name_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* line - one line of kallsyms, its strings cut out in place. */
struct line {
    uint64_t address;
    char type;
    const char *name;
    const char *module; /* "" or its name */
};

/* reader - what is known of the lines that were read. */
struct reader {
    struct kernel_table *table;
    uint64_t last;   /* address of the last symbol */
    uint32_t module; /* name of the module of the last symbol of one */
    bool disordered; /* symbols are not sorted yet */
    bool any;        /* there was a line */
    bool shown;      /* addresses are: without the right to see them they read as 0 */
};

/* --- texts --- */

/* Return which bound of the core's text a symbol gives, or NULL. A kernel may show
 * _text only, and not _stext. */
static uint64_t *
find_bound(struct kernel_table *table, const char *name)
{
    if (name[0] != '_') {
        return NULL;
    }
    if (strcmp(name, "_stext") == 0) {
        return &table->core.start;
    }
    if (strcmp(name, "_text") == 0) {
        return table->core.start == 0 ? &table->core.start : NULL;
    }
    return strcmp(name, "_etext") == 0 ? &table->core.end : NULL;
}

/* Read where a module is: "NAME SIZE USERS DEPENDENTS STATE ADDRESS". Returns false if
 * the line is of another form. */
static bool
parse_module(const char *line, struct kernel_text *text)
{
    const char *size_text = strchr(line, ' ');
    const char *address = strstr(line, " 0x"); /* "(OE)" may follow it */
    unsigned long long size;

    if (address == NULL || size_text == NULL) {
        return false;
    }
    size = strtoull(size_text, NULL, 10);
    address++;
    if (!sym_parse_hex(&address, &text->start) || size == 0 ||
        size > UINT64_MAX - text->start) {
        return false;
    }
    text->end = text->start + size;
    return true;
}

/* Read the bounds of the text of all modules from /proc/modules, which may be NULL. */
static void
read_modules(struct kernel_table *table, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    struct kernel_text module;

    while (file != NULL && getline(&line, &room, file) > 0) {
        if (parse_module(line, &module)) {
            buffer_append(&table->texts, &module, sizeof(module));
        }
    }
    free(line);
}

static bool
text_has(const struct kernel_text *text, uint64_t address)
{
    return address >= text->start && address < text->end;
}

const struct kernel_text *
kernel_table_text(const struct kernel_table *table, uint64_t address)
{
    const struct kernel_text *const modules = (const void *)table->texts.data;

    if (text_has(&table->core, address)) {
        return &table->core;
    }
    for (size_t i = 0; i < table->texts.size / sizeof(*modules); i++) {
        if (text_has(&modules[i], address)) {
            return &modules[i];
        }
    }
    return NULL;
}

/* --- lines --- */

/* Take a line of /proc/kallsyms of this length apart. Returns false if it is not
 * one. */
static bool
cut_line(char *text, size_t length, struct line *line)
{
    const char *at = text;
    char *tab;

    length -= text[length - 1] == '\n';
    text[length] = '\0';
    if (!sym_parse_hex(&at, &line->address) || at[0] != ' ' || at[1] == '\0' ||
        at[2] != ' ') {
        return false;
    }
    line->type = at[1];
    line->name = at + 3;
    line->module = "";
    tab =
        memchr(text + (line->name - text), '\t', length - (size_t)(line->name - text));
    if (tab != NULL) {
        *tab = '\0';
        line->module = tab + 1 + (tab[1] == '[');
        tab[1 + strcspn(tab + 1, "]")] = '\0';
    }
    return true;
}

/* Find the rank of a symbol by its letter. Returns false if it is none of code. */
static bool
rank_of_type(char type, uint8_t *rank)
{
    switch (type) {
    case 'T':
        *rank = SYM_RANK_GLOBAL;
        return true;
    case 'W':
    case 'w':
        *rank = SYM_RANK_WEAK;
        return true;
    case 't':
        *rank = SYM_RANK_LOCAL;
        return true;
    default:
        return false;
    }
}

/* Append a name. Returns where it begins; without memory, names have failed. */
static uint32_t
add_name(struct kernel_table *table, const char *name)
{
    const size_t at = table->names.size;

    table->names.failed |= at > UINT32_MAX;
    buffer_append(&table->names, name, strlen(name) + 1);
    return (uint32_t)at;
}

void
kernel_table_add(struct kernel_table *table, struct kernel_symbol *symbol,
                 const char *name, const char *module, uint32_t *last_module)
{
    if (table->names.size == 0) {
        (void)add_name(table, "");
    }
    /* The symbols of a module are together, so few names are added twice. */
    if (module[0] != '\0' &&
        (*last_module == 0 ||
         strcmp(kernel_table_name(table, *last_module), module) != 0)) {
        *last_module = add_name(table, module);
    }
    symbol->module = module[0] == '\0' ? 0 : *last_module;
    symbol->name = add_name(table, name);
    buffer_append(&table->symbols, symbol, sizeof(*symbol));
}

static void
add_line(struct reader *reader, const struct line *line)
{
    struct kernel_table *const table = reader->table;
    struct kernel_symbol symbol = {.address = line->address};
    uint64_t *const bound =
        line->module[0] == '\0' ? find_bound(table, line->name) : NULL;

    reader->any = true;
    reader->shown |= line->address != 0;
    if (bound != NULL) {
        *bound = line->address;
    }
    if (rank_of_type(line->type, &symbol.rank)) {
        reader->disordered |= line->address < reader->last;
        reader->last = line->address;
        kernel_table_add(table, &symbol, line->name, line->module, &reader->module);
    }
}

static int
compare_symbols(const void *left, const void *right)
{
    const struct kernel_symbol *const a = left;
    const struct kernel_symbol *const b = right;

    if (a->address != b->address) {
        return a->address < b->address ? -1 : 1;
    }
    return (a->name > b->name) - (a->name < b->name);
}

int
kernel_table_read(struct kernel_table *table, FILE *kallsyms, FILE *modules)
{
    struct reader reader = {.table = table};
    char *text = NULL;
    size_t room = 0;
    ssize_t length;
    struct line line;

    while (!table->names.failed && (length = getline(&text, &room, kallsyms)) > 0) {
        if (cut_line(text, (size_t)length, &line)) {
            add_line(&reader, &line);
        }
    }
    free(text);
    read_modules(table, modules);
    if (ferror(kallsyms)) {
        return -EIO;
    }
    if (table->texts.failed || table->symbols.failed || table->names.failed) {
        return -ENOMEM;
    }
    if (reader.disordered) {
        qsort(table->symbols.data, table->symbols.size / sizeof(struct kernel_symbol),
              sizeof(struct kernel_symbol), compare_symbols);
    }
    if (!reader.shown) {
        return reader.any ? -EACCES : -ENODATA;
    }
    return 0;
}

void
kernel_table_finish(struct kernel_table *table)
{
    buffer_finish(&table->texts);
    buffer_finish(&table->symbols);
    buffer_finish(&table->names);
}
