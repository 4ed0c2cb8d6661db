/* SPDX-License-Identifier: MIT */
/*
 * nt_profile.h - NT's profile calls, with NT's names and argument order.
 *
 * Each call works on the calling thread's session (ntprof_session_use), else on the
 * default session, which the first call opens. All calls may be made by any thread, and
 * by a notification callback, but not by a signal handler: it may have interrupted a
 * thread that holds the session's lock. Level: passive (they may block).
 *
 * A call that fails changes nothing and leaves its outputs untouched. Statuses are
 * listed in the order in which they are checked, by the rules of the newest version
 * with all known defects mended; ntprof_session_options.nt_version selects another
 * version, and docs/behaviour.md says what differs. Rule ids name its rows. Once the
 * session has halted (ntprof_session_info.halt), any call except NtClose gives
 * STATUS_SYSTEM_SHUTDOWN before all other checks. In a session of a version without the
 * call it gives STATUS_INVALID_SYSTEM_SERVICE.
 */
#ifndef NTPROF_NT_PROFILE_H
#define NTPROF_NT_PROFILE_H

#include <ntprof/nt_status.h>
#include <ntprof/nt_types.h>

#include <ntprof/nt_names_begin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* KPROFILE_SOURCE - NT's numbers; from 0x1000 on ntprof's own. See <ntprof/source.h>.
 */
typedef ULONG KPROFILE_SOURCE;

enum {
    ProfileTime = 0,
    ProfileAlignmentFixup = 1,
    ProfileTotalIssues = 2,
    ProfilePipelineDry = 3,
    ProfileLoadInstructions = 4,
    ProfilePipelineFrozen = 5,
    ProfileBranchInstructions = 6,
    ProfileTotalNonissues = 7,
    ProfileDcacheMisses = 8,
    ProfileIcacheMisses = 9,
    ProfileCacheMisses = 10,
    ProfileBranchMispredictions = 11,
    ProfileStoreInstructions = 12,
    ProfileFpInstructions = 13,
    ProfileIntegerInstructions = 14,
    Profile2Issue = 15,
    Profile3Issue = 16,
    Profile4Issue = 17,
    ProfileSpecialInstructions = 18,
    ProfileTotalCycles = 19,
    ProfileIcacheIssues = 20,
    ProfileDcacheAccesses = 21,
    ProfileMemoryBarrierCycles = 22,
    ProfileLoadLinkedIssues = 23,
    ProfileMaximum = 24,

    ProfileNtprofBase = 0x1000,
    ProfilePageFaults = 0x1000,
    ProfileMinorFaults = 0x1001,
    ProfileMajorFaults = 0x1002,
    ProfileContextSwitches = 0x1003,
    ProfileMigrations = 0x1004,
    /* From here on: sources made by ntprof_source_lookup, such as breakpoints. */
    ProfileDynamicBase = 0x2000
};

/* Log2 of the smallest (4 bytes) and of the largest (2 GB) bucket. */
enum { PROFILE_BUCKET_LOG2_MIN = 2, PROFILE_BUCKET_LOG2_MAX = 31 };

/* Access rights. NtCurrentProcess - the pseudo handle of the calling process; never
 * closed. */
#ifdef NTPROF_PREFIXED
#define ntprof_PROFILE_CONTROL 0x0001u
#define ntprof_PROFILE_ALL_ACCESS 0x000F0001u
#define ntprof_PROCESS_DUP_HANDLE 0x0040u
#define ntprof_PROCESS_QUERY_INFORMATION 0x0400u
#define ntprof_NtCurrentProcess() ((ntprof_HANDLE)(ntprof_LONG_PTR)-1)
#else
#ifndef PROFILE_CONTROL
#define PROFILE_CONTROL 0x0001u
#endif
#ifndef PROFILE_ALL_ACCESS
#define PROFILE_ALL_ACCESS 0x000F0001u
#endif
#ifndef PROCESS_DUP_HANDLE
#define PROCESS_DUP_HANDLE 0x0040u
#endif
#ifndef PROCESS_QUERY_INFORMATION
#define PROCESS_QUERY_INFORMATION 0x0400u
#endif
#ifndef NtCurrentProcess
#define NtCurrentProcess() ((HANDLE)(LONG_PTR)-1)
#endif
#ifndef ZwCurrentProcess
#define ZwCurrentProcess() NtCurrentProcess()
#endif
#endif

/*
 * NtCreateProfileEx - make a profile object for executions within a region.
 *
 *   ProfileHandle  out: the handle, with access PROFILE_CONTROL; need not be aligned
 *   Process        in: handle with PROCESS_QUERY_INFORMATION, or NULL for all processes
 *   ProfileBase    in: first byte of the region
 *   ProfileSize    in: bytes, 0..; a region of 0 bytes never counts
 *   BucketSize     in: log2 of the bucket's bytes, 2..31. In an x86 session 0 too:
 *                  ProfileBase is then the selector of a code segment, below 0x10000,
 *                  and the region the first ProfileSize bytes of it, in buckets of a
 *                  size that BufferSize gives (create-segment-*); 0..31 with
 *                  NTPROF_SESSION_FINE_BUCKETS
 *   Buffer         in: ULONG counters, 4-byte aligned, kept by the caller until the
 *                  profile is closed; not zeroed by this call
 *   BufferSize     in: bytes, 1..; needs 4 bytes for each whole or partial bucket
 *   ProfileSource  in: what interrupts
 *   GroupCount     in: elements of AffinityArray; 0 for all active processors
 *   AffinityArray  in: the processors, each active; not changed; ignored if
 *                  GroupCount is 0
 *
 * STATUS_INVALID_PARAMETER_7        BufferSize is 0
 * STATUS_INVALID_PARAMETER          BucketSize outside 2..31, and no segment
 * STATUS_BUFFER_TOO_SMALL           fewer counters than buckets (exact, in 64 bits)
 * STATUS_BUFFER_OVERFLOW            ProfileBase + ProfileSize wraps, or is exactly
 *                                   2^width
 * STATUS_NOT_SUPPORTED              the HAL does not have ProfileSource
 * STATUS_ACCESS_VIOLATION           ProfileHandle is no user memory that can be written
 * STATUS_DATATYPE_MISALIGNMENT, STATUS_ACCESS_VIOLATION
 *                                   Buffer is not 4-byte aligned; no user memory that
 *                                   can be written
 * STATUS_DATATYPE_MISALIGNMENT, STATUS_ACCESS_VIOLATION
 *                                   AffinityArray is not 4-byte aligned; no user memory
 *                                   that can be read
 * STATUS_INVALID_PARAMETER          bad Group, empty Mask, inactive processor, Reserved
 * STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH, STATUS_ACCESS_DENIED
 *                                   Process
 * STATUS_PRIVILEGE_NOT_HELD         Process is NULL, ProfileBase a user address, and
 *                                   the caller may not open processor-wide events
 * STATUS_ACCESS_DENIED              the region reaches into kernel space and the caller
 *                                   may not measure the kernel
 * STATUS_INSUFFICIENT_RESOURCES     no memory for object or handle
 *
 * Source: docs/behaviour.md, rules create-*.
 */
NTSTATUS NtCreateProfileEx(HANDLE *ProfileHandle, HANDLE Process, PVOID ProfileBase,
                           SIZE_T ProfileSize, ULONG BucketSize, ULONG *Buffer,
                           ULONG BufferSize, KPROFILE_SOURCE ProfileSource,
                           USHORT GroupCount, GROUP_AFFINITY *AffinityArray);

/*
 * NtCreateProfile - the same for the processors of the caller's current group.
 *
 *   Affinity  in: bit n is processor n of the group; all ones for its active
 *             processors; 0 is STATUS_INVALID_PARAMETER
 *
 * Parameters and statuses otherwise as NtCreateProfileEx. Source: docs/behaviour.md,
 * Create.
 */
NTSTATUS NtCreateProfile(HANDLE *ProfileHandle, HANDLE Process, PVOID ProfileBase,
                         SIZE_T ProfileSize, ULONG BucketSize, ULONG *Buffer,
                         ULONG BufferSize, KPROFILE_SOURCE ProfileSource,
                         KAFFINITY Affinity);

/*
 * NtStartProfile - count into the buffer from now on.
 *
 *   ProfileHandle  in: profile handle with access PROFILE_CONTROL
 *
 * STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH, STATUS_ACCESS_DENIED  the handle
 * STATUS_PROFILING_NOT_STOPPED   already started
 * STATUS_PROFILING_AT_LIMIT      8192 x active processors are started in this session
 * STATUS_INSUFFICIENT_RESOURCES  no memory for the kernel profile; more of the buffer
 *                                is needed than an MDL can describe
 * STATUS_ACCESS_VIOLATION, STATUS_WORKING_SET_QUOTA  the buffer cannot be locked: it is
 *                                not there or cannot be written; RLIMIT_MEMLOCK, or
 *                                another thread unmapped and mapped it during the call
 * STATUS_INSUFFICIENT_RESOURCES  the buffer cannot be mapped
 * STATUS_ACCESS_DENIED, STATUS_PRIVILEGE_NOT_HELD, STATUS_INSUFFICIENT_RESOURCES,
 * STATUS_PROCESS_IS_TERMINATING, STATUS_NOT_SUPPORTED
 *                                the HAL cannot start the source: for this process, for
 *                                all processes, for want of descriptors or memory,
 *                                because the process is ending, for another reason. NT
 *                                has no such failure; Linux may refuse an event
 *                                (decisions/0003)
 *
 * Memory of ntprof_buffer_alloc is live: a hit is there as soon as it is counted. To
 * any other memory hits are added at stop, at ntprof_source_get and
 * ntprof_session_flush, and while started at least every 150 ms by the session's
 * thread, or by ntprof_session_poll when it is called as it asks. No page of the caller
 * is moved or replaced. Nothing is added to memory that was unmapped, replaced,
 * unlocked or write-protected meanwhile, and nothing faults: its hits wait, and are
 * lost at the stop (NtStopProfile).
 *
 * Back end perf opens its events on all threads of the process here. So that no thread
 * is missed, it waits until each running thread, which may be creating another, has run
 * for half a millisecond more. It waits for a second at most. Meanwhile other threads
 * may create profiles, query intervals and objects and ask for ntprof_session_get_info;
 * their other calls on the session, and deliveries, wait until the start returns.
 * Within a notification all calls of other threads wait.
 *
 * Source: docs/behaviour.md, Start.
 */
NTSTATUS NtStartProfile(HANDLE ProfileHandle);

/*
 * NtStopProfile - stop counting. When it returns no counter changes any more, and every
 * hit that happened before the call is counted. Success also if the caller has unmapped
 * or protected memory that is not of ntprof_buffer_alloc: counts that could not be
 * added are lost, and ntprof_source_info.unwritten reports them.
 *
 * STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH, STATUS_ACCESS_DENIED  the handle
 * STATUS_PROFILING_NOT_STARTED   not started
 *
 * Source: docs/behaviour.md, Stop and close.
 */
NTSTATUS NtStopProfile(HANDLE ProfileHandle);

/*
 * NtQueryIntervalProfile - the interval in effect for a source of this session.
 *
 *   Interval  out: 100 ns for ProfileTime, else events per hit; 0 if not supported
 *
 * STATUS_DATATYPE_MISALIGNMENT   Interval is not 4-byte aligned
 * STATUS_ACCESS_VIOLATION        Interval is no user memory that can be written
 *
 * Any source succeeds. If the memory vanishes between probe and write: STATUS_SUCCESS,
 * as published. Source: docs/behaviour.md, Intervals.
 */
NTSTATUS NtQueryIntervalProfile(KPROFILE_SOURCE ProfileSource, ULONG *Interval);

/*
 * NtSetIntervalProfile - request an interval; note the order of the arguments.
 *
 *   Interval  in: unit as in the query; what the source cannot do is clamped, not
 *             refused: query afterwards
 *
 * STATUS_PRIVILEGE_NOT_HELD   the caller may not open processor-wide events
 *
 * With the privilege it always succeeds, whatever the source. The interval is the
 * session's, not the machine's; without the privilege pass intervals to
 * ntprof_session_open. Source: docs/behaviour.md, Intervals.
 */
NTSTATUS NtSetIntervalProfile(ULONG Interval, KPROFILE_SOURCE ProfileSource);

/*
 * NtClose - close a handle. The last close of a started profile stops it.
 *
 * STATUS_INVALID_HANDLE   not an open handle (the pseudo handle closes with success)
 */
NTSTATUS NtClose(HANDLE Handle);

/*
 * NtOpenProcess - open a process by its pid; a pid that is used again is another
 * process.
 *
 *   ProcessHandle     out: the handle, with the access asked for
 *   DesiredAccess     in: PROCESS_QUERY_INFORMATION is the access that profiles need
 *   ObjectAttributes  in: NULL, or one without a name
 *   ClientId          in: UniqueProcess is the pid, as the calling process sees it
 *
 * STATUS_INVALID_PARAMETER     ClientId is NULL
 * STATUS_ACCESS_VIOLATION      ClientId or ObjectAttributes cannot be read
 * STATUS_INVALID_PARAMETER     ObjectAttributes has a name
 * STATUS_ACCESS_VIOLATION      ProcessHandle cannot be written
 * STATUS_INVALID_CID           no such process
 * STATUS_ACCESS_DENIED         Linux does not let the caller look into that process
 * STATUS_INSUFFICIENT_RESOURCES
 *
 * Within a notification a process is found until its exit has been notified, although
 * it may have ended in the meantime.
 */
NTSTATUS NtOpenProcess(HANDLE *ProcessHandle, ACCESS_MASK DesiredAccess,
                       const OBJECT_ATTRIBUTES *ObjectAttributes,
                       const CLIENT_ID *ClientId);

/* NtDuplicateObject.Options, .HandleAttributes */
#ifdef NTPROF_PREFIXED
#define ntprof_DUPLICATE_CLOSE_SOURCE 0x0001u
#define ntprof_DUPLICATE_SAME_ACCESS 0x0002u
#define ntprof_DUPLICATE_SAME_ATTRIBUTES 0x0004u
#define ntprof_OBJ_INHERIT 0x0002u
#else
#ifndef DUPLICATE_CLOSE_SOURCE
#define DUPLICATE_CLOSE_SOURCE 0x0001u
#endif
#ifndef DUPLICATE_SAME_ACCESS
#define DUPLICATE_SAME_ACCESS 0x0002u
#endif
#ifndef DUPLICATE_SAME_ATTRIBUTES
#define DUPLICATE_SAME_ATTRIBUTES 0x0004u
#endif
#ifndef OBJ_INHERIT
#define OBJ_INHERIT 0x0002u
#endif
#endif

/*
 * NtDuplicateObject - another handle to the same object.
 *
 *   SourceProcessHandle  in: the calling process: its pseudo handle, or a handle with
 *                        PROCESS_DUP_HANDLE
 *   SourceHandle         in: any handle of the session, or the pseudo handle
 *   TargetProcessHandle  in: as SourceProcessHandle
 *   TargetHandle         out: the new handle; need not be aligned
 *   DesiredAccess        in: what to grant, generic bits too; at most what SourceHandle
 *                        has
 *   HandleAttributes     in: 0 or OBJ_INHERIT, which is remembered: Linux inherits no
 *                        handles
 *   Options              in: DUPLICATE_...; with CLOSE_SOURCE SourceHandle is closed if
 *                        it is open, also when the call fails at TargetProcessHandle or
 *                        later; not if SourceProcessHandle is another process
 *
 * STATUS_ACCESS_VIOLATION       TargetHandle is no user memory that can be written
 * STATUS_INVALID_PARAMETER      unknown bits in Options or HandleAttributes
 * STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH, STATUS_ACCESS_DENIED
 *                               SourceProcessHandle, then TargetProcessHandle
 * STATUS_NOT_SUPPORTED          one of them is another process, which has no handles
 *                               here
 * STATUS_INVALID_HANDLE         SourceHandle
 * STATUS_ACCESS_DENIED          DesiredAccess is more than SourceHandle has
 * STATUS_INSUFFICIENT_RESOURCES
 *
 * Source: docs/behaviour.md, Handles.
 */
NTSTATUS NtDuplicateObject(HANDLE SourceProcessHandle, HANDLE SourceHandle,
                           HANDLE TargetProcessHandle, HANDLE *TargetHandle,
                           ACCESS_MASK DesiredAccess, ULONG HandleAttributes,
                           ULONG Options);

/* NtQueryObject.ObjectInformationClass */
typedef ULONG OBJECT_INFORMATION_CLASS;
enum {
    ObjectBasicInformation = 0,
    ObjectNameInformation = 1,
    ObjectTypeInformation = 2
};

/* OBJECT_BASIC_INFORMATION - NT's; what has no meaning here is 0. */
typedef struct _OBJECT_BASIC_INFORMATION {
    ULONG Attributes; /* of the handle: OBJ_INHERIT or 0 */
    ACCESS_MASK GrantedAccess;
    ULONG HandleCount;
    ULONG PointerCount; /* handles and other references */
    ULONG PagedPoolCharge;
    ULONG NonPagedPoolCharge;
    ULONG Reserved[3];
    ULONG NameInfoSize; /* 0: objects are unnamed */
    ULONG TypeInfoSize; /* bytes that ObjectTypeInformation takes */
    ULONG SecurityDescriptorSize;
    LONG64 CreationTime;
} OBJECT_BASIC_INFORMATION;

/* OBJECT_NAME_INFORMATION - NT's; objects are unnamed, so all of Name is 0. */
typedef struct _OBJECT_NAME_INFORMATION {
    UNICODE_STRING Name;
} OBJECT_NAME_INFORMATION;

/* OBJECT_TYPE_INFORMATION - NT's; the name follows it. What has no meaning here is 0.
 */
typedef struct _OBJECT_TYPE_INFORMATION {
    UNICODE_STRING TypeName; /* Buffer is behind the structure */
    ULONG TotalNumberOfObjects;
    ULONG TotalNumberOfHandles;
    ULONG TotalPagedPoolUsage;
    ULONG TotalNonPagedPoolUsage;
    ULONG TotalNamePoolUsage;
    ULONG TotalHandleTableUsage;
    ULONG HighWaterNumberOfObjects;
    ULONG HighWaterNumberOfHandles;
    ULONG HighWaterPagedPoolUsage;
    ULONG HighWaterNonPagedPoolUsage;
    ULONG HighWaterNamePoolUsage;
    ULONG HighWaterHandleTableUsage;
    ULONG InvalidAttributes; /* Profile: OBJ_OPENLINK, 0x100 */
    GENERIC_MAPPING GenericMapping;
    ULONG ValidAccessMask;
    BOOLEAN SecurityRequired;
    BOOLEAN MaintainHandleCount;
    UCHAR TypeIndex;
    UCHAR ReservedByte;
    ULONG PoolType; /* 0: non-paged */
    ULONG DefaultPagedPoolCharge;
    ULONG DefaultNonPagedPoolCharge;
} OBJECT_TYPE_INFORMATION;

/*
 * NtQueryObject - facts of a handle's object, or of its type.
 *
 *   Handle                   in: any handle of the session, or the pseudo handle; needs
 *                            no access
 *   ObjectInformationClass   in: ObjectBasicInformation, ObjectNameInformation or
 *                            ObjectTypeInformation
 *   ObjectInformation        out: the structure
 *   ObjectInformationLength  in: bytes; exactly the structure's for basic information,
 *                            at least the structure's for name information, and
 *                            structure and name with its zero for type information
 *   ReturnLength             out, may be NULL: bytes needed; also set with
 *                            INFO_LENGTH_MISMATCH
 *
 * STATUS_DATATYPE_MISALIGNMENT, STATUS_ACCESS_VIOLATION
 *                               ObjectInformation, then ReturnLength: 4-byte aligned,
 *                               writable
 * STATUS_INVALID_INFO_CLASS
 * STATUS_INVALID_HANDLE
 * STATUS_INFO_LENGTH_MISMATCH
 *
 * Source: docs/behaviour.md, Handles.
 */
NTSTATUS NtQueryObject(HANDLE Handle, OBJECT_INFORMATION_CLASS ObjectInformationClass,
                       void *ObjectInformation, ULONG ObjectInformationLength,
                       ULONG *ReturnLength);

/*
 * ntprof_NtCreateProfile310, ntprof_NtQueryIntervalProfile310,
 * ntprof_NtSetIntervalProfile310 - the calls as NT 3.10 and 3.50 had them: no source
 * and no affinity, so ProfileTime on all processors. Parameters and statuses otherwise
 * as the calls above, whose present forms these two versions lack. A session of
 * another version answers STATUS_INVALID_SYSTEM_SERVICE.
 */
NTSTATUS ntprof_NtCreateProfile310(HANDLE *ProfileHandle, HANDLE Process,
                                   PVOID ProfileBase, SIZE_T ProfileSize,
                                   ULONG BucketSize, ULONG *Buffer, ULONG BufferSize);
NTSTATUS ntprof_NtQueryIntervalProfile310(ULONG *Interval);
NTSTATUS ntprof_NtSetIntervalProfile310(ULONG Interval);

#ifndef NTPROF_PREFIXED

/* The same functions by their Zw names. */
NTSTATUS ZwCreateProfileEx(HANDLE *ProfileHandle, HANDLE Process, PVOID ProfileBase,
                           SIZE_T ProfileSize, ULONG BucketSize, ULONG *Buffer,
                           ULONG BufferSize, KPROFILE_SOURCE ProfileSource,
                           USHORT GroupCount, GROUP_AFFINITY *AffinityArray);
NTSTATUS ZwCreateProfile(HANDLE *ProfileHandle, HANDLE Process, PVOID ProfileBase,
                         SIZE_T ProfileSize, ULONG BucketSize, ULONG *Buffer,
                         ULONG BufferSize, KPROFILE_SOURCE ProfileSource,
                         KAFFINITY Affinity);
NTSTATUS ZwStartProfile(HANDLE ProfileHandle);
NTSTATUS ZwStopProfile(HANDLE ProfileHandle);
NTSTATUS ZwQueryIntervalProfile(KPROFILE_SOURCE ProfileSource, ULONG *Interval);
NTSTATUS ZwSetIntervalProfile(ULONG Interval, KPROFILE_SOURCE ProfileSource);
NTSTATUS ZwClose(HANDLE Handle);
NTSTATUS ZwOpenProcess(HANDLE *ProcessHandle, ACCESS_MASK DesiredAccess,
                       const OBJECT_ATTRIBUTES *ObjectAttributes,
                       const CLIENT_ID *ClientId);
NTSTATUS ZwDuplicateObject(HANDLE SourceProcessHandle, HANDLE SourceHandle,
                           HANDLE TargetProcessHandle, HANDLE *TargetHandle,
                           ACCESS_MASK DesiredAccess, ULONG HandleAttributes,
                           ULONG Options);
NTSTATUS ZwQueryObject(HANDLE Handle, OBJECT_INFORMATION_CLASS ObjectInformationClass,
                       void *ObjectInformation, ULONG ObjectInformationLength,
                       ULONG *ReturnLength);

/* The same functions by names that do not clash with another library's Nt names. */
NTSTATUS ntprof_NtCreateProfileEx(HANDLE *ProfileHandle, HANDLE Process,
                                  PVOID ProfileBase, SIZE_T ProfileSize,
                                  ULONG BucketSize, ULONG *Buffer, ULONG BufferSize,
                                  KPROFILE_SOURCE ProfileSource, USHORT GroupCount,
                                  GROUP_AFFINITY *AffinityArray);
NTSTATUS ntprof_NtCreateProfile(HANDLE *ProfileHandle, HANDLE Process,
                                PVOID ProfileBase, SIZE_T ProfileSize, ULONG BucketSize,
                                ULONG *Buffer, ULONG BufferSize,
                                KPROFILE_SOURCE ProfileSource, KAFFINITY Affinity);
NTSTATUS ntprof_NtStartProfile(HANDLE ProfileHandle);
NTSTATUS ntprof_NtStopProfile(HANDLE ProfileHandle);
NTSTATUS ntprof_NtQueryIntervalProfile(KPROFILE_SOURCE ProfileSource, ULONG *Interval);
NTSTATUS ntprof_NtSetIntervalProfile(ULONG Interval, KPROFILE_SOURCE ProfileSource);
NTSTATUS ntprof_NtClose(HANDLE Handle);
NTSTATUS ntprof_NtOpenProcess(HANDLE *ProcessHandle, ACCESS_MASK DesiredAccess,
                              const OBJECT_ATTRIBUTES *ObjectAttributes,
                              const CLIENT_ID *ClientId);
NTSTATUS ntprof_NtDuplicateObject(HANDLE SourceProcessHandle, HANDLE SourceHandle,
                                  HANDLE TargetProcessHandle, HANDLE *TargetHandle,
                                  ACCESS_MASK DesiredAccess, ULONG HandleAttributes,
                                  ULONG Options);
NTSTATUS ntprof_NtQueryObject(HANDLE Handle,
                              OBJECT_INFORMATION_CLASS ObjectInformationClass,
                              void *ObjectInformation, ULONG ObjectInformationLength,
                              ULONG *ReturnLength);

#endif

#ifdef __cplusplus
}
#endif

#include <ntprof/nt_names_end.h>

#endif

#include <ntprof/nt_names_check.h>
