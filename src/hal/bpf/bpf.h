/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/bpf.h - one session's counting back end: events, and the program that counts
 * their hits in profile objects. It watches no process: see docs/performance.md for
 * what that would cost and gain.
 *
 * Invariants:
 *   - a source that somebody needs on a processor has one event there, for all
 *     processes, whose hits run the program; the program finds out whose they are;
 *   - a process with profiles is in the table, and its end is waited for (where
 *     descriptors last);
 *   - nothing that sources run for makes bpf() calls but for more memory.
 *
 * All calls are serialised by the caller.
 */
#ifndef HAL_BPF_BPF_H
#define HAL_BPF_BPF_H

#include "hal/bpf/index.h"
#include "hal/linux/firing.h"
#include "hal/linux/idmap.h"
#include "hal/linux/statistics.h"

#include <ntprof/hal.h>

/* One source on one processor. */
struct bpf_event {
    int fd; /* -1: not open */
    int link;
    uint64_t users;          /* starts that were not stopped */
    struct perf_counts base; /* counts at the beginning of the period */
    uint64_t enabled_ns;     /* when it was last looked at */
};

/* A source that was started at least once. Its place is the slot of its statistics. */
struct bpf_slot {
    struct perf_source *source;
    struct bpf_event *events;     /* by processor */
    struct perf_counts last_read; /* by bpf_query_hits */
};

typedef void bpf_ended(void *context, uint32_t pid);

struct bpf {
    bpf_ended *ended; /* a process ended, or runs a new program */
    void *ended_context;
    bool kernel_included;
    char kernel_reason[128]; /* why not */
    int cgroup_fd;           /* hits of what runs in this cgroup alone; -1: of all */
    struct bpf_kernel kernel;
    struct bpf_index index;
    struct perf_sources sources;
    struct perf_firing firing;
    /* with a cgroup, by processor: of all processes, count time alone */
    struct bpf_event *witnesses;
    struct bpf_slot slots[BPF_SLOTS];
    uint32_t slot_count;
    uint64_t open_events;
    bool frozen; /* no event runs any more */
    int exec_link;
    int exit_link;
    int epoll_fd;
    struct perf_idmap watched; /* pid to its pidfd and one more */
    uint64_t ends_seen;
    bool noticing;
    char error[768]; /* why the last call failed */
};

/* bpf_create - user_only: never hits in kernel mode. Returns 0 or negative errno with
 * the refusal. bpf_delete takes NULL. */
int bpf_create(bpf_call *call, bool user_only, struct bpf **bpf,
               struct bpf_refusal *refusal);
void bpf_delete(struct bpf *bpf);

/* bpf_fail - keep why a call failed. Returns error. */
int bpf_fail(struct bpf *bpf, int error, enum bpf_stage stage, const char *what);

/* bpf_prepare - a place for a process; ends are noticed from now on. Returns 0 or
 * negative errno. */
int bpf_prepare(struct bpf *bpf, uint32_t pid);

/* bpf_publish - the roots of a process; all 0: it has nothing any more. */
void bpf_publish(struct bpf *bpf, uint32_t pid, const ULONG roots[KI_TREES]);

/* bpf_notice - tell of processes that ended or run new programs. */
void bpf_notice(struct bpf *bpf);

/* event.c */

/* bpf_probe_source - find out whether the kernel has it for all processes. */
void bpf_probe_source(struct bpf *bpf, struct perf_source *source);

/* bpf_try_attach - can an event of the source run the program? Nothing is left. Returns
 * 0 or negative errno with the refusal. */
int bpf_try_attach(const struct bpf *bpf, const struct perf_source *source,
                   struct bpf_refusal *refusal);

/* bpf_start, bpf_stop - see HAL_TABLE.StartProfileInterrupt; process or all makes no
 * difference. */
int bpf_start(struct bpf *bpf, struct perf_source *source, uint32_t processor);
void bpf_stop(struct bpf *bpf, const struct perf_source *source, uint32_t processor);

/* bpf_set_interval - clamp, keep, and have all running events go on with it. */
void bpf_set_interval(struct bpf *bpf, struct perf_source *source, uint64_t interval);

/* bpf_renew - open again what stopped because its processor went away, if it has come
 * back. Once a second: an event that did not run since the last time is one that
 * stopped; one of a cgroup stands still while nothing of that runs, too, so there the
 * processor's witness tells. */
void bpf_renew(struct bpf *bpf);

/* bpf_freeze - stop all events for good; when it returns, no hit is handled any more.
 * What they counted stays. */
void bpf_freeze(struct bpf *bpf);

/* bpf_query_hits - hits of a source so far. What its events count is read before, so
 * that what they make expected has been taken. */
void bpf_query_hits(struct bpf *bpf, const struct perf_source *source,
                    uint64_t *counted, uint64_t *outside);

/* bpf_find_slot - the source's slot; bpf->slot_count if it has none. */
uint32_t bpf_find_slot(const struct bpf *bpf, const struct perf_source *source);

/* bpf_settle - the statistics, as of the last bpf_query_hits. */
void bpf_settle(const struct bpf *bpf, const struct perf_source *source, uint64_t taken,
                struct perf_statistics *statistics);

#endif
