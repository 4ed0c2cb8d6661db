/* SPDX-License-Identifier: MIT */
/*
 * host.h - what the core asks of the system it runs on: memory, the caller's addresses,
 * processes, rights, processors. Freestanding; an embedding kernel fills one table.
 *
 * Every function gets the host's Context. Level: passive unless said otherwise; the
 * core never calls two of them at once for one system. A function that fails has no
 * effect. What kernel-mode callers skip - ProbeForWrite, the two copies, the two rights
 * - may be NULL if there are no others.
 */
#ifndef NTPROF_HOST_H
#define NTPROF_HOST_H

#ifdef NTPROF_PREFIXED
#error "the core has NT's names: NTPROF_PREFIXED is for <ntprof/ntprof.h>"
#endif

#include <ntprof/nt_status.h>
#include <ntprof/nt_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * MDL - a caller's buffer, locked and mapped. It stands right behind the kernel profile
 * in the same allocation, as in NT. The core fills StartVa and ByteCount, the host the
 * rest.
 */
typedef struct _MDL {
    ULONG64 StartVa; /* caller's address of the buffer */
    ULONG ByteCount; /* bytes to lock, from StartVa */
    /* Set by MapPages: not 0 if what is counted is the caller's at once, so that nobody
     * has to flush. */
    ULONG Live;
    /* counters for StartVa, once mapped, not NULL unless ByteCount is 0 (then a start
     * fails with STATUS_INSUFFICIENT_RESOURCES); stays valid and counts into the
     * caller's buffer until unmapped whatever the caller does to its own mapping */
    void *MappedSystemVa;
    void *HostContext; /* the host's own */
    /* Set by UnmapPages: counts that the caller's memory did not take, being gone,
     * another's by now or not to be written. */
    ULONG64 Unwritten;
} MDL;

/* HOST_PROCESS - a process as the host knows it. */
typedef struct _HOST_PROCESS {
    ULONG64 ProcessId; /* pid, never 0 */
    /* the host's own: tells the pid's later users apart (its start time) */
    LONG_PTR Reference;
} HOST_PROCESS;

/* HOST_TABLE.CheckRestrictedCaller: how NT 6.3, and 10.0, find callers of low
 * integrity. */
enum { HOST_RESTRICTED_BY_INTEGRITY_LEVEL = 1, HOST_RESTRICTED_BY_ACCESS_CHECK = 2 };

typedef struct _HOST_TABLE {
    ULONG Size;                 /* sizeof(HOST_TABLE) */
    ULONG PageSize;             /* bytes, a power of two */
    ULONG64 HighestUserAddress; /* last byte a user-mode caller can have */
    ULONG64 SystemRangeStart;   /* first byte of kernel space */

    /* Zeroed memory, aligned for any type; NULL if there is none. Free takes the same
     * Bytes. */
    void *(*Allocate)(void *Context, SIZE_T Bytes);
    void (*Free)(void *Context, void *Memory, SIZE_T Bytes);

    /*
     * The caller's memory; the addresses are hostile. All of it was checked by the core
     * to be in user space. A fault gives STATUS_ACCESS_VIOLATION, never a signal.
     * ProbeForWrite tests the first byte and one in every further page, and changes
     * nothing.
     */
    NTSTATUS (*ProbeForWrite)(void *Context, ULONG64 Address, SIZE_T Bytes);
    NTSTATUS (*CopyFromCaller)(void *Context, void *To, ULONG64 From, SIZE_T Bytes);
    NTSTATUS (*CopyToCaller)(void *Context, ULONG64 To, const void *From, SIZE_T Bytes);

    /*
     * Lock and map a counter buffer (4-byte aligned; several locks may overlap;
     * ByteCount may be 0, which always succeeds, wherever StartVa is, and is mapped
     * somewhere). Lock: the statuses of NtStartProfile. Map:
     * STATUS_INSUFFICIENT_RESOURCES. Flush makes what was counted so far visible to the
     * caller. Unmap and Unlock undo; afterwards the caller's memory holds all counts
     * but those in Mdl->Unwritten.
     */
    NTSTATUS (*LockPages)(void *Context, MDL *Mdl);
    NTSTATUS (*MapPages)(void *Context, MDL *Mdl);
    void (*FlushPages)(void *Context, MDL *Mdl);
    void (*UnmapPages)(void *Context, MDL *Mdl);
    void (*UnlockPages)(void *Context, MDL *Mdl);

    /* Rights of the caller: STATUS_PRIVILEGE_NOT_HELD; STATUS_ACCESS_DENIED if it is
     * restricted, by which rule: HOST_RESTRICTED_... (a host that has one rule for both
     * ignores it). A host that cannot find out says why: STATUS_INSUFFICIENT_RESOURCES.
     */
    NTSTATUS (*CheckSystemProfilePrivilege)(void *Context);
    NTSTATUS (*CheckRestrictedCaller)(void *Context, ULONG Rule);

    /*
     * Processes. Open: STATUS_INVALID_CID if there is none. May the caller look into
     * it? STATUS_ACCESS_DENIED if not. IsProcessGone: ended, or its pid is another's by
     * now.
     */
    ULONG64 (*CurrentProcessId)(void *Context);
    NTSTATUS (*OpenProcess)(void *Context, ULONG64 ProcessId, HOST_PROCESS *Process);
    void (*CloseProcess)(void *Context, HOST_PROCESS *Process);
    NTSTATUS (*CheckProcessAccess)(void *Context, const HOST_PROCESS *Process);
    BOOLEAN (*IsProcessGone)(void *Context, const HOST_PROCESS *Process);

    /* Processors, in groups: the number of groups, who is active, and the caller's
     * group. */
    USHORT (*GroupCount)(void *Context);
    KAFFINITY (*ActiveProcessors)(void *Context, USHORT Group);
    USHORT (*CurrentGroup)(void *Context);
} HOST_TABLE;

#ifdef __cplusplus
}
#endif

#endif
