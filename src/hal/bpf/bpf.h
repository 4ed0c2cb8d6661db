/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/bpf.h - one session's counting back end: events, and the program that counts
 * their hits in profile objects. It watches no process: docs/performance.md has what
 * that would cost and gain.
 *
 * Invariants:
 *   - a source has one event on each processor where it is started, for all processes;
 *     its hits run the program, which finds out whose they are;
 *   - a process with profiles is in the table, and the session is notified of its end
 *     (unless there were no descriptors left for that);
 *   - nothing that starts or stops profiles makes bpf() calls, except for more memory.
 *
 * All calls are serialised by the caller.
 */
#ifndef HAL_BPF_BPF_H
#define HAL_BPF_BPF_H

#include "hal/bpf/index.h"
#include "hal/linux/context.h"
#include "hal/linux/event.h"

#include <ntprof/hal.h>
#include <ntprof/notification.h>

/* One source on one processor. */
struct bpf_event {
    struct perf_event event; /* fd -1: not open */
    int link;                /* of the program to the event */
    uint64_t users;          /* starts that were not stopped */
    bool unopened;           /* its processor is online, and it could not be opened */
};

/* A source that was started at least once. It keeps its slot, whose index is also that
 * of its statistics (struct bpf_processor). */
struct bpf_slot {
    struct perf_source *source;
    struct bpf_event *events;     /* by processor */
    struct perf_counts last_read; /* by bpf_query_hits */
    uint64_t outside_kernel;      /* at the same time */
};

struct bpf {
    struct perf_context context;
    struct _KE_SYSTEM *ke;
    void (*notify)(void *context, const ntprof_notification *notification);
    void *notify_context;
    struct bpf_kernel kernel;
    struct bpf_index index;
    /* By processor: counts nothing but time, and so shows whether the processor was
     * offline. Open where an event was opened; fd -1: not open. */
    struct perf_event *heartbeats;
    struct bpf_slot slots[BPF_SLOTS];
    uint32_t slot_count;
    uint64_t started_events; /* with users; open unless their processor is offline */
    uint64_t renewed_ns;     /* time of the last bpf_renew */
    uint64_t unread;         /* events that became unopened */
    bool frozen;             /* no event runs any more */
    int links[2];            /* of the programs for execs and exits */
    bool noticing;           /* in bpf_notice, whose notifications may call it again */
    bool halt_reported;      /* to the core */
};

/*
 * bpf_create - make the state of a session, with all that it needs of the kernel.
 *
 *   call       in: bpf_call_kernel, or a test's
 *   user_only  in: never hits in kernel mode
 *   refusal    out: on failure
 *
 * Returns 0 or negative errno; then nothing is left. bpf_delete undoes it; context:
 * struct bpf, or NULL.
 */
int bpf_create(bpf_call *call, bool user_only, struct bpf **bpf,
               struct perf_refusal *refusal);
void bpf_delete(void *context);

/* bpf_fail - set the text of a failure, "cannot count WHAT: ...". Returns error. */
int bpf_fail(struct bpf *bpf, int error, enum bpf_stage stage, const char *what);

/* bpf_prepare - add a process to the table, and watch for its exit. Returns 0 or
 * negative errno. */
int bpf_prepare(struct bpf *bpf, uint32_t pid);

/* bpf_publish - give the programs the roots of a process's trees (ke/index.h). With all
 * roots 0 it has no profiles, and its entry may be reused. */
void bpf_publish(struct bpf *bpf, uint32_t pid, const ULONG roots[KI_TREES]);

/* bpf_notice - report processes that exited or executed a new program. */
void bpf_notice(struct bpf *bpf);

/* event.c */

/* bpf_try_attach - find out whether an event of the clock, which each machine has, can
 * run the program. Returns 0 or negative errno with the refusal. */
int bpf_try_attach(const struct bpf *bpf, struct perf_refusal *refusal);

/* bpf_start, bpf_stop - see HAL_TABLE.StartProfileInterrupt and StopProfileInterrupt;
 * always for all processes. bpf_start returns 0 or negative errno, with the error text
 * set. */
int bpf_start(struct bpf *bpf, struct perf_source *source, uint32_t processor);
void bpf_stop(struct bpf *bpf, const struct perf_source *source, uint32_t processor);

/* bpf_set_interval - clamp the interval and store it; running events go on with it. */
void bpf_set_interval(struct bpf *bpf, struct perf_source *source, uint64_t interval);

/* bpf_renew - open events again on processors that were offline, where the kernel has
 * stopped them for good. */
void bpf_renew(struct bpf *bpf);

/* bpf_freeze - stop all events for good; when it returns, no hit is handled any more.
 * What they counted stays. context: struct bpf. */
void bpf_freeze(void *context);

/* bpf_query_hits - get the hits of a source so far. Its events are read first, so that
 * every hit that they make expected has been counted. */
void bpf_query_hits(struct bpf *bpf, const struct perf_source *source,
                    uint64_t *counted, uint64_t *outside);

/* bpf_open_counts - return what the source's open events had counted at the last
 * bpf_query_hits. */
struct perf_counts bpf_open_counts(const struct bpf *bpf,
                                   const struct perf_source *source);

/* bpf_outside_kernel - return how many of the hits outside, as of the last
 * bpf_query_hits, were in kernel mode. */
uint64_t bpf_outside_kernel(const struct bpf *bpf, const struct perf_source *source);

#endif
