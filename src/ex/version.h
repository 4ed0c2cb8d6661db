/* SPDX-License-Identifier: MIT */
/*
 * ex/version.h - what differs between versions of NT: one table, asked by member, so that no code
 * compares version numbers. docs/behaviour.md.
 */
#ifndef EX_VERSION_H
#define EX_VERSION_H

#include <ntprof/nt_types.h>

typedef struct _EX_VERSION {
    ULONG Number; /* as ntprof_session_options.nt_version; 0: newest, defects mended */
    const char *Name;
    BOOLEAN LocksWholeBuffer; /* else what the counters need */
    ULONG64 StartLimitPerProcessor;
    ULONG64 MostMdlBytes;
} EX_VERSION;

/* ExFindVersion - NULL if unknown. */
const EX_VERSION *ExFindVersion(ULONG Number);

#endif
