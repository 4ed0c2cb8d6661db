/* SPDX-License-Identifier: MIT */
/*
 * ob/handle.c - the handle table.
 *
 * A handle value consists of the slot's number, times 4 and never 0, and in the higher
 * bits the slot's generation, which each close increments: a closed handle stays
 * invalid when its slot is used again (until the generation wraps). The sign bit is
 * clear, so that no handle equals a pseudo handle.
 *
 * Invariant: free slots are linked from FirstFree; all others have a Body, whose
 * PointerCount includes one for the slot.
 */
#include "ob/obp.h"
#include "rtl/assert.h"
#include "rtl/memory.h"

enum { OBP_FIRST_ENTRIES = 64, OBP_HANDLE_STEP = 4 };

#if UINTPTR_MAX > 0xFFFFFFFFu
enum { OBP_SLOT_BITS = 30, OBP_GENERATION_BITS = 31 };
#else
enum { OBP_SLOT_BITS = 20, OBP_GENERATION_BITS = 9 };
#endif

static const ULONG ObpMostEntries = (1u << OBP_SLOT_BITS) - 1;
static const ULONG ObpGenerationMask = (1u << OBP_GENERATION_BITS) - 1;

static HANDLE
ObpEncode(ULONG Slot, ULONG Generation)
{
    const ULONG_PTR Value = ((ULONG_PTR)Generation << (OBP_SLOT_BITS + 2)) |
                            ((ULONG_PTR)Slot + 1) * OBP_HANDLE_STEP;

    return (HANDLE)Value;
}

/* Returns the slot of an open handle, or NULL. */
static OBP_ENTRY *
ObpDecode(const OB_SYSTEM *Ob, HANDLE Handle)
{
    const ULONG_PTR Value = (ULONG_PTR)Handle;
    const ULONG_PTR Number =
        (Value & (((ULONG_PTR)1 << (OBP_SLOT_BITS + 2)) - 1)) / OBP_HANDLE_STEP;
    OBP_ENTRY *Entry;

    if (Value % OBP_HANDLE_STEP != 0 || Number == 0 || Number > Ob->EntryCount) {
        return NULL;
    }
    Entry = &Ob->Entries[Number - 1];
    if (Entry->Body == NULL ||
        ObpEncode((ULONG)(Number - 1), Entry->Generation) != Handle) {
        return NULL;
    }
    return Entry;
}

static NTSTATUS
ObpGrowTable(OB_SYSTEM *Ob)
{
    const ULONG OldCount = Ob->EntryCount;
    const ULONG NewCount = OldCount == 0 ? OBP_FIRST_ENTRIES : OldCount * 2;
    OBP_ENTRY *Entries;

    if (NewCount > ObpMostEntries) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    Entries = HostAllocate(&Ob->Host, (SIZE_T)NewCount * sizeof(OBP_ENTRY));
    if (Entries == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    if (OldCount != 0) {
        RtlCopyMemory(Entries, Ob->Entries, (SIZE_T)OldCount * sizeof(OBP_ENTRY));
        HostFree(&Ob->Host, Ob->Entries, (SIZE_T)OldCount * sizeof(OBP_ENTRY));
    }
    for (ULONG Slot = NewCount; Slot > OldCount; Slot--) {
        Entries[Slot - 1].NextFree = Ob->FirstFree;
        Ob->FirstFree = Slot - 1;
    }
    Ob->Entries = Entries;
    Ob->EntryCount = NewCount;
    return STATUS_SUCCESS;
}

void
ObInitializeSystem(OB_SYSTEM *Ob, const HOST *Host)
{
    *Ob = (OB_SYSTEM){.Host = *Host, .FirstFree = OBP_NO_ENTRY};
}

static void
ObpCountHandle(OBJECT_HEADER *Header)
{
    OBJECT_TYPE *const Type = Header->Type;

    Header->HandleCount++;
    Type->HandleCount++;
    if (Type->HandleCount > Type->MostHandles) {
        Type->MostHandles = Type->HandleCount;
    }
}

NTSTATUS
ObOpenHandle(OB_SYSTEM *Ob, void *Body, ACCESS_MASK GrantedAccess, HANDLE *Handle)
{
    OBP_ENTRY *Entry;
    ULONG Slot;

    if (Ob->FirstFree == OBP_NO_ENTRY) {
        const NTSTATUS Status = ObpGrowTable(Ob);

        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
    Slot = Ob->FirstFree;
    RTL_ASSERT(Slot < Ob->EntryCount);
    Entry = &Ob->Entries[Slot];
    RTL_ASSERT(Entry->Body == NULL);
    Ob->FirstFree = Entry->NextFree;
    Entry->Body = Body;
    Entry->GrantedAccess = GrantedAccess;
    Entry->Attributes = 0;
    ObReferenceObject(Body);
    ObpCountHandle(ObpHeader(Body));
    *Handle = ObpEncode(Slot, Entry->Generation);
    return STATUS_SUCCESS;
}

NTSTATUS
ObReferenceObjectByHandle(OB_SYSTEM *Ob, HANDLE Handle, const OBJECT_TYPE *Type,
                          KPROCESSOR_MODE Mode, ACCESS_MASK DesiredAccess, void **Body)
{
    const OBP_ENTRY *const Entry = ObpDecode(Ob, Handle);

    if (Entry == NULL) {
        return STATUS_INVALID_HANDLE;
    }
    if (ObpHeader(Entry->Body)->Type != Type) {
        return STATUS_OBJECT_TYPE_MISMATCH;
    }
    if (Mode != KernelMode && (DesiredAccess & ~Entry->GrantedAccess) != 0) {
        return STATUS_ACCESS_DENIED;
    }
    ObReferenceObject(Entry->Body);
    *Body = Entry->Body;
    return STATUS_SUCCESS;
}

void
ObSetHandleAttributes(OB_SYSTEM *Ob, HANDLE Handle, ULONG Attributes)
{
    ObpDecode(Ob, Handle)->Attributes = Attributes;
}

NTSTATUS
ObQueryHandle(const OB_SYSTEM *Ob, HANDLE Handle, OB_HANDLE_FACTS *Facts)
{
    const OBP_ENTRY *const Entry = ObpDecode(Ob, Handle);

    if (Entry == NULL) {
        return STATUS_INVALID_HANDLE;
    }
    *Facts = (OB_HANDLE_FACTS){.Body = Entry->Body,
                               .GrantedAccess = Entry->GrantedAccess,
                               .Attributes = Entry->Attributes};
    return STATUS_SUCCESS;
}

static void
ObpCloseEntry(OB_SYSTEM *Ob, OBP_ENTRY *Entry)
{
    void *const Body = Entry->Body;

    RTL_ASSERT(Body != NULL && ObpHeader(Body)->PointerCount > 0 &&
               ObpHeader(Body)->HandleCount > 0);
    Entry->Body = NULL;
    Entry->Generation = (Entry->Generation + 1) & ObpGenerationMask;
    Entry->NextFree = Ob->FirstFree;
    Ob->FirstFree = (ULONG)(Entry - Ob->Entries);
    ObpHeader(Body)->HandleCount--;
    ObpHeader(Body)->Type->HandleCount--;
    ObDereferenceObject(Ob, Body);
}

NTSTATUS
ObCloseHandle(OB_SYSTEM *Ob, HANDLE Handle)
{
    OBP_ENTRY *const Entry = ObpDecode(Ob, Handle);

    if (Entry == NULL) {
        return STATUS_INVALID_HANDLE;
    }
    ObpCloseEntry(Ob, Entry);
    return STATUS_SUCCESS;
}

void
ObFinishSystem(OB_SYSTEM *Ob)
{
    for (ULONG Slot = 0; Slot < Ob->EntryCount; Slot++) {
        if (Ob->Entries[Slot].Body != NULL) {
            ObpCloseEntry(Ob, &Ob->Entries[Slot]);
        }
    }
    HostFree(&Ob->Host, Ob->Entries, (SIZE_T)Ob->EntryCount * sizeof(OBP_ENTRY));
    Ob->Entries = NULL;
    Ob->EntryCount = 0;
    Ob->FirstFree = OBP_NO_ENTRY;
}
