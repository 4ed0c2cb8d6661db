/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - the kernel's functions, from /proc/kallsyms and /proc/modules.
 *
 * Lines are "ADDRESS TYPE NAME" with "\t[MODULE]" behind those of modules. There are no sizes: a
 * symbol reaches to the next one, but not out of the text it lies in.
 */
#include "sym/name_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KALLSYMS_BYTES_MAX ((size_t)1 << 30)

/* Code outside all known texts (BPF programs, trampolines): how far a name is believed. */
#define LOOSE_BYTES (UINT64_C(1) << 16)

/* text - a stretch of code that has a known end. */
struct text {
    uint64_t start;
    uint64_t end;
};

struct texts {
    struct text core; /* _stext, _etext */
    struct text init; /* _sinittext, _einittext */
    struct text *modules;
    size_t module_count;
};

/* line - one line of kallsyms, its strings cut out in place. */
struct line {
    uint64_t address;
    char type;
    char *name;
    char *module; /* "" or its name */
};

/* Cuts the line that begins at *text and moves *text to the next. False if it is none. */
static bool
cut_line(char **text, struct line *line)
{
    char *end = strchrnul(*text, '\n');
    const char *at = *text;
    char *tab;

    *text = *end == '\0' ? end : end + 1;
    *end = '\0';
    if (!sym_parse_hex(&at, &line->address) || at[0] != ' ' || at[1] == '\0' ||
        at[2] != ' ') {
        return false;
    }
    line->type = at[1];
    line->name = (char *)(uintptr_t)at + 3;
    line->module = end;
    tab = strchr(line->name, '\t');
    if (tab != NULL) {
        *tab = '\0';
        line->module = tab + 1 + (tab[1] == '[');
        line->module[strcspn(line->module, "]")] = '\0';
    }
    return true;
}

static void
note_bound(struct texts *texts, const struct line *line)
{
    if (line->module[0] != '\0' || line->name[0] != '_') {
        return;
    }
    if (strcmp(line->name, "_stext") == 0) {
        texts->core.start = line->address;
    } else if (strcmp(line->name, "_etext") == 0) {
        texts->core.end = line->address;
    } else if (strcmp(line->name, "_sinittext") == 0) {
        texts->init.start = line->address;
    } else if (strcmp(line->name, "_einittext") == 0) {
        texts->init.end = line->address;
    }
}

/* "NAME SIZE USERS DEPENDENTS STATE ADDRESS" */
static bool
parse_module(const char *line, struct text *text)
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

static bool
read_modules(struct texts *texts, char *text)
{
    char *line;

    while ((line = strsep(&text, "\n")) != NULL) {
        struct text *larger;
        struct text module;

        if (!parse_module(line, &module)) {
            continue;
        }
        larger = realloc(texts->modules, (texts->module_count + 1) * sizeof(*larger));
        if (larger == NULL) {
            return false;
        }
        texts->modules = larger;
        texts->modules[texts->module_count++] = module;
    }
    return true;
}

static bool
holds(const struct text *text, uint64_t address)
{
    return address >= text->start && address < text->end;
}

static uint64_t
end_of_text(const struct texts *texts, uint64_t address)
{
    if (holds(&texts->core, address)) {
        return texts->core.end;
    }
    if (holds(&texts->init, address)) {
        return texts->init.end;
    }
    for (size_t i = 0; i < texts->module_count; i++) {
        if (holds(&texts->modules[i], address)) {
            return texts->modules[i].end;
        }
    }
    return address <= UINT64_MAX - LOOSE_BYTES ? address + LOOSE_BYTES : UINT64_MAX;
}

/* Index of a module's name. Lines of one module stand together, so the last one is looked at. */
static bool
module_index(struct sym_map *map, const char *name, uint32_t *index)
{
    const char **larger;

    if (name[0] == '\0' && map->module_count > 0) {
        *index = 0;
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

/* Until the ends of the texts are known, it reaches as far as it can. */
static bool
add_line(struct sym_map *map, const struct line *line)
{
    struct sym_entry entry = {
        .start = line->address, .end = UINT64_MAX, .name = line->name};

    if (!rank_of_type(line->type, &entry.rank)) {
        return true;
    }
    return module_index(map, line->module, &entry.tag) &&
           sym_table_add(&map->table, &entry);
}

/* Without the right to see them all addresses read as 0. */
static int
add_lines(struct sym_map *map, char *text, struct texts *texts)
{
    struct line line;
    bool any = false;
    bool shown = false;
    uint32_t none;

    if (!module_index(map, "", &none)) {
        return -ENOMEM;
    }
    while (*text != '\0') {
        if (!cut_line(&text, &line)) {
            continue;
        }
        any = true;
        shown = shown || line.address != 0;
        note_bound(texts, &line);
        if (!add_line(map, &line)) {
            return -ENOMEM;
        }
    }
    if (!shown) {
        return any ? -EACCES : -ENODATA;
    }
    return 0;
}

static int
read_symbols(struct sym_map *map, char *kallsyms, char *modules, struct texts *texts)
{
    struct sym_table *const table = &map->table;
    const int error = add_lines(map, kallsyms, texts);

    if (error != 0) {
        return error;
    }
    if (!read_modules(texts, modules)) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < table->entry_count; i++) {
        table->entries[i].end = end_of_text(texts, table->entries[i].start);
    }
    return sym_table_build(table, SYM_OVERLAP_INNERMOST) ? 0 : -ENOMEM;
}

struct sym_map *
sym_map_parse_kernel(char *kallsyms, char *modules, uint64_t *begin, uint64_t *end)
{
    struct sym_map *map = calloc(1, sizeof(*map));
    struct texts texts = {0};
    int error = -ENOMEM;

    if (map == NULL) {
        free(kallsyms);
    } else if (sym_table_own(&map->table, kallsyms)) {
        error = read_symbols(map, kallsyms, modules, &texts);
    }
    free(texts.modules);
    if (error != 0) {
        sym_map_close(map);
        errno = -error;
        return NULL;
    }
    *begin = texts.core.start;
    *end = texts.core.end;
    return map;
}

static char *
read_file(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t size;
    char *text;
    int error;

    if (fd < 0) {
        return NULL;
    }
    text = sym_read_whole(fd, KALLSYMS_BYTES_MAX, &size);
    error = errno;
    close(fd);
    errno = error;
    return text;
}

struct sym_map *
sym_map_open_kernel(uint64_t *begin, uint64_t *end)
{
    char *kallsyms = read_file("/proc/kallsyms");
    char *modules = kallsyms == NULL ? NULL : read_file("/proc/modules");
    struct sym_map *map;
    int error;

    if (kallsyms == NULL) {
        return NULL;
    }
    map = sym_map_parse_kernel(kallsyms, modules, begin, end); /* no modules: NULL */
    error = errno;
    free(modules);
    errno = error;
    return map;
}
