/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/backend.c - HAL_TABLE and HAL_BACKEND of back end perf: converts arguments,
 * and negative errno to NTSTATUS.
 */
#include "hal/backend.h"

#include "hal/linux/descriptor.h"
#include "hal/perf/perf.h"
#include "hal/perf/target.h"
#include "hal/perf/whole_machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- HAL_TABLE ---- */

static NTSTATUS
start_profile_interrupt(void *context, KPROFILE_SOURCE number, ULONG processor,
                        ULONG64 pid)
{
    struct perf *perf = context;
    struct perf_source *source = perf_context_find(&perf->context, number);

    if (source == NULL) {
        return STATUS_NOT_SUPPORTED;
    }
    return perf_status_of_count(perf_start(perf, source, processor, (uint32_t)pid),
                                pid);
}

static NTSTATUS
begin_profile_interrupts(void *context, KPROFILE_SOURCE number, ULONG64 pid)
{
    struct perf *perf = context;
    struct perf_source *source = perf_sources_find(&perf->context.sources, number);

    if (source == NULL) {
        return STATUS_SUCCESS; /* nothing was started */
    }
    return perf_status_of_count(perf_begin(perf, source, (uint32_t)pid), pid);
}

static void
stop_profile_interrupt(void *context, KPROFILE_SOURCE number, ULONG processor,
                       ULONG64 pid)
{
    struct perf *perf = context;
    struct perf_source *source = perf_sources_find(&perf->context.sources, number);

    if (source != NULL) {
        perf_stop(perf, source, processor, (uint32_t)pid);
    }
}

static void
set_interval(void *context, KPROFILE_SOURCE number, ULONG64 interval)
{
    struct perf *perf = context;
    struct perf_source *source = perf_sources_find(&perf->context.sources, number);

    if (source != NULL) {
        perf_set_interval(perf, source, interval);
    }
}

static void
flush(void *context)
{
    perf_flush(context);
}

/* Nothing to wait for: hits are counted under the session's lock, which the caller
 * holds. */
static void
synchronize(void *context)
{
    (void)context;
}

static const HAL_TABLE perf_table = {
    .Size = sizeof(HAL_TABLE),
    .Capabilities = HAL_GLOBAL | HAL_KERNEL,
    .StartProfileInterrupt = start_profile_interrupt,
    .StopProfileInterrupt = stop_profile_interrupt,
    .BeginProfileInterrupts = begin_profile_interrupts,
    .QuerySource = perf_context_query_source,
    .SetInterval = set_interval,
    .Flush = flush,
    .Synchronize = synchronize,
};

/* ---- HAL_BACKEND ---- */

static void
explain(int error, enum perf_scope scope, HAL_PROBE *probed)
{
    struct perf_refusal refusal;

    perf_refusal_explain(error, scope, &refusal);
    perf_refusal_probed(&refusal, probed);
}

/* Try to count the clock. On failure the reason and the remedy are set. */
static int
try_time(const struct perf_source *time, enum perf_scope scope, HAL_PROBE *probed)
{
    const int result =
        perf_event_try(time, scope == PERF_SCOPE_KERNEL, scope == PERF_SCOPE_ALL);

    if (result < 0) {
        explain(result, scope, probed);
    }
    return result;
}

static void
probe(HAL_PROBE *probed)
{
    struct perf_sources sources;
    const struct perf_source *time;
    int result;

    *probed = (HAL_PROBE){0};
    if (perf_sources_init(&sources, 0) < 0) {
        snprintf(probed->Reason, sizeof(probed->Reason), "out of memory");
        probed->Shortage = TRUE;
        return;
    }
    time = perf_sources_find(&sources, ProfileTime);
    result = try_time(time, PERF_SCOPE_SELF, probed);
    probed->Usable = result == 0;
    probed->Shortage = perf_status_of(result) == STATUS_INSUFFICIENT_RESOURCES;
    if (probed->Usable) {
        probed->Global = try_time(time, PERF_SCOPE_ALL, probed) == 0;
        /* If both are refused, the reason for kernel mode is given. */
        probed->Kernel = try_time(time, PERF_SCOPE_KERNEL, probed) == 0;
    }
    perf_sources_finish(&sources);
}

static NTSTATUS
open_backend(const HAL_OPEN *open, void **context)
{
    NTSTATUS status = STATUS_NOT_SUPPORTED;
    HAL_PROBE probed;
    struct perf *perf;
    int result;

    probe(&probed);
    if (probed.Usable) {
        result = perf_create(open, &perf);
        status = perf_status_of(result);
        if (result == 0) {
            *context = perf;
        } else {
            explain(result, PERF_SCOPE_SELF, &probed);
        }
    } else if (probed.Shortage) {
        status = STATUS_INSUFFICIENT_RESOURCES;
    }
    if (open->Probe != NULL) {
        *open->Probe = probed;
    }
    return status;
}

static void
close_backend(void *context)
{
    perf_delete(context);
}

static NTSTATUS
watch(void *context, const HAL_WATCH *request)
{
    struct perf *perf = context;
    struct perf_source **sources;
    NTSTATUS status = STATUS_NOT_SUPPORTED;

    sources = calloc((size_t)request->SourceCount + 1, sizeof(struct perf_source *));
    if (sources == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    for (ULONG i = 0; i < request->SourceCount; i++) {
        sources[i] = perf_context_find(&perf->context, request->Sources[i]);
        if (sources[i] == NULL) {
            goto free_sources;
        }
    }
    perf->context.error[0] = 0;
    status = perf_status_of_count(request->ProcessId == 0
                                      ? perf_watch_all(perf, request, sources)
                                      : perf_watch(perf, request, sources),
                                  request->ProcessId);
free_sources:
    free(sources);
    return status;
}

static NTSTATUS
query_source_statistics(void *context, KPROFILE_SOURCE number, ULONG64 taken,
                        HAL_SOURCE_STATISTICS *answer)
{
    struct perf *perf = context;
    struct perf_source *source = perf_context_find(&perf->context, number);
    struct perf_counts open;

    if (source == NULL) {
        return STATUS_NOT_FOUND;
    }
    perf_read_counts(perf, source, UINT32_MAX, false, &open);
    perf_context_statistics(source, &open, taken, answer);
    return STATUS_SUCCESS;
}

static void
query_statistics(void *context, HAL_STATISTICS *statistics)
{
    const struct perf *perf = context;

    *statistics = (HAL_STATISTICS){
        .Processes = perf->stream.processes.by_pid.count,
        .Late = perf->stream.late,
        .Unread = perf->unread,
    };
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        if (perf->rings[i] != NULL) {
            statistics->RingBytes += perf->rings[i]->size_bytes;
        }
    }
}

static int
descriptor(void *context)
{
    const struct perf *perf = context;

    return perf->epoll_fd;
}

static int
deliver(void *context)
{
    return perf_deliver(context);
}

static void
freeze(void *context)
{
    perf_freeze(context);
}

const HAL_BACKEND HalPerfBackend = {
    .Name = "perf",
    .Hal = &perf_table,
    .Probe = probe,
    .Open = open_backend,
    .Close = close_backend,
    .Watch = watch,
    .LookupSource = perf_context_lookup_source,
    .NextSource = perf_context_next_source,
    .QuerySourceStatistics = query_source_statistics,
    .QueryStatistics = query_statistics,
    .Descriptor = descriptor,
    .Deliver = deliver,
    .Freeze = freeze,
    .Error = perf_context_error,
    .ClearError = perf_context_clear_error,
};
