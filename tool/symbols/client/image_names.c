/* SPDX-License-Identifier: MIT */
/*
 * image_names.c - what the command asks a process that reads one image: names, lines
 * and bytes. What comes is checked, as image.c says.
 */
#include "symbols/client/imagep.h"

#include "base/command_log.h"

#include <stdlib.h>
#include <string.h>

/* Limit for one answer; for real code an answer has some ten thousand frames. */
enum { ANSWER_FRAMES_MAX = 1 << 19 };

/* --- names --- */

static const char *
get_name(struct sym_image *image)
{
    return wire_get_name(&image->process.wire, &image->names, TEXT_BYTES_MAX);
}

static uint32_t
get_number(struct wire *wire)
{
    return (uint32_t)wire_get_most(wire, UINT32_MAX);
}

/* Receive the frames of an answer, and append them to those of earlier answers. Returns
 * their number. */
static size_t
get_frames(struct sym_image *image, struct answers *answers)
{
    struct wire *const wire = &image->process.wire;
    const size_t count = (size_t)wire_get_most(wire, SYM_FRAMES_MAX);

    if (answers->frame_count > ANSWER_FRAMES_MAX ||
        (answers->frame_count + count) * sizeof(*answers->frames) >
            image_memory_max(image)) {
        wire->failed = true;
        return 0;
    }
    if (answers->frame_room - answers->frame_count < count) {
        const size_t room = 2 * answers->frame_room + SYM_FRAMES_MAX;
        struct sym_frame *const larger =
            reallocarray(answers->frames, room, sizeof(*larger));

        if (larger == NULL) {
            wire->failed = true;
            return 0;
        }
        answers->frames = larger;
        answers->frame_room = room;
    }
    for (size_t i = 0; i < count; i++) {
        struct sym_frame *const frame = &answers->frames[answers->frame_count + i];

        frame->name = get_name(image);
        frame->system_name = get_name(image);
        frame->file = get_name(image);
        frame->line = get_number(wire);
        frame->start_line = get_number(wire);
        frame->discriminator = get_number(wire);
        frame->definition = get_name(image);
    }
    answers->frame_count += count;
    return count;
}

/* Receive the answer for one place. A name that is not known comes as "". */
static void
get_answer(struct sym_image *image, struct answers *answers, struct answer *answer)
{
    struct wire *const wire = &image->process.wire;
    struct sym_name *const name = &answer->name;

    *name = (struct sym_name){.file = "", .definition = ""};
    name->address = wire_get(wire);
    name->at = wire_get(wire);
    name->name = get_name(image);
    name->system_name = get_name(image);
    name->has_start = wire_get_most(wire, 1) != 0;
    name->start = wire_get(wire);
    name->code_start = wire_get(wire);
    name->code_end = wire_get(wire);
    answer->first_frame = answers->frame_count;
    name->frame_count = get_frames(image, answers);
    if (name->name[0] == '\0') {
        name->name = NULL;
        name->system_name = NULL;
    }
    image->has_symbols |= name->name != NULL; /* in case it fails before the state */
}

void
image_put_places(struct sym_image *image, const struct answers *answers,
                 const uint64_t *places, size_t count)
{
    struct wire *const wire = &image->process.wire;

    COMMAND_LOG("reader %ld: asked for names of %zu places", (long)image->process.pid,
                count);
    wire_put(wire, answers->by_offset);
    wire_put(wire, answers->bytes);
    wire_put_bytes(wire, places, count * sizeof(*places));
}

void
image_take_names(struct sym_image *image, struct answers *answers,
                 const uint64_t *places, size_t count)
{
    struct wire *const wire = &image->process.wire;

    free(answers->items);
    answers->items = calloc(count + 1, sizeof(*answers->items));
    answers->count = 0;
    answers->frame_count = 0;
    wire->failed |= answers->items == NULL;
    while (answers->count < count && image_next_answer(image)) {
        struct answer *const answer = &answers->items[answers->count];

        answer->place = places[answers->count];
        get_answer(image, answers, answer);
        answers->count += !wire->failed;
    }
    image_take_state(image);
}

/* Request the names of places and receive them. If that fails, answers has those that
 * came before. */
static void
ask_names(struct sym_image *image, struct answers *answers, const uint64_t *places,
          size_t count)
{
    answers->count = 0;
    if (image_ask(image, ASK_NAMES) != NULL) {
        image_put_places(image, answers, places, count);
        wire_send(&image->process.wire, -1);
        image_take_names(image, answers, places, count);
        (void)image_finish(image);
    }
}

void
sym_image_expect(struct sym_image *image, bool by_offset, const uint64_t *places,
                 size_t count, uint64_t bytes)
{
    if (!image->ended) {
        image->expected.by_offset = by_offset;
        image->expected.bytes = bytes;
        ask_names(image, &image->expected, places, count);
    }
}

void
sym_image_end_lookups(struct sym_image *image)
{
    struct answers *const answers[] = {&image->expected, &image->last};

    for (size_t i = 0; i < 2; i++) {
        free(answers[i]->items);
        free(answers[i]->frames);
        *answers[i] = (struct answers){.count = 0};
    }
}

static int
compare_answers(const void *left, const void *right)
{
    const struct answer *const a = left;
    const struct answer *const b = right;

    return (a->place > b->place) - (a->place < b->place);
}

/* Return the answer for a place, or NULL if answers has none for it. */
static const struct answer *
find_answer(const struct answers *answers, bool by_offset, uint64_t place,
            uint64_t bytes)
{
    const struct answer wanted = {.place = place};

    return answers->count == 0 || answers->by_offset != by_offset ||
                   answers->bytes != bytes
               ? NULL
               : bsearch(&wanted, answers->items, answers->count, sizeof(wanted),
                         compare_answers);
}

/* Name a bucket: by an answer that sym_image_expect requested, by the answer to the
 * last lookup, or by a request. Returns false if there is no name. */
static bool
look_up(struct sym_image *image, bool by_offset, uint64_t place, uint64_t bytes,
        struct sym_name *name)
{
    struct answers *answers = &image->expected;
    const struct answer *answer = find_answer(answers, by_offset, place, bytes);

    if (answer == NULL) {
        answers = &image->last;
        answer = find_answer(answers, by_offset, place, bytes);
    }
    if (answer == NULL) {
        answers->by_offset = by_offset;
        answers->bytes = bytes;
        ask_names(image, answers, &place, 1);
        answer = find_answer(answers, by_offset, place, bytes);
    }
    if (answer == NULL) {
        *name = (struct sym_name){.file = "", .definition = "", .at = place};
        name->address =
            by_offset ? sym_image_place_address(image, place, bytes) : place;
        return false;
    }
    *name = answer->name;
    return sym_name_join(
        name, name->frame_count == 0 ? NULL : answers->frames + answer->first_frame,
        name->frame_count, image->joined);
}

bool
sym_image_lookup_place(struct sym_image *image, uint64_t file_offset, uint64_t bytes,
                       struct sym_name *name)
{
    return look_up(image, true, file_offset, bytes, name);
}

bool
sym_image_lookup_address(struct sym_image *image, uint64_t address,
                         struct sym_name *name)
{
    return look_up(image, false, address, 1, name);
}

bool
sym_image_lookup_bucket(struct sym_image *image, uint64_t address, uint64_t bytes,
                        struct sym_name *name)
{
    return look_up(image, false, address, bytes, name);
}

/* --- code --- */

bool
sym_image_range(struct sym_image *image, uint64_t address, uint64_t *start,
                uint64_t *end)
{
    struct sym_name name;

    (void)sym_image_lookup_address(image, address, &name);
    *start = name.code_start;
    *end = name.code_end;
    return name.has_start && *start <= address && address < *end;
}

/* row - of a line table. */
struct row {
    uint64_t address;
    const char *file;
    uint32_t line;
};

/* Receive a row, and append it. Returns false if there are no more, or the process
 * failed. */
static bool
get_row(struct sym_image *image, struct buffer *rows)
{
    struct wire *const wire = &image->process.wire;
    struct row row;

    if (!image_next_answer(image) || wire_get_most(wire, 1) == 0) {
        return false;
    }
    row.address = wire_get(wire);
    row.file = get_name(image);
    row.line = get_number(wire);
    buffer_append(rows, &row, sizeof(row));
    wire->failed |= rows->failed || rows->size > image_memory_max(image);
    return !wire->failed;
}

bool
sym_image_line_rows(struct sym_image *image, uint64_t start, uint64_t end,
                    sym_line_row *take, void *context)
{
    struct wire *const wire = image_ask(image, ASK_ROWS);
    struct buffer rows = {0};
    bool going = true;

    if (wire != NULL) {
        COMMAND_LOG("reader %ld: asked for rows of lines", (long)image->process.pid);
        wire_put(wire, start);
        wire_put(wire, end);
        wire_send(wire, -1);
        while (get_row(image, &rows)) {
        }
        image_take_state(image);
        (void)image_finish(image);
    }
    /* Only now, since take may make requests to the same process. */
    for (size_t i = 0; going && i < rows.size / sizeof(struct row); i++) {
        const struct row *const row = (const struct row *)(void *)rows.data + i;

        going = take(context, row->address, row->file, row->line);
    }
    buffer_finish(&rows);
    return going;
}

size_t
sym_image_read(struct sym_image *image, uint64_t address, void *to, size_t size)
{
    struct wire *const wire =
        size > CODE_BYTES_MAX ? NULL : image_ask(image, ASK_BYTES);
    const void *bytes = NULL;
    size_t got = 0;

    if (wire != NULL) {
        COMMAND_LOG("reader %ld: asked for %zu bytes", (long)image->process.pid, size);
        wire_put(wire, address);
        wire_put(wire, size);
        wire_send(wire, -1);
        bytes = image_next_answer(image) ? wire_get_bytes(wire, size, &got) : NULL;
        if (bytes != NULL) {
            memcpy(to, bytes, got);
        }
        got = image_finish(image) && bytes != NULL ? got : 0;
    }
    return got;
}
