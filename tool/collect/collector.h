/* SPDX-License-Identifier: MIT */
/*
 * collector.h - turns the notifications of a session into profile objects, and their
 * counters into profiles.
 *
 * One profile object for each executable mapping of each watched process and source,
 * and for each processor if those are told apart. It is made within the notification of
 * the mapping, so no hit that came after is missed.
 *
 * Order: new, watch, start, snapshots and folds, stop, the last snapshot, delete.
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include "collect/image.h"
#include "profile/profile.h"

struct sym_settings;

struct collector_options {
    ntprof_session *session; /* NTPROF_SESSION_POLLED: the collector delivers */
    const KPROFILE_SOURCE *sources;
    const char *const
        *names; /* what a source is called instead of by the session, or NULL */
    size_t source_count;
    uint32_t bucket_bytes;          /* a power of two */
    const GROUP_AFFINITY *affinity; /* NULL: all processors */
    uint16_t affinity_count;
    /* a profile object for each processor of affinity: rows tell theirs */
    bool per_cpu;
    uint64_t
        /* bytes; 0: no limit. Beyond it nothing is counted that is not yet */
        memory_max;
    const struct sym_settings *symbols; /* copied; NULL: all zero */
    bool kernel;                        /* count in the kernel */
    bool user; /* count in user mode; else its hits are outside */
    bool
        /* all processes are watched: the kernel is counted for all of them together */
        machine;
};

/* collector_gaps - what is not in a profile, or perhaps not where it belongs. */
struct collector_gaps {
    uint64_t failures; /* mappings without a profile object: hits there are outside */
    NTSTATUS first_failure;
    /* programs of which nothing was seen after their start: set-uid */
    uint64_t unfollowed;
    uint64_t records_lost; /* records without room, of hits or of what happened */
    uint64_t running;      /* processes that have not ended */
    uint64_t unread;       /* processes that a watch of all could not read: left 0 */
    uint64_t unopened;     /* images without names, for want of descriptors */
    /* mappings left out because of memory_max: hits there are outside */
    uint64_t refused;
    uint64_t
        /* JIT maps given up because of memory_max, and not there to be read again */
        unnamed;
    uint64_t refused_maps;   /* perf maps that are there and were not read */
    uint64_t bounded_images; /* images whose names or lines would have cost too much */
};

struct collector;

/* The session tells the collector from now on. NULL: out of memory. The session must
 * outlive the collector. */
struct collector *collector_new(const struct collector_options *options);

/* NULL is allowed. */
void collector_delete(struct collector *collector);

/* Delivers on a thread of its own from now on. 0 or a negative errno. */
int collector_start(struct collector *collector);

/* Ends: what happens from now on is in no snapshot. Also while another thread makes
 * one. */
void collector_stop(struct collector *collector);

/*
 * Takes 32-bit counters over into 64 bits, which has to happen before one of them
 * wraps: at least every COLLECTOR_FOLD_S. Any thread, but not two at once. False: out
 * of memory, nothing is lost.
 */
bool collector_fold(struct collector *collector);

/* Even 2^32 hits a minute in one bucket would be 70 million a second. */
enum { COLLECTOR_FOLD_S = 60 };

/*
 * Makes a profile of all that happened so far: sources with their statistics, rows with
 * names. The statistics of a source and its rows are of one moment. Collecting goes on.
 * NULL: out of memory; nothing is lost. One thread at a time.
 */
struct profile *collector_snapshot(struct collector *collector,
                                   struct collector_gaps *gaps);

/*
 * The same of what came since the last snapshot, of whichever kind: rows of that alone,
 * at a cost that follows them and not all that there was before. The statistics are of
 * all. When it gives NULL, its hits are in the next one or, if they were named already,
 * in snapshots of all.
 */
struct profile *collector_recent(struct collector *collector,
                                 struct collector_gaps *gaps);

/* All that snapshots gave so far, again: what comes after the last one is left for the
 * next. */
struct profile *collector_repeat(struct collector *collector,
                                 struct collector_gaps *gaps);

/* Names of processes that are told apart; the hits of any more are those of "[other]".
 */
enum { COLLECTOR_PROGRAMS_MAX = 256 };

#endif
