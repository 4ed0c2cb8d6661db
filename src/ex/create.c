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

/* EXP_CREATION - a create call, while its checks are made. */
typedef struct _EXP_CREATION {
    EX_CREATE_PROFILE P;            /* a copy: ExpConvertSegment changes it */
    const EX_HANDLE_TABLE *Handles; /* complete */
    const GROUP_AFFINITY *OwnGroup; /* instead of P's array; or NULL */
    ULONG Segment;                  /* set by ExpConvertSegment */
    EXP_AFFINITY Affinity;          /* set by ExpBuildAffinity */
} EXP_CREATION;

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
                       System->Ke.BugCheckAddress},
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
                  const GROUP_AFFINITY *OwnGroup, BOOLEAN WantsHandle)
{
    const ULONG64 ArrayBytes =
        OwnGroup != NULL
            ? 0
            : (ULONG64)P->GroupCount * ExpLayout(System, Mode)->GroupAffinityBytes;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Mode == KernelMode) {
        return STATUS_SUCCESS;
    }
    if (WantsHandle) {
        Status = ExpCheck(System, EX_CHECK_HANDLE_ADDRESS,
                          ExpProbeHandle(System, Mode, P->ProfileHandle));
    }
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

/* Makes the object, with one reference. Process is referenced, or NULL. */
static NTSTATUS
ExpMakeProfile(KSYSTEM *System, const EX_CREATE_PROFILE *P, EPROCESS *Process,
               ULONG Segment, const EXP_AFFINITY *Affinity, EPROFILE **Profile)
{
    const SIZE_T AffinityBytes = Affinity->WordCount * sizeof(ULONG64);
    void *Body;
    EPROFILE *Made;
    const NTSTATUS Status = ObCreateObject(&System->Ob, &System->ProfileType,
                                           sizeof(EPROFILE) + AffinityBytes, &Body);

    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    System->ProfileCount++;
    Made = Body;
    InsertTailList(&System->Profiles, &Made->Links);
    if (Process != NULL) {
        ObReferenceObject(Process);
        Made->Process = Process;
    }
    Made->RangeBase = P->ProfileBase;
    Made->RangeSize = P->ProfileSize;
    Made->Buffer = P->Buffer;
    Made->BufferSize = P->BufferSize;
    Made->BucketSize = P->BucketSize;
    Made->Segment = Segment;
    Made->ProfileSource = P->ProfileSource;
    Made->AffinityMask = P->Affinity;
    Made->AffinityWords = Affinity->WordCount;
    RtlCopyMemory(Made->Affinity, Affinity->Words, AffinityBytes);
    *Profile = Made;
    return STATUS_SUCCESS;
}

/* Makes the handle, which takes over the reference, and writes it to the caller. */
static NTSTATUS
ExpMakeHandle(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG64 HandleAddress,
              const EX_HANDLE_TABLE *Handles, EPROFILE *Profile)
{
    HANDLE Handle;
    NTSTATUS Status;

    if (Handles->InsertHandle == NULL) {
        return STATUS_SUCCESS;
    }
    Status = Handles->InsertHandle(Handles->Context, Profile, PROFILE_CONTROL, &Handle);
    if (!NT_SUCCESS(Status)) {
        ObDereferenceObject(&System->Ob, Profile);
        return Status;
    }
    Status = ExpWriteHandle(System, Mode, Handle, HandleAddress);
    if (!NT_SUCCESS(Status)) {
        Handles->CloseHandle(Handles->Context, Handle);
    }
    return Status;
}

/* Makes the object and a handle to it. *Profile is the object; Profile may be NULL. */
static NTSTATUS
ExpMakeObjects(KSYSTEM *System, KPROCESSOR_MODE Mode, const EXP_CREATION *Creation,
               EPROCESS *Process, EPROFILE **Profile)
{
    EPROFILE *Made;
    NTSTATUS Status = ExpMakeProfile(System, &Creation->P, Process, Creation->Segment,
                                     &Creation->Affinity, &Made);

    if (NT_SUCCESS(Status)) {
        Status = ExpMakeHandle(System, Mode, Creation->P.ProfileHandle,
                               Creation->Handles, Made);
    }
    if (NT_SUCCESS(Status) && Profile != NULL) {
        *Profile = Made;
    }
    return Status;
}

/* Finds the process of a handle, with a reference for the caller. Without a function
 * for that, Handle is the process object itself. *Process is NULL for all processes. */
static NTSTATUS
ExpFindProcess(KPROCESSOR_MODE Mode, HANDLE Handle, const EX_HANDLE_TABLE *Handles,
               EPROCESS **Process)
{
    *Process = NULL;
    if (Handle == NULL) {
        return STATUS_SUCCESS;
    }
    if (Handles->ReferenceProcess != NULL) {
        return Handles->ReferenceProcess(Handles->Context, Mode, Handle, Process);
    }
    *Process = (EPROCESS *)Handle;
    ObReferenceObject(*Process);
    return STATUS_SUCCESS;
}

static NTSTATUS
ExpCreateProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, EXP_CREATION *Creation,
                 EPROFILE **Profile)
{
    EX_CREATE_PROFILE *const P = &Creation->P;
    EPROCESS *Process;
    NTSTATUS Status;

    if (((P->ProfileBase | P->ProfileSize) & ~System->Abi.AddressMask) != 0) {
        /* No caller of this word size can pass it. */
        return ExpCheck(System, EX_CHECK_PARAMETER_WIDTH, STATUS_INVALID_PARAMETER);
    }
    Status = ExpCheckRegion(System, P, &Creation->Segment);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpProbeAddresses(System, Mode, P, Creation->OwnGroup,
                               Creation->Handles->InsertHandle != NULL);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpCheck(
        System, EX_CHECK_AFFINITY,
        ExpBuildAffinity(System, Mode, P, Creation->OwnGroup, &Creation->Affinity));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpCheck(System, EX_CHECK_PROCESS,
                      ExpFindProcess(Mode, P->Process, Creation->Handles, &Process));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpCheckRights(System, Mode, P, Creation->Segment);
    if (NT_SUCCESS(Status)) {
        Status = ExpCheck(System, EX_CHECK_RESOURCES,
                          ExpMakeObjects(System, Mode, Creation, Process, Profile));
    }
    ObDereferenceObject(&System->Ob, Process);
    return Status;
}

/* ---- what differs between NT's calls ---- */

/* NtCreateProfile: a mask of the caller's own group. */
static NTSTATUS
ExpConvertAffinity(KSYSTEM *System, EX_CREATE_PROFILE *P, GROUP_AFFINITY *Group)
{
    const HOST *const Host = &System->Host;
    const KAFFINITY Affinity = P->Affinity;

    if (Affinity != ~(KAFFINITY)0 && (Affinity & ~System->Abi.AddressMask) != 0) {
        return ExpCheck(System, EX_CHECK_PARAMETER_WIDTH, STATUS_INVALID_PARAMETER);
    }
    *Group = (GROUP_AFFINITY){.Mask = Affinity};
    /* All ones, as wide as the caller's, are all active processors of the group. */
    if (System->Wow64) {
        Group->Mask = (ULONG)Affinity; /* the 32-bit caller's, extended with zeros */
    } else if ((Affinity & System->Abi.AddressMask) ==
               (~(KAFFINITY)0 & System->Abi.AddressMask)) {
        Group->Mask = ~(KAFFINITY)0;
    }
    P->Affinity = Group->Mask;
    Group->Group = Host->Table->CurrentGroup(Host->Context);
    if (Group->Mask == ~(KAFFINITY)0) {
        Group->Mask = Host->Table->ActiveProcessors(Host->Context, Group->Group);
    }
    return STATUS_SUCCESS;
}

static BOOLEAN
ExpHasService(const KSYSTEM *System, ULONG Service)
{
    if (Service == EX_CREATE_PROFILE_EX) {
        return System->Version->HasGroups;
    }
    return System->Version->HasSources == (Service == EX_CREATE_PROFILE_AFFINITY);
}

/* Creates a profile by one of the services (EX_CREATE_PROFILE_...), whose parameters
 * become those of NtCreateProfileEx. Handles has all members. */
static NTSTATUS
ExpCreateByService(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG Service,
                   const EX_CREATE_PROFILE *P, const EX_HANDLE_TABLE *Handles,
                   EPROFILE **Profile)
{
    const ULONG Groups = System->Host.Table->GroupCount(System->Host.Context);
    EXP_CREATION Creation = {.P = *P, .Handles = Handles};
    GROUP_AFFINITY Group = {0}; /* a version without groups ignores it */
    NTSTATUS Status = ExpEnter(System, ExpHasService(System, Service));

    System->FailedCheck = EX_CHECK_NONE;
    Creation.Affinity.WordCount = Groups < EX_MOST_GROUPS ? Groups : EX_MOST_GROUPS;
    if (NT_SUCCESS(Status) && Service == EX_CREATE_PROFILE_AFFINITY) {
        Status = ExpConvertAffinity(System, &Creation.P, &Group);
    }
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (Service != EX_CREATE_PROFILE_EX) {
        Creation.OwnGroup = &Group;
    }
    if (Service == EX_CREATE_PROFILE_310) {
        Creation.P.ProfileSource = ProfileTime;
        Creation.P.Affinity = 0;
    }
    return ExpCreateProfile(System, Mode, &Creation, Profile);
}

/* ---- services ---- */

NTSTATUS
ExCreateProfileObject(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG Service,
                      const EX_CREATE_PROFILE *P, const EX_HANDLE_TABLE *Handles,
                      EPROFILE **Profile)
{
    static const EX_HANDLE_TABLE None = {.Size = sizeof(None)};

    if (Handles == NULL) {
        Handles = &None;
    }
    /* Without a handle table, Profile is all that the caller gets. */
    if (Service > EX_CREATE_PROFILE_310 || Handles->Size < sizeof(*Handles) ||
        (Handles->InsertHandle == NULL) != (Handles->CloseHandle == NULL) ||
        (Handles->InsertHandle == NULL && Profile == NULL)) {
        return STATUS_INVALID_PARAMETER;
    }
    return ExpCreateByService(System, Mode, Service, P, Handles, Profile);
}

NTSTATUS
ExCreateProfileEx(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P)
{
    return ExpCreateByService(System, Mode, EX_CREATE_PROFILE_EX, P, &System->Handles,
                              NULL);
}

NTSTATUS
ExCreateProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P,
                KAFFINITY Affinity)
{
    EX_CREATE_PROFILE Request = *P;

    Request.Affinity = Affinity;
    return ExpCreateByService(System, Mode, EX_CREATE_PROFILE_AFFINITY, &Request,
                              &System->Handles, NULL);
}

NTSTATUS
ExCreateProfile310(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P)
{
    return ExpCreateByService(System, Mode, EX_CREATE_PROFILE_310, P, &System->Handles,
                              NULL);
}
