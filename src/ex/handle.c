/* SPDX-License-Identifier: MIT */
/* ex/handle.c - opening handles for callers, and the processes behind handles. */
#include "ex/exp.h"
#include "mm/mm.h"
#include "rtl/memory.h"

NTSTATUS
ExpWrite(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG64 To, const void *From,
         SIZE_T Bytes)
{
    if (Mode == UserMode) {
        return MmCopyToCaller(&System->Host, To, From, Bytes);
    }
    RtlCopyMemory((void *)(ULONG_PTR)To, From, Bytes);
    return STATUS_SUCCESS;
}

NTSTATUS
ExpProbeHandle(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG64 HandleAddress)
{
    if (Mode == KernelMode) {
        return STATUS_SUCCESS;
    }
    return MmProbeForWrite(&System->Host, HandleAddress,
                           ExpLayout(System, Mode)->WordBytes, 1);
}

NTSTATUS
ExpWriteHandle(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE Handle,
               ULONG64 HandleAddress)
{
    UCHAR Written[sizeof(ULONG64)];
    const ULONG Bytes = ExPutWord(ExpLayout(System, Mode), Written, (ULONG_PTR)Handle);

    return ExpWrite(System, Mode, HandleAddress, Written, Bytes);
}

NTSTATUS
ExpGiveHandle(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE Handle,
              ULONG64 HandleAddress)
{
    const NTSTATUS Status = ExpWriteHandle(System, Mode, Handle, HandleAddress);

    if (!NT_SUCCESS(Status)) {
        (void)ObCloseHandle(&System->Ob, Handle);
    }
    return Status;
}

NTSTATUS
ExpOpenHandle(KSYSTEM *System, KPROCESSOR_MODE Mode, void *Body,
              ACCESS_MASK GrantedAccess, ULONG64 HandleAddress)
{
    HANDLE Handle;
    const NTSTATUS Status = ObOpenHandle(&System->Ob, Body, GrantedAccess, &Handle);

    return NT_SUCCESS(Status) ? ExpGiveHandle(System, Mode, Handle, HandleAddress)
                              : Status;
}

/* ---- the handle table of ex ---- */

static NTSTATUS
ExpReferenceOwnProcess(void *Context, KPROCESSOR_MODE Mode, HANDLE Handle,
                       EPROCESS **Process)
{
    return ExReferenceProcess(Context, Mode, Handle, Process);
}

static NTSTATUS
ExpInsertOwnHandle(void *Context, EPROFILE *Profile, ACCESS_MASK GrantedAccess,
                   HANDLE *Handle)
{
    KSYSTEM *const System = Context;
    const NTSTATUS Status = ObOpenHandle(&System->Ob, Profile, GrantedAccess, Handle);

    if (NT_SUCCESS(Status)) {
        ObDereferenceObject(&System->Ob, Profile); /* the handle has one of its own */
    }
    return Status;
}

static void
ExpCloseOwnHandle(void *Context, HANDLE Handle)
{
    KSYSTEM *const System = Context;

    (void)ObCloseHandle(&System->Ob, Handle);
}

void
ExpInitializeHandles(KSYSTEM *System)
{
    System->Handles = (EX_HANDLE_TABLE){
        .Size = sizeof(EX_HANDLE_TABLE),
        .Context = System,
        .ReferenceProcess = ExpReferenceOwnProcess,
        .InsertHandle = ExpInsertOwnHandle,
        .CloseHandle = ExpCloseOwnHandle,
    };
}

/* ---- handles of callers ---- */

NTSTATUS
ExClose(KSYSTEM *System, HANDLE Handle)
{
    OB_HANDLE_FACTS Facts;

    if (ExpIsCurrentProcess(System, Handle)) {
        return STATUS_SUCCESS;
    }
    if (System->StartedCount != 0 &&
        NT_SUCCESS(ObQueryHandle(&System->Ob, Handle, &Facts))) {
        KeFlushHits(&System->Ke); /* it may be the last handle of a started profile */
    }
    return ObCloseHandle(&System->Ob, Handle);
}

/* Returns the active process of a pid, created if it is not known yet, with a reference
 * for the caller. */
static NTSTATUS
ExpReferenceProcessId(KSYSTEM *System, ULONG64 ProcessId, BOOLEAN Watched,
                      EPROCESS **Process)
{
    EPROCESS *Found = PsFindProcess(&System->Ps, ProcessId);
    void *Body;
    NTSTATUS Status;

    if (Found != NULL && PsIsProcessGone(&System->Ps, Found)) {
        KeFlushHits(&System->Ke); /* its last hits, before its profiles stop counting */
    }
    Found = PsLookupProcess(&System->Ps, ProcessId);
    if (Found != NULL) {
        ObReferenceObject(Found);
        *Process = Found;
        return STATUS_SUCCESS;
    }
    Status = ObCreateObject(&System->Ob, &System->ProcessType, sizeof(EPROCESS), &Body);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Found = Body;
    Status = PsInitializeProcess(&System->Ps, Found, ProcessId, Watched);
    if (!NT_SUCCESS(Status)) {
        ObDereferenceObject(&System->Ob, Found);
        return Status;
    }
    *Process = Found;
    return STATUS_SUCCESS;
}

NTSTATUS
ExReferenceProcessById(KSYSTEM *System, ULONG64 ProcessId, EPROCESS **Process)
{
    return ProcessId == 0
               ? STATUS_INVALID_CID
               : ExpReferenceProcessId(System, ProcessId, /* Watched */ FALSE, Process);
}

NTSTATUS
ExReferenceProcess(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE Handle,
                   EPROCESS **Process)
{
    return ExpReferenceProcess(System, Mode, Handle, PROCESS_QUERY_INFORMATION,
                               Process);
}

NTSTATUS
ExpReferenceProcess(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE Handle,
                    ACCESS_MASK DesiredAccess, EPROCESS **Process)
{
    void *Body;
    NTSTATUS Status;

    if (ExpIsCurrentProcess(System, Handle)) {
        const ULONG64 ProcessId =
            System->Host.Table->CurrentProcessId(System->Host.Context);

        return ExReferenceProcessById(System, ProcessId, Process);
    }
    Status = ObReferenceObjectByHandle(&System->Ob, Handle, &System->ProcessType, Mode,
                                       DesiredAccess, &Body);
    if (NT_SUCCESS(Status)) {
        *Process = Body;
    }
    return Status;
}

NTSTATUS
ExOpenProcess(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG64 ProcessHandle,
              ACCESS_MASK DesiredAccess, ULONG64 ProcessId)
{
    ACCESS_MASK Access;
    EPROCESS *Process;
    NTSTATUS Status = ExpEnter(System, /* Known */ TRUE);

    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpProbeHandle(System, Mode, ProcessHandle);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExReferenceProcessById(System, ProcessId, &Process);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (Mode == UserMode) {
        Status = PsCheckAccess(&System->Ps, Process);
    }
    if (NT_SUCCESS(Status)) {
        Status = ObMapDesiredAccess(&System->ProcessType, DesiredAccess,
                                    System->ProcessType.ValidAccess, &Access);
    }
    if (NT_SUCCESS(Status)) {
        Status = ExpOpenHandle(System, Mode, Process, Access, ProcessHandle);
    }
    ObDereferenceObject(&System->Ob, Process);
    return Status;
}

/* Ends a process, and drops the reference that it has since its start was notified. */
static void
ExpEndProcess(KSYSTEM *System, EPROCESS *Process)
{
    const BOOLEAN Referenced = Process->StreamReference;

    Process->StreamReference = FALSE;
    PsEndProcess(&System->Ps, Process);
    if (Referenced) {
        ObDereferenceObject(&System->Ob, Process);
    }
}

void
ExEndProcess(KSYSTEM *System, ULONG64 ProcessId)
{
    EPROCESS *Process;

    KeFlushHits(&System->Ke); /* its last hits, before its profiles stop counting */
    Process = PsFindProcess(&System->Ps, ProcessId);
    if (Process != NULL) {
        ExpEndProcess(System, Process);
    }
}

/* The exit of a process whose start was notified. */
static void
ExpProcessEnds(KSYSTEM *System, ULONG64 ProcessId)
{
    EPROCESS *const Process = PsLookupProcess(&System->Ps, ProcessId);

    if (Process != NULL && Process->StreamReference) {
        ExpEndProcess(System, Process);
    }
}

/* Makes the object of a process whose start is notified. It has a reference
 * (StreamReference) until the exit of the process is notified. */
static void
ExpProcessStarts(KSYSTEM *System, const ntprof_notification *Notification)
{
    EPROCESS *Process;

    if (Notification->parent_pid != 0) {
        /* It was just forked, so an earlier process with this pid has ended, and its
         * exit record was lost. */
        ExpProcessEnds(System, Notification->pid);
    }
    /* Without memory, NtOpenProcess will not find the process after it has ended. */
    if (!NT_SUCCESS(ExpReferenceProcessId(System, Notification->pid, /* Watched */ TRUE,
                                          &Process))) {
        return;
    }
    if (Process->StreamReference) {
        ObDereferenceObject(&System->Ob, Process);
    }
    Process->StreamReference = TRUE;
    Process->Watched = TRUE;
}

void
ExDetachProfiles(KSYSTEM *System, ULONG64 ProcessId)
{
    EPROCESS *const Process = PsLookupProcess(&System->Ps, ProcessId);

    if (Process != NULL) {
        KeDetachProcess(&System->Ke, &Process->Pcb);
    }
}

void
ExBeforeNotification(KSYSTEM *System, const ntprof_notification *Notification)
{
    if (Notification->kind == NTPROF_PROCESS_START) {
        ExpProcessStarts(System, Notification);
    } else if (Notification->kind == NTPROF_PROCESS_EXEC) {
        ExDetachProfiles(System, Notification->pid);
    }
}

void
ExAfterNotification(KSYSTEM *System, const ntprof_notification *Notification)
{
    if (Notification->kind == NTPROF_PROCESS_EXIT) {
        ExpProcessEnds(System, Notification->pid);
    }
}
