/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/perf.h - the state of one session's perf back end.
 *
 * Terms:
 *   target     a set of events that measure one process or all (target.h)
 *   watch      a request of ke to report the hits and mappings of a process, or of all
 *   side band  records of mappings, forks, execs and exits, which some events write
 *
 * Invariants:
 *   - every open event writes into the ring of its processor, and its id is in events;
 *   - one event counts a thread for each source and processor, except for duplicates
 *     that have not been detected yet (duplicate.h): what a watch counts, started
 *     profiles open no events for.
 *
 * Each file of the folder uses only those before it in this order: perf.h, stacks,
 * rings, target, duplicate, thread_scan, opening, start, interval, watch,
 * whole_machine, deliver, backend. All calls are serialised by the caller; a
 * notification may call back from within a delivery.
 */
#ifndef HAL_PERF_PERF_H
#define HAL_PERF_PERF_H

#include "hal/linux/context.h"
#include "hal/linux/event.h"
#include "hal/linux/stream.h"

/* Copies of user stacks with the hits of time (stacks.h). */
struct perf_stacks {
    /* HAL_OPEN.Stack; not NULL if asked is not 0. Its context is hit_context. */
    void (*report)(void *context, const ntprof_stack *stack);
    uint32_t asked;       /* bytes; 0: no stacks, and the next two are 0 */
    uint32_t granted;     /* bytes, for events opened from now on; 0 without rings */
    size_t record_bytes;  /* the longest record with a stack */
    uint16_t chain_depth; /* most addresses of a kernel chain */
};

struct perf {
    struct perf_context context;
    struct _KE_SYSTEM *ke;
    void (*hit)(void *context, const ntprof_hit *hit); /* HAL_OPEN.Hit; may be NULL */
    void *hit_context;
    struct perf_stacks stacks;
    HAL_PROCESSORS processors;
    void (*pause)(void *context, ULONG64 wait_ns); /* HAL_OPEN.Pause */
    struct perf_features features;
    struct perf_stream stream;
    struct perf_throttles throttles;

    struct perf_ring **rings; /* by processor; NULL: none */
    uint32_t processor_limit; /* number of the highest possible processor, plus 1 */
    size_t ring_bytes;        /* of data, each; 0 until rings are there */
    size_t ring_bytes_wanted; /* 0: as many as are allowed */
    int epoll_fd;

    struct perf_idmap events;     /* id to struct perf_event, closed ones too */
    struct perf_event *closed;    /* their records may still be in the rings */
    struct perf_idmap counted_by; /* thread to the event that counts it (duplicate.h) */
    struct perf_target *targets;
    struct perf_target *machine; /* the watch of all processes; NULL: none */
    uint64_t *starting; /* set: processors that perf_start leaves to perf_begin */

    uint64_t online_checked_ns; /* when processors that came online were looked for */
    uint64_t *unopened; /* set: processors that came online and could not be opened */
    /* processes that /proc did not show, or not completely, and processors that were
     * added to unopened */
    uint64_t unread;

    uint64_t resynced_ns; /* when all processes in /proc were last read */
    uint64_t lost_by_ns;  /* the last loss found was before this */
    uint64_t frozen_ns;   /* hits after this are not taken; UINT64_MAX: all are */
    bool drained;         /* all hits that are taken at all have been delivered */
};

/* Instead of the number of a processor. */
#define PERF_ALL_PROCESSORS UINT32_MAX

/* perf_set_words - return the number of words of a set of processors. */
static inline size_t
perf_set_words(const struct perf *perf)
{
    return ((size_t)perf->processor_limit + 63) / 64;
}

/* perf_set_holds - is number in the set? False beyond its end. */
static inline bool
perf_set_holds(const uint64_t *set, size_t words, uint32_t number)
{
    return number / 64 < words && (set[number / 64] >> (number % 64) & 1) != 0;
}

/* perf_set_add, perf_set_remove - change whether number, which is not beyond the end,
 * is in the set. */
static inline void
perf_set_add(uint64_t *set, uint32_t number)
{
    set[number / 64] |= (uint64_t)1 << number % 64;
}

static inline void
perf_set_remove(uint64_t *set, uint32_t number)
{
    set[number / 64] &= ~((uint64_t)1 << number % 64);
}

#endif
