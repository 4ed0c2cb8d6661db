/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/thread_scan.h - finds all threads of running processes while events are
 * opened on them.
 *
 * A round lists the threads of each process, passes the new ones to the caller, and
 * waits. The caller does rounds until one had complete listings and no new thread.
 *
 * Early in clone() the kernel decides which events the new thread inherits, and only at
 * the end of clone() does /proc show it. So if events are opened on a thread inside
 * clone(), its new thread may lack some of them, and the listing does not show it yet.
 * The kernel does not report whether a thread is inside clone(). But a sleeping thread
 * is not, nor one that has run for half a millisecond since its events were opened:
 * each round waits until one or the other is true of each thread.
 */
#ifndef HAL_PERF_THREAD_SCAN_H
#define HAL_PERF_THREAD_SCAN_H

#include "hal/linux/event.h"
#include "hal/linux/idmap.h"
#include "hal/linux/procfs.h"

/* All zero to start with, except pause and the processes in pids. */
struct perf_thread_scan {
    void (*pause)(void *context, ULONG64 wait_ns); /* HAL_OPEN.Pause */
    void *pause_context;
    struct perf_tids pids; /* processes to scan; grows when children are followed */
    bool follow;           /* scan children too */
    /* By tid: threads that were passed to the caller. The values mean nothing. */
    struct perf_idmap done;
    struct perf_running_thread {
        uint32_t pid;
        uint32_t tid;
        int fd;  /* an event that measures how long it has run; negative: none */
    } * running; /* threads of this round that may be inside clone() */
    size_t running_count;
    uint64_t deadline_ns; /* when waiting ends */
    bool incomplete;      /* in this round threads may be missing */
};

/*
 * Called for each new thread.
 *
 *   late  in: other threads were passed before this one was listed
 *
 * Returns 0; -ESRCH if it has exited; or negative errno, which ends the scan.
 */
typedef int perf_thread_found(void *context, uint32_t tid, bool late);

/*
 * perf_thread_scan_round - do one round.
 *
 *   first  in: no thread has been passed yet
 *
 * Returns how many new threads there were, exited ones too, or negative errno. It waits
 * until deadline_ns at most.
 */
int perf_thread_scan_round(struct perf_thread_scan *scan,
                           const struct perf_features *features, bool first,
                           perf_thread_found *found, void *context);

/* perf_thread_scan_reset - forget the threads: the next round finds all again. */
void perf_thread_scan_reset(struct perf_thread_scan *scan);

/* perf_thread_scan_finish - free all memory and close all events. */
void perf_thread_scan_finish(struct perf_thread_scan *scan);

#endif
