/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/target.h - who is measured: sets of events.
 *
 * A watch covers a process, and perhaps its descendants, with some sources on some processors, until
 * the session ends; its events carry the side band. A private target is what a started profile
 * needs beyond that: one process, or all of them, without notifications.
 */
#ifndef HAL_PERF_TARGET_H
#define HAL_PERF_TARGET_H

#include "hal/perf/perf.h"

struct perf_target {
    struct perf_cover cover; /* first: a cover in the space is its target */
    struct perf_target *next;
    uint32_t pid; /* 0: all processes */
    int pidfd;    /* private targets: tells a reused pid; -1: none */
    bool watch;
    bool on_exec;
    struct perf_events events;
    /* Threads that showed while events were being opened: they have events of their own, and may
     * have inherited others too. Values point at the target; NULL once settled. */
    struct perf_idmap suspects;

    /* Watches: what they cover. */
    struct perf_source **sources;
    size_t source_count;
    uint64_t *processors; /* set, bit n % 64 of word n / 64 */
    size_t processor_words;
};

/* What to open for each thread. */
struct perf_selection {
    struct perf_source *const *sources;
    size_t source_count;
    const uint64_t *processors; /* set; NULL: the one processor */
    size_t processor_words;
    uint32_t processor;
    bool side_band;    /* on all processors */
    bool skip_covered; /* leave out what watches of the process count already */
};

/* perf_watch - see HAL_BACKEND.Watch. Returns 0 or negative errno, error kept. */
int perf_watch(struct perf *perf, uint32_t pid, bool descendants, bool on_exec,
               struct perf_source *const *sources, size_t source_count,
               const uint64_t *processors, size_t processor_words);

/* perf_start, perf_stop - see HAL_TABLE.StartProfileInterrupt. pid 0: all processes. */
int perf_start(struct perf *perf, struct perf_source *source, uint32_t processor,
               uint32_t pid);
void perf_stop(struct perf *perf, struct perf_source *source, uint32_t processor,
               uint32_t pid);

/* perf_target_reopen - go on with the source's present interval, in all threads and descendants. */
void perf_target_reopen(struct perf *perf, struct perf_target *target,
                        struct perf_source *source);

/* perf_target_settle_suspect - a hit shows that a thread inherited: its own events go. */
void perf_target_settle_suspect(struct perf *perf, struct perf_target *target,
                                uint32_t tid, uint64_t time_ns);

/* perf_target_delete - close its events; it must not be in the list any more. */
void perf_target_delete(struct perf *perf, struct perf_target *target);

/* perf_reap_closed - free events closed before everything up to bound_ns was delivered. */
void perf_reap_closed(struct perf *perf, uint64_t bound_ns);

#endif
