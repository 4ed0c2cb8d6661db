/* SPDX-License-Identifier: MIT */
/* decode_sync.h - keeps a decoder synchronised: tracks whether it is where instructions
 * start, by known starts (decode.h). Only decode_*.c include it. */
#ifndef VIEW_LISTING_DECODE_SYNC_H
#define VIEW_LISTING_DECODE_SYNC_H

#include "view/listing/decode.h"

/* decode_sync - a walk through the bytes of a code, in order. */
struct decode_sync {
    const struct decode_code *code;
    decode_take *take;
    void *context;
    size_t at;      /* bytes processed so far */
    size_t unknown; /* of those before at, unknown bytes not reported yet */
    size_t next;    /* index in code->starts: the first one after at */
    bool lost;      /* there were unknown bytes since the last known start */
};

/* Return the number of bytes from at to the next known start, or to the end. */
size_t decode_sync_room(struct decode_sync *sync);

/* Process size bytes as one instruction or, with text NULL, as unknown. Returns false
 * if take stopped. */
bool decode_sync_step(struct decode_sync *sync, size_t size, const char *text);

/* Process all remaining bytes as unknown. */
bool decode_sync_end(struct decode_sync *sync);

#endif
