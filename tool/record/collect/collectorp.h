/* SPDX-License-Identifier: MIT */
/*
 * collectorp.h - the state of a collector. Only collector.c, forget.c, notify.c,
 * online.c, mapping.c, hits.c, region_cut.c, remapped.c, snapshot.c, pause.c,
 * preloaded.c, preload_maps.c and preload_stacks.c include it.
 *
 * Except where stated otherwise, callers of these functions keep deliveries out or are
 * notifications, which are part of one.
 */
#ifndef RECORD_COLLECT_COLLECTORP_H
#define RECORD_COLLECT_COLLECTORP_H

#include "base/cpu_list.h"
#include "record/collect/callers.h"
#include "record/collect/collector.h"
#include "record/collect/delivery.h"
#include "record/collect/kernel_range.h"
#include "record/collect/naming.h"
#include "record/collect/pause.h"
#include "record/collect/preloaded.h"
#include "record/collect/program.h"
#include "record/collect/thread.h"

enum {
    PROCESS_BUCKETS = 1024, /* of the hash table of processes */
    /* mappings that one change may unmap; more are no longer known to be of a file */
    REPLACED_MAX = 64,
    /* number of processors in the mask of one processor group */
    CPUS_A_GROUP = 8 * sizeof(KAFFINITY)
};

/* mapping - code that a process maps, or the part of it that is counted in. */
struct mapping {
    uint64_t mapped_at; /* address of the whole mapping, as its unmapping is notified */
    uint64_t base;      /* address of the first byte that is counted in */
    uint64_t length;    /* bytes that are counted in */
    struct image *image;
    uint64_t place;   /* place of base in the image: see enum image_kind */
    uint32_t program; /* number of the program that its hits belong to */
    bool partial;     /* its profile objects lack processors that were offline */
    /* One profile object for each processor and source, or NULL where it could not be
     * started. */
    HANDLE *profiles;
};

/* process - a watched process that has not exited. */
struct process {
    struct process *next; /* in its bucket of the hash table */
    uint32_t pid;
    uint32_t parent; /* 0: unknown */
    uint64_t serial; /* unlike its pid, no other process has it */
    /* Number of its program, and whether it has one yet: notify_owner. Until then it
     * has a name. */
    uint32_t program;
    bool counted;    /* in program.users */
    char *name;      /* NULL: it has a program */
    HANDLE handle;   /* NULL: all processes, or it could not be opened: see status */
    NTSTATUS status; /* that NtOpenProcess returned */
    bool execed;     /* it has executed a program since its watch started */
    bool followed;   /* a mapping of its present program was notified */
    bool remembered; /* code that this program made was notified */
    struct mapping *mappings;
    size_t mapping_count;
    size_t mapping_capacity;
    struct code_map *code; /* with options.stack_bytes: all of its code */
};

/* owner - whose a hit is. */
struct owner {
    const struct process *process; /* NULL: it has exited */
    uint64_t serial;               /* of the process; 0: there is no owner */
    uint32_t pid;
    uint32_t program;
};

/* moved - what the last reported hit was moved to, if it was. */
struct moved {
    bool is;
    struct count count;
};

/* Number of exited processes that still own hits: the kernel works for a process after
 * its exit was reported, mostly to free its memory. */
enum { EXITED_MAX = 256 };

/* replaced - file mappings that one change in a process has unmapped, as they were:
 * something else takes their place with the next notifications. */
struct replaced {
    uint32_t pid;
    uint64_t time_ns; /* of the notifications */
    struct mapping mappings[REPLACED_MAX];
    size_t count;
};

/* online - which processors profile objects can be for: bit n % 64 of element
 * n / 64. */
struct online {
    uint64_t usable[CPU_LIST_GROUPS];
    uint64_t came[CPU_LIST_GROUPS]; /* online, and not usable yet */
    uint64_t seen[CPU_LIST_GROUPS]; /* usable at any time */
    bool all;                       /* all that have been seen are usable */
    bool newcomer; /* one that was not seen before: all mappings lack it */
    uint64_t checked_ns;
};

struct collector {
    struct collector_options options;
    struct online online;
    uint32_t *cpus;     /* processors with their own profile objects; NULL: none */
    uint32_t cpu_count; /* number of cpus; 1 if cpus is NULL */
    struct delivery delivery;
    struct preloaded *preloaded; /* NULL: the hits are those of options.session */
    struct image_set images;
    struct kernel_range kernel_range;
    uint64_t segments_measured; /* images.segments_made when memory was last measured */
    struct naming *naming;      /* used only by the thread that makes snapshots */
    struct program_set programs;
    struct thread_set threads; /* with options.threads */
    struct moved moved;        /* by notify_hit, for notify_stack */
    uint64_t hits_unmeasured;  /* moved since memory was last measured for hits */
    struct callers *callers;   /* NULL: options.stack_bytes is 0 */
    size_t stack_source;       /* index of time; with callers */
    /* by number of the program: its indexes in the profile that is being made */
    struct naming_program named[PROGRAM_SET_ENDLESS_MAX + 1];
    struct process *processes[PROCESS_BUCKETS]; /* hash table by pid */
    /* With options.machine: stands for all processes together, and has the mappings of
     * the kernel. It has no pid and is not in processes. */
    struct process machine;
    uint64_t processes_started;      /* gives each its serial number */
    struct owner exited[EXITED_MAX]; /* the last ones, with options.machine */
    uint32_t exited_next;            /* the oldest of them */
    struct replaced replaced;
    bool watch_started; /* a process was notified, so the watch has started */
    bool deleting;      /* nobody reads counters any more */
    ntprof_source_info *statistics; /* one for each source; final once ended is set */
    ntprof_source_info *session_statistics; /* the same, with the time of pauses */
    /* One for each source: hits that have left their counters, other than by the fold
     * of collector_read, since the statistics of their source were read. */
    uint64_t *late;
    struct pause *pauses;       /* one for each source */
    bool ended;                 /* statistics and fresh counts do not change any more */
    struct collector_gaps gaps; /* except running, which a snapshot counts */
};

/* --- collector.c --- */

/* Measure the memory of this process, and set images.full if it exceeds memory_max. */
void collector_measure(struct collector *collector);

/* Do so for one of some thousand hits that take memory, of which this is one. */
void collector_measure_sometimes(struct collector *collector);

/* Read the statistics, and fold the counters that belong to them into fresh counts.
 * Returns false if memory runs out or the session is closed. */
bool collector_read(struct collector *collector);

/* For collector_read: add the late hits to the statistics of their sources, as they are
 * in fresh counts, or dropped during a pause. Then set statistics. */
void collector_set_statistics(struct collector *collector);

/* Count a mapping without profile objects in gaps.failures. */
void collector_fail(struct collector *collector, NTSTATUS status);

/* Count a mapping without profile objects for lack of memory in gaps.failures, unless
 * memory_max is the cause: images.refused counts that. */
void collector_fail_for_memory(struct collector *collector);

/* --- forget.c --- */

/* With options.endless, free the hits that the last snapshot took, and the images and
 * programs that no process uses any more, with their counters. This function keeps
 * deliveries out itself; only the thread that makes snapshots may call it. */
void collector_forget(struct collector *collector);

/* --- mapping.c --- */

/* Add a copy of the mapping to the process, and start its profile objects. If it gets
 * no counters, it is not added, and a failure is counted. One of length 0 is
 * ignored. */
void mapping_add(struct collector *collector, struct process *process,
                 const struct mapping *mapping);

/* With options.kernel, start to count in the kernel for the process, or for all
 * processes if process is collector->machine. */
void mapping_add_kernel(struct collector *collector, struct process *process);

/* Close the profile objects of the mapping with index at, and remove it: the last one
 * takes its index. */
void mapping_remove(struct collector *collector, struct process *process, size_t at);
void mapping_remove_all(struct collector *collector, struct process *process);

/* Create the profile objects of all mappings of the process again that lack processors,
 * those whose index in collector->cpus is cpu_at. Their counters stay. Hits until then
 * are in no row, so those that lack none are left alone. */
void mapping_renew_all(struct collector *collector, struct process *process,
                       uint32_t cpu_at);

/* --- online.c --- */

/* Find out which processors are online. */
void online_init(struct online *online);

/* Get the processors that profile objects with this index in collector->cpus are to be
 * created for; *count 0: all. Returns false if none of them is usable. */
bool online_get_affinity(const struct collector *collector, uint32_t cpu_at,
                         GROUP_AFFINITY affinity[CPU_LIST_GROUPS], uint16_t *count);

/* Read which processors are online. Returns whether fewer are usable than before. */
bool online_has_shrunk(struct collector *collector);

/* Look now and then for processors that have come online, and create profile objects
 * for them. */
void online_look(struct collector *collector);

/* --- remapped.c --- */

/* A mapping is about to be removed: keep those of files until the next change. */
void replaced_add(struct replaced *replaced, const ntprof_notification *unmap,
                  const struct mapping *mapping);

/*
 * Look for code of a file in a part of an anonymous mapping, to which the program may
 * have moved it. If the part begins with such code, its image and place become those of
 * the file, and its length that of the code. Otherwise it is shortened to what is
 * before such code, if there is any.
 *
 *   parent  of the process; NULL: unknown
 *   map     the notification of the mapping
 *   part    in and out: its image is that of the process's own code
 */
void remapped_cut(struct collector *collector, const struct process *process,
                  const struct process *parent, const ntprof_notification *map,
                  struct mapping *part);

/* --- notify.c --- */

/* With options.machine, add the program "[kernel]", to which hits in the kernel belong
 * whose process is unknown. Returns false if memory runs out. */
bool notify_prepare(struct collector *collector);

/* Handle a notification of the session; context is the collector. */
void notify_session(void *context, const ntprof_notification *notification);

/* Handle a hit that a profile object counted; context is the collector. */
void notify_hit(void *context, const ntprof_hit *hit);

/* Handle the stack of a hit, after notify_hit of it if that is called at all; context
 * is the collector. */
void notify_stack(void *context, const ntprof_stack *stack);

/* Find the process with this pid, also one that has just exited, and give it a program.
 * Its serial number is 0 if there is none, or memory runs out. */
struct owner notify_owner(struct collector *collector, uint32_t pid);

/* Forget the processes that have exited: numbers of programs become free. */
void notify_forget_exited(struct collector *collector);

/* Remove all processes, and close all profile objects. */
void notify_end(struct collector *collector);

/* Return how many watched processes have not exited. */
uint64_t collector_count_processes(const struct collector *collector);

#endif
