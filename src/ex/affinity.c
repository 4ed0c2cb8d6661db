/* SPDX-License-Identifier: MIT */
/* ex/affinity.c - which processors a profile is for. docs/behaviour.md, Create. */
#include "ex/exp.h"
#include "mm/mm.h"
#include "rtl/memory.h"

enum { EXP_GROUPS_AT_ONCE = 16 };

/* Checks an element of the caller's array and adds its processors to Words, one word
 * for each group. Element is a copy, which the caller cannot change meanwhile. Level:
 * passive. */
static NTSTATUS
ExpAddGroup(KSYSTEM *System, const GROUP_AFFINITY *Element, ULONG64 *Words,
            ULONG WordCount)
{
    const HOST *const Host = &System->Host;
    KAFFINITY Active;

    if (Element->Group >= WordCount || Element->Mask == 0) {
        return STATUS_INVALID_PARAMETER;
    }
    Active = Host->Table->ActiveProcessors(Host->Context, Element->Group);
    if ((Element->Mask & ~Active) != 0 || Element->Reserved[0] != 0 ||
        Element->Reserved[1] != 0 || Element->Reserved[2] != 0) {
        return STATUS_INVALID_PARAMETER;
    }
    Words[Element->Group] |= Element->Mask;
    return STATUS_SUCCESS;
}

/* Sets Words, one word for each group, to all processors that are active now. */
static void
ExpAddAllActive(KSYSTEM *System, ULONG64 *Words, ULONG WordCount)
{
    const HOST *const Host = &System->Host;

    for (ULONG Group = 0; Group < WordCount; Group++) {
        Words[Group] = Host->Table->ActiveProcessors(Host->Context, (USHORT)Group);
    }
}

/* Reads Count elements of the caller's array. */
static NTSTATUS
ExpReadGroups(KSYSTEM *System, KPROCESSOR_MODE Mode, GROUP_AFFINITY *To, ULONG64 From,
              ULONG Count)
{
    const SIZE_T Bytes = Count * sizeof(GROUP_AFFINITY);

    if (Mode == UserMode) {
        return MmCopyFromCaller(&System->Host, To, From, Bytes);
    }
    RtlCopyMemory(To, (const void *)(ULONG_PTR)From, Bytes);
    return STATUS_SUCCESS;
}

/*
 * Returns how many of Left elements to read at once: those on one page, which can all
 * be read or none. So a bad element is reported as bad even if the one after it cannot
 * be read.
 */
static ULONG
ExpGroupsAtOnce(const HOST *Host, ULONG64 From, ULONG Left)
{
    const ULONG64 PageSize = Host->Table->PageSize;
    const ULONG64 OnPage =
        (SIZE_T)(PageSize - (From & (PageSize - 1))) / sizeof(GROUP_AFFINITY);
    const ULONG Most = Left < EXP_GROUPS_AT_ONCE ? Left : EXP_GROUPS_AT_ONCE;

    if (OnPage >= Most) {
        return Most;
    }
    return OnPage != 0 ? (ULONG)OnPage : 1; /* 1: it crosses a page boundary */
}

/* Reads the caller's array a few elements at a time, and adds the processors of each to
 * Words. */
static NTSTATUS
ExpAddCallerGroups(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P,
                   ULONG64 *Words, ULONG WordCount)
{
    GROUP_AFFINITY Groups[EXP_GROUPS_AT_ONCE];
    ULONG Count = 0;

    for (ULONG First = 0; First < P->GroupCount; First += Count) {
        const ULONG64 From = P->AffinityArray + First * sizeof(GROUP_AFFINITY);
        NTSTATUS Status;

        Count = ExpGroupsAtOnce(&System->Host, From, P->GroupCount - First);
        Status = ExpReadGroups(System, Mode, Groups, From, Count);
        for (ULONG i = 0; NT_SUCCESS(Status) && i < Count; i++) {
            Status = ExpAddGroup(System, &Groups[i], Words, WordCount);
        }
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
    return STATUS_SUCCESS;
}

NTSTATUS
ExpBuildAffinity(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P,
                 const GROUP_AFFINITY *OwnGroup, EXP_AFFINITY *Affinity)
{
    ULONG64 *const Words = Affinity->Words;
    const ULONG WordCount = Affinity->WordCount;

    if (!System->Version->HasGroups) {
        return STATUS_SUCCESS; /* each start evaluates the mask */
    }
    if (OwnGroup != NULL) {
        return ExpAddGroup(System, OwnGroup, Words, WordCount);
    }
    if (P->GroupCount == 0) {
        ExpAddAllActive(System, Words, WordCount);
        return STATUS_SUCCESS;
    }
    return ExpAddCallerGroups(System, Mode, P, Words, WordCount);
}

void
ExpActOnAffinity(KSYSTEM *System, EPROFILE *Profile)
{
    const HOST *const Host = &System->Host;
    const KAFFINITY Active = Host->Table->ActiveProcessors(Host->Context, 0);
    const KAFFINITY Mask = Profile->AffinityMask;

    if (System->Version->HasGroups) {
        return; /* checked when it was created */
    }
    for (ULONG Word = 0; Word < Profile->AffinityWords; Word++) {
        Profile->Affinity[Word] = 0;
    }
    if (Mask == 0 || (System->Version->InactiveMeansAll && (Mask & Active) == 0)) {
        ExpAddAllActive(System, Profile->Affinity, Profile->AffinityWords);
    } else if (Profile->AffinityWords != 0) {
        Profile->Affinity[0] = Mask & Active;
    }
}
