/* SPDX-License-Identifier: MIT */
/*
 * image.c - the command's end of a process that reads one image.
 *
 * The file is sent to the process together with the first question, if that is known by
 * then. An answer about names or lines ends with the state of the image: whether it has
 * symbols, whether something is missing, and why.
 *
 * Whatever comes from the process is checked and bounded: the number of a name must be
 * that of one that came, and all that is kept is at most what the image's names may
 * take. If the process ends, earlier answers stay, and a note says why it ended.
 */
#include "symbols/client/imagep.h"

#include "base/clock.h"
#include "base/command_log.h"
#include "base/open_regular.h"
#include "base/time_limit.h"
#include "symbols/client/readers.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The default of sym_settings.memory_max; readers have the same. */
#define MEMORY_DEFAULT (UINT64_C(1) << 30)

/* Limit of a process's private memory beside that of names: headers, decompressed
 * sections and answers. */
#define MEMORY_BESIDE (UINT64_C(64) << 20)

/* Limit of processor time for an image that has no clock. */
#define CPU_NS_MAX (UINT64_C(600) * CLOCK_SECOND_NS)

/* Limit of processor time to read headers. */
#define OPEN_NS_MAX (UINT64_C(10) * CLOCK_SECOND_NS)

/* One image gets at most 1 / IMAGE_SHARE of the time for all. */
enum { IMAGE_SHARE = 3 };

void
sym_clock_start(struct sym_clock *clock, unsigned int seconds)
{
    clock->left_ns = seconds * CLOCK_SECOND_NS;
    clock->hung = 0;
    clock->over_ns = 0;
    clock->image_ns = clock->left_ns / IMAGE_SHARE;
    clock->round++;
}

/* --- ends --- */

/* Note that no time is left for the image in this round. */
static void
say_late(struct sym_image *image)
{
    image->late = true;
    image->state_known = false; /* a later round may find more */
    snprintf(
        image->note, sizeof(image->note),
        "no time is left for the names of %s: they, or those of all images, took as "
        "long as they may",
        image->path);
}

/* End a process that failed, and note why. Its earlier answers stay. */
static void
image_end(struct sym_image *image)
{
    if (image->ended) {
        return;
    }
    image->ended = true;
    image->bounded = true;
    sandbox_stop(&image->process);
    if (image->process.stuck && image->settings.clock != NULL) {
        image->settings.clock->hung++;
    }
    if (image->process.late || image->opener.late) {
        say_late(image);
    } else {
        COMMAND_LOG("reader of %s: failed: %s", image->path,
                    sandbox_why(&image->process));
        snprintf(image->note, sizeof(image->note),
                 "the process that read the symbols of %s failed: %s; addresses are "
                 "shown where names are missing",
                 image->path, sandbox_why(&image->process));
    }
}

uint64_t
image_memory_max(const struct sym_image *image)
{
    return image->settings.memory_max == 0 ? MEMORY_DEFAULT
                                           : image->settings.memory_max;
}

/* --- time --- */

/* Set the limit of processor time for a request, by what is left for the image and for
 * all. Returns false if nothing is left in this round, or too many processes hung in
 * it. */
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
        image->late = false;
        image->image_end_ns = now_ns + clock->image_ns;
    }
    image->charged_ns = now_ns;
    left_ns = image->image_end_ns - now_ns; /* wraps if none is left: returns false */
    left_ns = left_ns < clock->left_ns ? left_ns : clock->left_ns;
    image->process.cpu_end_ns = now_ns + left_ns;
    return now_ns < image->image_end_ns && clock->left_ns > 0 &&
           clock->hung < SYM_HUNG_MAX;
}

void
sym_image_set_clock(struct sym_image *image, struct sym_clock *clock)
{
    assert(image->settings.clock == NULL);
    image->settings.clock = clock;
}

/* Subtract the processor time since begin_time, with that of unpacking, from what is
 * left for all images. */
static void
charge_time(struct sym_image *image)
{
    struct sym_clock *const clock = image->settings.clock;
    uint64_t used_ns;

    if (clock != NULL) {
        used_ns = sandbox_cpu_ns(&image->process) - image->charged_ns +
                  image->opener.unpacked_ns;
        clock->over_ns += used_ns > clock->left_ns ? used_ns - clock->left_ns : 0;
        clock->left_ns -= used_ns < clock->left_ns ? used_ns : clock->left_ns;
    }
    image->opener.unpacked_ns = 0;
}

/* --- questions --- */

struct wire *
image_ask(struct sym_image *image, uint64_t question)
{
    if (image->ended) {
        return NULL;
    }
    if (!begin_time(image)) {
        say_late(image);
        return NULL;
    }
    wire_put(&image->process.wire, question);
    return &image->process.wire;
}

bool
image_next_answer(struct sym_image *image)
{
    struct wire *const wire = &image->process.wire;
    uint64_t reply;

    while ((reply = wire_get(wire)) != REPLY_ANSWER && !wire->failed) {
        wire->failed |= !opener_answer(&image->opener, wire, reply);
    }
    return !wire->failed;
}

bool
image_finish(struct sym_image *image)
{
    charge_time(image);
    opener_close_last(&image->opener);
    if (image->process.wire.failed) {
        image_end(image);
    }
    return !image->ended;
}

/* --- what is known of the image --- */

/* If the process fails, the state that was received before stays. */
void
image_take_state(struct sym_image *image)
{
    struct wire *const wire = &image->process.wire;
    const bool has_symbols = image_next_answer(image) && wire_get_most(wire, 1) != 0;
    const bool bounded = wire_get_most(wire, 1) != 0;
    const char *const note = wire_get_text(wire, TEXT_BYTES_MAX);

    if (!wire->failed) {
        image->has_symbols = has_symbols;
        image->bounded |= bounded;
        snprintf(image->note, sizeof(image->note), "%s", note);
        image->state_known = true;
    }
}

/* Get the state if it is not known: by a request for the names of 0 places, since each
 * answer has it. */
static void
ask_state(struct sym_image *image)
{
    struct answers none = {.bytes = 1};

    if (!image->state_known && image_ask(image, ASK_NAMES) != NULL) {
        image_put_places(image, &none, NULL, 0);
        wire_send(&image->process.wire, -1);
        image_take_names(image, &none, NULL, 0);
        (void)image_finish(image);
        free(none.items);
    }
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
    return image->bounded || image->late;
}

const char *
sym_image_note(struct sym_image *image)
{
    ask_state(image);
    return image->note;
}

bool
sym_image_address(const struct sym_image *image, uint64_t file_offset,
                  uint64_t *address)
{
    return sym_segments_address(image->segments, image->segment_count, file_offset, 1,
                                address);
}

bool
sym_image_segment(const struct sym_image *image, uint64_t file_offset,
                  struct sym_image_segment *segment)
{
    const struct sym_segment *const found =
        sym_segments_find(image->segments, image->segment_count, file_offset, 1);

    if (found == NULL || found->bytes > UINT64_MAX - found->offset ||
        found->bytes > UINT64_MAX - found->address) {
        return false;
    }
    *segment = (struct sym_image_segment){found->offset, found->bytes, found->address};
    return true;
}

uint64_t
sym_image_place_address(const struct sym_image *image, uint64_t file_offset,
                        uint64_t bytes)
{
    uint64_t address;

    return sym_segments_address(image->segments, image->segment_count, file_offset,
                                bytes, &address)
               ? address
               : file_offset;
}

bool
sym_image_is_ended(const struct sym_image *image)
{
    return image->ended;
}

const char *
sym_image_why_ended(const struct sym_image *image)
{
    assert(image->ended);
    return sandbox_why(&image->process);
}

bool
sym_image_is_hung(const struct sym_image *image)
{
    return image->ended && image->process.stuck;
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

/* Set the build-id. Returns false unless it is lower-case hex, or empty: files are
 * named by it. */
static bool
set_build_id(struct sym_image *image, const char *text)
{
    const size_t size = strlen(text);

    if (size >= sizeof(image->build_id) || strspn(text, "0123456789abcdef") != size) {
        return false;
    }
    memcpy(image->build_id, text, size + 1);
    return true;
}

static void
get_segments(struct sym_image *image)
{
    struct wire *const wire = &image->process.wire;
    const size_t count = (size_t)wire_get_most(wire, SEGMENTS_MAX);

    image->segments = calloc(count + 1, sizeof(*image->segments));
    wire->failed |= image->segments == NULL;
    for (size_t i = 0; i < count && !wire->failed; i++) {
        image->segments[i].offset = wire_get(wire);
        image->segments[i].bytes = wire_get(wire);
        image->segments[i].address = wire_get(wire);
        image->segments[i].holds_code = wire_get_most(wire, 1) != 0;
    }
    image->segment_count = wire->failed ? 0 : count;
}

/* Receive the answer about the headers. Returns 0 or an errno. */
static int
get_headers(struct sym_image *image)
{
    struct wire *const wire = &image->process.wire;
    int error = image_next_answer(image) ? (int)wire_get_most(wire, 4095) : EIO;

    if (error == 0 && !set_build_id(image, wire_get_text(wire, TEXT_BYTES_MAX))) {
        error = EIO;
    }
    if (error == 0) {
        image->code.machine = (uint16_t)wire_get_most(wire, UINT16_MAX);
        image->code.wide = wire_get_most(wire, 1) != 0;
        image->code.big_endian = wire_get_most(wire, 1) != 0;
        get_segments(image);
    }
    return wire->failed ? EIO : error;
}

static uint64_t
flags_of(const struct sym_settings *settings)
{
    return (settings->no_lines ? FLAG_NO_LINES : 0) |
           (settings->discriminators ? FLAG_DISCRIMINATORS : 0) |
           (settings->download != NULL ? FLAG_DOWNLOAD : 0) |
           (settings->cache != NULL ? FLAG_CACHE : 0);
}

/* Whether no process is asked, since it would be waited for in vain: files of the same
 * device, or processes that read other images, did not answer. */
static bool
is_refused(const struct sym_image *image)
{
    const struct sym_clock *const clock = image->settings.clock;

    return (image->opener.fd >= 0 && time_limit_is_late(image->opener.device)) ||
           (clock != NULL && clock->hung >= SYM_HUNG_MAX);
}

/* Receive the names that were asked for with the file. */
static void
take_first_names(struct sym_image *image, const struct sym_wanted *wanted)
{
    image_take_names(image, &image->expected, wanted->places, wanted->count);
    (void)image_finish(image);
}

/* Start the process, and have it read the headers and, if time is left, the names of
 * wanted. Returns 0 or an errno. */
static int
start(struct sym_image *image, uint64_t flags, const struct sym_wanted *wanted)
{
    const struct sandbox_limits limits = {
        .memory_bytes = image_memory_max(image) + MEMORY_BESIDE, .cpu_ns = CPU_NS_MAX};
    struct wire *const wire = &image->process.wire;
    int error = is_refused(image)
                    ? ETIMEDOUT
                    : -readers_start(&image->process, READER_IMAGE, &limits);
    uint64_t names_end_ns;

    if (error != 0) {
        return error;
    }
    COMMAND_LOG("reader %ld: reads symbols of %s%s", (long)image->process.pid,
                image->root, image->path);
    image->names.bytes_left = image_memory_max(image);
    wire_put(wire, flags | flags_of(&image->settings));
    wire_put(wire, image->settings.memory_max);
    wire_put_text(wire, image->path);
    if (!begin_time(image)) {
        wanted = NULL;
    }
    /* Reading headers has a limit of its own; then that of begin_time is for names. */
    names_end_ns = image->process.cpu_end_ns;
    image->process.cpu_end_ns = OPEN_NS_MAX;
    if (wanted != NULL) {
        image->expected = (struct answers){.by_offset = true, .bytes = wanted->bytes};
        wire_put(wire, ASK_NAMES);
        image_put_places(image, &image->expected, wanted->places, wanted->count);
    }
    wire_send(wire, image->opener.fd);
    error = get_headers(image);
    if (error == 0 && wanted != NULL) {
        image->process.cpu_end_ns = names_end_ns;
        take_first_names(image, wanted);
        return 0;
    }
    charge_time(image);
    if (wire->failed) {
        image_end(image);
        error = image->process.stuck ? ETIME : error;
    }
    return error;
}

/* Set written_s, device and inode from what the kernel has cached: to ask the server of
 * a network file system could block. */
static void
read_status(struct sym_image *image)
{
    struct statx status;

    if (image->opener.fd >= 0 &&
        statx(image->opener.fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
              STATX_MTIME | STATX_INO, &status) == 0) {
        image->written_s = status.stx_mtime.tv_sec;
        image->opener.device = makedev(status.stx_dev_major, status.stx_dev_minor);
        image->opener.inode = status.stx_ino;
    }
}

static void
close_file(struct sym_image *image)
{
    if (image->opener.fd >= 0) {
        time_limit_close(image->opener.device, image->opener.fd);
        image->opener.fd = -1;
    }
}

/* Make an image, start its process, and have its headers read. fd is the image's from
 * now on, or closed on failure; -1: none is sent. Returns as sym_image_open does. */
static struct sym_image *
open_image(int fd, const char *path, const char *root, uint64_t flags,
           const struct sym_settings *settings, const struct sym_wanted *wanted)
{
    struct sym_image *const image = calloc(1, sizeof(*image));
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
                                    .download = image->settings.download,
                                    .cache = image->settings.cache,
                                    .last_fd = -1};
    read_status(image);
    if (image->path != NULL && image->root != NULL) {
        image->opener.path = image->path;
        error = start(image, flags, wanted);
    }
    if (error != 0) {
        sym_image_close(image);
        errno = error;
        return NULL;
    }
    if (image->settings.brief) {
        close_file(image);
    }
    return image;
}

struct sym_image *
sym_image_open(int fd, const char *path, const char *root,
               const struct sym_settings *settings)
{
    return sym_image_open_places(fd, path, root, settings, /* wanted */ NULL);
}

struct sym_image *
sym_image_open_places(int fd, const char *path, const char *root,
                      const struct sym_settings *settings,
                      const struct sym_wanted *wanted)
{
    return open_image(fd, path, root, root[0] != '\0' ? FLAG_IN_ROOT : 0, settings,
                      wanted);
}

struct sym_image *
sym_image_open_vdso(const struct sym_settings *settings)
{
    return open_image(-1, "[vdso]", "", FLAG_VDSO, settings, /* wanted */ NULL);
}

const char *
sym_image_error(int error)
{
    switch (error) {
    case ENOEXEC:
        return "it is no program or library (ELF file)";
    case EIO:
        return "the process that read it failed";
    case ETIMEDOUT:
    case ETIME:
    case ECANCELED:
    case ELIBACC:
        return sym_open_error(-error);
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
    opener_close_last(&image->opener);
    close_file(image);
    wire_names_finish(&image->names);
    sym_image_end_lookups(image);
    free(image->segments);
    free(image->path);
    free(image->root);
    free(image);
}
