/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/deliver.c - passes each record on, and makes up for lost records.
 *
 * Usually records are delivered some milliseconds late, so that no other processor can
 * still write an earlier one. A flush takes all at once, because the kernel finishes
 * the interrupts of stopped events first.
 */
#include "hal/perf/deliver.h"

#include "hal/perf/duplicate.h"
#include "hal/perf/stacks.h"
#include "hal/perf/watch.h"
#include "hal/perf/whole_machine.h"
#include "ke/profint.h"

#include <assert.h>
#include <sys/epoll.h>

/* Time until the caller delivers again; most wake-ups that one epoll_wait returns. */
enum { WAIT_MS = 250, WAKEUPS_MAX = 16 };

/* More than the longest record without a stack, a mapping whose name fills a page: with
 * less free space the kernel may have dropped a record. */
enum { TIGHT_BYTES = 8192 };

/* Reading all processes of a machine takes so long that more records may be lost: it is
 * done once in this time. */
#define MACHINE_RESYNC_NS 1000000000u

/* ---- samples ---- */

/* Count a hit that is in the event's count but not passed to the core. For an event
 * that was closed as a duplicate do nothing: its whole count was removed then. */
static void
count_discarded(struct perf_event *event)
{
    if (event->fd >= 0 || event->accounted.events > 0) {
        event->source->tally.discarded++;
        event->source->tally.discarded_events += event->period;
        event->discarded++;
    }
}

/* Was the sample taken in kernel mode? Its address does not show it: where kernel
 * addresses begin depends on the machine. */
static bool
is_in_kernel(const struct perf_sample *sample)
{
    return (sample->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
           PERF_RECORD_MISC_KERNEL;
}

/* Report a hit that was counted in this many counters, and its stack if it has one. */
static void
report_hit(const struct perf *perf, const struct perf_event *event,
           const struct perf_sample *sample, const struct perf_sample_parts *parts,
           const KE_HIT *hit, ULONG counters)
{
    const unsigned mode = sample->header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
    const ntprof_hit report = {
        .size = sizeof(report),
        .source = hit->Source,
        .processor = hit->Processor,
        .pid = sample->pid,
        .tid = sample->tid,
        .mode = mode == PERF_RECORD_MISC_USER     ? NTPROF_MODE_USER
                : mode == PERF_RECORD_MISC_KERNEL ? NTPROF_MODE_KERNEL
                                                  : NTPROF_MODE_OTHER,
        .counters = counters,
        .address = sample->ip,
        .time_ns = perf_clock_shown_ns(&perf->stream.processes.clock, sample->time_ns),
    };

    if (perf->hit != NULL) {
        perf->hit(perf->hit_context, &report);
    }
    if (event->layout.stack) {
        perf_stacks_report(perf, &report, parts);
    }
}

/* Pass a hit to the core, unless it was made while its event was not to count, or is a
 * duplicate. */
static void
deliver_sample(void *context, struct perf_ring *ring, const struct perf_sample *sample)
{
    struct perf *const perf = context;
    struct perf_event *event = perf_idmap_find(&perf->events, sample->id);
    struct perf_sample_parts parts;
    KE_HIT hit;
    ULONG counters;

    if (event == NULL || event->source == NULL) {
        return;
    }
    if (sample->time_ns < event->from_ns || sample->time_ns > event->until_ns ||
        sample->time_ns > perf->frozen_ns) {
        count_discarded(event);
        return;
    }
    if (event->may_duplicate) {
        const int result =
            perf_duplicate_hit(perf, event, sample->tid, sample->time_ns);

        event->source->tally.lost += result < 0;
        if (result <= 0) {
            return;
        }
    }
    if (perf_sample_parse(sample, &event->layout, &parts) < 0) {
        event->source->tally.lost++;
        return;
    }
    perf_stream_read_unreported(&perf->stream, sample);
    hit.Source = event->source->number;
    hit.Processor = ring->processor;
    hit.ProcessId = sample->pid;
    hit.Address = sample->ip;
    hit.Selector = perf_sample_selector(sample, &event->layout, &parts, &hit.Offset);
    hit.Scope = event->scope;
    counters = KeProfileInterruptWithSource(perf->ke, &hit);
    if (counters == 0 && is_in_kernel(sample)) {
        event->source->tally.outside_kernel++;
    }
    if (counters != 0 && (perf->hit != NULL || event->layout.stack)) {
        report_hit(perf, event, sample, &parts, &hit, counters);
    }
}

/* ---- records ---- */

/* Report records that a ring had no room for. */
static void
deliver_lost(struct perf *perf, struct perf_ring *ring, const struct perf_event *event,
             const struct perf_record *record)
{
    /* The record has the id of the event whose record came next. Where the kernel does
     * not count losses by event, that one is the likeliest to have lost them. */
    if (!perf->features.read_lost && event != NULL && event->source != NULL) {
        event->source->tally.lost += record->count;
    }
    ring->lost_records += record->count;
    perf_stream_note_lost(&perf->stream, ring, ring->lost_records, record->time_ns);
}

static bool
is_exec(const struct perf_record *record)
{
    return record->type == PERF_RECORD_COMM &&
           (record->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
}

/* Return the watcher that process_table_apply adds to the process of this record if it
 * is an exec of a process not yet in the table; NULL: none. That is the watch that
 * begins with this exec, or the event's watch if it follows descendants. */
static struct perf_watcher *
watcher_of(const struct perf_event *event, const struct perf_record *record)
{
    struct perf_target *target = event != NULL ? event->target : NULL;

    if (target == NULL || !target->watch) {
        return NULL;
    }
    if (target->on_exec && target->pid == record->pid && is_exec(record)) {
        return &target->watcher;
    }
    return target->watcher.descendants ? &target->watcher : NULL;
}

/* A watch that was to begin with the exec of its process has begun. */
static void
note_exec(struct perf *perf, const struct perf_record *record)
{
    if (!is_exec(record)) {
        return;
    }
    for (struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        if (target->on_exec && target->pid == record->pid) {
            target->on_exec = false;
        }
    }
}

/* Count the events that the thread of a FORK record inherits: one for each of the
 * target's first thread. The watch of all processes has none that are inherited. */
static void
note_inheritance(const struct perf_event *event, const struct perf_record *record)
{
    const struct perf_target *const target = event != NULL ? event->target : NULL;
    const struct perf_events *events;

    if (record->type != PERF_RECORD_FORK || target == NULL || target->pid == 0) {
        return;
    }
    events = &target->events;
    for (size_t i = 0; i < events->count; i++) {
        if (events->items[i]->source != NULL &&
            events->items[i]->tid == events->items[0]->tid) {
            events->items[i]->source->tally.instances++;
        }
    }
}

/* Report the exec of an unwatched process: the addresses of profiles started for it
 * mean nothing in the new program. */
static void
notify_unwatched_exec(struct perf *perf, const struct perf_record *record)
{
    ntprof_notification notification = {
        .kind = HAL_UNWATCHED_EXEC, .pid = record->pid, .time_ns = record->time_ns};

    if (is_exec(record) &&
        process_table_find(&perf->stream.processes, record->pid) == NULL) {
        process_table_notify(&perf->stream.processes, &notification);
    }
}

/* Apply a record to the process table. If all processes are watched, only records of
 * that watch are applied: each change is reported once. event: that the record is of;
 * NULL: it is not known any more. */
static void
deliver_side_band(struct perf *perf, const struct perf_event *event,
                  const struct perf_record *record)
{
    note_inheritance(event, record);
    if (record->type == PERF_RECORD_FORK || record->type == PERF_RECORD_EXIT) {
        perf_duplicate_forget_thread(perf, record->tid);
    }
    /* Only events of perf->machine, the watch of all processes, have KE_SCOPE_BOTH. */
    if (perf->machine != NULL && (event == NULL || event->scope != KE_SCOPE_BOTH)) {
        return;
    }
    process_table_apply(&perf->stream.processes, record, watcher_of(event, record));
    note_exec(perf, record);
    notify_unwatched_exec(perf, record);
}

/* Handle a record that is no sample. */
static void
deliver_record(void *context, struct perf_ring *ring, const struct perf_record *record)
{
    struct perf *const perf = context;
    struct perf_event *const event = perf_idmap_find(&perf->events, record->id);

    switch (record->type) {
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
        deliver_lost(perf, ring, event, record);
        break;
    case PERF_RECORD_THROTTLE:
        /* With reports_silence the event's clock itself shows how long that was. */
        if (event != NULL && event->source != NULL && !event->reports_silence) {
            perf_throttles_begin(&perf->throttles, record->stream_id, record->time_ns,
                                 &event->source->tally);
        }
        break;
    case PERF_RECORD_UNTHROTTLE:
        perf_throttles_end(&perf->throttles, record->stream_id, record->time_ns);
        break;
    default:
        /* /proc was read after from_ns, so it shows what earlier records report. */
        if (event == NULL || record->time_ns >= event->from_ns) {
            deliver_side_band(perf, event, record);
        }
        break;
    }
}

/* ---- after losses ---- */

/* Add a child process that /proc lists but no FORK record has reported. */
static void
deliver_child(void *context, uint32_t pid, struct perf_watcher *watcher)
{
    struct perf *const perf = context;

    perf_attach_found(perf, pid, perf->stream.last_ns, watcher);
}

const struct perf_stream_calls perf_deliver_calls = {
    .on_sample = deliver_sample,
    .on_record = deliver_record,
    .on_child = deliver_child,
};

/* Were records lost, and is it time to read /proc for that? */
static bool
is_resync_due(const struct perf *perf)
{
    return (perf->stream.resync || perf->stream.processes.dropped > 0) &&
           (perf->machine == NULL ||
            perf_stream_now_ns(&perf->stream) - perf->resynced_ns >= MACHINE_RESYNC_NS);
}

/* Find out whether a ring that was nearly full has lost records. The kernel writes a
 * LOST record before the next record that fits, which may never come, so the losses are
 * read from its events. */
static void
check_tight(struct perf *perf, struct perf_ring *ring)
{
    uint64_t lost = ring->lost_closed;
    struct perf_counts counts;

    if (!ring->tight) {
        return;
    }
    ring->tight = false;
    if (!perf->features.read_lost) {
        perf->lost_by_ns = perf_stream_now_ns(&perf->stream);
        perf->stream.resync = true;
        return;
    }
    perf_read_counts(perf, /* source */ NULL, ring->processor, PERF_PERIOD_CONTINUES,
                     &counts);
    lost += counts.lost;
    if (lost > ring->lost_reported) {
        perf->lost_by_ns = perf_stream_now_ns(&perf->stream);
        perf_stream_note_lost(&perf->stream, ring, lost, perf->stream.last_ns);
    }
}

/* ---- delivery ---- */

/* Have the stream read all rings up to where they are filled now. */
static void
add_rings(struct perf *perf)
{
    const size_t tight_bytes = perf->stacks.record_bytes > TIGHT_BYTES
                                   ? perf->stacks.record_bytes
                                   : TIGHT_BYTES;

    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        struct perf_ring *ring = perf->rings[i];

        if (ring != NULL) {
            const uint64_t unread = perf_ring_update(ring);

            ring->tight = ring->tight || ring->size_bytes - unread < tight_bytes;
            perf_stream_add(&perf->stream, ring);
        }
    }
}

/* Deliver all records up to bound_ns; then note losses, free events that are closed,
 * and read /proc if records were lost. */
static void
deliver_until(struct perf *perf, uint64_t bound_ns)
{
    struct perf_stream *const stream = &perf->stream;

    assert(!stream->delivering);
    stream->delivering = true;
    add_rings(perf);
    perf_stream_deliver(stream, bound_ns);
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        if (perf->rings[i] != NULL) {
            perf_stream_note_lost(stream, perf->rings[i], perf->rings[i]->lost_records,
                                  stream->last_ns);
            perf_ring_publish(perf->rings[i]);
            check_tight(perf, perf->rings[i]);
        }
    }
    perf_throttles_expire(&perf->throttles, bound_ns);
    perf_reap_closed(perf, bound_ns);
    if (is_resync_due(perf)) {
        perf_stream_resync(stream);
        if (perf->machine != NULL) {
            perf->resynced_ns = perf_stream_now_ns(&perf->stream);
            perf_machine_resync(perf);
        }
        /* Records after bound_ns are not delivered yet: they may report the start of a
         * process whose exit was lost. So /proc is read again next time. */
        stream->resync = stream->resync || perf->lost_by_ns > bound_ns;
    }
    stream->delivering = false;
}

/* Is a ring so full that waiting for order might lose records? */
static bool
is_any_filling(const struct perf *perf)
{
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        struct perf_ring *ring = perf->rings[i];

        if (ring != NULL && perf_ring_is_filling(ring)) {
            return true;
        }
    }
    return false;
}

int
perf_deliver(void *context)
{
    struct perf *const perf = context;
    /* Taken before the rings are read: a record written after that may have an older
     * time than one that is in a ring already. */
    const uint64_t now_ns = perf_stream_now_ns(&perf->stream);
    struct epoll_event wakeups[WAKEUPS_MAX];

    assert(perf_assert_state(perf));
    if (perf->stream.delivering || perf->ring_bytes == 0) {
        return -1;
    }
    /* Makes the descriptor unreadable until the next wake-up; which rings woke it does
     * not matter, as all are read. */
    (void)epoll_wait(perf->epoll_fd, wakeups, WAKEUPS_MAX, 0);
    deliver_until(perf, is_any_filling(perf) ? now_ns : now_ns - PERF_STREAM_SLACK_NS);
    perf_machine_check_online(perf, now_ns);
    return perf->targets == NULL && perf->closed == NULL ? -1 : WAIT_MS;
}

void
perf_flush(void *context)
{
    struct perf *const perf = context;
    const uint64_t now_ns = perf_stream_now_ns(&perf->stream);
    struct perf_counts counts;

    assert(perf_assert_state(perf));
    if (perf->stream.delivering || perf->ring_bytes == 0 || perf->drained) {
        return;
    }
    /* The counts are not used: reading them waits for the interrupts that have begun,
     * and then their records are in the rings. */
    perf_read_counts(perf, /* source */ NULL, PERF_ALL_PROCESSORS,
                     PERF_PERIOD_CONTINUES, &counts);
    deliver_until(perf, now_ns);
    perf->drained = perf->frozen_ns != UINT64_MAX;
}
