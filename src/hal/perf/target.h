/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/target.h - targets: sets of events that measure one process, or all.
 *
 * A watch counts a process, and perhaps its descendants, with some sources on some
 * processors, until the session ends; its events have the side band. A private target
 * has the events of started profiles that no watch counts, of one process or all,
 * without notifications. Watches of all processes are in whole_machine.h.
 */
#ifndef HAL_PERF_TARGET_H
#define HAL_PERF_TARGET_H

#include "hal/perf/perf.h"

struct perf_target {
    /* First: a pointer to a watcher is one to its target. */
    struct perf_watcher watcher;
    struct perf_target *next;
    uint32_t pid; /* 0: all processes */
    int pidfd;    /* of a private target: shows that its process exited; -1: none */
    bool watch;
    bool on_exec;
    struct perf_events events;

    /* Only of watches: what they count. */
    struct perf_source **sources;
    size_t source_count;
    uint64_t *processors; /* set, bit n % 64 of word n / 64 */
    size_t processor_words;
};

/* perf_watch - see HAL_BACKEND.Watch: watch one process. sources: in, those of the
 * request. Returns 0 or negative errno, with the error text set. */
int perf_watch(struct perf *perf, const HAL_WATCH *request,
               struct perf_source *const *sources);

/*
 * perf_watch_create - make the rings, deliver all earlier records, and make a watch
 * without events that is not in the list. Returns 0 or negative errno, with the error
 * text set.
 */
int perf_watch_create(struct perf *perf, const HAL_WATCH *request,
                      struct perf_source *const *sources, struct perf_target **target);

/*
 * perf_attach - read a running process in /proc and report it, unless it is in the
 * table.
 *
 *   time_ns  in: time of the notifications
 *   watcher  in: added to its watchers; may be NULL
 *
 * Returns 0, also if it is in the table; -ESRCH or -ECHILD if it has exited; -EACCES if
 * its mappings cannot be read: then it is reported without them if all processes are
 * watched, else not at all; negative errno.
 */
int perf_attach(struct perf *perf, uint32_t pid, uint64_t time_ns,
                struct perf_watcher *watcher);

/*
 * perf_start, perf_begin, perf_stop - see HAL_TABLE.StartProfileInterrupt. pid 0: all
 * processes.
 *
 * perf_begin opens all events, so that one thread scan (thread_scan.h) serves all
 * processors.
 */
int perf_start(struct perf *perf, struct perf_source *source, uint32_t processor,
               uint32_t pid);
int perf_begin(struct perf *perf, struct perf_source *source, uint32_t pid);
void perf_stop(struct perf *perf, struct perf_source *source, uint32_t processor,
               uint32_t pid);

/* perf_refuse_in_cgroup - set the error text: a session that counts a cgroup cannot
 * count a single process. Returns -EOPNOTSUPP. */
int perf_refuse_in_cgroup(struct perf *perf);

/* perf_target_delete - close its events and free it; it must not be in the list. */
void perf_target_delete(struct perf *perf, struct perf_target *target);

/* perf_target_create - make a target that is not in the list. NULL without memory. */
struct perf_target *perf_target_create(uint32_t pid);

/* perf_target_unlink - remove it from the list. */
void perf_target_unlink(struct perf *perf, const struct perf_target *target);

/* perf_target_close - close its events of a source (NULL: of any) on a processor. Hits
 * up to until_ns count. */
void perf_target_close(struct perf *perf, struct perf_target *target,
                       const struct perf_source *source, uint32_t processor,
                       uint64_t until_ns);

/* perf_target_give_over - close the target's events that a watch counts now, where all
 * of the watch's are open, and delete a private target that is left without events. */
void perf_target_give_over(struct perf *perf, struct perf_target *target,
                           const struct perf_target *watch, uint64_t until_ns);

/* perf_target_drop_if_empty - delete a private target without events. */
void perf_target_drop_if_empty(struct perf *perf, struct perf_target *target);

/* perf_target_has_source - does the watch count this source? */
bool perf_target_has_source(const struct perf_target *target,
                            const struct perf_source *source);

/* perf_find_private - return the private target of a process, or NULL. */
struct perf_target *perf_find_private(const struct perf *perf, uint32_t pid);

/* perf_watch_covers - does this watch count this source on this processor? */
bool perf_watch_covers(const struct perf_target *target,
                       const struct perf_source *source, uint32_t processor);

/* perf_target_has_event - does it have an event of this source on this processor
 * (UINT32_MAX: on any)? */
bool perf_target_has_event(const struct perf_target *target,
                           const struct perf_source *source, uint32_t processor);

/* perf_is_covered - does a watch count this source for this process on this processor?
 * With pid 0: does a watch of all processes count it there? */
bool perf_is_covered(const struct perf *perf, const struct perf_source *source,
                     uint32_t processor, uint32_t pid);

/* perf_set_holds - is number in the set? False beyond its end. */
bool perf_set_holds(const uint64_t *set, size_t words, uint32_t number);

/*
 * perf_event_close - close an event. It is freed when its records have been delivered.
 *
 *   until_ns  in: later hits do not count
 *   count     in: add what it counted to the statistics
 */
void perf_event_close(struct perf *perf, struct perf_event *event, uint64_t until_ns,
                      bool count);

/* perf_reap_closed - free events that were closed at or before bound_ns, up to which
 * all records have been delivered. */
void perf_reap_closed(struct perf *perf, uint64_t bound_ns);

#endif
