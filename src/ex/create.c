/* SPDX-License-Identifier: MIT */
/*
 * ex/create.c - NtCreateProfile(Ex): every check in NT's order, then the object.
 * docs/behaviour.md, Create.
 *
 * Level: passive. The functions below stand in the order in which they are called.
 */
#include "ex/exp.h"
#include "ke/bucket.h"
#include "mm/mm.h"
#include "rtl/memory.h"

#if UINTPTR_MAX > 0xFFFFFFFFu
static const ULONG64 ExpAddressMask = ~(ULONG64)0;
#else
static const ULONG64 ExpAddressMask = 0xFFFFFFFFu;
#endif

/* Checks 1 to 6: arithmetic, and a source that the HAL has. */
static NTSTATUS
ExpCheckRegion(KSYSTEM *System, const EX_CREATE_PROFILE *P)
{
    HAL_SOURCE Source;

    if (P->BufferSize == 0) {
        return STATUS_INVALID_PARAMETER_7;
    }
    if (P->BucketSize < PROFILE_BUCKET_LOG2_MIN ||
        P->BucketSize > PROFILE_BUCKET_LOG2_MAX) {
        return STATUS_INVALID_PARAMETER;
    }
    if (!KiBucketsFit(P->ProfileSize, P->BucketSize, P->BufferSize)) {
        return STATUS_BUFFER_TOO_SMALL;
    }
    /* As NT has it, a region that ends exactly at the top of the address space fails too. */
    if (((P->ProfileBase + P->ProfileSize) & ExpAddressMask) < P->ProfileSize) {
        return STATUS_BUFFER_OVERFLOW;
    }
    System->Hal.Table->QuerySource(System->Hal.Context, P->ProfileSource, &Source);
    return Source.Supported ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED;
}

/* Check 8: the addresses of a user-mode caller. */
static NTSTATUS
ExpProbeAddresses(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P,
                  const GROUP_AFFINITY *OwnGroup)
{
    const ULONG64 ArrayBytes =
        OwnGroup != NULL ? 0 : P->GroupCount * sizeof(GROUP_AFFINITY);
    NTSTATUS Status;

    if (Mode == KernelMode) {
        return STATUS_SUCCESS;
    }
    Status = ExpProbeHandle(System, Mode, P->ProfileHandle);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = MmProbeForWrite(&System->Host, P->Buffer, P->BufferSize, sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    return MmProbeForRead(&System->Host, P->AffinityArray, ArrayBytes, sizeof(ULONG));
}

/* Checks 11 and 12: all processes, and kernel space. */
static NTSTATUS
ExpCheckRights(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P)
{
    const HOST *const Host = &System->Host;
    const ULONG64 KernelStart = Host->Table->SystemRangeStart;
    const ULONG64 Last =
        P->ProfileSize != 0 ? P->ProfileBase + (P->ProfileSize - 1) : P->ProfileBase;

    if (P->Process == NULL && P->ProfileBase <= Host->Table->HighestUserAddress &&
        !SeHasSystemProfilePrivilege(Host, Mode)) {
        return STATUS_PRIVILEGE_NOT_HELD;
    }
    if (Last >= KernelStart && SeIsRestrictedCaller(Host, Mode)) {
        return STATUS_ACCESS_DENIED;
    }
    return STATUS_SUCCESS;
}

/* Check 13: the object, and a handle to it. Process is referenced, or NULL. */
static NTSTATUS
ExpMakeProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P,
               EPROCESS *Process, const ULONG64 *Affinity, ULONG AffinityWords)
{
    void *Body;
    EPROFILE *Profile;
    NTSTATUS Status =
        ObCreateObject(&System->Ob, &System->ProfileType,
                       sizeof(EPROFILE) + AffinityWords * sizeof(ULONG64), &Body);

    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    System->ProfileCount++;
    Profile = Body;
    if (Process != NULL) {
        ObReferenceObject(Process);
        Profile->Process = Process;
    }
    Profile->RangeBase = P->ProfileBase;
    Profile->RangeSize = P->ProfileSize;
    Profile->Buffer = P->Buffer;
    Profile->BufferSize = P->BufferSize;
    Profile->BucketSize = P->BucketSize;
    Profile->ProfileSource = P->ProfileSource;
    Profile->AffinityWords = AffinityWords;
    RtlCopyMemory(Profile->Affinity, Affinity, AffinityWords * sizeof(ULONG64));

    Status = ExpOpenHandle(System, Mode, Profile, PROFILE_CONTROL, P->ProfileHandle);
    ObDereferenceObject(&System->Ob, Profile);
    return Status;
}

static NTSTATUS
ExpCreateProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P,
                 const GROUP_AFFINITY *OwnGroup)
{
    const ULONG Groups = System->Host.Table->GroupCount(System->Host.Context);
    const ULONG Words = Groups < EXP_MOST_GROUPS ? Groups : EXP_MOST_GROUPS;
    ULONG64 Affinity[EXP_MOST_GROUPS] = {0};
    EPROCESS *Process = NULL;
    NTSTATUS Status = ExpCheckRegion(System, P);

    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpProbeAddresses(System, Mode, P, OwnGroup);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpBuildAffinity(System, Mode, P, OwnGroup, Affinity, Words);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (P->Process != NULL) {
        Status = ExReferenceProcess(System, P->Process, &Process);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
    Status = ExpCheckRights(System, Mode, P);
    if (NT_SUCCESS(Status)) {
        Status = ExpMakeProfile(System, Mode, P, Process, Affinity, Words);
    }
    ObDereferenceObject(&System->Ob, Process);
    return Status;
}

NTSTATUS
ExCreateProfileEx(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P)
{
    return ExpCreateProfile(System, Mode, P, NULL);
}

NTSTATUS
ExCreateProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P,
                KAFFINITY Affinity)
{
    const HOST *const Host = &System->Host;
    GROUP_AFFINITY Group = {.Mask = Affinity};

    Group.Group = Host->Table->CurrentGroup(Host->Context);
    if (Affinity == ~(KAFFINITY)0) {
        Group.Mask = Host->Table->ActiveProcessors(Host->Context, Group.Group);
    }
    return ExpCreateProfile(System, Mode, P, &Group);
}
