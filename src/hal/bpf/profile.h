/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/profile.h - what the BPF programs and the session share: the layouts of the maps.
 *
 * All maps but the arrays of maps are mapped into the session, and changed by plain stores: a bpf() call
 * on a processor would keep its hits from being handled.
 *
 * Includes nothing but types and the core's index; compiles for the host and for BPF.
 */
#ifndef HAL_BPF_PROFILE_H
#define HAL_BPF_PROFILE_H

#include "ke/bucket.h"
#include "ke/pool.h"

/* The maps, by the numbers in which the programs' relocations name them. */
enum bpf_map {
    BPF_MAP_CONTROL,    /* one struct bpf_control */
    BPF_MAP_PROCESSES,  /* one struct bpf_processes */
    BPF_MAP_PROCESSORS, /* struct bpf_processor by processor */
    BPF_MAP_BOOKS,      /* struct bpf_books by processor * BPF_SLOTS + slot */
    BPF_MAP_SETS,       /* words of processor sets, by set * control.set_words + word */
    BPF_MAP_NODES,      /* nodes of the first chunks of ke's pool */
    BPF_MAP_CHUNKS,     /* maps of the nodes of one later chunk, by chunk */
    BPF_MAP_POOLS,      /* maps of counter pages, by pool */
    BPF_MAP_RINGS, /* one map of struct bpf_ring by processor, once there is a watch */
    BPF_MAPS
};

enum {
    BPF_SLOTS = 256, /* sources at a time: as many as ke registers */

    /* Chunks that are there from the start, so that few sessions ever make another. */
    BPF_FLAT_CHUNKS = 5,
    BPF_FLAT_NODES = KI_POOL_FIRST_CHUNK * ((1 << BPF_FLAT_CHUNKS) - 1),

    BPF_PROCESSES_LOG2 = 16,
    BPF_PROCESSES_MASK = (1 << BPF_PROCESSES_LOG2) - 1,
    BPF_PROBES = 32, /* places that a process may be in */
    /* From one to the next of them. Numbers come in runs, as processes that one forks one after the other:
     * beside its own place one would find a run of others', if two runs have the same ones. */
    BPF_PROBE_STEP = 0xE983,

    BPF_PAGE_BYTES = 4096,
    BPF_PAGE_COUNTERS_LOG2 = 10,
    BPF_PAGE_COUNTERS = 1 << BPF_PAGE_COUNTERS_LOG2,
    BPF_POOLS = 1024,
    BPF_RING_HITS = 16384,
    BPF_SETS = 4096 /* of processors above the 64th; number 0 is none */
};

/* The probe-th place of a process. */
static inline ULONG
bpf_place(ULONG pid, ULONG probe)
{
    return (pid + probe * BPF_PROBE_STEP) & BPF_PROCESSES_MASK;
}

/*
 * Where a profile's counters are, in KI_RANGE.BufferBits: its pool, the set of its processors above the
 * 64th, and the first counter's number in the pool.
 */
enum { BPF_LOCATION_POOL_SHIFT = 52, BPF_LOCATION_SET_SHIFT = 40 };
#define BPF_LOCATION_COUNTER_MASK (((ULONG64)1 << BPF_LOCATION_SET_SHIFT) - 1)

_Static_assert(BPF_SETS <= 1 << (BPF_LOCATION_POOL_SHIFT - BPF_LOCATION_SET_SHIFT) &&
                   BPF_POOLS <= 1 << (64 - BPF_LOCATION_POOL_SHIFT),
               "a location has room for all pools and sets");

/* bpf_control.watch */
enum {
    BPF_WATCH_ON = 1,       /* hits of processes that are not in step are noted */
    BPF_WATCH_ALL_HITS = 2, /* all are: somebody is just being told of */
    BPF_WATCH_EVERYBODY = 4 /* all processes are watched */
};

/* bpf_process.state. Hits of who is known are counted as long as it is in step: what it last changed has
 * been told. */
enum { BPF_PROCESS_KNOWN = 1, BPF_PROCESS_WATCHED = 2 };

/* What an event's cookie is: its source, and the slot of its books. And whether the event itself knows the
 * linear address, as one on an instruction does; the frame has a segment's offset. */
#define BPF_COOKIE_LINEAR ((ULONG64)1 << 31)
/* In bpf_control.one_cookie, so that it is never 0. To ask the kernel for an event's cookie costs a hit as much as
 * to count it in a profile, and most sessions have one source. */
#define BPF_COOKIE_ONE ((ULONG64)1 << 30)

static inline ULONG64
bpf_cookie(ULONG source, ULONG slot)
{
    return (ULONG64)source << 32 | slot;
}

struct bpf_control {
    /* What each hit reads is in one cache line. */
    ULONG global_roots[KI_TREES];
    ULONG halted;    /* hits that asked for a halt: above 0 nothing counts any more */
    ULONG watch;     /* BPF_WATCH_... */
    ULONG64 told_ns; /* up to when all that happened has been told */
    ULONG64 one_cookie; /* of all events, with BPF_COOKIE_ONE; 0: they differ */
    /* The session's pid namespace, in which processes are told; 0: the first. */
    ULONG64 namespace_device;
    ULONG64 namespace_inode;
    ULONG set_words;
    ULONG halt_known;     /* halt_... are written */
    ULONG64 halt_profile; /* the KPROFILE whose counters a hit would have been behind */
    ULONG64 halt_number;
    ULONG64 ends; /* processes of the table that are BPF_ENDED */
} __attribute__((aligned(64)));

/* A place of the table: free if pid is 0; the search goes on at places whose process is gone. */
struct bpf_process {
    ULONG pid;
    ULONG ended; /* BPF_... */
    ULONG roots[KI_TREES];
    ULONG state; /* BPF_PROCESS_... */
    ULONG padding;
    ULONG64
    changed_ns; /* when it last ran a new program, or looked for room to map something */
};

/* bpf_process.ended. No hit in user mode is the first thread's once that has ended: one that seems to be
 * is of another process, which has the number now. */
enum {
    BPF_RUNNING = 0,
    BPF_ENDED = 1,      /* the process, or its program: nothing counts */
    BPF_FIRST_ENDED = 2 /* its first thread; others may go on */
};

struct bpf_processes {
    struct bpf_process places[BPF_PROCESSES_MASK + 1];
};

enum { BPF_TREES = 2 * KI_TREES }; /* of the process, then of all */

/*
 * What one processor's program works with. A program never interrupts another on the same processor:
 * the kernel lets such hits go.
 */
struct bpf_processor {
    /* Programs begun and ended. Who changed something that a program may see waits until all that
     * had begun have ended. */
    ULONG64 entered;
    ULONG64 left;
    ULONG64 cut; /* hits that could not be counted in all that match */
    ULONG64
    unserved; /* hits whose books have no room: never, while sources have slots */
    ULONG64
    unnumbered; /* hits outside in user mode, of processes without a number in the session's pid
                         * namespace, or in one below it */

    /* The hit. */
    ULONG64 places[KI_TREES];
    ULONG64 cookie;
    ULONG processor;
    ULONG selector;
    ULONG roots[BPF_TREES];
    ULONG tree;     /* which of them is being searched */
    ULONG is_first; /* in the first thread of its process */
    ULONG matches;

    /* The profile started first of those whose counters the hit would be behind. */
    ULONG64 overrun_profile; /* 0: none */
    ULONG64 overrun_number;
    ULONG64 overrun_sequence;

    KI_SEARCH search;
} __attribute__((aligned(64))); /* no cache line is two processors' */

struct bpf_books {
    ULONG64 counted;
    ULONG64 outside;
    ULONG64 elsewhere; /* of processes that nobody asked for, while some are watched */
    ULONG64 lost;      /* not noted: the ring was full */
};

/*
 * A hit that is not counted at once but noted, for its turn among what the session is told: a sample with
 * registers as the kernel writes it (hal/perf/record.h), so that the same code reads both.
 */
struct bpf_noted {
    ULONG type;
    USHORT misc;
    USHORT bytes;
    ULONG64 id; /* bpf_noted_id */
    ULONG64 address;
    ULONG pid;
    ULONG tid; /* 0 */
    ULONG64 time_ns;
    ULONG64 registers;
    ULONG64 offset;
    ULONG64 selector; /* 0: not told */
};

enum { BPF_NOTED_BYTES = 64, BPF_RING_DATA_BYTES = BPF_RING_HITS * BPF_NOTED_BYTES };
_Static_assert(sizeof(struct bpf_noted) == BPF_NOTED_BYTES,
               "hits fill a ring without a rest");

/* No address of any machine: that of a hit in a segment whose base is not told. */
#define BPF_NOWHERE ((ULONG64)1 << 63)

/* Of hits with a cookie. The kernel's own ids are counted from 1 on. */
static inline ULONG64
bpf_noted_id(ULONG64 cookie)
{
    return (ULONG64)1 << 63 | (cookie & ~BPF_COOKIE_LINEAR);
}

/* A ring of them, as the kernel's are: head and tail where struct perf_event_mmap_page has them. The
 * program of its processor alone writes head, the session alone tail. */
enum { BPF_RING_HEAD_AT = 1024 };
struct bpf_ring {
    ULONG64 before[BPF_RING_HEAD_AT / 8];
    ULONG64 head;
    ULONG64 tail;
    ULONG64 behind[(BPF_PAGE_BYTES - BPF_RING_HEAD_AT) / 8 - 2];
    struct bpf_noted noted[BPF_RING_HITS];
};
_Static_assert(sizeof(struct bpf_ring) == BPF_PAGE_BYTES + BPF_RING_DATA_BYTES,
               "the data begin at the second page");

struct bpf_page {
    ULONG counters[BPF_PAGE_COUNTERS];
};

/* What the program for tests is told: the arguments of a raw tracepoint. */
enum bpf_replay {
    BPF_REPLAY_COOKIE,
    BPF_REPLAY_PROCESSOR,
    BPF_REPLAY_PROCESS,
    BPF_REPLAY_ADDRESS,
    BPF_REPLAY_SELECTOR, /* 0: not told */
    BPF_REPLAY_OFFSET,
    BPF_REPLAY_ARGUMENTS
};

#endif
