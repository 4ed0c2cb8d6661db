/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/perf.h - the state of one session's perf back end: rings, targets,
 * processes.
 *
 * Invariants:
 *   - every open event writes into the ring of its processor, and its id is in events;
 *   - one event counts a thread for each source and processor: started profiles of a
 *     watched process open no further events (target.h), and on processors that a watch
 *     of all processes counts, nothing else does (whole_machine.h).
 *
 * All calls are serialised by the caller; a notification may call back from within a
 * delivery.
 */
#ifndef HAL_PERF_PERF_H
#define HAL_PERF_PERF_H

#include "hal/linux/context.h"
#include "hal/linux/event.h"
#include "hal/linux/stream.h"

struct perf {
    struct perf_context context;
    struct _KE_SYSTEM *ke;
    HAL_PROCESSORS processors;
    void (*pause)(void *context, ULONG64 wait_ns); /* HAL_OPEN.Pause */
    struct perf_features features;
    struct perf_stream stream;
    struct perf_throttles throttles;

    struct perf_ring **rings; /* by processor; NULL: none */
    uint32_t processor_limit; /* above the highest possible processor */
    size_t ring_pages;        /* of data; 0 until rings are there */
    size_t ring_pages_wanted; /* tried first; a power of two */
    int epoll_fd;
    bool owner_gone; /* the thread that a ring belongs to exited: no wake-ups */

    struct perf_idmap events;     /* id to struct perf_event, closed ones too */
    struct perf_event *closed;    /* their records may still be in the rings */
    struct perf_idmap counted_by; /* thread to the event that counts it (duplicate.h) */
    struct perf_target *targets;
    uint64_t *starting; /* set: processors that perf_start leaves to perf_begin */

    uint64_t side_band_ns; /* since when all processors have the side band; 0: not */
    uint64_t noticed_ns;   /* when processors were last checked for it */
    uint64_t machine_ns;   /* since when all processes are watched; 0: not */
    uint64_t unread;       /* processes that /proc did not show, or not completely */

    uint64_t resynced_ns;
    uint64_t lost_by_ns; /* the last loss found was before this */
    uint64_t frozen_ns;  /* hits after this are not taken; UINT64_MAX: all are */
};

/* perf_set_words - return the number of words of a set of processors. */
static inline size_t
perf_set_words(const struct perf *perf)
{
    return ((size_t)perf->processor_limit + 63) / 64;
}

/* What the stream calls (deliver.c). */
extern const struct perf_stream_calls perf_deliver_calls;

/* perf_fail - set the text of a failure: "cannot WHAT: reason; remedy". Returns
 * error. */
int perf_fail(struct perf *perf, int error, enum perf_scope scope, const char *format,
              ...) __attribute__((format(printf, 4, 5)));

/* perf_create - as HAL_BACKEND.Open. Returns 0 or negative errno. perf_delete takes
 * NULL. */
int perf_create(const HAL_OPEN *open, struct perf **perf);
void perf_delete(struct perf *perf);

/* perf_make_rings - make one for each online processor, if there are none. Returns 0 or
 * negative errno: -ENOBUFS if no size is allowed. */
int perf_make_rings(struct perf *perf);

/* perf_widen_rings - have perf_make_rings make larger ones: for a caller that may lock
 * memory without a limit, and for a watch of all processes, which reads /proc while
 * they fill. Bounded for all processors together. */
void perf_widen_rings(struct perf *perf);

/* perf_processor_ring - return the ring of a processor, made now if the processor came
 * online later. Returns NULL with the error text set and negative errno in *result:
 * -ENODEV if it is not online. */
struct perf_ring *perf_processor_ring(struct perf *perf, uint32_t processor,
                                      int *result);

/* perf_next_online - the first processor from *next on that is online and below
 * processor_limit: into *next. False if there is none. */
bool perf_next_online(const struct perf *perf, uint32_t *next);

/* perf_deliver - deliver records that are due. Returns ms until the next call, -1: no
 * further call is needed. */
int perf_deliver(struct perf *perf);

/* perf_flush - deliver all records made before the call. Within a delivery it does
 * nothing. */
void perf_flush(struct perf *perf);

/* perf_freeze - see HAL_BACKEND.Freeze. */
void perf_freeze(struct perf *perf);

/* perf_read_counts - add up the counts of open events of a source (NULL: all events) on
 * a processor (UINT32_MAX: all). restart: in, they start the next period from zero. */
void perf_read_counts(const struct perf *perf, const struct perf_source *source,
                      uint32_t processor, bool restart, struct perf_counts *counts);

/* perf_set_interval - set the interval within its limits, of running events too. */
void perf_set_interval(struct perf *perf, struct perf_source *source,
                       uint64_t interval);

#endif
