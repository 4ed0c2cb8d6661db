/* SPDX-License-Identifier: MIT */
/* hal/perf/target.c - the list of targets, and what happens to open events. */
#include "hal/perf/target.h"

#include "hal/linux/descriptor.h"

#include <assert.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifndef NDEBUG
bool
perf_assert_event_state(const struct perf *perf, const struct perf_event *event)
{
    assert(perf_idmap_find(&perf->events, event->id) == event);
    assert(event->processor < perf->processor_limit &&
           perf->rings[event->processor] != NULL);
    assert(event->source != NULL || event->side_band);
    if (event->target == NULL) { /* CLOSED */
        assert(event->fd < 0 && event->until_ns != UINT64_MAX);
        return true;
    }
    assert(event->fd >= 0 && event->until_ns == UINT64_MAX); /* OPENING, COUNTING */
    assert(event->next_closed == NULL);
    return true;
}

bool
perf_assert_target_state(const struct perf *perf, const struct perf_target *target)
{
    if (target->watch) {
        assert(target->sources != NULL && target->processors != NULL);
        assert(target->pidfd < 0);
        assert(!target->on_exec || target->pid != 0);
    } else {
        assert(target->source_count == 0 && target->processors == NULL);
        assert(!target->on_exec && !target->watcher.descendants);
        assert(target->pid != 0 || target->pidfd < 0);
    }
    for (size_t i = 0; i < target->events.count; i++) {
        assert(target->events.items[i]->target == target);
        assert(target->events.items[i]->from_ns != 0);
        assert(perf_assert_event_state(perf, target->events.items[i]));
    }
    return true;
}

bool
perf_assert_state(const struct perf *perf)
{
    size_t machines = 0;

    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        assert(perf->ring_bytes != 0);
        if (target->watch) {
            assert(perf->machine == NULL || perf->machine == target);
            assert(perf->machine == target || target->pid != 0);
        }
        machines += target == perf->machine;
    }
    assert(machines == (perf->machine != NULL));
    assert(perf->stream.processes.all == (perf->machine != NULL));
    return true;
}
#endif

/* ---- events ---- */

void
perf_event_close(struct perf *perf, struct perf_event *event, uint64_t until_ns,
                 enum perf_closing closing)
{
    struct perf_counts counts;

    assert(event->target != NULL && perf_assert_event_state(perf, event));
    /* Disabled before its count is read, so no hit is made in between: delivery passes
     * on each hit that was counted, or adds it to discarded. */
    (void)ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
    perf_event_read_counts(event, &perf->features, &counts);
    perf->rings[event->processor]->lost_closed += counts.lost;
    if (event->source != NULL && closing == PERF_COUNTS_ADDED) {
        perf_tally_add(&event->source->tally, &counts);
        event->accounted = counts;
    }
    perf_descriptor_close(event->fd);
    event->fd = -1;
    event->target = NULL;
    event->until_ns = until_ns;
    event->closed_ns = perf_stream_now_ns(&perf->stream);
    event->next_closed = perf->closed;
    perf->closed = event;
    assert(perf_assert_event_state(perf, event));
}

void
perf_event_forget(struct perf *perf, struct perf_event *event)
{
    perf_idmap_remove(&perf->events, event->id);
    perf_descriptor_close(event->fd);
    free(event);
}

/* Is the event CLOSED, and were its records delivered up to bound_ns? */
static bool
is_over(const struct perf_event *event, uint64_t bound_ns)
{
    return event->target == NULL && event->closed_ns <= bound_ns;
}

/* Remove from the map counted_by the threads that events count which are over. One pass
 * for all of these: of both there may be as many as threads times processors. */
static void
forget_threads(struct perf_idmap *counted_by, uint64_t bound_ns)
{
    size_t i = 0;

    while (counted_by->count > 0 && i < counted_by->capacity) {
        const struct perf_event *const event = counted_by->entries[i].value;

        if (event != NULL && is_over(event, bound_ns)) {
            /* Removing may move another entry to index i. */
            perf_idmap_remove(counted_by, counted_by->entries[i].id);
        } else {
            i++;
        }
    }
}

void
perf_reap_closed(struct perf *perf, uint64_t bound_ns)
{
    struct perf_event **link = &perf->closed;

    if (perf->closed != NULL) {
        forget_threads(&perf->counted_by, bound_ns);
    }
    while (*link != NULL) {
        struct perf_event *event = *link;

        if (!is_over(event, bound_ns)) {
            link = &event->next_closed;
            continue;
        }
        assert(event->target == NULL && perf_assert_event_state(perf, event));
        *link = event->next_closed;
        perf_event_forget(perf, event);
    }
}

/* Events are disabled one after the other, but all stop counting at the same time:
 * delivery drops hits after frozen_ns. */
void
perf_freeze(void *context)
{
    struct perf *const perf = context;
    const uint64_t now_ns = perf_stream_now_ns(&perf->stream);

    perf->frozen_ns = now_ns < perf->frozen_ns ? now_ns : perf->frozen_ns;
    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        for (size_t i = 0; i < target->events.count; i++) {
            if (target->events.items[i]->source != NULL) {
                (void)ioctl(target->events.items[i]->fd, PERF_EVENT_IOC_DISABLE, 0);
            }
        }
    }
}

void
perf_read_counts(const struct perf *perf, const struct perf_source *source,
                 uint32_t processor, enum perf_period period,
                 struct perf_counts *counts)
{
    *counts = (struct perf_counts){0};
    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        for (size_t i = 0; i < target->events.count; i++) {
            struct perf_event *event = target->events.items[i];

            if ((source == NULL || event->source == source) &&
                (processor == PERF_ALL_PROCESSORS || event->processor == processor)) {
                perf_event_add_counts(event, &perf->features, period, counts);
            }
        }
    }
}

/* ---- what is counted ---- */

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
perf_target_has_event(const struct perf_target *target,
                      const struct perf_source *source, uint32_t processor)
{
    for (size_t i = 0; i < target->events.count; i++) {
        if (target->events.items[i]->source == source &&
            (processor == PERF_ALL_PROCESSORS ||
             target->events.items[i]->processor == processor)) {
            return true;
        }
    }
    return false;
}

/* Does the watch count this source on this processor? NULL does not. */
static bool
covers(const struct perf_target *target, const struct perf_source *source,
       uint32_t processor)
{
    return target != NULL && perf_target_has_source(target, source) &&
           perf_set_holds(target->processors, target->processor_words, processor);
}

bool
perf_is_covered(const struct perf *perf, const struct perf_source *source,
                uint32_t processor, uint32_t pid)
{
    const struct perf_process *process =
        process_table_find(&perf->stream.processes, pid);

    if (covers(perf->machine, source, processor)) {
        return true;
    }
    for (size_t i = 0; process != NULL && i < process->watcher_count; i++) {
        if (covers((const struct perf_target *)process->watchers[i], source,
                   processor)) {
            return true;
        }
    }
    /* The process of a command is in the table only from its exec on. */
    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        if (target->on_exec && target->pid == pid &&
            covers(target, source, processor)) {
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
    const uint64_t now_ns = perf_stream_now_ns(&perf->stream);

    assert(perf->machine != target); /* it may be incomplete, if memory ran out */
    for (size_t i = 0; i < target->events.count; i++) {
        perf_event_close(perf, target->events.items[i], now_ns, PERF_COUNTS_ADDED);
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
perf_target_link(struct perf *perf, struct perf_target *target)
{
    assert(perf_assert_target_state(perf, target));
    assert(target->watch || perf_find_private(perf, target->pid) == NULL);
    target->next = perf->targets;
    perf->targets = target;
}

void
perf_target_unlink(struct perf *perf, const struct perf_target *target)
{
    struct perf_target **link = &perf->targets;

    assert(perf_assert_target_state(perf, target) && perf->machine != target);
    while (*link != target) {
        assert(*link != NULL);
        link = &(*link)->next;
    }
    *link = target->next;
}

void
perf_target_close(struct perf *perf, struct perf_target *target,
                  const struct perf_source *source, uint32_t processor,
                  uint64_t until_ns)
{
    size_t kept = 0;

    assert(perf_assert_target_state(perf, target));
    for (size_t i = 0; i < target->events.count; i++) {
        struct perf_event *event = target->events.items[i];

        if ((source == NULL || event->source == source) &&
            event->processor == processor) {
            perf_event_close(perf, event, until_ns, PERF_COUNTS_ADDED);
        } else {
            target->events.items[kept++] = event;
        }
    }
    target->events.count = kept;
}

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
