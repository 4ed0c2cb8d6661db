/* SPDX-License-Identifier: MIT */
/* hal/perf/interval.c - opens the events of a source again, target by target. */
#include "hal/perf/interval.h"

#include "hal/perf/opening.h"
#include "hal/perf/stacks.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/* Add the descendants that a watch counts to the processes of the scan. */
static int
add_descendants(const struct perf *perf, const struct perf_target *target,
                struct perf_thread_scan *scan)
{
    const struct perf_idmap *const by_pid = &perf->stream.processes.by_pid;
    int result = 0;

    for (size_t i = 0; result == 0 && i < by_pid->capacity; i++) {
        const struct perf_process *process = by_pid->entries[i].value;

        for (size_t n = 0; process != NULL && result == 0 && n < process->watcher_count;
             n++) {
            if (process->watchers[n] == &target->watcher &&
                process->pid != target->pid) {
                result = perf_tids_add(&scan->pids, process->pid);
            }
        }
    }
    return result;
}

/* Close the target's events with indices below first_new that count the source, and
 * with side_band also those that count nothing. */
static void
close_before(struct perf *perf, struct perf_target *target,
             const struct perf_source *source, bool side_band, size_t first_new,
             uint64_t until_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < target->events.count; i++) {
        struct perf_event *event = target->events.items[i];

        if (i < first_new &&
            (event->source == source || (side_band && event->source == NULL))) {
            perf_event_close(perf, event, until_ns, PERF_COUNTS_ADDED);
        } else {
            target->events.items[kept++] = event;
        }
    }
    target->events.count = kept;
}

/* Change the period of the target's open events, which reaches no event that a thread
 * inherited: for targets whose events need not or cannot be opened again. */
static void
change_period(struct perf_target *target, const struct perf_source *source)
{
    uint64_t period = perf_source_period(source);

    for (size_t i = 0; i < target->events.count; i++) {
        struct perf_event *const event = target->events.items[i];

        if (event->source == source &&
            ioctl(event->fd, PERF_EVENT_IOC_PERIOD, &period) == 0) {
            event->period = period;
        }
    }
}

/* Return the set of processors on which the target has events of the source, which the
 * caller frees, or NULL if memory runs out. side_band: do any of these events have the
 * side band? */
static uint64_t *
find_counted_processors(const struct perf *perf, const struct perf_target *target,
                        const struct perf_source *source, bool *side_band)
{
    uint64_t *const processors = calloc(perf_set_words(perf), sizeof(*processors));

    *side_band = false;
    for (size_t i = 0; processors != NULL && i < target->events.count; i++) {
        const struct perf_event *const event = target->events.items[i];

        if (event->source == source) {
            perf_set_add(processors, event->processor);
            *side_band = *side_band || event->side_band;
        }
    }
    return processors;
}

/* Open the source again for all processes that the target counts, and close its old
 * events. Returns 0 or negative errno: then nothing changed. */
static int
reopen(struct perf *perf, struct perf_target *target, struct perf_source *source)
{
    const size_t before = target->events.count;
    struct perf_source *const sources[] = {source};
    struct perf_selection selection = {
        .sources = sources,
        .source_count = 1,
        .processor_words = perf_set_words(perf),
    };
    struct perf_thread_scan scan = {.follow = target->watcher.descendants};
    bool side_band;
    uint64_t *const processors =
        find_counted_processors(perf, target, source, &side_band);
    uint64_t from_ns;
    int result;

    if (processors == NULL) {
        return -ENOMEM;
    }
    selection.processors = processors;
    if (side_band) {
        selection.side_band = target->watch ? PERF_SIDE_BAND : PERF_SIDE_BAND_SELECTED;
    }
    result = add_descendants(perf, target, &scan);
    if (result == 0) {
        result = perf_open(perf, target, &selection, &scan, &from_ns);
    }
    if (result == 0) {
        close_before(perf, target, source, side_band, before, from_ns - 1);
    }
    perf_thread_scan_finish(&scan);
    free(processors);
    return result;
}

void
perf_set_interval(struct perf *perf, struct perf_source *source, uint64_t interval)
{
    const uint64_t allowed = perf_source_ask_interval(source, interval);
    const uint64_t period = perf_source_period(source);
    struct perf_counts counts;

    assert(perf_assert_state(perf));
    if (allowed == source->interval) {
        return;
    }
    source->interval = allowed;
    if (source->number == ProfileTime) {
        perf_stacks_adapt(perf);
    }
    for (struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        /* Before the exec, events are disabled and inherited by nobody. reopen fails if
         * descriptors ran out, or the caller lost the right to open events. */
        if (perf_target_has_event(target, source, PERF_ALL_PROCESSORS) &&
            (target->on_exec || reopen(perf, target, source) < 0)) {
            change_period(target, source);
        }
    }
    /* Now, as events with the old interval count until they are closed above. */
    perf_read_counts(perf, source, PERF_ALL_PROCESSORS, PERF_PERIOD_ENDS, &counts);
    perf_tally_close_period(&source->tally, &counts, period,
                            source->unit == NTPROF_UNIT_100NS);
}
