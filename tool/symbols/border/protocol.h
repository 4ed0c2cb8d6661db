/* SPDX-License-Identifier: MIT */
/*
 * protocol.h - what the command asks a symbolizer process, and what that answers.
 *
 * A conversation begins with what its work needs, and the file. Each item of an answer
 * begins with a REPLY: the item itself, or a file that is needed for it, which the
 * command sends or refuses before the answer goes on.
 */
#ifndef SYMBOLS_BORDER_PROTOCOL_H
#define SYMBOLS_BORDER_PROTOCOL_H

#include "sandbox/wire.h"

enum { REPLY_ANSWER, REPLY_OPEN, REPLY_DOWNLOAD };

/* Of images. */
enum {
    ASK_NAMES,   /* by_offset, bytes, count, places: so many answers, each a name */
    ASK_ADDRESS, /* file offset: found, address */
    ASK_RANGE,   /* address: found, start, end */
    ASK_FRAMES,  /* address: count, frames */
    ASK_PLACE,   /* address, bytes: address */
    ASK_ROWS,    /* start, end: rows, each answer one: 1, address, file, line; then 0 */
    ASK_BYTES,   /* address, size: bytes */
    ASK_STATE    /* has symbols, is bounded, note */
};

enum {
    FLAG_NO_LINES = 1,
    FLAG_DISCRIMINATORS = 2,
    FLAG_IN_ROOT = 4,
    FLAG_DOWNLOAD = 8,
    FLAG_VDSO = 16
};

/* Names are cut at 64 KiB by readers. */
enum { TEXT_BYTES_MAX = 1 << 17, FRAMES_MAX = 512, CODE_BYTES_MAX = 16 << 20 };

/* What stands for the image's root in a process that knows no root. */
#define IMAGE_ROOT "/root"

/* Work of such processes. */
void symbolizer_serve_image(struct wire *wire);
void symbolizer_serve_perf_map(struct wire *wire);
void symbolizer_serve_function(struct wire *wire);
void symbolizer_serve_symbols(struct wire *wire);

#endif
