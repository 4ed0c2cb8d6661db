/* SPDX-License-Identifier: MIT */
/*
 * gzip.h - gzip in memory, with zlib.
 */
#ifndef PROFILE_GZIP_H
#define PROFILE_GZIP_H

#include "base/buffer.h"

#include <zlib.h>

/*
 * Output is refused as a decompression bomb as soon as it exceeds both GZIP_BOMB_BYTES
 * and GZIP_BOMB_RATIO times the input read so far. Profiles compress 3 to 20 times.
 */
#define GZIP_BOMB_BYTES (UINT64_C(64) << 20)
#define GZIP_BOMB_RATIO 100

/* gzip_writer - compresses data into a buffer. */
struct gzip_writer {
    z_stream stream;
    struct buffer *out;
};

/* Start a stream. Returns false if memory runs out; then gzip_end must not be
 * called. */
bool gzip_begin(struct gzip_writer *writer, struct buffer *out);

/* Compress bytes. A failure is remembered in the buffer. */
void gzip_put(struct gzip_writer *writer, const void *bytes, size_t size);

/* End the stream. Returns false if anything failed since gzip_begin. */
bool gzip_end(struct gzip_writer *writer);

/* Return whether bytes begin as a gzip file does. */
bool gzip_is(const void *bytes, size_t size);

/*
 * Expand a gzip file of one or more members to at most limit bytes. Returns NULL on
 * success, else the reason; out then has what was expanded before.
 */
const char *gzip_expand(const void *bytes, size_t size, uint64_t limit,
                        struct buffer *out);

#endif
