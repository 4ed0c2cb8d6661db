/* SPDX-License-Identifier: MIT */
/*
 * ps/ps.h - process objects, found by pid. Level: passive; calls are serialised by the
 * caller.
 *
 * The end of a watched process is notified by the HAL, in order with its last hits,
 * which may be after it has ended in Linux; the host reports the end of any other
 * process. A pid that is used again has a new EPROCESS.
 */
#ifndef PS_PS_H
#define PS_PS_H

#include "host/host.h"
#include "ke/ke.h"
#include "rtl/list.h"

/* EPROCESS - the body of a process object. */
typedef struct _EPROCESS {
    KPROCESS Pcb; /* first, as in NT */
    LIST_ENTRY ActiveProcessLinks;
    HOST_PROCESS Host; /* Reference is held while HostOpen */
    BOOLEAN HostOpen;
    BOOLEAN Watched;         /* from its start notification to its exit notification */
    BOOLEAN StreamReference; /* ex holds a reference in the same time */
    BOOLEAN Active;          /* linked: PsLookupProcess finds it */
} EPROCESS;

enum { PS_PROCESS_BUCKETS = 1024 };

typedef struct _PS_SYSTEM {
    HOST Host;
    KE_SYSTEM *Ke;
    LIST_ENTRY *ActiveProcesses; /* PS_PROCESS_BUCKETS heads */
} PS_SYSTEM;

/* PsInitializeSystem - make an instance without processes.
 * STATUS_INSUFFICIENT_RESOURCES. PsFinishSystem undoes it; all must be deleted. */
NTSTATUS PsInitializeSystem(PS_SYSTEM *Ps, const HOST *Host, KE_SYSTEM *Ke);
void PsFinishSystem(PS_SYSTEM *Ps);

/* PsFindProcess - return the active process with this pid, also if it has ended
 * meanwhile, or NULL. No reference is taken. */
EPROCESS *PsFindProcess(PS_SYSTEM *Ps, ULONG64 ProcessId);

/* PsLookupProcess - return the active process with this pid, or NULL; one that has
 * ended meanwhile is made inactive and not returned. No reference is taken. */
EPROCESS *PsLookupProcess(PS_SYSTEM *Ps, ULONG64 ProcessId);

/*
 * PsInitializeProcess - make a zeroed body the active process of a pid.
 *
 *   Watched  in: a notification has reported its start: the host, which may not know it
 *            any more, is not asked
 *
 * STATUS_INVALID_CID and the host's statuses, unless Watched.
 */
NTSTATUS PsInitializeProcess(PS_SYSTEM *Ps, EPROCESS *Process, ULONG64 ProcessId,
                             BOOLEAN Watched);

/* PsDeleteProcess - undo PsInitializeProcess, also if that has failed. The caller frees
 * the body. */
void PsDeleteProcess(PS_SYSTEM *Ps, EPROCESS *Process);

/* PsEndProcess - note that a process has ended: it is no longer found by pid, and none
 * of its profiles counts again. Does nothing the second time. */
void PsEndProcess(PS_SYSTEM *Ps, EPROCESS *Process);

/* PsCheckAccess - may the caller inspect a process? STATUS_ACCESS_DENIED, or another
 * status of the host. A caller may inspect any process that it watches. */
NTSTATUS PsCheckAccess(PS_SYSTEM *Ps, const EPROCESS *Process);

/* PsIsProcessGone - has the process ended? A watched one has not until its exit is
 * notified. */
BOOLEAN PsIsProcessGone(const PS_SYSTEM *Ps, const EPROCESS *Process);

#endif
