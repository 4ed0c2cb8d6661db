/* SPDX-License-Identifier: MIT */
/*
 * collectorp.h - declarations that only collector.c and snapshot.c use.
 */
#ifndef COLLECT_COLLECTORP_H
#define COLLECT_COLLECTORP_H

#include "collect/collector.h"
#include "collect/delivery.h"
#include "collect/naming.h"
#include "collect/pause.h"

enum { PROCESS_BUCKETS = 1024 };

struct mapping {
    uint64_t base;
    uint64_t length;
    struct image *image;
    uint64_t place;   /* place of base in the image */
    uint32_t program; /* number of the program that its hits belong to */
    /* One for each processor and source, or NULL where it could not be started. */
    HANDLE *profiles;
};

struct process {
    struct process *next;
    uint32_t pid;
    uint32_t parent; /* 0: unknown */
    uint32_t program;
    HANDLE handle; /* NULL: all processes, or it could not be opened: see status */
    NTSTATUS status;
    bool execed;   /* has executed a program since its watch started */
    bool followed; /* a mapping of that program was notified */
    struct mapping *mappings;
    size_t mapping_count;
    size_t mapping_capacity;
};

struct collector {
    struct collector_options options;
    uint32_t *cpus;     /* processors with their own profile objects; NULL: none */
    uint32_t cpu_count; /* number of cpus; 1 if cpus is NULL */
    struct delivery delivery;
    struct image_set images;
    uint64_t measured;     /* images.made when memory was last measured */
    struct naming *naming; /* used only by the thread that makes snapshots */
    char *programs[COLLECTOR_PROGRAMS_MAX + 1];
    uint32_t program_count;
    struct process *processes[PROCESS_BUCKETS];
    /* Has no pid; holds the kernel's mappings for all processes together. */
    struct process machine;
    bool watch_started; /* a process was notified, so the watch has started */
    ntprof_source_info *statistics; /* one for each source; final once ended is set */
    ntprof_source_info *session_statistics; /* the same, with those of pauses */
    struct pause *pauses;                   /* one for each source */
    bool ended;                 /* statistics and fresh counts do not change any more */
    struct collector_gaps gaps; /* except running, which a snapshot counts */
};

/* collector_measure - set images.full if memory_max is exceeded. The caller keeps
 * deliveries out. */
void collector_measure(struct collector *collector);

/* collector_count_processes - return how many watched processes have not exited. */
uint64_t collector_count_processes(const struct collector *collector);

/*
 * collector_read - read the statistics, and fold the counters that belong to them into
 * fresh counts. The caller keeps deliveries out. Returns false if memory runs out or
 * the session is closed.
 */
bool collector_read(struct collector *collector);

#endif
