/* SPDX-License-Identifier: MIT */
/*
 * preloadedp.h - what preloaded.c and preload_stacks.c share: processes and code that
 * preload objects reported, as they were seen.
 */
#ifndef RECORD_COLLECT_PRELOADEDP_H
#define RECORD_COLLECT_PRELOADEDP_H

#include "record/collect/preload_maps.h"
#include "record/collect/preload_stacks.h"
#include "record/collect/preloaded.h"

/* A process as last looked at; preload_process has what its preload object says. */
struct preload_seen {
    bool seen; /* all below is set */
    bool alive;
    /* the program that this process executed next (of PRELOAD_SPAWNED: that the child
     * executed) has loaded a preload object, so that its hits are counted */
    bool preload_loaded;
    uint32_t kind; /* PRELOAD_EXECED ... */
    uint32_t pid;  /* 0: unknown, as its PID namespace is another one */
    uint32_t parent;
    uint32_t inner_pid; /* its number in its PID namespace */
    uint32_t pid_namespace;
    uint32_t program;  /* number of its program */
    uint64_t begin_ns; /* of its processor clock */
    uint64_t cpu_ns;   /* of its processor clock, as far as it is known */
    uint32_t plain;    /* its hits in no segment, as of the last reading of its maps */
    struct preload_maps maps;
    bool wants_maps; /* stacks lead to code that is not known */
    bool has_ring;   /* it has sent one, and may send no other */
};

/* Code that preload objects count in, and where it is in its image. */
struct preload_segment_seen {
    bool seen;
    struct image *image; /* NULL: its hits are outside */
    uint64_t place;
    uint64_t length;
    uint32_t program;
};

struct preloaded {
    struct collector *collector;
    struct preload_memory *memory;
    uint64_t interval_asked; /* in 100 ns */
    uint64_t processors;     /* of the machine */
    uint64_t began_ns;       /* CLOCK_MONOTONIC: before the first process */
    uint64_t looked_ns;      /* CLOCK_MONOTONIC: when preloaded_look was last called */
    /* Processor time that killed processes may have used after the last look at them,
     * at most: their clocks cannot be read any more, and nothing reported it. */
    uint64_t unseen_ns;
    bool killed; /* since the last look a process was killed */
    struct preload_seen *processes;
    struct preload_segment_seen *segments;
    uint32_t process_next;
    uint32_t segment_next;
    uint64_t counted;              /* hits taken that are in an image */
    uint64_t outside;              /* hits taken that are in none */
    struct preload_stacks *stacks; /* NULL: without */
};

/* Where a hit was counted. */
struct preload_target {
    struct image *image; /* NULL: outside */
    uint64_t place;
    uint32_t program;
};

/* Find where hits of a key (preload/shared.h) belong, by what is known now. */
void preloaded_find(struct preloaded *preloaded, uint64_t key,
                    struct preload_target *target);

/* Count hits. Returns false if memory runs out; they are not counted then. */
bool preloaded_count(struct preloaded *preloaded, const struct preload_target *target,
                     uint32_t hits);

#endif
