/* SPDX-License-Identifier: MIT */
/* decode_sync.h - tracks whether a decoder is where instructions start, by known starts
 * (decode.h). Only decode_*.c include it. */
#ifndef VIEW_LISTING_DECODE_SYNC_H
#define VIEW_LISTING_DECODE_SYNC_H

#include "view/listing/decode.h"

/* decode_sync - a walk through the bytes of a code, in order. */
struct decode_sync {
    const struct decode_code *code;
    decode_take *take;
    void *context;
    size_t at;      /* bytes processed so far */
    size_t unknown; /* of those, unknown bytes at the end that were not reported yet */
    size_t next;    /* index in code->starts: the first one after at */
    bool lost;      /* there were unknown bytes since the last known start */
};

/* decode_sync_room - return the number of bytes from at to the next known start, or to
 * the end of the code. Sets next, and clears lost if at is a known start. */
size_t decode_sync_room(struct decode_sync *sync);

/* decode_sync_step - process size bytes as one instruction or, with text NULL, as
 * unknown. Returns false if take did. */
bool decode_sync_step(struct decode_sync *sync, size_t size, const char *text);

/* decode_sync_end - process all remaining bytes as unknown. Returns false if take
 * did. */
bool decode_sync_end(struct decode_sync *sync);

#endif
