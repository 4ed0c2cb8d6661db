/* SPDX-License-Identifier: MIT */
/* ex/affinity.c - which processors a profile is for. docs/behaviour.md, Create. */
#include "ex/exp.h"
#include "mm/mm.h"
#include "rtl/memory.h"

enum { EXP_GROUPS_AT_ONCE = 16, EXP_MOST_GROUP_BYTES = 16 };

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
    const EX_LAYOUT *const Layout = ExpLayout(System, Mode);
    const SIZE_T Bytes = Count * Layout->GroupAffinityBytes;
    UCHAR Read[EXP_GROUPS_AT_ONCE * EXP_MOST_GROUP_BYTES];
    NTSTATUS Status = STATUS_SUCCESS;

    if (Mode == UserMode) {
        Status = MmCopyFromCaller(&System->Host, Read, From, Bytes);
    } else {
        RtlCopyMemory(Read, (const void *)(ULONG_PTR)From, Bytes);
    }
    for (ULONG i = 0; NT_SUCCESS(Status) && i < Count; i++) {
        ExGetGroup(Layout, &Read[i * Layout->GroupAffinityBytes], &To[i]);
    }
    return Status;
}

/*
 * Returns how many of Left elements to read at once: those on one page, which can all
 * be read or none. So a bad element is reported as bad even if the one after it cannot
 * be read.
 */
static ULONG
ExpGroupsAtOnce(const HOST *Host, ULONG64 From, ULONG ElementBytes, ULONG Left)
{
    const ULONG64 PageSize = Host->Table->PageSize;
    const ULONG64 OnPage = (SIZE_T)(PageSize - (From & (PageSize - 1))) / ElementBytes;
    const ULONG Most = Left < EXP_GROUPS_AT_ONCE ? Left : EXP_GROUPS_AT_ONCE;

    if (OnPage >= Most) {
        return Most;
    }
    return OnPage != 0 ? (ULONG)OnPage : 1; /* 1: it crosses a page boundary */
}

/* Reads the caller's array a few elements at a time, and adds the processors of each to
 * Affinity. */
static NTSTATUS
ExpAddCallerGroups(KSYSTEM *System, KPROCESSOR_MODE Mode, const EX_CREATE_PROFILE *P,
                   EXP_AFFINITY *Affinity)
{
    const ULONG ElementBytes = ExpLayout(System, Mode)->GroupAffinityBytes;
    GROUP_AFFINITY Groups[EXP_GROUPS_AT_ONCE];
    ULONG Count = 0;

    for (ULONG First = 0; First < P->GroupCount; First += Count) {
        const ULONG64 From = P->AffinityArray + (ULONG64)First * ElementBytes;
        NTSTATUS Status;

        Count =
            ExpGroupsAtOnce(&System->Host, From, ElementBytes, P->GroupCount - First);
        Status = ExpReadGroups(System, Mode, Groups, From, Count);
        for (ULONG i = 0; NT_SUCCESS(Status) && i < Count; i++) {
            Status =
                ExpAddGroup(System, &Groups[i], Affinity->Words, Affinity->WordCount);
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
    if (!System->Version->HasGroups) {
        return STATUS_SUCCESS; /* each start evaluates the mask */
    }
    if (OwnGroup != NULL) {
        return ExpAddGroup(System, OwnGroup, Affinity->Words, Affinity->WordCount);
    }
    if (P->GroupCount == 0) {
        ExpAddAllActive(System, Affinity->Words, Affinity->WordCount);
        return STATUS_SUCCESS;
    }
    return ExpAddCallerGroups(System, Mode, P, Affinity);
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
