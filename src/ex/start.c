/* SPDX-License-Identifier: MIT */
/*
 * ex/start.c - starts and stops executive profiles. docs/behaviour.md, Start.
 *
 * Invariant: ProfileObject is not NULL exactly while its MDL is locked and mapped, it
 * is linked into ke and the profile is in KSYSTEM.StartedProfiles: the profile is
 * started. LockedBuffer may be NULL then if there are no counters. Level: passive.
 */
#include "ex/exp.h"
#include "ke/bucket.h"
#include "mm/mm.h"
#include "rtl/assert.h"

static const SIZE_T ExpKernelProfileBytes = sizeof(KPROFILE) + sizeof(MDL);

/* Bytes of the buffer to lock: what the counters need, or all of it as NT does. */
static ULONG
ExpBytesToLock(const KSYSTEM *System, const EPROFILE *Profile)
{
    const ULONG64 Buckets = KiBucketCount(Profile->RangeSize, Profile->BucketSize);

    if (System->Version->LocksWholeBuffer) {
        return Profile->BufferSize;
    }
    /* The size check at create holds: no more than BufferSize. */
    return (ULONG)(Buckets * sizeof(ULONG));
}

ULONG
ExCountProcessors(const KSYSTEM *System)
{
    const HOST *const Host = &System->Host;
    const USHORT Groups = Host->Table->GroupCount(Host->Context);
    ULONG Processors = 0;

    for (USHORT Group = 0; Group < Groups; Group++) {
        KAFFINITY Active = Host->Table->ActiveProcessors(Host->Context, Group);

        /* No builtin: the compiler would ask libgcc, which an embedder may not have. */
        for (; Active != 0; Active &= Active - 1) {
            Processors++;
        }
    }
    return Processors;
}

ULONG64
ExStartLimit(const KSYSTEM *System)
{
    return (ULONG64)System->Version->StartLimitPerProcessor * ExCountProcessors(System);
}

/* Can the source never interrupt? Some versions do not check sources: they start
 * profiles that no interrupt reaches. */
static BOOLEAN
ExpIsSilent(KSYSTEM *System, KPROFILE_SOURCE Source)
{
    HAL_SOURCE Information;

    if (System->Version->ChecksSource) {
        return FALSE;
    }
    System->Hal.Table->QuerySource(System->Hal.Context, Source, &Information);
    return !Information.Supported;
}

/* Sets the members of a kernel profile, whose MDL is locked and mapped. */
static void
ExpFillKernelProfile(KSYSTEM *System, const EPROFILE *Profile, KPROFILE *Kernel)
{
    Kernel->Process =
        Profile->Process != NULL ? &Profile->Process->Pcb : &System->Ke.Global;
    Kernel->RangeBase = Profile->RangeBase;
    Kernel->RangeSize = Profile->RangeSize;
    Kernel->BucketLog2 = Profile->BucketSize;
    Kernel->Buffer = KeProfileMdl(Kernel)->MappedSystemVa;
    Kernel->Counters = KeProfileMdl(Kernel)->ByteCount / KI_COUNTER_BYTES;
    Kernel->Segment = Profile->Segment;
    Kernel->Source = System->Version->NarrowsSource
                         ? (KPROFILE_SOURCE)(SHORT)Profile->ProfileSource
                         : Profile->ProfileSource;
    Kernel->LimitInside = System->Version->LimitInside;
    Kernel->AffinityWords =
        ExpIsSilent(System, Kernel->Source) ? 0 : Profile->AffinityWords;
    Kernel->Affinity = Profile->Affinity;
}

/*
 * Ends a process that has exited without a notification, so that the HAL does not
 * interrupt another process with its pid instead. Its started profiles get its last
 * hits before. That also delivers notifications, whose callbacks may change any object,
 * so the caller must not have read any state before.
 */
static void
ExpNoticeEnd(KSYSTEM *System, const EPROFILE *Profile)
{
    if (Profile->Process != NULL && PsIsProcessGone(&System->Ps, Profile->Process)) {
        KeFlushHits(&System->Ke);
        PsEndProcess(&System->Ps, Profile->Process);
    }
}

/* Adds a profile to the list of those started. Those with buffers that need flushing
 * come first: there may be thousands of others. */
static void
ExpListStarted(KSYSTEM *System, EPROFILE *Profile)
{
    if (KeProfileMdl(Profile->ProfileObject)->Live) {
        InsertTailList(&System->StartedProfiles, &Profile->StartedLinks);
    } else {
        InsertHeadList(&System->StartedProfiles, &Profile->StartedLinks);
    }
    System->StartedCount++;
}

/* Unlocks the caller's buffer. Counts that could not be added to it go into the
 * statistics. */
static void
ExpGiveBackBuffer(KSYSTEM *System, KPROFILE *Kernel)
{
    MDL *const Mdl = KeProfileMdl(Kernel);

    MmUnmapAndUnlock(&System->Host, Mdl);
    KeNoteUnwritten(&System->Ke, Kernel->Source, Mdl->Unwritten);
}

NTSTATUS
ExpStartProfile(KSYSTEM *System, EPROFILE *Profile)
{
    const HOST *const Host = &System->Host;
    KPROFILE *Kernel;
    NTSTATUS Status;

    ExpNoticeEnd(System, Profile);
    if (ExNoticeHalt(System)) {
        return STATUS_SYSTEM_SHUTDOWN; /* the process's last hits halted it */
    }
    if (Profile->ProfileObject != NULL) {
        return STATUS_PROFILING_NOT_STOPPED;
    }
    if (System->Version->StartLimitPerProcessor != 0 &&
        System->StartedCount >= ExStartLimit(System)) {
        return STATUS_PROFILING_AT_LIMIT;
    }
    Kernel = HostAllocate(Host, ExpKernelProfileBytes);
    if (Kernel == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    Status = MmLockAndMap(Host, KeProfileMdl(Kernel), Profile->Buffer,
                          ExpBytesToLock(System, Profile), System->Abi.MostMdlBytes);
    if (!NT_SUCCESS(Status)) {
        goto free_kernel;
    }
    ExpActOnAffinity(System, Profile);
    ExpFillKernelProfile(System, Profile, Kernel);
    Status = KeStartProfile(&System->Ke, Kernel);
    if (!NT_SUCCESS(Status)) {
        goto unlock_buffer;
    }
    /* A start delivers nothing, so no notification has started it meanwhile. */
    RTL_ASSERT(Kernel->Started && Profile->ProfileObject == NULL);
    Profile->ProfileObject = Kernel;
    Profile->LockedBuffer = Kernel->Buffer;
    ExpListStarted(System, Profile);
    return STATUS_SUCCESS;

unlock_buffer:
    ExpGiveBackBuffer(System, Kernel);
free_kernel:
    HostFree(Host, Kernel, ExpKernelProfileBytes);
    return Status;
}

NTSTATUS
ExpStopProfile(KSYSTEM *System, EPROFILE *Profile)
{
    KPROFILE *const Kernel = Profile->ProfileObject;

    if (Kernel == NULL) {
        return STATUS_PROFILING_NOT_STARTED;
    }
    RTL_ASSERT(Kernel->Started && System->StartedCount > 0 &&
               Profile->LockedBuffer == Kernel->Buffer);
    KeStopProfile(&System->Ke, Kernel);
    System->StartedCount--;
    RemoveEntryList(&Profile->StartedLinks);
    Profile->ProfileObject = NULL;
    Profile->LockedBuffer = NULL;
    ExpGiveBackBuffer(System, Kernel);
    HostFree(&System->Host, Kernel, ExpKernelProfileBytes);
    return STATUS_SUCCESS;
}

/* The profile behind a handle that may control it, with a reference for the caller. */
static NTSTATUS
ExpReferenceProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE ProfileHandle,
                    void **Profile)
{
    if (ExpIsCurrentProcess(System, ProfileHandle)) {
        return STATUS_OBJECT_TYPE_MISMATCH;
    }
    return ObReferenceObjectByHandle(&System->Ob, ProfileHandle, &System->ProfileType,
                                     Mode, PROFILE_CONTROL, Profile);
}

/* Does NtStartProfile and NtStopProfile, which differ only in Work. */
static NTSTATUS
ExpOnProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE ProfileHandle,
             NTSTATUS (*Work)(KSYSTEM *System, EPROFILE *Profile))
{
    void *Profile;
    NTSTATUS Status = ExpEnter(System, /* Known */ TRUE);

    /* A wrong handle costs nothing: the hits of all processors are read only for a
     * right one. */
    if (NT_SUCCESS(Status)) {
        Status = ExpReferenceProfile(System, Mode, ProfileHandle, &Profile);
    }
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    ObDereferenceObject(&System->Ob, Profile);
    /* This may deliver notifications that change any object, also the handle. */
    KeFlushHits(&System->Ke);
    Status = ExpEnter(System, /* Known */ TRUE);
    if (NT_SUCCESS(Status)) {
        Status = ExpReferenceProfile(System, Mode, ProfileHandle, &Profile);
    }
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = Work(System, Profile);
    ObDereferenceObject(&System->Ob, Profile);
    return Status;
}

NTSTATUS
ExStartProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE ProfileHandle)
{
    return ExpOnProfile(System, Mode, ProfileHandle, ExpStartProfile);
}

NTSTATUS
ExStopProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE ProfileHandle)
{
    return ExpOnProfile(System, Mode, ProfileHandle, ExpStopProfile);
}

BOOLEAN
ExFlushBuffers(KSYSTEM *System)
{
    BOOLEAN Flushed = FALSE;

    for (LIST_ENTRY *Entry = System->StartedProfiles.Flink;
         Entry != &System->StartedProfiles; Entry = Entry->Flink) {
        EPROFILE *const Profile = CONTAINING_RECORD(Entry, EPROFILE, StartedLinks);
        MDL *const Mdl = KeProfileMdl(Profile->ProfileObject);

        if (Mdl->Live) {
            break;
        }
        MmFlush(&System->Host, Mdl);
        Flushed = TRUE;
    }
    return Flushed;
}

void
ExFlushProfiles(KSYSTEM *System)
{
    KeFlushHits(&System->Ke);
    (void)ExFlushBuffers(System);
}

BOOLEAN
ExNoticeHalt(KSYSTEM *System)
{
    if (!KeQueryHalt(&System->Ke, NULL)) {
        return FALSE;
    }
    while (!IsListEmpty(&System->StartedProfiles)) {
        (void)ExpStopProfile(System, CONTAINING_RECORD(System->StartedProfiles.Flink,
                                                       EPROFILE, StartedLinks));
    }
    return TRUE;
}
