/* SPDX-License-Identifier: MIT */
/* hal/perf/start.c - private targets, and the events of started profiles in them. */
#include "hal/perf/start.h"

#include "hal/linux/procfs.h"
#include "hal/perf/opening.h"
#include "hal/perf/rings.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Return the private target of a process. It is made if there is none, or if the
 * process that it was made for has exited. NULL if memory runs out. */
static struct perf_target *
private_target(struct perf *perf, uint32_t pid)
{
    struct perf_target *target = perf_find_private(perf, pid);

    if (target != NULL && perf_pidfd_has_exited(target->pidfd)) {
        perf_target_unlink(perf, target);
        perf_target_delete(perf, target);
        target = NULL;
    }
    if (target == NULL) {
        target = perf_target_create(pid);
        if (target == NULL) {
            return NULL;
        }
        if (pid != 0) {
            target->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        }
        perf_target_link(perf, target);
    }
    return target;
}

/* Delete a target whose last event was closed, or never opened. */
static void
drop_if_empty(struct perf *perf, struct perf_target *target)
{
    if (target->events.count == 0) {
        perf_target_unlink(perf, target);
        perf_target_delete(perf, target);
    }
}

int
perf_refuse_in_cgroup(struct perf *perf)
{
    return perf_context_fail(
        &perf->context, -EOPNOTSUPP,
        "the session counts a cgroup, and the back end perf cannot count a single "
        "process in it: watch all processes");
}

int
perf_start(struct perf *perf, struct perf_source *source, uint32_t processor,
           uint32_t pid)
{
    const struct perf_target *target;
    uint32_t online = processor;
    int result;

    assert(perf_assert_state(perf));
    result = perf_context_require(&perf->context, source);
    if (result == 0) {
        result = perf_make_rings(perf, /* large */ false);
    }
    if (result < 0) {
        return result;
    }
    /* A processor that went offline after NtCreateProfileEx makes no interrupts. */
    if (!perf_next_online(perf, &online) || online != processor) {
        return 0;
    }
    result = perf_require_ring(perf, processor);
    if (result < 0) {
        return result == -ENODEV ? 0 : result;
    }
    if (perf_is_covered(perf, source, processor, pid)) {
        return 0;
    }
    if (pid != 0 && perf->context.cgroup_fd >= 0) {
        return perf_refuse_in_cgroup(perf);
    }
    target = private_target(perf, pid);
    if (target == NULL) {
        return perf_context_refuse(&perf->context, -ENOMEM, PERF_SCOPE_SELF, "count %s",
                                   source->name);
    }
    if (!perf_target_has_event(target, source, processor)) {
        perf_set_add(perf->starting, processor);
    }
    return 0;
}

/* Is no processor in the set? */
static bool
is_empty(const uint64_t *set, size_t words)
{
    for (size_t i = 0; i < words; i++) {
        if (set[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Set the error text of a failed start. */
static void
fail_begin(struct perf *perf, const struct perf_source *source, uint32_t pid, int error)
{
    if (pid == 0) {
        perf_context_refuse(&perf->context, error, PERF_SCOPE_ALL,
                            "count %s for all processes", source->name);
    } else {
        perf_context_refuse(&perf->context, error, PERF_SCOPE_PROCESS,
                            "count %s for process %u", source->name, pid);
    }
}

int
perf_begin(struct perf *perf, struct perf_source *source, uint32_t pid)
{
    const size_t words = perf_set_words(perf);
    struct perf_source *const sources[] = {source};
    /* Only the side band of a process reports its exec. */
    const struct perf_selection selection = {
        .sources = sources,
        .source_count = 1,
        .processors = perf->starting,
        .processor_words = words,
        .side_band = pid != 0 ? PERF_SIDE_BAND_SELECTED : PERF_NO_SIDE_BAND};
    struct perf_thread_scan scan = {0};
    struct perf_target *target;
    uint64_t from_ns;
    int result;

    assert(perf_assert_state(perf));
    if (is_empty(perf->starting, words)) {
        return 0;
    }
    target = perf_find_private(perf, pid);
    result = perf_open(perf, target, &selection, &scan, &from_ns);
    if (result < 0) {
        drop_if_empty(perf, target);
        fail_begin(perf, source, pid, result);
    }
    memset(perf->starting, 0, words * sizeof(*perf->starting));
    return result;
}

void
perf_stop(struct perf *perf, const struct perf_source *source, uint32_t processor,
          uint32_t pid)
{
    struct perf_target *target = perf_find_private(perf, pid);

    assert(perf_assert_state(perf));
    if (processor < perf->processor_limit) {
        perf_set_remove(perf->starting, processor);
    }
    /* If there is no private target, a watch counts for this profile, and continues. */
    if (target != NULL) {
        perf_target_close(perf, target, source, processor,
                          perf_stream_now_ns(&perf->stream));
        drop_if_empty(perf, target);
    }
}
