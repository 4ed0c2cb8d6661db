/* SPDX-License-Identifier: MIT */
/*
 * ex/ex.h - one instance of the NT profile facility (KSYSTEM), and the services behind
 * the Nt calls.
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

#include <ntprof/notification.h>

struct _EX_LAYOUT;
struct _EX_VERSION;
typedef struct _EPROFILE EPROFILE;

/* As many groups as Linux has processors at most, 8192 on any architecture. */
enum { EX_MOST_GROUPS = 128 };

/* EX_OPTIONS - which rules apply: as the members of ntprof_session_options. */
typedef struct _EX_OPTIONS {
    ULONG Version;       /* 0: the newest, without its defects */
    ULONG Abi;           /* EX_ABI_... */
    BOOLEAN Wow64;       /* the caller is 32-bit and NT is 64-bit: EX_ABI_X64 */
    BOOLEAN FineBuckets; /* BucketSize 0 and 1 too: Version 0 and EX_ABI_X64 */
    ULONG CallerLayout;  /* EX_LAYOUT_...: of the memory of user-mode callers */
} EX_OPTIONS;

enum { EX_ABI_HOST = 0, EX_ABI_X64 = 1, EX_ABI_X86 = 2 };

/* How wide HANDLE, pointers and KAFFINITY are in what is read from and written to
 * user-mode callers: handles, GROUP_AFFINITY, OBJECT_..._INFORMATION. Kernel-mode
 * callers are the host itself. EX_LAYOUT_32 is for callers of EX_ABI_X86, or Wow64. */
enum { EX_LAYOUT_HOST = 0, EX_LAYOUT_64 = 1, EX_LAYOUT_32 = 2 };

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

typedef struct _KSYSTEM KSYSTEM;

struct _KSYSTEM {
    HOST_TABLE HostTable; /* copies: Host and Hal point to them */
    HAL_TABLE HalTable;
    HOST Host;
    HAL Hal;
    const struct _EX_VERSION *Version;
    EX_ABI Abi;
    BOOLEAN Wow64;
    const struct _EX_LAYOUT *CallerLayout;
    ULONG BucketSizeMinimum; /* log2: PROFILE_BUCKET_LOG2_MIN, or 0 for fine buckets */
    OB_SYSTEM Ob;
    KE_SYSTEM Ke;
    PS_SYSTEM Ps;
    OBJECT_TYPE ProfileType;
    OBJECT_TYPE ProcessType;
    LIST_ENTRY Profiles;        /* EPROFILEs in the order of creation */
    LIST_ENTRY StartedProfiles; /* those that are started; whose MDL is live last */
    ULONG64 StartedCount;
    ULONG64 ProfileCount;
    EX_CHECK FailedCheck;         /* of the last create call that failed by a check */
    ULONG AlignmentFixupInterval; /* what was last set; 0 */
};

/*
 * ExFindTableFault - the name of the first member for which ExInitializeSystem refuses
 * the tables, such as "HOST_TABLE.Allocate"; NULL if it takes them.
 */
const char *ExFindTableFault(const HOST *Host, const HAL *Hal);

/*
 * ExInitializeSystem - make System ready. The tables are copied.
 *
 *   Options  in: NULL for defaults
 *
 * STATUS_INVALID_PARAMETER (ExFindTableFault; unknown version or abi, x64 on a 32-bit
 * host, Wow64 or FineBuckets without x64, FineBuckets with an old version, a layout
 * that the callers cannot have), STATUS_INSUFFICIENT_RESOURCES.
 */
NTSTATUS ExInitializeSystem(KSYSTEM *System, const HOST *Host, const HAL *Hal,
                            const EX_OPTIONS *Options);

/* ExFinishSystem - stop all profiles, close all handles. */
void ExFinishSystem(KSYSTEM *System);

/* EX_CREATE_PROFILE - the arguments of NtCreateProfileEx; caller's addresses as
 * numbers. Those are NT's, so the structure never grows. */
typedef struct _EX_CREATE_PROFILE {
    ULONG64 ProfileHandle; /* address of a HANDLE */
    HANDLE Process;
    ULONG64 ProfileBase;
    ULONG64 ProfileSize;
    ULONG BucketSize;
    ULONG64 Buffer;
    ULONG BufferSize;
    KPROFILE_SOURCE ProfileSource;
    USHORT GroupCount;
    ULONG64 AffinityArray;
    KAFFINITY Affinity; /* of EX_CREATE_PROFILE_AFFINITY */
} EX_CREATE_PROFILE;

/* Which of NT's calls creates: */
enum {
    EX_CREATE_PROFILE_EX = 0,       /* NtCreateProfileEx: ignores Affinity */
    EX_CREATE_PROFILE_AFFINITY = 1, /* NtCreateProfile: Affinity, no array */
    EX_CREATE_PROFILE_310 = 2       /* as in 3.10 and 3.50: also ignores the source */
};

/*
 * EX_HANDLE_TABLE - handles of an embedder's own. ReferenceProcess is called at its
 * place in NT's order of checks, InsertHandle when all checks have succeeded.
 */
typedef struct _EX_HANDLE_TABLE {
    ULONG Size; /* sizeof(EX_HANDLE_TABLE) */
    ULONG Reserved;
    void *Context;

    /*
     * Find the process that the caller's Handle stands for, with a reference
     * (ExReferenceProcessById, ExReferenceObject). STATUS_INVALID_HANDLE,
     * STATUS_OBJECT_TYPE_MISMATCH, STATUS_ACCESS_DENIED (user mode, and no
     * PROCESS_QUERY_INFORMATION); any other is the create call's status. NULL: Handle
     * is an EPROCESS.
     */
    NTSTATUS(*ReferenceProcess)
    (void *Context, KPROCESSOR_MODE Mode, HANDLE Handle, EPROCESS **Process);

    /*
     * Make a handle to Profile, which holds the only reference from now on: give it up
     * by ExDereferenceObject when it is closed. ex writes the handle to the caller. A
     * failure is the create call's. NULL: no handle is made, and ProfileHandle is
     * ignored.
     */
    NTSTATUS(*InsertHandle)
    (void *Context, EPROFILE *Profile, ACCESS_MASK GrantedAccess, HANDLE *Handle);

    /* Close a new handle again: it could not be written to the caller. */
    void (*CloseHandle)(void *Context, HANDLE Handle);
} EX_HANDLE_TABLE;

/*
 * ExCreateProfileObject - create a profile without handles of ex: all of NT's checks,
 * in NT's order.
 *
 *   Service  in: EX_CREATE_PROFILE_...
 *   Handles  in: NULL: the process is given as an EPROCESS, and no handle is made
 *   Profile  out: may be NULL if there is InsertHandle. Without InsertHandle with a
 *            reference for the caller, else that of the handle
 *
 * The statuses of NtCreateProfileEx; STATUS_INVALID_PARAMETER (Service, Handles->Size,
 * InsertHandle without CloseHandle, neither InsertHandle nor Profile).
 */
NTSTATUS ExCreateProfileObject(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG Service,
                               const EX_CREATE_PROFILE *P,
                               const EX_HANDLE_TABLE *Handles, EPROFILE **Profile);

/* ExStartProfileObject, ExStopProfileObject - NtStartProfile and NtStopProfile for an
 * object: the statuses of these but those of the handle. */
NTSTATUS ExStartProfileObject(KSYSTEM *System, EPROFILE *Profile);
NTSTATUS ExStopProfileObject(KSYSTEM *System, EPROFILE *Profile);

/* ExReferenceObject - one more reference to an EPROFILE or EPROCESS. */
void ExReferenceObject(void *Object);

/* ExDereferenceObject - drop a reference; the last one deletes the object, and stops a
 * started profile. NULL is allowed. */
void ExDereferenceObject(KSYSTEM *System, void *Object);

/*
 * ExReferenceProcessById - the process with this number, with a reference for the
 * caller. STATUS_INVALID_CID (there is none, or the number is 0) and the host's
 * statuses, STATUS_INSUFFICIENT_RESOURCES.
 */
NTSTATUS ExReferenceProcessById(KSYSTEM *System, ULONG64 ProcessId, EPROCESS **Process);

/* EX_PROFILE_INFORMATION - a profile as it was created, and its state. */
typedef struct _EX_PROFILE_INFORMATION {
    ULONG Size; /* in: sizeof(EX_PROFILE_INFORMATION) */
    ULONG Service;
    ULONG64 ProcessId; /* 0: all processes */
    BOOLEAN ProcessEnded;
    BOOLEAN Started;
    UCHAR Reserved[6];
    ULONG64 StartSequence; /* increases with each start; 0: not started, or counts
                            * nothing */
    /* To create it again by Service, in kernel mode, with Process and AffinityArray set
     * to the process and to Groups. ProfileHandle, Process and AffinityArray are 0. */
    EX_CREATE_PROFILE Parameters;
    GROUP_AFFINITY Groups[EX_MOST_GROUPS]; /* Parameters.GroupCount of them */
} EX_PROFILE_INFORMATION;

/* ExQueryProfileObject - STATUS_INFO_LENGTH_MISMATCH (Information->Size). */
NTSTATUS ExQueryProfileObject(KSYSTEM *System, const EPROFILE *Profile,
                              EX_PROFILE_INFORMATION *Information);

/*
 * ExNextProfileObject - the profile that was created after Previous (NULL: the first),
 * or NULL. No reference is taken: valid until an object is deleted.
 */
EPROFILE *ExNextProfileObject(KSYSTEM *System, const EPROFILE *Previous);

/* The same by handles of ex: its table is behind ExCreateProfileObject. */
NTSTATUS ExCreateProfileEx(KSYSTEM *System, KPROCESSOR_MODE Mode,
                           const EX_CREATE_PROFILE *P);
NTSTATUS ExCreateProfile(KSYSTEM *System, KPROCESSOR_MODE Mode,
                         const EX_CREATE_PROFILE *P, KAFFINITY Affinity);
NTSTATUS ExCreateProfile310(KSYSTEM *System, KPROCESSOR_MODE Mode,
                            const EX_CREATE_PROFILE *P);

NTSTATUS ExStartProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE ProfileHandle);
NTSTATUS ExStopProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE ProfileHandle);
NTSTATUS ExQueryIntervalProfile(KSYSTEM *System, KPROCESSOR_MODE Mode,
                                KPROFILE_SOURCE ProfileSource, ULONG64 Interval);
NTSTATUS ExSetIntervalProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG Interval,
                              KPROFILE_SOURCE ProfileSource);
NTSTATUS ExQueryIntervalProfile310(KSYSTEM *System, KPROCESSOR_MODE Mode,
                                   ULONG64 Interval);
NTSTATUS ExSetIntervalProfile310(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG Interval);
NTSTATUS ExClose(KSYSTEM *System, HANDLE Handle);
NTSTATUS ExOpenProcess(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG64 ProcessHandle,
                       ACCESS_MASK DesiredAccess, ULONG64 ProcessId);

/* EX_DUPLICATE_OBJECT - the arguments of NtDuplicateObject. */
typedef struct _EX_DUPLICATE_OBJECT {
    HANDLE SourceProcessHandle;
    HANDLE SourceHandle;
    HANDLE TargetProcessHandle;
    ULONG64 TargetHandle; /* address of a HANDLE */
    ACCESS_MASK DesiredAccess;
    ULONG HandleAttributes;
    ULONG Options;
} EX_DUPLICATE_OBJECT;

NTSTATUS ExDuplicateObject(KSYSTEM *System, KPROCESSOR_MODE Mode,
                           const EX_DUPLICATE_OBJECT *P);

/* Information and ReturnLength are the caller's addresses; ReturnLength may be 0. */
NTSTATUS ExQueryObject(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE Handle,
                       OBJECT_INFORMATION_CLASS Class, ULONG64 Information,
                       ULONG InformationLength, ULONG64 ReturnLength);

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

/*
 * ExEndProcess - the process has ended, and its number may be used again. Its profiles
 * that are started stay so, count nothing more, and can be stopped; later starts of
 * them succeed and count nothing. A number that is not known is ignored.
 */
void ExEndProcess(KSYSTEM *System, ULONG64 ProcessId);

/* ExFlushProfiles - bring every started profile's buffer up to date. */
void ExFlushProfiles(KSYSTEM *System);

/* ExFlushBuffers - bring the buffers up to date with the hits that have been delivered,
 * without delivering more. Returns whether any started profile's buffer needs
 * flushes. */
BOOLEAN ExFlushBuffers(KSYSTEM *System);

/* ExCountProcessors - return how many processors are active now. */
ULONG ExCountProcessors(const KSYSTEM *System);

/*
 * ExNoticeHalt - if the simulated NT has halted (KeHalt), stop all profiles, and return
 * TRUE. Called after each delivery of hits.
 */
BOOLEAN ExNoticeHalt(KSYSTEM *System);

/* ExStartLimit - how many profiles may be started now; 0: any number. */
ULONG64 ExStartLimit(const KSYSTEM *System);

#endif
