/* SPDX-License-Identifier: MIT */
/*
 * nt_types.h - NT's basic types, with fixed widths on every host.
 *
 * Freestanding: needs <stddef.h> and <stdint.h> only. LONG and ULONG are 32 bits wide
 * whatever the host's long is, as in NT. Pointer-sized types follow the host.
 */
#ifndef NTPROF_NT_TYPES_H
#define NTPROF_NT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <ntprof/nt_names_begin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned char UCHAR;
typedef uint8_t BOOLEAN;
typedef int16_t SHORT;
typedef uint16_t USHORT;
typedef int32_t LONG;
typedef uint32_t ULONG;
typedef int64_t LONG64;
typedef uint64_t ULONG64;
typedef intptr_t LONG_PTR;
typedef uintptr_t ULONG_PTR;
typedef uintptr_t SIZE_T;
typedef void *PVOID;
typedef void *HANDLE;
typedef LONG NTSTATUS;
typedef ULONG ACCESS_MASK;
typedef ULONG_PTR KAFFINITY;

#ifndef NTPROF_PREFIXED
#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif
#endif

/* GROUP_AFFINITY - processors of one group of up to 64 (32 on a 32-bit host). */
typedef struct _GROUP_AFFINITY {
    KAFFINITY Mask;     /* bit n: processor n of the group */
    USHORT Group;       /* group number, from 0 */
    USHORT Reserved[3]; /* must be 0 */
} GROUP_AFFINITY;

/* CLIENT_ID - identifies a process (and thread) for NtOpenProcess by its Linux pid. */
typedef struct _CLIENT_ID {
    HANDLE UniqueProcess; /* (HANDLE)(ULONG_PTR)pid */
    HANDLE UniqueThread;  /* 0 */
} CLIENT_ID;

/* OBJECT_ATTRIBUTES - NT's; NtOpenProcess takes NULL or one without a name. */
typedef struct _OBJECT_ATTRIBUTES {
    ULONG Length; /* sizeof(OBJECT_ATTRIBUTES) */
    HANDLE RootDirectory;
    void *ObjectName; /* must be NULL: profiles and processes have no names */
    ULONG Attributes;
    void *SecurityDescriptor;
    void *SecurityQualityOfService;
} OBJECT_ATTRIBUTES;

/* UNICODE_STRING - UTF-16; Length in bytes, without a zero at the end. */
typedef struct _UNICODE_STRING {
    USHORT Length;
    USHORT MaximumLength;
    USHORT *Buffer;
} UNICODE_STRING;

/* GENERIC_MAPPING - what an object type's generic access bits stand for. */
typedef struct _GENERIC_MAPPING {
    ACCESS_MASK GenericRead;
    ACCESS_MASK GenericWrite;
    ACCESS_MASK GenericExecute;
    ACCESS_MASK GenericAll;
} GENERIC_MAPPING;

#if UINTPTR_MAX > 0xFFFFFFFFu
#define NTPROF_ABI_CHECK_64(expr) expr
#else
#define NTPROF_ABI_CHECK_64(expr) 1
#endif

#ifdef __cplusplus
#define NTPROF_STATIC_ASSERT(expr, text) static_assert(expr, text)
#else
#define NTPROF_STATIC_ASSERT(expr, text) _Static_assert(expr, text)
#endif

NTPROF_STATIC_ASSERT(sizeof(ULONG) == 4, "ULONG is 32 bits");
NTPROF_STATIC_ASSERT(sizeof(NTSTATUS) == 4, "NTSTATUS is 32 bits");
NTPROF_STATIC_ASSERT(NTPROF_ABI_CHECK_64(sizeof(GROUP_AFFINITY) == 16),
                     "GROUP_AFFINITY is 16 bytes on 64-bit hosts");

#ifdef __cplusplus
}
#endif

#include <ntprof/nt_names_end.h>

#endif

#include <ntprof/nt_names_check.h>
