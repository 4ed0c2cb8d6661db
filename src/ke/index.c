/* SPDX-License-Identifier: MIT */
/*
 * ke/index.c - building and publishing the index of a process. Level: passive.
 *
 * Invariant between calls: Index and Spare are both NULL, or both have the same capacity, at least
 * Index->Count; no hit reads Spare.
 */
#include "ke/ki.h"
#include "rtl/atomics.h"
#include "rtl/memory.h"

enum { KI_INDEX_FIRST_CAPACITY = 8 };

static SIZE_T
KiIndexBytes(ULONG Capacity)
{
    return sizeof(KI_INDEX) + (SIZE_T)Capacity * sizeof(KI_RANGE);
}

static void
KiFreeIndex(KE_SYSTEM *Ke, KI_INDEX *Index)
{
    if (Index != NULL) {
        HostFree(&Ke->Host, Index, KiIndexBytes(Index->Capacity));
    }
}

static KI_INDEX *
KiAllocateIndex(KE_SYSTEM *Ke, ULONG Capacity)
{
    KI_INDEX *const Index = HostAllocate(&Ke->Host, KiIndexBytes(Capacity));

    if (Index != NULL) {
        Index->Capacity = Capacity;
    }
    return Index;
}

/* Makes the spare what hits see, and the index that they saw the spare. */
static void
KiPublishSpare(KE_SYSTEM *Ke, KPROCESS *Process)
{
    KI_INDEX *const Old = Process->Index;

    RtlPublish(&Process->Index, Process->Spare);
    Ke->Hal.Table->Synchronize(Ke->Hal.Context);
    Process->Spare = Old;
}

/* Recomputes Reach from First to the end. */
static void
KiSetReach(KI_INDEX *Index, ULONG First)
{
    ULONG64 Reach = First > 0 ? Index->Ranges[First - 1].Reach : 0;

    for (ULONG i = First; i < Index->Count; i++) {
        if (Index->Ranges[i].Last > Reach) {
            Reach = Index->Ranges[i].Last;
        }
        Index->Ranges[i].Reach = Reach;
    }
}

static void
KiCopyRanges(KI_INDEX *To, ULONG At, const KI_INDEX *From, ULONG First, ULONG Count)
{
    RtlCopyMemory(&To->Ranges[At], &From->Ranges[First], Count * sizeof(KI_RANGE));
}

/* Both indexes at least Capacity large, with what the published one holds. */
static NTSTATUS
KiGrowIndex(KE_SYSTEM *Ke, KPROCESS *Process, ULONG Capacity)
{
    KI_INDEX *const Index = KiAllocateIndex(Ke, Capacity);
    KI_INDEX *const Spare = KiAllocateIndex(Ke, Capacity);
    KI_INDEX *const Old = Process->Index;

    if (Index == NULL || Spare == NULL) {
        KiFreeIndex(Ke, Index);
        KiFreeIndex(Ke, Spare);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    if (Old != NULL) {
        Index->Count = Old->Count;
        KiCopyRanges(Index, 0, Old, 0, Old->Count);
    }
    KiFreeIndex(Ke, Process->Spare);
    Process->Spare = Spare;
    RtlPublish(&Process->Index, Index);
    Ke->Hal.Table->Synchronize(Ke->Hal.Context);
    KiFreeIndex(Ke, Old);
    return STATUS_SUCCESS;
}

NTSTATUS
KiInsertRange(KE_SYSTEM *Ke, KPROCESS *Process, KPROFILE *Profile)
{
    KI_RANGE *Range;
    const KI_INDEX *Index = Process->Index;
    KI_INDEX *Spare;
    ULONG At;

    if (Profile->RangeSize == 0 && !Profile->LimitInside) {
        return STATUS_SUCCESS; /* never counts */
    }
    if (Index == NULL || Index->Count == Index->Capacity) {
        const ULONG Capacity =
            Index == NULL ? KI_INDEX_FIRST_CAPACITY : Index->Capacity * 2;
        const NTSTATUS Status = KiGrowIndex(Ke, Process, Capacity);

        if (!NT_SUCCESS(Status)) {
            return Status;
        }
        Index = Process->Index;
    }

    Spare = Process->Spare;
    At = KiRangesBelow(Index, Profile->RangeBase);
    Spare->Count = Index->Count + 1;
    KiCopyRanges(Spare, 0, Index, 0, At);
    KiCopyRanges(Spare, At + 1, Index, At, Index->Count - At);
    Range = &Spare->Ranges[At];
    Range->Base = Profile->RangeBase;
    Range->Last =
        Profile->RangeBase + Profile->RangeSize - (Profile->LimitInside ? 0 : 1);
    Range->Processors = Profile->AffinityWords != 0 ? Profile->Affinity[0] : 0;
    Range->Buffer = Profile->Buffer;
    Range->Profile = Profile;
    Range->Source = Profile->Source;
    Range->Segment = Profile->Segment;
    Range->BucketLog2 = Profile->BucketLog2;
    Range->Counters = Profile->Counters;
    KiSetReach(Spare, At);
    KiPublishSpare(Ke, Process);
    return STATUS_SUCCESS;
}

/* Place of Profile's range, or Count if it has none. */
static ULONG
KiFindRange(const KI_INDEX *Index, const KPROFILE *Profile)
{
    ULONG At = KiRangesBelow(Index, Profile->RangeBase);

    while (At > 0 && Index->Ranges[At - 1].Base == Profile->RangeBase) {
        At--;
        if (Index->Ranges[At].Profile == Profile) {
            return At;
        }
    }
    return Index->Count;
}

void
KiRemoveRange(KE_SYSTEM *Ke, KPROCESS *Process, const KPROFILE *Profile)
{
    const KI_INDEX *const Index = Process->Index;
    KI_INDEX *const Spare = Process->Spare;
    ULONG At;

    if (Index == NULL) {
        return;
    }
    At = KiFindRange(Index, Profile);
    if (At == Index->Count) {
        return;
    }
    Spare->Count = Index->Count - 1;
    KiCopyRanges(Spare, 0, Index, 0, At);
    KiCopyRanges(Spare, At, Index, At + 1, Index->Count - At - 1);
    KiSetReach(Spare, At);
    KiPublishSpare(Ke, Process);
}

void
KiRemoveAllRanges(KE_SYSTEM *Ke, KPROCESS *Process)
{
    if (Process->Index != NULL && Process->Index->Count != 0) {
        Process->Spare->Count = 0;
        KiPublishSpare(Ke, Process);
    }
}

void
KiFinishIndex(KE_SYSTEM *Ke, KPROCESS *Process)
{
    KI_INDEX *const Index = Process->Index;

    if (Index == NULL) {
        return;
    }
    RtlPublish(&Process->Index, NULL);
    Ke->Hal.Table->Synchronize(Ke->Hal.Context);
    KiFreeIndex(Ke, Index);
    KiFreeIndex(Ke, Process->Spare);
    Process->Spare = NULL;
}
