/* SPDX-License-Identifier: MIT */
/*
 * pprof_decode.c - decodes the bytes of a pprof file: ours exactly, foreign ones as far
 * as a profile can hold what they say.
 */
#include "profile/decoder.h"
#include "profile/file_kind.h"
#include "profile/gzip.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The start of errors, here and in decode_*.c, about files that may be no profiles. */
#define NOT_A_PROFILE "not a profile"

/* Set the error. Returns false, so that callers can return its value. */
__attribute__((format(printf, 2, 3))) bool
decoder_fail(struct decoder *decoder, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(decoder->error->text, sizeof(decoder->error->text), format, arguments);
    va_end(arguments);
    return false;
}

bool
decoder_fail_memory(struct decoder *decoder)
{
    return decoder_fail(decoder, PPROF_OUT_OF_MEMORY);
}

bool
decoder_fail_broken(struct decoder *decoder, const char *what)
{
    return decoder_fail(decoder,
                        "not a profile, or damaged: a %s does not fit its bytes", what);
}

/* Count size bytes against the limit. Returns false if they are too many. */
bool
decoder_take_memory(struct decoder *decoder, uint64_t size)
{
    if (size > decoder->memory_left) {
        return decoder_fail(decoder,
                            "it takes more memory than a file of its size may: %" PRIu64
                            " MiB",
                            decoder->memory_limit >> 20);
    }
    decoder->memory_left -= size;
    return true;
}

bool
decoder_append(struct decoder *decoder, struct buffer *table, const void *entry,
               size_t size)
{
    if (!decoder_take_memory(decoder, size)) {
        return false;
    }
    buffer_append(table, entry, size);
    return !table->failed || decoder_fail_memory(decoder);
}

bool
decoder_walk(struct decoder *decoder,
             bool (*handle)(struct decoder *decoder,
                            const struct protobuf_field *field))
{
    struct protobuf_reader bytes = decoder->bytes;
    struct protobuf_field field;
    enum protobuf_result result;

    while ((result = protobuf_next(&bytes, &field)) == PROTOBUF_FIELD) {
        if (!handle(decoder, &field)) {
            return false;
        }
    }
    return result == PROTOBUF_END ||
           decoder_fail(decoder,
                        "not a profile, or truncated: field at byte %td does not fit",
                        bytes.at - decoder->bytes.at);
}

/* Make the texts that the file does not have empty. */
static bool
fill_texts(struct decoder *decoder)
{
    char nothing[] = "";
    struct profile *profile = decoder->profile;

    return decoder_keep_text(decoder, &profile->command, nothing) &&
           decoder_keep_text(decoder, &profile->hal, nothing) &&
           decoder_keep_text(decoder, &profile->limits, nothing) &&
           decoder_keep_text(decoder, &profile->gaps, nothing);
}

/* Decode the whole file into decoder->profile. */
static bool
decode(struct decoder *decoder)
{
    if (!decoder_walk(decoder, decoder_read_table_field) ||
        !decoder_check_strings(decoder)) {
        return false;
    }
    if (decoder->types.size == 0) {
        return decoder_fail(decoder, "not a profile: it has no sample types");
    }
    decoder->ours = decoder_is_ours(decoder);
    if (decoder->ours && decoder->value != NULL) {
        return decoder_fail(decoder,
                            "--value chooses in files of other tools; ntprof's "
                            "own have sources, which -e chooses");
    }
    decoder->profile->time_ns = decoder->time_ns;
    decoder->profile->duration_ns = decoder->duration_ns;
    return (decoder->ours
                ? decoder_read_our_comments(decoder)
                : decoder_find_clock(decoder) && decoder_add_foreign_sources(decoder) &&
                      decoder_compile_frames(decoder)) &&
           fill_texts(decoder) && decoder_add_mappings(decoder) &&
           decoder_add_functions(decoder) &&
           decoder_walk(decoder, decoder_read_location) &&
           decoder_sort(decoder, &decoder->locations, sizeof(struct location),
                        "location") &&
           decoder_walk(decoder, decoder_read_sample) && decoder_note_left_out(decoder);
}

static void
decoder_finish(struct decoder *decoder)
{
    buffer_finish(&decoder->strings);
    buffer_finish(&decoder->types);
    buffer_finish(&decoder->mappings);
    buffer_finish(&decoder->functions);
    buffer_finish(&decoder->locations);
    buffer_finish(&decoder->lines);
    buffer_finish(&decoder->comments);
    buffer_finish(&decoder->text);
    buffer_finish(&decoder->values);
    buffer_finish(&decoder->stack);
    name_pattern_finish(&decoder->drop);
    name_pattern_finish(&decoder->keep);
}

/* Return the limit of the memory for decoding a file of this size. */
static uint64_t
memory_for(size_t file_size)
{
    const uint64_t limit = PPROF_MEMORY_BASE + (uint64_t)file_size * PPROF_MEMORY_RATIO;

    return limit < PPROF_MEMORY_MAX ? limit : PPROF_MEMORY_MAX;
}

/* Decode uncompressed bytes, at most memory_limit of them. */
static struct profile *
decode_plain(const uint8_t *bytes, size_t size, uint64_t memory_limit,
             const struct pprof_choice *choice, struct pprof_error *error)
{
    struct decoder decoder = {
        .error = error,
        .value = choice->value,
        .flat = choice->flat,
        .bytes = {bytes, bytes + size},
        .memory_limit = memory_limit,
        .memory_left = memory_limit - size,
        .no_image = HASH_INDEX_NONE,
        .clock_column = SIZE_MAX,
    };

    for (size_t i = 0; i < SAMPLE_TYPES_MAX; i++) {
        decoder.column_source[i] = COLUMN_IGNORED;
    }
    decoder.profile = profile_new();
    if (decoder.profile == NULL) {
        decoder_fail_memory(&decoder);
    } else if (!decode(&decoder)) {
        profile_delete(decoder.profile);
        decoder.profile = NULL;
    }
    decoder_finish(&decoder);
    return decoder.profile;
}

/* Decode bytes that were expanded, or were never compressed. If they are no profile,
 * the error says what they are, as far as that is known. */
static struct profile *
decode_expanded(const uint8_t *bytes, size_t size, uint64_t memory_limit,
                const struct pprof_choice *choice, struct pprof_error *error)
{
    const char *what = gzip_is(bytes, size)
                           ? "compressed by gzip more than once; unpack it first: "
                             "gzip -dc FILE > NEW"
                           : file_kind_known(bytes, size);
    struct profile *profile = NULL;

    if (what == NULL) {
        profile = decode_plain(bytes, size, memory_limit, choice, error);
        if (profile == NULL &&
            strncmp(error->text, NOT_A_PROFILE, strlen(NOT_A_PROFILE)) == 0) {
            what = file_kind_guess(bytes, size);
        }
    }
    if (what != NULL) {
        snprintf(error->text, sizeof(error->text), "%s", what);
    }
    return profile;
}

struct profile *
pprof_decode(const void *bytes, size_t size, struct pprof_error *error)
{
    const struct pprof_choice all = {0};

    return pprof_decode_choice(bytes, size, &all, error);
}

struct profile *
pprof_decode_choice(const void *bytes, size_t size, const struct pprof_choice *choice,
                    struct pprof_error *error)
{
    const uint64_t memory_limit = memory_for(size);
    struct profile *profile = NULL;
    struct buffer expanded = {0};
    const char *why;

    if (size == 0) {
        snprintf(error->text, sizeof(error->text), "not a profile: it is empty");
        return NULL;
    }
    if (!gzip_is(bytes, size)) {
        return decode_expanded(bytes, size, memory_limit, choice, error);
    }
    why = gzip_expand(bytes, size, memory_limit, &expanded);
    if (why == NULL && expanded.size == 0) {
        why = "not a profile: it is empty";
    }
    if (why != NULL) {
        snprintf(error->text, sizeof(error->text), "%s", why);
    } else {
        profile =
            decode_expanded(expanded.data, expanded.size, memory_limit, choice, error);
    }
    buffer_finish(&expanded);
    return profile;
}
