/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/duplicate.c - closes events whose hits another event counts too.
 *
 * For each thread, source and processor with hits of an event that has may_duplicate,
 * the map counted_by has the event that counts them. What a hit of event E does, by the
 * event that the map has:
 *
 *     none       The map gets E for the thread, and the hit counts.
 *     E          The hit counts.
 *     another O  If O was closed before the hit: as with none. Else O has counted the
 *                thread until now, so the hit does not count, and the newer of the two,
 *                with the larger id, is ended. If that is O, the map gets E.
 *
 * An ended event is CLOSED (target.h), or was already, and until_ns is the time of the
 * hit; what it counted is out of the statistics. assert_duplicate_state() checks the
 * event of each hit, and that of the map.
 */
#include "hal/perf/duplicate.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Return the key in counted_by of a thread for events of this source and processor. */
static uint64_t
thread_key(const struct perf_source *source, uint32_t processor, uint32_t tid)
{
    return (uint64_t)source->number << 48 | (uint64_t)processor << 32 | tid;
}

#ifndef NDEBUG
/* May this event count threads of the map: has it a source, and may it be one of two?
 * other: of the map for the same thread; may be NULL. */
static bool
assert_duplicate_state(const struct perf *perf, const struct perf_event *event,
                       const struct perf_event *other)
{
    assert(perf_assert_event_state(perf, event));
    assert(event->source != NULL && event->may_duplicate && event->from_ns != 0);
    if (other != NULL && other != event) {
        assert(perf_assert_event_state(perf, other));
        assert(other->source == event->source && other->may_duplicate);
        assert(other->processor == event->processor && other->id != event->id);
    }
    return true;
}
#endif

/* Subtract what from *from, which becomes no less than 0. */
static void
subtract(uint64_t *from, uint64_t what)
{
    *from -= what < *from ? what : *from;
}

/* Remove an open event from its target's list. */
static void
unlist(struct perf_event *event)
{
    struct perf_events *const events = &event->target->events;
    size_t i = 0;

    while (events->items[i] != event) {
        i++;
        assert(i < events->count);
    }
    events->count--;
    memmove(&events->items[i], &events->items[i + 1],
            (events->count - i) * sizeof(struct perf_event *));
}

/* Close an event whose hits another event counts too, and subtract what it counted from
 * the statistics of its source. */
static void
end_duplicate(struct perf *perf, struct perf_event *event, uint64_t time_ns)
{
    struct perf_tally *const tally = &event->source->tally;

    subtract(&tally->discarded, event->discarded);
    subtract(&tally->discarded_events, event->discarded * event->period);
    event->discarded = 0; /* subtracted once: later hits may get here for this event */
    if (event->target != NULL) {
        unlist(event);
        perf_event_close(perf, event, time_ns, PERF_COUNTS_DROPPED);
        return;
    }
    /* The event was closed, and its counts added, before this hit was delivered. */
    event->until_ns = time_ns;
    subtract(&tally->events, event->accounted.events);
    subtract(&tally->running_ns, event->accounted.running_ns);
    subtract(&tally->lost, event->accounted.lost);
    event->accounted = (struct perf_counts){0};
}

int
perf_duplicate_hit(struct perf *perf, struct perf_event *event, uint32_t tid,
                   uint64_t time_ns)
{
    const uint64_t key = thread_key(event->source, event->processor, tid);
    struct perf_event *const other = perf_idmap_find(&perf->counted_by, key);

    assert(assert_duplicate_state(perf, event, other));
    if (other == event) {
        return 1;
    }
    if (other == NULL || other->until_ns < time_ns) {
        return perf_idmap_put(&perf->counted_by, key, event) < 0 ? -ENOMEM : 1;
    }
    /* The kernel numbers events in the order of opening. Whichever of the two is
     * closed, the hit is not counted now: other has counted the thread until now. */
    if (event->id > other->id) {
        end_duplicate(perf, event, time_ns);
    } else {
        end_duplicate(perf, other, time_ns);
        /* If memory runs out, the map keeps the closed event until the next hit. */
        (void)perf_idmap_put(&perf->counted_by, key, event);
    }
    return 0;
}

/* Remove a thread's keys of a source; without events it has none. */
static void
forget_source(struct perf *perf, const struct perf_source *source, uint32_t tid)
{
    for (uint32_t i = 0; source->tally.instances > 0 && i < perf->processor_limit;
         i++) {
        if (perf->rings[i] != NULL) {
            perf_idmap_remove(&perf->counted_by, thread_key(source, i, tid));
        }
    }
}

/* Not by events: there may be one for each thread and processor, and each start and
 * exit of a thread gets here. */
void
perf_duplicate_forget_thread(struct perf *perf, uint32_t tid)
{
    const struct perf_sources *const sources = &perf->context.sources;

    for (size_t i = 0; perf->counted_by.count > 0 && i < sources->count; i++) {
        forget_source(perf, sources->items[i], tid);
    }
}
