/* SPDX-License-Identifier: MIT */
/*
 * ke/interrupt.c - which interrupts the started profiles need: counted by process,
 * source and processor, so that stopping one profile never stops the interrupts of
 * another. Level: passive.
 */
#include "ke/bucket.h"
#include "ke/ki.h"

static SIZE_T
KiInterruptBytes(ULONG Processors)
{
    return sizeof(KI_INTERRUPT) + (SIZE_T)Processors * sizeof(ULONG);
}

/* Returns the record of a source for a process, or NULL. */
static KI_INTERRUPT *
KiFindInterrupt(const KPROCESS *Process, KPROFILE_SOURCE Source)
{
    for (LIST_ENTRY *Entry = Process->InterruptListHead.Flink;
         Entry != &Process->InterruptListHead; Entry = Entry->Flink) {
        KI_INTERRUPT *const Interrupt = CONTAINING_RECORD(Entry, KI_INTERRUPT, Entry);

        if (Interrupt->Source == Source) {
            return Interrupt;
        }
    }
    return NULL;
}

/* Returns the record of a source, large enough for Processors, which is made or
 * replaced if necessary. NULL if memory runs out. */
static KI_INTERRUPT *
KiReserveInterrupt(KE_SYSTEM *Ke, KPROCESS *Process, KPROFILE_SOURCE Source,
                   ULONG Processors)
{
    KI_INTERRUPT *const Old = KiFindInterrupt(Process, Source);
    KI_INTERRUPT *Interrupt;

    if (Old != NULL && Old->Processors >= Processors) {
        return Old;
    }
    Interrupt = HostAllocate(&Ke->Host, KiInterruptBytes(Processors));
    if (Interrupt == NULL) {
        return NULL;
    }
    Interrupt->Source = Source;
    Interrupt->Processors = Processors;
    if (Old != NULL) {
        for (ULONG i = 0; i < Old->Processors; i++) {
            Interrupt->Counts[i] = Old->Counts[i];
        }
        RemoveEntryList(&Old->Entry);
        HostFree(&Ke->Host, Old, KiInterruptBytes(Old->Processors));
    }
    InsertTailList(&Process->InterruptListHead, &Interrupt->Entry);
    return Interrupt;
}

/* Counts one profile less that needs the interrupt on a processor; after the last the
 * HAL stops it. */
static void
KiReleaseProcessor(KE_SYSTEM *Ke, KPROCESS *Process, KI_INTERRUPT *Interrupt,
                   ULONG Processor)
{
    Interrupt->Counts[Processor]--;
    if (Interrupt->Counts[Processor] == 0) {
        Ke->Hal.Table->StopProfileInterrupt(Ke->Hal.Context, Interrupt->Source,
                                            Processor, Process->ProcessId);
    }
}

/* Counts one more profile that needs the interrupt on a processor; the first has the
 * HAL start it. */
static NTSTATUS
KiAcquireProcessor(KE_SYSTEM *Ke, KPROCESS *Process, KI_INTERRUPT *Interrupt,
                   ULONG Processor)
{
    if (Interrupt->Counts[Processor] == 0) {
        const NTSTATUS Status = Ke->Hal.Table->StartProfileInterrupt(
            Ke->Hal.Context, Interrupt->Source, Processor, Process->ProcessId);

        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
    Interrupt->Counts[Processor]++;
    return STATUS_SUCCESS;
}

/* Releases the profile's processors below End. */
static void
KiReleaseProcessors(KE_SYSTEM *Ke, const KPROFILE *Profile, ULONG End)
{
    KI_INTERRUPT *const Interrupt = KiFindInterrupt(Profile->Process, Profile->Source);

    for (ULONG Processor = 0; Processor < End; Processor++) {
        if (KiProcessorInSet(Processor, Profile->Affinity, Profile->AffinityWords)) {
            KiReleaseProcessor(Ke, Profile->Process, Interrupt, Processor);
        }
    }
}

/* Has the HAL start what it postponed until all processors were known. */
static NTSTATUS
KiBeginInterrupts(KE_SYSTEM *Ke, const KPROFILE *Profile)
{
    const HAL_TABLE *const Table = Ke->Hal.Table;

    return Table->BeginProfileInterrupts == NULL
               ? STATUS_SUCCESS
               : Table->BeginProfileInterrupts(Ke->Hal.Context, Profile->Source,
                                               Profile->Process->ProcessId);
}

NTSTATUS
KiStartInterrupts(KE_SYSTEM *Ke, const KPROFILE *Profile)
{
    const ULONG Processors = Profile->AffinityWords * 64;
    KI_INTERRUPT *const Interrupt =
        KiReserveInterrupt(Ke, Profile->Process, Profile->Source, Processors);
    NTSTATUS Status;

    if (Interrupt == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    for (ULONG Processor = 0; Processor < Processors; Processor++) {
        if (!KiProcessorInSet(Processor, Profile->Affinity, Profile->AffinityWords)) {
            continue;
        }
        Status = KiAcquireProcessor(Ke, Profile->Process, Interrupt, Processor);
        if (!NT_SUCCESS(Status)) {
            KiReleaseProcessors(Ke, Profile, Processor);
            return Status;
        }
    }
    Status = KiBeginInterrupts(Ke, Profile);
    if (!NT_SUCCESS(Status)) {
        KiReleaseProcessors(Ke, Profile, Processors);
    }
    return Status;
}

void
KiStopInterrupts(KE_SYSTEM *Ke, const KPROFILE *Profile)
{
    KiReleaseProcessors(Ke, Profile, Profile->AffinityWords * 64);
}

void
KiFinishInterrupts(KE_SYSTEM *Ke, KPROCESS *Process)
{
    while (!IsListEmpty(&Process->InterruptListHead)) {
        KI_INTERRUPT *const Interrupt =
            CONTAINING_RECORD(Process->InterruptListHead.Flink, KI_INTERRUPT, Entry);

        RemoveEntryList(&Interrupt->Entry);
        HostFree(&Ke->Host, Interrupt, KiInterruptBytes(Interrupt->Processors));
    }
}
