/* SPDX-License-Identifier: MIT */
/* function.h - where a function is in its file. */
#ifndef SYMBOLS_BORDER_FUNCTION_H
#define SYMBOLS_BORDER_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sym_function {
    uint64_t offset;        /* of its first byte in the file */
    uint64_t address;       /* link-time */
    uint64_t bytes;         /* size of the function; 0: unknown */
    uint64_t segment_bytes; /* from address to the end of its segment */
    bool fixed;             /* address is also the run-time one: no PIE, no library */
    size_t count;           /* functions of the name; the above is of one of them */
};

#endif
