/* SPDX-License-Identifier: MIT */
/* mm/probe.c - checks of the caller's addresses, and copies. */
#include "mm/mm.h"

#include "rtl/assert.h"

/* Does the range lie in user space, without wrapping? */
static BOOLEAN
MiIsUserRange(const HOST *Host, ULONG64 Address, ULONG64 Bytes)
{
    const ULONG64 Highest = Host->Table->HighestUserAddress;

    return Bytes == 0 || (Address <= Highest && Bytes - 1 <= Highest - Address);
}

NTSTATUS
MmProbeForRead(const HOST *Host, ULONG64 Address, ULONG64 Bytes, ULONG Alignment)
{
    RTL_ASSERT(Alignment != 0 && (Alignment & (Alignment - 1)) == 0);
    if (Bytes == 0) {
        return STATUS_SUCCESS;
    }
    if ((Address & (Alignment - 1)) != 0) {
        return STATUS_DATATYPE_MISALIGNMENT;
    }
    return MiIsUserRange(Host, Address, Bytes) ? STATUS_SUCCESS
                                               : STATUS_ACCESS_VIOLATION;
}

NTSTATUS
MmProbeForWrite(const HOST *Host, ULONG64 Address, ULONG64 Bytes, ULONG Alignment)
{
    const NTSTATUS Status = MmProbeForRead(Host, Address, Bytes, Alignment);

    if (!NT_SUCCESS(Status) || Bytes == 0) {
        return Status;
    }
    return Host->Table->ProbeForWrite(Host->Context, Address, (SIZE_T)Bytes);
}

NTSTATUS
MmCopyFromCaller(const HOST *Host, void *To, ULONG64 From, SIZE_T Bytes)
{
    if (!MiIsUserRange(Host, From, Bytes)) {
        return STATUS_ACCESS_VIOLATION;
    }
    return Host->Table->CopyFromCaller(Host->Context, To, From, Bytes);
}

NTSTATUS
MmCopyToCaller(const HOST *Host, ULONG64 To, const void *From, SIZE_T Bytes)
{
    if (!MiIsUserRange(Host, To, Bytes)) {
        return STATUS_ACCESS_VIOLATION;
    }
    return Host->Table->CopyToCaller(Host->Context, To, From, Bytes);
}
