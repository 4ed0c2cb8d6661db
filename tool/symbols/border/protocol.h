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

enum {
    REPLY_ANSWER,
    REPLY_OPEN,     /* 1: in the root of the image, or 0; path: a file */
    REPLY_DOWNLOAD, /* build-id: its debug file */
    REPLY_UNPACKED  /* own, split, bytes: an image of debug sections (section_cache.h),
                     * which has so many bytes. own: 1: they are those of the file of
                     * the conversation, 0: of the file that REPLY_OPEN or
                     * REPLY_DOWNLOAD got last; no other one can be named. split: 1: of
                     * split units */
};

/*
 * Questions about images, each with its parameters and the answer. The first question
 * may follow the file at once, before the headers are answered. "State" stands for
 * three items: has symbols, is bounded, note.
 */
enum {
    ASK_NAMES, /* by_offset, bytes, places (struct sym_wanted; by_offset: they are
                * offsets in the file): a name for each; then the state */
    ASK_ROWS,  /* start, end: rows, each 1, address, file, line; then 0, the state */
    ASK_BYTES, /* address, size: bytes */
    ASK_UNWIND /* address: how many rows, and those: start, end, the rule's members */
};

/* Flags of a conversation about an image or a function: the settings of client/image.h,
 * where further files are, and that the image is the vdso and not a file. */
enum {
    FLAG_NO_LINES = 1,
    FLAG_DISCRIMINATORS = 2,
    FLAG_IN_ROOT = 4,
    FLAG_DOWNLOAD = 8,
    FLAG_VDSO = 16,
    FLAG_CACHE = 32 /* the command may have debug sections unpacked */
};

/* At most so many bytes of unpacked sections are sent at once: with their number, no
 * more than a wire receives at once. */
enum { SECTIONS_PART_BYTES = (1 << 16) - sizeof(uint64_t) };

/* Limits of what the command accepts. Readers cut names at 64 KiB. */
enum { TEXT_BYTES_MAX = 1 << 17, CODE_BYTES_MAX = 16 << 20 };

/* Programs have about ten segments; a file with more than this counts as damaged. */
enum { SEGMENTS_MAX = 1 << 12 };

/* What stands for the root of an image where a reader asks for further files: readers
 * do not know the real one. */
#define IMAGE_ROOT "/root"

#endif
