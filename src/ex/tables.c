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

/* EXP_TABLES - copies of an embedder's tables; Counting is all 0 if there is none. */
typedef struct _EXP_TABLES {
    HOST_TABLE Host;
    HAL_TABLE Hal;
    HAL_COUNTING Counting;
} EXP_TABLES;

/* Of a group that may be absent, all or none is there. */
enum { EXP_REQUIRED, EXP_USER_CALLERS, EXP_PROCESSES, EXP_COUNTING, EXP_GROUPS };

/* A function of a table; all function pointers have one size. */
typedef struct _EXP_MEMBER {
    const char *Name;
    USHORT Offset; /* in EXP_TABLES */
    UCHAR Group;
} EXP_MEMBER;

#define EXP_HOST(Name, Group)                           \
    {                                                   \
#Name, offsetof(EXP_TABLES, Host.Name), (Group) \
    }
#define EXP_HAL(Name)                                       \
    {                                                       \
#Name, offsetof(EXP_TABLES, Hal.Name), EXP_REQUIRED \
    }
#define EXP_COUNT(Name)                                          \
    {                                                            \
#Name, offsetof(EXP_TABLES, Counting.Name), EXP_COUNTING \
    }

static const EXP_MEMBER ExpMembers[] = {
    EXP_HOST(Allocate, EXP_REQUIRED),
    EXP_HOST(Free, EXP_REQUIRED),
    EXP_HOST(ProbeForWrite, EXP_USER_CALLERS),
    EXP_HOST(CopyFromCaller, EXP_USER_CALLERS),
    EXP_HOST(CopyToCaller, EXP_USER_CALLERS),
    EXP_HOST(LockPages, EXP_REQUIRED),
    EXP_HOST(MapPages, EXP_REQUIRED),
    EXP_HOST(FlushPages, EXP_REQUIRED),
    EXP_HOST(UnmapPages, EXP_REQUIRED),
    EXP_HOST(UnlockPages, EXP_REQUIRED),
    EXP_HOST(CheckSystemProfilePrivilege, EXP_USER_CALLERS),
    EXP_HOST(CheckRestrictedCaller, EXP_USER_CALLERS),
    EXP_HOST(CurrentProcessId, EXP_REQUIRED),
    EXP_HOST(OpenProcess, EXP_PROCESSES),
    EXP_HOST(CloseProcess, EXP_PROCESSES),
    EXP_HOST(CheckProcessAccess, EXP_PROCESSES),
    EXP_HOST(IsProcessGone, EXP_PROCESSES),
    EXP_HOST(GroupCount, EXP_REQUIRED),
    EXP_HOST(ActiveProcessors, EXP_REQUIRED),
    EXP_HOST(CurrentGroup, EXP_REQUIRED),
    EXP_HAL(StartProfileInterrupt),
    EXP_HAL(StopProfileInterrupt),
    EXP_HAL(QuerySource),
    EXP_HAL(SetInterval),
    EXP_HAL(Flush),
    EXP_HAL(Synchronize),
    EXP_COUNT(AllocateNodes),
    EXP_COUNT(LocateCounters),
    EXP_COUNT(PrepareProcess),
    EXP_COUNT(PublishRoots),
    EXP_COUNT(QueryHits),
};

/* Copies the members that both versions have; the others stay 0. */
static void
ExpCopyTable(void *To, const void *From, ULONG FromBytes, ULONG ToBytes)
{
    RtlCopyMemory(To, From, FromBytes < ToBytes ? FromBytes : ToBytes);
}

static void
ExpCopyTables(EXP_TABLES *Tables, const HOST *Host, const HAL *Hal)
{
    *Tables = (EXP_TABLES){.Host = {.Size = 0}};
    ExpCopyTable(&Tables->Host, Host->Table, Host->Table->Size, sizeof(Tables->Host));
    ExpCopyTable(&Tables->Hal, Hal->Table, Hal->Table->Size, sizeof(Tables->Hal));
    if (Tables->Hal.Counting != NULL) {
        ExpCopyTable(&Tables->Counting, Tables->Hal.Counting,
                     Tables->Hal.Counting->Size, sizeof(Tables->Counting));
    }
}

/* Returns the first function that is NULL and must not be, or NULL: the required ones
 * must be there, of another group all or none. */
static const char *
ExpFindMissing(const EXP_TABLES *Tables)
{
    BOOLEAN Present[EXP_GROUPS] = {
        [EXP_REQUIRED] = TRUE,
        [EXP_COUNTING] = Tables->Hal.Counting != NULL,
    };
    const char *Absent[EXP_GROUPS] = {NULL};

    for (ULONG i = 0; i < sizeof(ExpMembers) / sizeof(ExpMembers[0]); i++) {
        const EXP_MEMBER *const Member = &ExpMembers[i];
        ULONG_PTR Function;

        RtlCopyMemory(&Function, (const char *)Tables + Member->Offset,
                      sizeof(Function));
        if (Function != 0) {
            Present[Member->Group] = TRUE;
        } else if (Absent[Member->Group] == NULL) {
            Absent[Member->Group] = Member->Name;
        }
    }
    for (ULONG Group = 0; Group < EXP_GROUPS; Group++) {
        if (Present[Group] && Absent[Group] != NULL) {
            return Absent[Group];
        }
    }
    return NULL;
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

/* Fills in groups that are absent: all callers are in kernel mode, all processes
 * exist. */
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
    EXP_TABLES Tables;

    ExpCopyTables(&Tables, Host, Hal);
    if (Tables.Host.PageSize == 0 ||
        (Tables.Host.PageSize & (Tables.Host.PageSize - 1)) != 0) {
        return "PageSize";
    }
    if (((Tables.Hal.Capabilities & HAL_COUNTS_ITSELF) != 0) !=
        (Tables.Hal.Counting != NULL)) {
        return "Counting";
    }
    return ExpFindMissing(&Tables);
}

void
ExpTakeTables(KSYSTEM *System, const HOST *Host, const HAL *Hal)
{
    EXP_TABLES Tables;

    ExpCopyTables(&Tables, Host, Hal);
    System->HostTable = Tables.Host;
    System->HalTable = Tables.Hal;
    System->HalCounting = Tables.Counting;
    ExpFillGroups(&System->HostTable);
    if (System->HalTable.Counting != NULL) {
        System->HalTable.Counting = &System->HalCounting;
    }
    System->Host = (HOST){&System->HostTable, Host->Context};
    System->Hal = (HAL){&System->HalTable, Hal->Context};
}
