/* SPDX-License-Identifier: MIT */
/* ex/system.c - one instance of the facility, and its object types. */
#include "ex/exp.h"

/* Type Profile: access as measured on 15 builds of NT; no SYNCHRONIZE. docs/behaviour.md, Handles. */
enum { EXP_PROFILE_GENERIC = 0x00020001, EXP_PROFILE_ALL = 0x000F0001 };

/* Type Process: what this facility needs of it. */
enum { EXP_PROCESS_READ = 0x00020410, EXP_PROCESS_ALL = 0x001FFFFF };

static void
ExpDeleteProfile(void *DeleteContext, void *Body)
{
    KSYSTEM *const System = DeleteContext;
    EPROFILE *const Profile = Body;

    if (Profile->LockedBuffer != NULL) {
        (void)ExpStopProfile(System, Profile);
    }
    ObDereferenceObject(&System->Ob, Profile->Process);
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
        .Delete = ExpDeleteProcess,
        .DeleteContext = System,
    };
}

NTSTATUS
ExInitializeSystem(KSYSTEM *System, const HOST *Host, const HAL *Hal, ULONG Version)
{
    NTSTATUS Status;

    *System = (KSYSTEM){.Host = *Host, .Hal = *Hal, .Version = ExFindVersion(Version)};
    if (System->Version == NULL) {
        return STATUS_INVALID_PARAMETER;
    }
    InitializeListHead(&System->StartedProfiles);
    ExpInitializeTypes(System);
    ObInitializeSystem(&System->Ob, Host);
    Status = KeInitializeSystem(&System->Ke, Host, Hal);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = PsInitializeSystem(&System->Ps, Host, &System->Ke);
    if (!NT_SUCCESS(Status)) {
        KeFinishSystem(&System->Ke);
    }
    return Status;
}

/* Processes of the stream that have not ended hold a reference of the stream's own. */
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
                PsEndProcess(&System->Ps, Process);
                ObDereferenceObject(&System->Ob, Process);
            }
        }
    }
}

void
ExFinishSystem(KSYSTEM *System)
{
    KeFlushHits(&System->Ke); /* the last handle of a started profile is closed now */
    ObFinishSystem(&System->Ob);
    ExpEndWatchedProcesses(System);
    PsFinishSystem(&System->Ps);
    KeFinishSystem(&System->Ke);
}
