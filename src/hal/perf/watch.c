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
watch_fill(struct perf_target *target, struct perf_source *const *sources,
           size_t source_count, const uint64_t *processors, size_t processor_words)
{
    target->sources = calloc(source_count + 1, sizeof(struct perf_source *));
    target->processors = calloc(processor_words + 1, sizeof(*target->processors));
    if (target->sources == NULL || target->processors == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < source_count; i++) {
        if (!perf_target_has_source(target, sources[i])) {
            target->sources[target->source_count++] = sources[i];
        }
    }
    memcpy(target->processors, processors, processor_words * sizeof(*processors));
    target->processor_words = processor_words;
    return 0;
}

/* Close the events of started profiles that the watch's events replace. */
static void
take_over_private(struct perf *perf, const struct perf_target *watch, uint64_t from_ns)
{
    struct perf_target *target = perf_find_private(perf, watch->pid);

    if (target == NULL) {
        return;
    }
    for (size_t i = 0; i < watch->source_count; i++) {
        for (uint32_t n = 0; n < perf->processor_limit; n++) {
            if (perf_set_holds(watch->processors, watch->processor_words, n)) {
                perf_target_close(perf, target, watch->sources[i], n, from_ns);
            }
        }
    }
    perf_target_drop_if_empty(perf, target);
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
perf_watch_create(struct perf *perf, uint32_t pid, struct perf_source *const *sources,
                  size_t source_count, const uint64_t *processors,
                  size_t processor_words, struct perf_target **created)
{
    struct perf_target *target;
    int result = 0;

    for (size_t i = 0; result == 0 && i < source_count; i++) {
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
    target = perf_target_create(pid);
    if (target == NULL) {
        return perf_fail(perf, -ENOMEM, PERF_SCOPE_SELF, "watch");
    }
    target->watch = true;
    result = watch_fill(target, sources, source_count, processors, processor_words);
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
perf_watch(struct perf *perf, uint32_t pid, bool descendants, bool on_exec,
           struct perf_source *const *sources, size_t source_count,
           const uint64_t *processors, size_t processor_words)
{
    struct perf_selection selection = {0};
    struct perf_target *target;
    uint64_t from_ns;
    int result;

    if (perf->context.cgroup_fd >= 0) {
        return perf_refuse_in_cgroup(perf);
    }
    result = perf_watch_create(perf, pid, sources, source_count, processors,
                               processor_words, &target);
    if (result < 0) {
        return result;
    }
    target->watcher.descendants = descendants;
    target->on_exec = on_exec;
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
    take_over_private(perf, target, from_ns - 1);
    return 0;

delete_target:
    perf_target_delete(perf, target);
    return perf_fail(perf, result, PERF_SCOPE_PROCESS, "watch process %u", pid);
}
