/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/context.h - the part of a session's state that back ends perf and bpf
 * share: sources, rights, and why the last call failed. Functions with a void *context
 * are members of HAL_TABLE and HAL_BACKEND. Negative errno become NTSTATUS here.
 */
#ifndef HAL_LINUX_CONTEXT_H
#define HAL_LINUX_CONTEXT_H

#include "hal/backend.h"
#include "hal/linux/breakpoint.h"
#include "hal/linux/refusal.h"
#include "hal/linux/source.h"

/* The first member of struct perf and of struct bpf. */
struct perf_context {
    struct perf_sources sources;
    struct perf_breakpoints breakpoints;
    enum perf_scope scope;   /* PERF_SCOPE_SELF or _ALL: how sources are tried */
    bool kernel;             /* hits in kernel mode are wanted and allowed */
    char kernel_reason[128]; /* why kernel is false */
    int cgroup_fd;           /* only hits in this cgroup count; -1: all */
    char error[768];         /* why the last call failed */
};

/*
 * perf_context_init - make the sources, and find out whether hits in kernel mode may be
 * counted.
 *
 *   scope      in: sources are tried with an event of the calling thread
 *              (PERF_SCOPE_SELF), or of all processes on a processor (PERF_SCOPE_ALL)
 *   user_only  in: kernel mode is not wanted
 *
 * Returns 0, also if kernel mode is refused; negative errno if descriptors or memory
 * ran out.
 */
int perf_context_init(struct perf_context *context, enum perf_scope scope,
                      bool user_only);
void perf_context_finish(struct perf_context *context);

/* perf_context_fail - set the text of a failure. Returns error. */
int perf_context_fail(struct perf_context *context, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* perf_context_refuse - set the text of a refusal of perf_event_open: "cannot WHAT:
 * reason; remedy", where WHAT is the format's. Returns error. */
int perf_context_refuse(struct perf_context *context, int error, enum perf_scope scope,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* perf_context_require - can the caller use a source? The first call finds out by
 * opening an event. Returns 0; or with the error text set -EOPNOTSUPP, or another
 * negative errno if descriptors or memory ran out. */
int perf_context_require(struct perf_context *context, struct perf_source *source);

/* perf_context_find - clear the error text, and return the source with this number; the
 * first call finds out whether the caller can use it. NULL, with the error text set: no
 * source has this number. */
struct perf_source *perf_context_find(struct perf_context *context,
                                      KPROFILE_SOURCE number);

/* perf_context_statistics - fill in the statistics of a source. open: in, what its open
 * events have counted. taken: in, hits delivered. */
void perf_context_statistics(const struct perf_source *source,
                             const struct perf_counts *open, uint64_t taken,
                             HAL_SOURCE_STATISTICS *answer);

/* Members of HAL_TABLE and HAL_BACKEND. */
void perf_context_query_source(void *context, KPROFILE_SOURCE number,
                               HAL_SOURCE *information);
NTSTATUS perf_context_lookup_source(void *context, const char *text,
                                    KPROFILE_SOURCE *number);
NTSTATUS perf_context_next_source(void *context, ULONG index, KPROFILE_SOURCE *number);
const char *perf_context_error(void *context);
void perf_context_clear_error(void *context);

/* perf_status_of - convert 0 or negative errno to NTSTATUS. */
NTSTATUS perf_status_of(int result);

/* perf_status_of_open - convert the result of a call that opens events of a process.
 * With pid 0 they are of all processes: then a denial is STATUS_PRIVILEGE_NOT_HELD. */
NTSTATUS perf_status_of_open(int result, ULONG64 pid);

#endif
