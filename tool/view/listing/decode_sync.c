/* SPDX-License-Identifier: MIT */
/* decode_sync.c - the common part of both decoders. */
#include "view/listing/decode_sync.h"

/* Longer runs of unknown bytes are reported in several pieces. */
enum { UNKNOWN_BYTES_MAX = 16 };

size_t
decode_sync_room(struct decode_sync *sync)
{
    const struct decode_code *code = sync->code;
    const uint64_t here = code->address + sync->at;

    while (sync->next < code->start_count && code->starts[sync->next] <= here) {
        sync->lost &= code->starts[sync->next] != here;
        sync->next++;
    }
    return sync->next < code->start_count &&
                   code->starts[sync->next] - here < code->size - sync->at
               ? (size_t)(code->starts[sync->next] - here)
               : code->size - sync->at;
}

/* Report the unknown bytes so far as one piece. Returns false if take did. */
static bool
report_unknown(struct decode_sync *sync)
{
    struct decoded decoded = {.text = NULL};

    if (sync->unknown == 0) {
        return true;
    }
    decoded.address = sync->code->address + sync->at - sync->unknown;
    decoded.size = (uint32_t)sync->unknown;
    sync->unknown = 0;
    return sync->take(sync->context, &decoded);
}

/* Pass bytes that are no instruction, and report full pieces of them. Returns false if
 * take did. */
static bool
step_unknown(struct decode_sync *sync, size_t size)
{
    bool go_on = true;

    for (; size > 0 && go_on; size--) {
        /* A piece of unknown bytes ends at a known start. */
        if (sync->unknown == UNKNOWN_BYTES_MAX ||
            (sync->unknown > 0 && sync->next > 0 &&
             sync->code->starts[sync->next - 1] == sync->code->address + sync->at)) {
            go_on = report_unknown(sync);
        }
        sync->lost = true;
        sync->at++;
        sync->unknown++;
        (void)decode_sync_room(sync);
    }
    return go_on;
}

bool
decode_sync_step(struct decode_sync *sync, size_t size, const char *text)
{
    const size_t room = decode_sync_room(sync);
    struct decoded decoded = {
        .address = sync->code->address + sync->at,
        .size = (uint32_t)size,
        .text = text,
        .uncertain = sync->lost,
    };

    if (size > sync->code->size - sync->at) {
        size = sync->code->size - sync->at;
        text = NULL;
    }
    /* After unknown bytes, an instruction that extends beyond a known start is not
     * real. */
    if (text == NULL || (sync->lost && size > room)) {
        return step_unknown(sync, text == NULL ? size : room);
    }
    if (!report_unknown(sync)) {
        return false;
    }
    sync->at += size;
    return sync->take(sync->context, &decoded);
}

bool
decode_sync_end(struct decode_sync *sync)
{
    return step_unknown(sync, sync->code->size - sync->at) && report_unknown(sync);
}
