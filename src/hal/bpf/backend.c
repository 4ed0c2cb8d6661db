/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/backend.c - the border: HAL_TABLE, HAL_COUNTING and HAL_BACKEND over the
 * Linux side, and negative errno to NTSTATUS.
 */
#include "hal/backend.h"

#include "hal/bpf/bpf.h"
#include "hal/linux/procfs.h"
#include "hal/linux/status.h"
#include "ke/profint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DELIVERY_MS = 100, RENEWAL_NS = 1000000000 };

/* A session's back end as the core sees it. */
struct bpf_backend {
    struct bpf *bpf;
    struct _KE_SYSTEM *ke;
    void (*notify)(void *context, const ntprof_notification *notification);
    void *notify_context;
    bool halt_told;
    uint64_t renewed_ns;
};

/* ---- HAL_TABLE ---- */

static struct perf_source *
find_source(struct bpf *bpf, KPROFILE_SOURCE number)
{
    struct perf_source *source = perf_sources_find(&bpf->sources, number);

    bpf->error[0] = 0;
    if (source == NULL) {
        snprintf(bpf->error, sizeof(bpf->error), "Linux has no source %u", number);
    } else {
        bpf_probe_source(bpf, source);
    }
    return source;
}

static NTSTATUS
start_profile_interrupt(void *context, KPROFILE_SOURCE number, ULONG processor,
                        ULONG64 pid)
{
    const struct bpf_backend *const backend = context;
    struct perf_source *const source = find_source(backend->bpf, number);
    int result;

    if (source == NULL) {
        return STATUS_NOT_SUPPORTED;
    }
    result = bpf_start(backend->bpf, source, processor);
    if (pid == 0 && (result == -EACCES || result == -EPERM)) {
        return STATUS_PRIVILEGE_NOT_HELD;
    }
    return perf_status_of(result);
}

static void
stop_profile_interrupt(void *context, KPROFILE_SOURCE number, ULONG processor,
                       ULONG64 pid)
{
    const struct bpf_backend *const backend = context;
    const struct perf_source *const source =
        perf_sources_find(&backend->bpf->sources, number);

    (void)pid;
    if (source != NULL) {
        bpf_stop(backend->bpf, source, processor);
    }
}

static void
query_source(void *context, KPROFILE_SOURCE number, HAL_SOURCE *information)
{
    const struct bpf_backend *const backend = context;
    const struct perf_source *const source = find_source(backend->bpf, number);

    *information = (HAL_SOURCE){0};
    if (source == NULL) {
        return;
    }
    if (!source->supported) { /* should the call fail for it */
        snprintf(backend->bpf->error, sizeof(backend->bpf->error),
                 "cannot count %s: %s", source->name, source->reason);
    }
    perf_status_describe_source(source, information);
}

static void
set_interval(void *context, KPROFILE_SOURCE number, ULONG64 interval)
{
    const struct bpf_backend *const backend = context;
    struct perf_source *const source =
        perf_sources_find(&backend->bpf->sources, number);

    if (source != NULL) {
        bpf_set_interval(backend->bpf, source, interval);
    }
}

/* A program that met a counter which is not there has stopped all counting; now the
 * core has, too. While the profile that it names is there: it is stopped only after
 * this has been asked. */
static void
notice_halt(struct bpf_backend *backend)
{
    const struct bpf_control *const control = bpf_control_of(&backend->bpf->kernel);
    KI_OVERRUN overrun;

    if (backend->halt_told ||
        __atomic_load_n(&control->halt_known, __ATOMIC_ACQUIRE) == 0) {
        return;
    }
    backend->halt_told = true;
    overrun = (KI_OVERRUN){(KPROFILE *)(uintptr_t)control->halt_profile,
                           control->halt_number};
    KiReportOverrun(backend->ke, &overrun);
}

static void
flush(void *context)
{
    struct bpf_backend *const backend = context;

    notice_halt(backend);
    bpf_notice(backend->bpf);
}

static void
synchronize(void *context)
{
    struct bpf_backend *const backend = context;

    bpf_kernel_wait(&backend->bpf->kernel);
    notice_halt(backend);
}

/* ---- HAL_COUNTING ---- */

static void *
allocate_nodes(void *context, ULONG chunk, SIZE_T bytes)
{
    const struct bpf_backend *const backend = context;

    return bpf_index_nodes(&backend->bpf->index, chunk, bytes);
}

/* They stay: to make them again would mean to wait for the kernel. */
static void
free_nodes(void *context, ULONG chunk, void *nodes, SIZE_T bytes)
{
    (void)context;
    (void)chunk;
    (void)nodes;
    (void)bytes;
}

static NTSTATUS
locate_counters(void *context, const ULONG *buffer, ULONG words,
                const ULONG64 *processors, ULONG64 *location)
{
    const struct bpf_backend *const backend = context;

    return perf_status_of(
        bpf_index_locate(&backend->bpf->index, buffer, words, processors, location));
}

static NTSTATUS
prepare_process(void *context, ULONG64 pid)
{
    const struct bpf_backend *const backend = context;

    return perf_status_of(bpf_prepare(backend->bpf, (uint32_t)pid));
}

static void
publish_roots(void *context, ULONG64 pid, const ULONG *roots)
{
    const struct bpf_backend *const backend = context;

    if (pid == 0) {
        bpf_index_publish_all(&backend->bpf->index, roots);
    } else {
        bpf_publish(backend->bpf, (uint32_t)pid, roots);
    }
}

static void
query_hits(void *context, KPROFILE_SOURCE number, ULONG64 *counted, ULONG64 *outside)
{
    const struct bpf_backend *const backend = context;
    const struct perf_source *const source =
        perf_sources_find(&backend->bpf->sources, number);
    uint64_t in_profiles = 0;
    uint64_t in_none = 0;

    if (source != NULL) {
        bpf_query_hits(backend->bpf, source, &in_profiles, &in_none);
    }
    *counted = in_profiles;
    *outside = in_none;
}

static const HAL_COUNTING bpf_counting = {
    .Size = sizeof(HAL_COUNTING),
    .AllocateNodes = allocate_nodes,
    .FreeNodes = free_nodes,
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
    .QuerySource = query_source,
    .SetInterval = set_interval,
    .Flush = flush,
    .Synchronize = synchronize,
    .Counting = &bpf_counting,
};

/* ---- HAL_PAGES ---- */

static int
take_pages(void *context, size_t bytes, void **memory)
{
    const struct bpf_backend *const backend = context;
    const int result = bpf_pools_take(&backend->bpf->index.pools, bytes, memory);

    return result < 0 ? bpf_fail(backend->bpf, result, BPF_STAGE_MAP, "into the buffer")
                      : 0;
}

static void
give_pages(void *context, void *memory, size_t bytes)
{
    const struct bpf_backend *const backend = context;

    bpf_pools_give(&backend->bpf->index.pools, memory, bytes);
}

static int
map_pages(void *context, const void *memory, size_t bytes, void **mapping)
{
    const struct bpf_backend *const backend = context;

    return bpf_pools_map(&backend->bpf->index.pools, memory, bytes, mapping);
}

static const HAL_PAGES bpf_pages = {
    .Take = take_pages,
    .Give = give_pages,
    .Map = map_pages,
};

/* ---- HAL_BACKEND ---- */

/* All of it is made, since a kernel can refuse any of it: what was found out on the way
 * is the probe. */
static int
create_and_tell(bool user_only, struct bpf **bpf, HAL_PROBE *probed)
{
    struct bpf_refusal refusal;
    const int result = bpf_create(bpf_call_kernel, user_only, bpf, &refusal);

    *probed = (HAL_PROBE){0};
    if (result < 0) {
        probed->Shortage = perf_status_of(result) == STATUS_INSUFFICIENT_RESOURCES;
        snprintf(probed->Reason, sizeof(probed->Reason), "%s", refusal.reason);
        snprintf(probed->Remedy, sizeof(probed->Remedy), "%s", refusal.remedy);
        return result;
    }
    probed->Usable = TRUE;
    probed->Global = TRUE;
    probed->Kernel = (*bpf)->kernel_included;
    if (bpf_control_of(&(*bpf)->kernel)->namespace_inode != 0) {
        snprintf(probed->Reason, sizeof(probed->Reason),
                 "in a pid namespace of one's own, processes in namespaces below it "
                 "cannot be told apart in the interrupt: their hits are outside");
        snprintf(probed->Remedy, sizeof(probed->Remedy),
                 "use back end perf, or run in the first pid namespace or in theirs");
    }
    return 0;
}

static void
probe(HAL_PROBE *probed)
{
    struct bpf *bpf = NULL;

    if (create_and_tell(false, &bpf, probed) == 0) {
        bpf_delete(bpf);
    }
}

static void
tell_end(void *context, uint32_t pid)
{
    const struct bpf_backend *const backend = context;
    const ntprof_notification notification = {.kind = HAL_UNWATCHED_EXEC, .pid = pid};

    backend->notify(backend->notify_context, &notification);
}

static NTSTATUS
open_backend(const HAL_OPEN *open, void **context)
{
    struct bpf_backend *const backend = calloc(1, sizeof(*backend));
    HAL_PROBE unasked;
    int result;

    if (backend == NULL) {
        HalExplainFailure(open, "out of memory", "");
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    result = create_and_tell(open->UserOnly != 0, &backend->bpf,
                             open->Probe != NULL ? open->Probe : &unasked);
    if (result < 0) {
        free(backend);
        return perf_status_of(result);
    }
    backend->bpf->cgroup_fd = open->CgroupFd != NULL ? *open->CgroupFd : -1;
    backend->ke = open->Ke;
    backend->notify = open->Notify;
    backend->notify_context = open->NotifyContext;
    backend->bpf->ended = tell_end;
    backend->bpf->ended_context = backend;
    *context = backend;
    return STATUS_SUCCESS;
}

static void
close_backend(void *context)
{
    struct bpf_backend *const backend = context;

    bpf_delete(backend->bpf);
    free(backend);
}

static NTSTATUS
lookup_source(void *context, const char *text, KPROFILE_SOURCE *number)
{
    const struct bpf_backend *const backend = context;

    return perf_status_lookup_source(&backend->bpf->sources, text, number);
}

static NTSTATUS
next_source(void *context, ULONG index, KPROFILE_SOURCE *number)
{
    const struct bpf_backend *const backend = context;

    return perf_status_next_source(&backend->bpf->sources, index, number);
}

static uint64_t
count_unnumbered(const struct bpf *bpf)
{
    uint64_t unnumbered = 0;

    for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
        unnumbered += __atomic_load_n(&bpf_processors_of(&bpf->kernel)[i].unnumbered,
                                      __ATOMIC_RELAXED);
    }
    return unnumbered;
}

/* Hits that lay in more profiles than one interrupt serves. */
static uint64_t
count_cut(const struct bpf *bpf)
{
    uint64_t cut = 0;

    for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
        cut +=
            __atomic_load_n(&bpf_processors_of(&bpf->kernel)[i].cut, __ATOMIC_RELAXED);
    }
    return cut;
}

static void
tell_cut(const struct bpf *bpf, HAL_SOURCE_STATISTICS *answer)
{
    const uint64_t cut = count_cut(bpf);

    if (cut != 0) {
        snprintf(
            answer->Reason, sizeof(answer->Reason),
            "%llu hits of all sources were in so many profiles at once that some of "
            "these did not count them",
            (unsigned long long)cut);
    }
}

static NTSTATUS
query_source_statistics(void *context, KPROFILE_SOURCE number, ULONG64 taken,
                        HAL_SOURCE_STATISTICS *answer)
{
    const struct bpf_backend *const backend = context;
    struct perf_source *const source = find_source(backend->bpf, number);
    struct perf_statistics statistics;

    if (source == NULL) {
        return STATUS_NOT_FOUND;
    }
    bpf_settle(backend->bpf, source, taken, &statistics);
    perf_status_answer_statistics(source, &statistics, answer);
    tell_cut(backend->bpf, answer);
    return STATUS_SUCCESS;
}

static void
query_statistics(void *context, HAL_STATISTICS *statistics)
{
    const struct bpf_backend *const backend = context;

    *statistics = (HAL_STATISTICS){
        .Processes = backend->bpf->index.table.count,
        .Unnumbered = count_unnumbered(backend->bpf),
        .CounterBytes = bpf_pools_bytes(&backend->bpf->index.pools),
    };
}

/* Readable when a process with profiles has ended. */
static int
descriptor(void *context)
{
    const struct bpf_backend *const backend = context;

    return backend->bpf->epoll_fd;
}

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int
deliver(void *context)
{
    struct bpf_backend *const backend = context;
    const uint64_t now = now_ns();

    notice_halt(backend);
    bpf_notice(backend->bpf);
    if (backend->bpf->open_events == 0) {
        return -1;
    }
    if (now - backend->renewed_ns >= RENEWAL_NS) {
        backend->renewed_ns = now;
        bpf_renew(backend->bpf);
    }
    return DELIVERY_MS;
}

static void
freeze(void *context)
{
    const struct bpf_backend *const backend = context;

    bpf_freeze(backend->bpf);
}

static const char *
error(void *context)
{
    const struct bpf_backend *const backend = context;

    return backend->bpf->error;
}

static void
clear_error(void *context)
{
    const struct bpf_backend *const backend = context;

    backend->bpf->error[0] = 0;
}

const HAL_BACKEND HalBpfBackend = {
    .Name = "bpf",
    .Hal = &bpf_table,
    .Pages = &bpf_pages,
    .ByName = TRUE, /* its events are all processors', and it watches no process */
    .Probe = probe,
    .Open = open_backend,
    .Close = close_backend,
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
