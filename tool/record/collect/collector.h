/* SPDX-License-Identifier: MIT */
/*
 * collector.h - turns the notifications of a session into profile objects, and their
 * counters into profiles.
 *
 * The collector makes a profile object for each source and each executable mapping of a
 * watched process; with per_cpu, one for each processor too. It makes them within the
 * notification of the mapping, so it misses no later hit.
 *
 * Order of calls: new, watch, start, snapshots and folds, stop, the last snapshot,
 * delete.
 */
#ifndef RECORD_COLLECT_COLLECTOR_H
#define RECORD_COLLECT_COLLECTOR_H

#include "profile/profile.h"
#include "record/collect/image.h"
#include "stacks/stack.h"

struct preload_memory;
struct sym_settings;

/* collector_region - the only code to count in: bytes of a file that programs map. */
struct collector_region {
    uint64_t device; /* st_dev of the file */
    uint64_t inode;  /* st_ino of it */
    uint64_t offset; /* of the first byte, in the file; a multiple of bucket_bytes */
    uint64_t bytes;  /* 0: no region, count everywhere */
};

/* collector_options - what a collector counts, and how much memory it may use. */
struct collector_options {
    /* opened with NTPROF_SESSION_POLLED, because the collector's own thread delivers it
     * (delivery.h); NULL: preload objects count */
    ntprof_session *session;
    /* without a session: what preload objects count into. Then the only source is
     * time, and its interval cannot change. */
    struct preload_memory *preloaded;
    uint64_t interval_asked; /* of preload objects, in 100 ns */
    const KPROFILE_SOURCE *sources;
    /* names to use instead of the session's, each may be NULL; or NULL */
    const char *const *names;
    size_t source_count;
    uint32_t bucket_bytes;          /* a power of two */
    const GROUP_AFFINITY *affinity; /* NULL: all processors */
    uint16_t affinity_count;
    /* one profile object for each processor of affinity; rows then have a processor */
    bool per_cpu;
    /* Bytes of memory that this process may use; 0: no limit. While it uses more, no
     * new counters are made: hits in code that has none are outside. */
    uint64_t memory_max;
    const struct sym_settings *symbols; /* copied; NULL: all zero */
    /* if region.bytes is not 0, hits elsewhere are outside, and kernel must be false */
    struct collector_region region;
    bool kernel; /* count in the kernel */
    bool user;   /* count in user mode; if false, its hits are outside */
    /* All processes are watched, and the kernel's hits are counted for all of them
     * together; where the session reports each hit, they are then given to the
     * processes that were interrupted. */
    bool machine;
    /* Tell the threads of each process apart: rows have a thread and a pid. Needs a
     * session that reports each hit. */
    bool threads;
    /* Bytes of stacks that the session was opened with, for source time: rows are also
     * apart by their callers. Not with endless. 0: none. */
    uint32_t stack_bytes;
    size_t contexts; /* with stack_bytes: bound of rows with callers, and of calls */
    /*
     * The recording has no end. The caller makes snapshots by collector_recent only,
     * which then frees the hits that its profile contains, and the images and programs
     * that no process uses any more. Rows have the units of their processes.
     */
    bool endless;
};

/* Why threads have no timer of a preload object. */
enum {
    UNARMED_LIMIT,   /* of RLIMIT_SIGPENDING */
    UNARMED_SIGNALS, /* the program uses all real-time signals */
    UNARMED_REFUSED, /* by a system call filter */
    UNARMED_OTHER,
    UNARMED_CAUSES
};

/* collector_gaps - what a profile lacks or may attribute wrongly. */
struct collector_gaps {
    uint64_t failures; /* mappings without a profile object; their hits are outside */
    NTSTATUS first_failure;
    /* processes without events after an exec, such as of a set-uid program */
    uint64_t unfollowed;
    /* records of hits or notifications that had no room in a ring */
    uint64_t records_lost;
    uint64_t running; /* processes that have not exited */
    /* set by the caller: the time of the recording, and that in which it counted */
    uint64_t elapsed_ns;
    uint64_t counted_ns;
    uint64_t interval_changes; /* set by the caller: of source time, while it ran */
    /* processes that a whole-machine watch could not read; set by the caller */
    uint64_t unread;
    /* children of the processes that work and are not profiled; set by the caller; NULL
     * or "": none */
    const char *children_run;
    uint64_t unopened; /* images without names because descriptors ran out */
    /* mappings without counters because of memory_max; their hits are outside */
    uint64_t refused;
    /* hits that were not given to their process or thread because of memory_max */
    uint64_t unowned;
    /* JIT maps that were freed because of memory_max and could not be read again */
    uint64_t unnamed;
    /* processes whose perf maps exist, or may exist, and were not read */
    uint64_t refused_maps;
    char refused_why[128]; /* the reason of one of them */
    /* images some of whose names or lines would have cost too much */
    uint64_t bounded_images;
    /* of preload objects: */
    uint64_t unarmed[UNARMED_CAUSES]; /* threads without a timer, or that lost it */
    uint64_t unloaded;   /* processes whose last program has loaded no preload object */
    uint64_t refusals;   /* processes and code that had no place in the memory */
    uint64_t unbelieved; /* records that make no sense: a program wrote there */
    uint64_t lost_rings; /* of processes, which there was no memory to read */
    uint64_t denied_rings; /* of processes, which a security module refused */
    bool too_many_hits;    /* more than the processor time allows */
    bool none_loaded;      /* no program has loaded one */
    /* with stack_bytes: hits by how their stacks end, what is used of the bound of
     * contexts, and images whose unwind tables could not be read, with the reason of
     * one of them */
    uint64_t stack_ends[STACK_ENDS];
    uint64_t contexts;
    uint64_t unread_tables;
    char unread_why[256];
};

struct collector;

/* Create a collector, which receives the session's notifications from now on. The
 * session must outlive it. Returns NULL if memory runs out. */
struct collector *collector_new(const struct collector_options *options);

/* Free the collector, which may be NULL. */
void collector_delete(struct collector *collector);

/* Start the thread that delivers the session or reads what preload objects have counted
 * (delivery.h). Returns 0 or a negative errno. */
int collector_start(struct collector *collector);

/* Stop collecting: no snapshot contains what happens later. Another thread may be
 * making a snapshot. */
void collector_stop(struct collector *collector);

/* Return whether collector_stop has stopped it. Any thread may call it. */
bool collector_has_ended(struct collector *collector);

/*
 * Pause and resume counting. The session continues to take hits during a pause, but
 * profiles contain neither rows nor statistics of them. Both functions return false if
 * nothing changed: counting was paused (or not paused) already, the collector was
 * stopped, or memory ran out. Any thread may call them, even before collector_start.
 */
bool collector_pause(struct collector *collector);
bool collector_resume(struct collector *collector);

/* Read the session's statistics of a source by its index. Unlike those in profiles they
 * include the hits during pauses. Returns false once the collector was stopped. Any
 * thread may call it. */
bool collector_get_source(struct collector *collector, size_t source,
                          ntprof_source_info *info);

/* Set how much processor time names may take from now on (naming_set_time). To be
 * called on the thread that makes profiles. */
void collector_set_names_time(struct collector *collector, uint64_t left_ns,
                              uint64_t headers_ns);

/* Change the interval of a source, by its index, and store in *granted the interval
 * that is in effect afterwards. Returns false, and stores nothing, if the collector was
 * stopped, preload objects count, or the session refuses. Any thread may call it. */
bool collector_set_interval(struct collector *collector, size_t source,
                            uint64_t interval, uint64_t *granted);

/*
 * Add the 32-bit counters to 64-bit ones and reset them. Call this at least every
 * COLLECTOR_FOLD_S seconds, or one may wrap. Any thread may, but only one at a time.
 * Returns false if memory runs out; no hit is lost then.
 */
bool collector_fold(struct collector *collector);

/* Seconds within which counters must be folded. One of 32 bits wraps in them only at 70
 * million hits a second in one bucket. */
enum { COLLECTOR_FOLD_S = 60 };

/*
 * Make a profile of everything so far: sources with statistics, and rows with names.
 * The statistics of a source and its rows are of the same moment. Collecting continues.
 * Call it from one thread at a time. Returns NULL if memory runs out; no hit is lost
 * then.
 */
struct profile *collector_snapshot(struct collector *collector,
                                   struct collector_gaps *gaps);

/*
 * Make a profile whose rows are only of the hits since the last snapshot of any kind;
 * its cost depends on the number of those hits only. The statistics are of the whole
 * recording. Returns NULL if memory runs out: hits that had no row yet are then in the
 * next profile of collector_recent, the others only in those of collector_snapshot.
 * With endless all of them are in the next profile.
 */
struct profile *collector_recent(struct collector *collector,
                                 struct collector_gaps *gaps);

/* Make a profile of all hits that the snapshots so far contained, with the statistics
 * of the last one. Later hits are left for the next snapshot. Returns NULL if memory
 * runs out. */
struct profile *collector_repeat(struct collector *collector,
                                 struct collector_gaps *gaps);
#endif
