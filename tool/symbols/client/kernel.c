/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - the kernel's functions, from /proc/kallsyms and /proc/modules.
 *
 * Lines are "ADDRESS TYPE NAME" with "\t[MODULE]" behind those of modules. There are no
 * sizes: a symbol reaches to the next one, but not out of the text it lies in, that of
 * the core (all but modules) or of a module. Where it is known what will be looked up,
 * only lines that may name it are kept.
 *
 * Linux takes half a microsecond to write a line, far more than it takes to parse one:
 * so the file is read once, also where its lines are looked at twice.
 */
#include "symbols/client/kernel.h"

#include "base/buffer.h"
#include "symbols/border/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of /proc/kallsyms that are asked for at once. */
enum { CHUNK_BYTES = 1 << 16 };

/* How far a name holds outside all known texts (BPF programs, trampolines). */
#define LOOSE_BYTES (UINT64_C(1) << 16)

/* text - a stretch of code that has a known end. */
struct text {
    uint64_t start;
    uint64_t end;
};

struct texts {
    struct text core; /* _stext, _etext */
    struct text *modules;
    size_t module_count;
};

/* word - characters of a line, without a NUL behind them. */
struct word {
    const char *text;
    size_t size;
};

/* line - one line of kallsyms. */
struct line {
    uint64_t address;
    char type;
    struct word name;
    struct word module; /* empty for the core */
};

/* Return the characters of [text, end) before the first one that is mark. */
static struct word
word_before(const char *text, const char *end, char mark)
{
    const char *const found = memchr(text, mark, (size_t)(end - text));

    return (struct word){text, (size_t)((found != NULL ? found : end) - text)};
}

/* Take a line of /proc/kallsyms apart, which ends with a newline at end. Returns false
 * if it is not one. */
static bool
cut_line(const char *text, const char *end, struct line *line)
{
    const char *at = text;

    if (!sym_parse_hex(&at, &line->address) || end - at < 3 || at[0] != ' ' ||
        at[2] != ' ') {
        return false;
    }
    line->type = at[1];
    line->name = word_before(at + 3, end, '\t');
    at = line->name.text + line->name.size;
    if (at < end) {
        at += at[1] == '[' ? 2 : 1;
    }
    line->module = word_before(at, end, ']');
    return true;
}

static bool
word_is(struct word word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.text, text, word.size) == 0;
}

/* Return which bound of the core's text a symbol gives, or NULL. A kernel may show
 * _text only, and not _stext. */
static uint64_t *
find_bound(struct texts *texts, struct word name)
{
    if (word_is(name, "_stext")) {
        return &texts->core.start;
    }
    if (word_is(name, "_text")) {
        return texts->core.start == 0 ? &texts->core.start : NULL;
    }
    return word_is(name, "_etext") ? &texts->core.end : NULL;
}

/* Note the address if the line's symbol is a bound of the core's text. */
static void
note_bound(struct texts *texts, const struct line *line)
{
    uint64_t *const bound =
        line->module.size == 0 ? find_bound(texts, line->name) : NULL;

    if (bound != NULL) {
        *bound = line->address;
    }
}

/* Read where a module is: "NAME SIZE USERS DEPENDENTS STATE ADDRESS". */
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

/* Read the bounds of the text of all modules from /proc/modules, which may be NULL.
 * Returns false if memory ran out. */
static bool
read_modules(struct texts *texts, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    bool complete = true;

    while (complete && file != NULL && getline(&line, &room, file) > 0) {
        struct text module;
        struct text *larger;

        if (!parse_module(line, &module)) {
            continue;
        }
        larger = reallocarray(texts->modules, texts->module_count + 1, sizeof(*larger));
        complete = larger != NULL;
        if (complete) {
            texts->modules = larger;
            texts->modules[texts->module_count++] = module;
        }
    }
    free(line);
    return complete;
}

static bool
text_holds(const struct text *text, uint64_t address)
{
    return address >= text->start && address < text->end;
}

/* Return where the text that an address is in ends: that of the core or of a module. A
 * symbol that is in none is given LOOSE_BYTES. */
static uint64_t
end_of_text(const struct texts *texts, uint64_t address)
{
    if (text_holds(&texts->core, address)) {
        return texts->core.end;
    }
    for (size_t i = 0; i < texts->module_count; i++) {
        if (text_holds(&texts->modules[i], address)) {
            return texts->modules[i].end;
        }
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

/* --- symbols --- */

/* symbol - of a line that is kept. */
struct symbol {
    uint64_t address;
    size_t name; /* where it begins in names; behind its NUL is that of the module */
    uint8_t rank;
    bool sought; /* the function of a part that was kept: only its address counts */
};

struct reader {
    struct texts texts;
    const struct sym_wanted *wanted; /* NULL: all */
    size_t next;                     /* result of the last find_wanted */
    struct buffer text;              /* of the file: from group on, or all if wanted */
    struct buffer symbols;           /* of struct symbol */
    struct buffer names;
    size_t group;     /* in text: lines of the last address */
    uint64_t address; /* the last one */
    bool any;         /* there was a line */
    bool shown;       /* addresses are: without the right to see them they read as 0 */
};

/* Return the index of the first wanted bucket that begins at low or later. Lines are
 * nearly all in order of address, so it is mostly that of the last line. */
static size_t
find_wanted(const struct reader *reader, uint64_t low)
{
    const uint64_t *const places = reader->wanted->places;
    const size_t count = reader->wanted->count;

    if ((reader->next == count || places[reader->next] >= low) &&
        (reader->next == 0 || places[reader->next - 1] < low)) {
        return reader->next;
    }
    return sym_count_below(places, count, sizeof(*places), low);
}

/* Whether a wanted bucket can be named by the symbols of the last address. All of them
 * were read; they reach to limit at most. */
static bool
is_group_wanted(struct reader *reader, uint64_t limit)
{
    const struct sym_wanted *const wanted = reader->wanted;
    uint64_t reach;

    if (wanted == NULL) {
        return true;
    }
    reach = wanted->bytes - 1;
    reader->next =
        find_wanted(reader, reader->address > reach ? reader->address - reach : 0);
    return reader->next < wanted->count && wanted->places[reader->next] < limit;
}

/* Cut the next line out of the text, and advance *at beyond it. Returns false if there
 * is no other whole line. */
static bool
next_line(const struct buffer *text, size_t *at, const char **line, const char **end)
{
    *line = (const char *)text->data + *at;
    *end = *at < text->size ? memchr(*line, '\n', text->size - *at) : NULL;
    if (*end == NULL) {
        return false;
    }
    *at += (size_t)(*end - *line) + 1;
    return true;
}

/* Append a symbol and the names of its line, each with a NUL. */
static void
append_symbol(struct reader *reader, struct symbol *symbol, const struct line *line)
{
    symbol->name = reader->names.size;
    buffer_append(&reader->symbols, symbol, sizeof(*symbol));
    buffer_append(&reader->names, line->name.text, line->name.size);
    buffer_append_byte(&reader->names, 0);
    buffer_append(&reader->names, line->module.text, line->module.size);
    buffer_append_byte(&reader->names, 0);
}

/* Keep the symbols of the last address, whose lines end at an offset in the text, if
 * they are wanted. */
static void
end_group(struct reader *reader, size_t group_end, uint64_t limit)
{
    const char *text;
    const char *end;
    struct line line;

    if (is_group_wanted(reader, limit)) {
        while (reader->group < group_end &&
               next_line(&reader->text, &reader->group, &text, &end)) {
            struct symbol symbol = {.address = reader->address};

            if (cut_line(text, end, &line) && rank_of_type(line.type, &symbol.rank)) {
                append_symbol(reader, &symbol, &line);
            }
        }
    }
    reader->group = group_end;
}

/* Take a line, which begins at an offset in the text. Whether its symbol is wanted is
 * known at the next address. */
static void
take_line(struct reader *reader, const struct line *line, size_t at)
{
    uint8_t rank;

    reader->any = true;
    reader->shown |= line->address != 0;
    note_bound(&reader->texts, line);
    if (rank_of_type(line->type, &rank) && line->address != reader->address) {
        /* How far a symbol reaches that comes out of order is not known yet. */
        end_group(reader, at,
                  line->address > reader->address ? line->address : UINT64_MAX);
        reader->address = line->address;
    }
}

/* --- functions of parts --- */

/* functions - the names of functions that kept parts may belong to, sorted. */
struct functions {
    char **names;
    size_t count;
};

static int
compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Compare a word with a name, as compare_names does. */
static int
compare_word(const void *left, const void *right)
{
    const struct word *const word = left;
    const char *const name = *(const char *const *)right;
    const size_t size = strlen(name);
    const int order = memcmp(word->text, name, word->size < size ? word->size : size);

    return order != 0 ? order : (word->size > size) - (word->size < size);
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

        length = sym_split_length(name, length);
        if (larger == NULL) {
            return false;
        }
        functions->names = larger;
        functions->names[functions->count] = strndup(name, length);
        if (functions->names[functions->count] == NULL) {
            return false;
        }
        functions->count++;
    }
    return true;
}

/* Keep the symbol of a line if its name is among functions. */
static void
seek_line(struct reader *reader, const struct functions *functions,
          const struct line *line)
{
    struct symbol symbol = {.address = line->address, .sought = true};

    if (rank_of_type(line->type, &symbol.rank) &&
        bsearch(&line->name, functions->names, functions->count,
                sizeof(*functions->names), compare_word) != NULL) {
        append_symbol(reader, &symbol, line);
    }
}

/* Where only some symbols were kept, look again for the functions that parts
 * ("work.cold") among them belong to. If memory runs out, these parts count as
 * functions of their own. */
static void
seek_functions(struct reader *reader)
{
    const size_t count = reader->symbols.size / sizeof(struct symbol);
    struct functions functions = {.names = NULL};
    bool complete = reader->wanted != NULL;
    const char *text;
    const char *end;
    size_t at = 0;
    struct line line;

    for (size_t i = 0; complete && i < count; i++) {
        const struct symbol *const symbol =
            (const struct symbol *)(const void *)reader->symbols.data + i;

        complete =
            add_functions(&functions, (const char *)reader->names.data + symbol->name);
    }
    if (complete && functions.count > 0) {
        qsort(functions.names, functions.count, sizeof(*functions.names),
              compare_names);
        while (next_line(&reader->text, &at, &text, &end)) {
            if (cut_line(text, end, &line)) {
                seek_line(reader, &functions, &line);
            }
        }
    }
    for (size_t i = 0; i < functions.count; i++) {
        free(functions.names[i]);
    }
    free(functions.names);
}

/* Take the lines of the text from at on. Returns where the first one begins that is not
 * whole yet. */
static size_t
take_lines(struct reader *reader, size_t at)
{
    size_t line_at = at;
    const char *text;
    const char *end;
    struct line line;

    for (; next_line(&reader->text, &at, &text, &end); line_at = at) {
        if (cut_line(text, end, &line)) {
            take_line(reader, &line, line_at);
        }
    }
    return at;
}

/* Remove the text before the lines of the last address. Returns how much that was. */
static size_t
drop_text(struct reader *reader)
{
    struct buffer *const text = &reader->text;
    const size_t dropped = reader->group;

    memmove(text->data, text->data + dropped, text->size - dropped);
    text->size -= dropped;
    reader->group = 0;
    return dropped;
}

/* Read all lines, and keep those that are wanted. Returns 0 or a negative errno:
 * -EACCES if all addresses read as 0, -ENODATA if there is no line. */
static int
read_lines(struct reader *reader, FILE *file)
{
    struct buffer *const text = &reader->text;
    uint8_t *room;
    size_t got = 1;
    size_t at = 0;

    while (got > 0 && (room = buffer_reserve(text, CHUNK_BYTES)) != NULL) {
        got = fread(room, 1, CHUNK_BYTES, file);
        text->size += got;
        at = take_lines(reader, at);
        at -= reader->wanted == NULL ? drop_text(reader) : 0;
    }
    end_group(reader, at, UINT64_MAX);
    if (ferror(file)) {
        return -EIO;
    }
    if (reader->shown) {
        seek_functions(reader);
    }
    if (text->failed || reader->symbols.failed || reader->names.failed) {
        return -ENOMEM;
    }
    if (!reader->shown) {
        return reader->any ? -EACCES : -ENODATA;
    }
    return 0;
}

/* Make the map of the symbols that were kept, whose names it owns then. Returns false
 * if memory ran out. */
static bool
fill_map(struct reader *reader, struct sym_map *map)
{
    const struct symbol *const symbols = (const void *)reader->symbols.data;
    char *const names = (char *)reader->names.data;
    const size_t count = names == NULL ? 0 : reader->symbols.size / sizeof(*symbols);
    uint32_t none;
    bool complete = module_index(map, "", &none);

    map->has_starts = true;
    reader->names.data = NULL;
    complete &= names == NULL || sym_table_own(&map->table, names);
    for (size_t i = 0; complete && i < count; i++) {
        const char *const name = names + symbols[i].name;
        struct sym_entry entry = {
            .start = symbols[i].address,
            .end = end_of_text(&reader->texts, symbols[i].address),
            .name = name,
            .rank = symbols[i].rank,
        };

        if (symbols[i].sought) {
            entry.end = entry.start + 1;
        }
        complete = module_index(map, name + strlen(name) + 1, &entry.tag);
        entry.group = entry.tag;
        complete = complete && sym_table_add(&map->table, &entry);
    }
    sym_elf_join_parts(&map->table);
    return complete && sym_table_build(&map->table, SYM_OVERLAP_INNERMOST);
}

struct sym_map *
sym_map_read_kernel(FILE *kallsyms, FILE *modules, const struct sym_wanted *wanted,
                    uint64_t *begin, uint64_t *end)
{
    struct reader reader = {.wanted = wanted};
    struct sym_map *map = calloc(1, sizeof(*map));
    int error = read_lines(&reader, kallsyms);

    if (error == 0 && (map == NULL || !read_modules(&reader.texts, modules) ||
                       !fill_map(&reader, map))) {
        error = -ENOMEM;
    }
    free(reader.texts.modules);
    buffer_finish(&reader.text);
    buffer_finish(&reader.symbols);
    buffer_finish(&reader.names);
    if (error != 0) {
        sym_map_close(map);
        errno = -error;
        return NULL;
    }
    *begin = reader.texts.core.start;
    *end = reader.texts.core.end;
    return map;
}

/* --- files --- */

struct sym_map *
sym_map_open_kernel(const struct sym_wanted *wanted, uint64_t *begin, uint64_t *end)
{
    FILE *const kallsyms = fopen("/proc/kallsyms", "re");
    struct sym_map *map;
    FILE *modules;
    int error;

    if (kallsyms == NULL) {
        return NULL;
    }
    modules = fopen("/proc/modules", "re"); /* NULL: there are none */
    map = sym_map_read_kernel(kallsyms, modules, wanted, begin, end);
    error = errno;
    fclose(kallsyms);
    if (modules != NULL) {
        fclose(modules);
    }
    errno = error;
    return map;
}
