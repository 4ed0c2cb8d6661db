/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - the kernel's functions, from /proc/kallsyms and /proc/modules.
 *
 * Lines are "ADDRESS TYPE NAME" with "\t[MODULE]" behind those of modules. There are no
 * sizes: a symbol reaches to the next one, but not out of the text it lies in.
 */
#include "sym/name_map.h"
#include "util/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KALLSYMS_BYTES_MAX ((size_t)1 << 30)

/* Code outside all known texts (BPF programs, trampolines): how far a name is believed.
 */
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

/* Cuts the line that begins at *text and moves *text to the next. False if it is none.
 */
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

/* The bound that a symbol of the core is; NULL: none. */
static uint64_t *
find_bound(struct texts *texts, const char *name)
{
    if (name[0] != '_') {
        return NULL;
    }
    if (strcmp(name, "_stext") == 0) {
        return &texts->core.start;
    }
    if (strcmp(name, "_etext") == 0) {
        return &texts->core.end;
    }
    if (strcmp(name, "_sinittext") == 0) {
        return &texts->init.start;
    }
    return strcmp(name, "_einittext") == 0 ? &texts->init.end : NULL;
}

static void
note_bound(struct texts *texts, const struct line *line)
{
    uint64_t *const bound =
        line->module[0] == '\0' ? find_bound(texts, line->name) : NULL;

    if (bound != NULL) {
        *bound = line->address;
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
        struct text module;
        struct text *larger;

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

/* Index of a module's name. Lines of one module stand together, so the last one is
 * looked at. */
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

/* --- no more of the text than is needed --- */

/* Longer lines are none of the kernel's: it cuts names at 512 bytes. What is read at
 * once is a page at most. */
#define CHUNK_BYTES 8192

/* thinner - keeps lines of those addresses that a wanted place may belong to, and of
 * the ends of texts. */
struct thinner {
    const struct sym_wanted *wanted;
    size_t next; /* the first place from the last address on */
    struct buffer kept;
    size_t group; /* in kept: where lines of the last address begin */
    uint64_t address;
    bool stays;
};

/* The first place from low on. Lines are by address, nearly all, so it is mostly that
 * of the last line. */
static size_t
find_place(struct thinner *thinner, uint64_t low)
{
    const uint64_t *const places = thinner->wanted->places;
    const size_t count = thinner->wanted->count;

    if ((thinner->next == count || places[thinner->next] >= low) &&
        (thinner->next == 0 || places[thinner->next - 1] < low)) {
        return thinner->next;
    }
    return sym_count_below(places, count, sizeof(*places), low);
}

/* All lines of an address are there, and the symbol of another one is next, at limit or
 * before it. */
static void
end_group(struct thinner *thinner, uint64_t limit)
{
    const struct sym_wanted *const wanted = thinner->wanted;
    const uint64_t reach = wanted->bytes - 1;

    thinner->next =
        find_place(thinner, thinner->address > reach ? thinner->address - reach : 0);
    if (!thinner->stays &&
        (thinner->next == wanted->count || wanted->places[thinner->next] >= limit)) {
        thinner->kept.size = thinner->group;
    }
    thinner->group = thinner->kept.size;
    thinner->stays = false;
}

/* A line without its end. */
static void
thin_line(struct thinner *thinner, const char *line, size_t size)
{
    const char *at = line;
    struct texts texts;
    uint64_t address;
    uint8_t rank;

    if (!sym_parse_hex(&at, &address) || at[0] != ' ' || !rank_of_type(at[1], &rank) ||
        at[2] != ' ') {
        return;
    }
    if (address != thinner->address) {
        /* Of what comes out of order nobody knows yet how far it reaches. */
        end_group(thinner, address > thinner->address ? address : UINT64_MAX);
        thinner->address = address;
    }
    thinner->stays = thinner->stays || find_bound(&texts, at + 3) != NULL;
    buffer_append(&thinner->kept, line, size);
    buffer_append_byte(&thinner->kept, '\n');
}

/* Takes whole lines from the first size bytes; how many are left behind them, which it
 * moves to the beginning. */
static size_t
thin_lines(struct thinner *thinner, char *bytes, size_t size)
{
    char *line = bytes;
    char *end;

    while ((end = memchr(line, '\n', size - (size_t)(line - bytes))) != NULL) {
        *end = '\0';
        thin_line(thinner, line, (size_t)(end - line));
        line = end + 1;
    }
    size -= (size_t)(line - bytes);
    memmove(bytes, line, size);
    return size == CHUNK_BYTES ? 0 : size;
}

static int
thin_all(struct thinner *thinner, int fd)
{
    char chunk[CHUNK_BYTES];
    size_t left = 0;
    ssize_t got;

    while ((got = read(fd, chunk + left, sizeof(chunk) - left)) != 0) {
        if (got < 0 && errno != EINTR) {
            return -errno;
        }
        if (got > 0) {
            left = thin_lines(thinner, chunk, left + (size_t)got);
        }
        if (thinner->kept.failed || thinner->kept.size > KALLSYMS_BYTES_MAX) {
            return -ENOMEM;
        }
    }
    end_group(thinner, UINT64_MAX);
    return buffer_text(&thinner->kept) == NULL ? -ENOMEM : 0;
}

char *
sym_kernel_thin(int fd, const struct sym_wanted *wanted)
{
    struct thinner thinner = {.wanted = wanted};
    const int error = thin_all(&thinner, fd);

    if (error != 0) {
        buffer_finish(&thinner.kept);
        errno = -error;
        return NULL;
    }
    return (char *)thinner.kept.data;
}

/* --- files --- */

/* All of it, with a NUL behind it. */
static char *
read_whole(const char *path)
{
    FILE *const file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    int error;

    if (file == NULL) {
        return NULL;
    }
    errno = ENODATA;
    if (getdelim(&text, &room, '\0', file) < 0) {
        error = errno;
        free(text);
        text = NULL;
        errno = error;
    }
    error = errno;
    fclose(file);
    errno = error;
    return text;
}

/* No more of the kernel's symbols than those wanted. */
static char *
read_wanted(const char *path, const struct sym_wanted *wanted)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text;
    int error;

    if (fd < 0) {
        return NULL;
    }
    text = sym_kernel_thin(fd, wanted);
    error = errno;
    close(fd);
    errno = error;
    return text;
}

struct sym_map *
sym_map_open_kernel(const struct sym_wanted *wanted, uint64_t *begin, uint64_t *end)
{
    static const char path[] = "/proc/kallsyms";
    char *const kallsyms =
        wanted == NULL ? read_whole(path) : read_wanted(path, wanted);
    struct sym_map *map;
    char *modules;
    int error;

    if (kallsyms == NULL) {
        return NULL;
    }
    modules = read_whole("/proc/modules"); /* NULL: there are none */
    map = sym_map_parse_kernel(kallsyms, modules, begin, end);
    error = errno;
    free(modules);
    errno = error;
    return map;
}
