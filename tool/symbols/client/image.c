/* SPDX-License-Identifier: MIT */
/*
 * image.c - the command's end of a process that reads one image.
 *
 * Whatever comes from it is checked and bounded: numbers of names are those of names
 * that came, and all that is kept is at most what the image's names may take. What ends
 * the process leaves what was answered before, and a note.
 */
#include "symbols/client/image.h"

#include "base/clock.h"
#include "sandbox/process.h"
#include "symbols/border/protocol.h"
#include "symbols/client/opener.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As readers have it. */
#define MEMORY_DEFAULT (UINT64_C(1) << 30)

/* Of its private memory, beside what names take: headers, what is unpacked, answers. */
#define MEMORY_BESIDE (UINT64_C(64) << 20)

/* An image that has no clock. */
#define CPU_NS_MAX (UINT64_C(600) * CLOCK_SECOND_NS)

/* To read headers. */
#define OPEN_NS_MAX (UINT64_C(10) * CLOCK_SECOND_NS)

/* One image leaves time for others. */
enum { IMAGE_SHARE = 3 };

/* Limit for one answer; for real code an answer has some ten thousand frames. */
enum { ANSWER_FRAMES_MAX = 1 << 21 };

/* answer - of a place that was asked for. */
struct answer {
    uint64_t place;
    bool found;
    struct sym_name name; /* callers are set when it is taken */
    size_t callers;       /* the first of them in frames */
};

/* answers - to the places that were asked for at once. */
struct answers {
    struct answer *items; /* by place */
    size_t count;
    bool by_offset; /* what they are answers to */
    uint64_t bytes;
    struct sym_frame *frames;
    size_t frame_count;
    size_t frame_room;
};

struct sym_image {
    struct sandbox_process process;
    struct opener opener;
    struct sym_settings settings;
    char *path;
    char *root;
    char build_id[2 * 64 + 1];
    struct sym_code code;
    int64_t written_s;
    bool ended;   /* its process; note says why */
    bool bounded; /* by memory or time */
    unsigned int round;
    uint64_t image_end_ns; /* of its processor time, in this round */
    uint64_t charged_ns;   /* of it, to the clock */
    struct wire_names names;
    struct answers expected; /* many */
    struct answers last;     /* the last one, which was not among them */
    bool state_known;        /* since the last question: what follows */
    bool has_symbols;
    char note[800];
};

void
sym_clock_start(struct sym_clock *clock, unsigned int seconds)
{
    clock->left_ns = seconds * CLOCK_SECOND_NS;
    clock->image_ns = clock->left_ns / IMAGE_SHARE;
    clock->round++;
}

/* --- ends --- */

static void
say_late(struct sym_image *image)
{
    image->bounded = true;
    snprintf(
        image->note, sizeof(image->note),
        "no time is left for the names of %s: they, or those of all images, took as "
        "long as they may",
        image->path);
}

/* The process failed: what it answered stays. */
static void
end(struct sym_image *image)
{
    if (image->ended) {
        return;
    }
    image->ended = true;
    image->bounded = true;
    sandbox_stop(&image->process);
    if (image->process.late) {
        say_late(image);
    } else {
        snprintf(image->note, sizeof(image->note),
                 "the process that read the symbols of %s failed: %s; addresses are "
                 "shown where names are missing",
                 image->path, sandbox_why(&image->process));
    }
}

static uint64_t
memory_max(const struct sym_image *image)
{
    return image->settings.memory_max == 0 ? MEMORY_DEFAULT
                                           : image->settings.memory_max;
}

/* --- time --- */

/* False: none is left in this round. */
static bool
begin_time(struct sym_image *image)
{
    struct sym_clock *const clock = image->settings.clock;
    const uint64_t now_ns = sandbox_cpu_ns(&image->process);
    uint64_t left_ns;

    if (clock == NULL) {
        image->process.cpu_end_ns = CPU_NS_MAX;
        return true;
    }
    if (image->round != clock->round) {
        image->round = clock->round;
        image->image_end_ns = now_ns + clock->image_ns;
    }
    image->charged_ns = now_ns;
    left_ns = image->image_end_ns - now_ns;
    left_ns = left_ns < clock->left_ns ? left_ns : clock->left_ns;
    image->process.cpu_end_ns = now_ns + left_ns;
    return now_ns < image->image_end_ns && clock->left_ns > 0;
}

static void
charge_time(struct sym_image *image)
{
    struct sym_clock *const clock = image->settings.clock;
    uint64_t used_ns;

    if (clock != NULL) {
        used_ns = sandbox_cpu_ns(&image->process) - image->charged_ns;
        clock->left_ns -= used_ns < clock->left_ns ? used_ns : clock->left_ns;
    }
}

/* --- questions --- */

/* The wire to put a question's parameters on; NULL: there is none. */
static struct wire *
ask(struct sym_image *image, uint64_t question)
{
    if (image->ended) {
        return NULL;
    }
    if (!begin_time(image)) {
        say_late(image);
        return NULL;
    }
    image->state_known = false;
    wire_put(&image->process.wire, question);
    return &image->process.wire;
}

/* Waits for the next item of the answer. False: the process failed. */
static bool
next_answer(struct sym_image *image)
{
    struct wire *const wire = &image->process.wire;
    uint64_t reply;

    while ((reply = wire_get(wire)) != REPLY_ANSWER && !wire->failed) {
        wire->failed |= !opener_answer(&image->opener, wire, reply);
    }
    return !wire->failed;
}

static bool
finish(struct sym_image *image)
{
    charge_time(image);
    if (image->process.wire.failed) {
        end(image);
    }
    return !image->ended;
}

/* --- names --- */

static const char *
get_name(struct sym_image *image)
{
    return wire_get_name(&image->process.wire, &image->names);
}

static uint32_t
get_number(struct wire *wire)
{
    return (uint32_t)wire_get_most(wire, UINT32_MAX);
}

/* Frames behind those that are there; how many. */
static size_t
get_frames(struct sym_image *image, struct answers *answers)
{
    struct wire *const wire = &image->process.wire;
    const size_t count = (size_t)wire_get_most(wire, FRAMES_MAX);

    if (answers->frame_count > ANSWER_FRAMES_MAX) {
        wire->failed = true;
        return 0;
    }
    if (answers->frame_room - answers->frame_count < count) {
        const size_t room = 2 * answers->frame_room + FRAMES_MAX;
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
    }
    answers->frame_count += count;
    return count;
}

static void
get_answer(struct sym_image *image, struct answers *answers, struct answer *answer)
{
    struct wire *const wire = &image->process.wire;
    struct sym_name *const name = &answer->name;

    answer->found = wire_get_most(wire, 1) != 0;
    name->address = wire_get(wire);
    name->name = get_name(image);
    name->system_name = get_name(image);
    name->file = get_name(image);
    name->line = get_number(wire);
    name->start_line = get_number(wire);
    answer->callers = answers->frame_count;
    name->caller_count = get_frames(image, answers);
    if (!answer->found) {
        *name = (struct sym_name){.file = name->file,
                                  .line = name->line,
                                  .start_line = name->start_line,
                                  .address = name->address};
    } else if (name->name[0] == '\0') {
        wire->failed = true;
    }
}

static void
ask_names(struct sym_image *image, struct answers *answers, const uint64_t *places,
          size_t count)
{
    struct wire *const wire = image->ended ? NULL : ask(image, ASK_NAMES);

    free(answers->items);
    answers->items = wire == NULL ? NULL : calloc(count + 1, sizeof(*answers->items));
    answers->count = 0;
    answers->frame_count = 0;
    if (wire == NULL) {
        return;
    }
    wire->failed |= answers->items == NULL;
    wire_put(wire, answers->by_offset);
    wire_put(wire, answers->bytes);
    wire_put_bytes(wire, places, count * sizeof(*places));
    wire_send(wire, -1);
    while (answers->count < count && next_answer(image)) {
        struct answer *const answer = &answers->items[answers->count];

        answer->place = places[answers->count];
        get_answer(image, answers, answer);
        answers->count += !wire->failed;
    }
    (void)finish(image);
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

static int
compare_answers(const void *left, const void *right)
{
    const struct answer *const a = left;
    const struct answer *const b = right;

    return (a->place > b->place) - (a->place < b->place);
}

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

static bool
look_up(struct sym_image *image, bool by_offset, uint64_t place, uint64_t bytes,
        struct sym_name *name)
{
    struct answers *answers = &image->expected;
    const struct answer *answer = find_answer(answers, by_offset, place, bytes);

    if (answer == NULL) {
        answers = &image->last;
        answers->by_offset = by_offset;
        answers->bytes = bytes;
        ask_names(image, answers, &place, 1);
        answer = find_answer(answers, by_offset, place, bytes);
    }
    *name = (struct sym_name){.file = "", .address = place};
    if (answer == NULL) {
        return false;
    }
    *name = answer->name;
    name->callers = name->caller_count > 0 ? answers->frames + answer->callers : NULL;
    return answer->found;
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

uint64_t
sym_image_place(struct sym_image *image, uint64_t address, uint64_t bytes)
{
    struct wire *const wire = ask(image, ASK_PLACE);
    uint64_t place = address;

    if (wire != NULL) {
        wire_put(wire, address);
        wire_put(wire, bytes);
        wire_send(wire, -1);
        place = next_answer(image) ? wire_get(wire) : address;
        place = finish(image) ? place : address;
    }
    return place;
}

size_t
sym_image_frames(struct sym_image *image, uint64_t address,
                 const struct sym_frame **frames)
{
    struct wire *const wire = ask(image, ASK_FRAMES);
    size_t count = 0;

    image->last.count = 0;
    image->last.frame_count = 0;
    if (wire != NULL) {
        wire_put(wire, address);
        wire_send(wire, -1);
        count = next_answer(image) ? get_frames(image, &image->last) : 0;
        count = finish(image) ? count : 0;
    }
    *frames = image->last.frames;
    return count;
}

/* --- places --- */

bool
sym_image_address(struct sym_image *image, uint64_t file_offset, uint64_t *address)
{
    struct wire *const wire = ask(image, ASK_ADDRESS);
    bool found = false;

    if (wire != NULL) {
        wire_put(wire, file_offset);
        wire_send(wire, -1);
        found = next_answer(image) && wire_get_most(wire, 1) != 0;
        *address = wire_get(wire);
        found = finish(image) && found;
    }
    return found;
}

bool
sym_image_range(struct sym_image *image, uint64_t address, uint64_t *start,
                uint64_t *end)
{
    struct wire *const wire = ask(image, ASK_RANGE);
    bool found = false;

    if (wire != NULL) {
        wire_put(wire, address);
        wire_send(wire, -1);
        found = next_answer(image) && wire_get_most(wire, 1) != 0;
        *start = wire_get(wire);
        *end = wire_get(wire);
        found = finish(image) && found && *start <= address && address < *end;
    }
    return found;
}

/* row - of a line table. */
struct row {
    uint64_t address;
    const char *file;
    uint32_t line;
};

static bool
get_row(struct sym_image *image, struct buffer *rows)
{
    struct wire *const wire = &image->process.wire;
    struct row row;

    if (!next_answer(image) || wire_get_most(wire, 1) == 0) {
        return false;
    }
    row.address = wire_get(wire);
    row.file = get_name(image);
    row.line = get_number(wire);
    buffer_append(rows, &row, sizeof(row));
    wire->failed |= rows->failed || rows->size > memory_max(image);
    return !wire->failed;
}

bool
sym_image_line_rows(struct sym_image *image, uint64_t start, uint64_t end,
                    sym_line_row *take, void *context)
{
    struct wire *const wire = ask(image, ASK_ROWS);
    struct buffer rows = {0};
    bool going = true;

    if (wire != NULL) {
        wire_put(wire, start);
        wire_put(wire, end);
        wire_send(wire, -1);
        while (get_row(image, &rows)) {
        }
        (void)finish(image);
    }
    /* Whoever takes them may ask for more. */
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
    struct wire *const wire = size > CODE_BYTES_MAX ? NULL : ask(image, ASK_BYTES);
    const void *bytes = NULL;
    size_t got = 0;

    if (wire != NULL) {
        wire_put(wire, address);
        wire_put(wire, size);
        wire_send(wire, -1);
        bytes = next_answer(image) ? wire_get_bytes(wire, size, &got) : NULL;
        if (bytes != NULL) {
            memcpy(to, bytes, got);
        }
        got = finish(image) && bytes != NULL ? got : 0;
    }
    return got;
}

/* --- what is known of the image --- */

/* What was known already stays, should the process not answer. */
static void
ask_state(struct sym_image *image)
{
    struct wire *const wire = image->state_known ? NULL : ask(image, ASK_STATE);
    bool has_symbols;

    if (wire == NULL) {
        return;
    }
    wire_send(wire, -1);
    has_symbols = next_answer(image) && wire_get_most(wire, 1) != 0;
    image->bounded |= wire_get_most(wire, 1) != 0;
    snprintf(image->note, sizeof(image->note), "%s",
             wire_get_text(wire, TEXT_BYTES_MAX));
    image->state_known = finish(image);
    image->has_symbols = image->state_known ? has_symbols : image->has_symbols;
}

bool
sym_image_has_symbols(struct sym_image *image)
{
    ask_state(image);
    return image->has_symbols;
}

bool
sym_image_is_bounded(struct sym_image *image)
{
    ask_state(image);
    return image->bounded;
}

const char *
sym_image_note(struct sym_image *image)
{
    ask_state(image);
    return image->note;
}

uint64_t
sym_image_memory(const struct sym_image *image)
{
    return sandbox_memory_bytes(&image->process) + image->names.bytes;
}

const char *
sym_image_build_id(const struct sym_image *image)
{
    return image->build_id;
}

int
sym_image_descriptor(const struct sym_image *image)
{
    return image->opener.fd;
}

struct sym_code
sym_image_code(const struct sym_image *image)
{
    return image->code;
}

int64_t
sym_image_written_s(const struct sym_image *image)
{
    return image->written_s;
}

/* --- opening --- */

/* Lower-case hex, or nothing: it names files. */
static bool
take_build_id(struct sym_image *image, const char *text)
{
    const size_t size = strlen(text);

    if (size >= sizeof(image->build_id) || strspn(text, "0123456789abcdef") != size) {
        return false;
    }
    memcpy(image->build_id, text, size + 1);
    return true;
}

/* 0 or errno. */
static int
get_headers(struct sym_image *image)
{
    struct wire *const wire = &image->process.wire;
    int error = next_answer(image) ? (int)wire_get_most(wire, 4095) : EIO;

    if (error == 0 && !take_build_id(image, wire_get_text(wire, TEXT_BYTES_MAX))) {
        error = EIO;
    }
    if (error == 0) {
        image->code.machine = (uint16_t)wire_get_most(wire, UINT16_MAX);
        image->code.wide = wire_get_most(wire, 1) != 0;
        image->code.big_endian = wire_get_most(wire, 1) != 0;
    }
    return wire->failed ? EIO : error;
}

static uint64_t
flags_of(const struct sym_settings *settings)
{
    return (settings->no_lines ? FLAG_NO_LINES : 0) |
           (settings->discriminators ? FLAG_DISCRIMINATORS : 0) |
           (settings->download != NULL ? FLAG_DOWNLOAD : 0);
}

/* 0 or errno. Headers are read even if no time is left. */
static int
start(struct sym_image *image, uint64_t flags)
{
    const struct sandbox_limits limits = {
        .memory_bytes = memory_max(image) + MEMORY_BESIDE, .cpu_ns = CPU_NS_MAX};
    struct wire *const wire = &image->process.wire;
    int error = -sandbox_start(&image->process, symbolizer_serve_image, &limits);

    if (error != 0) {
        return error;
    }
    (void)begin_time(image);
    image->names.bytes_left = memory_max(image);
    image->process.cpu_end_ns = OPEN_NS_MAX;
    wire_put(wire, flags | flags_of(&image->settings));
    wire_put(wire, image->settings.memory_max);
    wire_put_text(wire, image->path);
    wire_send(wire, image->opener.fd);
    error = get_headers(image);
    charge_time(image);
    return error;
}

/* Takes fd over, also on failure. */
static struct sym_image *
open_image(int fd, const char *path, const char *root, uint64_t flags,
           const struct sym_settings *settings)
{
    struct sym_image *const image = calloc(1, sizeof(*image));
    struct stat status;
    int error = ENOMEM;

    if (image == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    if (settings != NULL) {
        image->settings = *settings;
    }
    image->path = strdup(path);
    image->root = strdup(root);
    image->opener = (struct opener){.fd = fd,
                                    .root = image->root,
                                    .path = path,
                                    .download = image->settings.download};
    if (fd >= 0 && fstat(fd, &status) == 0) {
        image->written_s = status.st_mtim.tv_sec;
    }
    if (image->path != NULL && image->root != NULL) {
        image->opener.path = image->path;
        error = start(image, flags);
    }
    if (error != 0) {
        sym_image_close(image);
        errno = error;
        return NULL;
    }
    return image;
}

struct sym_image *
sym_image_open(int fd, const char *path, const char *root,
               const struct sym_settings *settings)
{
    return open_image(fd, path, root, root[0] != '\0' ? FLAG_IN_ROOT : 0, settings);
}

struct sym_image *
sym_image_open_vdso(const struct sym_settings *settings)
{
    return open_image(-1, "[vdso]", "", FLAG_VDSO, settings);
}

const char *
sym_image_error(int error)
{
    switch (error) {
    case ENOEXEC:
        return "it is no program or library (ELF file)";
    case EIO:
        return "the process that read it failed";
    default:
        return strerror(error);
    }
}

void
sym_image_close(struct sym_image *image)
{
    if (image == NULL) {
        return;
    }
    sandbox_stop(&image->process);
    if (image->opener.fd >= 0) {
        close(image->opener.fd);
    }
    wire_names_finish(&image->names);
    free(image->expected.items);
    free(image->expected.frames);
    free(image->last.items);
    free(image->last.frames);
    free(image->path);
    free(image->root);
    free(image);
}
