/* SPDX-License-Identifier: MIT */
/*
 * ke/ke.h - kernel profile objects: which are started, which of them a hit counts in,
 * and which interrupts the HAL makes for them.
 *
 * Passive calls for one KE_SYSTEM are serialised by the caller (api's session lock).
 * Only KeProfileInterruptWithSource may run at the same time, on any processor; it
 * reads what passive calls publish with one store, and they wait for it
 * (HAL_TABLE.Synchronize) before they change or free anything that it may still see.
 */
#ifndef KE_KE_H
#define KE_KE_H

#include "hal/hal.h"
#include "host/host.h"
#include "ke/pool.h"
#include "rtl/list.h"

/* KOBJECTS: the type of a kernel profile object. */
enum { ProfileObject = 0x17 };

struct _KI_SOURCE;

/*
 * KPROCESS - what ke knows of a process; the first member of EPROCESS, as in NT.
 * KE_SYSTEM.Global is one that stands for all processes.
 */
typedef struct _KPROCESS {
    LIST_ENTRY ProfileListHead;   /* started KPROFILEs */
    ULONG64 ProcessId;            /* 0: all processes */
    struct _KPROCESS *HashNext;   /* published; meaningful while Hashed */
    BOOLEAN Hashed;               /* hits of ProcessId find this KPROCESS */
    BOOLEAN Ended;                /* another process may have ProcessId now */
    ULONG Roots[KI_TREES];        /* of its index; published; 0: no profiles */
    LIST_ENTRY InterruptListHead; /* KI_INTERRUPTs */
} KPROCESS;

/*
 * KPROFILE - a started profile. The MDL of its buffer follows it in the same
 * allocation: KeProfileMdl.
 */
typedef struct _KPROFILE {
    SHORT Type; /* ProfileObject */
    SHORT Size; /* sizeof(KPROFILE) */
    LIST_ENTRY ProfileListEntry;
    KPROCESS *Process; /* never NULL: the global one for all processes */
    ULONG64 RangeBase;
    ULONG64 RangeSize; /* bytes; base + size does not wrap */
    ULONG BucketLog2;
    ULONG *Buffer;  /* system address of the first counter */
    ULONG Counters; /* whole counters in Buffer; the MDL describes them */
    /* Code selector of the segment that the region is in: then RangeBase is an offset.
     * 0: the region is in the address space. Offsets have 32 bits. */
    ULONG Segment;
    KPROFILE_SOURCE Source;
    BOOLEAN LimitInside; /* some versions' defect: the region's end counts as inside */
    BOOLEAN Started;
    BOOLEAN Detached; /* started, but its process has ended or runs another program */
    ULONG64 Sequence; /* increases with each start: orders equal bases; of profiles that
                       * would halt at one hit, the lowest does */
    ULONG AffinityWords;
    const ULONG64 *Affinity; /* processors, 64 a word; outlives the KPROFILE */
} KPROFILE;

static inline MDL *
KeProfileMdl(KPROFILE *Profile)
{
    return (MDL *)(void *)(Profile + 1);
}

enum { KE_PROCESS_BUCKETS = 4096, KE_SOURCE_SLOTS = 256 };

typedef struct _KE_SYSTEM {
    HOST Host;
    HAL Hal;
    /* Members that each hit reads are adjacent, for the cache. */
    ULONG Processors; /* statistics have an element for each, and one for all higher
                       * numbers */
    /* Atomic: 0, then 1 (Halt is being written), then 2. Hits count only at 0. */
    ULONG HaltState;
    KPROCESS **ProcessTable; /* KE_PROCESS_BUCKETS chains, published */
    KI_POOL Pool;            /* nodes of all processes' indexes */
    KPROCESS Global;
    struct _KI_SOURCE
        *Sources[KE_SOURCE_SLOTS]; /* hash by number, published, never removed */
    ULONG ProfileIrql;             /* for KE_HALT */
    ULONG64 BugCheckAddress;       /* for KE_HALT; set by ex */
    KE_HALT Halt;
} KE_SYSTEM;

/*
 * KeInitializeSystem - make Ke ready. Host and Hal are copied; ProfileIrql is only for
 * KE_HALT. STATUS_INSUFFICIENT_RESOURCES. Level: passive.
 */
NTSTATUS KeInitializeSystem(KE_SYSTEM *Ke, const HOST *Host, const HAL *Hal,
                            ULONG ProfileIrql);

/* KeFinishSystem - undo KeInitializeSystem. No profile may be started. */
void KeFinishSystem(KE_SYSTEM *Ke);

/* KeInitializeProcess - make a KPROCESS without profiles for a pid. ProcessId 0 is only
 * for KE_SYSTEM.Global. */
void KeInitializeProcess(KPROCESS *Process, ULONG64 ProcessId);

/* KeFinishProcess - free its index and interrupt records. None of its profiles may be
 * started. */
void KeFinishProcess(KE_SYSTEM *Ke, KPROCESS *Process);

/*
 * KeFlushHits - deliver every hit that happened before the call. This also delivers
 * notifications, whose callbacks may start, stop and close anything: call it before
 * reading a profile.
 */
void KeFlushHits(KE_SYSTEM *Ke);

/*
 * KeStartProfile - link a KPROFILE whose members are set, so that hits count, and start
 * its interrupts. Call KeFlushHits before, or earlier hits may count.
 *
 * STATUS_INSUFFICIENT_RESOURCES, or the HAL's status; then nothing is linked or
 * started.
 */
NTSTATUS KeStartProfile(KE_SYSTEM *Ke, KPROFILE *Profile);

/* KeStopProfile - undo KeStartProfile. When it returns, no hit touches Profile or its
 * buffer any more. Call KeFlushHits before, or earlier hits may be missing. */
void KeStopProfile(KE_SYSTEM *Ke, KPROFILE *Profile);

/* KeDetachProcess - note that a process runs a new program: its started profiles stay
 * started but never count again, and their interrupts are stopped. Called within the
 * delivery of that event. */
void KeDetachProcess(KE_SYSTEM *Ke, KPROCESS *Process);

/* KeEndProcess - note that a process has ended: does what KeDetachProcess does, also
 * for profiles that are started later. */
void KeEndProcess(KE_SYSTEM *Ke, KPROCESS *Process);

/*
 * KeHalt - stop counting permanently; only the first call has an effect. Later hits are
 * counted as outside. Level: interrupt.
 */
void KeHalt(KE_SYSTEM *Ke, const KE_HALT *Halt);

/* KeQueryHalt - has KeHalt been called? Halt may be NULL. Level: interrupt. */
BOOLEAN KeQueryHalt(const KE_SYSTEM *Ke, KE_HALT *Halt);

/* KeRegisterSource - allocate the statistics of Source, unless it has them.
 * STATUS_INSUFFICIENT_RESOURCES. */
NTSTATUS KeRegisterSource(KE_SYSTEM *Ke, KPROFILE_SOURCE Source);

/* KeNoteUnwritten - add to the counts of Source that did not reach their buffer. */
void KeNoteUnwritten(KE_SYSTEM *Ke, KPROFILE_SOURCE Source, ULONG64 Counts);

/* KeQueryStatistics - add up the statistics of Source over all processors. They are all
 * zero for a source that is not registered, unless the HAL counts it by itself. */
void KeQueryStatistics(const KE_SYSTEM *Ke, KPROFILE_SOURCE Source,
                       KE_STATISTICS *Statistics);

#endif
