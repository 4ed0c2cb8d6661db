/* SPDX-License-Identifier: MIT */
/* ke/profint.c - the profile interrupt as the HAL calls it. */
#include "ke/profint.h"

void
KiNoteOverrun(KI_OVERRUN *Overrun, KPROFILE *Profile, ULONG64 Number)
{
    if (Overrun->Profile == NULL || Profile->Sequence < Overrun->Profile->Sequence) {
        *Overrun = (KI_OVERRUN){Profile, Number};
    }
}

ULONG
KiCountBelow(const KI_POOL *Pool, ULONG Root, const KE_HIT *Hit, ULONG Segment,
             ULONG64 Place, KI_OVERRUN *Overrun)
{
    ULONG Matches = 0;
    KI_SEARCH Search;
    ULONG Number;

    KiBeginSearch(&Search, Root, Place);
    while ((Number = KiNextNode(&Search)) != 0) {
        const KI_NODE *const Node = KiNodeAt(Pool, Number);
        const BOOLEAN Leaf = (Number & KI_LEAF) != 0;

        KiFetchNode(Node, Leaf);
        if (Leaf) {
            Matches += KiCountInLeaf(Pool, Node, Hit, Segment, Place, Overrun);
            KiLeaveLeaf(&Search);
        } else {
            KiEnterChild(&Search, Node);
        }
    }
    return Matches;
}

ULONG
KiCountInSegment(const KI_POOL *Pool, ULONG Root, const KE_HIT *Hit,
                 KI_OVERRUN *Overrun)
{
    if (Hit->Selector == 0 || Hit->Offset > KI_OFFSET_MAX) {
        return 0;
    }
    return KiCountAt(Pool, Root, Hit, Hit->Selector,
                     KiSegmentPlace(Hit->Selector, Hit->Offset), Overrun);
}

/* NT maps the pages that the buffer is on. So its write beyond the counters would
 * change the caller's memory unnoticed if it were on the last of these pages, and fault
 * on any other. The halt that is reported is the one of these two. The address in it is
 * the caller's, since the host's mapping means nothing to the caller. */
void
KiReportOverrun(KE_SYSTEM *Ke, const KI_OVERRUN *Overrun)
{
    KPROFILE *const Profile = Overrun->Profile;
    const MDL *const Mdl = KeProfileMdl(Profile);
    const ULONG64 PageMask = ~((ULONG64)Ke->Host.Table->PageSize - 1);
    const ULONG64 Start = Mdl->StartVa;
    const ULONG64 Last = Mdl->ByteCount != 0 ? Start + (Mdl->ByteCount - 1) : Start;
    const ULONG64 Counter = Start + Overrun->Number * KI_COUNTER_BYTES;
    const BOOLEAN Mapped =
        Mdl->ByteCount != 0 && (Counter & PageMask) <= (Last & PageMask);
    const KE_HALT Halt = {
        .Kind = Mapped ? KE_HALT_CORRUPTION : KE_HALT_BUG_CHECK,
        .Code = Mapped ? 0 : KE_IRQL_NOT_LESS_OR_EQUAL,
        .Parameters = {Counter, Ke->ProfileIrql, 1 /* a write */, Ke->BugCheckAddress},
    };

    KeHalt(Ke, &Halt);
}

/* Counts a hit in all matching profiles, without statistics. Returns how many counters
 * were incremented. */
static ULONG
KiCountHit(KE_SYSTEM *Ke, const KE_HIT *Hit)
{
    ULONG Matches = 0;

    if (RtlReadPublished(&Ke->HaltState) != 0) {
        return 0; /* the simulated NT has halted */
    }
    /* First the profiles of the process, then those of all processes, as NT does. */
    if ((Hit->Scope & KE_SCOPE_PROCESS) != 0) {
        const KPROCESS *const Process = KiFindProcess(Ke, Hit->ProcessId);

        if (Process != NULL) {
            Matches += KiCountInProcess(Ke, Process, Hit);
        }
    }
    if ((Hit->Scope & KE_SCOPE_GLOBAL) != 0) {
        Matches += KiCountInProcess(Ke, &Ke->Global, Hit);
    }
    return Matches;
}

ULONG
KeProfileInterruptWithSource(KE_SYSTEM *Ke, const KE_HIT *Hit)
{
    const ULONG Matches = KiCountHit(Ke, Hit);

    KiKeepStatistics(Ke, Hit, Matches);
    return Matches;
}
