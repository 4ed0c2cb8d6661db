/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/backend.c - HAL_TABLE and HAL_BACKEND of back end perf: converts arguments,
 * and negative errno to NTSTATUS.
 */
#include "hal/backend.h"

#include "hal/linux/descriptor.h"
#include "hal/linux/status.h"
#include "hal/perf/perf.h"
#include "hal/perf/target.h"
#include "hal/perf/whole_machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- HAL_TABLE ---- */

static struct perf_source *
find_source(struct perf *perf, KPROFILE_SOURCE number)
{
    struct perf_source *source = perf_sources_find(&perf->sources, number);

    perf->error[0] = 0;
    if (source == NULL) {
        snprintf(perf->error, sizeof(perf->error), "Linux has no source %u", number);
    } else {
        perf_probe_source(perf, source);
    }
    return source;
}

static NTSTATUS
start_status(int result, ULONG64 pid)
{
    return pid == 0 && (result == -EACCES || result == -EPERM)
               ? STATUS_PRIVILEGE_NOT_HELD
               : perf_status_of(result);
}

static NTSTATUS
start_profile_interrupt(void *context, KPROFILE_SOURCE number, ULONG processor,
                        ULONG64 pid)
{
    struct perf *perf = context;
    struct perf_source *source = find_source(perf, number);

    if (source == NULL) {
        return STATUS_NOT_SUPPORTED;
    }
    return start_status(perf_start(perf, source, processor, (uint32_t)pid), pid);
}

static NTSTATUS
begin_profile_interrupts(void *context, KPROFILE_SOURCE number, ULONG64 pid)
{
    struct perf *perf = context;
    struct perf_source *source = perf_sources_find(&perf->sources, number);

    if (source == NULL) {
        return STATUS_SUCCESS; /* nothing was started */
    }
    return start_status(perf_begin(perf, source, (uint32_t)pid), pid);
}

static void
stop_profile_interrupt(void *context, KPROFILE_SOURCE number, ULONG processor,
                       ULONG64 pid)
{
    struct perf *perf = context;
    struct perf_source *source = perf_sources_find(&perf->sources, number);

    if (source != NULL) {
        perf_stop(perf, source, processor, (uint32_t)pid);
    }
}

static void
query_source(void *context, KPROFILE_SOURCE number, HAL_SOURCE *information)
{
    const struct perf_source *source = find_source(context, number);

    *information = (HAL_SOURCE){0};
    if (source != NULL) {
        if (!source->supported) {
            (void)perf_refuse_source(context, source); /* the text if the call fails */
        }
        perf_status_describe_source(source, information);
    }
}

static void
set_interval(void *context, KPROFILE_SOURCE number, ULONG64 interval)
{
    struct perf *perf = context;
    struct perf_source *source = perf_sources_find(&perf->sources, number);

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
    .QuerySource = query_source,
    .SetInterval = set_interval,
    .Flush = flush,
    .Synchronize = synchronize,
};

/* ---- HAL_BACKEND ---- */

/* Open cpu-clock and close it. Returns 0 or negative errno. */
static int
try_time(const struct perf_source *time, bool kernel, int pid, int processor)
{
    const struct perf_event_request request = {.source = time, .kernel = kernel};
    const struct perf_features features = {0};
    const int fd = perf_event_open_fd(&request, &features, pid, processor);

    if (fd < 0) {
        return fd;
    }
    perf_descriptor_close(fd);
    return 0;
}

/* probed may be NULL. */
static void
explain(int error, enum perf_scope scope, HAL_PROBE *probed)
{
    struct perf_refusal refusal;

    perf_refusal_explain(error, scope, &refusal);
    if (probed != NULL) {
        perf_refusal_probed(&refusal, probed);
    }
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
    result = try_time(time, false, 0, -1);
    probed->Usable = result == 0;
    if (result < 0) {
        probed->Shortage = perf_status_of(result) == STATUS_INSUFFICIENT_RESOURCES;
        explain(result, PERF_SCOPE_SELF, probed);
        goto finish;
    }
    result = try_time(time, true, 0, -1);
    probed->Kernel = result == 0;
    if (result < 0) {
        explain(result, PERF_SCOPE_KERNEL, probed);
    }
    result = try_time(time, false, -1, PERF_ANY_ONLINE);
    probed->Global = result == 0;
    if (result < 0 && probed->Kernel) {
        explain(result, PERF_SCOPE_ALL, probed);
    }
finish:
    perf_sources_finish(&sources);
}

static NTSTATUS
open_backend(const HAL_OPEN *open, void **context)
{
    HAL_PROBE probed;
    struct perf *perf;
    int result;

    probe(&probed);
    if (open->Probe != NULL) {
        *open->Probe = probed;
    }
    if (!probed.Usable) {
        return probed.Shortage ? STATUS_INSUFFICIENT_RESOURCES : STATUS_NOT_SUPPORTED;
    }
    result = perf_create(open, &perf);
    if (result == 0) {
        *context = perf;
    } else {
        explain(result, PERF_SCOPE_SELF, open->Probe);
    }
    return perf_status_of(result);
}

static void
close_backend(void *context)
{
    perf_delete(context);
}

/* Watch one process, or all. */
static NTSTATUS
watch_sources(struct perf *perf, const HAL_WATCH *request,
              struct perf_source *const *sources)
{
    const size_t words = ((size_t)request->ProcessorCount + 63) / 64;
    int result;

    perf->error[0] = 0;
    if (request->ProcessId == 0) {
        result = perf_watch_all(perf, sources, request->SourceCount,
                                request->Processors, words);
        return result == -EACCES || result == -EPERM ? STATUS_PRIVILEGE_NOT_HELD
                                                     : perf_status_of(result);
    }
    result = perf_watch(perf, (uint32_t)request->ProcessId,
                        (request->Flags & NTPROF_WATCH_DESCENDANTS) != 0,
                        (request->Flags & NTPROF_WATCH_ON_EXEC) != 0, sources,
                        request->SourceCount, request->Processors, words);
    return perf_status_of(result);
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
        sources[i] = find_source(perf, request->Sources[i]);
        if (sources[i] == NULL) {
            goto free_sources;
        }
    }
    status = watch_sources(perf, request, sources);
free_sources:
    free(sources);
    return status;
}

static NTSTATUS
lookup_source(void *context, const char *text, KPROFILE_SOURCE *number)
{
    struct perf *const perf = context;

    return perf_status_lookup_source(&perf->sources, text, number);
}

static NTSTATUS
next_source(void *context, ULONG index, KPROFILE_SOURCE *number)
{
    const struct perf *const perf = context;

    return perf_status_next_source(&perf->sources, index, number);
}

static NTSTATUS
query_source_statistics(void *context, KPROFILE_SOURCE number, ULONG64 taken,
                        HAL_SOURCE_STATISTICS *answer)
{
    struct perf *perf = context;
    struct perf_source *source = find_source(perf, number);
    const bool is_time = source != NULL && source->unit == NTPROF_UNIT_100NS;
    struct perf_counts open;
    struct perf_statistics statistics;

    if (source == NULL) {
        return STATUS_NOT_FOUND;
    }
    perf_source_counts(perf, source, &open);
    perf_statistics_add_up(&source->tally, &open, perf_source_period(source), is_time,
                           taken, source->kernel_included, &statistics);

    perf_status_answer_statistics(source, &statistics, answer);
    return STATUS_SUCCESS;
}

static void
query_statistics(void *context, HAL_STATISTICS *statistics)
{
    const struct perf *perf = context;

    *statistics = (HAL_STATISTICS){
        .Processes = perf->processes.by_pid.count,
        .Late = perf->late,
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

static const char *
error(void *context)
{
    const struct perf *perf = context;

    return perf->error;
}

static void
clear_error(void *context)
{
    struct perf *perf = context;

    perf->error[0] = 0;
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
    .LookupSource = lookup_source,
    .NextSource = next_source,
    .QuerySourceStatistics = query_source_statistics,
    .QueryStatistics = query_statistics,
    .Descriptor = descriptor,
    .Deliver = deliver,
    .Freeze = freeze,
    .Error = error,
    .ClearError = clear_error,
};
