/* SPDX-License-Identifier: MIT */
/* ke/system.c - one instance of ke, the statistics of its sources, and its halt. Level:
 * passive, except for KeHalt and KeQueryHalt. */
#include "ke/ki.h"
#include "ke/profint.h"

static const SIZE_T KiTableBytes = KE_PROCESS_BUCKETS * sizeof(KPROCESS *);

/* Returns how many processors have statistics of their own: all of each group. */
static ULONG
KiCountProcessors(const HOST *Host)
{
    return (ULONG)Host->Table->GroupCount(Host->Context) * 64;
}

NTSTATUS
KeInitializeSystem(KE_SYSTEM *Ke, const HOST *Host, const HAL *Hal, ULONG ProfileIrql)
{
    *Ke = (KE_SYSTEM){.Host = *Host, .Hal = *Hal, .ProfileIrql = ProfileIrql};
    Ke->Processors = KiCountProcessors(Host);
    Ke->Pool.Located = Hal->Table->Counting != NULL;
    KeInitializeProcess(&Ke->Global, 0);
    Ke->ProcessTable = HostAllocate(Host, KiTableBytes);
    return Ke->ProcessTable != NULL ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

static SIZE_T
KiSourceBytes(ULONG Processors)
{
    return sizeof(KI_SOURCE) +
           ((SIZE_T)Processors + 1) * sizeof(KI_PROCESSOR_STATISTICS);
}

void
KiFinishSources(KE_SYSTEM *Ke)
{
    for (ULONG Slot = 0; Slot < KE_SOURCE_SLOTS; Slot++) {
        if (Ke->Sources[Slot] != NULL) {
            HostFree(&Ke->Host, Ke->Sources[Slot],
                     KiSourceBytes(Ke->Sources[Slot]->Processors));
            Ke->Sources[Slot] = NULL;
        }
    }
}

void
KeFinishSystem(KE_SYSTEM *Ke)
{
    KeFinishProcess(Ke, &Ke->Global);
    KiFinishPool(Ke);
    KiFinishSources(Ke);
    HostFree(&Ke->Host, Ke->ProcessTable, KiTableBytes);
    Ke->ProcessTable = NULL;
}

void
KiWaitForHits(KE_SYSTEM *Ke)
{
    /* A hit for which Synchronize does not wait must see what was published last.
     * Without the barrier this processor could read that another one is outside of the
     * counting routine while its own store of a new root is still on its way; the other
     * one could then begin a hit with the old root. Pairs with the barrier that hal.h
     * asks for behind the marks of processors. */
    RtlFullBarrier();
    Ke->Hal.Table->Synchronize(Ke->Hal.Context);
}

NTSTATUS
KeRegisterSource(KE_SYSTEM *Ke, KPROFILE_SOURCE Source)
{
    ULONG Slot = KiSourceHash(Source);
    KI_SOURCE *New;

    if (KiFindSource(Ke, Source) != NULL) {
        return STATUS_SUCCESS;
    }
    for (ULONG Tries = 0; Ke->Sources[Slot] != NULL; Tries++) {
        if (Tries == KE_SOURCE_SLOTS - 1) {
            return STATUS_INSUFFICIENT_RESOURCES;
        }
        Slot = (Slot + 1) & (KE_SOURCE_SLOTS - 1);
    }
    New = HostAllocate(&Ke->Host, KiSourceBytes(Ke->Processors));
    if (New == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    New->Source = Source;
    New->Processors = Ke->Processors;
    RtlPublish(&Ke->Sources[Slot], New);
    return STATUS_SUCCESS;
}

void
KeNoteUnwritten(KE_SYSTEM *Ke, KPROFILE_SOURCE Source, ULONG64 Counts)
{
    KI_SOURCE *const Found = KiFindSource(Ke, Source);

    if (Found != NULL) {
        Found->Unwritten += Counts;
    }
}

void
KeQueryStatistics(const KE_SYSTEM *Ke, KPROFILE_SOURCE Source,
                  KE_STATISTICS *Statistics)
{
    const KI_SOURCE *const Found = KiFindSource(Ke, Source);
    const HAL_COUNTING *const Counting = Ke->Hal.Table->Counting;

    *Statistics = (KE_STATISTICS){.Unwritten = Found != NULL ? Found->Unwritten : 0};
    if (Counting != NULL) {
        Counting->QueryHits(Ke->Hal.Context, Source, &Statistics->Counted,
                            &Statistics->Outside);
        Statistics->Taken = Statistics->Counted + Statistics->Outside;
    }
    for (ULONG i = 0; Found != NULL && i <= Found->Processors; i++) {
        Statistics->Taken += RtlReadNumber(&Found->Statistics[i].Taken);
        Statistics->Counted += RtlReadNumber(&Found->Statistics[i].Counted);
        Statistics->Outside += RtlReadNumber(&Found->Statistics[i].Outside);
    }
}

enum { KI_HALT_NONE, KI_HALT_WRITING, KI_HALT_DONE };

void
KeHalt(KE_SYSTEM *Ke, const KE_HALT *Halt)
{
    if (RtlExchangeIfZero(&Ke->HaltState, KI_HALT_WRITING)) {
        Ke->Halt = *Halt;
        RtlPublish(&Ke->HaltState, KI_HALT_DONE);
    }
}

BOOLEAN
KeQueryHalt(const KE_SYSTEM *Ke, KE_HALT *Halt)
{
    if (RtlReadPublished(&Ke->HaltState) != KI_HALT_DONE) {
        return FALSE;
    }
    if (Halt != NULL) {
        *Halt = Ke->Halt;
    }
    return TRUE;
}
