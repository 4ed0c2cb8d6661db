/* SPDX-License-Identifier: MIT */
/*
 * perf_map.c - the names of JIT code that a process leaves in /tmp/perf-PID.map.
 *
 * Lines are "START SIZE name with spaces", numbers in base 16. Other lines are ignored:
 * a process may have been killed while it wrote one. Where lines overlap the later one
 * holds, since code is discarded and its memory used again. Only lines that name a
 * wanted bucket are kept.
 */
#include "base/buffer.h"
#include "symbols/border/name_map.h"
#include "symbols/reader/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of a longer line only the beginning is kept. */
#define LINE_BYTES_MAX ((size_t)1024)

/* kept_line - a line that names a wanted bucket. */
struct kept_line {
    uint64_t start;
    uint64_t end;
    size_t name; /* where it begins in names */
};

/* reader - what is looked for, and found so far. */
struct reader {
    uint64_t *places; /* first bytes of wanted buckets, sorted */
    size_t count;
    uint64_t bytes;      /* of each bucket */
    struct buffer lines; /* of struct kept_line */
    struct buffer names;
};

static int
compare_places(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Start with the buckets that are wanted. Returns false if memory ran out; the reader
 * is to be finished in any case. */
static bool
reader_begin(struct reader *reader, const struct sym_wanted *wanted)
{
    *reader = (struct reader){
        .places = calloc(wanted->count + 1, sizeof(*reader->places)),
        .count = wanted->count,
        .bytes = wanted->bytes,
    };
    if (reader->places == NULL) {
        return false;
    }
    for (size_t i = 0; i < wanted->count; i++) {
        reader->places[i] = wanted->places[i];
    }
    qsort(reader->places, reader->count, sizeof(*reader->places), compare_places);
    return true;
}

static void
reader_finish(struct reader *reader)
{
    free(reader->places);
    buffer_finish(&reader->lines);
    buffer_finish(&reader->names);
}

/* Whether a range has a byte of a wanted bucket. */
static bool
is_wanted(const struct reader *reader, uint64_t start, uint64_t end)
{
    /* A bucket with the first byte of the range begins here or later. */
    const uint64_t least = start < reader->bytes ? 0 : start - (reader->bytes - 1);
    const size_t place =
        sym_count_below(reader->places, reader->count, sizeof(*reader->places), least);

    return start < end && place < reader->count && reader->places[place] < end;
}

static bool
skip_blanks(const char **text)
{
    const char *start = *text;

    while (**text == ' ' || **text == '\t') {
        (*text)++;
    }
    return *text > start;
}

/* Keep a line if it is well-formed and names a wanted bucket. */
static void
read_line(struct reader *reader, const char *bytes, size_t size)
{
    struct kept_line kept = {.name = reader->names.size};
    char text[LINE_BYTES_MAX + 1];
    const char *line = text;
    uint64_t length;

    if (size > LINE_BYTES_MAX) {
        size = LINE_BYTES_MAX;
    } else if (size > 0 && bytes[size - 1] == '\r') {
        size--;
    }
    memcpy(text, bytes, size);
    text[size] = '\0';
    if (!sym_parse_hex(&line, &kept.start) || !skip_blanks(&line) ||
        !sym_parse_hex(&line, &length) || !skip_blanks(&line) || line[0] == '\0' ||
        length > UINT64_MAX - kept.start) {
        return;
    }
    kept.end = kept.start + length;
    if (is_wanted(reader, kept.start, kept.end)) {
        buffer_append(&reader->lines, &kept, sizeof(kept));
        buffer_append(&reader->names, line, strlen(line) + 1);
    }
}

static void
read_lines(struct reader *reader, const char *text, size_t size)
{
    while (size > 0) {
        const char *const newline = memchr(text, '\n', size);
        const size_t length = newline == NULL ? size : (size_t)(newline - text);

        read_line(reader, text, length);
        text += length + (newline != NULL);
        size -= length + (newline != NULL);
    }
}

/* Drop the ranges that name no wanted bucket. */
static void
drop_unwanted(const struct reader *reader, struct sym_table *table)
{
    size_t kept = 0;

    for (size_t i = 0; i < table->range_count; i++) {
        if (is_wanted(reader, table->ranges[i].start, table->ranges[i].end)) {
            table->ranges[kept++] = table->ranges[i];
        }
    }
    table->range_count = kept;
}

/* Make the map from the lines that were kept; it owns the names. Of overlapping lines
 * the last one is valid. Remains of earlier ones that name no wanted bucket are
 * dropped, since there may be any number of them. Returns false if memory ran out. */
static bool
fill_map(struct reader *reader, struct sym_map *map)
{
    const struct kept_line *const lines = (const void *)reader->lines.data;
    const char *const names = (const char *)reader->names.data;
    bool complete;

    if (reader->lines.failed || reader->names.failed) {
        return false;
    }
    reader->names.data = NULL;
    complete = names == NULL || sym_table_own(&map->table, (void *)(uintptr_t)names);
    for (size_t i = 0; complete && i < reader->lines.size / sizeof(*lines); i++) {
        const struct sym_entry entry = {
            .start = lines[i].start,
            .end = lines[i].end,
            .name = names + lines[i].name,
            .rank = SYM_RANK_LOCAL,
            .sized = true,
        };

        complete = sym_table_add(&map->table, &entry);
    }
    complete = complete && sym_table_build(&map->table, SYM_OVERLAP_LATEST);
    drop_unwanted(reader, &map->table);
    return complete;
}

/* Read all lines of the file, and keep those that name wanted buckets. Returns 0 or a
 * negative errno: -ESTALE if the file has become shorter than size, since reading
 * beyond its end would be fatal. */
static int
read_file(struct reader *reader, int fd, uint64_t size)
{
    char *text;

    if (size == 0) {
        return 0;
    }
    if (lseek(fd, 0, SEEK_END) < (off_t)size) {
        return -ESTALE;
    }
    text = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text == MAP_FAILED) {
        return -errno;
    }
    read_lines(reader, text, (size_t)size);
    munmap(text, (size_t)size);
    return 0;
}

struct sym_map *
sym_reader_perf_map(int fd, uint64_t size, const struct sym_wanted *wanted)
{
    struct sym_map *map = calloc(1, sizeof(*map));
    struct reader reader;
    int error = -ENOMEM;

    if (reader_begin(&reader, wanted) && map != NULL) {
        error = read_file(&reader, fd, size);
        if (error == 0 && !fill_map(&reader, map)) {
            error = -ENOMEM;
        }
    }
    reader_finish(&reader);
    if (error != 0) {
        sym_map_close(map);
        errno = -error;
        return NULL;
    }
    return map;
}
