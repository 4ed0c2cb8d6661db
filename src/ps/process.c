/* SPDX-License-Identifier: MIT */
/* ps/process.c - process objects. */
#include "ps/ps.h"

#include "rtl/assert.h"

static const SIZE_T PspTableBytes = PS_PROCESS_BUCKETS * sizeof(LIST_ENTRY);

NTSTATUS
PsInitializeSystem(PS_SYSTEM *Ps, const HOST *Host, KE_SYSTEM *Ke)
{
    *Ps = (PS_SYSTEM){.Host = *Host, .Ke = Ke};
    Ps->ActiveProcesses = HostAllocate(Host, PspTableBytes);
    if (Ps->ActiveProcesses == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    for (ULONG i = 0; i < PS_PROCESS_BUCKETS; i++) {
        InitializeListHead(&Ps->ActiveProcesses[i]);
    }
    return STATUS_SUCCESS;
}

#ifndef NDEBUG
/* PspAssertNoProcess - has every process been deleted? */
static BOOLEAN
PspAssertNoProcess(const PS_SYSTEM *Ps)
{
    for (ULONG i = 0; i < PS_PROCESS_BUCKETS; i++) {
        RTL_ASSERT(IsListEmpty(&Ps->ActiveProcesses[i]));
    }
    return TRUE;
}

/* PspAssertProcess - do the members agree? A process that is watched is active, and one
 * that is active is known from notifications or to the host. */
static BOOLEAN
PspAssertProcess(const EPROCESS *Process)
{
    RTL_ASSERT(!Process->Watched || Process->Active);
    RTL_ASSERT(!Process->Active || Process->Watched || Process->HostOpen);
    return TRUE;
}
#endif

void
PsFinishSystem(PS_SYSTEM *Ps)
{
    RTL_ASSERT(Ps->ActiveProcesses == NULL || PspAssertNoProcess(Ps));
    HostFree(&Ps->Host, Ps->ActiveProcesses, PspTableBytes);
    Ps->ActiveProcesses = NULL;
}

/* Returns the list of active processes that this pid is in, if it is in any. */
static LIST_ENTRY *
PspHead(PS_SYSTEM *Ps, ULONG64 ProcessId)
{
    return &Ps->ActiveProcesses[ProcessId & (PS_PROCESS_BUCKETS - 1)];
}

BOOLEAN
PsIsProcessGone(const PS_SYSTEM *Ps, const EPROCESS *Process)
{
    RTL_ASSERT(PspAssertProcess(Process));
    if (!Process->Active) {
        return TRUE;
    }
    return !Process->Watched &&
           Ps->Host.Table->IsProcessGone(Ps->Host.Context, &Process->Host);
}

EPROCESS *
PsFindProcess(PS_SYSTEM *Ps, ULONG64 ProcessId)
{
    LIST_ENTRY *const Head = PspHead(Ps, ProcessId);

    for (LIST_ENTRY *Entry = Head->Flink; Entry != Head; Entry = Entry->Flink) {
        EPROCESS *const Process =
            CONTAINING_RECORD(Entry, EPROCESS, ActiveProcessLinks);

        RTL_ASSERT(Process->Active);
        if (Process->Pcb.ProcessId == ProcessId) {
            return Process;
        }
    }
    return NULL;
}

EPROCESS *
PsLookupProcess(PS_SYSTEM *Ps, ULONG64 ProcessId)
{
    EPROCESS *const Process = PsFindProcess(Ps, ProcessId);

    if (Process != NULL && PsIsProcessGone(Ps, Process)) {
        PsEndProcess(Ps, Process);
        return NULL;
    }
    return Process;
}

NTSTATUS
PsInitializeProcess(PS_SYSTEM *Ps, EPROCESS *Process, ULONG64 ProcessId,
                    BOOLEAN Watched)
{
    RTL_ASSERT(!Process->Active && !Process->HostOpen && !Process->StreamReference);
    RTL_ASSERT(PsFindProcess(Ps, ProcessId) == NULL);
    /* Before anything can fail, because PsDeleteProcess is called for the body then. */
    KeInitializeProcess(&Process->Pcb, ProcessId);
    if (!Watched) {
        const NTSTATUS Status =
            Ps->Host.Table->OpenProcess(Ps->Host.Context, ProcessId, &Process->Host);

        if (!NT_SUCCESS(Status)) {
            return Status;
        }
        Process->HostOpen = TRUE;
    }
    Process->Watched = Watched;
    Process->Active = TRUE;
    InsertTailList(PspHead(Ps, ProcessId), &Process->ActiveProcessLinks);
    return STATUS_SUCCESS;
}

void
PsEndProcess(PS_SYSTEM *Ps, EPROCESS *Process)
{
    RTL_ASSERT(PspAssertProcess(Process));
    Process->Watched = FALSE;
    if (!Process->Active) {
        return;
    }
    Process->Active = FALSE;
    RemoveEntryList(&Process->ActiveProcessLinks);
    KeEndProcess(Ps->Ke, &Process->Pcb);
}

void
PsDeleteProcess(PS_SYSTEM *Ps, EPROCESS *Process)
{
    RTL_ASSERT(!Process->StreamReference);
    PsEndProcess(Ps, Process);
    KeFinishProcess(Ps->Ke, &Process->Pcb);
    if (Process->HostOpen) {
        Ps->Host.Table->CloseProcess(Ps->Host.Context, &Process->Host);
        Process->HostOpen = FALSE;
    }
}

NTSTATUS
PsCheckAccess(PS_SYSTEM *Ps, const EPROCESS *Process)
{
    RTL_ASSERT(PspAssertProcess(Process));
    if (Process->Watched) {
        return STATUS_SUCCESS;
    }
    return Ps->Host.Table->CheckProcessAccess(Ps->Host.Context, &Process->Host);
}
