/* SPDX-License-Identifier: MIT */
/* segments.h - where a file's bytes are mapped, by its headers. */
#ifndef SYMBOLS_BORDER_SEGMENTS_H
#define SYMBOLS_BORDER_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sym_segment - bytes of a file that are mapped. */
struct sym_segment {
    uint64_t offset;  /* in the file */
    uint64_t bytes;   /* there */
    uint64_t address; /* link-time */
    bool holds_code;
};

/* Link-time address of the first byte of a bucket of size bytes of code, as in
 * sym_image_lookup_place. False if no segment holds a byte of it. */
bool sym_segments_address(const struct sym_segment *segments, size_t count,
                          uint64_t offset, uint64_t size, uint64_t *address);

#endif
