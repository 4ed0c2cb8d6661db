/* SPDX-License-Identifier: MIT */
/*
 * readers.h - what processes without rights do for the command: the interface of module
 * reader, whose other headers only such a process may see.
 */
#ifndef SYMBOLS_BORDER_READERS_H
#define SYMBOLS_BORDER_READERS_H

#include "sandbox/wire.h"

/* The first number of a conversation. */
enum reader_work {
    READER_IMAGE,
    READER_PERF_MAP,
    READER_FUNCTION,
    READER_SYMBOLS,
    READER_SECTIONS
};

struct reader_module {
    void (*serve)(struct wire *wire);
};

#endif
