/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/thread_scan.h - finds all threads of running processes while events are
 * opened on them.
 *
 * Terms:
 *   round    list the threads of each process, hand out those that are new, wait
 *   quiet    a round whose listings were proven whole (procfs.c) and showed nothing new
 *
 * What a thread inherits is settled early in its creator's clone(), and /proc shows the
 * thread at the end of that call. So a thread that is inside clone() while events are
 * opened on it makes one that has only some of them, and that no listing before shows.
 * Nothing tells whether a thread is inside clone(). But one that sleeps is not, nor one
 * that has run for half a millisecond since: each round ends with waiting for that.
 */
#ifndef HAL_PERF_THREAD_SCAN_H
#define HAL_PERF_THREAD_SCAN_H

#include "hal/linux/event.h"
#include "hal/linux/idmap.h"
#include "hal/linux/procfs.h"

/* Begin with all zero and the processes in pids. */
struct perf_thread_scan {
    struct perf_tids pids; /* processes to scan; grows when children are followed */
    bool follow;           /* scan children too */
    /* Threads that were handed out, and main threads that have exited. */
    struct perf_idmap done;
    struct perf_running_thread {
        uint32_t pid;
        uint32_t tid;
        int fd;  /* an event of its own, which tells for how long it has run */
    } * running; /* opened in this round, and perhaps inside clone() */
    size_t running_count;
    size_t running_capacity;
    uint64_t deadline_ns; /* when waiting ends */
    bool incomplete;      /* in this round threads may be missing */
};

/*
 * What is to be done with a new thread.
 *
 *   late  in: it was listed when others had been handed out already
 *
 * Returns 0; -ESRCH if it has exited; or negative errno, which ends the scan.
 */
typedef int perf_thread_found(void *context, uint32_t tid, bool late);

/*
 * perf_thread_scan_round - one round.
 *
 *   first  in: no thread has been handed out yet
 *
 * Returns how many new threads there were, exited ones too, or negative errno. It waits
 * until deadline_ns at most.
 */
int perf_thread_scan_round(struct perf_thread_scan *scan,
                           const struct perf_features *features, bool first,
                           perf_thread_found *found, void *context);

/* perf_thread_scan_reset - hand all threads out again; the processes stay. */
void perf_thread_scan_reset(struct perf_thread_scan *scan);

/* perf_thread_scan_finish - free all. */
void perf_thread_scan_finish(struct perf_thread_scan *scan);

#endif
