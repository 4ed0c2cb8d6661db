/* SPDX-License-Identifier: MIT */
/*
 * host.h - what the core asks of the system it runs on: memory, the caller's addresses,
 * processes, rights, processors. Freestanding; an embedding kernel fills one table.
 *
 * Every function gets the host's Context. Level: passive unless said otherwise; the
 * core never calls two of them at once for one system. A function that fails has no
 * effect. No function may be NULL, but for all of a group:
 *
 *   ProbeForWrite, the two copies, the two rights: there are no user-mode callers. A
 *       call in user mode that needs one gives STATUS_NOT_SUPPORTED
 *   OpenProcess, CloseProcess, CheckProcessAccess, IsProcessGone: there is a process
 *       for any number but 0, which callers may inspect
 */
#ifndef NTPROF_HOST_H
#define NTPROF_HOST_H

#include <ntprof/nt_status.h>
#include <ntprof/nt_types.h>

#include <ntprof/nt_names_begin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* KPROCESSOR_MODE - who makes a request: an embedding kernel itself, or its user-mode
 * callers, whose addresses and rights are checked. NT's. */
typedef UCHAR KPROCESSOR_MODE;
enum { KernelMode = 0, UserMode = 1 };

/*
 * MDL - a caller's buffer, locked and mapped. It follows the kernel profile in the same
 * allocation, as in NT. The core sets StartVa and ByteCount, the host the other
 * members.
 */
typedef struct _MDL {
    /* address of the buffer in the process that made the call in which LockPages and
     * MapPages were called */
    ULONG64 StartVa;
    ULONG ByteCount; /* bytes to lock, from StartVa */
    /* Set by MapPages: not 0 if counts are in the caller's buffer at once, so that no
     * flush is needed. */
    ULONG Live;
    /* counters for StartVa, once mapped, not NULL unless ByteCount is 0 (then a start
     * fails with STATUS_INSUFFICIENT_RESOURCES); stays valid and counts into the
     * caller's buffer until unmapped whatever the caller does to its own mapping */
    void *MappedSystemVa;
    void *HostContext; /* the host's own, such as whose memory it is */
    /* Set by UnmapPages: counts that could not be added to the caller's memory because
     * it was unmapped, replaced or write-protected. */
    ULONG64 Unwritten;
} MDL;

/* HOST_PROCESS - a process as the host knows it. */
typedef struct _HOST_PROCESS {
    ULONG64 ProcessId; /* pid, never 0 */
    /* the host's own: distinguishes processes that had the same pid (start time) */
    LONG_PTR Reference;
} HOST_PROCESS;

/* HOST_TABLE.CheckRestrictedCaller: how NT 6.3, and 10.0, find callers of low
 * integrity. */
enum { HOST_RESTRICTED_BY_INTEGRITY_LEVEL = 1, HOST_RESTRICTED_BY_ACCESS_CHECK = 2 };

typedef struct _HOST_TABLE {
    /* sizeof(HOST_TABLE); the core reads no further. Later versions add members at the
     * end, which tables of an earlier version do without. */
    ULONG Size;
    ULONG PageSize;             /* bytes, a power of two */
    ULONG64 HighestUserAddress; /* last byte a user-mode caller can have */
    ULONG64 SystemRangeStart;   /* first byte of kernel space */

    /* Zeroed memory, aligned for any type; NULL if there is none. Free takes the same
     * Bytes. */
    void *(*Allocate)(void *Context, SIZE_T Bytes);
    void (*Free)(void *Context, void *Memory, SIZE_T Bytes);

    /*
     * Access to the caller's memory; addresses are untrusted. The core has checked that
     * the range is in user space. A fault gives STATUS_ACCESS_VIOLATION, never a
     * signal. ProbeForWrite tests the first byte and one in every further page, and
     * changes nothing.
     */
    NTSTATUS (*ProbeForWrite)(void *Context, ULONG64 Address, SIZE_T Bytes);
    NTSTATUS (*CopyFromCaller)(void *Context, void *To, ULONG64 From, SIZE_T Bytes);
    NTSTATUS (*CopyToCaller)(void *Context, ULONG64 To, const void *From, SIZE_T Bytes);

    /*
     * Lock and map a counter buffer (4-byte aligned; several locks may overlap;
     * ByteCount may be 0, which always succeeds, wherever StartVa is, and is mapped
     * somewhere). Lock: the statuses of NtStartProfile. Map:
     * STATUS_INSUFFICIENT_RESOURCES. Flush makes the counts so far visible to the
     * caller. Unmap and Unlock undo Map and Lock; afterwards the caller's memory
     * contains all counts except those in Mdl->Unwritten. Lock and Map are called in
     * the process whose memory it is, the others in any.
     */
    NTSTATUS (*LockPages)(void *Context, MDL *Mdl);
    NTSTATUS (*MapPages)(void *Context, MDL *Mdl);
    void (*FlushPages)(void *Context, MDL *Mdl);
    void (*UnmapPages)(void *Context, MDL *Mdl);
    void (*UnlockPages)(void *Context, MDL *Mdl);

    /* Rights of the caller. Privilege: STATUS_PRIVILEGE_NOT_HELD. RestrictedCaller:
     * STATUS_ACCESS_DENIED if the caller is restricted by a rule, HOST_RESTRICTED_...
     * (a host with one rule for both ignores it). Both: STATUS_INSUFFICIENT_RESOURCES
     * if the host cannot find out.
     */
    NTSTATUS (*CheckSystemProfilePrivilege)(void *Context);
    NTSTATUS (*CheckRestrictedCaller)(void *Context, ULONG Rule);

    /*
     * Processes. Open: STATUS_INVALID_CID if there is none. CheckProcessAccess:
     * STATUS_ACCESS_DENIED if the caller may not inspect it. IsProcessGone: it has
     * ended, also if another process has its pid now. It is asked when a process is
     * looked up and when a profile of it starts, not for hits: an embedder calls
     * ExEndProcess, too.
     */
    ULONG64 (*CurrentProcessId)(void *Context);
    NTSTATUS (*OpenProcess)(void *Context, ULONG64 ProcessId, HOST_PROCESS *Process);
    void (*CloseProcess)(void *Context, HOST_PROCESS *Process);
    NTSTATUS (*CheckProcessAccess)(void *Context, const HOST_PROCESS *Process);
    BOOLEAN (*IsProcessGone)(void *Context, const HOST_PROCESS *Process);

    /* Processors, in groups: the number of groups, the active processors of a group,
     * and the caller's group. */
    USHORT (*GroupCount)(void *Context);
    KAFFINITY (*ActiveProcessors)(void *Context, USHORT Group);
    USHORT (*CurrentGroup)(void *Context);
} HOST_TABLE;

/* HOST - a host at work. */
typedef struct _HOST {
    const HOST_TABLE *Table;
    void *Context;
} HOST;

#ifdef __cplusplus
}
#endif

#include <ntprof/nt_names_end.h>

#endif

#include <ntprof/nt_names_check.h>
