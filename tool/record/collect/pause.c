/* SPDX-License-Identifier: MIT */
/* pause.c - statistics without pauses, and the pauses of a collector. */
#include "record/collect/pause.h"
#include "record/collect/collectorp.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* The members that a pause reduces. expected is computed from them: taken, which is
 * counted plus outside, plus all that follow it up to excluded. */
static const size_t part_offsets[PAUSE_PARTS] = {
    offsetof(ntprof_source_info, counted),       offsetof(ntprof_source_info, outside),
    offsetof(ntprof_source_info, taken),         offsetof(ntprof_source_info, lost),
    offsetof(ntprof_source_info, throttled),     offsetof(ntprof_source_info, missed),
    offsetof(ntprof_source_info, unfinished),    offsetof(ntprof_source_info, excluded),
    offsetof(ntprof_source_info, outside_kernel)};

/* Return the value of a member by its index in part_offsets. */
static uint64_t
get_part(const ntprof_source_info *info, size_t part)
{
    uint64_t value;

    memcpy(&value, (const char *)info + part_offsets[part], sizeof(value));
    return value;
}

/* Set a member by its index in part_offsets. */
static void
set_part(ntprof_source_info *info, size_t part, uint64_t value)
{
    memcpy((char *)info + part_offsets[part], &value, sizeof(value));
}

/* Return how many events the kernel counted: interval_measured is their number divided
 * by the hits taken. */
static double
count_events(const ntprof_source_info *info)
{
    return info->interval_measured * (double)info->taken;
}

void
pause_begin(struct pause *pause, const ntprof_source_info *now)
{
    assert(!pause->paused);
    pause->paused = true;
    pause->begin = *now;
}

void
pause_end(struct pause *pause, const ntprof_source_info *now)
{
    assert(pause->paused);
    for (size_t i = 0; i < PAUSE_PARTS; i++) {
        pause->left_out[i] += get_part(now, i) - get_part(&pause->begin, i);
    }
    pause->events_left_out += count_events(now) - count_events(&pause->begin);
    pause->paused = false;
}

void
pause_apply(const struct pause *pause, ntprof_source_info *info)
{
    const ntprof_source_info now = pause->paused ? pause->begin : *info;
    const double events = count_events(&now) - pause->events_left_out;

    for (size_t i = 0; i < PAUSE_PARTS; i++) {
        const uint64_t part = get_part(&now, i) - pause->left_out[i];

        set_part(info, i, (int64_t)part < 0 ? 0 : part);
    }
    info->expected = info->taken + info->lost + info->throttled + info->missed +
                     info->unfinished + info->excluded;
    info->interval_measured =
        info->taken > 0 && events > 0 ? events / (double)info->taken : 0;
}

/* Begin a pause of all sources (apply is pause_begin) or end it (pause_end). First
 * collector_read folds the hits of each source up to the moment of its statistics, so
 * that both change at the same hit. While images.discarding is set, folds drop hits.
 * Returns false if nothing changed. */
static bool
set_paused(struct collector *collector, bool paused,
           void (*apply)(struct pause *pause, const ntprof_source_info *now))
{
    bool changed;

    delivery_lock(&collector->delivery);
    changed = !collector->ended && collector->images.discarding != paused &&
              collector_read(collector);
    for (size_t i = 0; changed && i < collector->options.source_count; i++) {
        apply(&collector->pauses[i], &collector->session_statistics[i]);
    }
    if (changed) {
        collector->images.discarding = paused;
    }
    delivery_unlock(&collector->delivery);
    return changed;
}

bool
collector_pause(struct collector *collector)
{
    return set_paused(collector, true, pause_begin);
}

bool
collector_resume(struct collector *collector)
{
    return set_paused(collector, false, pause_end);
}
