/* SPDX-License-Identifier: MIT */
/*
 * ke/index.h - which started profiles of one process an address lies in.
 *
 * Ranges sorted by base; Reach is the greatest Last of a range and all before it. A search finds
 * the last range that begins at or below the address and walks back while Reach says that a
 * match may still come: log2 of the ranges, plus all from the first range that reaches the address
 * on. So one range over everything makes each hit look at all that begin below it.
 *
 * An index is never changed while a hit can see it. A process has two of the same capacity: the
 * spare is filled, published, and becomes the other's spare once no hit reads it any more.
 */
#ifndef KE_INDEX_H
#define KE_INDEX_H

#include "ke/ke.h"

/* KI_RANGE - a started profile's range, with all that most hits need to know of the profile: the
 * profile itself would be one more load to wait for. */
typedef struct _KI_RANGE {
    ULONG64 Base;
    ULONG64 Last;       /* last byte: an end could wrap at the top of memory */
    ULONG64 Reach;      /* max of Last of this range and all before */
    ULONG64 Processors; /* the first 64 of the affinity */
    ULONG *Buffer;
    KPROFILE *Profile;
    KPROFILE_SOURCE Source;
    ULONG Segment;
    ULONG BucketLog2;
    ULONG Counters; /* whole ones that the buffer has */
} KI_RANGE;

typedef struct _KI_INDEX {
    ULONG Count;
    ULONG Capacity;
    KI_RANGE Ranges[];
} KI_INDEX;

/* KiRangesBelow - how many ranges begin at or below Address. Level: interrupt. */
static inline ULONG
KiRangesBelow(const KI_INDEX *Index, ULONG64 Address)
{
    const KI_RANGE *Ranges = Index->Ranges;
    ULONG Low = 0;
    ULONG Length = Index->Count;

    while (Length > 0) {
        const ULONG Half = Length / 2;

        if (Ranges[Low + Half].Base <= Address) {
            Low += Half + 1;
            Length -= Half + 1;
        } else {
            Length = Half;
        }
    }
    return Low;
}

#endif
