/* SPDX-License-Identifier: MIT */
/* function.h - where a function is in its file. */
#ifndef SYMBOLS_BORDER_FUNCTION_H
#define SYMBOLS_BORDER_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sym_function {
    uint64_t offset;        /* in the file, of its first byte */
    uint64_t address;       /* link-time */
    uint64_t bytes;         /* size of the function; 0: unknown */
    uint64_t segment_bytes; /* from address to the end of its segment */
    bool fixed;             /* the image is always mapped there: no PIE, no library */
    size_t count;           /* functions of that name: the rest is of one of them */
};

#endif
