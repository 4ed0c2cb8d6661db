/* SPDX-License-Identifier: MIT */
/*
 * protocol.h - what the command asks a reader, and what that answers.
 *
 * A conversation begins with what its work needs, and the file. Each item of an answer
 * begins with a REPLY: the item itself, or a file that is needed for it, which the
 * command sends or refuses before the answer goes on.
 */
#ifndef SYMBOLS_BORDER_PROTOCOL_H
#define SYMBOLS_BORDER_PROTOCOL_H

#include "sandbox/wire.h"

enum { REPLY_ANSWER, REPLY_OPEN, REPLY_DOWNLOAD };

/*
 * Of images. The first question may come right behind the file, before headers are
 * answered. A state is: has symbols, is bounded, note.
 */
enum {
    ASK_NAMES, /* by_offset, bytes, places: a name for each place; then the state */
    ASK_ROWS,  /* start, end: rows, each 1, address, file, line; then 0, the state */
    ASK_BYTES  /* address, size: bytes */
};

enum {
    FLAG_NO_LINES = 1,
    FLAG_DISCRIMINATORS = 2,
    FLAG_IN_ROOT = 4,
    FLAG_DOWNLOAD = 8,
    FLAG_VDSO = 16
};

/* Names are cut at 64 KiB by readers. */
enum { TEXT_BYTES_MAX = 1 << 17, CODE_BYTES_MAX = 16 << 20 };

/* Programs have ten or so; readers believe no file that has more. */
enum { SEGMENTS_MAX = 1 << 12 };

/* What stands for the image's root in a process that knows no root. */
#define IMAGE_ROOT "/root"

#endif
