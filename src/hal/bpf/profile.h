/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/profile.h - what the BPF programs and the session share: the layouts of the
 * maps.
 *
 * All maps but the arrays of maps are mapped into the session, and changed by plain
 * stores: a bpf() call on a processor would keep its hits from being handled.
 *
 * Includes nothing but types and the core's index; compiles for the host and for BPF.
 */
#ifndef HAL_BPF_PROFILE_H
#define HAL_BPF_PROFILE_H

#include "ke/bucket.h"
#include "ke/pool.h"

/* The maps, by the numbers in which the programs' relocations name them. */
enum bpf_map {
    BPF_MAP_SHARED,     /* one union bpf_shared */
    BPF_MAP_PROCESSORS, /* struct bpf_processor by processor */
    BPF_MAP_SETS,       /* words of processor sets, by set * control.set_words + word */
    BPF_MAP_CHUNKS,     /* maps of the nodes of one later chunk, by chunk */
    BPF_MAP_FLAT,       /* one struct bpf_flat */
    BPF_MAP_POOLS, /* maps of the counter pages of all pools but the first, by pool */
    BPF_MAPS
};

enum {
    BPF_SLOTS = 256, /* sources at a time: as many as ke registers */

    /* Chunks that are there from the start, so that few sessions ever make another. */
    BPF_FLAT_CHUNKS = 5,
    BPF_FLAT_NODES = KI_POOL_FIRST_CHUNK * ((1 << BPF_FLAT_CHUNKS) - 1),

    BPF_FRONT_PLACES = 16,
    BPF_PROCESSES_LOG2 = 16,
    BPF_PROCESSES_MASK = (1 << BPF_PROCESSES_LOG2) - 1,
    BPF_PROBES = 32, /* places in the table that a process may be in */
    /* From one to the next of them. Numbers come in runs, as processes that one forks
     * one after the other: beside its own place one would find a run of others', if two
     * runs have the same ones. */
    BPF_PROBE_STEP = 0xE983,

    BPF_PAGE_BYTES = 4096,
    BPF_PAGE_COUNTERS_LOG2 = 10,
    BPF_PAGE_COUNTERS = 1 << BPF_PAGE_COUNTERS_LOG2,
    BPF_FLAT_PAGES = 256, /* of the first pool, which is there from the start */
    BPF_FLAT_COUNTERS = BPF_FLAT_PAGES * BPF_PAGE_COUNTERS,
    BPF_POOLS = 1024,
    BPF_SETS = 4096 /* of processors above the 64th; number 0 is none */
};

/*
 * Where a profile's counters are, in KI_RANGE.BufferBits: its pool, the set of its
 * processors above the 64th, and the first counter's number in the pool.
 */
enum { BPF_LOCATION_POOL_SHIFT = 52, BPF_LOCATION_SET_SHIFT = 40 };
#define BPF_LOCATION_COUNTER_MASK (((ULONG64)1 << BPF_LOCATION_SET_SHIFT) - 1)

_Static_assert(BPF_SETS <= 1 << (BPF_LOCATION_POOL_SHIFT - BPF_LOCATION_SET_SHIFT) &&
                   BPF_POOLS <= 1 << (64 - BPF_LOCATION_POOL_SHIFT),
               "a location has room for all pools and sets");

/* What an event's cookie is: its source, and the slot of its statistics. And whether
 * the event itself knows the linear address, as one on an instruction does; the frame
 * has a segment's offset. */
#define BPF_COOKIE_LINEAR ((ULONG64)1 << 31)
/* In bpf_control.one_cookie, so that it is never 0. To ask the kernel for an event's
 * cookie costs a hit as much as to count it in a profile, and most sessions have one
 * source. */
#define BPF_COOKIE_ONE ((ULONG64)1 << 30)

static inline ULONG64
bpf_cookie(ULONG source, ULONG slot)
{
    return (ULONG64)source << 32 | slot;
}

struct bpf_control {
    /* What each hit reads is in one cache line. */
    ULONG global_roots[KI_TREES];
    ULONG halted; /* hits that asked for a halt: above 0 nothing counts any more */
    ULONG set_words;
    ULONG64 one_cookie; /* of all events, with BPF_COOKIE_ONE; 0: they differ */
    /* The session's pid namespace, in which processes are told; 0: the first. */
    ULONG64 namespace_device;
    ULONG64 namespace_inode;
    ULONG64 halt_known;   /* halt_... are written */
    ULONG64 halt_profile; /* the KPROFILE whose counters a hit would have been behind */
    ULONG64 halt_number;
    ULONG64 ends; /* processes of the table that are BPF_ENDED */
} __attribute__((aligned(64)));

/* A place of the table: free if pid is 0; the search goes on at places whose process is
 * gone. */
struct bpf_process {
    ULONG pid;
    ULONG ended; /* BPF_... */
    ULONG roots[KI_TREES];
};

/* bpf_process.ended. No hit in user mode is the first thread's once that has ended: one
 * that seems to be is of another process, which has the number now. */
enum {
    BPF_RUNNING = 0,
    BPF_ENDED = 1,      /* the process, or its program: nothing counts */
    BPF_FIRST_ENDED = 2 /* its first thread; others may go on */
};

/*
 * What every hit reads, in as few pages as can be: to find where a page is costs a hit
 * as much as what stands there. So the first processes are beside the control, in a
 * node that ke's pool never takes, and the next nodes are those of the first profiles.
 */
enum {
    BPF_PLACES_AT = BPF_FLAT_NODES * KI_NODE_BYTES / sizeof(struct bpf_process),
    BPF_PLACES = BPF_PLACES_AT + BPF_PROCESSES_MASK + 1,
    BPF_FRONT_AT = sizeof(struct bpf_control) / sizeof(struct bpf_process)
};
union bpf_shared {
    struct bpf_control control;
    KI_NODE nodes[BPF_FLAT_NODES];         /* of the first chunks of ke's pool */
    struct bpf_process places[BPF_PLACES]; /* from BPF_FRONT_AT and BPF_PLACES_AT on */
};
_Static_assert(sizeof(struct bpf_control) % sizeof(struct bpf_process) == 0 &&
                   BPF_FRONT_AT + BPF_FRONT_PLACES <=
                       KI_NODE_BYTES / sizeof(struct bpf_process),
               "control and the first processes are in no node that is taken");
_Static_assert(sizeof(union bpf_shared) < 1 << 22,
               "older kernels take no more for a value");

/* The place of a process in front, and the probe-th in the table, where it is if that
 * was another's. No place has the number 0. */
static inline ULONG
bpf_front_place(ULONG pid)
{
    return (ULONG)BPF_FRONT_AT + (pid & (BPF_FRONT_PLACES - 1));
}

static inline ULONG
bpf_place(ULONG pid, ULONG probe)
{
    return (ULONG)BPF_PLACES_AT + ((pid + probe * BPF_PROBE_STEP) & BPF_PROCESSES_MASK);
}

/* The first pool of counters. */
struct bpf_flat {
    ULONG counters[BPF_FLAT_COUNTERS];
};

enum { BPF_TREES = 2 * KI_TREES }; /* of the process, then of all */

struct bpf_statistics {
    ULONG64 counted;
    ULONG64 outside;
};

/*
 * What one processor's program works with. A program never interrupts another on the
 * same processor: the kernel lets such hits go.
 */
struct bpf_processor {
    /* Programs begun and ended. Who changed something that a program may see waits
     * until all that had begun have ended. */
    ULONG64 entered;
    ULONG64 left;
    ULONG64 cut; /* hits that could not be counted in all that match */
    /* hits outside in user mode, of processes without a number in the session's pid
     * namespace, or in one below it */
    ULONG64 unnumbered;

    /* The hit. */
    ULONG64 places[KI_TREES];
    ULONG64 cookie;
    ULONG processor;
    ULONG selector;
    ULONG roots[BPF_TREES];
    ULONG is_first; /* in the first thread of its process */
    ULONG matches;

    /* The search in one tree. */
    ULONG64 place;
    ULONG segment; /* 0 for the address space */
    ULONG root;
    ULONG leaf; /* number of the one that is looked at */
    ULONG at;   /* and the entry of it */

    /* The profile started first of those whose counters the hit would be behind. */
    ULONG64 overrun_profile; /* 0: none */
    ULONG64 overrun_number;
    ULONG64 overrun_sequence;

    struct bpf_statistics statistics[BPF_SLOTS];

    KI_SEARCH search;
} __attribute__((aligned(64))); /* no cache line is two processors' */

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
