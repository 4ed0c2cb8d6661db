/* SPDX-License-Identifier: MIT */
/* hal/sim/backend.c - HAL_TABLE and HAL_BACKEND (hal.h, backend.h) of the simulated
 * machine, and what tests call to control it. */
#include "hal/sim/simp.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* BACKGROUND_PROCESSES: of a machine that a session opens. DELIVERY_MS: the time from
 * one delivery to the next. */
enum { DEFAULT_PROCESSORS = 64, BACKGROUND_PROCESSES = 3, DELIVERY_MS = 10 };
#define DELIVERY_NS (DELIVERY_MS * 1000000ull)
/* The simulated time at which a machine starts. */
#define FIRST_NS 1000000000ull

/* ---- the machine ---- */

/* Make the processors. On failure sim_delete frees what was made. */
static bool
init_processors(struct sim *sim)
{
    const uint32_t count = sim->options.processor_count != 0
                               ? sim->options.processor_count
                               : DEFAULT_PROCESSORS;

    sim->processors = calloc(count, sizeof(*sim->processors));
    if (sim->processors == NULL) {
        return false;
    }
    for (; sim->processor_count < count; sim->processor_count++) {
        if (pthread_mutex_init(&sim->processors[sim->processor_count].lock, NULL) !=
            0) {
            return false;
        }
    }
    return true;
}

struct sim *
sim_create(const struct sim_options *options, struct _KE_SYSTEM *ke)
{
    struct sim *const sim = calloc(1, sizeof(*sim));

    if (sim == NULL) {
        return NULL;
    }
    if (options != NULL) {
        sim->options = *options;
    }
    sim->ke = ke;
    sim->random = sim->options.seed;
    sim->now_ns = FIRST_NS;
    sim->next_pid = SIM_FIRST_PID;
    sim_sources_init(sim);
    if (!init_processors(sim)) {
        sim_delete(sim);
        return NULL;
    }
    for (uint32_t i = 0; i < sim->options.background_processes; i++) {
        sim_add_process(sim, sim->next_pid++);
    }
    return sim;
}

void
sim_delete(struct sim *sim)
{
    if (sim == NULL) {
        return;
    }
    while (sim->processes != NULL) {
        struct sim_process *const next = sim->processes->next;

        sim_release_watch(sim, sim->processes);
        free(sim->processes);
        sim->processes = next;
    }
    sim_finish_watches(sim);
    for (uint32_t i = 0; i < sim->processor_count; i++) {
        pthread_mutex_destroy(&sim->processors[i].lock);
        free(sim->processors[i].starts);
    }
    free(sim->processors);
    free(sim->queue);
    free(sim);
}

HAL
sim_hal(struct sim *sim)
{
    return (HAL){.Table = HalSimBackend.Hal, .Context = sim};
}

uint64_t
sim_trace_hash(const struct sim *sim)
{
    uint64_t hash = sim->notification_hash;

    for (uint32_t i = 0; i < sim->processor_count; i++) {
        hash = sim_hash_add(hash, sim->processors[i].hash);
    }
    return hash;
}

/* ---- what tests ask ---- */

void
sim_set_faults(struct sim *sim, const struct sim_faults *faults)
{
    sim->faults = *faults;
}

void
sim_fail_start(struct sim *sim, uint64_t nth, NTSTATUS status)
{
    sim->fail_start_at = nth != 0 ? sim->start_calls + nth : 0;
    sim->fail_start_status = status;
}

void
sim_fail_begin(struct sim *sim, NTSTATUS status)
{
    sim->fail_begin_status = status;
}

uint64_t
sim_start_calls(const struct sim *sim)
{
    return sim->start_calls;
}

uint64_t
sim_stop_calls(const struct sim *sim)
{
    return sim->stop_calls;
}

const char *
sim_complaint(const struct sim *sim)
{
    return sim->complaint;
}

/* ---- HAL_TABLE ---- */

/* Set the error text. Returns status. */
static NTSTATUS
refuse_start(struct sim *sim, NTSTATUS status, const char *text)
{
    snprintf(sim->error, sizeof(sim->error), "%s", text);
    return status;
}

/* Start a source. A pid that the machine does not have becomes a new simulated process,
 * since a caller may name the pid of a real one. */
static NTSTATUS
start_profile_interrupt(void *context, KPROFILE_SOURCE source, ULONG processor,
                        ULONG64 pid)
{
    struct sim *const sim = context;
    NTSTATUS status;

    sim->error[0] = '\0';
    sim->start_calls++;
    if (sim->start_calls == sim->fail_start_at) {
        return refuse_start(sim, sim->fail_start_status,
                            "the test asked for this failure");
    }
    if (pid != 0 && sim_is_ended(sim, pid)) {
        return refuse_start(sim, STATUS_PROCESS_IS_TERMINATING,
                            "the simulated process has ended");
    }
    if (pid != 0 && !sim_is_known(sim, pid) && sim_adopt_process(sim, pid) == NULL) {
        return refuse_start(sim, STATUS_INSUFFICIENT_RESOURCES, "no memory");
    }
    status = sim_start(sim, source, processor, pid);
    if (!NT_SUCCESS(status)) {
        refuse_start(sim, status,
                     "the simulated machine has no such source or processor");
    }
    return status;
}

static NTSTATUS
begin_profile_interrupts(void *context, KPROFILE_SOURCE source, ULONG64 pid)
{
    struct sim *const sim = context;

    if (sim->fail_begin_status != STATUS_SUCCESS) {
        return refuse_start(sim, sim->fail_begin_status,
                            "the test asked for this failure");
    }
    sim_begin(sim, source, pid);
    return STATUS_SUCCESS;
}

static void
stop_profile_interrupt(void *context, KPROFILE_SOURCE source, ULONG processor,
                       ULONG64 pid)
{
    struct sim *const sim = context;

    sim->stop_calls++;
    sim_stop(sim, source, processor, pid);
}

static void
query_source(void *context, KPROFILE_SOURCE number, HAL_SOURCE *information)
{
    struct sim *const sim = context;
    const int row = sim_source_row_of(number);

    *information = (HAL_SOURCE){0};
    if (row < 0 || !sim->sources[row].supported) {
        snprintf(sim->error, sizeof(sim->error),
                 "the simulated machine has no source %u", (unsigned)number);
    }
    if (row >= 0) {
        const struct sim_limits limits = sim_source_limits(row);

        information->Supported = sim->sources[row].supported;
        information->Interval = sim->sources[row].interval;
        information->DefaultInterval = limits.initial;
        information->MinimumInterval = limits.minimum;
        information->MaximumInterval = limits.maximum;
    }
}

static void
set_interval(void *context, KPROFILE_SOURCE number, ULONG64 interval)
{
    const int row = sim_source_row_of(number);

    if (row >= 0) {
        sim_source_set_interval(context, row, interval);
    }
}

static void
flush(void *context)
{
    sim_flush(context);
}

static void
synchronize(void *context)
{
    sim_synchronize(context);
}

/* ---- HAL_BACKEND ---- */

static void
probe(HAL_PROBE *result)
{
    *result = (HAL_PROBE){.Usable = TRUE, .Kernel = TRUE, .Global = TRUE};
    snprintf(result->Reason, sizeof(result->Reason),
             "simulated: what it counts never ran");
}

/* Make a machine that runs by itself, with as many processors as this one. */
static NTSTATUS
open_backend(const HAL_OPEN *open, void **context)
{
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    const struct sim_options options = {
        .seed = open->SimulationSeed,
        .processor_count = processors > 0 ? (uint32_t)processors : 0,
        .background_processes = BACKGROUND_PROCESSES,
        .user_only = open->UserOnly,
        .scripted = true,
        .notify = open->Notify,
        .notify_context = open->NotifyContext,
    };
    struct sim *sim;

    if (open->Probe != NULL) {
        probe(open->Probe);
    }
    if (open->CgroupFd != NULL) {
        HalExplainFailure(open, "a simulation has no cgroups", "");
        return STATUS_INVALID_PARAMETER;
    }
    sim = sim_create(&options, open->Ke);
    if (sim == NULL) {
        HalExplainFailure(open, "out of memory", "");
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    *context = sim;
    return STATUS_SUCCESS;
}

static void
close_backend(void *context)
{
    sim_delete(context);
}

static NTSTATUS
watch(void *context, const HAL_WATCH *wanted)
{
    struct sim *const sim = context;

    sim->error[0] = '\0';
    return sim_watch(sim, wanted);
}

static NTSTATUS
lookup_source(void *context, const char *text, KPROFILE_SOURCE *source)
{
    const int row = sim_source_row_named(text);

    (void)context;
    if (row < 0) {
        return STATUS_NOT_FOUND;
    }
    *source = sim_source_rows[row].number;
    return STATUS_SUCCESS;
}

static NTSTATUS
next_source(void *context, ULONG index, KPROFILE_SOURCE *source)
{
    (void)context;
    if (index >= SIM_SOURCES) {
        return STATUS_NOT_FOUND;
    }
    *source = sim_source_rows[index].number;
    return STATUS_SUCCESS;
}

static NTSTATUS
query_source_statistics(void *context, KPROFILE_SOURCE number, ULONG64 taken,
                        HAL_SOURCE_STATISTICS *statistics)
{
    struct sim *const sim = context;
    const int row = sim_source_row_of(number);
    struct sim_tally tally;

    (void)taken;
    if (row < 0) {
        return STATUS_NOT_FOUND;
    }
    tally = sim_tally_of(sim, row);
    *statistics = (HAL_SOURCE_STATISTICS){
        .Unit = number == ProfileTime ? NTPROF_UNIT_100NS : NTPROF_UNIT_EVENTS,
        .KernelIncluded = !sim->options.user_only,
        .IntervalAsked = sim->sources[row].interval_asked,
        .Events = tally.events,
        .Expected = tally.expected,
        .Lost = tally.lost,
        .Throttled = tally.throttled,
        .Missed = tally.missed,
        .Excluded = tally.excluded,
        .OutsideKernel = __atomic_load_n(&sim->outside_kernel[row], __ATOMIC_RELAXED),
    };
    snprintf(statistics->Name, sizeof(statistics->Name), "%s",
             sim_source_rows[row].name);
    snprintf(statistics->NtName, sizeof(statistics->NtName), "%s",
             sim_source_rows[row].nt_name);
    if (!sim->sources[row].supported) {
        snprintf(statistics->Reason, sizeof(statistics->Reason),
                 "the simulated machine does not have it");
    }
    return STATUS_SUCCESS;
}

static void
query_statistics(void *context, HAL_STATISTICS *statistics)
{
    const struct sim *const sim = context;

    *statistics =
        (HAL_STATISTICS){.RingBytes = sim->queue_capacity * sizeof(struct sim_record)};
    for (const struct sim_process *process = sim->processes; process != NULL;
         process = process->next) {
        statistics->Processes += process->alive && sim_is_watched(sim, process);
    }
}

/* There is no descriptor to poll: deliver says when it is to be called. */
static int
descriptor(void *context)
{
    (void)context;
    return -1;
}

/* Is any process watched, or any source started? */
static bool
is_busy(const struct sim *sim)
{
    return sim->watches != NULL || sim_started(sim) != 0;
}

/* Let DELIVERY_NS of simulated time pass, and deliver what is queued. Returns ms until
 * the next call, -1: no further call is needed. */
static int
deliver(void *context)
{
    struct sim *const sim = context;

    /* A callback may call this: then no time passes. */
    if (!sim->delivering && is_busy(sim)) {
        sim_notify_pending_starts(sim);
        sim_run(sim, DELIVERY_NS);
    }
    sim_flush(sim);
    return is_busy(sim) ? DELIVERY_MS : -1;
}

static const char *
last_error(void *context)
{
    const struct sim *const sim = context;

    return sim->error;
}

static void
clear_error(void *context)
{
    struct sim *const sim = context;

    sim->error[0] = '\0';
}

static const HAL_TABLE table = {
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

const HAL_BACKEND HalSimBackend = {
    .Name = "sim",
    .Simulated = TRUE,
    .Hal = &table,
    .ByName = TRUE,
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
    .Error = last_error,
    .ClearError = clear_error,
};
