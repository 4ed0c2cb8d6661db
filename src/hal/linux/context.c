/* SPDX-License-Identifier: MIT */
/* hal/linux/context.c - sources, rights and errors of a back end, and NTSTATUS. */
#include "hal/linux/context.h"

#include "hal/linux/event.h"
#include "hal/linux/procfs.h"

#include <errno.h>
#include <ntprof/session.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The kernel's ENOTSUPP, which errno.h lacks: the instruction cannot be
 * single-stepped. */
enum { UPROBE_UNSUPPORTED = 524 };

/* ---- results ---- */

NTSTATUS
perf_status_of(int result)
{
    switch (-result) {
    case 0:
        return STATUS_SUCCESS;
    case EACCES:
    case EPERM:
        return STATUS_ACCESS_DENIED;
    case ESRCH:
        return STATUS_PROCESS_IS_TERMINATING;
    case ENOMEM:
    case ENOBUFS:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
    case EBUSY:
    case EAGAIN:
        return STATUS_INSUFFICIENT_RESOURCES;
    default:
        return STATUS_NOT_SUPPORTED;
    }
}

NTSTATUS
perf_status_of_open(int result, ULONG64 pid)
{
    return pid == 0 && (result == -EACCES || result == -EPERM)
               ? STATUS_PRIVILEGE_NOT_HELD
               : perf_status_of(result);
}

int
perf_context_fail(struct perf_context *context, int error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(context->error, sizeof(context->error), format, arguments);
    va_end(arguments);
    return error;
}

int
perf_context_refuse(struct perf_context *context, int error, enum perf_scope scope,
                    const char *format, ...)
{
    char what[192];
    struct perf_refusal refusal;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    perf_refusal_explain(error, scope, &refusal);
    return perf_context_fail(context, error, "cannot %s: %s%s%s", what, refusal.reason,
                             refusal.remedy[0] != 0 ? "; " : "", refusal.remedy);
}

const char *
perf_context_error(void *context)
{
    return ((const struct perf_context *)context)->error;
}

void
perf_context_clear_error(void *context)
{
    ((struct perf_context *)context)->error[0] = 0;
}

/* ---- open and close ---- */

int
perf_context_init(struct perf_context *context, enum perf_scope scope, bool user_only)
{
    const long rate = perf_procfs_setting("kernel/perf_event_max_sample_rate", 100000);
    struct perf_refusal refusal;
    int result;

    *context = (struct perf_context){.scope = scope, .cgroup_fd = -1};
    result = perf_sources_init(&context->sources, rate);
    if (result < 0) {
        return result;
    }
    result = perf_event_try(perf_sources_find(&context->sources, ProfileTime),
                            !user_only, scope == PERF_SCOPE_ALL);
    context->kernel = result == 0 && !user_only;
    if (user_only) {
        snprintf(context->kernel_reason, sizeof(context->kernel_reason),
                 "the session is for user mode only");
    } else if (result < 0) {
        perf_refusal_explain(result, PERF_SCOPE_KERNEL, &refusal);
        snprintf(context->kernel_reason, sizeof(context->kernel_reason), "%.127s",
                 refusal.reason);
    }
    if (perf_is_shortage(result)) { /* descriptors or memory ran out */
        perf_context_finish(context);
        return result;
    }
    return 0;
}

void
perf_context_finish(struct perf_context *context)
{
    perf_sources_finish(&context->sources);
}

/* ---- sources ---- */

/* Try a uprobe, and set the reason if it cannot be made or placed. */
static void
probe_uprobe(const struct perf_context *context, struct perf_source *source)
{
    int result;

    if (context->scope == PERF_SCOPE_ALL) { /* back end bpf */
        snprintf(source->reason, sizeof(source->reason),
                 "this back end counts no uprobes: back end perf does");
        return;
    }
    source->reason[0] = 0;
    result = perf_uprobe_make(source->uprobe, &source->config, source->reason,
                              sizeof(source->reason));
    if (result == 0) {
        result = perf_event_try(source, /* kernel */ false, /* all */ false);
        perf_uprobe_tried(source->uprobe, result == 0);
        if (result < 0) {
            snprintf(source->reason, sizeof(source->reason),
                     "the kernel refuses a uprobe at this offset (does an instruction "
                     "start there?): %s",
                     result == -UPROBE_UNSUPPORTED ? "not supported"
                                                   : strerror(-result));
        }
    }
    (void)perf_source_answer(source, result);
    source->shortage = perf_is_shortage(result) ? result : 0;
    if (source->shortage < 0) {
        source->reason[0] = 0; /* the next try may succeed: no reason that lasts */
    }
}

/* Find out whether the caller can use a source, unless that is known. */
static void
probe_source(struct perf_context *context, struct perf_source *source)
{
    const bool all = context->scope == PERF_SCOPE_ALL;
    struct perf_refusal refusal;
    int result = 0;

    if (source->probed) {
        return;
    }
    source->probed = true;
    if (source->uprobe != NULL) {
        probe_uprobe(context, source);
        return;
    }
    if (context->kernel) {
        result = perf_event_try(source, /* kernel */ true, all);
        /* Other errors are not about kernel mode: they would come without it too. */
        source->kernel_included = result != -EACCES && result != -EPERM;
    }
    if (!source->kernel_included) {
        if (source->kernel_only) {
            snprintf(source->reason, sizeof(source->reason),
                     "happens in kernel mode, which is not counted here: %s",
                     context->kernel_reason);
            return;
        }
        result = perf_event_try(source, /* kernel */ false, all);
    }
    if (!perf_source_answer(source, result)) {
        source->kernel_included = false;
        perf_refusal_explain(result, context->scope, &refusal);
        snprintf(source->reason, sizeof(source->reason), "%.191s", refusal.reason);
    } else if (source->type == PERF_TYPE_BREAKPOINT && result == 0 &&
               !perf_breakpoints_fire(&context->breakpoints)) {
        source->supported = false;
        snprintf(source->reason, sizeof(source->reason),
                 "opens, but never fires: this machine does not pass debug registers "
                 "through");
    }
}

int
perf_context_require(struct perf_context *context, struct perf_source *source)
{
    probe_source(context, source);
    if (source->shortage < 0) {
        return perf_context_refuse(context, source->shortage, context->scope,
                                   "count %s", source->name);
    }
    if (source->supported) {
        return 0;
    }
    return perf_context_fail(context, -EOPNOTSUPP, "cannot count %s: %s", source->name,
                             source->reason);
}

struct perf_source *
perf_context_find(struct perf_context *context, KPROFILE_SOURCE number)
{
    struct perf_source *source = perf_sources_find(&context->sources, number);

    context->error[0] = 0;
    if (source == NULL) {
        perf_context_fail(context, -ENOENT, "there is no source %u on Linux", number);
    } else {
        probe_source(context, source);
    }
    return source;
}

void
perf_context_query_source(void *context, KPROFILE_SOURCE number,
                          HAL_SOURCE *information)
{
    struct perf_source *source = perf_context_find(context, number);

    *information = (HAL_SOURCE){0};
    if (source == NULL) {
        return;
    }
    (void)perf_context_require(context, source); /* sets the error text */
    *information = (HAL_SOURCE){
        .Supported = source->supported,
        .Interval = source->interval,
        .DefaultInterval = source->interval_default,
        .MinimumInterval = source->interval_minimum,
        .MaximumInterval = source->interval_maximum,
    };
}

NTSTATUS
perf_context_lookup_source(void *context, const char *text, KPROFILE_SOURCE *number)
{
    struct perf_source *source;
    const int result =
        perf_sources_lookup(&((struct perf_context *)context)->sources, text, &source);

    switch (result) {
    case 0:
        *number = source->number;
        return STATUS_SUCCESS;
    case -EINVAL:
        return STATUS_INVALID_PARAMETER;
    case -ENOENT:
        return STATUS_NOT_FOUND;
    default:
        return STATUS_INSUFFICIENT_RESOURCES;
    }
}

NTSTATUS
perf_context_next_source(void *context, ULONG index, KPROFILE_SOURCE *number)
{
    const struct perf_sources *sources = &((struct perf_context *)context)->sources;

    if (index >= sources->count) {
        return STATUS_NOT_FOUND;
    }
    *number = sources->items[index]->number;
    return STATUS_SUCCESS;
}

void
perf_context_statistics(const struct perf_source *source,
                        const struct perf_counts *open, uint64_t taken,
                        HAL_SOURCE_STATISTICS *answer)
{
    const bool is_time = source->unit == NTPROF_UNIT_100NS;

    perf_statistics_add_up(&source->tally, open, perf_source_period(source), is_time,
                           taken, source->kernel_included, answer);
    answer->Events /= is_time ? 100 : 1; /* time: from 1 ns to 100 ns */
    answer->OutsideKernel = source->tally.outside_kernel;
    answer->Unit = source->unit;
    answer->KernelIncluded = source->kernel_included;
    answer->IntervalAsked = source->interval_asked;
    snprintf(answer->Name, sizeof(answer->Name), "%s", source->name);
    snprintf(answer->NtName, sizeof(answer->NtName), "%s", source->nt_name);
    snprintf(answer->Reason, sizeof(answer->Reason), "%s", source->reason);
}
