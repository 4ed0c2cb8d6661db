/* SPDX-License-Identifier: MIT */
/* hal/perf/watch.c - watches of single processes: their hits and notifications. */
#include "hal/perf/opening.h"
#include "hal/perf/perf.h"
#include "hal/perf/whole_machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copy the sources and processors that a watch counts. */
static int
watch_fill(struct perf_target *target, const HAL_WATCH *request,
           struct perf_source *const *sources)
{
    target->processor_words = ((size_t)request->ProcessorCount + 63) / 64;
    target->sources = calloc(request->SourceCount + 1u, sizeof(struct perf_source *));
    target->processors =
        calloc(target->processor_words + 1, sizeof(*target->processors));
    if (target->sources == NULL || target->processors == NULL) {
        return -ENOMEM;
    }
    for (ULONG i = 0; i < request->SourceCount; i++) {
        if (!perf_target_has_source(target, sources[i])) {
            target->sources[target->source_count++] = sources[i];
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
    struct perf_found found = {
        .pid = pid, .mappings = &reading.mappings, .read_ns = perf_now_ns()};
    const int result = perf_procfs_read(pid, &reading);
    int attached = 0;

    if (result == 0 ||
        (result == -EACCES && perf->machine_ns != 0 && reading.tids.count > 0)) {
        found.name = reading.name;
        found.tids = reading.tids.items;
        found.tid_count = reading.tids.count;
        attached =
            process_table_attach(&perf->stream.processes, &found, time_ns, watcher);
    }
    perf_reading_finish(&reading);
    return attached < 0 && attached != -EEXIST ? attached : result;
}

/* Report a process that is already running. Callbacks must not flush: records would
 * change the process that is being reported. */
static int
watch_running(struct perf *perf, struct perf_target *target, uint64_t from_ns)
{
    const bool delivering = perf->stream.delivering;
    int result;

    perf->stream.delivering = true;
    result = perf_attach(perf, target->pid, from_ns, &target->watcher);
    perf->stream.delivering = delivering;
    if (result == -EACCES && perf->machine_ns != 0) {
        return 0;
    }
    return result == -ECHILD ? -ESRCH : result;
}

/* Add the watch to a process that is to exec and is in the table already: its exec adds
 * only unknown processes. */
static int
watch_known(struct perf *perf, struct perf_target *target)
{
    struct perf_process *process =
        process_table_find(&perf->stream.processes, target->pid);

    return process != NULL ? process_table_add_watcher(process, &target->watcher) : 0;
}

int
perf_refuse_in_cgroup(struct perf *perf)
{
    snprintf(perf->context.error, sizeof(perf->context.error),
             "the session counts a cgroup, and the back end perf cannot count a single "
             "process in it: watch all processes");
    return -EOPNOTSUPP;
}

int
perf_watch_create(struct perf *perf, const HAL_WATCH *request,
                  struct perf_source *const *sources, struct perf_target **created)
{
    struct perf_target *target;
    int result = 0;

    for (ULONG i = 0; result == 0 && i < request->SourceCount; i++) {
        result = perf_context_require(&perf->context, sources[i]);
    }
    if (result == 0) {
        result = perf_make_rings(perf);
    }
    if (result < 0) {
        return result;
    }
    /* The table must have the process that has the pid now, not an exited one. */
    perf_flush(perf);
    target = perf_target_create((uint32_t)request->ProcessId);
    if (target == NULL) {
        return perf_fail(perf, -ENOMEM, PERF_SCOPE_SELF, "watch");
    }
    target->watch = true;
    result = watch_fill(target, request, sources);
    if (result < 0) {
        perf_target_delete(perf, target);
        return perf_fail(perf, result, PERF_SCOPE_SELF, "watch");
    }
    *created = target;
    return 0;
}

/* Add the target, and report its process unless it is to exec. */
static int
watch_begin(struct perf *perf, struct perf_target *target, uint64_t from_ns)
{
    int result;

    target->next = perf->targets;
    perf->targets = target;
    result = target->on_exec ? watch_known(perf, target)
                             : watch_running(perf, target, from_ns);
    if (result < 0) {
        perf_target_unlink(perf, target);
    }
    return result;
}

int
perf_watch(struct perf *perf, const HAL_WATCH *request,
           struct perf_source *const *sources)
{
    const uint32_t pid = (uint32_t)request->ProcessId;
    struct perf_selection selection = {0};
    struct perf_target *private_target;
    struct perf_target *target;
    uint64_t from_ns;
    int result;

    if (perf->context.cgroup_fd >= 0) {
        return perf_refuse_in_cgroup(perf);
    }
    result = perf_watch_create(perf, request, sources, &target);
    if (result < 0) {
        return result;
    }
    target->watcher.descendants = (request->Flags & NTPROF_WATCH_DESCENDANTS) != 0;
    target->on_exec = (request->Flags & NTPROF_WATCH_ON_EXEC) != 0;
    selection.sources = target->sources;
    selection.source_count = target->source_count;
    selection.processors = target->processors;
    selection.processor_words = target->processor_words;
    selection.side_band = perf->machine_ns == 0 &&
                          process_table_find(&perf->stream.processes, pid) == NULL;
    selection.skip_covered = true;

    from_ns = perf_now_ns();
    result = perf_open_process(perf, target, &selection, &from_ns);
    if (result == -ENOENT) {
        result = 0; /* other watches count all of it */
    }
    if (result < 0) {
        goto delete_target;
    }
    result = watch_begin(perf, target, from_ns);
    if (result < 0) {
        goto delete_target;
    }
    private_target = perf_find_private(perf, pid);
    if (private_target != NULL) {
        perf_target_give_over(perf, private_target, target, from_ns - 1);
    }
    return 0;

delete_target:
    perf_target_delete(perf, target);
    return perf_fail(perf, result, PERF_SCOPE_PROCESS, "watch process %u", pid);
}
