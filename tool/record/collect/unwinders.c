/* SPDX-License-Identifier: MIT */
/*
 * unwinders.c - readers of unwind tables.
 *
 * A reader ends at its limits, or is ended by a file that it cannot cope with. It is
 * started anew, until that has happened FAILURES_MAX times for one image: then its
 * tables are not read any more.
 *
 * The lock guards all but a reader in use, which belongs to the thread that uses it.
 */
#include "record/collect/unwinders.h"

#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Processes at a time, of 0.4 MB each. Rows that were read stay in the cache; but on a
 * busy machine with fewer processes one had to go for nearly each that was started. */
enum { READERS_MAX = 64 };

enum { FAILURES_MAX = 8 };

/* How often one question is asked. */
enum { ASKED_MAX = 2 };

struct reader {
    struct sym_image *elf; /* NULL: none */
    uint32_t image;
    const char *path;
    uint64_t asked; /* number of the last request; 0: there is no reader */
    bool used;      /* by a thread */
};

/* tables - what is known of those of an image. */
struct tables {
    uint8_t failures; /* of readers */
    bool none;        /* it is no ELF file */
    bool unread;      /* it is in the gaps */
    char *why;        /* of the last failure, with its path; NULL: none is known */
};

struct unwinders {
    unwinders_find *find;
    void *context;
    struct sym_settings symbols;
    pthread_mutex_t lock;
    struct reader readers[READERS_MAX];
    uint64_t requests;
    struct tables *tables; /* by image */
    size_t image_count;
    struct unwind_gaps gaps;
};

struct unwinders *
unwinders_new(unwinders_find *find, void *context, const struct sym_settings *symbols)
{
    struct unwinders *const unwinders = calloc(1, sizeof(*unwinders));

    if (unwinders != NULL) {
        pthread_mutex_init(&unwinders->lock, NULL);
        unwinders->find = find;
        unwinders->context = context;
        if (symbols != NULL) {
            unwinders->symbols = *symbols;
        }
        unwinders->symbols.brief = true;
        unwinders->symbols.clock = NULL;
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
    for (size_t i = 0; i < unwinders->image_count; i++) {
        free(unwinders->tables[i].why);
    }
    pthread_mutex_destroy(&unwinders->lock);
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

/* Note the reason of a failure. It is that of the image, since other threads ask about
 * other images meanwhile. */
static void
set_why(struct unwinders *unwinders, uint32_t image, const char *path, const char *why)
{
    char text[sizeof(unwinders->gaps.why)];
    char shown[128];
    struct tables *tables;

    snprintf(text, sizeof(text), "%s: %s", text_show(shown, sizeof(shown), path), why);
    pthread_mutex_lock(&unwinders->lock);
    tables = tables_of(unwinders, image);
    if (tables != NULL) {
        free(tables->why);
        tables->why = strdup(text);
    }
    pthread_mutex_unlock(&unwinders->lock);
}

/* Open a file in a reader; a descriptor is closed. Returns NULL with errno set if that
 * fails. */
static struct sym_image *
open_file(const struct unwinders *unwinders, const struct unwind_file *file)
{
    struct sym_image *elf;
    int error;

    if (file->vdso) {
        return sym_image_open_vdso(&unwinders->symbols);
    }
    if (file->way.fd < 0) {
        errno = ENOEXEC;
        return NULL;
    }
    elf = mapped_file_read(&file->way, &unwinders->symbols, /* wanted */ NULL);
    error = errno;
    close(file->way.fd);
    errno = error;
    return elf;
}

/* Have a reader read an image. Returns false if it cannot. */
static bool
open_image(struct unwinders *unwinders, struct reader *reader)
{
    struct unwind_file file = {.way = {.fd = -1, .root = -1, .path = ""}};
    int error;

    if (!unwinders->find(unwinders->context, reader->image, &file)) {
        set_why(unwinders, reader->image, file.way.path, "it could not be opened");
        return false;
    }
    reader->path = file.way.path;
    reader->elf = open_file(unwinders, &file);
    error = reader->elf != NULL ? 0 : errno;
    if (error == ENOEXEC) {
        struct tables *tables;

        pthread_mutex_lock(&unwinders->lock);
        tables = tables_of(unwinders, reader->image);
        if (tables != NULL) {
            tables->none = true;
        }
        pthread_mutex_unlock(&unwinders->lock);
    } else if (error != 0) {
        set_why(unwinders, reader->image, file.way.path, sym_image_error(error));
    }
    return error == 0;
}

/* Take the reader of an image or, if it has none, that of the image that was asked
 * least recently of those that no thread uses: there are fewer threads than readers.
 * Without elf the file has to be opened. */
static struct reader *
take_reader(struct unwinders *unwinders, uint32_t image)
{
    struct reader *taken = NULL;
    struct sym_image *other = NULL; /* which has to go */

    pthread_mutex_lock(&unwinders->lock);
    for (size_t i = 0; i < READERS_MAX; i++) {
        struct reader *const reader = &unwinders->readers[i];

        if (reader->used) {
            continue;
        }
        if (reader->asked > 0 && reader->image == image) {
            taken = reader;
            break;
        }
        if (taken == NULL || reader->asked < taken->asked) {
            taken = reader;
        }
    }
    assert(taken != NULL);
    if (taken->image != image) {
        other = taken->elf;
        taken->elf = NULL;
        taken->image = image;
    }
    taken->used = true;
    taken->asked = ++unwinders->requests;
    pthread_mutex_unlock(&unwinders->lock);
    sym_image_close(other);
    return taken;
}

/* Give a reader back; one without an image is the first to be taken. */
static void
give_reader(struct unwinders *unwinders, struct reader *reader)
{
    pthread_mutex_lock(&unwinders->lock);
    reader->used = false;
    reader->asked = reader->elf != NULL ? reader->asked : 0;
    pthread_mutex_unlock(&unwinders->lock);
}

/* Give rows of link-time addresses the places of a segment, and leave out what is
 * beyond it: a row may be of everything between two functions. */
static void
move_to_places(struct sym_unwind_answer *answer,
               const struct sym_image_segment *segment)
{
    const uint64_t limit = segment->address + segment->bytes;
    size_t kept = 0;

    for (; kept < answer->count && answer->rows[kept].start < limit; kept++) {
        struct sym_unwind_row *const row = &answer->rows[kept];

        row->start = row->start > segment->address ? row->start : segment->address;
        row->end = row->end < limit ? row->end : limit;
        row->start = row->start - segment->address + segment->offset;
        row->end = row->end - segment->address + segment->offset;
    }
    answer->count = kept;
}

/* Ask an image that is open about the first places, up to one that is in none of its
 * segments. Such a one, if it is the first, is answered here: it has no rules. Returns
 * how many places were answered. */
static size_t
ask_open(struct unwinders *unwinders, struct reader *reader, const uint64_t *places,
         size_t count, struct sym_unwind_answer *answers)
{
    struct sym_image_segment segments[SYM_UNWIND_ASKED_MAX];
    uint64_t addresses[SYM_UNWIND_ASKED_MAX];
    size_t asked = 0;
    size_t answered;

    for (; asked < count &&
           sym_image_segment(reader->elf, places[asked], &segments[asked]);
         asked++) {
        addresses[asked] =
            places[asked] - segments[asked].offset + segments[asked].address;
    }
    if (asked == 0) {
        answers[0].count = 1;
        answers[0].rows[0] = (struct sym_unwind_row){
            places[0], places[0] + 1, {.kind = SYM_UNWIND_NONE}};
        return 1;
    }
    answered = sym_image_unwind(reader->elf, addresses, asked, answers);
    for (size_t i = 0; i < answered; i++) {
        move_to_places(&answers[i], &segments[i]);
    }
    if (sym_image_is_ended(reader->elf)) {
        set_why(unwinders, reader->image, reader->path,
                sym_image_why_ended(reader->elf));
    }
    return answered;
}

/* Ask an image. Returns how many places were answered; *failed becomes whether its
 * reader ended or there was none. */
static size_t
ask(struct unwinders *unwinders, uint32_t image, const uint64_t *places, size_t count,
    struct sym_unwind_answer *answers, bool *failed)
{
    struct reader *const reader = take_reader(unwinders, image);
    size_t answered = 0;

    if (reader->elf != NULL || open_image(unwinders, reader)) {
        answered = ask_open(unwinders, reader, places, count, answers);
    }
    *failed = reader->elf == NULL || sym_image_is_ended(reader->elf);
    if (*failed) {
        sym_image_close(reader->elf);
        reader->elf = NULL;
    }
    give_reader(unwinders, reader);
    return answered;
}

/* Note whether a reader of an image failed. Returns about how many places one may be
 * asked at once: about one by one after a failure, since answers to what was asked
 * together are lost together. */
static size_t
note_failure(struct unwinders *unwinders, uint32_t image, bool failed)
{
    struct tables *tables;
    size_t most = 0;

    pthread_mutex_lock(&unwinders->lock);
    tables = tables_of(unwinders, image);
    if (tables != NULL && failed && tables->failures < FAILURES_MAX) {
        tables->failures++;
    }
    if (tables != NULL && !tables->none && tables->failures < FAILURES_MAX) {
        most = tables->failures > 0 ? 1 : SYM_UNWIND_ASKED_MAX;
    }
    pthread_mutex_unlock(&unwinders->lock);
    return most;
}

/* Answer a place that could not be asked about; all: nor can any other of the image. */
static void
answer_without(struct unwinders *unwinders, uint32_t image, uint64_t place, bool all,
               struct sym_unwind_answer *answer)
{
    struct unwind_gaps *const gaps = &unwinders->gaps;
    struct tables *tables;
    bool none;

    pthread_mutex_lock(&unwinders->lock);
    tables = tables_of(unwinders, image);
    none = tables != NULL && tables->none;
    if (tables != NULL && !none && !tables->unread) {
        tables->unread = true;
        if (gaps->images++ == 0) {
            snprintf(gaps->why, sizeof(gaps->why), "%s",
                     tables->why != NULL ? tables->why : strerror(ENOMEM));
        }
    }
    pthread_mutex_unlock(&unwinders->lock);
    answer->count = 1;
    answer->rows[0] =
        (struct sym_unwind_row){all ? 0 : place,
                                all ? UINT64_MAX : place + 1,
                                {.kind = none ? SYM_UNWIND_NONE : SYM_UNWIND_UNREAD}};
}

void
unwinders_ask(struct unwinders *unwinders, uint32_t image, const uint64_t *places,
              size_t count, struct sym_unwind_answer *answers)
{
    size_t most = note_failure(unwinders, image, /* failed */ false);
    unsigned int asked = 0; /* about the first place without an answer */
    size_t done = 0;

    while (done < count) {
        size_t answered = 0;

        if (most > 0 && asked < ASKED_MAX) {
            bool failed;

            answered =
                ask(unwinders, image, &places[done],
                    count - done < most ? count - done : most, &answers[done], &failed);
            most = note_failure(unwinders, image, failed);
        }
        if (answered == 0 && (most == 0 || ++asked >= ASKED_MAX)) {
            answer_without(unwinders, image, places[done], most == 0, &answers[done]);
            answered = 1;
        }
        done += answered;
        asked = answered > 0 ? 0 : asked;
    }
}

struct sym_image *
unwinders_take(struct unwinders *unwinders, uint32_t image)
{
    struct sym_image *elf = NULL;

    pthread_mutex_lock(&unwinders->lock);
    for (size_t i = 0; i < READERS_MAX && elf == NULL; i++) {
        struct reader *const reader = &unwinders->readers[i];

        if (reader->image == image && !reader->used) {
            elf = reader->elf;
            reader->elf = NULL;
            reader->asked = 0;
        }
    }
    pthread_mutex_unlock(&unwinders->lock);
    return elf;
}

struct unwind_gaps
unwinders_gaps(struct unwinders *unwinders)
{
    struct unwind_gaps gaps;

    pthread_mutex_lock(&unwinders->lock);
    gaps = unwinders->gaps;
    pthread_mutex_unlock(&unwinders->lock);
    return gaps;
}
