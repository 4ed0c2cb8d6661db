/* SPDX-License-Identifier: MIT */
/*
 * ex/layout.h - the structures that cross to a caller, as the caller has them. One
 * table: nothing else in ex uses the size of a structure of the host for a caller.
 *
 * What has no member of the width of a pointer is the same in all layouts:
 * OBJECT_BASIC_INFORMATION, intervals, counters.
 */
#ifndef EX_LAYOUT_H
#define EX_LAYOUT_H

#include <ntprof/nt_profile.h>

typedef struct _EX_LAYOUT {
    ULONG WordBytes;            /* HANDLE, pointer, KAFFINITY */
    ULONG GroupAffinityBytes;   /* mask, group, three reserved words */
    ULONG UnicodeStringBytes;   /* two lengths, pointer */
    ULONG TypeInformationBytes; /* UNICODE_STRING, and the same members in all */
} EX_LAYOUT;

/* Bytes of OBJECT_TYPE_INFORMATION behind its UNICODE_STRING, in every layout. */
enum { EX_TYPE_FACTS_BYTES = sizeof(OBJECT_TYPE_INFORMATION) - sizeof(UNICODE_STRING) };

/* ExFindLayout - by EX_LAYOUT_...; NULL if there is none on this host. */
const EX_LAYOUT *ExFindLayout(ULONG Number);

/* ExGetGroup - read a GROUP_AFFINITY from a copy of the caller's. */
void ExGetGroup(const EX_LAYOUT *Layout, const UCHAR *From, GROUP_AFFINITY *Group);

/* ExPutWord - write a number as wide as the caller's pointers; returns its bytes. */
ULONG ExPutWord(const EX_LAYOUT *Layout, UCHAR *To, ULONG64 Word);

/* ExPutString - write a UNICODE_STRING with a caller's address. */
void ExPutString(const EX_LAYOUT *Layout, UCHAR *To, USHORT Length,
                 USHORT MaximumLength, ULONG64 Buffer);

#endif
