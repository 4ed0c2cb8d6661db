/* SPDX-License-Identifier: MIT */
/*
 * hal.h - the contract between the core and what makes profile interrupts.
 * Freestanding.
 *
 * Down: one HAL_TABLE per back end. Up: ExProfileInterrupt (core.h) for each hit, by a
 * delivering HAL; a counting HAL counts by itself from ke's index.
 */
#ifndef NTPROF_HAL_H
#define NTPROF_HAL_H

#include <ntprof/nt_profile.h>

#include <ntprof/nt_names_begin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* HAL_TABLE.Capabilities */
enum {
    HAL_COUNTS_ITSELF = 1, /* it increments the mapped counters: HAL_COUNTING */
    HAL_GLOBAL = 2,        /* can interrupt for all processes (ProcessId 0) */
    HAL_KERNEL = 4         /* sees execution in kernel mode */
};

/* KE_HIT.Scope: which lists of profiles this hit may count in. */
enum { KE_SCOPE_PROCESS = 1, KE_SCOPE_GLOBAL = 2, KE_SCOPE_BOTH = 3 };

/* KE_HIT - one profile interrupt. */
typedef struct _KE_HIT {
    KPROFILE_SOURCE Source;
    ULONG Processor;   /* 0.., group times 64 plus number in the group, on all hosts */
    ULONG64 ProcessId; /* whose thread was interrupted */
    ULONG64 Address;   /* program counter, linear: 16 * CS + IP in virtual-8086 mode */
    /* CS in user mode: the selector, or in virtual-8086 mode the segment; 0: unknown.
     * Numbers are compared: both modes count in a profile of that segment. */
    ULONG Selector;
    /* KE_SCOPE_...; KE_SCOPE_BOTH unless each list has its own interrupts */
    ULONG Scope;
    ULONG64 Offset; /* program counter within that segment: IP, of 16 bits, in
                     * virtual-8086 mode and in 16-bit code */
} KE_HIT;

/*
 * KE_HALT - why the simulated NT stopped: a hit's counter was outside the buffer, which
 * only the defects of some versions allow. Nothing was written.
 */
enum {
    KE_HALT_NONE = 0,
    KE_HALT_BUG_CHECK = 1, /* NT would have faulted */
    KE_HALT_CORRUPTION = 2 /* NT would have changed memory behind the counters */
};

/* Bug check codes, and their use here. */
enum {
    KE_IRQL_NOT_LESS_OR_EQUAL = 0x0A, /* a counter on a page that is not the buffer's */
    KE_KMODE_EXCEPTION_NOT_HANDLED = 0x1E
};

typedef struct _KE_HALT {
    ULONG Kind; /* KE_HALT_... */
    ULONG Code; /* bug check; 0 for corruption */
    /* 0x0A and corruption: the counter's address in the caller's mapping, IRQL, 1 for a
     * write, the instruction's address. */
    ULONG64 Parameters[4];
} KE_HALT;

/* KE_STATISTICS - hits of a source: Taken = Counted + Outside. */
typedef struct _KE_STATISTICS {
    ULONG64 Taken;
    ULONG64 Counted; /* matched at least one started profile */
    ULONG64 Outside; /* matched none */
    /* Counts (one for each profile that a hit matched) that could not be added to the
     * caller's memory (MDL.Unwritten). */
    ULONG64 Unwritten;
} KE_STATISTICS;

/* HAL_SOURCE - HalProfileSourceInformation with its limits. */
typedef struct _HAL_SOURCE {
    BOOLEAN Supported;
    ULONG64 Interval; /* in effect: 100 ns for ProfileTime, else events */
    ULONG64 DefaultInterval;
    ULONG64 MinimumInterval;
    ULONG64 MaximumInterval;
} HAL_SOURCE;

/*
 * HAL_COUNTING - the further functions of a HAL that counts by itself. Such a HAL
 * searches ke's index (ke/index.h) in its own interrupts. It may also deliver a hit as
 * other HALs do, so that the hit is counted in order with notifications. Level:
 * passive.
 */
typedef struct _HAL_COUNTING {
    /* sizeof(HAL_COUNTING); the core reads no further. No function may be NULL but
     * FreeNodes. */
    ULONG Size;
    ULONG Reserved;

    /*
     * Allocate memory for one chunk of the index's nodes (ke/pool.h), where the HAL
     * finds them by their numbers. It is aligned to a cache line; its content is
     * undefined. Returns NULL if there is none. After FreeNodes the chunk may be
     * allocated again. FreeNodes may be NULL: chunks stay the HAL's.
     */
    void *(*AllocateNodes)(void *Context, ULONG Chunk, SIZE_T Bytes);
    void (*FreeNodes)(void *Context, ULONG Chunk, void *Nodes, SIZE_T Bytes);

    /*
     * Convert the address of a profile's counters, and its affinity, to a number from
     * which the HAL's interrupts find both. ke stores *Location in the index unchanged.
     *
     *   Buffer    in: first counter, as the host mapped it; NULL: there are none
     *   Affinity  in: the profile's, AffinityWords words of 64 processors
     *
     * STATUS_INSUFFICIENT_RESOURCES if the number cannot express it.
     */
    NTSTATUS(*LocateCounters)
    (void *Context, const ULONG *Buffer, ULONG AffinityWords, const ULONG64 *Affinity,
     ULONG64 *Location);

    /*
     * PublishRoots sets the KI_TREES roots from which hits of ProcessId (0: of all
     * processes) are searched for; all 0: there is no search. Except for 0,
     * PrepareProcess is called before. The last call for a process publishes zeros;
     * after it another process may have the number. PrepareProcess:
     * STATUS_INSUFFICIENT_RESOURCES, STATUS_PROCESS_IS_TERMINATING.
     */
    NTSTATUS (*PrepareProcess)(void *Context, ULONG64 ProcessId);
    void (*PublishRoots)(void *Context, ULONG64 ProcessId, const ULONG *Roots);

    /* Hits of a source that the HAL itself has counted so far: those that a profile
     * matched, and those that none matched. */
    void (*QueryHits)(void *Context, KPROFILE_SOURCE Source, ULONG64 *Counted,
                      ULONG64 *Outside);
} HAL_COUNTING;

typedef struct _HAL_TABLE {
    /* sizeof(HAL_TABLE); the core reads no further. No function may be NULL but
     * BeginProfileInterrupts. */
    ULONG Size;
    ULONG Capabilities;

    /*
     * Start or stop interrupts of Source on Processor while threads of ProcessId run
     * there; 0: of all processes. ke calls Start for the first started profile that
     * needs them and Stop after the last. Start may fail (Linux refuses an event); NT's
     * cannot. Stop returns when no interrupt that this Start asked for is being handled
     * any more. Level: passive.
     */
    /* clang-format off */
    NTSTATUS (*StartProfileInterrupt)(void *Context, KPROFILE_SOURCE Source,
                                      ULONG Processor, ULONG64 ProcessId);
    /* clang-format on */
    void (*StopProfileInterrupt)(void *Context, KPROFILE_SOURCE Source, ULONG Processor,
                                 ULONG64 ProcessId);

    /*
     * Called after the StartProfileInterrupt calls for one profile, also if there were
     * none. A HAL may postpone what they start until this call, which then starts it on
     * all those processors. May fail as Start does; then ke stops each of them. NULL:
     * the HAL postpones nothing. Level: passive.
     */
    /* clang-format off */
    NTSTATUS (*BeginProfileInterrupts)(void *Context, KPROFILE_SOURCE Source,
                                       ULONG64 ProcessId);
    /* clang-format on */

    /* HalQuerySystemInformation, class 1. Unknown sources: Supported FALSE. */
    void (*QuerySource)(void *Context, KPROFILE_SOURCE Source, HAL_SOURCE *Information);

    /* HalSetSystemInformation, class 0, on all processors: clamps, never fails. */
    void (*SetInterval)(void *Context, KPROFILE_SOURCE Source, ULONG64 Interval);

    /* Deliver every hit that happened before the call. Within a delivery it does
     * nothing, since deliveries are in order of time. Called before each start and
     * stop. Level: passive. */
    void (*Flush)(void *Context);

    /* Return when every call of ExProfileInterrupt that started before this
     * call has returned; then ke frees what it has unlinked. Not called within a
     * delivery. If processors mark that they are in ExProfileInterrupt, so that this
     * function can look: a full barrier follows the mark (an atomic exchange or
     * addition on x86); the core has one before this call. Level: passive. */
    void (*Synchronize)(void *Context);

    /* With HAL_COUNTS_ITSELF, else NULL. */
    const HAL_COUNTING *Counting;
} HAL_TABLE;

/* HAL - a back end at work. */
typedef struct _HAL {
    const HAL_TABLE *Table;
    void *Context;
} HAL;

#ifdef __cplusplus
}
#endif

#include <ntprof/nt_names_end.h>

#endif

#include <ntprof/nt_names_check.h>
