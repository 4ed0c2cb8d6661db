/* SPDX-License-Identifier: MIT */
/*
 * ex/object.c - profile objects without handles, for embedders that have handles of
 * their own. ExCreateProfileObject is in create.c. Level: passive.
 */
#include "ex/exp.h"

/* A flush delivers hits, and notifications whose callbacks may change any object; the
 * caller's reference keeps Profile. */
static NTSTATUS
ExpOnObject(KSYSTEM *System, EPROFILE *Profile,
            NTSTATUS (*Work)(KSYSTEM *System, EPROFILE *Profile))
{
    NTSTATUS Status = ExpEnter(System, /* Known */ TRUE);

    if (NT_SUCCESS(Status)) {
        KeFlushHits(&System->Ke);
        Status = ExpEnter(System, /* Known */ TRUE);
    }
    return NT_SUCCESS(Status) ? Work(System, Profile) : Status;
}

NTSTATUS
ExStartProfileObject(KSYSTEM *System, EPROFILE *Profile)
{
    return ExpOnObject(System, Profile, ExpStartProfile);
}

NTSTATUS
ExStopProfileObject(KSYSTEM *System, EPROFILE *Profile)
{
    return ExpOnObject(System, Profile, ExpStopProfile);
}

void
ExReferenceObject(void *Object)
{
    ObReferenceObject(Object);
}

void
ExDereferenceObject(KSYSTEM *System, void *Object)
{
    if (System->StartedCount != 0) {
        KeFlushHits(&System->Ke); /* it may be the last one of a started profile */
    }
    ObDereferenceObject(&System->Ob, Object);
}

EPROFILE *
ExNextProfileObject(KSYSTEM *System, const EPROFILE *Previous)
{
    const LIST_ENTRY *const Head = &System->Profiles;
    LIST_ENTRY *const Next = Previous != NULL ? Previous->Links.Flink : Head->Flink;

    return Next != Head ? CONTAINING_RECORD(Next, EPROFILE, Links) : NULL;
}

/* The processors, one element for each group that has any. */
static void
ExpFillGroups(const EPROFILE *Profile, EX_PROFILE_INFORMATION *Information)
{
    USHORT Count = 0;

    for (ULONG Word = 0; Word < Profile->AffinityWords; Word++) {
        if (Profile->Affinity[Word] != 0) {
            Information->Groups[Count].Mask = (KAFFINITY)Profile->Affinity[Word];
            Information->Groups[Count].Group = (USHORT)Word;
            Count++;
        }
    }
    Information->Parameters.GroupCount = Count;
}

static ULONG
ExpServiceOf(const KSYSTEM *System)
{
    if (System->Version->HasGroups) {
        return EX_CREATE_PROFILE_EX;
    }
    return System->Version->HasSources ? EX_CREATE_PROFILE_AFFINITY
                                       : EX_CREATE_PROFILE_310;
}

NTSTATUS
ExQueryProfileObject(KSYSTEM *System, const EPROFILE *Profile,
                     EX_PROFILE_INFORMATION *Information)
{
    if (Information->Size < sizeof(*Information)) {
        return STATUS_INFO_LENGTH_MISMATCH;
    }
    Information->Service = ExpServiceOf(System);
    Information->ProcessId =
        Profile->Process != NULL ? Profile->Process->Pcb.ProcessId : 0;
    Information->ProcessEnded = Profile->Process != NULL && Profile->Process->Pcb.Ended;
    Information->Started = Profile->ProfileObject != NULL;
    Information->StartSequence =
        Profile->ProfileObject != NULL ? Profile->ProfileObject->Sequence : 0;
    Information->Parameters = (EX_CREATE_PROFILE){
        .ProfileBase = Profile->RangeBase,
        .ProfileSize = Profile->RangeSize,
        .BucketSize = Profile->BucketSize,
        .Buffer = Profile->Buffer,
        .BufferSize = Profile->BufferSize,
        .ProfileSource = Profile->ProfileSource,
        .Affinity = Profile->AffinityMask,
    };
    if (Profile->Segment != 0) {
        /* As the caller passed it: the bucket size follows from the rest. */
        Information->Parameters.ProfileBase = Profile->Segment;
        Information->Parameters.BucketSize = 0;
    }
    if (Information->Service == EX_CREATE_PROFILE_EX) {
        ExpFillGroups(Profile, Information);
    }
    return STATUS_SUCCESS;
}
