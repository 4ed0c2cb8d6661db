/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/event.h - one perf event: one source (or none: side band only) on one
 * processor, for one thread and its descendants, or for all processes.
 *
 * A struct perf_event outlives its descriptor: when that is closed, the rings may still
 * hold records with the event's id, by which the event is found. It is freed when all
 * of them have been delivered.
 */
#ifndef HAL_LINUX_EVENT_H
#define HAL_LINUX_EVENT_H

#include "hal/linux/record.h"
#include "hal/linux/source.h"

#include <linux/perf_event.h>
#include <stdint.h>

struct perf_target;

/* Instead of a processor: the first one that is online. */
enum { PERF_ANY_ONLINE = -2 };

struct perf_event {
    int fd;      /* -1: closed */
    uint64_t id; /* the kernel's number of it, which its records contain */
    uint32_t processor;
    uint32_t tid;   /* the thread it was opened on; 0: all processes */
    uint32_t scope; /* KE_SCOPE_... of its hits */
    bool side_band; /* it also writes records of mappings, names, forks and exits */
    struct perf_sample_layout layout; /* of its samples */
    struct perf_source *source;       /* NULL: side band only */
    uint64_t period; /* its interval, in the kernel's unit; 0 without source */
    struct perf_target *target; /* what it was opened for; NULL once closed */
    uint64_t from_ns;           /* hits before this do not count */
    uint64_t until_ns;    /* hits after this do not count; UINT64_MAX while open */
    uint64_t discarded;   /* hits before from_ns, after until_ns or after a freeze */
    uint64_t closed_ns;   /* when it was closed: it has no record after that */
    bool reports_silence; /* a processor's clock: time that it misses was throttled */
    bool may_duplicate;   /* another event may count the same hits (perf/duplicate.h) */
    struct perf_counts accounted; /* once closed: what was added to the statistics */
    struct perf_counts base;      /* events and running_ns at the start of the period */
    uint64_t enabled_ns;          /* enabled time at the last perf_event_grows */
    struct perf_event *next_closed;
};

struct perf_events {
    struct perf_event **items;
    size_t count;
};

/* Features of the running kernel. */
struct perf_features {
    bool inherit_thread; /* 5.13: events that follow threads but not children */
    bool read_lost;      /* 6.0: read() of an event returns its lost hits */
    bool user_registers; /* wanted, and x86: samples contain their code segment */
};

/* What to open. */
struct perf_event_request {
    const struct perf_source *source; /* NULL: side band only */
    bool kernel;                      /* hits in kernel mode too */
    bool side_band;
    bool inherit;          /* threads and children that are created later inherit it */
    bool threads_only;     /* with inherit: children do not */
    bool on_exec;          /* enabled by the next exec; else when it is opened */
    uint32_t wakeup_bytes; /* unread bytes that wake the reader; 0: half of the ring */
    bool cgroup;           /* of the threads of a cgroup: pid is its descriptor */
    uint32_t
        stack_bytes; /* of user stack in each sample; 0: neither that, nor a chain */
    uint16_t chain_depth; /* with kernel: most addresses of the kernel's call chain */
};

/* Does reading counts also end the period that they are of (statistics.h)? */
enum perf_period { PERF_PERIOD_CONTINUES, PERF_PERIOD_ENDS };

/* perf_processor_limit - return the highest number of a possible processor, plus 1. */
uint32_t perf_processor_limit(void);

/* perf_features_probe - find out which features the kernel has. selectors: samples
 * should have the code segment register. */
void perf_features_probe(struct perf_features *features, bool selectors);

/*
 * perf_call_event_open - perf_event_open. Raises the soft limit on descriptors to the
 * hard one when it is reached: a process of many threads needs more than the usual
 * 1024.
 *
 *   pid        in: a process or thread, -1: all, or with cgroup the directory's
 *              descriptor
 *   processor  in: -1 for any that the process runs on, or PERF_ANY_ONLINE
 *
 * Returns the descriptor, which is owned (descriptor.h), or negative errno; -EBADF if
 * the cgroup has been removed, or its hierarchy has no perf_event controller.
 */
int perf_call_event_open(struct perf_event_attr *attr, int pid, int processor,
                         bool cgroup);

/*
 * perf_event_open_fd - call perf_event_open for what a request asks.
 *
 *   pid        in: thread, 0 for the calling one, -1 for all; or the cgroup's
 *              descriptor
 *   processor  in: -1 for any that it runs on, or PERF_ANY_ONLINE
 *
 * Returns the descriptor or negative errno.
 */
int perf_event_open_fd(const struct perf_event_request *request,
                       const struct perf_features *features, int pid, int processor);

/* perf_event_layout - return the layout of the samples of what a request asks. */
struct perf_sample_layout perf_event_layout(const struct perf_event_request *request,
                                            const struct perf_features *features);

/* perf_event_try - open an event of a source and close it: for the calling thread, or
 * with all for all processes on a processor. Returns 0 or negative errno. */
int perf_event_try(const struct perf_source *source, bool kernel, bool all);

/* perf_event_read_counts - get what an event counted in this period (statistics.h), and
 * the hits that it lost since it was opened; zero if it is closed. Reading interrupts
 * the processor that runs the event: afterwards the interrupts of that event which had
 * begun before have been handled. */
void perf_event_read_counts(const struct perf_event *event,
                            const struct perf_features *features,
                            struct perf_counts *counts);

/* perf_event_add_counts - add what perf_event_read_counts gets to sum. If the period
 * ends, later reads count from here. */
void perf_event_add_counts(struct perf_event *event,
                           const struct perf_features *features,
                           enum perf_period period, struct perf_counts *sum);

/* perf_event_grows - has the event's enabled time grown since the last call, which
 * stored it? When a processor goes offline, its events stop for ever. */
bool perf_event_grows(struct perf_event *event, const struct perf_features *features);

/* perf_events_add - add an event to a list. Returns 0 or -ENOMEM. perf_events_finish
 * frees the list, not the events. */
int perf_events_add(struct perf_events *events, struct perf_event *event);
void perf_events_finish(struct perf_events *events);

#endif
