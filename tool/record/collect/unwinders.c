/* SPDX-License-Identifier: MIT */
/*
 * unwinders.c - readers of unwind tables.
 *
 * A reader ends at its limits, or is ended by a file that it cannot cope with. It is
 * started anew, until that has happened FAILURES_MAX times for one image: then its
 * tables are not read any more.
 */
#include "record/collect/unwinders.h"

#include "base/open_regular.h"
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Processes at a time: programs map more images, but few of them call each other all
 * the time, and rows that were read stay in the cache. */
enum { READERS_MAX = 16 };

enum { FAILURES_MAX = 8 };

/* How often one question is asked. */
enum { ASKED_MAX = 2 };

struct reader {
    struct sym_image *elf; /* NULL: none */
    uint32_t image;
    const char *path;
    uint64_t asked; /* number of the last question; 0: there is no reader */
};

/* tables - what is known of those of an image. */
struct tables {
    uint8_t failures; /* of readers */
    bool none;        /* it is no ELF file */
    bool unread;      /* it is in the gaps */
};

struct unwinders {
    unwinders_find *find;
    void *context;
    struct reader readers[READERS_MAX];
    uint64_t questions;
    struct tables *tables; /* by image */
    size_t image_count;
    struct unwind_gaps gaps;
    char why[sizeof(((struct unwind_gaps *)0)->why)]; /* of the last failure */
};

struct unwinders *
unwinders_new(unwinders_find *find, void *context)
{
    struct unwinders *const unwinders = calloc(1, sizeof(*unwinders));

    if (unwinders != NULL) {
        unwinders->find = find;
        unwinders->context = context;
    }
    return unwinders;
}

void
unwinders_delete(struct unwinders *unwinders)
{
    if (unwinders == NULL) {
        return;
    }
    for (size_t i = 0; i < READERS_MAX; i++) {
        sym_image_close(unwinders->readers[i].elf);
    }
    free(unwinders->tables);
    free(unwinders);
}

/* Get what is known of an image's tables, or NULL if memory runs out. */
static struct tables *
tables_of(struct unwinders *unwinders, uint32_t image)
{
    if (image >= unwinders->image_count) {
        const size_t count = ((size_t)image + 1) * 2;
        struct tables *const tables =
            reallocarray(unwinders->tables, count, sizeof(*tables));

        if (tables == NULL) {
            return NULL;
        }
        memset(tables + unwinders->image_count, 0,
               (count - unwinders->image_count) * sizeof(*tables));
        unwinders->tables = tables;
        unwinders->image_count = count;
    }
    return &unwinders->tables[image];
}

static void
set_why(struct unwinders *unwinders, const char *path, const char *why)
{
    char shown[128];

    snprintf(unwinders->why, sizeof(unwinders->why), "%s: %s",
             text_show(shown, sizeof(shown), path), why);
}

/* Open a file in a reader; a descriptor is closed. Returns NULL with errno set if that
 * fails. */
static struct sym_image *
open_file(const struct unwind_file *file)
{
    const struct sym_settings settings = {.no_lines = true, .brief = true};
    int fd;

    if (file->vdso) {
        return sym_image_open_vdso(&settings);
    }
    if (file->fd < 0) {
        errno = ENOEXEC;
        return NULL;
    }
    fd = sym_open_found_in_time(file->key, file->fd);
    close(file->fd);
    if (fd < 0) {
        errno = -fd;
        return NULL;
    }
    return sym_image_open(fd, file->path, "", &settings);
}

/* Have a reader read an image. Returns false if it cannot. */
static bool
open_image(struct unwinders *unwinders, uint32_t image, struct tables *tables,
           struct reader *reader)
{
    struct unwind_file file = {.fd = -1, .path = ""};

    *reader = (struct reader){.image = image};
    if (!unwinders->find(unwinders->context, image, &file)) {
        set_why(unwinders, file.path, "it could not be opened");
        return false;
    }
    reader->path = file.path;
    reader->elf = open_file(&file);
    tables->none = reader->elf == NULL && errno == ENOEXEC;
    if (reader->elf == NULL) {
        set_why(unwinders, file.path, sym_image_error(errno));
    }
    return reader->elf != NULL;
}

/* Return the reader of an image, which is opened in the place of the one that was asked
 * least recently. Returns NULL if it cannot be read. */
static struct reader *
get_reader(struct unwinders *unwinders, uint32_t image, struct tables *tables)
{
    struct reader *oldest = &unwinders->readers[0];

    for (size_t i = 0; i < READERS_MAX; i++) {
        struct reader *const reader = &unwinders->readers[i];

        if (reader->elf != NULL && reader->image == image) {
            return reader;
        }
        if (reader->asked < oldest->asked) {
            oldest = reader;
        }
    }
    sym_image_close(oldest->elf);
    return open_image(unwinders, image, tables, oldest) ? oldest : NULL;
}

/* Give rows of link-time addresses the places of a segment, and leave out what is
 * beyond it: a row may be of everything between two functions. Returns how many are
 * left. */
static size_t
move_to_places(struct sym_unwind_row *rows, size_t count,
               const struct sym_image_segment *segment)
{
    const uint64_t limit = segment->address + segment->bytes;
    size_t kept = 0;

    for (; kept < count && rows[kept].start < limit; kept++) {
        struct sym_unwind_row *const row = &rows[kept];

        row->start = row->start > segment->address ? row->start : segment->address;
        row->end = row->end < limit ? row->end : limit;
        row->start = row->start - segment->address + segment->offset;
        row->end = row->end - segment->address + segment->offset;
    }
    return kept;
}

/* Ask once. Returns 0 if there is no answer. */
static size_t
ask(struct unwinders *unwinders, uint32_t image, struct tables *tables, uint64_t place,
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX])
{
    struct reader *const reader = get_reader(unwinders, image, tables);
    struct sym_image_segment segment;
    size_t count;

    if (reader == NULL) {
        return 0;
    }
    reader->asked = ++unwinders->questions;
    if (!sym_image_segment(reader->elf, place, &segment)) {
        rows[0] = (struct sym_unwind_row){place, place + 1, {.kind = SYM_UNWIND_NONE}};
        return 1;
    }
    count =
        sym_image_unwind(reader->elf, place - segment.offset + segment.address, rows);
    if (sym_image_is_ended(reader->elf)) {
        set_why(unwinders, reader->path, sym_image_why_ended(reader->elf));
        sym_image_close(reader->elf);
        *reader = (struct reader){0};
        return 0;
    }
    return move_to_places(rows, count, &segment);
}

/* Count an image among those whose tables could not be read. */
static void
note_unread(struct unwinders *unwinders, struct tables *tables)
{
    struct unwind_gaps *const gaps = &unwinders->gaps;

    if (!tables->unread && gaps->images++ == 0) {
        memcpy(gaps->why, unwinders->why, sizeof(gaps->why));
    }
    tables->unread = true;
}

size_t
unwinders_ask(struct unwinders *unwinders, uint32_t image, uint64_t place,
              struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX])
{
    struct tables *const tables = tables_of(unwinders, image);
    size_t count = 0;

    for (size_t i = 0; i < ASKED_MAX && count == 0 && tables != NULL && !tables->none &&
                       tables->failures < FAILURES_MAX;
         i++) {
        count = ask(unwinders, image, tables, place, rows);
        tables->failures = (uint8_t)(tables->failures + (count == 0));
    }
    if (count == 0) {
        const bool none = tables != NULL && tables->none;
        const bool all = tables == NULL || none || tables->failures >= FAILURES_MAX;

        rows[0] = (struct sym_unwind_row){
            all ? 0 : place,
            all ? UINT64_MAX : place + 1,
            {.kind = none ? SYM_UNWIND_NONE : SYM_UNWIND_UNREAD}};
        count = 1;
        if (!none && tables != NULL) {
            note_unread(unwinders, tables);
        }
    }
    return count;
}

const struct unwind_gaps *
unwinders_gaps(const struct unwinders *unwinders)
{
    return &unwinders->gaps;
}
