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

enum loadable {
    LOADABLE_YES,
    LOADABLE_I386,    /* a 32-bit program of this x86-64 machine: by another object */
    LOADABLE_STATIC,  /* it has no dynamic loader */
    LOADABLE_FOREIGN, /* it is of another machine or word size than the object */
    LOADABLE_RIGHTS,  /* it gets more rights by its file: its loader loads nothing */
    LOADABLE_UNKNOWN  /* it cannot be read, or is no program */
};

/* Bytes of a file that decide. */
enum { LOADABLE_BYTES = 4096 };

/*
 * Judge a file by its first bytes.
 *
 *   bytes, size   the beginning, at most LOADABLE_BYTES
 *   interpreter   out: what runs it if it is a script, else ""; room for LOADABLE_BYTES
 */
enum loadable loadable_judge(const unsigned char *bytes, size_t size,
                             char *interpreter);

/* Judge a program, or what runs it if it is a script. */
enum loadable loadable_check(const char *path);

/* Return why not, and what would help: a sentence. */
const char *loadable_reason(enum loadable loadable);

#endif
