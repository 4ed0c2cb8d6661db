/* SPDX-License-Identifier: MIT */
/*
 * ke/ke.h - kernel profile objects: which are started, what a hit counts in, and which
 * interrupts the HAL has to make for them.
 *
 * Passive calls for one KE_SYSTEM are serialised by the caller (api's session lock).
 * Only KeProfileInterruptWithSource may run at the same time, on any processor; it
 * reads what passive calls publish with one store and is waited for
 * (HAL_TABLE.Synchronize) before anything that it may still see is changed or freed.
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
 * One more stands for all processes: KE_SYSTEM.Global.
 */
typedef struct _KPROCESS {
    LIST_ENTRY ProfileListHead;   /* started KPROFILEs */
    ULONG64 ProcessId;            /* 0: all processes */
    struct _KPROCESS *HashNext;   /* published; meaningful while Hashed */
    BOOLEAN Hashed;               /* hits of ProcessId find this process */
    BOOLEAN Ended;                /* ProcessId may be another process's by now */
    ULONG Roots[KI_TREES];        /* of its index; published; 0: no profiles */
    LIST_ENTRY InterruptListHead; /* KI_INTERRUPTs */
} KPROCESS;

/*
 * KPROFILE - a started profile. The MDL of its buffer stands right behind it in the
 * same allocation: KeProfileMdl.
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
    ULONG Counters; /* whole ones that Buffer has; the MDL describes them */
    /* Code selector of the segment that the region lies in, by offset; 0: the address
     * space. No segment reaches beyond 32 bits. */
    ULONG Segment;
    KPROFILE_SOURCE Source;
    BOOLEAN LimitInside; /* some versions' defect: the region's end counts as inside */
    BOOLEAN Started;
    BOOLEAN Detached; /* started, but its address space is gone */
    ULONG64 Sequence; /* of the start: orders equal bases, and what one hit halts for */
    ULONG AffinityWords;
    const ULONG64 *Affinity; /* processors, 64 a word; outlives the KPROFILE */
} KPROFILE;

static inline MDL *
KeProfileMdl(KPROFILE *Profile)
{
    return (MDL *)(void *)(Profile + 1);
}

/*
 * KE_HALT - what stopped the simulated NT: a hit whose counter is not in its buffer,
 * which only the defects of some versions allow. Nothing was written.
 */
enum {
    KE_HALT_NONE = 0,
    KE_HALT_BUG_CHECK = 1, /* NT would have faulted */
    KE_HALT_CORRUPTION = 2 /* NT would have changed memory behind the counters */
};

/* Bug check codes and what they are used for here. */
enum {
    KE_IRQL_NOT_LESS_OR_EQUAL = 0x0A, /* a counter on a page that is not the buffer's */
    KE_KMODE_EXCEPTION_NOT_HANDLED = 0x1E
};

typedef struct _KE_HALT {
    ULONG Kind; /* KE_HALT_... */
    ULONG Code; /* bug check; 0 for corruption */
    /* 0x0A and corruption: caller's address of the counter, IRQL, 1 for a write,
     * instruction's. */
    ULONG64 Parameters[4];
} KE_HALT;

/* KE_STATISTICS - hits of a source: Taken = Counted + Outside. */
typedef struct _KE_STATISTICS {
    ULONG64 Taken;
    ULONG64 Counted; /* matched at least one started profile */
    ULONG64 Outside; /* matched none */
    /* Of the counts that Counted made, one for each match: those that the callers'
     * memory did not take (MDL.Unwritten). */
    ULONG64 Unwritten;
} KE_STATISTICS;

enum { KE_PROCESS_BUCKETS = 4096, KE_SOURCE_SLOTS = 256 };

typedef struct _KE_SYSTEM {
    HOST Host;
    HAL Hal;
    /* What each hit reads stands together. */
    ULONG Processors; /* statistics are kept for each, and one more for all above */
    /* Atomic: 0, then 1 (Halt is being written), then 2. Hits count at 0 alone. */
    ULONG HaltState;
    KPROCESS **ProcessTable; /* KE_PROCESS_BUCKETS chains, published */
    KI_POOL Pool;            /* nodes of all processes' indexes */
    KPROCESS Global;
    struct _KI_SOURCE
        *Sources[KE_SOURCE_SLOTS]; /* hash by number, published, never removed */
    ULONG ProfileIrql;             /* for KE_HALT */
    KE_HALT Halt;
} KE_SYSTEM;

/*
 * KeInitializeSystem - make Ke ready. Host and Hal are copied; ProfileIrql is for
 * KE_HALT alone. STATUS_INSUFFICIENT_RESOURCES. Level: passive.
 */
NTSTATUS KeInitializeSystem(KE_SYSTEM *Ke, const HOST *Host, const HAL *Hal,
                            ULONG ProfileIrql);

/* KeFinishSystem - undo it. No profile may be started. */
void KeFinishSystem(KE_SYSTEM *Ke);

/* KeInitializeProcess - ProcessId 0 is for KE_SYSTEM.Global alone. */
void KeInitializeProcess(KPROCESS *Process, ULONG64 ProcessId);

/* KeFinishProcess - free what it grew. None of its profiles may be started. */
void KeFinishProcess(KE_SYSTEM *Ke, KPROCESS *Process);

/*
 * KeFlushHits - deliver every hit that happened before the call. Notifications come
 * with them, and their callbacks may start, stop and close anything: call it before
 * looking at a profile.
 */
void KeFlushHits(KE_SYSTEM *Ke);

/*
 * KeStartProfile - link a filled-in KPROFILE so that hits count, and start its
 * interrupts. After KeFlushHits, or hits from before the start may count.
 *
 * STATUS_INSUFFICIENT_RESOURCES, or the HAL's status; then nothing is linked or
 * started.
 */
NTSTATUS KeStartProfile(KE_SYSTEM *Ke, KPROFILE *Profile);

/* KeStopProfile - undo it. When it returns, no hit touches Profile or its buffer any
 * more. After KeFlushHits, or hits from before the stop may be missing. */
void KeStopProfile(KE_SYSTEM *Ke, KPROFILE *Profile);

/* KeDetachProcess - the process runs a new program: its started profiles stay started
 * but never count again, and give their interrupts back. Called within the delivery of
 * that event. */
void KeDetachProcess(KE_SYSTEM *Ke, KPROCESS *Process);

/* KeEndProcess - the process ended: the same, also for profiles that are started from
 * now on. */
void KeEndProcess(KE_SYSTEM *Ke, KPROCESS *Process);

/*
 * KeHalt - stop counting for ever; the first call wins. Hits are taken as outside from
 * now on. Level: interrupt.
 */
void KeHalt(KE_SYSTEM *Ke, const KE_HALT *Halt);

/* KeQueryHalt - FALSE while nothing has stopped; Halt may be NULL. Level: interrupt. */
BOOLEAN KeQueryHalt(const KE_SYSTEM *Ke, KE_HALT *Halt);

/* KeRegisterSource - counts of Source. STATUS_INSUFFICIENT_RESOURCES. */
NTSTATUS KeRegisterSource(KE_SYSTEM *Ke, KPROFILE_SOURCE Source);

/* KeNoteUnwritten - counts of Source that were lost on the way to their buffer. */
void KeNoteUnwritten(KE_SYSTEM *Ke, KPROFILE_SOURCE Source, ULONG64 Counts);

/* KeQueryStatistics - all zero for a source that nobody registered. */
void KeQueryStatistics(const KE_SYSTEM *Ke, KPROFILE_SOURCE Source,
                       KE_STATISTICS *Statistics);

#endif
