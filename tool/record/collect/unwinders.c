/* SPDX-License-Identifier: MIT */
/*
 * unwinders.c - readers of unwind tables.
 *
 * A reader ends at its limits, or is ended by a file that it cannot cope with. It is
 * started anew, until that has happened FAILURES_MAX times for one image: then the
 * image counts as one without tables that cover its code.
 */
#include "record/collect/unwinders.h"

#include "base/open_regular.h"

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
    uint64_t asked; /* number of the last question; 0: there is no reader */
};

struct unwinders {
    unwinders_find *find;
    void *context;
    struct reader readers[READERS_MAX];
    uint64_t questions;
    uint8_t *failures; /* by image */
    size_t image_count;
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
    free(unwinders->failures);
    free(unwinders);
}

/* Get how often readers of an image failed, or NULL if memory runs out. */
static uint8_t *
failures_of(struct unwinders *unwinders, uint32_t image)
{
    if (image >= unwinders->image_count) {
        const size_t count = ((size_t)image + 1) * 2;
        uint8_t *const failures = realloc(unwinders->failures, count);

        if (failures == NULL) {
            return NULL;
        }
        memset(failures + unwinders->image_count, 0, count - unwinders->image_count);
        unwinders->failures = failures;
        unwinders->image_count = count;
    }
    return &unwinders->failures[image];
}

static struct sym_image *
open_image(struct unwinders *unwinders, uint32_t image)
{
    const struct sym_settings settings = {.no_lines = true, .brief = true};
    struct unwind_file file = {.fd = -1};
    struct sym_image *elf = NULL;

    if (!unwinders->find(unwinders->context, image, &file)) {
        return NULL;
    }
    if (file.vdso) {
        return sym_image_open_vdso(&settings);
    }
    if (file.fd >= 0) {
        const int fd = sym_open_found_in_time(file.key, file.fd);

        elf = fd >= 0 ? sym_image_open(fd, file.path, "", &settings) : NULL;
        close(file.fd);
    }
    return elf;
}

/* Return the reader of an image, which is opened in the place of the one that was asked
 * least recently. Returns NULL if it cannot be read. */
static struct reader *
get_reader(struct unwinders *unwinders, uint32_t image)
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
    *oldest = (struct reader){.elf = open_image(unwinders, image), .image = image};
    return oldest->elf != NULL ? oldest : NULL;
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
ask(struct unwinders *unwinders, uint32_t image, uint64_t place,
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX])
{
    struct reader *const reader = get_reader(unwinders, image);
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
        sym_image_close(reader->elf);
        *reader = (struct reader){0};
        return 0;
    }
    return move_to_places(rows, count, &segment);
}

size_t
unwinders_ask(struct unwinders *unwinders, uint32_t image, uint64_t place,
              struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX])
{
    uint8_t *const failures = failures_of(unwinders, image);
    size_t count = 0;

    for (size_t i = 0;
         i < ASKED_MAX && count == 0 && failures != NULL && *failures < FAILURES_MAX;
         i++) {
        count = ask(unwinders, image, place, rows);
        *failures = (uint8_t)(*failures + (count == 0));
    }
    if (count == 0) {
        const bool all = failures == NULL || *failures >= FAILURES_MAX;

        rows[0] = (struct sym_unwind_row){
            all ? 0 : place, all ? UINT64_MAX : place + 1, {.kind = SYM_UNWIND_NONE}};
        count = 1;
    }
    return count;
}
