/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/perf.h - one session's perf back end: rings, targets, processes.
 *
 * Invariants:
 *   - every open event writes into the ring of its processor, and its id is in events;
 *   - a thread is counted by one event for each source and processor: a process that a
 *     watch watches gets no events of its own (target.h), and none has where one of all
 *     does (whole_machine.h);
 *   - between deliveries everything at or before last_ns has been delivered, late
 *     records apart.
 *
 * All calls are serialised by the caller; a notification may call back from within a
 * delivery.
 */
#ifndef HAL_PERF_PERF_H
#define HAL_PERF_PERF_H

#include "hal/backend.h"
#include "hal/linux/event.h"
#include "hal/linux/firing.h"
#include "hal/linux/merge.h"
#include "hal/linux/process_table.h"
#include "hal/linux/refusal.h"

struct perf {
    struct _KE_SYSTEM *ke;
    HAL_PROCESSORS processors;
    bool kernel;             /* hits in kernel mode are wanted and allowed */
    char kernel_reason[128]; /* why not */
    int cgroup_fd;           /* hits of what runs in this cgroup alone; -1: of all */
    struct perf_features features;
    struct perf_sources sources;
    struct perf_firing firing;
    struct process_table processes;
    struct perf_throttles throttles;

    struct perf_ring **rings; /* by processor; NULL: none */
    uint32_t processor_limit; /* above the highest possible processor */
    size_t ring_pages;        /* of data; 0 until rings are there */
    size_t ring_pages_wanted; /* to begin with; a power of two */
    struct perf_merge merge;
    int epoll_fd;
    bool owner_gone; /* a ring wakes nobody any more */

    struct perf_idmap events;  /* id to struct perf_event, closed ones too */
    struct perf_event *closed; /* their records may still be in the rings */
    struct perf_idmap
        counted_by; /* threads to the event that counts them (duplicate.h) */
    struct perf_target *targets;
    uint64_t *starting; /* set: processors that perf_start leaves to perf_begin */

    uint64_t side_band_ns; /* all processors' side band is there: since when; 0: not */
    uint64_t noticed_ns;   /* when processors were last looked at for it */
    uint64_t machine_ns;   /* watches of all processes: since when; 0: none */
    uint64_t unread;       /* processes that could not be read for them, or not whole */

    uint64_t
        reread_after_ns; /* mappings of running processes are read again only then */

    bool delivering;
    bool resync; /* records were lost */
    uint64_t resynced_ns;
    uint64_t lost_by_ns;   /* losses up to then are known */
    uint64_t last_ns;      /* time of the newest record delivered */
    uint64_t frozen_ns;    /* hits after this are not taken; UINT64_MAX: all are */
    uint64_t delivered_ns; /* up to where the last delivery went */
    uint64_t late;
    char error[768]; /* why the last call failed */
};

/* perf_set_words - of a set of processors. */
static inline size_t
perf_set_words(const struct perf *perf)
{
    return ((size_t)perf->processor_limit + 63) / 64;
}

/* perf_now_ns - the clock of all records. */
uint64_t perf_now_ns(void);

/* perf_fail - keep why a call failed: "cannot WHAT: reason; remedy". Returns error. */
int perf_fail(struct perf *perf, int error, enum perf_scope scope, const char *format,
              ...) __attribute__((format(printf, 4, 5)));

/* perf_create - as HAL_BACKEND.Open. Returns 0 or negative errno. perf_delete takes
 * NULL. */
int perf_create(const HAL_OPEN *open, struct perf **perf);
void perf_delete(struct perf *perf);

/* perf_probe_source - find out whether the kernel has it for this caller. */
void perf_probe_source(struct perf *perf, struct perf_source *source);

/* perf_make_rings - one for each online processor, if there are none yet. Returns 0 or
 * negative errno: -ENOBUFS when no size is allowed. */
int perf_make_rings(struct perf *perf);

/* perf_widen_rings - larger ones, unless they are there: for who may lock memory
 * without a limit, and before a watch of all processes, which reads /proc while they
 * fill. Bounded for all processors together. */
void perf_widen_rings(struct perf *perf);

/* perf_processor_ring - the ring of a processor, made now if it came online since; NULL
 * with the error kept and negative errno in *result: -ENODEV if it is not online. */
struct perf_ring *perf_processor_ring(struct perf *perf, uint32_t processor,
                                      int *result);

/* perf_next_online - the first processor from *next on that is online and below
 * processor_limit: into *next. False if there is none. */
bool perf_next_online(const struct perf *perf, uint32_t *next);

/* perf_refuse_source - keep that a source is not supported. Returns -EOPNOTSUPP. */
int perf_refuse_source(struct perf *perf, const struct perf_source *source);

/* perf_deliver - what is due. Returns ms until the next call, -1 for none. */
int perf_deliver(struct perf *perf);

/* perf_flush - everything that happened before the call; nothing from within a
 * delivery. */
void perf_flush(struct perf *perf);

/* perf_freeze - see HAL_BACKEND.Freeze. */
void perf_freeze(struct perf *perf);

/* perf_source_counts - the sum over a source's open events. */
void perf_source_counts(const struct perf *perf, const struct perf_source *source,
                        struct perf_counts *counts);

/* perf_set_interval - clamp, keep, and have all running events go on with it. */
void perf_set_interval(struct perf *perf, struct perf_source *source,
                       uint64_t interval);

#endif
