/* SPDX-License-Identifier: MIT */
/* hal/perf/target.c - targets, and the events of started profiles. */
#include "hal/linux/descriptor.h"
#include "hal/perf/opening.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- closing events ---- */

void
perf_event_close(struct perf *perf, struct perf_event *event, uint64_t until_ns,
                 bool count)
{
    struct perf_counts counts;

    assert(event->fd >= 0 && perf->rings[event->processor] != NULL);
    assert(perf_idmap_find(&perf->events, event->id) == event);
    /* Disabled first: then each hit counted here is taken later, or is untimely. */
    (void)ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
    perf_event_read_counts(event, &perf->features, &counts);
    perf->rings[event->processor]->lost_closed += counts.lost;
    if (event->source != NULL && count) {
        struct perf_tally *tally = &event->source->tally;

        tally->events += counts.events;
        tally->running_ns += counts.running_ns;
        tally->throttled_ns += counts.silent_ns;
        tally->lost += counts.lost;
        event->accounted = counts;
    }
    perf_descriptor_close(event->fd);
    event->fd = -1;
    event->target = NULL;
    event->until_ns = until_ns;
    event->closed_ns = perf_now_ns();
    event->next_closed = perf->closed;
    perf->closed = event;
}

void
perf_reap_closed(struct perf *perf, uint64_t bound_ns)
{
    struct perf_event **link = &perf->closed;

    while (*link != NULL) {
        struct perf_event *event = *link;

        if (event->closed_ns > bound_ns) {
            link = &event->next_closed;
            continue;
        }
        *link = event->next_closed;
        for (uint32_t i = 0; i < perf->processor_limit; i++) {
            if (perf->rings[i] != NULL && perf->rings[i]->last_event == event) {
                perf->rings[i]->last_event = NULL;
            }
        }
        perf_event_forget(perf, event);
    }
}

/* ---- what is covered ---- */

bool
perf_set_holds(const uint64_t *set, size_t words, uint32_t number)
{
    return number / 64 < words && (set[number / 64] >> (number % 64) & 1) != 0;
}

bool
perf_target_has_source(const struct perf_target *target,
                       const struct perf_source *source)
{
    for (size_t i = 0; i < target->source_count; i++) {
        if (target->sources[i] == source) {
            return true;
        }
    }
    return false;
}

bool
perf_watch_covers(const struct perf_target *target, const struct perf_source *source,
                  uint32_t processor)
{
    return target->watch && perf_target_has_source(target, source) &&
           perf_set_holds(target->processors, target->processor_words, processor);
}

static bool
is_watched(const struct perf *perf, uint32_t processor)
{
    return processor < perf->processor_limit && perf->rings[processor] != NULL &&
           perf->rings[processor]->watched;
}

bool
perf_is_covered(const struct perf *perf, const struct perf_source *source,
                uint32_t processor, uint32_t pid)
{
    const struct perf_process *process =
        process_table_find(&perf->stream.processes, pid);

    if (process != NULL) {
        for (size_t i = 0; i < process->watcher_count; i++) {
            if (perf_watch_covers((const struct perf_target *)process->watchers[i],
                                  source, processor)) {
                return true;
            }
        }
    }
    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        /* A watch of all processes, or of a command before its exec. */
        if ((target->pid == 0 ? is_watched(perf, processor)
                              : target->on_exec && target->pid == pid) &&
            perf_watch_covers(target, source, processor)) {
            return true;
        }
    }
    return false;
}

/* ---- targets ---- */

struct perf_target *
perf_target_create(uint32_t pid)
{
    struct perf_target *target = calloc(1, sizeof(*target));

    if (target != NULL) {
        target->pid = pid;
        target->pidfd = -1;
    }
    return target;
}

void
perf_target_delete(struct perf *perf, struct perf_target *target)
{
    const uint64_t now_ns = perf_now_ns();

    for (size_t i = 0; i < target->events.count; i++) {
        perf_event_close(perf, target->events.items[i], now_ns, true);
    }
    perf_events_finish(&target->events);
    if (target->pidfd >= 0) {
        close(target->pidfd);
    }
    free(target->sources);
    free(target->processors);
    free(target);
}

void
perf_target_close(struct perf *perf, struct perf_target *target,
                  const struct perf_source *source, uint32_t processor,
                  uint64_t until_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < target->events.count; i++) {
        struct perf_event *event = target->events.items[i];

        if ((source == NULL || event->source == source) &&
            event->processor == processor) {
            perf_event_close(perf, event, until_ns, true);
        } else {
            target->events.items[kept++] = event;
        }
    }
    target->events.count = kept;
}

void
perf_target_unlink(struct perf *perf, const struct perf_target *target)
{
    struct perf_target **link = &perf->targets;

    while (*link != target) {
        assert(*link != NULL);
        link = &(*link)->next;
    }
    *link = target->next;
}

void
perf_target_drop_if_empty(struct perf *perf, struct perf_target *target)
{
    if (!target->watch && target->events.count == 0) {
        perf_target_unlink(perf, target);
        perf_target_delete(perf, target);
    }
}

void
perf_target_give_over(struct perf *perf, struct perf_target *target,
                      const struct perf_target *watch, uint64_t until_ns)
{
    for (size_t i = 0; i < target->events.count;) {
        const struct perf_event *const event = target->events.items[i];

        if (event->source != NULL &&
            perf_watch_covers(watch, event->source, event->processor) &&
            (watch->pid != 0 || is_watched(perf, event->processor))) {
            perf_target_close(perf, target, event->source, event->processor, until_ns);
        } else {
            i++;
        }
    }
    perf_target_drop_if_empty(perf, target);
}

/* ---- started profiles ---- */

struct perf_target *
perf_find_private(const struct perf *perf, uint32_t pid)
{
    for (struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        if (!target->watch && target->pid == pid) {
            return target;
        }
    }
    return NULL;
}

static bool
has_exited(int pidfd)
{
    struct pollfd descriptor = {.fd = pidfd, .events = POLLIN};

    return pidfd >= 0 && poll(&descriptor, 1, 0) > 0;
}

/* Return the private target of a process. It is made if there is none, or if the
 * process that it was made for has exited. NULL without memory. */
static struct perf_target *
private_target(struct perf *perf, uint32_t pid)
{
    struct perf_target *target = perf_find_private(perf, pid);

    if (target != NULL && has_exited(target->pidfd)) {
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
        target->next = perf->targets;
        perf->targets = target;
    }
    return target;
}

bool
perf_target_has_event(const struct perf_target *target,
                      const struct perf_source *source, uint32_t processor)
{
    for (size_t i = 0; i < target->events.count; i++) {
        if (target->events.items[i]->source == source &&
            (processor == UINT32_MAX ||
             target->events.items[i]->processor == processor)) {
            return true;
        }
    }
    return false;
}

int
perf_start(struct perf *perf, struct perf_source *source, uint32_t processor,
           uint32_t pid)
{
    const struct perf_target *target;
    int result;

    result = perf_context_require(&perf->context, source);
    if (result == 0) {
        result = perf_make_rings(perf);
    }
    if (result < 0) {
        return result;
    }
    if (perf_processor_ring(perf, processor, &result) == NULL) {
        /* A processor that went offline after NtCreateProfileEx makes no interrupts. */
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
        return perf_fail(perf, -ENOMEM, PERF_SCOPE_SELF, "count %s", source->name);
    }
    if (!perf_target_has_event(target, source, processor)) {
        perf->starting[processor / 64] |= (uint64_t)1 << processor % 64;
    }
    return 0;
}

/* Set the error text of a failed start. Returns error. */
static int
fail_begin(struct perf *perf, const struct perf_source *source, uint32_t pid, int error)
{
    return pid == 0 ? perf_fail(perf, error, PERF_SCOPE_ALL,
                                "count %s for all processes", source->name)
                    : perf_fail(perf, error, PERF_SCOPE_PROCESS,
                                "count %s in process %u", source->name, pid);
}

static bool
set_is_empty(const uint64_t *set, size_t words)
{
    for (size_t i = 0; i < words; i++) {
        if (set[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Open the source for a process (0: all) on the processors that perf_start has put into
 * perf->starting. The side band of a process is needed to notice its exec. */
int
perf_begin(struct perf *perf, struct perf_source *source, uint32_t pid)
{
    const size_t words = perf_set_words(perf);
    struct perf_source *const sources[] = {source};
    const struct perf_selection selection = {.sources = sources,
                                             .source_count = 1,
                                             .processors = perf->starting,
                                             .processor_words = words,
                                             .side_band_there = pid != 0};
    struct perf_target *target;
    uint64_t from_ns;
    int result;

    if (set_is_empty(perf->starting, words)) {
        return 0;
    }
    target = perf_find_private(perf, pid);
    result = perf_open_process(perf, target, &selection, &from_ns);
    if (result < 0) {
        result = fail_begin(perf, source, pid, result);
        perf_target_drop_if_empty(perf, target);
    }
    memset(perf->starting, 0, words * sizeof(*perf->starting));
    return result;
}

void
perf_stop(struct perf *perf, struct perf_source *source, uint32_t processor,
          uint32_t pid)
{
    struct perf_target *target = perf_find_private(perf, pid);

    if (processor < perf->processor_limit) {
        perf->starting[processor / 64] &= ~((uint64_t)1 << processor % 64);
    }
    /* Without a private target a watch counts the source, and continues. */
    if (target != NULL) {
        perf_target_close(perf, target, source, processor, perf_now_ns());
        perf_target_drop_if_empty(perf, target);
    }
}
