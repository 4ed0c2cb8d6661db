/* SPDX-License-Identifier: MIT */
/* hal/perf/watch.c - watches of single processes: their hits and notifications. */
#include "hal/perf/watch.h"

#include "hal/perf/opening.h"
#include "hal/perf/rings.h"
#include "hal/perf/start.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Fill in the sources and processors that a watch counts. Returns 0 or negative errno,
 * with the error text set. */
static int
watch_fill(struct perf *perf, struct perf_target *target, const HAL_WATCH *request)
{
    struct perf_context *const context = &perf->context;
    int result;

    target->watch = true;
    target->processor_words = ((size_t)request->ProcessorCount + 63) / 64;
    /* One more of each, because calloc of no items may return NULL. */
    target->sources = calloc(request->SourceCount + 1u, sizeof(struct perf_source *));
    target->processors =
        calloc(target->processor_words + 1, sizeof(*target->processors));
    if (target->sources == NULL || target->processors == NULL) {
        return perf_context_refuse(context, -ENOMEM, PERF_SCOPE_SELF, "watch");
    }
    for (ULONG i = 0; i < request->SourceCount; i++) {
        struct perf_source *const source =
            perf_context_find(context, request->Sources[i]);

        result = source == NULL ? -EOPNOTSUPP : perf_context_require(context, source);
        if (result < 0) {
            return result;
        }
        if (!perf_target_has_source(target, source)) {
            target->sources[target->source_count++] = source;
        }
    }
    memcpy(target->processors, request->Processors,
           target->processor_words * sizeof(*target->processors));
    return 0;
}

int
perf_attach(struct perf *perf, uint32_t pid, uint64_t time_ns,
            struct perf_watcher *watcher)
{
    struct perf_reading reading;
    struct perf_found found = {.pid = pid,
                               .mappings = &reading.mappings,
                               .read_ns = perf_stream_now_ns(&perf->stream)};
    const int result = perf_procfs_read(pid, &reading);
    int attached = 0;

    assert(perf_assert_state(perf));
    if (result == 0 ||
        (result == -EACCES && perf->machine != NULL && reading.tids.count > 0)) {
        found.name = reading.name;
        found.tids = reading.tids.items;
        found.tid_count = reading.tids.count;
        attached =
            process_table_attach(&perf->stream.processes, &found, time_ns, watcher);
    }
    perf_reading_finish(&reading);
    return attached < 0 && attached != -EEXIST ? attached : result;
}

void
perf_attach_found(struct perf *perf, uint32_t pid, uint64_t time_ns,
                  struct perf_watcher *watcher)
{
    const int result = perf_attach(perf, pid, time_ns, watcher);

    if (perf_is_shortage(result)) {
        perf->stream.processes.dropped++; /* the next delivery reads it again */
    } else if (result < 0 && result != -ECHILD && result != -ESRCH) {
        perf->unread++;
    }
}

/* Report the target's process, which is already running. While delivering is set,
 * flushes that callbacks ask for do nothing: their records would change the process. */
static int
watch_running(struct perf *perf, struct perf_target *target, uint64_t from_ns)
{
    const bool delivering = perf->stream.delivering;
    int result;

    perf->stream.delivering = true;
    result = perf_attach(perf, target->pid, from_ns, &target->watcher);
    perf->stream.delivering = delivering;
    /* A process that has exited but was not waited for (ECHILD) is refused as one that
     * is not there any more: STATUS_PROCESS_IS_TERMINATING. */
    return result == -ECHILD ? -ESRCH : result;
}

/* Add the watch to a process before its exec, if it is in the process table. If it is
 * not, the record of its exec adds both. */
static int
watch_before_exec(struct perf *perf, struct perf_target *target)
{
    struct perf_process *process =
        process_table_find(&perf->stream.processes, target->pid);

    return process != NULL ? process_table_add_watcher(process, &target->watcher) : 0;
}

int
perf_watch_create(struct perf *perf, const HAL_WATCH *request,
                  struct perf_target **created)
{
    struct perf_target *const target = perf_target_create((uint32_t)request->ProcessId);
    int result;

    assert(perf_assert_state(perf));
    if (target == NULL) {
        return perf_context_refuse(&perf->context, -ENOMEM, PERF_SCOPE_SELF, "watch");
    }
    result = watch_fill(perf, target, request);
    if (result == 0) {
        result = perf_make_rings(perf, request->ProcessId == 0);
    }
    if (result < 0) {
        perf_target_delete(perf, target);
        return result;
    }
    *created = target;
    return 0;
}

/* Do the events of started profiles count a source of the watch? */
static bool
counts_any(const struct perf_target *target, const struct perf_target *watch)
{
    for (size_t i = 0; i < watch->source_count; i++) {
        if (perf_target_has_event(target, watch->sources[i], PERF_ALL_PROCESSORS)) {
            return true;
        }
    }
    return false;
}

/* Refuse a watch that would count hits twice, or that would use events of an earlier
 * watch without descendants. Returns 0, or -EOPNOTSUPP with the error text set. */
static int
refuse_overlap(struct perf *perf, const struct perf_target *watch)
{
    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        if (!target->watch && target->pid != 0 &&
            (watch->watcher.descendants || target->pid == watch->pid) &&
            counts_any(target, watch)) {
            return perf_context_fail(
                &perf->context, -EOPNOTSUPP,
                "profiles of process %u have been started with the same source: stop "
                "them, and start them after the watch",
                target->pid);
        }
        if (target->watch && target->pid == watch->pid && watch->watcher.descendants &&
            !target->watcher.descendants &&
            process_table_find(&perf->stream.processes, target->pid) != NULL) {
            return perf_context_fail(
                &perf->context, -EOPNOTSUPP,
                "process %u is watched already, without its descendants: begin with "
                "the watch that has them, or open another session",
                target->pid);
        }
    }
    return 0;
}

int
perf_watch(struct perf *perf, const HAL_WATCH *request)
{
    const uint32_t pid = (uint32_t)request->ProcessId;
    struct perf_selection selection = {.skip_covered = true};
    struct perf_thread_scan scan = {0};
    struct perf_target *target;
    uint64_t from_ns = perf_stream_now_ns(&perf->stream);
    int result;

    assert(perf_assert_state(perf));
    if (perf->context.cgroup_fd >= 0) {
        return perf_refuse_in_cgroup(perf);
    }
    if (perf->machine != NULL) {
        return perf_context_fail(&perf->context, -EOPNOTSUPP,
                                 "the session watches all processes already");
    }
    result = perf_watch_create(perf, request, &target);
    if (result < 0) {
        return result;
    }
    target->watcher.descendants = (request->Flags & NTPROF_WATCH_DESCENDANTS) != 0;
    target->on_exec = (request->Flags & NTPROF_WATCH_ON_EXEC) != 0;
    result = refuse_overlap(perf, target);
    if (result < 0) {
        perf_target_delete(perf, target);
        return result;
    }
    selection.sources = target->sources;
    selection.source_count = target->source_count;
    selection.processors = target->processors;
    selection.processor_words = target->processor_words;
    if (process_table_find(&perf->stream.processes, pid) == NULL) {
        selection.side_band = PERF_SIDE_BAND;
    }
    result = perf_open(perf, target, &selection, &scan, &from_ns);
    if (result == 0 || result == -ENOENT) { /* -ENOENT: other watches count it all */
        perf_target_link(perf, target);
        result = target->on_exec ? watch_before_exec(perf, target)
                                 : watch_running(perf, target, from_ns);
        if (result == 0) {
            return 0;
        }
        perf_target_unlink(perf, target);
    }
    perf_target_delete(perf, target);
    return perf_context_refuse(&perf->context, result, PERF_SCOPE_PROCESS,
                               "watch process %u", pid);
}
