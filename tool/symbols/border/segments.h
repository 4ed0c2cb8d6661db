/* SPDX-License-Identifier: MIT */
/* segments.h - where a file's bytes are mapped, by its headers. */
#ifndef SYMBOLS_BORDER_SEGMENTS_H
#define SYMBOLS_BORDER_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sym_segment - a loadable segment of an ELF file: bytes of it that are mapped. */
struct sym_segment {
    uint64_t offset;  /* in the file */
    uint64_t bytes;   /* in the file */
    uint64_t address; /* link-time */
    bool holds_code;
};

/* Return the first segment with code that has a byte of [offset, offset + size) of the
 * file; or else the first one that has the byte at offset; or NULL. */
const struct sym_segment *sym_segments_find(const struct sym_segment *segments,
                                            size_t count, uint64_t offset,
                                            uint64_t size);

/* Get the link-time address of the first byte of a bucket, which is size bytes at a
 * file offset. It is counted from the segment that the bucket has code of, and is below
 * that if the bucket begins before it. Returns false if no segment has a byte of it. */
bool sym_segments_address(const struct sym_segment *segments, size_t count,
                          uint64_t offset, uint64_t size, uint64_t *address);

#endif
