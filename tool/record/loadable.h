/* SPDX-License-Identifier: MIT */
/*
 * loadable.h - whether the dynamic loader of a program would load the preload object.
 *
 * The kernel and the loader decide by the beginning of the file; this reads the same
 * bytes, of which each is checked, and nothing else of it.
 */
#ifndef RECORD_LOADABLE_H
#define RECORD_LOADABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* loadable - whether the object can be loaded, or why not. */
enum loadable {
    LOADABLE_YES,
    LOADABLE_I386,    /* a 32-bit program on x86-64: needs the 32-bit object */
    LOADABLE_STATIC,  /* it has no dynamic loader */
    LOADABLE_FOREIGN, /* it is of another machine or word size than the object */
    LOADABLE_RIGHTS,  /* it gets more rights by its file: its loader loads nothing */
    LOADABLE_UNKNOWN  /* it cannot be read, or is no program */
};

/* Bytes at the beginning of a file that are read. */
enum { LOADABLE_BYTES = 4096 };

/* loadable_judge - judge a file by its first bytes, at most LOADABLE_BYTES. If it is a
 * script, interpreter becomes the path of what runs it, and LOADABLE_YES means that the
 * caller has to judge that file instead. Otherwise interpreter becomes "". It has room
 * for LOADABLE_BYTES. */
enum loadable loadable_judge(const unsigned char *bytes, size_t size,
                             char *interpreter);

/* Judge a program or, if it is a script, what runs it. */
enum loadable loadable_check(const char *path);

/* Return a sentence on why the object cannot be loaded and what would
 * help; "" if it can. */
const char *loadable_reason(enum loadable loadable);

#endif
