/* SPDX-License-Identifier: MIT */
/*
 * annotate.c - fuzz target: listings of forged programs with hits anywhere, and what
 * objdump may print.
 *
 * An input begins with a byte: with its lowest bit the rest is output of objdump. Else
 * a byte of bucket size (a power of two), one with the number of rows, and for each row
 * four bytes of address from 0x400000, lowest first, and one of line; what is left is
 * the program.
 */
#include "harmless.h"

#include "view/listing/decode.h"
#include "view/listing/print.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROW_BYTES = 5, HEAD_BYTES = 3 };

static void
require(bool good)
{
    if (!good) {
        abort();
    }
}

/* --- objdump --- */

struct walk {
    uint64_t at;
    uint64_t end;
};

static bool
take(void *context, const struct decoded *decoded)
{
    struct walk *walk = context;

    require(decoded->address == walk->at && decoded->size > 0 &&
            decoded->size <= walk->end - walk->at);
    require(decoded->text == NULL || strlen(decoded->text) < SIZE_MAX);
    walk->at += decoded->size;
    return true;
}

static void
read_objdump(const uint8_t *data, size_t size)
{
    static const unsigned char bytes[64];
    static const uint64_t starts[] = {0x1000, 0x1003, 0x1010, 0x1020, 0x103f};
    const struct decode_code code = {
        {EM_X86_64, true, false}, bytes, sizeof(bytes), 0x1000, starts, 5, false, NULL};
    struct walk walk = {0x1000, 0x1040};
    char *const text = malloc(size + 1);

    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    require(decode_objdump_text(&code, text, size, take, &walk));
    require(walk.at == walk.end);
    free(text);
}

/* --- programs --- */

/* input - a profile of a program, which is a file without a name. */
struct input {
    struct profile *profile;
    char path[64];
    int fd;
};

static void
open_program(struct input *input, const uint8_t *data, size_t size)
{
    input->fd = memfd_create("program", MFD_CLOEXEC);
    require(input->fd >= 0 && write(input->fd, data, size) == (ssize_t)size);
    snprintf(input->path, sizeof(input->path), "/proc/self/fd/%d", input->fd);
}

static uint32_t
add_image(const struct input *input)
{
    struct sym_image *const file =
        sym_image_open(dup(input->fd), input->path, "", NULL);
    const struct profile_image image = {
        .path = input->path,
        .build_id = file == NULL ? "" : sym_image_build_id(file),
        .start = 0x400000,
        .limit = 0x500000,
    };
    uint32_t index;

    require(profile_add_image(input->profile, &image, &index));
    sym_image_close(file);
    return index;
}

static void
add_rows(const struct input *input, const uint8_t *rows, size_t count)
{
    const struct profile_source source = {
        .name = "time", .nt_name = "", .unit = "100ns"};
    /* The bytes of the program are its source too. */
    const struct profile_function function = {
        .name = "work", .system_name = "work", .file = input->path, .start_line = 1};
    struct profile_place place = {.image = add_image(input)};
    uint32_t index;

    require(profile_add_source(input->profile, &source, &index) &&
            profile_add_process(input->profile, "p", &place.process) &&
            profile_add_function(input->profile, &function, &place.function));
    for (size_t i = 0; i < count; i++) {
        const uint8_t *row = rows + i * ROW_BYTES;

        place.address = 0x400000 + (row[0] | (uint64_t)row[1] << 8 |
                                    (uint64_t)row[2] << 16 | (uint64_t)row[3] << 24);
        place.line = row[4];
        require(profile_add_hits_at(input->profile, &place, 0, i + 1));
    }
}

/* Hits are neither lost nor made: each is on a line, or said to be outside. */
static void
check(const struct listing *listing)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < listing->count; i++) {
        const struct listing_line *line = &listing->lines[i];

        sum += listing_line_hits(listing, line, 0);
        require(line->bucket == LISTING_NONE || line->bucket < listing->bucket_count);
        require(line->target == LISTING_NONE || line->target < listing->count);
        require(strchr(line->text, '\n') == NULL);
    }
    require(sum >= listing->own[0] || listing->outside);
    for (size_t i = 0; i < listing->bucket_count; i++) {
        const struct listing_bucket *bucket = &listing->buckets[i];

        require(bucket->first_line < listing->count &&
                bucket->last_line < listing->count &&
                bucket->first_line <= bucket->last_line);
        require(listing->lines[bucket->first_line].bucket == i);
    }
}

static void
list(const struct input *input, const struct listing_target *target,
     enum listing_view view)
{
    static const struct listing_prefix nowhere[] = {{"/", "/nonexistent"},
                                                    {"", "/nonexistent"}};
    const struct annotator_settings settings = {.prefixes = nowhere, .prefix_count = 2};
    const struct listing_print_options options = {.source = LISTING_ALL_SOURCES,
                                                  .bytes = true};
    struct annotator *const annotator = annotator_new(&settings);
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    struct listing listing;

    require(annotator != NULL && out != NULL);
    require(listing_make(annotator, input->profile, NULL, target, view, &listing));
    check(&listing);
    listing_fold(&listing, 2, 3);
    require(listing_print_text(out, input->profile, &listing, &options));
    require(listing_print_json(out, input->profile, &listing));
    listing_finish(&listing);
    annotator_delete(annotator);
    require(fclose(out) == 0);
    require_harmless(text, size);
    free(text);
}

static void
list_all(const struct input *input)
{
    static const enum listing_view views[] = {LISTING_BEST, LISTING_SOURCE_ONLY,
                                              LISTING_INSTRUCTIONS};
    const struct profile_row *const row = &input->profile->rows[0];
    struct identities identities = {0};
    struct listing_target target;

    require(identities_find(input->profile, &identities));
    target = listing_target_of_row(input->profile, &identities, row, true);
    for (size_t i = 0; i < 3; i++) {
        list(input, &target, views[i]);
    }
    target.kind = LISTING_OF_ADDRESS;
    target.name = target.system_name = "";
    target.address = row->address;
    list(input, &target, LISTING_INSTRUCTIONS);
    target.kind = LISTING_OF_LINE;
    target.file = input->path;
    target.line = row->line + 1;
    list(input, &target, LISTING_BEST);
    identities_finish(&identities);
}

static void
read_program(const uint8_t *data, size_t size)
{
    struct input input = {.profile = profile_new()};
    size_t rows;

    require(input.profile != NULL);
    if (size >= HEAD_BYTES - 1 + ROW_BYTES) {
        rows = (size - 2) / ROW_BYTES;
        rows = data[1] < rows ? data[1] : rows;
        open_program(&input, data + 2 + rows * ROW_BYTES, size - 2 - rows * ROW_BYTES);
        input.profile->bucket_bytes = UINT32_C(1) << (data[0] & 15);
        add_rows(&input, data + 2, rows);
        if (input.profile->row_count > 0) {
            list_all(&input);
        }
        close(input.fd);
    }
    profile_delete(input.profile);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    if (data[0] & 1) {
        read_objdump(data + 1, size - 1);
    } else {
        read_program(data + 1, size - 1);
    }
    return 0;
}
