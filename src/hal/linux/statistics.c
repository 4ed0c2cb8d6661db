/* SPDX-License-Identifier: MIT */
/* hal/linux/statistics.c - computes hits expected, taken and not taken. */
#include "hal/linux/statistics.h"

#include "hal/linux/array.h"

#include <assert.h>

__extension__ typedef unsigned __int128 wide;

/* Return a * b / c without overflow on the way; c is not 0. */
static uint64_t
scale(uint64_t a, uint64_t b, uint64_t c)
{
    const wide scaled = (wide)a * b / c;

    return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

/* Return a + b, or the most that there is. */
static uint64_t
add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Return a - b, or 0 if b is larger. */
static uint64_t
subtract(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Return how many events passed while the source was throttled. counts: in, of the
 * period in which it was for throttled_ns. */
static uint64_t
throttled_events(uint64_t throttled_ns, const struct perf_counts *counts, bool is_time)
{
    if (is_time) {
        return throttled_ns;
    }
    /* At the rate at which events came while they were counted. */
    return counts->running_ns == 0
               ? 0
               : scale(throttled_ns, counts->events, counts->running_ns);
}

void
perf_tally_add(struct perf_tally *tally, const struct perf_counts *counts)
{
    tally->events += counts->events;
    tally->running_ns += counts->running_ns;
    tally->throttled_ns += counts->silent_ns;
    tally->lost += counts->lost;
}

void
perf_tally_close_period(struct perf_tally *tally, const struct perf_counts *open,
                        uint64_t interval, bool is_time)
{
    const struct perf_counts counts = {.events = tally->events + open->events,
                                       .running_ns =
                                           tally->running_ns + open->running_ns};
    const uint64_t throttled =
        throttled_events(tally->throttled_ns + open->silent_ns, &counts, is_time);

    tally->done_events = add(tally->done_events, add(counts.events, throttled));
    tally->done_expected += counts.events / interval;
    tally->done_throttled += throttled / interval;
    tally->events = 0;
    tally->running_ns = 0;
    tally->throttled_ns = 0;
}

/* Reduce Lost to lost hits: the kernel counts lost records of mappings and threads too.
 * What exceeds the hits that are expected and not accounted for yet were no hits. */
static void
limit_lost(HAL_SOURCE_STATISTICS *statistics, uint64_t accounted_for)
{
    const uint64_t room =
        statistics->Expected > accounted_for ? statistics->Expected - accounted_for : 0;

    if (statistics->Lost > room) {
        statistics->Lost = room;
    }
}

void
perf_statistics_add_up(const struct perf_tally *tally, const struct perf_counts *open,
                       uint64_t period, bool is_time, uint64_t taken,
                       bool kernel_included, HAL_SOURCE_STATISTICS *statistics)
{
    struct perf_tally closed = *tally;
    uint64_t accounted_for;
    uint64_t difference;

    perf_tally_close_period(&closed, open, period, is_time);
    *statistics = (HAL_SOURCE_STATISTICS){
        .Events = subtract(closed.done_events, tally->discarded_events),
        .Throttled = closed.done_throttled,
        .Lost = closed.lost + open->lost,
    };
    statistics->Expected =
        subtract(closed.done_expected + statistics->Throttled, tally->discarded);
    accounted_for = taken + statistics->Throttled;
    limit_lost(statistics, accounted_for);
    accounted_for += statistics->Lost;
    if (statistics->Expected < accounted_for) {
        statistics->Expected = accounted_for;
    }
    difference = statistics->Expected - accounted_for;
    if (is_time && !kernel_included) {
        statistics->Excluded = difference;
    } else if (period > 1) { /* an interval of one event is never unfinished */
        statistics->Unfinished =
            difference < tally->instances ? difference : tally->instances;
    }
    statistics->Missed = difference - statistics->Excluded - statistics->Unfinished;
    assert(statistics->Expected == taken + statistics->Lost + statistics->Throttled +
                                       statistics->Missed + statistics->Unfinished +
                                       statistics->Excluded);
}

/* Remove a throttle that ended: add the time that it lasted to its source. */
static void
end_throttle(struct perf_throttles *throttles, size_t index, uint64_t end_ns)
{
    const struct perf_throttle *throttle = &throttles->items[index];
    uint64_t length_ns = end_ns > throttle->begin_ns ? end_ns - throttle->begin_ns : 0;

    if (length_ns > PERF_THROTTLE_MAX_NS) {
        length_ns = PERF_THROTTLE_MAX_NS;
    }
    throttle->tally->throttled_ns += length_ns;
    throttles->items[index] = throttles->items[--throttles->count];
}

void
perf_throttles_expire(struct perf_throttles *throttles, uint64_t time_ns)
{
    for (size_t i = throttles->count; i-- > 0;) {
        if (time_ns > throttles->items[i].begin_ns + PERF_THROTTLE_MAX_NS) {
            end_throttle(throttles, i, time_ns);
        }
    }
}

void
perf_throttles_begin(struct perf_throttles *throttles, uint64_t stream_id,
                     uint64_t time_ns, struct perf_tally *tally)
{
    struct perf_throttle *items;

    /* One whose end was lost ends here. */
    perf_throttles_end(throttles, stream_id, time_ns);
    perf_throttles_expire(throttles, time_ns);
    items = perf_array_grow(throttles->items, throttles->count, sizeof(*items));
    if (items == NULL) {
        return; /* the hits show as missed instead */
    }
    throttles->items = items;
    throttles->items[throttles->count++] = (struct perf_throttle){
        .stream_id = stream_id, .begin_ns = time_ns, .tally = tally};
}

void
perf_throttles_end(struct perf_throttles *throttles, uint64_t stream_id,
                   uint64_t time_ns)
{
    for (size_t i = 0; i < throttles->count; i++) {
        if (throttles->items[i].stream_id == stream_id) {
            end_throttle(throttles, i, time_ns);
            return;
        }
    }
}

void
perf_throttles_finish(struct perf_throttles *throttles)
{
    free(throttles->items);
    *throttles = (struct perf_throttles){0};
}
