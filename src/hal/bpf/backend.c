/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/backend.c - HAL_TABLE, HAL_COUNTING, HAL_PAGES and HAL_BACKEND over the Linux
 * side, whose negative errno become NTSTATUS here. The context is a struct bpf.
 */
#include "hal/backend.h"

#include "hal/bpf/bpf.h"
#include "hal/linux/stream.h"
#include "ke/profint.h"

#include <stdio.h>

/* Time until the next delivery; time between two calls of bpf_renew. */
enum { DELIVERY_MS = 100, RENEWAL_NS = 1000000000 };

/* ---- HAL_TABLE ---- */

/* pid only decides the status: the events of a source are of all processes. */
static NTSTATUS
start_profile_interrupt(void *context, KPROFILE_SOURCE number, ULONG processor,
                        ULONG64 pid)
{
    struct bpf *const bpf = context;
    struct perf_source *const source = perf_context_find(&bpf->context, number);

    return source == NULL ? STATUS_NOT_SUPPORTED
                          : perf_status_of_open(bpf_start(bpf, source, processor), pid);
}

/* pid is not needed: the events of a source are of all processes. */
static void
stop_profile_interrupt(void *context, KPROFILE_SOURCE number, ULONG processor,
                       ULONG64 pid)
{
    struct bpf *const bpf = context;
    const struct perf_source *const source =
        perf_sources_find(&bpf->context.sources, number);

    (void)pid;
    if (source != NULL) {
        bpf_stop(bpf, source, processor);
    }
}

static void
set_interval(void *context, KPROFILE_SOURCE number, ULONG64 interval)
{
    struct bpf *const bpf = context;
    struct perf_source *const source = perf_sources_find(&bpf->context.sources, number);

    if (source != NULL) {
        bpf_set_interval(bpf, source, interval);
    }
}

/* Halt the core if the program has. After a hit that would have been counted outside
 * the counters it counts nothing any more. The profile that it names still exists: it
 * is stopped only after this was called. */
static void
notice_halt(struct bpf *bpf)
{
    const struct bpf_control *const control = bpf_control_of(&bpf->kernel);
    KI_OVERRUN overrun;

    if (bpf->halt_reported ||
        __atomic_load_n(&control->halt_known, __ATOMIC_ACQUIRE) == 0) {
        return;
    }
    bpf->halt_reported = true;
    overrun = (KI_OVERRUN){(KPROFILE *)(uintptr_t)control->halt_profile,
                           control->halt_number};
    KiReportOverrun(bpf->ke, &overrun);
}

/* Hits are counted already: only report a halt, and ends of processes. */
static void
flush(void *context)
{
    notice_halt(context);
    bpf_notice(context);
}

/* Wait for the programs that may still use what the core has just unpublished. */
static void
synchronize(void *context)
{
    const struct bpf *const bpf = context;

    bpf_kernel_wait(&bpf->kernel);
    notice_halt(context);
}

/* ---- HAL_COUNTING ---- */

/* Allocate nodes of the core's index in a map. They are kept for reuse and never freed:
 * creating another map would take milliseconds, as it waits for RCU readers. */
static void *
allocate_nodes(void *context, ULONG chunk, SIZE_T bytes)
{
    struct bpf *const bpf = context;

    return bpf_index_nodes(&bpf->index, chunk, bytes);
}

/* Find the location (profile.h) by which programs reach a buffer's counters. */
static NTSTATUS
locate_counters(void *context, const ULONG *buffer, ULONG words,
                const ULONG64 *processors, ULONG64 *location)
{
    struct bpf *const bpf = context;

    return perf_status_of(
        bpf_index_locate(&bpf->index, buffer, words, processors, location));
}

static NTSTATUS
prepare_process(void *context, ULONG64 pid)
{
    return perf_status_of(bpf_prepare(context, (uint32_t)pid));
}

/* Publish the roots of a process; pid 0: of the profiles of all processes. */
static void
publish_roots(void *context, ULONG64 pid, const ULONG *roots)
{
    struct bpf *const bpf = context;

    if (pid == 0) {
        bpf_index_publish_global(&bpf->index, roots);
    } else {
        bpf_publish(bpf, (uint32_t)pid, roots);
    }
}

static void
query_hits(void *context, KPROFILE_SOURCE number, ULONG64 *counted, ULONG64 *outside)
{
    struct bpf *const bpf = context;
    const struct perf_source *const source =
        perf_sources_find(&bpf->context.sources, number);
    uint64_t in_profiles = 0;
    uint64_t in_none = 0;

    if (source != NULL) {
        bpf_query_hits(bpf, source, &in_profiles, &in_none);
    }
    *counted = in_profiles;
    *outside = in_none;
}

static const HAL_COUNTING bpf_counting = {
    .Size = sizeof(HAL_COUNTING),
    .AllocateNodes = allocate_nodes,
    .LocateCounters = locate_counters,
    .PrepareProcess = prepare_process,
    .PublishRoots = publish_roots,
    .QueryHits = query_hits,
};

static const HAL_TABLE bpf_table = {
    .Size = sizeof(HAL_TABLE),
    .Capabilities = HAL_COUNTS_ITSELF | HAL_GLOBAL | HAL_KERNEL,
    .StartProfileInterrupt = start_profile_interrupt,
    .StopProfileInterrupt = stop_profile_interrupt,
    .QuerySource = perf_context_query_source,
    .SetInterval = set_interval,
    .Flush = flush,
    .Synchronize = synchronize,
    .Counting = &bpf_counting,
};

/* ---- HAL_PAGES ---- */

/* Give the host memory for counters that programs can reach. */
static int
take_pages(void *context, size_t bytes, void **memory)
{
    struct bpf *const bpf = context;
    const int result = bpf_pools_take(&bpf->index.pools, bytes, memory);

    return result < 0 ? bpf_fail(bpf, result, BPF_STAGE_MAP, "into the buffer") : 0;
}

static void
give_pages(void *context, void *memory, size_t bytes)
{
    struct bpf *const bpf = context;

    bpf_pools_return(&bpf->index.pools, memory, bytes);
}

static int
map_pages(void *context, const void *memory, size_t bytes, void **mapping)
{
    struct bpf *const bpf = context;

    return bpf_pools_map(&bpf->index.pools, memory, bytes, mapping);
}

static const HAL_PAGES bpf_pages = {
    .Take = take_pages,
    .Give = give_pages,
    .Map = map_pages,
};

/* ---- HAL_BACKEND ---- */

/* Open the back end, which is how a probe finds out whether it can be used here. */
static int
create(bool user_only, struct bpf **bpf, HAL_PROBE *probed)
{
    struct perf_refusal refusal;
    const int result = bpf_create(bpf_call_kernel, user_only, bpf, &refusal);

    *probed = (HAL_PROBE){0};
    if (result < 0) {
        probed->Shortage = perf_status_of(result) == STATUS_INSUFFICIENT_RESOURCES;
        perf_refusal_probed(&refusal, probed);
        return result;
    }
    probed->Usable = TRUE;
    probed->Global = TRUE;
    probed->Kernel = (*bpf)->context.kernel;
    if (bpf_control_of(&(*bpf)->kernel)->namespace_inode != 0) {
        probed->Cause = NTPROF_CAUSE_OTHER;
        snprintf(probed->Reason, sizeof(probed->Reason),
                 "in a pid namespace other than the first, processes in namespaces "
                 "below it cannot be distinguished in the interrupt: their hits are "
                 "outside");
        snprintf(probed->Remedy, sizeof(probed->Remedy),
                 "use back end perf, or run in the initial pid namespace or in that of "
                 "the processes");
    }
    return 0;
}

static void
probe(HAL_PROBE *probed)
{
    struct bpf *bpf = NULL;

    if (create(/* user_only */ false, &bpf, probed) == 0) {
        bpf_delete(bpf);
    }
}

static NTSTATUS
open_backend(const HAL_OPEN *open, void **context)
{
    HAL_PROBE unasked;
    struct bpf *bpf = NULL;
    const int result =
        create(open->UserOnly != 0, &bpf, open->Probe != NULL ? open->Probe : &unasked);

    if (result < 0) {
        return perf_status_of(result);
    }
    if (open->CgroupFd != NULL) {
        bpf->context.cgroup_fd = *open->CgroupFd;
    }
    bpf->ke = open->Ke;
    bpf->notify = open->Notify;
    bpf->notify_context = open->NotifyContext;
    *context = bpf;
    return STATUS_SUCCESS;
}

static NTSTATUS
query_source_statistics(void *context, KPROFILE_SOURCE number, ULONG64 taken,
                        HAL_SOURCE_STATISTICS *answer)
{
    struct bpf *const bpf = context;
    const struct perf_source *const source = perf_context_find(&bpf->context, number);
    const uint64_t cut = bpf_index_totals(&bpf->index).cut;
    struct perf_counts open;

    if (source == NULL) {
        return STATUS_NOT_FOUND;
    }
    open = bpf_open_counts(bpf, source);
    perf_context_statistics(source, &open, taken, answer);
    answer->OutsideKernel = bpf_outside_kernel(bpf, source);
    if (cut != 0) {
        snprintf(answer->Reason, sizeof(answer->Reason),
                 "%llu hits of all sources were in so many profiles at once that some "
                 "of these did not count them",
                 (unsigned long long)cut);
    }
    return STATUS_SUCCESS;
}

static void
query_statistics(void *context, HAL_STATISTICS *statistics)
{
    struct bpf *const bpf = context;

    *statistics = (HAL_STATISTICS){
        .Processes = bpf->index.table.count,
        .Unread = bpf->unread,
        .Unnumbered = bpf_index_totals(&bpf->index).unnumbered,
        .CounterBytes = __atomic_load_n(&bpf->index.pools.bytes, __ATOMIC_RELAXED),
    };
}

/* No descriptor to poll: each delivery looks for processes that exited. */
static int
descriptor(void *context)
{
    (void)context;
    return -1;
}

/* Hits need no delivery: look for ended processes and for processors online again. */
static int
deliver(void *context)
{
    struct bpf *const bpf = context;
    const uint64_t now = perf_elapsed_ns();

    flush(bpf);
    if (bpf->started_events == 0) {
        return -1;
    }
    if (now - bpf->renewed_ns >= RENEWAL_NS) {
        bpf->renewed_ns = now;
        bpf_renew(bpf);
    }
    return DELIVERY_MS;
}

const HAL_BACKEND HalBpfBackend = {
    .Name = "bpf",
    .Hal = &bpf_table,
    .Pages = &bpf_pages,
    .ByName = TRUE, /* its events are of all processes, and it watches none */
    .Probe = probe,
    .Open = open_backend,
    .Close = bpf_delete,
    .LookupSource = perf_context_lookup_source,
    .NextSource = perf_context_next_source,
    .QuerySourceStatistics = query_source_statistics,
    .QueryStatistics = query_statistics,
    .Descriptor = descriptor,
    .Deliver = deliver,
    .Freeze = bpf_freeze,
    .Error = perf_context_error,
    .ClearError = perf_context_clear_error,
};
