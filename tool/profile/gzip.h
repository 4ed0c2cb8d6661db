/* SPDX-License-Identifier: MIT */
/*
 * gzip.h - gzip in memory, by zlib.
 */
#ifndef PROFILE_GZIP_H
#define PROFILE_GZIP_H

#include "util/buffer.h"

#include <zlib.h>

/*
 * What is refused as a bomb, as soon as it shows: more than GZIP_BOMB_BYTES, and more
 * than GZIP_BOMB_RATIO times what was read for it so far. Profiles compress 3 to 20
 * times.
 */
#define GZIP_BOMB_BYTES (UINT64_C(64) << 20)
#define GZIP_BOMB_RATIO 100

/* Compresses what is put into it. */
struct gzip_writer {
    z_stream stream;
    struct buffer *out;
};

/* False: out of memory, nothing to end. */
bool gzip_begin(struct gzip_writer *writer, struct buffer *out);
void gzip_put(struct gzip_writer *writer, const void *bytes, size_t size);

/* Ends the file. False if anything failed since the beginning. */
bool gzip_end(struct gzip_writer *writer);

bool gzip_is(const void *bytes, size_t size);

/*
 * Expands a gzip file of one or more members to at most limit bytes. NULL if all is
 * well, else why not, in words; out holds what came before.
 */
const char *gzip_expand(const void *bytes, size_t size, uint64_t limit,
                        struct buffer *out);

#endif
