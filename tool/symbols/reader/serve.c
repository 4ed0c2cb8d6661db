/* SPDX-License-Identifier: MIT */
/* serve.c - what a reader does: reads a file, and answers what is in it. */
#include "symbols/border/protocol.h"

#include "base/module_interface.h"
#include "sandbox/stage.h"
#include "symbols/border/name_map.h"
#include "symbols/border/readers.h"
#include "symbols/reader/dwarf_image.h"
#include "symbols/reader/reader.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* server - a process that reads one image. */
struct server {
    struct wire *wire;
    int image_fd; /* of the image */
    struct sym_reader *reader;
    struct string_set names; /* that were sent */
};

/* --- further files --- */

/* Send a request for a file. Returns the descriptor that the command sent, or the
 * negative errno by which it refused; -EIO if that is none, as Linux has them (-1 to
 * -4095). */
static int
ask_for_file(struct wire *wire)
{
    int64_t error;
    int fd;

    wire_send(wire, -1);
    error = (int64_t)wire_get(wire);
    fd = wire_take_fd(wire);
    sandbox_stage("file", wire);
    if (error == 0 && fd >= 0) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return wire->failed || error >= 0 || error < -4095 ? -EIO : (int)error;
}

/* The open function of struct sym_files: have the command open a file. */
static int
open_by_command(void *context, const char *root, const char *path)
{
    struct wire *const wire = ((const struct server *)context)->wire;

    wire_put(wire, REPLY_OPEN);
    wire_put(wire, root[0] != '\0');
    wire_put_text(wire, path);
    return ask_for_file(wire);
}

/* The download function of struct sym_files: have the command download a file. */
static int
download_by_command(void *context, const unsigned char *id, size_t id_size, char *path,
                    size_t path_size)
{
    struct wire *const wire = ((const struct server *)context)->wire;
    int fd;

    wire_put(wire, REPLY_DOWNLOAD);
    wire_put_bytes(wire, id, id_size);
    fd = ask_for_file(wire);
    strncpy(path, wire_get_text(wire, PATH_MAX), path_size - 1);
    path[path_size - 1] = '\0';
    return fd;
}

/* The unpacked function of struct sym_files: have the command unpack sections. */
static int
unpacked_by_command(void *context, int fd, bool split, uint64_t bytes)
{
    const struct server *const server = context;
    struct wire *const wire = server->wire;

    wire_put(wire, REPLY_UNPACKED);
    wire_put(wire, fd == server->image_fd);
    wire_put(wire, split);
    wire_put(wire, bytes);
    return ask_for_file(wire);
}

/* Return where the files of a conversation with these flags come from. server outlives
 * them. */
static struct sym_files
files_of(struct server *server, uint64_t flags)
{
    return (struct sym_files){
        .open = open_by_command,
        .download = (flags & FLAG_DOWNLOAD) != 0 ? download_by_command : NULL,
        .unpacked = (flags & FLAG_CACHE) != 0 ? unpacked_by_command : NULL,
        .context = server,
    };
}

/* --- answers --- */

static void
put_name(struct server *server, const char *text)
{
    wire_put_name(server->wire, &server->names, text);
}

static void
put_frames(struct server *server, const struct sym_frame *frames, size_t count)
{
    wire_put(server->wire, count);
    for (size_t i = 0; i < count; i++) {
        put_name(server, frames[i].name);
        put_name(server, frames[i].system_name);
        put_name(server, frames[i].file);
        wire_put(server->wire, frames[i].line);
        wire_put(server->wire, frames[i].start_line);
        wire_put(server->wire, frames[i].discriminator);
        put_name(server, frames[i].definition);
    }
}

/* Send what is known of an address: the name of the outermost function, which is that
 * of the symbol if there is one, and the frames that the debug information has. */
static void
put_answer(struct server *server, const struct sym_name *name)
{
    const struct sym_frame *const outermost =
        name->caller_count == 0 ? NULL : &name->callers[name->caller_count - 1];

    wire_put(server->wire, REPLY_ANSWER);
    wire_put(server->wire, name->address);
    wire_put(server->wire, name->at);
    put_name(server, outermost != NULL ? outermost->name : name->name);
    put_name(server, outermost != NULL ? outermost->system_name : name->system_name);
    wire_put(server->wire, name->has_start);
    wire_put(server->wire, name->start);
    wire_put(server->wire, name->code_start);
    wire_put(server->wire, name->code_end);
    put_frames(server, name->frames, name->frame_count);
}

static void
put_state(struct server *server)
{
    const bool has_symbols = sym_reader_has_symbols(server->reader);
    const char *const note = sym_reader_note(server->reader);
    const bool bounded = sym_reader_is_bounded(server->reader);

    wire_put(server->wire, REPLY_ANSWER);
    wire_put(server->wire, has_symbols);
    wire_put(server->wire, bounded);
    wire_put_text(server->wire, note);
}

/* Send the name of a bucket, which begins at a file offset or a link-time address. */
static void
answer_name(struct server *server, bool by_offset, uint64_t start, uint64_t bytes)
{
    struct sym_name name = {.address = start, .at = start};
    uint64_t address = start;

    if (!by_offset || sym_reader_bucket(server->reader, start, bytes, &address)) {
        (void)sym_reader_lookup_bucket(server->reader, address, bytes, &name);
    }
    put_answer(server, &name);
}

static void
answer_names(struct server *server)
{
    struct wire *const wire = server->wire;
    const bool by_offset = wire_get(wire) != 0;
    const uint64_t bytes = wire_get(wire);
    size_t size;
    const void *const sent = wire_get_bytes(wire, SIZE_MAX, &size);
    uint64_t *const places = malloc(size + 1);

    if (sent == NULL || places == NULL) {
        wire->failed = true;
    } else {
        memcpy(places, sent, size);
    }
    for (size_t i = 0; !wire->failed && i < size / sizeof(*places); i++) {
        answer_name(server, by_offset, places[i], bytes);
    }
    free(places);
    put_state(server);
}

/* A sym_line_row: send a row of the line table. */
static bool
put_row(void *context, uint64_t address, const char *file, uint32_t line)
{
    struct server *const server = context;

    wire_put(server->wire, REPLY_ANSWER);
    wire_put(server->wire, 1);
    wire_put(server->wire, address);
    put_name(server, file);
    wire_put(server->wire, line);
    return !server->wire->failed;
}

static void
answer_rows(struct server *server)
{
    const uint64_t start = wire_get(server->wire);
    const uint64_t end = wire_get(server->wire);

    (void)sym_reader_line_rows(server->reader, start, end, put_row, server);
    wire_put(server->wire, REPLY_ANSWER);
    wire_put(server->wire, 0);
    put_state(server);
}

static void
answer_bytes(struct server *server)
{
    const uint64_t address = wire_get(server->wire);
    const size_t size = (size_t)wire_get_most(server->wire, CODE_BYTES_MAX);
    void *const bytes = malloc(size + 1);

    wire_put(server->wire, REPLY_ANSWER);
    wire_put_bytes(
        server->wire, bytes,
        bytes == NULL ? 0 : sym_reader_read(server->reader, address, bytes, size));
    free(bytes);
}

static void
put_unwind_row(struct wire *wire, const struct sym_unwind_row *row)
{
    const struct sym_unwind_rule *const rule = &row->rule;

    wire_put(wire, row->start);
    wire_put(wire, row->end);
    wire_put(wire, rule->kind);
    wire_put(wire, rule->cfa);
    wire_put(wire, rule->cfa_register);
    wire_put(wire, (uint64_t)rule->cfa_offset);
    wire_put(wire, rule->base);
    for (size_t i = 0; i < SYM_SAVED_REGISTERS; i++) {
        wire_put(wire, rule->places[i]);
        wire_put(wire, (uint64_t)rule->offsets[i]);
    }
}

static void
answer_unwind(struct server *server)
{
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
    const uint64_t address = wire_get(server->wire);
    const size_t count = sym_reader_unwind(server->reader, address, rows);

    wire_put(server->wire, REPLY_ANSWER);
    wire_put(server->wire, count);
    for (size_t i = 0; i < count; i++) {
        put_unwind_row(server->wire, &rows[i]);
    }
}

/* --- images --- */

static void (*const answers[])(struct server *server) = {
    [ASK_NAMES] = answer_names,
    [ASK_ROWS] = answer_rows,
    [ASK_BYTES] = answer_bytes,
    [ASK_UNWIND] = answer_unwind,
};

/* Receive the parameters of a conversation about an image, and open it. On failure the
 * server has no reader, and errno is set. */
static void
open_image(struct server *server)
{
    struct wire *const wire = server->wire;
    const uint64_t flags = wire_get(wire);
    const struct sym_reader_settings settings = {
        .no_lines = (flags & FLAG_NO_LINES) != 0,
        .discriminators = (flags & FLAG_DISCRIMINATORS) != 0,
        .files = files_of(server, flags),
        .memory_max = wire_get(wire),
    };
    const char *const path = wire_get_text(wire, PATH_MAX);
    const int fd = wire_take_fd(wire);

    server->image_fd = fd;
    errno = EIO; /* for a failure that sets none: there is no vdso */
    server->reader =
        (flags & FLAG_VDSO) != 0
            ? sym_reader_open_vdso()
            : sym_reader_open(fd, path, (flags & FLAG_IN_ROOT) != 0 ? IMAGE_ROOT : "");
    if (server->reader != NULL) {
        sym_reader_configure(server->reader, &settings);
    }
}

static void
answer_headers(struct server *server)
{
    const struct sym_code code = sym_reader_code(server->reader);
    struct wire *const wire = server->wire;
    const struct sym_segment *segments;
    size_t count;

    wire_put_text(wire, sym_reader_build_id(server->reader));
    wire_put(wire, code.machine);
    wire_put(wire, code.wide);
    wire_put(wire, code.big_endian);
    segments = sym_reader_segments(server->reader, &count);
    count = count < SEGMENTS_MAX ? count : SEGMENTS_MAX;
    wire_put(wire, count);
    for (size_t i = 0; i < count; i++) {
        wire_put(wire, segments[i].offset);
        wire_put(wire, segments[i].bytes);
        wire_put(wire, segments[i].address);
        wire_put(wire, segments[i].holds_code);
    }
}

static void
serve_image(struct wire *wire)
{
    struct server server = {.wire = wire};

    open_image(&server);
    sandbox_stage("open", wire);
    wire_put(wire, REPLY_ANSWER);
    wire_put(wire, server.reader == NULL ? (uint64_t)errno : 0);
    if (server.reader != NULL) {
        answer_headers(&server);
    }
    wire_send(wire, -1);
    wire->failed |= server.reader == NULL;
    while (!wire->failed) {
        const uint64_t asked =
            wire_get_most(wire, sizeof(answers) / sizeof(answers[0]) - 1);

        if (!wire->failed) {
            sandbox_stage(asked == ASK_NAMES ? "names" : "other", wire);
            answers[asked](&server);
            sandbox_stage("answer", wire);
            if (!wire_has_more(wire)) {
                wire_send(wire, -1); /* the command waits for all of its answers */
            }
        }
    }
    sym_reader_close(server.reader);
    string_set_finish(&server.names);
}

/* --- perf maps and functions --- */

static void
put_map(struct wire *wire, struct sym_map *map)
{
    for (size_t i = 0; i < map->table.range_count; i++) {
        struct sym_range *const range = &map->table.ranges[i];
        const char *name;
        const char *system_name;

        if (sym_range_name(range, &name, &system_name)) {
            wire_put(wire, 1);
            wire_put(wire, range->start);
            wire_put(wire, range->end);
            wire_put_text(wire, name);
            wire_put_text(wire, system_name);
        }
    }
    wire_put(wire, 0);
}

static void
serve_perf_map(struct wire *wire)
{
    const uint64_t size = wire_get(wire);
    struct sym_wanted wanted = {.bytes = wire_get(wire)};
    size_t places_size;
    const void *const sent = wire_get_bytes(wire, SIZE_MAX, &places_size);
    const int fd = wire_take_fd(wire);
    uint64_t *const places = malloc(places_size + 1);
    struct sym_map *map = NULL;

    if (sent != NULL && places != NULL) {
        memcpy(places, sent, places_size);
        wanted.places = places;
        wanted.count = places_size / sizeof(*places);
        map = sym_reader_perf_map(fd, size, &wanted);
    }
    sandbox_stage("map", wire);
    wire_put(wire, map == NULL ? (uint64_t)errno : 0);
    if (map != NULL) {
        put_map(wire, map);
    }
    sandbox_stage("answer", wire);
    wire_send(wire, -1);
    sym_map_close(map);
    free(places);
    close(fd);
}

static void
serve_function(struct wire *wire)
{
    const uint64_t flags = wire_get(wire);
    const uint64_t bytes = wire_get(wire);
    char *const path = strdup(wire_get_text(wire, PATH_MAX));
    char *const name = strdup(wire_get_text(wire, TEXT_BYTES_MAX));
    struct server server = {.wire = wire};
    const struct sym_files files = files_of(&server, flags);
    const int fd = wire_take_fd(wire);
    struct sym_function found = {0};
    const int result =
        path == NULL || name == NULL
            ? -ENOMEM
            : sym_reader_find_function(fd, path, name, bytes, &files, &found);

    sandbox_stage("function", wire);
    wire_put(wire, REPLY_ANSWER);
    wire_put(wire, (uint64_t)(int64_t)result);
    wire_put(wire, found.offset);
    wire_put(wire, found.address);
    wire_put(wire, found.bytes);
    wire_put(wire, found.segment_bytes);
    wire_put(wire, found.fixed);
    wire_put(wire, found.count);
    sandbox_stage("answer", wire);
    wire_send(wire, -1);
    free(path);
    free(name);
    close(fd);
}

static void
serve_symbols(struct wire *wire)
{
    const uint64_t bytes = wire_get(wire);
    const int fd = wire_take_fd(wire);
    struct sym_symbol_list list;
    const int result = sym_reader_symbol_list(fd, bytes, &list);
    struct string_set sent = {0};

    sandbox_stage("symbols", wire);
    wire_put(wire, (uint64_t)(int64_t)result);
    wire_put(wire, list.relocations);
    wire_put(wire, list.count);
    for (size_t i = 0; i < list.count; i++) {
        wire_put(wire, list.items[i].start);
        wire_put(wire, list.items[i].size);
        wire_put(wire, list.items[i].local);
        wire_put_name(wire, &sent, list.items[i].name);
        wire_put_name(wire, &sent, list.items[i].file);
    }
    wire_send(wire, -1);
    string_set_finish(&sent);
    sym_symbol_list_finish(&list);
    close(fd);
}

/* Send the image of packed debug sections: its size, then its bytes in parts; size 0:
 * there is none. */
static void
serve_sections(struct wire *wire)
{
    const bool split = wire_get_most(wire, 1) != 0;
    const int fd = wire_take_fd(wire);
    struct sym_dwarf_image image = {.bytes = NULL};
    struct sym_elf file;
    char why[256];

    sandbox_stage("sections", wire);
    if (sym_elf_open(&file, fd) == 0) {
        (void)sym_dwarf_image_copy(&image, &file, split, /* files */ NULL,
                                   /* budget */ NULL, why, sizeof(why));
        sym_elf_close(&file);
    }
    if (image.mapped_bytes > 0) { /* nothing is packed */
        sym_dwarf_image_finish(&image);
    }
    wire_put(wire, image.size);
    wire_send(wire, -1);
    for (uint64_t at = 0; at < image.size && !wire->failed;) {
        const uint64_t left = image.size - at;
        const size_t size = left < SECTIONS_PART_BYTES ? left : SECTIONS_PART_BYTES;

        wire_put_bytes(wire, image.bytes + at, size);
        wire_send(wire, -1);
        at += size;
    }
    sym_dwarf_image_finish(&image);
    close(fd);
}

static void
serve(struct wire *wire)
{
    static void (*const works[])(struct wire * wire) = {
        [READER_IMAGE] = serve_image,       [READER_PERF_MAP] = serve_perf_map,
        [READER_FUNCTION] = serve_function, [READER_SYMBOLS] = serve_symbols,
        [READER_SECTIONS] = serve_sections,
    };
    const uint64_t work = wire_get_most(wire, sizeof(works) / sizeof(works[0]) - 1);

    if (!wire->failed) {
        works[work](wire);
    }
}

MODULE_INTERFACE(struct reader_module, reader) = {.serve = serve};
