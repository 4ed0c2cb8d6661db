/* SPDX-License-Identifier: MIT */
/*
 * ex/tables.c - the tables of an embedder: checked member by member, and copied, so
 * that one of another version can be used. Level: passive.
 *
 * A table may be shorter than this version's: members that it does not have are NULL
 * in the copy. It may be longer: what is beyond this version's is not read.
 */
#include "ex/exp.h"
#include "rtl/memory.h"

/* A member that must not be NULL; all function pointers have one size. */
typedef struct _EXP_MEMBER {
    const char *Name;
    ULONG Offset;
} EXP_MEMBER;

#define EXP_HOST(Name)                                  \
    {                                                   \
        "HOST_TABLE." #Name, offsetof(HOST_TABLE, Name) \
    }
#define EXP_HAL(Name)                                 \
    {                                                 \
        "HAL_TABLE." #Name, offsetof(HAL_TABLE, Name) \
    }

static const EXP_MEMBER ExpHostMembers[] = {
    EXP_HOST(Allocate),     EXP_HOST(Free),
    EXP_HOST(LockPages),    EXP_HOST(MapPages),
    EXP_HOST(FlushPages),   EXP_HOST(UnmapPages),
    EXP_HOST(UnlockPages),  EXP_HOST(CurrentProcessId),
    EXP_HOST(GroupCount),   EXP_HOST(ActiveProcessors),
    EXP_HOST(CurrentGroup), {NULL, 0},
};

/* All of a group, or none: then there are no user-mode callers, or the embedder says
 * when a process ends. */
static const EXP_MEMBER ExpUserMembers[] = {
    EXP_HOST(ProbeForWrite),         EXP_HOST(CopyFromCaller),
    EXP_HOST(CopyToCaller),          EXP_HOST(CheckSystemProfilePrivilege),
    EXP_HOST(CheckRestrictedCaller), {NULL, 0},
};
static const EXP_MEMBER ExpProcessMembers[] = {
    EXP_HOST(OpenProcess),
    EXP_HOST(CloseProcess),
    EXP_HOST(CheckProcessAccess),
    EXP_HOST(IsProcessGone),
    {NULL, 0},
};

static const EXP_MEMBER ExpHalMembers[] = {
    EXP_HAL(StartProfileInterrupt),
    EXP_HAL(StopProfileInterrupt),
    EXP_HAL(QuerySource),
    EXP_HAL(SetInterval),
    EXP_HAL(Flush),
    EXP_HAL(Synchronize),
    {NULL, 0},
};

static BOOLEAN
ExpHasMember(const void *Table, ULONG Offset)
{
    ULONG_PTR Member;

    RtlCopyMemory(&Member, (const char *)Table + Offset, sizeof(Member));
    return Member != 0;
}

/* Returns the name of the first member that is NULL, or NULL. */
static const char *
ExpFindMissing(const void *Table, const EXP_MEMBER *Members)
{
    for (; Members->Name != NULL; Members++) {
        if (!ExpHasMember(Table, Members->Offset)) {
            return Members->Name;
        }
    }
    return NULL;
}

static const char *
ExpFindMissingOfGroup(const void *Table, const EXP_MEMBER *Members)
{
    for (const EXP_MEMBER *Member = Members; Member->Name != NULL; Member++) {
        if (ExpHasMember(Table, Member->Offset)) {
            return ExpFindMissing(Table, Members);
        }
    }
    return NULL;
}

/* Copies the members that both versions have; the others stay 0. */
static void
ExpCopyTable(void *To, const void *From, ULONG FromBytes, ULONG ToBytes)
{
    RtlCopyMemory(To, From, FromBytes < ToBytes ? FromBytes : ToBytes);
}

static const char *
ExpCheckHostTable(const HOST_TABLE *Host)
{
    const char *Name;

    if (Host->PageSize == 0 || (Host->PageSize & (Host->PageSize - 1)) != 0) {
        return "HOST_TABLE.PageSize";
    }
    Name = ExpFindMissing(Host, ExpHostMembers);
    if (Name == NULL) {
        Name = ExpFindMissingOfGroup(Host, ExpUserMembers);
    }
    return Name != NULL ? Name : ExpFindMissingOfGroup(Host, ExpProcessMembers);
}

static const char *
ExpCheckHalTable(const HAL_TABLE *Hal)
{
    if (((Hal->Capabilities & HAL_COUNTS_ITSELF) != 0) != (Hal->Counting != NULL)) {
        return "HAL_TABLE.Counting";
    }
    return ExpFindMissing(Hal, ExpHalMembers);
}

/* ---- what an absent group does ---- */

static NTSTATUS
ExpNoProbe(void *Context, ULONG64 Address, SIZE_T Bytes)
{
    (void)Context;
    (void)Address;
    (void)Bytes;
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS
ExpNoCopyFrom(void *Context, void *To, ULONG64 From, SIZE_T Bytes)
{
    (void)Context;
    (void)To;
    (void)From;
    (void)Bytes;
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS
ExpNoCopyTo(void *Context, ULONG64 To, const void *From, SIZE_T Bytes)
{
    (void)Context;
    (void)To;
    (void)From;
    (void)Bytes;
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS
ExpNoPrivilege(void *Context)
{
    (void)Context;
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS
ExpNoRestriction(void *Context, ULONG Rule)
{
    (void)Context;
    (void)Rule;
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS
ExpOpenAnyProcess(void *Context, ULONG64 ProcessId, HOST_PROCESS *Process)
{
    (void)Context;
    Process->ProcessId = ProcessId;
    return STATUS_SUCCESS;
}

static void
ExpCloseAnyProcess(void *Context, HOST_PROCESS *Process)
{
    (void)Context;
    (void)Process;
}

static NTSTATUS
ExpCheckAnyProcess(void *Context, const HOST_PROCESS *Process)
{
    (void)Context;
    (void)Process;
    return STATUS_SUCCESS;
}

static BOOLEAN
ExpIsAnyProcessGone(void *Context, const HOST_PROCESS *Process)
{
    (void)Context;
    (void)Process;
    return FALSE;
}

static void
ExpFillGroups(HOST_TABLE *Host)
{
    if (Host->ProbeForWrite == NULL) {
        Host->ProbeForWrite = ExpNoProbe;
        Host->CopyFromCaller = ExpNoCopyFrom;
        Host->CopyToCaller = ExpNoCopyTo;
        Host->CheckSystemProfilePrivilege = ExpNoPrivilege;
        Host->CheckRestrictedCaller = ExpNoRestriction;
    }
    if (Host->OpenProcess == NULL) {
        Host->OpenProcess = ExpOpenAnyProcess;
        Host->CloseProcess = ExpCloseAnyProcess;
        Host->CheckProcessAccess = ExpCheckAnyProcess;
        Host->IsProcessGone = ExpIsAnyProcessGone;
    }
}

/* ---- services ---- */

const char *
ExFindTableFault(const HOST *Host, const HAL *Hal)
{
    HOST_TABLE HostTable = {.Size = 0};
    HAL_TABLE HalTable = {.Size = 0};
    const char *Name;

    ExpCopyTable(&HostTable, Host->Table, Host->Table->Size, sizeof(HostTable));
    ExpCopyTable(&HalTable, Hal->Table, Hal->Table->Size, sizeof(HalTable));
    Name = ExpCheckHostTable(&HostTable);
    return Name != NULL ? Name : ExpCheckHalTable(&HalTable);
}

NTSTATUS
ExpTakeTables(KSYSTEM *System, const HOST *Host, const HAL *Hal)
{
    if (ExFindTableFault(Host, Hal) != NULL) {
        return STATUS_INVALID_PARAMETER;
    }
    ExpCopyTable(&System->HostTable, Host->Table, Host->Table->Size,
                 sizeof(System->HostTable));
    ExpCopyTable(&System->HalTable, Hal->Table, Hal->Table->Size,
                 sizeof(System->HalTable));
    ExpFillGroups(&System->HostTable);
    System->Host = (HOST){&System->HostTable, Host->Context};
    System->Hal = (HAL){&System->HalTable, Hal->Context};
    return STATUS_SUCCESS;
}
