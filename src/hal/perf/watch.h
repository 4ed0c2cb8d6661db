/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/watch.h - watches of single processes, and what all watches share: making
 * them, and reporting processes that are already running.
 *
 * The states of a watch, which is a target (target.h):
 *
 *     perf_watch_create        perf_open, perf_target_link
 *   ----------------> without events --------------------> before its exec
 *                               |                                |  the COMM record of
 *                               '---------------------------.    |  the exec
 *                                 without on_exec; all      v    v
 *                                                          counting ----> closed with
 *                                                                         the session
 *
 *   before its exec  its events are open and disabled, and on_exec is set; its process
 *                    is in the table only if another watch has it there
 *   counting         its process, unless it watches all, was in the table; on_exec is
 *                    not set
 *
 * A watch is refused while profiles that were started before it count a process that it
 * may count too, with the same source: their hits would count twice.
 */
#ifndef HAL_PERF_WATCH_H
#define HAL_PERF_WATCH_H

#include "hal/perf/target.h"

/*
 * perf_watch - see HAL_BACKEND.Watch: watch one process. All records from before must
 * have been delivered: the table must have the process that has the pid now, not an
 * exited one. Returns 0 or negative errno, with the error text set.
 */
int perf_watch(struct perf *perf, const HAL_WATCH *request);

/* perf_watch_create - make the rings, and a watch without events that is not in the
 * list. Returns 0 or negative errno, with the error text set: -EOPNOTSUPP if a source
 * is missing. */
int perf_watch_create(struct perf *perf, const HAL_WATCH *request,
                      struct perf_target **target);

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

/* perf_attach_found - do the same for a process found in /proc: one that cannot be read
 * is counted in unread, and tried again if memory ran out. */
void perf_attach_found(struct perf *perf, uint32_t pid, uint64_t time_ns,
                       struct perf_watcher *watcher);

#endif
