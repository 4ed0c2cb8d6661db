/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/profile.h - layouts of the maps that the BPF programs and the session share.
 *
 * All maps except the arrays of maps are mapped into the session and changed by plain
 * stores: during a bpf() call that changes a map, the kernel runs no programs for hits
 * on that processor.
 *
 * Includes only types and the core's index; compiles for the host and for BPF.
 */
#ifndef HAL_BPF_PROFILE_H
#define HAL_BPF_PROFILE_H

#include "ke/bucket.h"
#include "ke/pool.h"

/* The maps, as scripts/make_bpf.py names them after sections of profile.bpf.c. */
enum bpf_map {
    BPF_MAP_SHARED,     /* one union bpf_shared */
    BPF_MAP_PROCESSORS, /* struct bpf_processor by processor */
    BPF_MAP_SETS,       /* words of processor sets, by set * control.set_words + word */
    BPF_MAP_CHUNKS,     /* maps of nodes, one for each later chunk */
    BPF_MAP_FLAT,       /* one struct bpf_flat */
    BPF_MAP_POOLS,      /* maps of struct bpf_page, one for each later pool */
    BPF_MAPS
};

enum {
    BPF_SLOTS = 256, /* sources with statistics: as many as ke registers */

    /* Chunks in union bpf_shared; few sessions need more. */
    BPF_FLAT_CHUNKS = 5,
    BPF_FLAT_NODES = KI_POOL_FIRST_CHUNK * ((1 << BPF_FLAT_CHUNKS) - 1),

    BPF_PROCESSES_LOG2 = 16,
    BPF_PROCESSES_MASK = (1 << BPF_PROCESSES_LOG2) - 1,
    BPF_PROBES = 32, /* entries that a process may have */
    /* Distance of the entries that are tried for a pid. Processes that are forked one
     * after the other have consecutive pids, which take consecutive entries. With a
     * step of 1, a pid that collides with such a run would try all of its entries. */
    BPF_PROBE_STEP = 0xE983,

    BPF_PAGE_BYTES = 4096,
    BPF_PAGE_COUNTERS_LOG2 = 10,
    BPF_PAGE_COUNTERS = 1 << BPF_PAGE_COUNTERS_LOG2,
    BPF_FLAT_PAGES = 256, /* of the first pool, BPF_MAP_FLAT */
    BPF_FLAT_COUNTERS = BPF_FLAT_PAGES * BPF_PAGE_COUNTERS,
    BPF_POOLS = 1024,
    BPF_SETS = 4096 /* of processors above the 64th; number 0 is empty */
};

/* A profile's location, in KI_RANGE.BufferBits: the pool of its counters, the set of
 * its processors above the 64th, and the number of its first counter in the pool. */
enum { BPF_LOCATION_POOL_SHIFT = 52, BPF_LOCATION_SET_SHIFT = 40 };
#define BPF_LOCATION_COUNTER_MASK (((ULONG64)1 << BPF_LOCATION_SET_SHIFT) - 1)

_Static_assert(BPF_SETS <= 1 << (BPF_LOCATION_POOL_SHIFT - BPF_LOCATION_SET_SHIFT) &&
                   BPF_POOLS <= 1 << (64 - BPF_LOCATION_POOL_SHIFT),
               "a location has room for all pools and sets");

/* An event's cookie is its source and the slot of its statistics. This bit says that
 * the event itself has the linear address of a hit, as a breakpoint has; the
 * interrupted frame has the offset in a segment. */
#define BPF_COOKIE_LINEAR ((ULONG64)1 << 31)
/* Set in bpf_control.one_cookie, so that it is never 0. Most sessions have one source,
 * and asking the kernel for an event's cookie costs as much as counting a hit. */
#define BPF_COOKIE_ONE ((ULONG64)1 << 30)

/* bpf_cookie - return the cookie of a source's events, without these bits. */
static inline ULONG64
bpf_cookie(ULONG source, ULONG slot)
{
    return (ULONG64)source << 32 | slot;
}

struct bpf_control {
    /* What each hit reads is in the first cache line. */
    ULONG global_roots[KI_TREES];
    ULONG halted; /* hits that caused a halt; above 0 nothing counts any more */
    ULONG set_words;
    ULONG64 one_cookie; /* of all events, with BPF_COOKIE_ONE; 0: they differ */
    /* The session's pid namespace, whose pids are in the table; 0: the first. */
    ULONG64 namespace_device;
    ULONG64 namespace_inode;
    ULONG64 halt_known;   /* the next two are written */
    ULONG64 halt_profile; /* KPROFILE: a hit was behind its counters */
    ULONG64 halt_number;  /* of the counter that it does not have */
} __attribute__((aligned(64)));

/* An entry of the table of processes. pid 0: no process ever had it, and a search ends
 * here. A search goes on behind entries whose process has no profiles any more. */
struct bpf_process {
    ULONG pid;
    ULONG ended; /* BPF_... */
    ULONG roots[KI_TREES];
};

/* bpf_process.ended */
enum {
    BPF_RUNNING = 0,
    BPF_ENDED = 1,      /* it runs a new program: nothing counts */
    BPF_FIRST_ENDED = 2 /* its first thread has exited; others may continue */
};

/*
 * What every hit reads, in as few pages as possible, since a miss in the TLB costs as
 * much as the rest of a hit. In the place of node 0, which ke's pool never takes, is
 * struct bpf_control; the nodes of the first profiles follow it, and behind them is the
 * table of processes.
 */
enum {
    BPF_TABLE_AT = BPF_FLAT_NODES * KI_NODE_BYTES / sizeof(struct bpf_process),
    BPF_ENTRIES = BPF_TABLE_AT + BPF_PROCESSES_MASK + 1
};
union bpf_shared {
    struct bpf_control control;
    KI_NODE nodes[BPF_FLAT_NODES];             /* of the first chunks of ke's pool */
    struct bpf_process processes[BPF_ENTRIES]; /* from BPF_TABLE_AT on */
};
_Static_assert(sizeof(struct bpf_control) <= KI_NODE_BYTES,
               "control is in the node that is never taken");
_Static_assert(sizeof(union bpf_shared) < 1 << 22, "more than Linux 5.15 allows");

/* The number of the probe-th entry that a process may have; it is never 0. */
static inline ULONG
bpf_table_entry(ULONG pid, ULONG probe)
{
    return (ULONG)BPF_TABLE_AT + ((pid + probe * BPF_PROBE_STEP) & BPF_PROCESSES_MASK);
}

/* The first pool of counters. */
struct bpf_flat {
    ULONG counters[BPF_FLAT_COUNTERS];
};

enum { BPF_TREES = 2 * KI_TREES }; /* of the process, then of all processes */

struct bpf_statistics {
    ULONG64 counted;
    ULONG64 outside;
    ULONG64 outside_kernel; /* of them: in kernel mode */
};

/*
 * What the program works with on one processor. The kernel never runs it for a hit
 * within another hit on the same processor.
 */
struct bpf_processor {
    /* Programs that started and ended: bpf_kernel_wait. */
    ULONG64 entered;
    ULONG64 left;
    ULONG64 cut; /* hits that were not counted in all matching profiles: too many */
    /* Hits outside, in user mode, of processes that have no pid in the session's pid
     * namespace or are in one below it. */
    ULONG64 unnumbered;

    /* The hit. */
    ULONG64 places[KI_TREES]; /* address; offset, then KiSegmentPlace */
    ULONG64 cookie;
    ULONG processor;
    ULONG selector;
    ULONG roots[BPF_TREES];
    ULONG is_first; /* it is in the first thread of its process */
    ULONG matches;  /* profiles that counted it */

    /* The search in one tree. */
    ULONG64 place;
    ULONG segment; /* 0 for the address space */
    ULONG root;
    ULONG leaf; /* number of the current one */
    ULONG at;   /* and the current entry in it */

    /* Of the profiles that match this hit but whose buffers end before its counter, the
     * one that was started first, which then halts the session (struct bpf_control). */
    ULONG64 overrun_profile;  /* 0: none */
    ULONG64 overrun_number;   /* of the counter that it does not have */
    ULONG64 overrun_sequence; /* how many profiles were started before it */

    struct bpf_statistics statistics[BPF_SLOTS];

    KI_SEARCH search;
} __attribute__((aligned(64))); /* processors share no cache line */

struct bpf_page {
    ULONG counters[BPF_PAGE_COUNTERS];
};

/* The arguments of the program for tests. */
enum bpf_replay {
    BPF_REPLAY_COOKIE,
    BPF_REPLAY_PROCESSOR,
    BPF_REPLAY_PROCESS,
    BPF_REPLAY_ADDRESS,
    BPF_REPLAY_SELECTOR, /* 0: none */
    BPF_REPLAY_OFFSET,
    BPF_REPLAY_ARGUMENTS
};

#endif
