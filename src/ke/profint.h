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

/* KiReportOverrun - a hit's counter would be behind those that the buffer has: halts. */
void KiReportOverrun(KE_SYSTEM *Ke, KPROFILE *Profile, ULONG64 Number);

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
KiRangeMatches(const KI_RANGE *Range, const KE_HIT *Hit, ULONG Segment)
{
    ULONG64 Processors = Range->Processors;

    if (Hit->Processor >= 64) {
        const ULONG Word = Hit->Processor / 64;
        const KPROFILE *const Profile = Range->Profile;

        Processors = Word < Profile->AffinityWords ? Profile->Affinity[Word] : 0;
    }
    return KiHitMatches(Range->Source, Range->Segment, Processors, Hit->Source, Segment,
                        Hit->Processor);
}

/*
 * KiCountAt - count a hit in each matching profile of one process that lies in one segment.
 *
 *   Segment  in: 0 for the address space
 *   Place    in: offset in the segment, or address
 *
 * Returns how many counters were incremented.
 */
static inline ULONG
KiCountAt(KE_SYSTEM *Ke, const KI_INDEX *Index, const KE_HIT *Hit, ULONG Segment,
          ULONG64 Place)
{
    ULONG Matches = 0;

    for (ULONG Next = KiRangesBelow(Index, Place); Next > 0; Next--) {
        const KI_RANGE *const Range = &Index->Ranges[Next - 1];
        ULONG64 Number;

        if (Range->Reach < Place) {
            break;
        }
        if (Range->Last < Place || !KiRangeMatches(Range, Hit, Segment)) {
            continue;
        }
        Number = KiBucketNumber(Place, Range->Base, Range->BucketLog2);
        if (Number < Range->Counters) {
            RtlIncrementCounter(&Range->Buffer[Number]);
            Matches++;
        } else {
            KiReportOverrun(Ke, Range->Profile, Number);
        }
    }
    return Matches;
}

/* KiCountInProcess - count a hit in each matching profile of one list; returns how many. */
static inline ULONG
KiCountInProcess(KE_SYSTEM *Ke, const KPROCESS *Process, const KE_HIT *Hit)
{
    const KI_INDEX *const Index = RtlReadPublished(&Process->Index);
    ULONG Matches = 0;

    if (Index == NULL) {
        return 0;
    }
    Matches = KiCountAt(Ke, Index, Hit, 0, Hit->Address);
    if (Hit->Selector != 0) {
        Matches += KiCountAt(Ke, Index, Hit, Hit->Selector, Hit->Offset);
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
