/* SPDX-License-Identifier: MIT */
/* mm/lock.c - locking and mapping a counter buffer while a profile is started. */
#include "mm/mm.h"

#include "rtl/assert.h"

NTSTATUS
MmLockAndMap(const HOST *Host, MDL *Mdl, ULONG64 Buffer, ULONG Bytes, ULONG64 MostBytes)
{
    NTSTATUS Status;

    if (Bytes > MostBytes) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    *Mdl = (MDL){.StartVa = Buffer, .ByteCount = Bytes};
    Status = Host->Table->LockPages(Host->Context, Mdl);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = Host->Table->MapPages(Host->Context, Mdl);
    if (!NT_SUCCESS(Status)) {
        Host->Table->UnlockPages(Host->Context, Mdl);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    /* A host may return the caller's address, but NULL would mean no counters. */
    if (Mdl->MappedSystemVa == NULL && Bytes != 0) {
        MmUnmapAndUnlock(Host, Mdl);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    RTL_ASSERT(Mdl->StartVa == Buffer && Mdl->ByteCount == Bytes);
    return STATUS_SUCCESS;
}

void
MmUnmapAndUnlock(const HOST *Host, MDL *Mdl)
{
    Host->Table->UnmapPages(Host->Context, Mdl);
    Host->Table->UnlockPages(Host->Context, Mdl);
}

void
MmFlush(const HOST *Host, MDL *Mdl)
{
    RTL_ASSERT(Mdl->MappedSystemVa != NULL || Mdl->ByteCount == 0);
    Host->Table->FlushPages(Host->Context, Mdl);
}
