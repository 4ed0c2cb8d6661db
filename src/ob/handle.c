/* SPDX-License-Identifier: MIT */
/*
 * ob/handle.c - the handle table.
 *
 * As public documentation has it, 32 bits of a handle are significant, so that
 * truncating it to 32 bits and extending it again is safe, and of these the low two are
 * ignored:
 *
 *   bit 31      0, so that no handle equals a pseudo handle, however it is extended
 *   bits 22-30  the slot's generation, which each close increments
 *   bits 2-21   the slot's number, never 0
 *   bits 0-1    ignored; 0 in handles that are given out
 *
 * A closed handle stays invalid when its slot is used again, until the generation
 * wraps: after OBP_GENERATIONS uses of the slot an old handle equals the new one. The
 * slot that has been free for longest is used next, so that all other free slots are
 * used as often before that.
 *
 * Invariant: free slots are linked from FirstFree to LastFree in the order in which
 * they became free; all others have a Body, whose PointerCount includes one for the
 * slot.
 */
#include "ob/obp.h"
#include "rtl/assert.h"
#include "rtl/memory.h"

enum {
    OBP_FIRST_ENTRIES = 64,
    OBP_SLOT_SHIFT = 2,
    OBP_SLOT_BITS = 20,
    OBP_GENERATION_BITS = 9,
    OBP_GENERATION_SHIFT = OBP_SLOT_SHIFT + OBP_SLOT_BITS,
    OBP_MOST_ENTRIES = (1 << OBP_SLOT_BITS) - 1, /* number 0 is none */
    OBP_GENERATIONS = 1 << OBP_GENERATION_BITS
};

_Static_assert(OBP_GENERATION_SHIFT + OBP_GENERATION_BITS == 31, "bit 31 is 0");

/* Returns the handle of a slot (counted from 0) in a generation. */
static ULONG
ObpEncode(ULONG Slot, ULONG Generation)
{
    return Generation << OBP_GENERATION_SHIFT | (Slot + 1) << OBP_SLOT_SHIFT;
}

/* Returns the slot of an open handle, or NULL. */
static OBP_ENTRY *
ObpDecode(const OB_SYSTEM *Ob, HANDLE Handle)
{
    const ULONG Value = (ULONG)(ULONG_PTR)Handle & ~((1u << OBP_SLOT_SHIFT) - 1);
    const ULONG Number = Value >> OBP_SLOT_SHIFT & OBP_MOST_ENTRIES;
    OBP_ENTRY *Entry;

    if (Number == 0 || Number > Ob->EntryCount) {
        return NULL;
    }
    Entry = &Ob->Entries[Number - 1];
    if (Entry->Body == NULL || ObpEncode(Number - 1, Entry->Generation) != Value) {
        return NULL;
    }
    return Entry;
}

/* Adds a slot behind all free ones. */
static void
ObpFreeEntry(OB_SYSTEM *Ob, ULONG Slot)
{
    Ob->Entries[Slot].NextFree = OBP_NO_ENTRY;
    if (Ob->FirstFree == OBP_NO_ENTRY) {
        Ob->FirstFree = Slot;
    } else {
        Ob->Entries[Ob->LastFree].NextFree = Slot;
    }
    Ob->LastFree = Slot;
}

/* Returns how many slots the table is to have next; the same if it has all. */
static ULONG
ObpNextCount(ULONG Count)
{
    if (Count == 0) {
        return OBP_FIRST_ENTRIES;
    }
    return Count > OBP_MOST_ENTRIES / 2 ? OBP_MOST_ENTRIES : Count * 2;
}

/* Makes the table larger; its new slots are free. */
static NTSTATUS
ObpGrowTable(OB_SYSTEM *Ob)
{
    const ULONG OldCount = Ob->EntryCount;
    const ULONG NewCount = ObpNextCount(OldCount);
    OBP_ENTRY *Entries;

    if (NewCount == OldCount) {
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
    Ob->Entries = Entries;
    Ob->EntryCount = NewCount;
    for (ULONG Slot = OldCount; Slot < NewCount; Slot++) {
        ObpFreeEntry(Ob, Slot);
    }
    return STATUS_SUCCESS;
}

void
ObInitializeSystem(OB_SYSTEM *Ob, const HOST *Host)
{
    *Ob =
        (OB_SYSTEM){.Host = *Host, .FirstFree = OBP_NO_ENTRY, .LastFree = OBP_NO_ENTRY};
}

/* Counts one more handle to an object, and of its type. */
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
    *Handle = (HANDLE)(ULONG_PTR)ObpEncode(Slot, Entry->Generation);
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

/* Frees a slot, whose next handle is of another generation, and drops its reference. */
static void
ObpCloseEntry(OB_SYSTEM *Ob, OBP_ENTRY *Entry)
{
    void *const Body = Entry->Body;

    RTL_ASSERT(Body != NULL && ObpHeader(Body)->PointerCount > 0 &&
               ObpHeader(Body)->HandleCount > 0);
    Entry->Body = NULL;
    Entry->Generation = (Entry->Generation + 1) % OBP_GENERATIONS;
    ObpFreeEntry(Ob, (ULONG)(Entry - Ob->Entries));
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
    Ob->LastFree = OBP_NO_ENTRY;
}
