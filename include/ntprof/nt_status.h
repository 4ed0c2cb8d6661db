/* SPDX-License-Identifier: MIT */
/*
 * nt_status.h - the NTSTATUS values that ntprof returns.
 *
 * One table defines value, name and text, so that they stay consistent:
 * ntprof_status_name() and ntprof_status_text() are generated from it.
 */
#ifndef NTPROF_NT_STATUS_H
#define NTPROF_NT_STATUS_H

#include <ntprof/nt_types.h>

/* X(name, value, text) */
#define NTPROF_STATUS_TABLE(X)                                                        \
    X(STATUS_SUCCESS, 0x00000000, "success")                                          \
    X(STATUS_DATATYPE_MISALIGNMENT, 0x80000002, "an address is not aligned")          \
    X(STATUS_BUFFER_OVERFLOW, 0x80000005, "the region wraps round the address space") \
    X(STATUS_UNSUCCESSFUL, 0xC0000001, "the operation failed")                        \
    X(STATUS_INVALID_INFO_CLASS, 0xC0000003, "no such class of information")          \
    X(STATUS_INFO_LENGTH_MISMATCH, 0xC0000004, "the information has another length")  \
    X(STATUS_ACCESS_VIOLATION, 0xC0000005, "an address cannot be read or written")    \
    X(STATUS_INVALID_HANDLE, 0xC0000008, "not an open handle")                        \
    X(STATUS_INVALID_CID, 0xC000000B, "no process with that id")                      \
    X(STATUS_INVALID_PARAMETER, 0xC000000D, "a parameter is invalid")                 \
    X(STATUS_INVALID_SYSTEM_SERVICE, 0xC000001C, "this NT version has no such call")  \
    X(STATUS_ACCESS_DENIED, 0xC0000022, "access denied")                              \
    X(STATUS_BUFFER_TOO_SMALL, 0xC0000023, "the buffer has too few counters")         \
    X(STATUS_OBJECT_TYPE_MISMATCH, 0xC0000024,                                        \
      "the handle is for another object type")                                        \
    X(STATUS_PRIVILEGE_NOT_HELD, 0xC0000061, "SeSystemProfilePrivilege is not held")  \
    X(STATUS_INTEGER_DIVIDE_BY_ZERO, 0xC0000094, "division by zero")                  \
    X(STATUS_INSUFFICIENT_RESOURCES, 0xC000009A, "not enough memory or descriptors")  \
    X(STATUS_WORKING_SET_QUOTA, 0xC00000A1, "the buffer cannot be locked in memory")  \
    X(STATUS_PROFILING_NOT_STARTED, 0xC00000B7, "the profile is not started")         \
    X(STATUS_PROFILING_NOT_STOPPED, 0xC00000B8, "the profile is already started")     \
    X(STATUS_NOT_SUPPORTED, 0xC00000BB, "not supported on this machine")              \
    X(STATUS_PROFILING_AT_LIMIT, 0xC00000D3, "too many profiles are started")         \
    X(STATUS_INVALID_PARAMETER_7, 0xC00000F5, "BufferSize must not be 0")             \
    X(STATUS_PROCESS_IS_TERMINATING, 0xC000010A, "the process is gone")               \
    X(STATUS_NOT_FOUND, 0xC0000225, "not found")                                      \
    X(STATUS_SYSTEM_SHUTDOWN, 0xC00002EB, "the simulated NT has stopped: bug check")

#ifdef NTPROF_PREFIXED

#define ntprof_STATUS_SUCCESS ((ntprof_NTSTATUS)0x00000000)
#define ntprof_STATUS_DATATYPE_MISALIGNMENT ((ntprof_NTSTATUS)0x80000002)
#define ntprof_STATUS_BUFFER_OVERFLOW ((ntprof_NTSTATUS)0x80000005)
#define ntprof_STATUS_UNSUCCESSFUL ((ntprof_NTSTATUS)0xC0000001)
#define ntprof_STATUS_INVALID_INFO_CLASS ((ntprof_NTSTATUS)0xC0000003)
#define ntprof_STATUS_INFO_LENGTH_MISMATCH ((ntprof_NTSTATUS)0xC0000004)
#define ntprof_STATUS_ACCESS_VIOLATION ((ntprof_NTSTATUS)0xC0000005)
#define ntprof_STATUS_INVALID_HANDLE ((ntprof_NTSTATUS)0xC0000008)
#define ntprof_STATUS_INVALID_CID ((ntprof_NTSTATUS)0xC000000B)
#define ntprof_STATUS_INVALID_PARAMETER ((ntprof_NTSTATUS)0xC000000D)
#define ntprof_STATUS_INVALID_SYSTEM_SERVICE ((ntprof_NTSTATUS)0xC000001C)
#define ntprof_STATUS_ACCESS_DENIED ((ntprof_NTSTATUS)0xC0000022)
#define ntprof_STATUS_BUFFER_TOO_SMALL ((ntprof_NTSTATUS)0xC0000023)
#define ntprof_STATUS_OBJECT_TYPE_MISMATCH ((ntprof_NTSTATUS)0xC0000024)
#define ntprof_STATUS_PRIVILEGE_NOT_HELD ((ntprof_NTSTATUS)0xC0000061)
#define ntprof_STATUS_INTEGER_DIVIDE_BY_ZERO ((ntprof_NTSTATUS)0xC0000094)
#define ntprof_STATUS_INSUFFICIENT_RESOURCES ((ntprof_NTSTATUS)0xC000009A)
#define ntprof_STATUS_WORKING_SET_QUOTA ((ntprof_NTSTATUS)0xC00000A1)
#define ntprof_STATUS_PROFILING_NOT_STARTED ((ntprof_NTSTATUS)0xC00000B7)
#define ntprof_STATUS_PROFILING_NOT_STOPPED ((ntprof_NTSTATUS)0xC00000B8)
#define ntprof_STATUS_NOT_SUPPORTED ((ntprof_NTSTATUS)0xC00000BB)
#define ntprof_STATUS_PROFILING_AT_LIMIT ((ntprof_NTSTATUS)0xC00000D3)
#define ntprof_STATUS_INVALID_PARAMETER_7 ((ntprof_NTSTATUS)0xC00000F5)
#define ntprof_STATUS_PROCESS_IS_TERMINATING ((ntprof_NTSTATUS)0xC000010A)
#define ntprof_STATUS_NOT_FOUND ((ntprof_NTSTATUS)0xC0000225)
#define ntprof_STATUS_SYSTEM_SHUTDOWN ((ntprof_NTSTATUS)0xC00002EB)

/* ntprof_NT_SUCCESS - as NT_SUCCESS. */
#define ntprof_NT_SUCCESS(Status) ((ntprof_NTSTATUS)(Status) >= 0)

#else

/* Other libraries may define these macros with a different spelling. */
#ifndef STATUS_SUCCESS
#define STATUS_SUCCESS ((NTSTATUS)0x00000000)
#endif
#ifndef STATUS_DATATYPE_MISALIGNMENT
#define STATUS_DATATYPE_MISALIGNMENT ((NTSTATUS)0x80000002)
#endif
#ifndef STATUS_BUFFER_OVERFLOW
#define STATUS_BUFFER_OVERFLOW ((NTSTATUS)0x80000005)
#endif
#ifndef STATUS_UNSUCCESSFUL
#define STATUS_UNSUCCESSFUL ((NTSTATUS)0xC0000001)
#endif
#ifndef STATUS_INVALID_INFO_CLASS
#define STATUS_INVALID_INFO_CLASS ((NTSTATUS)0xC0000003)
#endif
#ifndef STATUS_INFO_LENGTH_MISMATCH
#define STATUS_INFO_LENGTH_MISMATCH ((NTSTATUS)0xC0000004)
#endif
#ifndef STATUS_ACCESS_VIOLATION
#define STATUS_ACCESS_VIOLATION ((NTSTATUS)0xC0000005)
#endif
#ifndef STATUS_INVALID_HANDLE
#define STATUS_INVALID_HANDLE ((NTSTATUS)0xC0000008)
#endif
#ifndef STATUS_INVALID_CID
#define STATUS_INVALID_CID ((NTSTATUS)0xC000000B)
#endif
#ifndef STATUS_INVALID_PARAMETER
#define STATUS_INVALID_PARAMETER ((NTSTATUS)0xC000000D)
#endif
#ifndef STATUS_INVALID_SYSTEM_SERVICE
#define STATUS_INVALID_SYSTEM_SERVICE ((NTSTATUS)0xC000001C)
#endif
#ifndef STATUS_ACCESS_DENIED
#define STATUS_ACCESS_DENIED ((NTSTATUS)0xC0000022)
#endif
#ifndef STATUS_BUFFER_TOO_SMALL
#define STATUS_BUFFER_TOO_SMALL ((NTSTATUS)0xC0000023)
#endif
#ifndef STATUS_OBJECT_TYPE_MISMATCH
#define STATUS_OBJECT_TYPE_MISMATCH ((NTSTATUS)0xC0000024)
#endif
#ifndef STATUS_PRIVILEGE_NOT_HELD
#define STATUS_PRIVILEGE_NOT_HELD ((NTSTATUS)0xC0000061)
#endif
#ifndef STATUS_INTEGER_DIVIDE_BY_ZERO
#define STATUS_INTEGER_DIVIDE_BY_ZERO ((NTSTATUS)0xC0000094)
#endif
#ifndef STATUS_INSUFFICIENT_RESOURCES
#define STATUS_INSUFFICIENT_RESOURCES ((NTSTATUS)0xC000009A)
#endif
#ifndef STATUS_WORKING_SET_QUOTA
#define STATUS_WORKING_SET_QUOTA ((NTSTATUS)0xC00000A1)
#endif
#ifndef STATUS_PROFILING_NOT_STARTED
#define STATUS_PROFILING_NOT_STARTED ((NTSTATUS)0xC00000B7)
#endif
#ifndef STATUS_PROFILING_NOT_STOPPED
#define STATUS_PROFILING_NOT_STOPPED ((NTSTATUS)0xC00000B8)
#endif
#ifndef STATUS_NOT_SUPPORTED
#define STATUS_NOT_SUPPORTED ((NTSTATUS)0xC00000BB)
#endif
#ifndef STATUS_PROFILING_AT_LIMIT
#define STATUS_PROFILING_AT_LIMIT ((NTSTATUS)0xC00000D3)
#endif
#ifndef STATUS_INVALID_PARAMETER_7
#define STATUS_INVALID_PARAMETER_7 ((NTSTATUS)0xC00000F5)
#endif
#ifndef STATUS_PROCESS_IS_TERMINATING
#define STATUS_PROCESS_IS_TERMINATING ((NTSTATUS)0xC000010A)
#endif
#ifndef STATUS_NOT_FOUND
#define STATUS_NOT_FOUND ((NTSTATUS)0xC0000225)
#endif
#ifndef STATUS_SYSTEM_SHUTDOWN
#define STATUS_SYSTEM_SHUTDOWN ((NTSTATUS)0xC00002EB)
#endif

/* NT_SUCCESS - success or information; warnings such as STATUS_BUFFER_OVERFLOW fail it.
 */
#ifndef NT_SUCCESS
#define NT_SUCCESS(Status) ((NTSTATUS)(Status) >= 0)
#endif

#endif

#endif

#include <ntprof/nt_names_check.h>
