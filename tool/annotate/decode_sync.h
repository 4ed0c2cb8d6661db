/* SPDX-License-Identifier: MIT */
/* decode_sync.h - keeps track of whether a decoder is where instructions start. For
 * decode_*.c. */
#ifndef ANNOTATE_DECODE_SYNC_H
#define ANNOTATE_DECODE_SYNC_H

#include "annotate/decode.h"

/* decode_sync - a walk through the bytes of a code, from first to last. */
struct decode_sync {
    const struct decode_code *code;
    decode_take *take;
    void *context;
    size_t at;      /* bytes that are done */
    size_t unknown; /* of those before at: not told yet */
    size_t next;    /* index into sync: the first behind at */
    bool lost;      /* bytes were not known since the last sync */
};

/* Bytes from at to the next sync, or to the end. */
size_t decode_sync_room(struct decode_sync *sync);

/* The next size bytes are one instruction, or (text NULL) not known. False: take ended
 * it. */
bool decode_sync_step(struct decode_sync *sync, size_t size, const char *text);

/* All that is left is not known. */
bool decode_sync_end(struct decode_sync *sync);

#endif
