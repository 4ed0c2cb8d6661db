/* SPDX-License-Identifier: MIT */
/* hal/linux/status.c - see status.h. */
#include "hal/linux/status.h"

#include <errno.h>
#include <ntprof/session.h>
#include <stdio.h>

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

void
perf_status_describe_source(const struct perf_source *source, HAL_SOURCE *information)
{
    information->Supported = source->supported;
    information->Interval = source->interval;
    information->DefaultInterval = source->interval_default;
    information->MinimumInterval = source->interval_minimum;
    information->MaximumInterval = source->interval_maximum;
}

NTSTATUS
perf_status_lookup_source(struct perf_sources *sources, const char *text,
                          KPROFILE_SOURCE *number)
{
    struct perf_source *source;
    const int result = perf_sources_lookup(sources, text, &source);

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
perf_status_next_source(const struct perf_sources *sources, ULONG index,
                        KPROFILE_SOURCE *number)
{
    if (index >= sources->count) {
        return STATUS_NOT_FOUND;
    }
    *number = sources->items[index]->number;
    return STATUS_SUCCESS;
}

void
perf_status_answer_statistics(const struct perf_source *source,
                              const struct perf_statistics *statistics,
                              HAL_SOURCE_STATISTICS *answer)
{
    *answer = (HAL_SOURCE_STATISTICS){
        .Unit = source->unit,
        .KernelIncluded = source->kernel_included,
        .IntervalAsked = source->interval_asked,
        .Events = source->unit == NTPROF_UNIT_100NS ? statistics->events / 100
                                                    : statistics->events,
        .Expected = statistics->expected,
        .Lost = statistics->lost,
        .Throttled = statistics->throttled,
        .Missed = statistics->missed,
        .Unfinished = statistics->unfinished,
        .Excluded = statistics->excluded,
    };
    snprintf(answer->Name, sizeof(answer->Name), "%s", source->name);
    snprintf(answer->NtName, sizeof(answer->NtName), "%s", source->nt_name);
    snprintf(answer->Reason, sizeof(answer->Reason), "%s", source->reason);
}
