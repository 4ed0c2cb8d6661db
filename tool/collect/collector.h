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
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include "collect/image.h"
#include "profile/profile.h"

struct agent_memory;
struct sym_settings;

/* collector_region - the only code to count in: bytes of a file that programs map. */
struct collector_region {
    uint64_t device; /* st_dev of the file */
    uint64_t inode;  /* st_ino of it */
    uint64_t offset; /* of the first byte, in the file; a multiple of bucket_bytes */
    uint64_t bytes;  /* 0: no region, count everywhere */
};

/* collector_options - what a collector counts, and by how much memory. */
struct collector_options {
    /* with NTPROF_SESSION_POLLED: the collector delivers. NULL: agents count */
    ntprof_session *session;
    struct agent_memory *agents; /* the only source is time, and it cannot change */
    uint64_t interval_asked;     /* of agents, in 100 ns */
    const KPROFILE_SOURCE *sources;
    /* names to use instead of the session's, each may be NULL; or NULL */
    const char *const *names;
    size_t source_count;
    uint32_t bucket_bytes;          /* a power of two */
    const GROUP_AFFINITY *affinity; /* NULL: all processors */
    uint16_t affinity_count;
    /* one profile object for each processor of affinity; rows then have a processor */
    bool per_cpu;
    /* Bytes; 0: no limit. Above it, code without counters gets none. */
    uint64_t memory_max;
    const struct sym_settings *symbols; /* copied; NULL: all zero */
    /* Hits elsewhere are outside; with it, kernel has to be false. */
    struct collector_region region;
    bool kernel; /* count in the kernel */
    bool user;   /* count in user mode; if false, its hits are outside */
    /* All processes are watched, and the kernel's hits are counted for all of them
     * together. */
    bool machine;
    /*
     * The recording has no end: all snapshots are those of collector_recent, which
     * frees the hits that its profile contains, and what no process uses any more. Rows
     * have the units of their processes.
     */
    bool endless;
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
    uint64_t unopened; /* images without names because descriptors ran out */
    /* mappings without counters because of memory_max; their hits are outside */
    uint64_t refused;
    /* JIT maps that were freed because of memory_max and could not be read again */
    uint64_t unnamed;
    uint64_t refused_maps; /* perf maps that exist and were not read */
    /* images some of whose names or lines would have cost too much */
    uint64_t bounded_images;
    /* of agents: */
    uint64_t unarmed;    /* threads without a timer: they have no hits */
    uint64_t unloaded;   /* processes whose last program has loaded no agent */
    uint64_t refusals;   /* processes and code that had no place in the memory */
    uint64_t unbelieved; /* records that make no sense: a program wrote there */
    bool too_many_hits;  /* more than the processor time allows */
    bool no_agent;       /* no program has loaded one */
};

struct collector;

/* Create a collector, which receives the session's notifications from now on. The
 * session must outlive it. Returns NULL if memory runs out. */
struct collector *collector_new(const struct collector_options *options);

/* Free the collector, which may be NULL. */
void collector_delete(struct collector *collector);

/* Start a thread that delivers. Returns 0 or a negative errno. */
int collector_start(struct collector *collector);

/* Stop collecting: no snapshot contains what happens later. Another thread may be
 * making a snapshot. */
void collector_stop(struct collector *collector);

/*
 * Pause counting: hits until collector_resume are in no row and in no statistics,
 * though the session continues to take them. Either returns false if nothing changed:
 * it was so already, the collector was stopped, or memory ran out. Any thread may call
 * them, even before collector_start.
 */
bool collector_pause(struct collector *collector);
bool collector_resume(struct collector *collector);

/* Read the statistics of a source by its index, pauses included. Returns false once the
 * collector was stopped. Any thread may call it. */
bool collector_get_source(struct collector *collector, size_t source,
                          ntprof_source_info *info);

/* Change the interval of a source, by its index; *granted is then the one in effect.
 * Returns false if the session refuses; nothing has changed then. Any thread may call
 * it. */
bool collector_set_interval(struct collector *collector, size_t source,
                            uint64_t interval, uint64_t *granted);

/*
 * Add the 32-bit counters to 64-bit ones and reset them. Call this at least every
 * COLLECTOR_FOLD_S seconds, or one may wrap. Any thread may, but only one at a time.
 * Returns false if memory runs out; no hit is lost then.
 */
bool collector_fold(struct collector *collector);

/* A counter wraps within a minute only above 70 million hits a second in one bucket. */
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
 * its cost depends on those only. The statistics are of the whole recording. If it
 * returns NULL, its hits are in the next recent snapshot or, if they had names already,
 * only in snapshots of everything. With endless they are all in the next one.
 */
struct profile *collector_recent(struct collector *collector,
                                 struct collector_gaps *gaps);

/* Repeat all that the snapshots so far contained. Later hits are left for the next
 * one. */
struct profile *collector_repeat(struct collector *collector,
                                 struct collector_gaps *gaps);
#endif
