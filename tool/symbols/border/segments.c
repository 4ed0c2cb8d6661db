/* SPDX-License-Identifier: MIT */
/* segments.c - finds the address of an offset in a file. */
#include "symbols/border/segments.h"

/* Whether a segment has a byte of [offset, offset + size) of the file. */
static bool
overlaps(const struct sym_segment *segment, uint64_t offset, uint64_t size)
{
    return offset < segment->offset ? segment->offset - offset < size
                                    : offset - segment->offset < segment->bytes;
}

/* Return the first segment that has a byte of that range, or NULL; code: only segments
 * with code are considered. */
static const struct sym_segment *
find_segment(const struct sym_segment *segments, size_t count, uint64_t offset,
             uint64_t size, bool code)
{
    for (size_t i = 0; i < count; i++) {
        if ((segments[i].holds_code || !code) && overlaps(&segments[i], offset, size)) {
            return &segments[i];
        }
    }
    return NULL;
}

const struct sym_segment *
sym_segments_find(const struct sym_segment *segments, size_t count, uint64_t offset,
                  uint64_t size)
{
    /* Two segments may map the same page of the file; prefer one that is executable. */
    const struct sym_segment *const segment =
        find_segment(segments, count, offset, size, /* code */ true);

    return segment != NULL ? segment
                           : find_segment(segments, count, offset, 1, /* code */ false);
}

bool
sym_segments_address(const struct sym_segment *segments, size_t count, uint64_t offset,
                     uint64_t size, uint64_t *address)
{
    const struct sym_segment *const segment =
        sym_segments_find(segments, count, offset, size);

    if (segment == NULL) {
        return false;
    }
    *address = segment->address + (offset - segment->offset);
    return true;
}
