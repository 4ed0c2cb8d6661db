/* SPDX-License-Identifier: MIT */
/*
 * core.h - the facility inside a kernel or an emulator of one's own: systems, profile
 * objects and processes, above a host table (host.h) and a HAL table (hal.h) that the
 * embedder fills. Freestanding: needs memcpy, memmove and memset, and nothing else.
 * ARCHITECTURE.md, Embedding, is the guide.
 *
 * With NTPROF_PREFIXED all names begin with ntprof_, beside any other definitions of
 * NT's names. The linker's names always do: `pkg-config ntprof-core` has
 * libntprof-core.so, and libntprof-core.a, which brings no other names into a kernel.
 *
 * Levels and locks. Calls for one system at passive level are made one at a time: put a
 * lock around them, which callbacks of the tables are called under. At interrupt level,
 * on any thread, without that lock, also during other calls:
 *
 *   ExProfileInterrupt   calls nothing out, allocates nothing, takes no lock. Calls for
 *                        one processor do not overlap
 *   ExQueryHalt
 *
 * All other calls are passive. An embedder must call
 *
 *   ExEndProcess         when a process ends, before another one has its number
 *   ExNoticeHalt         with the rules of a version that has defects: from time to
 *                        time, and before it answers a call by a handle of its own
 *   ExFlushProfiles      before somebody reads counters that FlushPages brings up to
 *                        date, and at least before 2^32 hits of one counter
 *   ExDeleteSystem       at the end
 *
 * Systems share nothing. A child of fork may only delete those of its parent.
 */
#ifndef NTPROF_CORE_H
#define NTPROF_CORE_H

#include <ntprof/hal.h>
#include <ntprof/host.h>

#include <ntprof/nt_names_begin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The linker's name of each function. */
#ifdef NTPROF_PREFIXED
#define NTPROF_CORE_SYMBOL(name)
#else
#define NTPROF_CORE_SYMBOL(name) __asm__("ntprof_" #name)
#endif

typedef struct _KSYSTEM KSYSTEM;   /* one instance of the facility */
typedef struct _EPROFILE EPROFILE; /* a profile object */
typedef struct _EPROCESS EPROCESS; /* a process object */

/* ---- systems ---- */

/* EX_OPTIONS.Abi: word size of the simulated NT. */
enum { EX_ABI_HOST = 0, EX_ABI_X64 = 1, EX_ABI_X86 = 2 };

/* EX_OPTIONS.CallerLayout: how wide HANDLE, pointers and KAFFINITY are in what is read
 * from and written to user-mode callers: handles, GROUP_AFFINITY,
 * OBJECT_..._INFORMATION. Kernel-mode callers are the embedder itself, with its own
 * memory. EX_LAYOUT_32 is for callers of EX_ABI_X86, or Wow64. */
enum { EX_LAYOUT_HOST = 0, EX_LAYOUT_64 = 1, EX_LAYOUT_32 = 2 };

/* EX_OPTIONS - which rules apply: as the members of ntprof_session_options. */
typedef struct _EX_OPTIONS {
    ULONG Size;              /* sizeof(EX_OPTIONS) */
    ULONG Version;           /* as 502 for NT 5.2; 0: the newest, without its defects */
    ULONG Abi;               /* EX_ABI_... */
    ULONG CallerLayout;      /* EX_LAYOUT_... */
    BOOLEAN Wow64;           /* the caller is 32-bit and NT is 64-bit: EX_ABI_X64 */
    BOOLEAN FineBuckets;     /* BucketSize 0 and 1 too: Version 0 and EX_ABI_X64 */
    UCHAR Reserved[6];       /* 0 */
    ULONG64 BugCheckAddress; /* of the instruction, in a simulated bug check: KE_HALT */
} EX_OPTIONS;

/*
 * ExFindTableFault - the name of the first member for which ExCreateSystem refuses the
 * tables, such as "Allocate"; NULL if it takes them.
 */
const char *ExFindTableFault(const HOST *Host, const HAL *Hal)
    NTPROF_CORE_SYMBOL(ExFindTableFault);

/*
 * ExCreateSystem - make an instance of the facility, in memory of the host. The tables
 * are copied.
 *
 *   Options  in: NULL for defaults
 *   System   out
 *
 * STATUS_INVALID_PARAMETER (ExFindTableFault; Options->Size; unknown version or abi,
 * x64 on a 32-bit host, Wow64 or FineBuckets without x64, FineBuckets with an old
 * version, a layout that the callers cannot have), STATUS_INSUFFICIENT_RESOURCES.
 */
NTSTATUS ExCreateSystem(const HOST *Host, const HAL *Hal, const EX_OPTIONS *Options,
                        KSYSTEM **System) NTPROF_CORE_SYMBOL(ExCreateSystem);

/*
 * ExDeleteSystem - close all handles of ex, stop and delete what they held, and free
 * the system. The embedder has dropped its references to objects before. NULL is
 * allowed.
 */
void ExDeleteSystem(KSYSTEM *System) NTPROF_CORE_SYMBOL(ExDeleteSystem);

/*
 * ExProfileInterrupt - count a hit in every started profile that matches it.
 *
 * Returns the number of counters incremented. Level: interrupt. NT's
 * KeProfileInterruptWithSource; docs/behaviour.md, Hits.
 */
ULONG ExProfileInterrupt(KSYSTEM *System, const KE_HIT *Hit)
    NTPROF_CORE_SYMBOL(ExProfileInterrupt);

/* ExFlushProfiles - bring every started profile's buffer up to date. */
void ExFlushProfiles(KSYSTEM *System) NTPROF_CORE_SYMBOL(ExFlushProfiles);

/*
 * ExNoticeHalt - if the simulated NT has halted, stop all profiles, and return TRUE.
 * Calls that follow answer STATUS_SYSTEM_SHUTDOWN.
 */
BOOLEAN ExNoticeHalt(KSYSTEM *System) NTPROF_CORE_SYMBOL(ExNoticeHalt);

/* ExQueryHalt - why the simulated NT has halted; FALSE: it has not. Halt may be NULL.
 * Level: any. */
BOOLEAN ExQueryHalt(const KSYSTEM *System, KE_HALT *Halt)
    NTPROF_CORE_SYMBOL(ExQueryHalt);

/* ExQueryStatistics - the hits of a source; all 0 if no profile of it was started. */
void ExQueryStatistics(const KSYSTEM *System, KPROFILE_SOURCE ProfileSource,
                       KE_STATISTICS *Statistics) NTPROF_CORE_SYMBOL(ExQueryStatistics);

/* ---- processes ---- */

/*
 * ExReferenceProcessById - the process with this number, with a reference for the
 * caller. STATUS_INVALID_CID (there is none, or the number is 0) and the host's
 * statuses, STATUS_INSUFFICIENT_RESOURCES.
 */
NTSTATUS ExReferenceProcessById(KSYSTEM *System, ULONG64 ProcessId, EPROCESS **Process)
    NTPROF_CORE_SYMBOL(ExReferenceProcessById);

/*
 * ExEndProcess - the process has ended, and its number may be used again. Its profiles
 * that are started stay so, count nothing more, and can be stopped; later starts of
 * them succeed and count nothing. A number that is not known is ignored.
 */
void ExEndProcess(KSYSTEM *System, ULONG64 ProcessId) NTPROF_CORE_SYMBOL(ExEndProcess);

/* ---- profile objects, for embedders that have handles of their own ---- */

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
     * (ExReferenceProcessById, ExReferenceObject). NtCurrentProcess() of a caller of 32
     * bits comes as you have put it into EX_CREATE_PROFILE. STATUS_INVALID_HANDLE,
     * STATUS_OBJECT_TYPE_MISMATCH, STATUS_ACCESS_DENIED (user mode, and no
     * PROCESS_QUERY_INFORMATION); any other is the create call's status. Not called for
     * NULL, all processes. If it is NULL, Handle is an EPROCESS.
     */
    NTSTATUS(*ReferenceProcess)
    (void *Context, KPROCESSOR_MODE Mode, HANDLE Handle, EPROCESS **Process);

    /*
     * Make a handle to Profile, which holds the only reference from now on: give it up
     * by ExDereferenceObject when it is closed. ex writes the handle to the caller. A
     * failure is the create call's. If it is NULL, no handle is made, and ProfileHandle
     * is ignored.
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
 *   P        in: as the caller passed it
 *   Handles  in: NULL: the process is given as an EPROCESS, and no handle is made
 *   Profile  out: may be NULL if there is InsertHandle. Without InsertHandle with a
 *            reference for the caller, else that of the handle
 *
 * The statuses of NtCreateProfileEx; STATUS_INVALID_PARAMETER (Service, Handles->Size,
 * InsertHandle without CloseHandle, neither InsertHandle nor Profile).
 */
NTSTATUS ExCreateProfileObject(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG Service,
                               const EX_CREATE_PROFILE *P,
                               const EX_HANDLE_TABLE *Handles, EPROFILE **Profile)
    NTPROF_CORE_SYMBOL(ExCreateProfileObject);

/* ExStartProfileObject - NtStartProfile for an object: its statuses but those of the
 * handle, which asks for PROFILE_CONTROL. */
NTSTATUS ExStartProfileObject(KSYSTEM *System, EPROFILE *Profile)
    NTPROF_CORE_SYMBOL(ExStartProfileObject);

/* ExStopProfileObject - NtStopProfile for an object, in the same way. */
NTSTATUS ExStopProfileObject(KSYSTEM *System, EPROFILE *Profile)
    NTPROF_CORE_SYMBOL(ExStopProfileObject);

/* ExReferenceObject - one more reference to an EPROFILE or EPROCESS. */
void ExReferenceObject(void *Object) NTPROF_CORE_SYMBOL(ExReferenceObject);

/* ExDereferenceObject - drop a reference; the last one deletes the object, and stops a
 * started profile. NULL is allowed. */
void ExDereferenceObject(KSYSTEM *System, void *Object)
    NTPROF_CORE_SYMBOL(ExDereferenceObject);

/* As many groups as Linux has processors at most, 8192 on any architecture. */
enum { EX_MOST_GROUPS = 128 };

/* EX_PROFILE_INFORMATION - a profile as it was created, and its state. */
typedef struct _EX_PROFILE_INFORMATION {
    ULONG Size;        /* in: sizeof(EX_PROFILE_INFORMATION) */
    ULONG Service;     /* EX_CREATE_PROFILE_... */
    ULONG64 ProcessId; /* 0: all processes */
    BOOLEAN ProcessEnded;
    BOOLEAN Started;
    UCHAR Reserved[6];
    ULONG64 StartSequence; /* increases with each start; 0: not started */
    /* To create it again by Service, in kernel mode, with Process set to the process
     * (ProcessEnded: to any that has ended) and AffinityArray to Groups. ProfileHandle,
     * Process and AffinityArray are 0. */
    EX_CREATE_PROFILE Parameters;
    GROUP_AFFINITY Groups[EX_MOST_GROUPS]; /* Parameters.GroupCount of them */
} EX_PROFILE_INFORMATION;

/* ExQueryProfileObject - STATUS_INFO_LENGTH_MISMATCH (Information->Size). */
NTSTATUS ExQueryProfileObject(KSYSTEM *System, const EPROFILE *Profile,
                              EX_PROFILE_INFORMATION *Information)
    NTPROF_CORE_SYMBOL(ExQueryProfileObject);

/*
 * ExNextProfileObject - the profile that was created after Previous (NULL: the first),
 * or NULL. No reference is taken: valid until an object is deleted.
 */
EPROFILE *ExNextProfileObject(KSYSTEM *System, const EPROFILE *Previous)
    NTPROF_CORE_SYMBOL(ExNextProfileObject);

/* ---- the same by handles of ex: its handle table above the objects ---- */

/* ExCreateProfileEx, ExCreateProfile, ExCreateProfile310 - ExCreateProfileObject with
 * the handle table of ex. ExCreateProfile sets P->Affinity to Affinity. */
NTSTATUS ExCreateProfileEx(KSYSTEM *System, KPROCESSOR_MODE Mode,
                           const EX_CREATE_PROFILE *P)
    NTPROF_CORE_SYMBOL(ExCreateProfileEx);
NTSTATUS ExCreateProfile(KSYSTEM *System, KPROCESSOR_MODE Mode,
                         const EX_CREATE_PROFILE *P, KAFFINITY Affinity)
    NTPROF_CORE_SYMBOL(ExCreateProfile);
NTSTATUS ExCreateProfile310(KSYSTEM *System, KPROCESSOR_MODE Mode,
                            const EX_CREATE_PROFILE *P)
    NTPROF_CORE_SYMBOL(ExCreateProfile310);

/* ExStartProfile, ExStopProfile, ExClose - the Nt calls: <ntprof/nt_profile.h>. */
NTSTATUS ExStartProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE ProfileHandle)
    NTPROF_CORE_SYMBOL(ExStartProfile);
NTSTATUS ExStopProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE ProfileHandle)
    NTPROF_CORE_SYMBOL(ExStopProfile);
NTSTATUS ExClose(KSYSTEM *System, HANDLE Handle) NTPROF_CORE_SYMBOL(ExClose);

/* ExOpenProcess - a handle to the process with this number. */
NTSTATUS ExOpenProcess(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG64 ProcessHandle,
                       ACCESS_MASK DesiredAccess, ULONG64 ProcessId)
    NTPROF_CORE_SYMBOL(ExOpenProcess);

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

/* ExDuplicateObject, ExQueryObject - the Nt calls. Information and ReturnLength are the
 * caller's addresses; ReturnLength may be 0. */
NTSTATUS ExDuplicateObject(KSYSTEM *System, KPROCESSOR_MODE Mode,
                           const EX_DUPLICATE_OBJECT *P)
    NTPROF_CORE_SYMBOL(ExDuplicateObject);
NTSTATUS ExQueryObject(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE Handle,
                       OBJECT_INFORMATION_CLASS Class, ULONG64 Information,
                       ULONG InformationLength, ULONG64 ReturnLength)
    NTPROF_CORE_SYMBOL(ExQueryObject);

/* ---- intervals ---- */

/* ExQueryIntervalProfile, ExSetIntervalProfile - the Nt calls; Interval of a query is
 * the caller's address. */
NTSTATUS ExQueryIntervalProfile(KSYSTEM *System, KPROCESSOR_MODE Mode,
                                KPROFILE_SOURCE ProfileSource, ULONG64 Interval)
    NTPROF_CORE_SYMBOL(ExQueryIntervalProfile);
NTSTATUS ExSetIntervalProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG Interval,
                              KPROFILE_SOURCE ProfileSource)
    NTPROF_CORE_SYMBOL(ExSetIntervalProfile);

/* ExQueryIntervalProfile310, ExSetIntervalProfile310 - as in 3.10 and 3.50: of time. */
NTSTATUS ExQueryIntervalProfile310(KSYSTEM *System, KPROCESSOR_MODE Mode,
                                   ULONG64 Interval)
    NTPROF_CORE_SYMBOL(ExQueryIntervalProfile310);
NTSTATUS ExSetIntervalProfile310(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG Interval)
    NTPROF_CORE_SYMBOL(ExSetIntervalProfile310);

#ifdef __cplusplus
}
#endif

#include <ntprof/nt_names_end.h>

#endif

#include <ntprof/nt_names_check.h>
