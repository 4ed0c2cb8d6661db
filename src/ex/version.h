/* SPDX-License-Identifier: MIT */
/*
 * ex/version.h - what differs between versions of NT: one table, read by member, so
 * that no other code compares version numbers. docs/behaviour.md, Versions.
 */
#ifndef EX_VERSION_H
#define EX_VERSION_H

#include <ntprof/nt_types.h>

typedef struct _EX_VERSION {
    ULONG Number; /* as ntprof_session_options.nt_version; 0: newest, without its
                   * defects */
    const char *Name;

    /* Which calls exist. */
    BOOLEAN HasSources; /* source and affinity are arguments; else the calls of 3.10 */
    /* NtCreateProfileEx; affinity is checked when a profile is created */
    BOOLEAN HasGroups;

    /* Create. */
    BOOLEAN RefusesEmptyBuffer;
    BOOLEAN RefusesShortSegmentBuffer; /* with the status of an empty one */
    BOOLEAN ForgetsPartialBucket;      /* defect: the size check by quarter buckets */
    BOOLEAN ChecksSource;
    ULONG RestrictedRule; /* HOST_RESTRICTED_...; 0: no caller is restricted */

    /* Start. */
    BOOLEAN InactiveMeansAll;     /* a mask without active processors means all
                                   * processors; else only mask 0 does */
    BOOLEAN NarrowsSource;        /* to 16 bits */
    BOOLEAN LimitInside;          /* defect: a region's end counts as inside */
    BOOLEAN LocksWholeBuffer;     /* else only what the counters need */
    ULONG StartLimitPerProcessor; /* 0: none, or never reached */
    ULONG64 MostMdlBytes32;
    ULONG64 MostMdlBytes64;
    ULONG ProfileIrql32;
    BOOLEAN SplitsIn32Bits; /* user and kernel halves as in NT; else the host's */

    /* Limits of intervals of NT's HALs; 0: ask the HAL. */
    BOOLEAN SetNeedsPrivilege;
    ULONG LeastTimeInterval;
    ULONG MostTimeInterval;
    ULONG LeastEventInterval;
} EX_VERSION;

/* ExFindVersion - return the rules of the version with this number, or NULL. */
const EX_VERSION *ExFindVersion(ULONG Number);

/* ExNextVersion - return the Index-th row of the table, newest first, or NULL. */
const EX_VERSION *ExNextVersion(ULONG Index);

#endif
