/* SPDX-License-Identifier: MIT */
/*
 * protocol.h - what the command asks a reader, and what that answers.
 *
 * A conversation begins with the parameters of its work, and the file. Each item of an
 * answer begins with a REPLY_...: that the item follows, or that the reader needs a
 * file first, which the command then sends or refuses.
 */
#ifndef SYMBOLS_BORDER_PROTOCOL_H
#define SYMBOLS_BORDER_PROTOCOL_H

#include "sandbox/wire.h"

enum { REPLY_ANSWER, REPLY_OPEN, REPLY_DOWNLOAD };

/*
 * Questions about images. The first one may follow the file at once, before the headers
 * are answered. A state is: has symbols, is bounded, note.
 */
enum {
    ASK_NAMES, /* by_offset, bytes, places: a name for each place; then the state */
    ASK_ROWS,  /* start, end: rows, each 1, address, file, line; then 0, the state */
    ASK_BYTES, /* address, size: bytes */
    ASK_UNWIND /* address: how many rows, and those: start, end, the rule's members */
};

enum {
    FLAG_NO_LINES = 1,
    FLAG_DISCRIMINATORS = 2,
    FLAG_IN_ROOT = 4,
    FLAG_DOWNLOAD = 8,
    FLAG_VDSO = 16
};

/* Limits of what the command accepts. Readers cut names at 64 KiB. */
enum { TEXT_BYTES_MAX = 1 << 17, CODE_BYTES_MAX = 16 << 20 };

/* Programs have about ten segments; a file with more than this counts as damaged. */
enum { SEGMENTS_MAX = 1 << 12 };

/* The root of an image, in paths that a reader asks for: it does not know the real one.
 */
#define IMAGE_ROOT "/root"

#endif
