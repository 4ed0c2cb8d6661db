/* SPDX-License-Identifier: MIT */
/* gzip.c - compresses and expands gzip members piece by piece, within a limit of the
 * size and of the ratio. */
#include "profile/gzip.h"

#include "profile/pprof.h"

#include <string.h>

enum {
    WINDOW_BITS_GZIP = 15 + 16,
    STEP_BYTES = 64 * 1024,
    MEMORY_LEVEL = 8,
    LEVEL = 4, /* takes two thirds of the time of level 5 for 1 to 4 % more bytes */
};

/* Return the size of the next piece: zlib's sizes have 32 bits. */
static uInt
piece_size(size_t size)
{
    return size > STEP_BYTES ? STEP_BYTES : (uInt)size;
}

/* Call deflate once. Returns whether to call it again, as there is more output than it
 * had room for; false also on failure. */
static bool
compress_once(struct gzip_writer *writer, int flush)
{
    uint8_t *room = buffer_reserve(writer->out, STEP_BYTES);
    int status;

    if (room == NULL) {
        return false;
    }
    writer->stream.next_out = room;
    writer->stream.avail_out = STEP_BYTES;
    status = deflate(&writer->stream, flush);
    writer->out->size += STEP_BYTES - writer->stream.avail_out;
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
        writer->out->failed = true;
    }
    return writer->stream.avail_out == 0 && status == Z_OK;
}

bool
gzip_begin(struct gzip_writer *writer, struct buffer *out)
{
    memset(writer, 0, sizeof(*writer));
    writer->out = out;
    return deflateInit2(&writer->stream, LEVEL, Z_DEFLATED, WINDOW_BITS_GZIP,
                        MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
}

void
gzip_put(struct gzip_writer *writer, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    while (size > 0 && !writer->out->failed) {
        const uInt step = piece_size(size);

        /* zlib does not write to its input */
        writer->stream.next_in = (Bytef *)(uintptr_t)at;
        writer->stream.avail_in = step;
        while (compress_once(writer, Z_NO_FLUSH)) {
        }
        at += step;
        size -= step;
    }
}

bool
gzip_end(struct gzip_writer *writer)
{
    writer->stream.next_in = NULL;
    writer->stream.avail_in = 0;
    while (compress_once(writer, Z_FINISH)) {
    }
    deflateEnd(&writer->stream);
    return !writer->out->failed;
}

bool
gzip_is(const void *bytes, size_t size)
{
    const uint8_t *magic = bytes;

    return size >= 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

/* expansion - state of the decompression. */
struct expansion {
    const uint8_t *bytes;
    size_t size, done;
    uint64_t limit;
};

/* Return NULL while the output is within its limits, else the reason. */
static const char *
check_size(const struct expansion *expansion, const struct buffer *out)
{
    if (out->size > GZIP_BOMB_BYTES && out->size / GZIP_BOMB_RATIO > expansion->done) {
        return "it expands to more than 100 times its size and over 64 MiB";
    }
    return out->size > expansion->limit
               ? "it expands to more than memory is allowed for"
               : NULL;
}

/* Expand one member. Returns NULL if it is complete, else the reason. */
static const char *
expand_member(z_stream *stream, struct expansion *expansion, struct buffer *out)
{
    int status = Z_OK;

    while (status == Z_OK) {
        uint8_t *room = buffer_reserve(out, STEP_BYTES);
        const uInt given = piece_size(expansion->size - expansion->done);
        const char *why;

        if (room == NULL) {
            return PPROF_OUT_OF_MEMORY;
        }
        stream->next_in = (Bytef *)(uintptr_t)(expansion->bytes + expansion->done);
        stream->avail_in = given;
        stream->next_out = room;
        stream->avail_out = STEP_BYTES;
        status = inflate(stream, Z_NO_FLUSH);
        out->size += STEP_BYTES - stream->avail_out;
        expansion->done += given - stream->avail_in;
        why = check_size(expansion, out);
        if (why != NULL) {
            return why;
        }
    }
    switch (status) {
    case Z_STREAM_END:
        return NULL;
    case Z_BUF_ERROR:
        return "truncated: the compressed data ends early";
    case Z_MEM_ERROR:
        return PPROF_OUT_OF_MEMORY;
    default:
        return "the compressed data is damaged";
    }
}

const char *
gzip_expand(const void *bytes, size_t size, uint64_t limit, struct buffer *out)
{
    struct expansion expansion = {.bytes = bytes, .size = size, .limit = limit};
    z_stream stream = {0};
    const char *why = NULL;

    if (inflateInit2(&stream, WINDOW_BITS_GZIP) != Z_OK) {
        return PPROF_OUT_OF_MEMORY;
    }
    while (why == NULL && expansion.done < size) {
        if (!gzip_is(expansion.bytes + expansion.done, size - expansion.done)) {
            why = "there are bytes after its end";
            break;
        }
        inflateReset(&stream);
        why = expand_member(&stream, &expansion, out);
    }
    inflateEnd(&stream);
    return why;
}
