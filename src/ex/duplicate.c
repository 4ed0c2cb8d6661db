/* SPDX-License-Identifier: MIT */
/*
 * ex/duplicate.c - NtDuplicateObject: another handle to the same object.
 * docs/behaviour.md, Handles.
 *
 * Level: passive. The functions below stand in the order in which they are called.
 */
#include "ex/exp.h"

enum {
    EXP_DUPLICATE_OPTIONS =
        DUPLICATE_CLOSE_SOURCE | DUPLICATE_SAME_ACCESS | DUPLICATE_SAME_ATTRIBUTES
};

/* Checks TargetHandle's address, Options and HandleAttributes. */
static NTSTATUS
ExpCheckDuplicate(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_DUPLICATE_OBJECT *P)
{
    const NTSTATUS Status = ExpProbeHandle(System, Mode, P->TargetHandle);

    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if ((P->Options & ~(ULONG)EXP_DUPLICATE_OPTIONS) != 0 ||
        (P->HandleAttributes & ~OBJ_INHERIT) != 0) {
        return STATUS_INVALID_PARAMETER;
    }
    return STATUS_SUCCESS;
}

/* Checks which process a handle is for. Handles belong to the session, so only the
 * caller's own process has any. */
static NTSTATUS
ExpIsOwnProcess(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE Handle, BOOLEAN *Own)
{
    const HOST *const Host = &System->Host;
    EPROCESS *Process;
    const NTSTATUS Status =
        ExpReferenceProcess(System, Mode, Handle, PROCESS_DUP_HANDLE, &Process);

    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    *Own = Process->Active &&
           Process->Pcb.ProcessId == Host->Table->CurrentProcessId(Host->Context);
    ObDereferenceObject(&System->Ob, Process);
    return STATUS_SUCCESS;
}

NTSTATUS
ExpReferenceHandle(KSYSTEM *System, HANDLE Handle, OB_HANDLE_FACTS *Facts)
{
    EPROCESS *Process;
    NTSTATUS Status;

    if (!ExpIsCurrentProcess(System, Handle)) {
        Status = ObQueryHandle(&System->Ob, Handle, Facts);
        if (NT_SUCCESS(Status)) {
            ObReferenceObject(Facts->Body);
        }
        return Status;
    }
    Status = ExReferenceProcess(System, KernelMode, Handle, &Process);
    if (NT_SUCCESS(Status)) {
        *Facts = (OB_HANDLE_FACTS){.Body = Process,
                                   .GrantedAccess = System->ProcessType.ValidAccess};
    }
    return Status;
}

/* Computes the access of the new handle; never more than that of the old one. */
static NTSTATUS
ExpChooseAccess(const EX_DUPLICATE_OBJECT *P, const OB_HANDLE_FACTS *Source,
                ACCESS_MASK *Access)
{
    OB_OBJECT_FACTS Object;

    if ((P->Options & DUPLICATE_SAME_ACCESS) != 0) {
        *Access = Source->GrantedAccess;
        return STATUS_SUCCESS;
    }
    ObQueryObject(Source->Body, &Object);
    return ObMapDesiredAccess(Object.Type, P->DesiredAccess,
                              Source->GrantedAccess & Object.Type->ValidAccess, Access);
}

/* Opens another handle to the object of Source, and writes it to the variable of the
 * caller. */
static NTSTATUS
ExpOpenDuplicate(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_DUPLICATE_OBJECT *P,
                 const OB_HANDLE_FACTS *Source)
{
    HANDLE Handle;
    ACCESS_MASK Access;
    NTSTATUS Status = ExpChooseAccess(P, Source, &Access);

    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ObOpenHandle(&System->Ob, Source->Body, Access, &Handle);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    ObSetHandleAttributes(&System->Ob, Handle,
                          (P->Options & DUPLICATE_SAME_ATTRIBUTES) != 0
                              ? Source->Attributes
                              : P->HandleAttributes);
    return ExpGiveHandle(System, Mode, Handle, P->TargetHandle);
}

/* Checks the target process, then duplicates SourceHandle. SourceIsOwn: its process is
 * the caller's own. */
static NTSTATUS
ExpDuplicateObject(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_DUPLICATE_OBJECT *P,
                   BOOLEAN SourceIsOwn)
{
    OB_HANDLE_FACTS Source;
    BOOLEAN TargetIsOwn;
    NTSTATUS Status =
        ExpIsOwnProcess(System, Mode, P->TargetProcessHandle, &TargetIsOwn);

    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (!SourceIsOwn || !TargetIsOwn) {
        return STATUS_NOT_SUPPORTED;
    }
    Status = ExpReferenceHandle(System, P->SourceHandle, &Source);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpOpenDuplicate(System, Mode, P, &Source);
    ObDereferenceObject(&System->Ob, Source.Body);
    return Status;
}

NTSTATUS
ExDuplicateObject(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_DUPLICATE_OBJECT *P)
{
    BOOLEAN SourceIsOwn;
    NTSTATUS Status = ExpEnter(System, /* Known */ TRUE);

    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpCheckDuplicate(System, Mode, P);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpIsOwnProcess(System, Mode, P->SourceProcessHandle, &SourceIsOwn);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpDuplicateObject(System, Mode, P, SourceIsOwn);
    /* Closed if it is open, whatever failed before; but the value may be that of
     * another process's handle. */
    if ((P->Options & DUPLICATE_CLOSE_SOURCE) != 0 && SourceIsOwn) {
        (void)ExClose(System, P->SourceHandle);
    }
    return Status;
}
