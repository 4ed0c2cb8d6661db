/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/backend.c - HAL_TABLE and HAL_BACKEND of back end perf: makes the session's
 * state, and converts arguments, and negative errno to NTSTATUS.
 */
#include "hal/backend.h"

#include "hal/linux/stack.h"
#include "hal/perf/deliver.h"
#include "hal/perf/interval.h"
#include "hal/perf/rings.h"
#include "hal/perf/stacks.h"
#include "hal/perf/start.h"
#include "hal/perf/watch.h"
#include "hal/perf/whole_machine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
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
    return perf_status_of_open(perf_start(perf, source, processor, (uint32_t)pid), pid);
}

/* Open what the calls of start_profile_interrupt, one for each processor, asked for. */
static NTSTATUS
begin_profile_interrupts(void *context, KPROFILE_SOURCE number, ULONG64 pid)
{
    struct perf *perf = context;
    struct perf_source *source = perf_sources_find(&perf->context.sources, number);

    if (source == NULL) {
        return STATUS_SUCCESS; /* no start named it, so there is nothing to open */
    }
    return perf_status_of_open(perf_begin(perf, source, (uint32_t)pid), pid);
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
    .Flush = perf_flush,
    .Synchronize = synchronize,
};

/* ---- probe ---- */

/* Set error, reason and remedy of a refusal in probed. */
static void
explain(int error, enum perf_scope scope, HAL_PROBE *probed)
{
    struct perf_refusal refusal;

    perf_refusal_explain(error, scope, &refusal);
    perf_refusal_probed(&refusal, probed);
}

/* Open and close an event of the clock. On failure, set reason and remedy in probed.
 * Returns 0 or negative errno. */
static int
try_time(enum perf_scope scope, HAL_PROBE *probed)
{
    const struct perf_source time = {.type = PERF_TYPE_SOFTWARE,
                                     .config = PERF_COUNT_SW_CPU_CLOCK,
                                     .unit = NTPROF_UNIT_100NS,
                                     .interval = 10000 /* 1 ms */};
    const int result =
        perf_event_try(&time, scope == PERF_SCOPE_KERNEL, scope == PERF_SCOPE_ALL);

    if (result < 0) {
        explain(result, scope, probed);
    }
    return result;
}

/* Find the clock of the records; without it hits could not be distinguished from
 * earlier ones. Returns 0, or negative errno with reason and remedy set in probed. */
static int
find_clock(struct perf_clock *clock, HAL_PROBE *probed)
{
    struct perf_refusal refusal;
    const int result = perf_clock_find(clock, &refusal);

    if (result < 0) {
        perf_refusal_probed(&refusal, probed);
    }
    return result;
}

/* May the caller count the source of time: of this process, of all processes, in kernel
 * mode? clock: out, that of the times of records; set if probed->Usable. */
static void
probe_and_find_clock(HAL_PROBE *probed, struct perf_clock *clock)
{
    int result;

    *probed = (HAL_PROBE){0};
    result = try_time(PERF_SCOPE_SELF, probed);
    result = result == 0 ? find_clock(clock, probed) : result;
    probed->Usable = result == 0;
    probed->Shortage = perf_status_of(result) == STATUS_INSUFFICIENT_RESOURCES;
    if (probed->Usable) {
        probed->Global = try_time(PERF_SCOPE_ALL, probed) == 0;
        /* If both are refused, the reason for kernel mode is given. */
        probed->Kernel = try_time(PERF_SCOPE_KERNEL, probed) == 0;
    }
}

static void
probe(HAL_PROBE *probed)
{
    struct perf_clock clock;

    probe_and_find_clock(probed, &clock);
}

/* ---- open and close ---- */

/* Make the state of a session, without rings or events. Returns 0 or negative errno. */
static int
create(const HAL_OPEN *open, const struct perf_clock *clock, struct perf **created)
{
    struct perf *perf = calloc(1, sizeof(*perf));
    int result;

    if (perf == NULL) {
        return -ENOMEM;
    }
    /* Features and rights are probed once: if descriptors or memory run out meanwhile,
     * opening the session fails, so that they are not taken for missing. */
    perf_features_probe(&perf->features, open->Selectors);
    result = perf_context_init(&perf->context, PERF_SCOPE_SELF, open->UserOnly);
    if (result < 0) {
        goto free_perf;
    }
    perf->ke = open->Ke;
    perf->hit = open->Hit;
    perf->hit_context = open->NotifyContext;
    perf_stacks_init(perf, open);
    perf->processors = open->Processors;
    perf->pause = open->Pause;
    if (open->CgroupFd != NULL) {
        perf->context.cgroup_fd = *open->CgroupFd;
    }
    perf->frozen_ns = UINT64_MAX;
    perf->processor_limit = perf_processor_limit();
    perf->rings = calloc(perf->processor_limit, sizeof(struct perf_ring *));
    perf->starting = calloc(perf_set_words(perf), sizeof(*perf->starting));
    perf->unopened = calloc(perf_set_words(perf), sizeof(*perf->unopened));
    if (perf->rings == NULL || perf->starting == NULL || perf->unopened == NULL ||
        perf_stream_reserve(&perf->stream, perf->processor_limit) < 0) {
        result = -ENOMEM;
        goto free_memory;
    }
    perf->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (perf->epoll_fd < 0) {
        result = -errno;
        goto free_memory;
    }
    perf->stream.calls = &perf_deliver_calls;
    perf->stream.context = perf;
    process_table_init(&perf->stream.processes, open->Notify, open->NotifyContext);
    perf->stream.processes.clock = *clock;
    *created = perf;
    return 0;

free_memory:
    free(perf->starting);
    free(perf->unopened);
    free(perf->stream.heads);
    free(perf->rings);
    perf_context_finish(&perf->context);
free_perf:
    free(perf);
    return result;
}

/* Open a session, or say in open->Probe why the back end cannot be used here. */
static NTSTATUS
open_backend(const HAL_OPEN *open, void **context)
{
    NTSTATUS status = STATUS_NOT_SUPPORTED;
    HAL_PROBE probed;
    struct perf_clock clock;
    struct perf *perf = NULL;
    int result;

    probe_and_find_clock(&probed, &clock);
    if (probed.Usable) {
        result = create(open, &clock, &perf);
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
    struct perf *const perf = context;

    assert(perf_assert_state(perf));
    perf->machine = NULL;
    while (perf->targets != NULL) {
        struct perf_target *target = perf->targets;

        perf->targets = target->next;
        perf_target_delete(perf, target);
    }
    perf_reap_closed(perf, UINT64_MAX);
    perf_stream_finish(&perf->stream);
    perf_drop_rings(perf);
    close(perf->epoll_fd);
    perf_idmap_finish(&perf->events);
    perf_idmap_finish(&perf->counted_by);
    perf_throttles_finish(&perf->throttles);
    perf_context_finish(&perf->context);
    free(perf->starting);
    free(perf->unopened);
    free(perf->rings);
    free(perf);
}

/* ---- HAL_BACKEND ---- */

/* A pid may have been reused: the flush first delivers the exit of the process that had
 * it before. After a freeze it may not, but then no hits are taken either. */
static NTSTATUS
watch(void *context, const HAL_WATCH *request)
{
    struct perf *perf = context;

    perf->context.error[0] = 0;
    perf_flush(perf);
    return perf_status_of_open(request->ProcessId == 0 ? perf_watch_all(perf, request)
                                                       : perf_watch(perf, request),
                               request->ProcessId);
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
    perf_read_counts(perf, source, PERF_ALL_PROCESSORS, PERF_PERIOD_CONTINUES, &open);
    perf_context_statistics(source, &open, taken, answer);
    return STATUS_SUCCESS;
}

static void
query_statistics(void *context, HAL_STATISTICS *statistics)
{
    const struct perf *perf = context;

    *statistics = (HAL_STATISTICS){
        .Processes = perf->stream.processes.by_pid.count,
        .Late = perf->stream.late, /* records delivered after newer ones */
        .Unread = perf->unread,
        .StackBytes = perf->stacks.granted,
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

const HAL_BACKEND HalPerfBackend = {
    .Name = "perf",
    .ReportsHits = TRUE,
    .ReportsStacks = PERF_STACK_REGISTERS != 0,
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
    .Deliver = perf_deliver,
    .Freeze = perf_freeze,
    .Error = perf_context_error,
    .ClearError = perf_context_clear_error,
};
