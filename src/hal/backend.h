/* SPDX-License-Identifier: MIT */
/*
 * hal/backend.h - the functions of a back end that api calls, beside the HAL table that
 * ke calls.
 *
 * Calls of one back end are serialised by the session's lock, which is also held while
 * hits and notifications are delivered; HAL_OPEN.Pause releases it. A notification's
 * callback may call back into ke, and so into Start, Stop and Query, on the same
 * thread, from within Deliver, Flush and Watch.
 */
#ifndef HAL_BACKEND_H
#define HAL_BACKEND_H

#include "hal/hal.h"
#include <ntprof/notification.h>
#include <ntprof/session.h>
#include <ntprof/source.h>

/* HAL_PROBE - can this caller use the back end on this machine? */
typedef struct _HAL_PROBE {
    BOOLEAN Usable;
    BOOLEAN Kernel;   /* may see kernel mode */
    BOOLEAN Global;   /* may see all processes */
    BOOLEAN Shortage; /* not usable because descriptors or memory ran out */
    ULONG Error;      /* errno of what refuses it, or a part of it; 0: nothing does */
    ULONG Cause;      /* NTPROF_CAUSE_... */
    char Reason[256];
    char Remedy[256];
} HAL_PROBE;

/* HAL_PROCESSORS - which processors are online, as HOST_TABLE has it. */
typedef struct _HAL_PROCESSORS {
    void *Context;
    USHORT (*GroupCount)(void *Context);
    KAFFINITY (*ActiveProcessors)(void *Context, USHORT Group);
} HAL_PROCESSORS;

/* HAL_OPEN - what a session gives to a back end that it opens, and wants of it. */
typedef struct _HAL_OPEN {
    struct _KE_SYSTEM *Ke; /* for KeProfileInterruptWithSource */
    HAL_PROCESSORS Processors;
    void (*Notify)(void *NotifyContext, const ntprof_notification *Notification);
    void *NotifyContext;
    /* For HAL_BACKEND.ReportsHits: called after each hit that was counted. */
    void (*Hit)(void *NotifyContext, const ntprof_hit *Hit);
    /* For HAL_BACKEND.ReportsStacks: called after Hit for each hit of ProfileTime, if
     * StackBytes is not 0. */
    void (*Stack)(void *NotifyContext, const ntprof_stack *Stack);
    ULONG StackBytes; /* most bytes of user stack that are copied with a hit */
    /* Sleep for WaitNs without the session's lock: so BeginProfileInterrupts,
     * SetInterval and Watch wait for threads. Meanwhile only QuerySource and
     * QueryStatistics are called. */
    void (*Pause)(void *NotifyContext, ULONG64 WaitNs);
    BOOLEAN UserOnly;
    /* Directory of a cgroup: only hits in it count. Open as long as the back end is;
     * NULL: none. */
    const int *CgroupFd;
    /* Hits in user mode have their code segment and the offset in it, on machines with
     * segments. */
    BOOLEAN Selectors;
    ULONG64 SimulationSeed;
    HAL_PROBE *Probe; /* out: result of Probe, or why Open fails; may be NULL */
} HAL_OPEN;

/* HalpCopyText - copy a text, cut to Room bytes with its NUL. Room is not 0. */
static inline void
HalpCopyText(char *To, SIZE_T Room, const char *From)
{
    for (; Room > 1 && *From != '\0'; Room--) {
        *To++ = *From++;
    }
    *To = '\0';
}

/* HalExplainFailure - set the reason and remedy of a failed HAL_BACKEND.Open. */
static inline void
HalExplainFailure(const HAL_OPEN *Open, const char *Reason, const char *Remedy)
{
    HAL_PROBE *const Probe = Open->Probe;

    if (Probe != NULL) {
        HalpCopyText(Probe->Reason, sizeof(Probe->Reason), Reason);
        HalpCopyText(Probe->Remedy, sizeof(Probe->Remedy), Remedy);
    }
}

/* HAL_WATCH - which process to watch, and what to count of it: HAL_BACKEND.Watch. */
typedef struct _HAL_WATCH {
    ULONG64 ProcessId; /* 0: all processes, without flags */
    ULONG Flags;       /* NTPROF_WATCH_... */
    ULONG SourceCount;
    const KPROFILE_SOURCE *Sources;
    ULONG ProcessorCount;      /* size of the set in bits */
    const ULONG64 *Processors; /* set to sample on: bit n%64 of word n/64 */
} HAL_WATCH;

/* HAL_SOURCE_STATISTICS - the back end's statistics of a source; ke has taken, counted
 * and outside. */
typedef struct _HAL_SOURCE_STATISTICS {
    char Name[48];
    char NtName[48];
    char Reason[192];
    ULONG Unit; /* NTPROF_UNIT_... */
    BOOLEAN KernelIncluded;
    ULONG64 IntervalAsked; /* 0: none was set */
    ULONG64 Events;        /* 100 ns or events, throttled ones included */
    ULONG64 Expected;      /* hits that Events makes at the interval */
    ULONG64 Lost;
    ULONG64 Throttled;
    ULONG64 Missed;
    ULONG64 Unfinished;
    ULONG64 Excluded;
    ULONG64 OutsideKernel; /* taken in kernel mode, and matched by no profile */
} HAL_SOURCE_STATISTICS;

/* HAL_STATISTICS - statistics of a back end that are not of one source. */
typedef struct _HAL_STATISTICS {
    ULONG64 Processes;    /* in the process table */
    ULONG64 Late;         /* records delivered after newer ones */
    ULONG64 RingBytes;    /* memory for records or hits */
    ULONG64 Unread;       /* ntprof_session_info.unread */
    ULONG64 Unnumbered;   /* hits in user mode of processes outside the pid namespace */
    ULONG64 CounterBytes; /* of HAL_PAGES, in use or not */
    ULONG64 StackBytes;   /* that are copied with a hit; 0: none, or not settled yet */
} HAL_STATISTICS;

/* A kind of ntprof_notification that only the core gets: an unwatched process execs. */
enum { HAL_UNWATCHED_EXEC = 0x100 };

/*
 * HAL_PAGES - memory for counters, of a back end that can count only there; see struct
 * host_page_supplier. Any thread. Take and Map return 0 or negative errno.
 */
typedef struct _HAL_PAGES {
    /* Zeroed and resident. A page or more is page-aligned and rounded up to pages. */
    int (*Take)(void *Context, size_t Bytes, void **Memory);
    /* Free what Take returned. */
    void (*Give)(void *Context, void *Memory, size_t Bytes);
    /* Map whole pages of Take's a second time, resident; it outlives the back end. */
    int (*Map)(void *Context, const void *Memory, size_t Bytes, void **Mapping);
} HAL_PAGES;

/* HAL_BACKEND - a back end, as a session chooses and calls it. */
typedef struct _HAL_BACKEND {
    const char *Name;
    const HAL_TABLE *Hal;
    const HAL_PAGES *Pages; /* NULL: counters may be anywhere */
    BOOLEAN ByName;         /* used only if the session's options name it */
    BOOLEAN Simulated;      /* its hits are not of this machine */
    BOOLEAN ReportsHits;    /* it calls HAL_OPEN.Hit */
    BOOLEAN ReportsStacks;  /* it calls HAL_OPEN.Stack */
    void (*Probe)(HAL_PROBE *Probe);
    NTSTATUS (*Open)(const HAL_OPEN *Open, void **Context);
    void (*Close)(void *Context);
    /* Have the sources interrupt for hits of a process, or of all, and report what they
     * do in order with these: ntprof_session_watch. NULL: a counting back end, without
     * watches. */
    NTSTATUS (*Watch)(void *Context, const HAL_WATCH *Watch);
    NTSTATUS (*LookupSource)(void *Context, const char *Text, KPROFILE_SOURCE *Source);
    /* STATUS_NOT_FOUND past the last. */
    NTSTATUS (*NextSource)(void *Context, ULONG Index, KPROFILE_SOURCE *Source);
    /* STATUS_NOT_FOUND for an unknown source. Taken is what ke has taken of it. */
    NTSTATUS(*QuerySourceStatistics)
    (void *Context, KPROFILE_SOURCE Source, ULONG64 Taken,
     HAL_SOURCE_STATISTICS *Statistics);
    void (*QueryStatistics)(void *Context, HAL_STATISTICS *Statistics);
    /* Polls readable when there are records to deliver; -1: there is none. */
    int (*Descriptor)(void *Context);
    /* Delivers records that are due. Returns ms until the next call, or -1. */
    int (*Deliver)(void *Context);
    /* Later hits are not taken; those made before may still be delivered. NULL: hits
     * are made only within calls. */
    void (*Freeze)(void *Context);
    /* Returns why a call has failed since ClearError: a sentence, or "". */
    const char *(*Error)(void *Context);
    void (*ClearError)(void *Context);
} HAL_BACKEND;

/* The back ends, best first, NULL at the end. */
extern const HAL_BACKEND *const HalBackends[];
extern const HAL_BACKEND HalBpfBackend;
extern const HAL_BACKEND HalPerfBackend;
extern const HAL_BACKEND HalSimBackend;
extern const HAL_BACKEND HalTimerBackend;

#endif
