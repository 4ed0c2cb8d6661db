/* SPDX-License-Identifier: MIT */
/* ex/system.c - one instance of the facility, and its object types. */
#include "ex/exp.h"

/* Type Profile: access as measured on 15 builds of NT; no SYNCHRONIZE.
 * docs/behaviour.md, Handles. */
enum { EXP_PROFILE_GENERIC = 0x00020001, EXP_PROFILE_ALL = 0x000F0001 };

/* OBJ_OPENLINK: neither type has links. */
enum { EXP_INVALID_ATTRIBUTES = 0x0100 };

/* Type Process: what this facility needs of it. */
enum { EXP_PROCESS_READ = 0x00020410, EXP_PROCESS_ALL = 0x001FFFFF };

/* Is called when the last reference on a profile is dropped: stops it, and drops its
 * own reference on the process. */
static void
ExpDeleteProfile(void *DeleteContext, void *Body)
{
    KSYSTEM *const System = DeleteContext;
    EPROFILE *const Profile = Body;

    if (Profile->ProfileObject != NULL) {
        (void)ExpStopProfile(System, Profile);
    }
    ObDereferenceObject(&System->Ob, Profile->Process);
    RemoveEntryList(&Profile->Links);
    System->ProfileCount--;
}

static void
ExpDeleteProcess(void *DeleteContext, void *Body)
{
    KSYSTEM *const System = DeleteContext;

    PsDeleteProcess(&System->Ps, Body);
}

static void
ExpInitializeTypes(KSYSTEM *System)
{
    System->ProfileType = (OBJECT_TYPE){
        .Name = "Profile",
        .GenericRead = EXP_PROFILE_GENERIC,
        .GenericWrite = EXP_PROFILE_GENERIC,
        .GenericExecute = EXP_PROFILE_GENERIC,
        .GenericAll = EXP_PROFILE_ALL,
        .ValidAccess = EXP_PROFILE_ALL,
        .InvalidAttributes = EXP_INVALID_ATTRIBUTES,
        .Delete = ExpDeleteProfile,
        .DeleteContext = System,
    };
    System->ProcessType = (OBJECT_TYPE){
        .Name = "Process",
        .GenericRead = EXP_PROCESS_READ,
        .GenericWrite = EXP_PROCESS_READ,
        .GenericExecute = EXP_PROCESS_READ,
        .GenericAll = EXP_PROCESS_ALL,
        .ValidAccess = EXP_PROCESS_ALL,
        .InvalidAttributes = EXP_INVALID_ATTRIBUTES,
        .Delete = ExpDeleteProcess,
        .DeleteContext = System,
    };
}

/* Kernel space of a 32-bit NT: the upper half; the 64 kB below it belong to neither
 * user nor kernel. */
enum { EXP_HIGHEST_USER_32 = 0x7FFEFFFF };
static const ULONG64 ExpSystemRangeStart32 = 0x80000000u;

/* Sets what a 32-bit NT of the session's version has. */
static void
ExpSetAbi32(KSYSTEM *System)
{
    const HOST_TABLE *const Table = System->Host.Table;
    EX_ABI *const Abi = &System->Abi;

    Abi->Number = EX_ABI_X86;
    Abi->Segments = TRUE;
    Abi->AddressMask = 0xFFFFFFFFu;
    Abi->MostMdlBytes = System->Version->MostMdlBytes32;
    Abi->ProfileIrql = System->Version->ProfileIrql32;
    if (System->Version->SplitsIn32Bits) {
        Abi->HighestUserAddress = EXP_HIGHEST_USER_32;
        Abi->SystemRangeStart = ExpSystemRangeStart32;
    } else {
        Abi->HighestUserAddress = Table->HighestUserAddress;
        Abi->SystemRangeStart = Table->SystemRangeStart;
    }
}

/* Sets what a 64-bit NT of the session's version has. */
static void
ExpSetAbi64(KSYSTEM *System)
{
    enum { PROFILE_LEVEL = 15 };
    const HOST_TABLE *const Table = System->Host.Table;

    System->Abi = (EX_ABI){
        .Number = EX_ABI_X64,
        .AddressMask = ~(ULONG64)0,
        .HighestUserAddress = Table->HighestUserAddress,
        .SystemRangeStart = Table->SystemRangeStart,
        .MostMdlBytes = System->Version->MostMdlBytes64,
        .ProfileIrql = PROFILE_LEVEL,
    };
}

/* Sets what depends on version, word size and bucket limit. Refuses combinations that
 * this host does not have. */
static NTSTATUS
ExpSetRules(KSYSTEM *System, const EX_OPTIONS *Options)
{
    const BOOLEAN Host64 = sizeof(ULONG_PTR) == sizeof(ULONG64);

    System->Version = ExFindVersion(Options->Version);
    System->CallerLayout = ExFindLayout(Options->CallerLayout);
    System->Wow64 = Options->Wow64;
    System->BucketSizeMinimum = Options->FineBuckets ? 0 : PROFILE_BUCKET_LOG2_MIN;
    if (System->Version == NULL || System->CallerLayout == NULL ||
        Options->Abi > EX_ABI_X86 || (Options->FineBuckets && Options->Version != 0)) {
        return STATUS_INVALID_PARAMETER;
    }
    if (Options->Abi == EX_ABI_X86 || (Options->Abi == EX_ABI_HOST && !Host64)) {
        ExpSetAbi32(System);
        return System->Wow64 || Options->FineBuckets ? STATUS_INVALID_PARAMETER
                                                     : STATUS_SUCCESS;
    }
    ExpSetAbi64(System);
    if (Options->CallerLayout == EX_LAYOUT_32 && !System->Wow64) {
        return STATUS_INVALID_PARAMETER;
    }
    return Host64 ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS
ExpEnter(KSYSTEM *System, BOOLEAN Known)
{
    if (ExNoticeHalt(System)) {
        return STATUS_SYSTEM_SHUTDOWN;
    }
    return Known ? STATUS_SUCCESS : STATUS_INVALID_SYSTEM_SERVICE;
}

NTSTATUS
ExInitializeSystem(KSYSTEM *System, const HOST *Host, const HAL *Hal,
                   const EX_OPTIONS *Options)
{
    const EX_OPTIONS Defaults = {.Size = sizeof(Defaults)};
    NTSTATUS Status;

    if (Options == NULL) {
        Options = &Defaults;
    }
    *System = (KSYSTEM){.Version = NULL};
    if (ExFindTableFault(Host, Hal) != NULL) {
        return STATUS_INVALID_PARAMETER;
    }
    ExpTakeTables(System, Host, Hal);
    Status = ExpSetRules(System, Options);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    InitializeListHead(&System->Profiles);
    InitializeListHead(&System->StartedProfiles);
    ExpInitializeTypes(System);
    ExpInitializeHandles(System);
    ObInitializeSystem(&System->Ob, &System->Host);
    Status = KeInitializeSystem(&System->Ke, &System->Host, &System->Hal,
                                System->Abi.ProfileIrql);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    System->Ke.BugCheckAddress = Options->BugCheckAddress;
    Status = PsInitializeSystem(&System->Ps, &System->Host, &System->Ke);
    if (!NT_SUCCESS(Status)) {
        KeFinishSystem(&System->Ke);
    }
    return Status;
}

/* Ends the processes whose start was notified: they have a reference until their exit
 * is. */
static void
ExpEndWatchedProcesses(KSYSTEM *System)
{
    for (ULONG i = 0; i < PS_PROCESS_BUCKETS; i++) {
        LIST_ENTRY *const Head = &System->Ps.ActiveProcesses[i];
        LIST_ENTRY *Entry = Head->Flink;

        while (Entry != Head) {
            EPROCESS *const Process =
                CONTAINING_RECORD(Entry, EPROCESS, ActiveProcessLinks);

            Entry = Entry->Flink;
            if (Process->StreamReference) {
                Process->StreamReference = FALSE;
                PsEndProcess(&System->Ps, Process);
                ObDereferenceObject(&System->Ob, Process);
            }
        }
    }
}

void
ExFinishSystem(KSYSTEM *System)
{
    KeFlushHits(&System->Ke); /* closing all handles stops all profiles */
    ObFinishSystem(&System->Ob);
    ExpEndWatchedProcesses(System);
    PsFinishSystem(&System->Ps);
    KeFinishSystem(&System->Ke);
}

/* ---- systems of embedders ---- */

NTSTATUS
ExCreateSystem(const HOST *Host, const HAL *Hal, const EX_OPTIONS *Options,
               KSYSTEM **System)
{
    KSYSTEM *Made;
    NTSTATUS Status;

    /* This version's options are the first. */
    if (ExFindTableFault(Host, Hal) != NULL ||
        (Options != NULL && Options->Size < sizeof(*Options))) {
        return STATUS_INVALID_PARAMETER;
    }
    Made = HostAllocate(Host, sizeof(*Made));
    if (Made == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    Status = ExInitializeSystem(Made, Host, Hal, Options);
    if (!NT_SUCCESS(Status)) {
        HostFree(Host, Made, sizeof(*Made));
        return Status;
    }
    *System = Made;
    return STATUS_SUCCESS;
}

void
ExDeleteSystem(KSYSTEM *System)
{
    HOST_TABLE Table;
    HOST Host;

    if (System == NULL) {
        return;
    }
    Table = System->HostTable; /* the system is freed by it */
    Host = (HOST){&Table, System->Host.Context};
    ExFinishSystem(System);
    HostFree(&Host, System, sizeof(*System));
}

ULONG
ExProfileInterrupt(KSYSTEM *System, const KE_HIT *Hit)
{
    return KeProfileInterruptWithSource(&System->Ke, Hit);
}

BOOLEAN
ExQueryHalt(const KSYSTEM *System, KE_HALT *Halt)
{
    return KeQueryHalt(&System->Ke, Halt);
}

void
ExQueryStatistics(const KSYSTEM *System, KPROFILE_SOURCE ProfileSource,
                  KE_STATISTICS *Statistics)
{
    KeQueryStatistics(&System->Ke, ProfileSource, Statistics);
}
