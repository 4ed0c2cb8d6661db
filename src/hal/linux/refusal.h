/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/refusal.h - why the kernel refused, in words: which setting, and what would
 * help.
 */
#ifndef HAL_LINUX_REFUSAL_H
#define HAL_LINUX_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was asked of perf_event_open. */
enum perf_scope {
    PERF_SCOPE_SELF,    /* the caller's own process */
    PERF_SCOPE_PROCESS, /* another process */
    PERF_SCOPE_ALL,     /* a processor, whoever runs there */
    PERF_SCOPE_KERNEL,  /* kernel mode */
    PERF_SCOPE_RING     /* memory for a ring */
};

/*
 * perf_refusal_explain - say why a call failed.
 *
 *   error   in: negative errno
 *   reason  out: a clause, such as "kernel.perf_event_paranoid is 3 and ..."
 *   remedy  out: what would help, as an order; "" if nothing would
 */
void perf_refusal_explain(int error, enum perf_scope scope, char *reason,
                          size_t reason_bytes, char *remedy, size_t remedy_bytes);

/* perf_refusal_can_monitor - has the caller CAP_PERFMON or CAP_SYS_ADMIN? */
bool perf_refusal_can_monitor(void);

/* perf_refusal_holds - has it a capability (a number of <linux/capability.h>), or
 * CAP_SYS_ADMIN, in whatever user namespace? */
bool perf_refusal_holds(unsigned capability);

/* perf_refusal_is_first_namespace - is its user namespace the one that capabilities
 * count in? */
bool perf_refusal_is_first_namespace(void);

/* perf_refusal_is_filtered - does a seccomp filter look at its system calls? */
bool perf_refusal_is_filtered(void);

#endif
