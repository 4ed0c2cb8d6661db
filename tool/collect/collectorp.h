/* SPDX-License-Identifier: MIT */
/*
 * collectorp.h - what collector.c and snapshot.c share, and nobody else.
 */
#ifndef COLLECT_COLLECTORP_H
#define COLLECT_COLLECTORP_H

#include "collect/collector.h"
#include "collect/delivery.h"
#include "collect/naming.h"

enum { PROCESS_BUCKETS = 1024 };

struct mapping {
    uint64_t base;
    uint64_t length;
    struct image *image;
    uint64_t place;   /* of base in the image */
    uint32_t program; /* whose hits these are */
    /* One a source, for each processor; NULL where none could be made. */
    HANDLE *profiles;
};

struct process {
    struct process *next;
    uint32_t pid;
    uint32_t parent; /* 0: not told */
    uint32_t program;
    HANDLE handle; /* NULL: all processes, or status says why it cannot be opened */
    NTSTATUS status;
    bool execed;   /* runs a program begun since it is watched */
    bool followed; /* that program's mappings were told */
    struct mapping *mappings;
    size_t mapping_count;
    size_t mapping_capacity;
};

struct collector {
    struct collector_options options;
    uint32_t *cpus;     /* that are told apart; NULL: none are */
    uint32_t cpu_count; /* of them, else 1 */
    struct delivery delivery;
    struct image_set images;
    uint64_t measured;     /* segments that there were when memory was measured */
    struct naming *naming; /* of the thread that makes snapshots */
    char *programs[COLLECTOR_PROGRAMS_MAX + 1];
    uint32_t program_count;
    struct process *processes[PROCESS_BUCKETS];
    /* of no pid: has the kernel's mappings, for all processes */
    struct process machine;
    bool began;                     /* a process was told, so the watch has */
    ntprof_source_info *statistics; /* one a source: the last ones, once ended */
    bool ended; /* statistics and fresh counts are all that there will be */
    struct collector_gaps gaps; /* but for running, which a snapshot counts */
};

/* collector_measure - is there room for counters of what is new? Deliveries are kept
 * out. */
void collector_measure(struct collector *collector);

/* collector_count_processes - those that are followed and have not ended. */
uint64_t collector_count_processes(const struct collector *collector);

/*
 * collector_read - statistics, and the counters that belong to them, into fresh counts.
 * False: out of memory, or the session is gone. Deliveries are kept out.
 */
bool collector_read(struct collector *collector);

#endif
