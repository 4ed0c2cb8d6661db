/* SPDX-License-Identifier: MIT */
/*
 * ke/index.c - the trees of a process, and publishing them. Level: passive.
 *
 * Invariant between calls: a profile that is started, not detached, and can count is in
 * the tree of its kind of its process, and no other is in any tree.
 */
#include "ke/ki.h"
#include "rtl/assert.h"
#include "rtl/atomics.h"

/* Returns which tree of its process a profile is in. */
static ULONG
KiTreeOf(const KPROFILE *Profile)
{
    return Profile->Segment == 0 ? KI_TREE_ADDRESSES : KI_TREE_SEGMENTS;
}

/* Can any hit count in this profile? Not if its region is empty, unless the region's
 * end counts as inside. */
static BOOLEAN
KiCanCount(const KPROFILE *Profile)
{
    return Profile->RangeSize != 0 || Profile->LimitInside;
}

/* Returns the places of a profile's region. */
static KI_SPAN
KiSpanOf(const KPROFILE *Profile)
{
    const ULONG64 Base = KiSegmentPlace(Profile->Segment, Profile->RangeBase);

    return (KI_SPAN){Base, Base + Profile->RangeSize - (Profile->LimitInside ? 0 : 1)};
}

/* Fills the range of a profile. Its counters are found by their address, or by the
 * number that a HAL that counts by itself has for them. */
static NTSTATUS
KiFillRange(KE_SYSTEM *Ke, const KPROFILE *Profile, KI_RANGE *Range)
{
    const HAL_COUNTING *const Counting = Ke->Hal.Table->Counting;

    *Range = (KI_RANGE){
        .Processors = Profile->AffinityWords != 0 ? Profile->Affinity[0] : 0,
        .Source = Profile->Source,
        .Segment = Profile->Segment,
        .BucketLog2 = Profile->BucketLog2,
        .Counters = Profile->Counters,
    };
    if (Counting != NULL) {
        return Counting->LocateCounters(
            Ke->Hal.Context, Profile->Counters != 0 ? Profile->Buffer : NULL,
            Profile->AffinityWords, Profile->Affinity, &Range->BufferBits);
    }
    Range->Buffer = Profile->Buffer;
    return STATUS_SUCCESS;
}

/* Allocates all that an insertion needs, so that it cannot fail later. */
static NTSTATUS
KiPrepareInsertion(KE_SYSTEM *Ke, const KPROCESS *Process, const KPROFILE *Profile,
                   KI_RANGE *Range)
{
    const HAL_COUNTING *const Counting = Ke->Hal.Table->Counting;
    NTSTATUS Status = KiReserveNodes(Ke);

    if (NT_SUCCESS(Status)) {
        Status = KiFillRange(Ke, Profile, Range);
    }
    /* Last, because only publishing zero roots undoes it, and the process may have
     * roots. */
    if (NT_SUCCESS(Status) && Counting != NULL && Process->ProcessId != 0) {
        Status = Counting->PrepareProcess(Ke->Hal.Context, Process->ProcessId);
    }
    return Status;
}

/* Publishes the roots to a HAL that counts by itself; for others the core reads them
 * from the process. */
static void
KiPublishRoots(KE_SYSTEM *Ke, const KPROCESS *Process)
{
    const HAL_COUNTING *const Counting = Ke->Hal.Table->Counting;

    if (Counting != NULL) {
        Counting->PublishRoots(Ke->Hal.Context, Process->ProcessId, Process->Roots);
    }
}

NTSTATUS
KiInsertRange(KE_SYSTEM *Ke, KPROCESS *Process, KPROFILE *Profile)
{
    ULONG *const Root = &Process->Roots[KiTreeOf(Profile)];
    KI_RANGE Range;
    NTSTATUS Status;

    if (!KiCanCount(Profile)) {
        return STATUS_SUCCESS;
    }
    Status = KiPrepareInsertion(Ke, Process, Profile, &Range);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    /* No wait for hits that see the old tree is needed: its nodes are retired. */
    RtlPublish(Root,
               KiInsertIntoTree(&Ke->Pool, *Root, KiSpanOf(Profile), &Range, Profile));
    KiPublishRoots(Ke, Process);
    RTL_ASSERT(Ke->Pool.Free >= KI_UPDATE_NODES);
    return STATUS_SUCCESS;
}

void
KiRemoveRange(KE_SYSTEM *Ke, KPROCESS *Process, const KPROFILE *Profile)
{
    ULONG *const Root = &Process->Roots[KiTreeOf(Profile)];

    if (!KiCanCount(Profile)) {
        return;
    }
    RtlPublish(Root, KiRemoveFromTree(&Ke->Pool, *Root, KiSpanOf(Profile).Base,
                                      Profile->Sequence));
    KiPublishRoots(Ke, Process);
    /* Waits until no hit sees the profile any more. */
    KiRecycleNodes(Ke);
    RTL_ASSERT(Ke->Pool.Used == 0 || Ke->Pool.Free >= KI_UPDATE_NODES);
}

void
KiRemoveAllRanges(KE_SYSTEM *Ke, KPROCESS *Process)
{
    ULONG Roots[KI_TREES];

    for (ULONG Tree = 0; Tree < KI_TREES; Tree++) {
        Roots[Tree] = Process->Roots[Tree];
        RtlPublish(&Process->Roots[Tree], 0);
    }
    if (Roots[KI_TREE_ADDRESSES] == 0 && Roots[KI_TREE_SEGMENTS] == 0) {
        return;
    }
    KiPublishRoots(Ke, Process);
    KiWaitForHits(Ke);
    for (ULONG Tree = 0; Tree < KI_TREES; Tree++) {
        KiFreeTree(&Ke->Pool, Roots[Tree]);
    }
}

void
KiFinishIndex(KE_SYSTEM *Ke, KPROCESS *Process)
{
    KiRemoveAllRanges(Ke, Process);
    if (Ke->Pool.Used == 0) {
        KiFinishPool(Ke);
    }
}
