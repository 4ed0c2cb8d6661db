/* SPDX-License-Identifier: MIT */
/*
 * ke/index.c - the trees of a process, and publishing them. Level: passive.
 *
 * Invariant between calls: a profile that is started, not detached, and can count is in the tree of
 * its kind of its process, and no other is in any tree.
 */
#include "ke/ki.h"
#include "rtl/atomics.h"

static ULONG
KiTreeOf(const KPROFILE *Profile)
{
    return Profile->Segment == 0 ? KI_TREE_ADDRESSES : KI_TREE_SEGMENTS;
}

static BOOLEAN
KiCanCount(const KPROFILE *Profile)
{
    return Profile->RangeSize != 0 || Profile->LimitInside;
}

static KI_SPAN
KiSpanOf(const KPROFILE *Profile)
{
    const ULONG64 Base = KiSegmentPlace(Profile->Segment, Profile->RangeBase);

    return (KI_SPAN){Base, Base + Profile->RangeSize - (Profile->LimitInside ? 0 : 1)};
}

NTSTATUS
KiInsertRange(KE_SYSTEM *Ke, KPROCESS *Process, KPROFILE *Profile)
{
    ULONG *const Root = &Process->Roots[KiTreeOf(Profile)];
    const KI_RANGE Range = {
        .Buffer = Profile->Buffer,
        .Processors = Profile->AffinityWords != 0 ? Profile->Affinity[0] : 0,
        .Source = Profile->Source,
        .Segment = Profile->Segment,
        .BucketLog2 = Profile->BucketLog2,
        .Counters = Profile->Counters,
    };
    NTSTATUS Status;

    if (!KiCanCount(Profile)) {
        return STATUS_SUCCESS;
    }
    Status = KiReserveNodes(Ke);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Ke->Pool.Sequence++;
    Profile->Sequence = Ke->Pool.Sequence;
    /* Nothing has to wait for hits that see the old tree: its nodes are retired. */
    RtlPublish(Root,
               KiInsertIntoTree(&Ke->Pool, *Root, KiSpanOf(Profile), &Range, Profile));
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
    /* Waits until no hit sees the profile any more. */
    KiRecycleNodes(Ke);
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
    Ke->Hal.Table->Synchronize(Ke->Hal.Context);
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
