/* SPDX-License-Identifier: MIT */
/*
 * ps/ps.h - process objects, found by pid. Level: passive; calls are serialised by the
 * caller.
 *
 * A process is either seen in the HAL's stream of notifications (Watched), and then
 * ends when the stream says so although Linux may have forgotten it before; or it is
 * known through the host, and then ends when the host says so. A pid that is used again
 * is another EPROCESS.
 */
#ifndef PS_PS_H
#define PS_PS_H

#include "host/host.h"
#include "ke/ke.h"
#include "rtl/list.h"

typedef struct _EPROCESS {
    KPROCESS Pcb; /* first, as in NT */
    LIST_ENTRY ActiveProcessLinks;
    HOST_PROCESS Host; /* Reference is held while HostOpen */
    BOOLEAN HostOpen;
    BOOLEAN Watched;         /* from its start notification to its exit's */
    BOOLEAN StreamReference; /* ex holds a reference for as long */
    BOOLEAN Active;          /* linked: PsLookupProcess finds it */
} EPROCESS;

enum { PS_PROCESS_BUCKETS = 1024 };

typedef struct _PS_SYSTEM {
    HOST Host;
    KE_SYSTEM *Ke;
    LIST_ENTRY *ActiveProcesses; /* PS_PROCESS_BUCKETS heads */
} PS_SYSTEM;

/* STATUS_INSUFFICIENT_RESOURCES. */
NTSTATUS PsInitializeSystem(PS_SYSTEM *Ps, const HOST *Host, KE_SYSTEM *Ke);
void PsFinishSystem(PS_SYSTEM *Ps);

/* PsFindProcess - the active process with this pid, ended in the meantime or not, or
 * NULL. */
EPROCESS *PsFindProcess(PS_SYSTEM *Ps, ULONG64 ProcessId);

/* PsLookupProcess - the active process with this pid, or NULL; one that has ended in
 * the meantime is made inactive and not returned. No reference is taken. */
EPROCESS *PsLookupProcess(PS_SYSTEM *Ps, ULONG64 ProcessId);

/*
 * PsInitializeProcess - make a zeroed body the active process of a pid.
 *
 *   Watched  in: known from the stream: need not be alive as the host sees it
 *
 * STATUS_INVALID_CID and the host's statuses, unless Watched.
 */
NTSTATUS PsInitializeProcess(PS_SYSTEM *Ps, EPROCESS *Process, ULONG64 ProcessId,
                             BOOLEAN Watched);

/* PsDeleteProcess - undo it; the body's memory is the caller's. */
void PsDeleteProcess(PS_SYSTEM *Ps, EPROCESS *Process);

/* PsEndProcess - it is gone: no longer found by pid, and none of its profiles counts
 * again. */
void PsEndProcess(PS_SYSTEM *Ps, EPROCESS *Process);

/* PsCheckAccess - may the caller look into it? STATUS_ACCESS_DENIED. What the caller
 * was allowed to watch it may look into. */
NTSTATUS PsCheckAccess(PS_SYSTEM *Ps, const EPROCESS *Process);

/* PsIsProcessGone - has it ended? */
BOOLEAN PsIsProcessGone(const PS_SYSTEM *Ps, const EPROCESS *Process);

#endif
