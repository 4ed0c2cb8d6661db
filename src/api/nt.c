/* SPDX-License-Identifier: MIT */
/*
 * api/nt.c - the Nt and Zw entry points: each finds its session, locks it and calls ex.
 */
#include "api/api.h"
#include "mm/mm.h"

#include <stdint.h>

/* ---- entering ---- */

/* Find the calling thread's session and lock it by enter. Returns NULL with *status. */
static ntprof_session *
nt_enter_by(bool (*enter)(ntprof_session *session), NTSTATUS *status)
{
    ntprof_session *const session = api_current_session(status);

    if (session == NULL) {
        return NULL;
    }
    if (!enter(session)) {
        /* The session belongs to the parent of this forked child, which has none of its
         * handles, or is abandoned: api_refuse says which. */
        *status = api_refuse(session, STATUS_INVALID_HANDLE, "%s", "");
        return NULL;
    }
    return session;
}

/* Lock the calling thread's session. Returns NULL with *status. */
static ntprof_session *
nt_enter(NTSTATUS *status)
{
    return nt_enter_by(api_enter, status);
}

/* Do the same as nt_enter, also while another call is paused (api_lock_beside). */
static ntprof_session *
nt_enter_beside(NTSTATUS *status)
{
    return nt_enter_by(api_enter_beside, status);
}

/* Enter a session for a create call. Where there are segments, the call may halt the
 * session (rule create-segment-division), which stops all profiles: so it waits for a
 * paused call. */
static bool
nt_enter_create(ntprof_session *session)
{
    return session->system.Abi.Segments ? api_enter(session)
                                        : api_enter_beside(session);
}

/* Return a caller's pointer as the number that the core takes. */
static ULONG64
nt_address(const void *pointer)
{
    return (ULONG64)(uintptr_t)pointer;
}

/* ---- profiles ---- */

/* The parameters that all create calls have. */
static EX_CREATE_PROFILE
nt_parameters(const HANDLE *ProfileHandle, HANDLE Process, const void *ProfileBase,
              SIZE_T ProfileSize, ULONG BucketSize, const ULONG *Buffer,
              ULONG BufferSize, KPROFILE_SOURCE ProfileSource)
{
    return (EX_CREATE_PROFILE){
        .ProfileHandle = nt_address(ProfileHandle),
        .Process = Process,
        .ProfileBase = nt_address(ProfileBase),
        .ProfileSize = ProfileSize,
        .BucketSize = BucketSize,
        .Buffer = nt_address(Buffer),
        .BufferSize = BufferSize,
        .ProfileSource = ProfileSource,
    };
}

/* Explains a failed create call by the check that failed; "" if the status or a lower
 * layer does. */
static const char *
nt_explain_create(const ntprof_session *Session, NTSTATUS Status)
{
    const bool Misaligned = Status == STATUS_DATATYPE_MISALIGNMENT;

    if (NT_SUCCESS(Status)) {
        return "";
    }
    switch (Session->system.FailedCheck) {
    case EX_CHECK_PARAMETER_WIDTH:
        return "ProfileBase, ProfileSize or Affinity has bits above the 32 of an x86 "
               "session";
    case EX_CHECK_BUFFER_SIZE:
        return "BufferSize is 0";
    case EX_CHECK_SEGMENT_BUFFER:
        return "BufferSize has no whole counter to divide the segment among";
    case EX_CHECK_BUCKET:
        return Session->system.BucketSizeMinimum == 0
                   ? "BucketSize is the log2 of a bucket's bytes: 0 to 31"
                   : "BucketSize is the log2 of a bucket's bytes: 2 to 31; 0 is for "
                     "a code segment, in an x86 session with a selector below "
                     "0x10000 as ProfileBase";
    case EX_CHECK_SEGMENT_BUCKET:
        return "BucketSize 0 with a code selector as ProfileBase: ProfileSize is less "
               "than the number of counters, or BufferSize less than one";
    case EX_CHECK_COUNTERS:
        return "BufferSize has fewer 4-byte counters than ProfileSize has buckets";
    case EX_CHECK_REGION:
        return "ProfileBase + ProfileSize goes to the end of the address space or "
               "beyond";
    case EX_CHECK_HANDLE_ADDRESS:
        return "ProfileHandle is no memory that can be written";
    case EX_CHECK_BUFFER_ADDRESS:
        return Misaligned ? "Buffer is no multiple of 4"
                          : "Buffer is no memory that can be written";
    case EX_CHECK_ARRAY_ADDRESS:
        return Misaligned ? "AffinityArray is no multiple of 4"
                          : "AffinityArray is no memory that can be read";
    case EX_CHECK_AFFINITY:
        return Status == STATUS_ACCESS_VIOLATION
                   ? "AffinityArray is no memory that can be read"
                   : "the affinity names no processor, or one that is not active, or a "
                     "group that is not there, or its Reserved members are not 0";
    case EX_CHECK_SEGMENT_PROCESS:
        return "a code segment is profiled in one Process, and that is NULL";
    default:
        return "";
    }
}

NTSTATUS
NtCreateProfileEx(HANDLE *ProfileHandle, HANDLE Process, PVOID ProfileBase,
                  SIZE_T ProfileSize, ULONG BucketSize, ULONG *Buffer, ULONG BufferSize,
                  KPROFILE_SOURCE ProfileSource, USHORT GroupCount,
                  GROUP_AFFINITY *AffinityArray)
{
    EX_CREATE_PROFILE Parameters =
        nt_parameters(ProfileHandle, Process, ProfileBase, ProfileSize, BucketSize,
                      Buffer, BufferSize, ProfileSource);
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter_by(nt_enter_create, &Status);

    if (Session == NULL) {
        return Status;
    }
    Parameters.GroupCount = GroupCount;
    Parameters.AffinityArray = nt_address(AffinityArray);
    Status = ExCreateProfileEx(&Session->system, UserMode, &Parameters);
    return api_leave_because(Session, Status, "%s", nt_explain_create(Session, Status));
}

NTSTATUS
NtCreateProfile(HANDLE *ProfileHandle, HANDLE Process, PVOID ProfileBase,
                SIZE_T ProfileSize, ULONG BucketSize, ULONG *Buffer, ULONG BufferSize,
                KPROFILE_SOURCE ProfileSource, KAFFINITY Affinity)
{
    const EX_CREATE_PROFILE Parameters =
        nt_parameters(ProfileHandle, Process, ProfileBase, ProfileSize, BucketSize,
                      Buffer, BufferSize, ProfileSource);
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter_by(nt_enter_create, &Status);

    if (Session == NULL) {
        return Status;
    }
    Status = ExCreateProfile(&Session->system, UserMode, &Parameters, Affinity);
    return api_leave_because(Session, Status, "%s", nt_explain_create(Session, Status));
}

NTSTATUS
NtStartProfile(HANDLE ProfileHandle)
{
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter(&Status);

    if (Session == NULL) {
        return Status;
    }
    Status = ExStartProfile(&Session->system, UserMode, ProfileHandle);
    api_wake_thread(Session);
    return api_leave_because(Session, Status, "%s",
                             Status == STATUS_INSUFFICIENT_RESOURCES
                                 ? "out of memory, or more to lock than an MDL of this "
                                   "NT version can describe"
                                 : "");
}

NTSTATUS
NtStopProfile(HANDLE ProfileHandle)
{
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter(&Status);

    if (Session == NULL) {
        return Status;
    }
    return api_leave(Session, ExStopProfile(&Session->system, UserMode, ProfileHandle));
}

NTSTATUS
NtQueryIntervalProfile(KPROFILE_SOURCE ProfileSource, ULONG *Interval)
{
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter_beside(&Status);

    if (Session == NULL) {
        return Status;
    }
    return api_leave(Session,
                     ExQueryIntervalProfile(&Session->system, UserMode, ProfileSource,
                                            nt_address(Interval)));
}

NTSTATUS
NtSetIntervalProfile(ULONG Interval, KPROFILE_SOURCE ProfileSource)
{
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter(&Status);

    if (Session == NULL) {
        return Status;
    }
    return api_leave(Session, ExSetIntervalProfile(&Session->system, UserMode, Interval,
                                                   ProfileSource));
}

NTSTATUS
NtClose(HANDLE Handle)
{
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter(&Status);

    if (Session == NULL) {
        return Status;
    }
    return api_leave(Session, ExClose(&Session->system, Handle));
}

/* ---- processes and handles ---- */

/* Get the pid that NtOpenProcess is to open. Its arguments are in the caller's memory,
 * so they are copied before they are checked. */
static NTSTATUS
nt_read_client(ntprof_session *Session, const OBJECT_ATTRIBUTES *ObjectAttributes,
               const CLIENT_ID *ClientId, ULONG64 *ProcessId)
{
    CLIENT_ID Client;
    OBJECT_ATTRIBUTES Attributes;
    NTSTATUS Status;

    if (ClientId == NULL) {
        return STATUS_INVALID_PARAMETER;
    }
    Status =
        MmCopyFromCaller(&Session->host, &Client, nt_address(ClientId), sizeof(Client));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (ObjectAttributes != NULL) {
        Status = MmCopyFromCaller(&Session->host, &Attributes,
                                  nt_address(ObjectAttributes), sizeof(Attributes));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
        if (Attributes.ObjectName != NULL) {
            return STATUS_INVALID_PARAMETER;
        }
    }
    *ProcessId = nt_address(Client.UniqueProcess);
    return STATUS_SUCCESS;
}

NTSTATUS
NtOpenProcess(HANDLE *ProcessHandle, ACCESS_MASK DesiredAccess,
              const OBJECT_ATTRIBUTES *ObjectAttributes, const CLIENT_ID *ClientId)
{
    ULONG64 ProcessId;
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter(&Status);

    if (Session == NULL) {
        return Status;
    }
    /* Notifications may be late: another process may have a known pid now. */
    KeFlushHits(&Session->system.Ke);
    if (ExNoticeHalt(&Session->system)) {
        return api_leave(Session, STATUS_SYSTEM_SHUTDOWN);
    }
    Status = nt_read_client(Session, ObjectAttributes, ClientId, &ProcessId);
    if (NT_SUCCESS(Status)) {
        Status = ExOpenProcess(&Session->system, UserMode, nt_address(ProcessHandle),
                               DesiredAccess, ProcessId);
    }
    return api_leave_because(Session, Status, "%s",
                             Status == STATUS_INVALID_PARAMETER
                                 ? "ClientId is NULL, or ObjectAttributes has a name: "
                                   "processes have none"
                                 : "");
}

/* Explain why NtDuplicateObject failed; "" if the status or a lower layer does. */
static const char *
nt_explain_duplicate(NTSTATUS Status)
{
    switch (Status) {
    case STATUS_INVALID_PARAMETER:
        return "Options or HandleAttributes has unknown bits";
    case STATUS_NOT_SUPPORTED:
        return "handles are the session's: both processes must be the caller's own";
    case STATUS_ACCESS_DENIED:
        return "a process handle lacks PROCESS_DUP_HANDLE, or DesiredAccess is more "
               "than "
               "SourceHandle has";
    default:
        return "";
    }
}

NTSTATUS
NtDuplicateObject(HANDLE SourceProcessHandle, HANDLE SourceHandle,
                  HANDLE TargetProcessHandle, HANDLE *TargetHandle,
                  ACCESS_MASK DesiredAccess, ULONG HandleAttributes, ULONG Options)
{
    const EX_DUPLICATE_OBJECT Parameters = {
        .SourceProcessHandle = SourceProcessHandle,
        .SourceHandle = SourceHandle,
        .TargetProcessHandle = TargetProcessHandle,
        .TargetHandle = nt_address(TargetHandle),
        .DesiredAccess = DesiredAccess,
        .HandleAttributes = HandleAttributes,
        .Options = Options,
    };
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter(&Status);

    if (Session == NULL) {
        return Status;
    }
    Status = ExDuplicateObject(&Session->system, UserMode, &Parameters);
    return api_leave_because(Session, Status, "%s", nt_explain_duplicate(Status));
}

NTSTATUS
NtQueryObject(HANDLE Handle, OBJECT_INFORMATION_CLASS ObjectInformationClass,
              void *ObjectInformation, ULONG ObjectInformationLength,
              ULONG *ReturnLength)
{
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter_beside(&Status);

    if (Session == NULL) {
        return Status;
    }
    return api_leave(
        Session, ExQueryObject(&Session->system, UserMode, Handle,
                               ObjectInformationClass, nt_address(ObjectInformation),
                               ObjectInformationLength, nt_address(ReturnLength)));
}

/* ---- versions 3.10 ---- */

NTSTATUS
ntprof_NtCreateProfile310(HANDLE *ProfileHandle, HANDLE Process, PVOID ProfileBase,
                          SIZE_T ProfileSize, ULONG BucketSize, ULONG *Buffer,
                          ULONG BufferSize)
{
    const EX_CREATE_PROFILE Parameters =
        nt_parameters(ProfileHandle, Process, ProfileBase, ProfileSize, BucketSize,
                      Buffer, BufferSize, ProfileTime);
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter_by(nt_enter_create, &Status);

    if (Session == NULL) {
        return Status;
    }
    Status = ExCreateProfile310(&Session->system, UserMode, &Parameters);
    return api_leave_because(Session, Status, "%s", nt_explain_create(Session, Status));
}

NTSTATUS
ntprof_NtQueryIntervalProfile310(ULONG *Interval)
{
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter_beside(&Status);

    if (Session == NULL) {
        return Status;
    }
    return api_leave(Session, ExQueryIntervalProfile310(&Session->system, UserMode,
                                                        nt_address(Interval)));
}

NTSTATUS
ntprof_NtSetIntervalProfile310(ULONG Interval)
{
    NTSTATUS Status;
    ntprof_session *const Session = nt_enter(&Status);

    if (Session == NULL) {
        return Status;
    }
    return api_leave(Session,
                     ExSetIntervalProfile310(&Session->system, UserMode, Interval));
}

/* The same functions by Zw names, as in user mode of NT, and by names that no other
 * library has. */
#define NT_ALIAS(Name, Nt) extern __typeof__(Nt) Name __attribute__((alias(#Nt)))
#define NT_ALIASES(Name)          \
    NT_ALIAS(Zw##Name, Nt##Name); \
    NT_ALIAS(ntprof_Nt##Name, Nt##Name)

NT_ALIASES(CreateProfileEx);
NT_ALIASES(CreateProfile);
NT_ALIASES(StartProfile);
NT_ALIASES(StopProfile);
NT_ALIASES(QueryIntervalProfile);
NT_ALIASES(SetIntervalProfile);
NT_ALIASES(Close);
NT_ALIASES(OpenProcess);
NT_ALIASES(DuplicateObject);
NT_ALIASES(QueryObject);
