/* SPDX-License-Identifier: MIT */
/*
 * mm/mm.h - the caller's memory: probes, copies, and locking a counter buffer. Level:
 * passive.
 *
 * Addresses and sizes are untrusted. docs/behaviour.md, Create, Start.
 */
#ifndef MM_MM_H
#define MM_MM_H

#include "host/host.h"

/*
 * MmProbeForWrite - is all of [Address, Address + Bytes) user memory that can be
 * written? No bytes: success.
 *
 * STATUS_DATATYPE_MISALIGNMENT  Address is no multiple of Alignment (a power of two; 1:
 *                               any)
 * STATUS_ACCESS_VIOLATION       outside user space, wraps, or a page cannot be written
 */
NTSTATUS MmProbeForWrite(const HOST *Host, ULONG64 Address, ULONG64 Bytes,
                         ULONG Alignment);

/* MmProbeForRead - checks only alignment and range, as NT's: a later read may fault. */
NTSTATUS MmProbeForRead(const HOST *Host, ULONG64 Address, ULONG64 Bytes,
                        ULONG Alignment);

/* MmCopyFromCaller, MmCopyToCaller - copy from or to the caller's memory.
 * STATUS_ACCESS_VIOLATION if the range is not in user space, or an access faults. */
NTSTATUS MmCopyFromCaller(const HOST *Host, void *To, ULONG64 From, SIZE_T Bytes);
NTSTATUS MmCopyToCaller(const HOST *Host, ULONG64 To, const void *From, SIZE_T Bytes);

/*
 * MmLockAndMap - lock Bytes of a buffer and map them for the counting routine.
 *
 * STATUS_INSUFFICIENT_RESOURCES  more than MostBytes, which an MDL of this NT version
 *                                can describe
 * the host's status              the pages cannot be locked
 * STATUS_INSUFFICIENT_RESOURCES  they cannot be mapped; nothing stays locked
 */
NTSTATUS MmLockAndMap(const HOST *Host, MDL *Mdl, ULONG64 Buffer, ULONG Bytes,
                      ULONG64 MostBytes);

/* MmUnmapAndUnlock - undo MmLockAndMap. Counts that the caller's memory does not have
 * then are in Mdl->Unwritten. */
void MmUnmapAndUnlock(const HOST *Host, MDL *Mdl);

/* MmFlush - make the counts so far visible to the caller. */
void MmFlush(const HOST *Host, MDL *Mdl);

#endif
