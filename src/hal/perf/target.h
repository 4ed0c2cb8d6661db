/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/target.h - who is measured: sets of events.
 *
 * A watch counts a process, and perhaps its descendants, with some sources on some
 * processors, until the session ends; its events carry the side band. A private target
 * is what a started profile needs beyond that: one process, or all of them, without
 * notifications. A watch of all processes is in whole_machine.h.
 */
#ifndef HAL_PERF_TARGET_H
#define HAL_PERF_TARGET_H

#include "hal/perf/perf.h"

struct perf_target {
    struct perf_watcher
        watcher; /* first: a watcher in the process table is its target */
    struct perf_target *next;
    uint32_t pid; /* 0: all processes */
    int pidfd;    /* private targets: tells a reused pid; -1: none */
    bool watch;
    bool on_exec;
    struct perf_events events;

    /* Watches: what they count. */
    struct perf_source **sources;
    size_t source_count;
    uint64_t *processors; /* set, bit n % 64 of word n / 64 */
    size_t processor_words;
};

/* perf_watch - see HAL_BACKEND.Watch. Returns 0 or negative errno, error kept. */
int perf_watch(struct perf *perf, uint32_t pid, bool descendants, bool on_exec,
               struct perf_source *const *sources, size_t source_count,
               const uint64_t *processors, size_t processor_words);

/*
 * perf_watch_create - a watch that has no events yet and is not in the list, with rings
 * made and all that happened before delivered. Returns 0 or negative errno, error kept.
 */
int perf_watch_create(struct perf *perf, uint32_t pid,
                      struct perf_source *const *sources, size_t source_count,
                      const uint64_t *processors, size_t processor_words,
                      struct perf_target **target);

/*
 * perf_attach - read a process that runs and tell of it, unless it is known.
 *
 *   time_ns  in: of what is told
 *   watcher    in: what watches it; may be NULL
 *
 * Returns 0, also if it is known; -ESRCH or -ECHILD if it has ended; -EACCES if its
 * mappings cannot be read: then it is told without them if all processes are watched,
 * else not; negative errno.
 */
int perf_attach(struct perf *perf, uint32_t pid, uint64_t time_ns,
                struct perf_watcher *watcher);

/*
 * perf_start, perf_begin, perf_stop - see HAL_TABLE.StartProfileInterrupt. pid 0: all
 * processes.
 *
 * All events are opened by perf_begin, so that one wait for threads (thread_scan.h)
 * serves all processors.
 */
int perf_start(struct perf *perf, struct perf_source *source, uint32_t processor,
               uint32_t pid);
int perf_begin(struct perf *perf, struct perf_source *source, uint32_t pid);
void perf_stop(struct perf *perf, struct perf_source *source, uint32_t processor,
               uint32_t pid);

/* perf_refuse_in_cgroup - keep that one process cannot be counted by itself in a
 * session that counts a cgroup. Returns -EOPNOTSUPP. */
int perf_refuse_in_cgroup(struct perf *perf);

/* perf_target_delete - close its events; it must not be in the list any more. */
void perf_target_delete(struct perf *perf, struct perf_target *target);

/* perf_target_create - not in the list yet. NULL without memory. */
struct perf_target *perf_target_create(uint32_t pid);

/* perf_target_unlink - take it out of the list. */
void perf_target_unlink(struct perf *perf, const struct perf_target *target);

/* perf_target_close - close its events of a source on a processor; hits up to until_ns
 * count. */
void perf_target_close(struct perf *perf, struct perf_target *target,
                       const struct perf_source *source, uint32_t processor,
                       uint64_t until_ns);

/* perf_target_drop_if_empty - forget a private target without events. */
void perf_target_drop_if_empty(struct perf *perf, struct perf_target *target);

/* perf_target_has_source - does the watch count this source? */
bool perf_target_has_source(const struct perf_target *target,
                            const struct perf_source *source);

/* perf_find_private - the private target of a process, or NULL. */
struct perf_target *perf_find_private(const struct perf *perf, uint32_t pid);

/* perf_watch_covers - does this watch count this source on this processor? */
bool perf_watch_covers(const struct perf_target *target,
                       const struct perf_source *source, uint32_t processor);

/* perf_target_has_event - has it one that counts this source on this processor? */
bool perf_target_has_event(const struct perf_target *target,
                           const struct perf_source *source, uint32_t processor);

/* perf_is_covered - does a watch count this source for this process on this processor?
 * pid 0: does one of all processes? */
bool perf_is_covered(const struct perf *perf, const struct perf_source *source,
                     uint32_t processor, uint32_t pid);

/* perf_set_holds - bit number % 64 of word number / 64; words beyond the set are 0. */
bool perf_set_holds(const uint64_t *set, size_t words, uint32_t number);

/*
 * perf_event_close - close an event and keep it until its records are gone from the
 * rings.
 *
 *   until_ns  in: hits after it are not its own
 *   count     in: what it counted goes into the statistics
 */
void perf_event_close(struct perf *perf, struct perf_event *event, uint64_t until_ns,
                      bool count);

/* perf_reap_closed - free events closed before everything up to bound_ns was
 * delivered. */
void perf_reap_closed(struct perf *perf, uint64_t bound_ns);

#endif
