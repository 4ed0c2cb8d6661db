/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/event.h - one event of the kernel's: one source (or none: side band only)
 * on one processor, for one thread and what it begets, or for all processes.
 *
 * An event outlives its descriptor: records that it wrote are still in the rings when
 * it is closed, and their hits must be told apart. It is freed when all of them have
 * been delivered.
 */
#ifndef HAL_LINUX_EVENT_H
#define HAL_LINUX_EVENT_H

#include "hal/linux/source.h"

#include <linux/perf_event.h>
#include <stdint.h>

struct perf_target;

struct perf_event {
    int fd;      /* -1: closed */
    uint64_t id; /* in the records */
    uint32_t processor;
    uint32_t tid;   /* the thread it was opened on; 0: all processes */
    uint32_t scope; /* KE_SCOPE_... of its hits */
    bool side_band;
    struct perf_source *source; /* NULL: side band only */
    struct perf_target *target; /* NULL once closed */
    uint64_t from_ns;           /* what was before this does not count */
    uint64_t until_ns;  /* hits after this are not its own; UINT64_MAX while open */
    uint64_t untimely;  /* hits before from_ns, after until_ns, and after a freeze */
    uint64_t closed_ns; /* no record of it is younger */
    bool tells_silence; /* a processor's clock: what it lacks was throttled */
    bool may_duplicate; /* may count what another counts already (perf/duplicate.h) */
    struct perf_counts accounted; /* closed: what of it is in the statistics */
    struct perf_counts base;      /* counts at the beginning of the period */
    uint64_t enabled_ns;          /* for how long, when it was last asked */
    struct perf_event *next_closed;
};

struct perf_events {
    struct perf_event **items;
    size_t count;
    size_t capacity;
};

/* What the running kernel can do. */
struct perf_features {
    bool inherit_thread; /* 5.13: events that follow threads but not children */
    bool read_lost;      /* 6.0: events that tell what they lost */
    bool user_registers; /* wanted, and x86: samples that tell their code segment */
};

/* What to open. */
struct perf_event_request {
    const struct perf_source *source; /* NULL: side band only */
    bool kernel;                      /* hits in kernel mode too */
    bool side_band;
    bool inherit; /* to threads and children made from now on */
    bool threads_only;
    bool on_exec; /* begins by itself at the next exec; else when it is opened */
    uint32_t
        /* unread in the ring of this event when it wakes: 0: half of it */
        wakeup_bytes;
    bool cgroup; /* of all, but while a cgroup's threads run: pid is its descriptor */
};

/* perf_features_probe - find out by trying. selectors: code segments are wanted. */
void perf_features_probe(struct perf_features *features, bool selectors);

/*
 * perf_call_event_open - perf_event_open. Raises the soft limit on descriptors to the
 * hard one when it is reached: a process of many threads needs more than the usual
 * 1024.
 *
 *   pid  a process or thread, -1: all, or with cgroup the directory's descriptor
 *
 * Returns the descriptor, which is owned (descriptor.h), or negative errno; -EBADF if
 * the cgroup has been removed.
 */
int perf_call_event_open(struct perf_event_attr *attr, int pid, int processor,
                         bool cgroup);

/*
 * perf_event_open_fd - the same for what a request asks.
 *
 *   pid        in: thread, 0 for the calling one, -1 for all; or the cgroup's
 *              descriptor
 *   processor  in: or -1 for any
 *
 * Returns the descriptor or negative errno.
 */
int perf_event_open_fd(const struct perf_event_request *request,
                       const struct perf_features *features, int pid, int processor);

/* perf_event_read_counts - what it counted in this period (and lost since it was
 * opened). Reading interrupts the processor where it runs, so no handler of this event
 * from before is still at work afterwards. Zero if it cannot be read. */
void perf_event_read_counts(const struct perf_event *event,
                            const struct perf_features *features,
                            struct perf_counts *counts);

/* perf_event_grows - has it been enabled since this was last asked? An event of a
 * processor, not of a thread, ends when that goes offline, and stays so. */
bool perf_event_grows(struct perf_event *event, const struct perf_features *features);

/* perf_events_add - Returns 0 or -ENOMEM. perf_events_finish - forget the list only. */
int perf_events_add(struct perf_events *events, struct perf_event *event);
void perf_events_finish(struct perf_events *events);

#endif
