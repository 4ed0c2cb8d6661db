/* SPDX-License-Identifier: MIT */
/*
 * ke/profint.h - the counting routine: what a profile interrupt does. docs/behaviour.md, Hits.
 *
 * Level: interrupt. It takes no lock, allocates nothing and calls nothing out.
 */
#ifndef KE_PROFINT_H
#define KE_PROFINT_H

#include "ke/bucket.h"
#include "ke/index.h"
#include "rtl/atomics.h"

/* KI_PROCESSOR_BOOKS - one processor's books, which it alone writes; the last are shared by all
 * processors above the range. */
typedef struct _KI_PROCESSOR_BOOKS {
    ULONG64 Taken;
    ULONG64 Counted;
    ULONG64 Outside;
    ULONG64 Padding[5]; /* a cache line each */
} KI_PROCESSOR_BOOKS;

typedef struct _KI_SOURCE {
    KPROFILE_SOURCE Source;
    ULONG Processors;
    KI_PROCESSOR_BOOKS Books[]; /* Processors, and one for all above */
} KI_SOURCE;

static inline ULONG
KiSourceHash(KPROFILE_SOURCE Source)
{
    return (Source ^ Source >> 7) & (KE_SOURCE_SLOTS - 1);
}

/* KiFindSource - NULL if nobody registered it. */
static inline KI_SOURCE *
KiFindSource(const KE_SYSTEM *Ke, KPROFILE_SOURCE Source)
{
    ULONG Slot = KiSourceHash(Source);

    for (ULONG Tries = 0; Tries < KE_SOURCE_SLOTS; Tries++) {
        KI_SOURCE *const Found = RtlReadPublished(&Ke->Sources[Slot]);

        if (Found == NULL || Found->Source == Source) {
            return Found;
        }
        Slot = (Slot + 1) & (KE_SOURCE_SLOTS - 1);
    }
    return NULL;
}

static inline ULONG
KiProcessHash(ULONG64 ProcessId)
{
    return (ULONG)ProcessId & (KE_PROCESS_BUCKETS - 1);
}

/* KiFindProcess - the process whose profiles the hits of ProcessId count in, or NULL. */
static inline KPROCESS *
KiFindProcess(const KE_SYSTEM *Ke, ULONG64 ProcessId)
{
    KPROCESS *Process = RtlReadPublished(&Ke->ProcessTable[KiProcessHash(ProcessId)]);

    while (Process != NULL && Process->ProcessId != ProcessId) {
        Process = RtlReadPublished(&Process->HashNext);
    }
    return Process;
}

/* KiRangeMatches - all but the place, which the search has found. */
static inline BOOLEAN
KiRangeMatches(const KI_RANGE *Range, const KE_HIT *Hit)
{
    ULONG64 Processors = Range->Processors;

    if (Hit->Processor >= 64) {
        const ULONG Word = Hit->Processor / 64;
        const KPROFILE *const Profile = Range->Profile;

        Processors = Word < Profile->AffinityWords ? Profile->Affinity[Word] : 0;
    }
    return KiHitMatches(Range->Source, Range->Segment, Processors, Hit->Source,
                        Hit->Selector, Hit->Processor);
}

/* KiCountInProcess - count a hit in each matching profile of one list; returns how many. */
static inline ULONG
KiCountInProcess(const KPROCESS *Process, const KE_HIT *Hit)
{
    const KI_INDEX *const Index = RtlReadPublished(&Process->Index);
    ULONG Matches = 0;

    if (Index == NULL) {
        return 0;
    }
    for (ULONG Next = KiRangesBelow(Index, Hit->Address); Next > 0; Next--) {
        const KI_RANGE *const Range = &Index->Ranges[Next - 1];

        if (Range->Reach < Hit->Address) {
            break;
        }
        if (Range->Last >= Hit->Address && KiRangeMatches(Range, Hit)) {
            RtlIncrementCounter(&Range->Buffer[KiBucketNumber(Hit->Address, Range->Base,
                                                              Range->BucketLog2)]);
            Matches++;
        }
    }
    return Matches;
}

/* KiKeepBooks - Taken = Counted + Outside, on the hit's own processor. */
static inline void
KiKeepBooks(const KE_SYSTEM *Ke, const KE_HIT *Hit, ULONG Matches)
{
    KI_SOURCE *const Source = KiFindSource(Ke, Hit->Source);
    KI_PROCESSOR_BOOKS *Books;

    if (Source == NULL) {
        return;
    }
    if (Hit->Processor < Source->Processors) {
        Books = &Source->Books[Hit->Processor];
        RtlAddOwned(&Books->Taken, 1);
        RtlAddOwned(Matches != 0 ? &Books->Counted : &Books->Outside, 1);
    } else {
        Books = &Source->Books[Source->Processors];
        RtlAddShared(&Books->Taken, 1);
        RtlAddShared(Matches != 0 ? &Books->Counted : &Books->Outside, 1);
    }
}

#endif
