/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/refusal.h - explains refusals of the kernel: which setting or right, and
 * what would help.
 */
#ifndef HAL_LINUX_REFUSAL_H
#define HAL_LINUX_REFUSAL_H

#include "hal/backend.h"

#include <stdbool.h>
#include <stdint.h>

/* What perf_event_open was called for. */
enum perf_scope {
    PERF_SCOPE_SELF,    /* the caller's own process */
    PERF_SCOPE_PROCESS, /* another process */
    PERF_SCOPE_ALL,     /* all processes on a processor */
    PERF_SCOPE_KERNEL,  /* kernel mode */
    PERF_SCOPE_RING     /* memory for a ring */
};

/* perf_refusal - why a call failed, and what would help. */
struct perf_refusal {
    int error;        /* negative errno */
    uint32_t cause;   /* NTPROF_CAUSE_... */
    char reason[256]; /* a clause, such as "kernel.perf_event_paranoid is 3 and ..." */
    char remedy[256]; /* what to do about it, in the imperative; "" if nothing helps */
    char log[256];    /* the last line of BPF's verifier; "" if it did not refuse */
};

/* perf_refusal_set - set all but error and log. */
void perf_refusal_set(struct perf_refusal *refusal, uint32_t cause, const char *reason,
                      const char *remedy);

/* perf_refusal_explain - explain why perf_event_open, or mmap for a ring, failed. */
void perf_refusal_explain(int error, enum perf_scope scope,
                          struct perf_refusal *refusal);

/* perf_refusal_probed - copy error, cause, reason and remedy into a probe's result. */
void perf_refusal_probed(const struct perf_refusal *refusal, HAL_PROBE *probed);

/* perf_refusal_can_monitor - does the caller hold CAP_PERFMON or CAP_SYS_ADMIN in the
 * first user namespace? */
bool perf_refusal_can_monitor(void);

/* perf_refusal_holds - does the caller hold a capability (a number of
 * <linux/capability.h>), or CAP_SYS_ADMIN, in its user namespace? */
bool perf_refusal_holds(unsigned capability);

/* perf_refusal_is_first_namespace - is the caller in the first user namespace, where
 * the kernel checks capabilities for perf events? */
bool perf_refusal_is_first_namespace(void);

/* perf_refusal_is_filtered - does the caller run under a seccomp filter? */
bool perf_refusal_is_filtered(void);

#endif
