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

enum { EXP_SELECTORS = 0x10000 };

/* ---- checks of the region ---- */

/* floor(log2); 0 for 0. */
static ULONG
ExpLog2(ULONG Number)
{
    ULONG Log2 = 0;

    while (Number > 1) {
        Number >>= 1;
        Log2++;
    }
    return Log2;
}

/* Halts the session as the fault would halt Windows: NT divides by the number of
 * counters before it checks it. */
static NTSTATUS
ExpDivideByZero(KSYSTEM *System)
{
    const KE_HALT Halt = {
        .Kind = KE_HALT_BUG_CHECK,
        .Code = KE_KMODE_EXCEPTION_NOT_HANDLED,
        .Parameters = {(ULONG)STATUS_INTEGER_DIVIDE_BY_ZERO,
                       (ULONG64)(ULONG_PTR)&ExpDivideByZero},
    };

    KeHalt(&System->Ke, &Halt);
    (void)ExNoticeHalt(System);
    return STATUS_SYSTEM_SHUTDOWN;
}

/* BucketSize 0 and a small ProfileBase are a segment, whose buckets NT chooses: changes
 * P accordingly. *Segment is its selector, or 0. Rules create-segment,
 * create-segment-bucket, create-segment-short-buffer-old and
 * create-segment-division. */
static NTSTATUS
ExpConvertSegment(KSYSTEM *System, EX_CREATE_PROFILE *P, ULONG *Segment)
{
    const ULONG Counters = P->BufferSize / KI_COUNTER_BYTES;
    ULONG BytesEach;

    *Segment = 0;
    if (!System->Abi.Segments || P->BucketSize != 0 ||
        P->ProfileBase >= EXP_SELECTORS) {
        return STATUS_SUCCESS;
    }
    if (Counters == 0) {
        if (System->Version->RefusesShortSegmentBuffer) {
            return ExpCheck(System, EX_CHECK_SEGMENT_BUFFER,
                            STATUS_INVALID_PARAMETER_7);
        }
        return System->Version->RefusesEmptyBuffer ? STATUS_SUCCESS
                                                   : ExpDivideByZero(System);
    }
    /* As published, in 32 bits: a region smaller than the number of counters gives
     * BucketSize 32, which create-bucket-range refuses. The division may give one
     * counter too few (create-segment-rounding), which create-buffer-too-small
     * finds. */
    BytesEach = (ULONG)P->ProfileSize / Counters;
    P->BucketSize = ExpLog2(BytesEach - 1) + 1;
    if (P->BucketSize < PROFILE_BUCKET_LOG2_MIN) {
        P->BucketSize = PROFILE_BUCKET_LOG2_MIN;
    }
    *Segment = (ULONG)P->ProfileBase;
    P->ProfileBase = 0;
    return STATUS_SUCCESS;
}

/* Does the buffer have a counter for each bucket? Rule create-buffer-too-small. The
 * defective check, create-buffer-too-small-defect, compares quarters of buckets with
 * bytes, and ignores a partial bucket. */
static BOOLEAN
ExpBucketsFit(const KSYSTEM *System, const EX_CREATE_PROFILE *P)
{
    if (System->Version->ForgetsPartialBucket) {
        return P->ProfileSize >> (P->BucketSize - PROFILE_BUCKET_LOG2_MIN) <=
               P->BufferSize;
    }
    return KiBucketsFit(P->ProfileSize, P->BucketSize, P->BufferSize);
}

/* Makes the checks from create-buffer-size-zero to create-source-unsupported:
 * arithmetic, and whether the HAL has the source. Changes P for a segment. */
static NTSTATUS
ExpCheckRegion(KSYSTEM *System, EX_CREATE_PROFILE *P, ULONG *Segment)
{
    const ULONG64 AddressMask = System->Abi.AddressMask;
    const BOOLEAN IsSegment =
        System->Abi.Segments && P->BucketSize == 0 && P->ProfileBase < EXP_SELECTORS;
    HAL_SOURCE Source;
    NTSTATUS Status;

    if (P->BufferSize == 0 && System->Version->RefusesEmptyBuffer) {
        return ExpCheck(System, EX_CHECK_BUFFER_SIZE, STATUS_INVALID_PARAMETER_7);
    }
    Status = ExpConvertSegment(System, P, Segment);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (P->BucketSize < System->BucketSizeMinimum ||
        P->BucketSize > PROFILE_BUCKET_LOG2_MAX) {
        return ExpCheck(System, IsSegment ? EX_CHECK_SEGMENT_BUCKET : EX_CHECK_BUCKET,
                        STATUS_INVALID_PARAMETER);
    }
    if (!ExpBucketsFit(System, P)) {
        return ExpCheck(System, EX_CHECK_COUNTERS, STATUS_BUFFER_TOO_SMALL);
    }
    /* As NT has it, a region that ends exactly at the top of the address space fails
     * too. */
    if (((P->ProfileBase + P->ProfileSize) & AddressMask) < P->ProfileSize) {
        return ExpCheck(System, EX_CHECK_REGION, STATUS_BUFFER_OVERFLOW);
    }
    if (!System->Version->ChecksSource) {
        return STATUS_SUCCESS;
    }
    System->Hal.Table->QuerySource(System->Hal.Context, P->ProfileSource, &Source);
    return ExpCheck(System, EX_CHECK_SOURCE,
                    Source.Supported ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED);
}

/* Probes the addresses of a user-mode caller: rules create-handle-pointer,
 * create-buffer-alignment, create-buffer-pointer, and of AffinityArray
 * create-affinity-alignment and create-affinity-pointer. */
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
    Status = ExpCheck(System, EX_CHECK_HANDLE_ADDRESS,
                      ExpProbeHandle(System, Mode, P->ProfileHandle));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpCheck(
        System, EX_CHECK_BUFFER_ADDRESS,
        MmProbeForWrite(&System->Host, P->Buffer, P->BufferSize, sizeof(ULONG)));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    return ExpCheck(
        System, EX_CHECK_ARRAY_ADDRESS,
        MmProbeForRead(&System->Host, P->AffinityArray, ArrayBytes, sizeof(ULONG)));
}

/* ---- rights ---- */

/* Checks the rights to profile all processes, and kernel space: rules
 * create-segment-global, create-global-privilege and create-restricted. */
static NTSTATUS
ExpCheckRights(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P,
               ULONG Segment)
{
    const HOST *const Host = &System->Host;
    const ULONG64 Last =
        P->ProfileSize != 0 ? P->ProfileBase + (P->ProfileSize - 1) : P->ProfileBase;
    NTSTATUS Status = STATUS_SUCCESS;

    if (P->Process == NULL && Segment != 0) {
        return ExpCheck(System, EX_CHECK_SEGMENT_PROCESS, STATUS_INVALID_PARAMETER);
    }
    if (P->Process == NULL && P->ProfileBase <= System->Abi.HighestUserAddress) {
        Status = ExpCheck(System, EX_CHECK_PRIVILEGE,
                          SeCheckSystemProfilePrivilege(Host, Mode));
    }
    if (NT_SUCCESS(Status) && Last >= System->Abi.SystemRangeStart) {
        Status = ExpCheck(
            System,
            P->Process == NULL ? EX_CHECK_GLOBAL_KERNEL_SPACE : EX_CHECK_KERNEL_SPACE,
            SeCheckRestrictedCaller(Host, Mode, System->Version->RestrictedRule));
    }
    return Status;
}

/* ---- the profile ---- */

/* Check 13: the object, and a handle to it. Process is referenced, or NULL. */
static NTSTATUS
ExpMakeProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P,
               EPROCESS *Process, ULONG Segment, const ULONG64 *Affinity,
               ULONG AffinityWords)
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
    Profile->Segment = Segment;
    Profile->ProfileSource = P->ProfileSource;
    Profile->AffinityMask = P->Affinity;
    Profile->AffinityWords = AffinityWords;
    RtlCopyMemory(Profile->Affinity, Affinity, AffinityWords * sizeof(ULONG64));

    Status = ExpOpenHandle(System, Mode, Profile, PROFILE_CONTROL, P->ProfileHandle);
    ObDereferenceObject(&System->Ob, Profile);
    return Status;
}

/* P is a copy: check 2 changes it. */
static NTSTATUS
ExpCreateProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, EX_CREATE_PROFILE P,
                 const GROUP_AFFINITY *OwnGroup)
{
    const ULONG Groups = System->Host.Table->GroupCount(System->Host.Context);
    const ULONG Words = Groups < EXP_MOST_GROUPS ? Groups : EXP_MOST_GROUPS;
    ULONG64 Affinity[EXP_MOST_GROUPS] = {0};
    EPROCESS *Process = NULL;
    ULONG Segment;
    NTSTATUS Status;

    if (((P.ProfileBase | P.ProfileSize) & ~System->Abi.AddressMask) != 0) {
        /* No caller of this word size can pass it. */
        return ExpCheck(System, EX_CHECK_PARAMETER_WIDTH, STATUS_INVALID_PARAMETER);
    }
    Status = ExpCheckRegion(System, &P, &Segment);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpProbeAddresses(System, Mode, &P, OwnGroup);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpCheck(System, EX_CHECK_AFFINITY,
                      ExpBuildAffinity(System, Mode, &P, OwnGroup, Affinity, Words));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (P.Process != NULL) {
        Status = ExpCheck(System, EX_CHECK_PROCESS,
                          ExReferenceProcess(System, Mode, P.Process, &Process));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
    Status = ExpCheckRights(System, Mode, &P, Segment);
    if (NT_SUCCESS(Status)) {
        Status = ExpCheck(
            System, EX_CHECK_RESOURCES,
            ExpMakeProfile(System, Mode, &P, Process, Segment, Affinity, Words));
    }
    ObDereferenceObject(&System->Ob, Process);
    return Status;
}

/* ---- services ---- */

NTSTATUS
ExCreateProfileEx(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P)
{
    const NTSTATUS Status = ExpEnter(System, System->Version->HasGroups);

    System->FailedCheck = EX_CHECK_NONE;
    return NT_SUCCESS(Status) ? ExpCreateProfile(System, Mode, *P, NULL) : Status;
}

NTSTATUS
ExCreateProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P,
                KAFFINITY Affinity)
{
    const HOST *const Host = &System->Host;
    EX_CREATE_PROFILE Old = *P;
    GROUP_AFFINITY Group = {.Mask = Affinity};
    const NTSTATUS Status = ExpEnter(System, System->Version->HasSources);

    System->FailedCheck = EX_CHECK_NONE;
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (Affinity != ~(KAFFINITY)0 && (Affinity & ~System->Abi.AddressMask) != 0) {
        return ExpCheck(System, EX_CHECK_PARAMETER_WIDTH, STATUS_INVALID_PARAMETER);
    }
    if (System->Wow64) {
        Group.Mask = (ULONG)Affinity; /* the 32-bit caller's, extended with zeros */
    } else if ((Affinity & System->Abi.AddressMask) ==
               (~(KAFFINITY)0 & System->Abi.AddressMask)) {
        Group.Mask = ~(KAFFINITY)0;
    }
    Old.Affinity = Group.Mask;
    Group.Group = Host->Table->CurrentGroup(Host->Context);
    if (Group.Mask == ~(KAFFINITY)0) {
        Group.Mask = Host->Table->ActiveProcessors(Host->Context, Group.Group);
    }
    return ExpCreateProfile(System, Mode, Old, &Group);
}

NTSTATUS
ExCreateProfile310(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P)
{
    const GROUP_AFFINITY Group = {0}; /* a version without groups ignores it */
    EX_CREATE_PROFILE Old = *P;
    const NTSTATUS Status = ExpEnter(System, !System->Version->HasSources);

    System->FailedCheck = EX_CHECK_NONE;
    Old.ProfileSource = ProfileTime;
    Old.Affinity = 0;
    return NT_SUCCESS(Status) ? ExpCreateProfile(System, Mode, Old, &Group) : Status;
}
