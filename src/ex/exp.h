/* SPDX-License-Identifier: MIT */
/* ex/exp.h - functions and types within ex. */
#ifndef EX_EXP_H
#define EX_EXP_H

#include "ex/ex.h"
#include "ex/layout.h"
#include "ex/version.h"

/* EPROFILE - the body of a profile object: the parameters, and the state while it is
 * started. */
struct _EPROFILE {
    LIST_ENTRY Links;  /* KSYSTEM.Profiles */
    EPROCESS *Process; /* referenced; NULL: all processes */
    ULONG64 RangeBase;
    ULONG64 RangeSize;
    ULONG64 Buffer; /* caller's address */
    ULONG BufferSize;
    ULONG BucketSize;        /* log2 */
    KPROFILE *ProfileObject; /* while started */
    void *LockedBuffer;      /* system address while started */
    ULONG Segment;           /* code selector; 0: the region is in the address space */
    KPROFILE_SOURCE ProfileSource;
    KAFFINITY AffinityMask;  /* as passed, for versions in which only a start evaluates
                              * it */
    LIST_ENTRY StartedLinks; /* KSYSTEM.StartedProfiles, while started */
    ULONG AffinityWords;
    ULONG64 Affinity[]; /* AffinityWords of 64 processors */
};

/* ExpStartProfile, ExpStopProfile - NtStartProfile and NtStopProfile for an object.
 */
NTSTATUS ExpStartProfile(KSYSTEM *System, EPROFILE *Profile);
NTSTATUS ExpStopProfile(KSYSTEM *System, EPROFILE *Profile);

/* ExpTakeTables - copy the embedder's tables, as far as their sizes go.
 * ExFindTableFault has found none. */
void ExpTakeTables(KSYSTEM *System, const HOST *Host, const HAL *Hal);

/*
 * ExpEnter - the first checks of every call except ExClose.
 *
 *   Known  in: the version has this call
 *
 * STATUS_SYSTEM_SHUTDOWN, STATUS_INVALID_SYSTEM_SERVICE.
 */
NTSTATUS ExpEnter(KSYSTEM *System, BOOLEAN Known);

/* ExpOpenHandle - open a handle to Body, and write it to the caller's variable; if that
 * faults, it is closed again. */
NTSTATUS ExpOpenHandle(KSYSTEM *System, KPROCESSOR_MODE Mode, void *Body,
                       ACCESS_MASK GrantedAccess, ULONG64 HandleAddress);

/* ExpLayout - of the caller's memory; kernel-mode callers have the host's. */
static inline const EX_LAYOUT *
ExpLayout(const KSYSTEM *System, KPROCESSOR_MODE Mode)
{
    return Mode == KernelMode ? ExFindLayout(EX_LAYOUT_HOST) : System->CallerLayout;
}

/* ExpIsCurrentProcess - is it NtCurrentProcess() of a caller? Those of 32 bits may be
 * extended with zeros. */
static inline BOOLEAN
ExpIsCurrentProcess(const KSYSTEM *System, HANDLE Handle)
{
    return Handle == NtCurrentProcess() ||
           (System->CallerLayout->WordBytes == sizeof(ULONG) &&
            (ULONG_PTR)Handle == 0xFFFFFFFFu);
}

/* ExpWriteHandle - write a handle to the caller's variable. */
NTSTATUS ExpWriteHandle(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE Handle,
                        ULONG64 HandleAddress);

/* ExpGiveHandle - the same for an open handle, which is closed if that faults. */
NTSTATUS ExpGiveHandle(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE Handle,
                       ULONG64 HandleAddress);

/* ExpCheck - return the status of a check; a failed one is stored in FailedCheck. */
static inline NTSTATUS
ExpCheck(KSYSTEM *System, EX_CHECK Check, NTSTATUS Status)
{
    if (!NT_SUCCESS(Status)) {
        System->FailedCheck = Check;
    }
    return Status;
}

/* ExpReferenceProcess - do ExReferenceProcess with any DesiredAccess. */
NTSTATUS ExpReferenceProcess(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE Handle,
                             ACCESS_MASK DesiredAccess, EPROCESS **Process);

/* ExpInitializeHandles - make ex's own handle table, KSYSTEM.Handles. */
void ExpInitializeHandles(KSYSTEM *System);

/*
 * ExpReferenceHandle - find the object of any handle of the session, or of the pseudo
 * handle. The caller calls ObDereferenceObject for its Body. STATUS_INVALID_HANDLE.
 */
NTSTATUS ExpReferenceHandle(KSYSTEM *System, HANDLE Handle, OB_HANDLE_FACTS *Facts);

/* ExpProbeHandle - may a HANDLE be written there? It need not be aligned. */
NTSTATUS ExpProbeHandle(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG64 HandleAddress);

/* ExpWrite - write to the caller's memory: checked in user mode, else directly. */
NTSTATUS ExpWrite(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG64 To, const void *From,
                  SIZE_T Bytes);

/* EXP_AFFINITY - a set of processors, one word a group. */
typedef struct _EXP_AFFINITY {
    ULONG WordCount;
    ULONG64 Words[EX_MOST_GROUPS];
} EXP_AFFINITY;

/*
 * ExpBuildAffinity - the processors that a create call names, checked if the version
 * does so.
 *
 *   P         in: GroupCount and AffinityArray
 *   OwnGroup  in: NtCreateProfile's one group, used instead of the array; or NULL
 *   Affinity  in, out: the set, empty before
 *
 * STATUS_ACCESS_VIOLATION, STATUS_INVALID_PARAMETER.
 */
NTSTATUS ExpBuildAffinity(KSYSTEM *System, KPROCESSOR_MODE Mode,
                          const EX_CREATE_PROFILE *P, const GROUP_AFFINITY *OwnGroup,
                          EXP_AFFINITY *Affinity);

/* ExpActOnAffinity - at the start of a profile, set its processors from its
 * AffinityMask, in versions that did not check that when it was created. */
void ExpActOnAffinity(KSYSTEM *System, EPROFILE *Profile);

#endif
