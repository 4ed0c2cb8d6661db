/* SPDX-License-Identifier: MIT */
/*
 * preload/shared.h - the memory that the preload objects of all profiled processes
 * count into and that the command reads.
 *
 * It is a memfd of a fixed size, most of which is never touched. The command fills in
 * the header; preload objects append processes, segments and paths, and count in slots.
 * Nobody locks: a record is written, then published by its member ready, and never
 * changed afterwards, except for its counters. The first record has number 1; number 0
 * stands for a process or segment for which there was no room. All such processes count
 * in processes[0].
 *
 * The command believes nothing of it: programs can write here. Layout and size are the
 * same for 32 and 64 bits.
 */
#ifndef PRELOAD_SHARED_H
#define PRELOAD_SHARED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Environment variable that leads to the memory: COMMAND_PID:FD, for
 * /proc/COMMAND_PID/fd/FD, which is also the number of an inherited descriptor. With
 * stacks COMMAND_PID:FD:SOCKET: to /proc/COMMAND_PID/fd/SOCKET each process connects
 * and sends the descriptor of its ring (stack_ring.h), with a byte. */
#define PRELOAD_VARIABLE "NTPROF_AGENT"

#define PRELOAD_MAGIC UINT64_C(0x31746e656761746e) /* "ntagent1" */

enum {
    PRELOAD_SLOTS_LOG2 = 19,
    PRELOAD_SLOTS = 1 << PRELOAD_SLOTS_LOG2,
    PRELOAD_PROBES = 64, /* slots that one key may have; the search ends behind them */
    PRELOAD_PROCESSES = 1 << 15,
    PRELOAD_SEGMENTS = 1 << 15,
    PRELOAD_PATHS_BYTES = 4 << 20,
    PRELOAD_PATH_MAX = 4200, /* Linux reports up to a page, with an addition */
    PRELOAD_NAME_BYTES = 16
};

/*
 * A key says which bucket a slot counts; 0: the slot is free. Its lowest 48 bits are
 * the bucket's number in a segment, and the next 15 the number of the segment. With
 * PRELOAD_KEY_PLAIN, the highest bit, the address belongs to no known segment: then the
 * 15 bits are the number of the process, and the bucket is the address without its
 * lowest bucket_log2 bits.
 */
#define PRELOAD_KEY_PLAIN (UINT64_C(1) << 63)
enum { PRELOAD_KEY_NUMBER_BIT = 48 };
#define PRELOAD_KEY_BUCKETS (UINT64_C(1) << PRELOAD_KEY_NUMBER_BIT)

struct preload_slot {
    uint64_t key;
    uint32_t hits;
    uint32_t unused;
};

/* preload_segment - code of one file, as programs of one name map it. */
struct preload_segment {
    uint32_t ready;
    uint32_t path; /* index in paths of its first character; it ends with a 0 */
    uint64_t offset;
    uint64_t length;
    uint64_t inode;
    uint32_t device_major;
    uint32_t device_minor;
    uint32_t process; /* number of the process that recorded it */
    uint32_t unused;
    char program[PRELOAD_NAME_BYTES];
};

enum {
    PRELOAD_EXECED = 1,  /* a program with a preload object */
    PRELOAD_FORKED = 2,  /* a process with program and preload object of its parent */
    PRELOAD_SPAWNED = 3, /* it only executes a program, as its parent reports */
};

/* preload_process - a process from its start, or from its last exec on. A later one
 * with the same pid is a program that it executed, if that loaded a preload object. */
struct preload_process {
    uint32_t ready;
    uint32_t pid;    /* as in its own PID namespace */
    uint32_t parent; /* as in the command's; 0: unknown */
    uint32_t kind;   /* PRELOAD_EXECED ... */
    char program[PRELOAD_NAME_BYTES];
    /* clock of the process when its first thread was armed, and when it exited */
    uint64_t begin_ns;
    uint64_t end_ns; /* 0: not yet, or not in an orderly way */
    uint32_t missed; /* expirations that made no hit */
    uint32_t plain;  /* hits with PRELOAD_KEY_PLAIN */
    uint32_t threads;
    uint32_t unarmed; /* threads without a timer, or that lost it */
    /* errno of the last of them; ESRCH and EBUSY: no real-time signal is free */
    uint32_t error;
    uint32_t leaving; /* 1: it executes another program */
    /* pid as in the command's PID namespace; 0: unknown, as it always is in a record by
     * the parent. Of a process whose number is unknown, each hit updates end_ns. */
    uint32_t outer_pid;
    uint32_t pid_namespace; /* preload_pid_namespace */
};

struct preload_shared {
    uint64_t magic;
    uint64_t interval_ns;
    uint32_t bucket_log2;
    /* How many records were asked for; those beyond the ends of the arrays below were
     * refused. */
    uint32_t process_count;
    uint32_t segment_count;
    uint32_t paths_bytes;
    uint32_t lost;          /* hits without a free slot */
    uint32_t pid_namespace; /* of the command */
    uint64_t proc_device;   /* of the command's /proc; 0: it has none */
    /* of the ring of each process: stack_ring.h; 0: there are none */
    uint32_t ring_slots;
    uint32_t stack_bytes; /* of a copy, at most */
    /* Programs that system() or popen() executed and that cannot load a preload object:
     * they have no record, as libc tells nobody their pids. */
    uint32_t unloaded;
    uint32_t unused;
    /* Number 0 of either is of nobody: what has no place of its own. */
    struct preload_process processes[PRELOAD_PROCESSES];
    struct preload_segment segments[PRELOAD_SEGMENTS];
    struct preload_slot slots[PRELOAD_SLOTS];
    char paths[PRELOAD_PATHS_BYTES];
};

/* The PID namespace of the calling process; 0: unknown. */
static inline uint32_t
preload_pid_namespace(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 ? (uint32_t)status.st_ino : 0;
}

/* What distinguishes file systems of type proc, each of which numbers processes as one
 * PID namespace does; 0: there is none. */
static inline uint64_t
preload_proc_device(void)
{
    struct stat status;

    return stat("/proc/self", &status) == 0 ? (uint64_t)status.st_dev : 0;
}

_Static_assert(sizeof(struct preload_slot) == 16, "the same for 32 and 64 bits");
_Static_assert(sizeof(struct preload_segment) == 64, "the same for 32 and 64 bits");
_Static_assert(sizeof(struct preload_process) == 80, "the same for 32 and 64 bits");
_Static_assert(offsetof(struct preload_shared, processes) == 64, "the same everywhere");

#endif
