/* SPDX-License-Identifier: MIT */
/*
 * ke/profint.h - the counting routine: what a profile interrupt does.
 * docs/behaviour.md, Hits.
 *
 * Level: interrupt. It takes no lock, allocates nothing and calls no other layer.
 */
#ifndef KE_PROFINT_H
#define KE_PROFINT_H

#include "ke/bucket.h"
#include "ke/ke.h"
#include "rtl/atomics.h"

/* KI_PROCESSOR_STATISTICS - one processor's statistics, which only that processor
 * writes; all processors above the range share the last element. */
typedef struct _KI_PROCESSOR_STATISTICS {
    ULONG64 Taken;
    ULONG64 Counted;
    ULONG64 Outside;
    ULONG64 Padding[5]; /* one cache line for each */
} KI_PROCESSOR_STATISTICS;

/* KI_SOURCE - the statistics of a registered source. */
typedef struct _KI_SOURCE {
    KPROFILE_SOURCE Source;
    ULONG Processors;
    ULONG64 Unwritten;                    /* only passive calls write it */
    KI_PROCESSOR_STATISTICS Statistics[]; /* by processor; the last: all above */
} KI_SOURCE;

/*
 * KI_OVERRUN - the profile in which a hit would have been counted outside the counters,
 * if any; of several the one that was started first.
 */
typedef struct _KI_OVERRUN {
    KPROFILE *Profile; /* NULL: nowhere */
    ULONG64 Number;    /* of the counter, beyond the buffer */
} KI_OVERRUN;

/* KiNoteOverrun - note that a hit's counter in this profile is beyond the buffer. */
void KiNoteOverrun(KI_OVERRUN *Overrun, KPROFILE *Profile, ULONG64 Number);

/* KiReportOverrun - halt the core because of the write behind a buffer that NT would
 * have made. */
void KiReportOverrun(KE_SYSTEM *Ke, const KI_OVERRUN *Overrun);

/* KiSourceHash - return the slot of KE_SYSTEM.Sources at which a search begins. */
static inline ULONG
KiSourceHash(KPROFILE_SOURCE Source)
{
    return (Source ^ Source >> 7) & (KE_SOURCE_SLOTS - 1);
}

/* KiFindSource - return the statistics of a source; NULL if it is not registered. */
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

/* KiProcessHash - return the chain of KE_SYSTEM.ProcessTable that a process is in. */
static inline ULONG
KiProcessHash(ULONG64 ProcessId)
{
    return (ULONG)ProcessId & (KE_PROCESS_BUCKETS - 1);
}

/* KiFindProcess - return the process whose profiles the hits of ProcessId count in, or
 * NULL. */
static inline KPROCESS *
KiFindProcess(const KE_SYSTEM *Ke, ULONG64 ProcessId)
{
    KPROCESS *Process = RtlReadPublished(&Ke->ProcessTable[KiProcessHash(ProcessId)]);

    while (Process != NULL && Process->ProcessId != ProcessId) {
        Process = RtlReadPublished(&Process->HashNext);
    }
    return Process;
}

/* KiRangeMatches - does the hit match a range in all but the place, which the search
 * has found? */
static inline BOOLEAN
KiRangeMatches(const KI_NODE *Leaf, ULONG At, const KE_HIT *Hit, ULONG Segment)
{
    const KI_RANGE *const Range = &Leaf->Ranges[At];
    ULONG64 Processors = Range->Processors;

    if (Hit->Processor >= 64) {
        const ULONG Word = Hit->Processor / 64;
        const KPROFILE *const Profile = Leaf->Profiles[At];

        Processors = Word < Profile->AffinityWords ? Profile->Affinity[Word] : 0;
    }
    return KiHitMatches(Range->Source, Range->Segment, Processors, Hit->Source, Segment,
                        Hit->Processor);
}

/* KiCountInLeaf - count a hit in each matching profile of one leaf of the pool. Returns
 * how many counters were incremented. */
static inline ULONG
KiCountInLeaf(const KI_POOL *Pool, const KI_NODE *Leaf, const KE_HIT *Hit,
              ULONG Segment, ULONG64 Place, KI_OVERRUN *Overrun)
{
    ULONG Matches = 0;

    for (ULONG At = KiFindSpan(Leaf, Place, 0); At < KI_FANOUT;
         At = KiFindSpan(Leaf, Place, At + 1)) {
        const KI_RANGE *const Range = &Leaf->Ranges[At];
        ULONG64 Number;

        if (!KiRangeMatches(Leaf, At, Hit, Segment)) {
            continue;
        }
        Number = KiBucketNumber(Place, Leaf->Spans[At].Base, Range->BucketLog2);
        if (Number < Range->Counters) {
            ULONG *const Buffer =
                Pool->Located ? Leaf->Profiles[At]->Buffer : Range->Buffer;

            RtlIncrementCounter(&Buffer[Number]);
            Matches++;
        } else {
            KiNoteOverrun(Overrun, Leaf->Profiles[At], Number);
        }
    }
    return Matches;
}

/* KiCountBelow - do the same in all leaves below an inner node, Root. */
ULONG KiCountBelow(const KI_POOL *Pool, ULONG Root, const KE_HIT *Hit, ULONG Segment,
                   ULONG64 Place, KI_OVERRUN *Overrun);

/*
 * KiCountAt - count a hit in each matching profile of one tree.
 *
 *   Root     in: of the tree; 0: it is empty
 *   Segment  in: code selector of the hit; 0 for the tree of addresses
 *   Place    in: address, or KiSegmentPlace
 *   Overrun  in, out: is set if the hit is beyond the counters of a profile
 *
 * Returns how many counters were incremented.
 */
static inline ULONG
KiCountAt(const KI_POOL *Pool, ULONG Root, const KE_HIT *Hit, ULONG Segment,
          ULONG64 Place, KI_OVERRUN *Overrun)
{
    /* Most processes have so few profiles that the root is a leaf. */
    if ((Root & KI_LEAF) != 0) {
        return KiCountInLeaf(Pool, KiNodeAt(Pool, Root), Hit, Segment, Place, Overrun);
    }
    return Root != 0 ? KiCountBelow(Pool, Root, Hit, Segment, Place, Overrun) : 0;
}

/* KiCountInSegment - count a hit in each matching profile of its segment. Returns how
 * many counters were incremented; 0 if the hit has no selector. */
ULONG KiCountInSegment(const KI_POOL *Pool, ULONG Root, const KE_HIT *Hit,
                       KI_OVERRUN *Overrun);

/* KiCountInProcess - count a hit in each matching profile of one process, or of
 * KE_SYSTEM.Global. Returns how many counters were incremented. */
static inline ULONG
KiCountInProcess(KE_SYSTEM *Ke, const KPROCESS *Process, const KE_HIT *Hit)
{
    const ULONG Segments = RtlReadPublished(&Process->Roots[KI_TREE_SEGMENTS]);
    KI_OVERRUN Overrun = {NULL, 0};
    ULONG Matches =
        KiCountAt(&Ke->Pool, RtlReadPublished(&Process->Roots[KI_TREE_ADDRESSES]), Hit,
                  0, Hit->Address, &Overrun);

    if (Segments != 0) {
        Matches += KiCountInSegment(&Ke->Pool, Segments, Hit, &Overrun);
    }
    if (Overrun.Profile != NULL) {
        KiReportOverrun(Ke, &Overrun);
    }
    return Matches;
}

/* KiKeepStatistics - add a hit, which counted in Matches profiles, to the statistics of
 * its source on its processor: to Taken, and to Counted or Outside. */
static inline void
KiKeepStatistics(const KE_SYSTEM *Ke, const KE_HIT *Hit, ULONG Matches)
{
    KI_SOURCE *const Source = KiFindSource(Ke, Hit->Source);
    KI_PROCESSOR_STATISTICS *Statistics;

    if (Source == NULL) {
        return;
    }
    if (Hit->Processor < Source->Processors) {
        Statistics = &Source->Statistics[Hit->Processor];
        RtlAddOwned(&Statistics->Taken, 1);
        RtlAddOwned(Matches != 0 ? &Statistics->Counted : &Statistics->Outside, 1);
    } else {
        Statistics = &Source->Statistics[Source->Processors];
        RtlAddShared(&Statistics->Taken, 1);
        RtlAddShared(Matches != 0 ? &Statistics->Counted : &Statistics->Outside, 1);
    }
}

#endif
