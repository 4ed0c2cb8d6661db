/* SPDX-License-Identifier: MIT */
/*
 * ex/ex.h - one instance of the NT profile facility (KSYSTEM), and the services behind
 * the Nt calls: those of <ntprof/core.h>, and those for the library alone.
 *
 * Level: passive. Calls for one KSYSTEM are serialised by the caller, which may call
 * again from within a delivery (a notification). Parameters and statuses:
 * <ntprof/nt_profile.h>.
 */
#ifndef EX_EX_H
#define EX_EX_H

#include "ke/ke.h"
#include "ob/ob.h"
#include "ps/ps.h"
#include "se/se.h"

#include <ntprof/core.h>
#include <ntprof/notification.h>

struct _EX_LAYOUT;
struct _EX_VERSION;

/* EX_CHECK - the check of a create call that failed, for error texts. */
typedef enum _EX_CHECK {
    EX_CHECK_NONE,
    EX_CHECK_PARAMETER_WIDTH, /* a number that a 32-bit caller cannot pass */
    EX_CHECK_BUFFER_SIZE,     /* no buffer */
    EX_CHECK_SEGMENT_BUFFER,  /* too few counters to divide a segment among */
    EX_CHECK_BUCKET,          /* BucketSize */
    EX_CHECK_SEGMENT_BUCKET,  /* the bucket size that follows from a segment and its
                               * counters */
    EX_CHECK_COUNTERS,        /* fewer counters than buckets */
    EX_CHECK_REGION,          /* its end */
    EX_CHECK_SOURCE,
    EX_CHECK_HANDLE_ADDRESS,
    EX_CHECK_BUFFER_ADDRESS,
    EX_CHECK_ARRAY_ADDRESS,
    EX_CHECK_AFFINITY,
    EX_CHECK_PROCESS,
    EX_CHECK_SEGMENT_PROCESS, /* a segment of all processes */
    EX_CHECK_PRIVILEGE,
    EX_CHECK_KERNEL_SPACE,
    EX_CHECK_GLOBAL_KERNEL_SPACE, /* the same check, for all processes */
    EX_CHECK_RESOURCES
} EX_CHECK;

/* EX_ABI - what depends on the word size of the simulated NT. */
typedef struct _EX_ABI {
    ULONG Number; /* EX_ABI_X64 or EX_ABI_X86 */
    BOOLEAN Segments;
    ULONG64 AddressMask;        /* of ProfileBase and ProfileSize */
    ULONG64 HighestUserAddress; /* of the address space that is profiled */
    ULONG64 SystemRangeStart;
    ULONG64 MostMdlBytes;
    ULONG ProfileIrql;
} EX_ABI;

struct _KSYSTEM {
    HOST_TABLE HostTable; /* copies: Host and Hal point to them */
    HAL_TABLE HalTable;
    HAL_COUNTING HalCounting; /* if HalTable has any */
    HOST Host;
    HAL Hal;
    const struct _EX_VERSION *Version;
    EX_ABI Abi;
    BOOLEAN Wow64;
    const struct _EX_LAYOUT *CallerLayout;
    ULONG BucketSizeMinimum; /* log2: PROFILE_BUCKET_LOG2_MIN, or 0 for fine buckets */
    EX_HANDLE_TABLE Handles; /* above Ob */
    OB_SYSTEM Ob;
    KE_SYSTEM Ke;
    PS_SYSTEM Ps;
    OBJECT_TYPE ProfileType;
    OBJECT_TYPE ProcessType;
    LIST_ENTRY Profiles;        /* EPROFILEs in the order of creation */
    LIST_ENTRY StartedProfiles; /* EPROFILEs that are started; those whose MDL is live
                                 * last */
    ULONG64 StartedCount;
    ULONG64 ProfileCount;
    EX_CHECK FailedCheck; /* of the last create call; EX_CHECK_NONE: none failed */
    ULONG AlignmentFixupInterval; /* what was last set; 0: nothing was */
};

/*
 * ExInitializeSystem - as ExCreateSystem, in memory of the caller. Options are of this
 * version, whatever their Size.
 */
NTSTATUS ExInitializeSystem(KSYSTEM *System, const HOST *Host, const HAL *Hal,
                            const EX_OPTIONS *Options);

/* ExFinishSystem - stop all profiles, close all handles. */
void ExFinishSystem(KSYSTEM *System);

/*
 * ExReferenceProcess - find the process behind a handle (or pseudo handle), which must
 * have PROCESS_QUERY_INFORMATION. The caller calls ObDereferenceObject.
 */
NTSTATUS ExReferenceProcess(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE Handle,
                            EPROCESS **Process);

/*
 * ExBeforeNotification, ExAfterNotification - update process objects before and after
 * the callback of each notification, in order of delivery.
 */
void ExBeforeNotification(KSYSTEM *System, const ntprof_notification *Notification);
void ExAfterNotification(KSYSTEM *System, const ntprof_notification *Notification);

/* ExDetachProfiles - the process runs a new program in a new address space: profiles
 * that are started stay so and do not count any more; later ones do. */
void ExDetachProfiles(KSYSTEM *System, ULONG64 ProcessId);

/* ExFlushBuffers - bring the buffers up to date with the hits that have been delivered,
 * without delivering more. Returns whether any started profile's buffer needs
 * flushes. */
BOOLEAN ExFlushBuffers(KSYSTEM *System);

/* ExCountProcessors - return how many processors are active now. */
ULONG ExCountProcessors(const KSYSTEM *System);

/* ExStartLimit - how many profiles may be started now; 0: any number. */
ULONG64 ExStartLimit(const KSYSTEM *System);

#endif
