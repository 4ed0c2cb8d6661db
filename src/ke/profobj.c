/* SPDX-License-Identifier: MIT */
/*
 * ke/profobj.c - starting and stopping kernel profile objects. Level: passive.
 *
 * Invariant: a process is hashed while it has started profiles that are not detached.
 * It may stay hashed longer, until its last started profile is stopped. The global one,
 * and one that has ended, is never hashed. A detached profile is in no index and needs
 * no interrupts.
 */
#include "ke/ki.h"
#include "ke/profint.h"
#include "rtl/assert.h"

void
KeInitializeProcess(KPROCESS *Process, ULONG64 ProcessId)
{
    InitializeListHead(&Process->ProfileListHead);
    InitializeListHead(&Process->InterruptListHead);
    Process->ProcessId = ProcessId;
    Process->HashNext = NULL;
    Process->Hashed = FALSE;
    Process->Ended = FALSE;
    for (ULONG Tree = 0; Tree < KI_TREES; Tree++) {
        Process->Roots[Tree] = 0;
    }
}

void
KeFinishProcess(KE_SYSTEM *Ke, KPROCESS *Process)
{
    KiUnhashProcess(Ke, Process);
    KiFinishIndex(Ke, Process);
    KiFinishInterrupts(Ke, Process);
}

void
KiHashProcess(KE_SYSTEM *Ke, KPROCESS *Process)
{
    KPROCESS **const Head = &Ke->ProcessTable[KiProcessHash(Process->ProcessId)];

    if (Process->Hashed || Process->ProcessId == 0) {
        return;
    }
    RtlPublish(&Process->HashNext, *Head);
    RtlPublish(Head, Process);
    Process->Hashed = TRUE;
}

void
KiUnhashProcess(KE_SYSTEM *Ke, KPROCESS *Process)
{
    KPROCESS **Link = &Ke->ProcessTable[KiProcessHash(Process->ProcessId)];

    if (!Process->Hashed) {
        return;
    }
    RTL_ASSERT(Process->ProcessId != 0);
    while (*Link != Process) {
        Link = &(*Link)->HashNext;
    }
    RtlPublish(Link, Process->HashNext);
    KiWaitForHits(Ke);
    Process->Hashed = FALSE;
}

void
KeFlushHits(KE_SYSTEM *Ke)
{
    Ke->Hal.Table->Flush(Ke->Hal.Context);
}

NTSTATUS
KeStartProfile(KE_SYSTEM *Ke, KPROFILE *Profile)
{
    KPROCESS *const Process = Profile->Process;
    NTSTATUS Status;

    /* Only sources that interrupt have statistics: some versions start profiles of
     * sources that do not exist, and those would use up the slots. */
    if (Profile->AffinityWords != 0) {
        Status = KeRegisterSource(Ke, Profile->Source);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
    Profile->Type = ProfileObject;
    Profile->Size = sizeof(KPROFILE);
    Ke->Pool.Sequence++;
    Profile->Sequence = Ke->Pool.Sequence;
    Profile->Detached = Process->Ended;
    if (Profile->Detached) {
        /* Another process may have its pid now, so the HAL must not start it. */
        InsertTailList(&Process->ProfileListHead, &Profile->ProfileListEntry);
        Profile->Started = TRUE;
        return STATUS_SUCCESS;
    }
    Status = KiInsertRange(Ke, Process, Profile);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    KiHashProcess(Ke, Process);
    InsertTailList(&Process->ProfileListHead, &Profile->ProfileListEntry);

    /* A hit can land before this returns, so the profile is linked first. */
    Status = KiStartInterrupts(Ke, Profile);
    if (!NT_SUCCESS(Status)) {
        goto unlink;
    }
    Profile->Started = TRUE;
    return STATUS_SUCCESS;

unlink:
    RemoveEntryList(&Profile->ProfileListEntry);
    KiRemoveRange(Ke, Process, Profile);
    if (IsListEmpty(&Process->ProfileListHead)) {
        KiUnhashProcess(Ke, Process);
    }
    return Status;
}

void
KeStopProfile(KE_SYSTEM *Ke, KPROFILE *Profile)
{
    KPROCESS *const Process = Profile->Process;

    RTL_ASSERT(Profile->Started && !IsListEmpty(&Process->ProfileListHead));
    RTL_ASSERT(Profile->Detached || Process->Hashed || Process->ProcessId == 0);
    RemoveEntryList(&Profile->ProfileListEntry);
    if (!Profile->Detached) {
        KiRemoveRange(Ke, Process, Profile);
        KiStopInterrupts(Ke, Profile);
    }
    if (IsListEmpty(&Process->ProfileListHead)) {
        KiUnhashProcess(Ke, Process);
    }
    Profile->Started = FALSE;
}

void
KeDetachProcess(KE_SYSTEM *Ke, KPROCESS *Process)
{
    KiRemoveAllRanges(Ke, Process);
    KiUnhashProcess(Ke, Process);
    for (LIST_ENTRY *Entry = Process->ProfileListHead.Flink;
         Entry != &Process->ProfileListHead; Entry = Entry->Flink) {
        KPROFILE *const Profile = CONTAINING_RECORD(Entry, KPROFILE, ProfileListEntry);

        if (!Profile->Detached) {
            KiStopInterrupts(Ke, Profile);
            Profile->Detached = TRUE;
        }
    }
}

void
KeEndProcess(KE_SYSTEM *Ke, KPROCESS *Process)
{
    KeDetachProcess(Ke, Process);
    Process->Ended = TRUE;
}
