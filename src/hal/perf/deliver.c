/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/deliver.c - reads the records of all rings in order of time, and passes hits
 * to ke and other records to the process table.
 *
 * The kernel takes a record's time before the record becomes visible. So records
 * younger than SLACK_NS stay in their ring: another ring may still get an older one. A
 * flush needs no slack, because the kernel finishes all handlers first.
 */
#include "hal/backend.h"
#include "hal/linux/procfs.h"
#include "hal/perf/duplicate.h"
#include "hal/perf/target.h"
#include "hal/perf/whole_machine.h"
#include "ke/profint.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum { SLACK_NS = 5000000, WAIT_MS = 250, UNWOKEN_MS = 10 };

/* More than the longest record, a mapping whose name fills a page: with less free space
 * the kernel may have dropped a record. */
enum { TIGHT_BYTES = 8192 };

/* Mappings of one process are read again for its hits once in REREAD_NS at most, and
 * all such readings together take at most 1/REREAD_SHARE of the time. */
enum { REREAD_NS = 100000000, REREAD_SHARE = 20 };

/* Reading all processes of a machine takes long enough that more may be lost. */
#define WIDE_RESYNC_NS 1000000000u

static struct perf_event *
event_of(struct perf *perf, struct perf_ring *ring, uint64_t id)
{
    if (ring->last_event == NULL || ring->last_event->id != id) {
        struct perf_event *event = perf_idmap_find(&perf->events, id);

        if (event == NULL) {
            return NULL;
        }
        ring->last_event = event;
    }
    return ring->last_event;
}

static void
note_time(struct perf *perf, uint64_t time_ns)
{
    if (time_ns < perf->last_ns) {
        perf->late++;
    } else {
        perf->last_ns = time_ns;
    }
}

/* Count a hit that its event has counted but that is not taken. */
static void
note_untimely(struct perf_event *event)
{
    if (event->fd >= 0 || event->accounted.events > 0) {
        event->source->tally.untimely++;
        event->untimely++;
    }
}

/*
 * Read the mappings of a watched process again if the hit's address is in none of those
 * in the table, as after mremap. For a program that executes where /proc has no mapping
 * either, REREAD_SHARE bounds the cost.
 */
static void
read_unreported(struct perf *perf, const struct perf_sample *sample)
{
    struct perf_process *const process =
        process_table_find(&perf->processes, sample->pid);
    struct perf_mappings mappings = {0};
    uint64_t now_ns;

    if (process == NULL || (int64_t)sample->ip < 0 ||
        perf_mappings_find(&process->mappings, sample->ip) != NULL) {
        return;
    }
    now_ns = perf_now_ns();
    if (now_ns < perf->reread_after_ns || now_ns - process->reread_ns < REREAD_NS) {
        return;
    }
    process->reread_ns = now_ns;
    if (perf_procfs_mappings(process->pid, &mappings) == 0) {
        process_table_add_unreported(&perf->processes, process, &mappings, sample->ip,
                                     sample->time_ns);
    }
    perf_mappings_finish(&mappings);
    perf->reread_after_ns = now_ns + (perf_now_ns() - now_ns) * (REREAD_SHARE + 1);
}

static void
deliver_sample(struct perf *perf, struct perf_ring *ring,
               const struct perf_sample *sample)
{
    struct perf_event *event = event_of(perf, ring, sample->id);
    KE_HIT hit;

    if (event == NULL || event->source == NULL) {
        return;
    }
    if (sample->time_ns < event->from_ns || sample->time_ns > event->until_ns ||
        sample->time_ns > perf->frozen_ns) {
        note_untimely(event);
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
    read_unreported(perf, sample);
    hit.Source = event->source->number;
    hit.Processor = ring->processor;
    hit.ProcessId = sample->pid;
    hit.Address = sample->ip;
    hit.Selector = perf_sample_selector(&sample->header, &hit.Offset);
    hit.Scope = event->scope;
    KeProfileInterruptWithSource(perf->ke, &hit);
}

/* Report losses that have not been reported, and have the next delivery read /proc. */
static void
report_lost(struct perf *perf, struct perf_ring *ring, uint64_t lost, uint64_t time_ns)
{
    const ntprof_notification notification = {
        .size = sizeof(notification),
        .kind = NTPROF_RECORDS_LOST,
        .time_ns = time_ns,
        .name = "",
        .count = lost - ring->lost_reported,
    };

    if (lost <= ring->lost_reported) {
        return;
    }
    ring->lost_reported = lost;
    perf->resync = true;
    if (perf->processes.notify != NULL) {
        perf->processes.notify(perf->processes.context, &notification);
    }
}

static void
deliver_lost(struct perf *perf, struct perf_ring *ring, const struct perf_event *event,
             const struct perf_record *record)
{
    /* The record has the id of the event that was written next, which is the best guess
     * where the kernel does not count losses for each event. */
    if (!perf->features.read_lost && event != NULL && event->source != NULL) {
        event->source->tally.lost += record->count;
    }
    ring->lost_records += record->count;
    report_lost(perf, ring, ring->lost_records, record->time_ns);
}

static bool
is_exec(const struct perf_record *record)
{
    return record->type == PERF_RECORD_COMM &&
           (record->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
}

/* Return the watcher to add a process with that execs and is not in the table; NULL for
 * none. */
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

/* Note the exec that a watch waits for. */
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

/* Count the events that a new thread inherits: one for each of the target's first
 * thread. */
static void
target_inherits(const struct perf_target *target)
{
    const struct perf_events *events = &target->events;

    for (size_t i = 0; i < events->count; i++) {
        if (events->items[i]->source != NULL &&
            events->items[i]->tid == events->items[0]->tid) {
            events->items[i]->source->tally.instances++;
        }
    }
}

/* Count the events that the thread of a FORK record inherits. A watch of all processes
 * has no inherited events, but its records report the threads that inherit those of
 * other watches. */
static void
note_inheritance(const struct perf *perf, const struct perf_event *event,
                 const struct perf_record *record)
{
    const struct perf_target *const target = event != NULL ? event->target : NULL;
    const struct perf_process *parent;

    if (record->type != PERF_RECORD_FORK || target == NULL) {
        return;
    }
    if (target->pid != 0) {
        if (!target->watch || perf->machine_ns == 0) {
            target_inherits(target);
        }
        return;
    }
    parent = process_table_find(&perf->processes, record->parent_pid);
    for (size_t i = 0; parent != NULL && i < parent->watcher_count; i++) {
        const struct perf_target *const watcher = (const void *)parent->watchers[i];

        if (watcher->watcher.descendants || record->pid == record->parent_pid) {
            target_inherits(watcher);
        }
    }
}

/* Report the exec of an unwatched process: the addresses of profiles started for it
 * mean nothing in the new program. */
static void
notify_unwatched_exec(struct perf *perf, const struct perf_record *record)
{
    const ntprof_notification notification = {
        .size = sizeof(notification),
        .kind = HAL_UNWATCHED_EXEC,
        .pid = record->pid,
        .time_ns = record->time_ns,
        .name = "",
    };

    if (is_exec(record) && process_table_find(&perf->processes, record->pid) == NULL &&
        perf->processes.notify != NULL) {
        perf->processes.notify(perf->processes.context, &notification);
    }
}

/* Apply a record to the process table. If all processes are watched, only records of
 * that watch are applied, so that each change is reported once. */
static void
deliver_side_band(struct perf *perf, const struct perf_event *event,
                  const struct perf_record *record)
{
    note_inheritance(perf, event, record);
    if (record->type == PERF_RECORD_FORK || record->type == PERF_RECORD_EXIT) {
        perf_duplicate_forget_thread(perf, record->tid);
    }
    if (perf->side_band_ns != 0 && record->time_ns >= perf->side_band_ns &&
        !perf_is_machine_event(event)) {
        return;
    }
    process_table_apply(&perf->processes, record, watcher_of(event, record));
    note_exec(perf, record);
    notify_unwatched_exec(perf, record);
}

static void
deliver_record(struct perf *perf, struct perf_ring *ring,
               const struct perf_event_header *header)
{
    struct perf_event *event;
    struct perf_record record;

    if (perf_record_parse(header, header->size, &record) < 0) {
        return;
    }
    event = event_of(perf, ring, record.id);
    switch (record.type) {
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
        deliver_lost(perf, ring, event, &record);
        break;
    case PERF_RECORD_THROTTLE:
        if (event != NULL && event->source != NULL && !event->reports_silence) {
            perf_throttles_begin(&perf->throttles, record.stream_id, record.time_ns,
                                 &event->source->tally);
        }
        break;
    case PERF_RECORD_UNTHROTTLE:
        perf_throttles_end(&perf->throttles, record.stream_id, record.time_ns);
        break;
    default:
        if (event == NULL || record.time_ns >= event->from_ns) {
            deliver_side_band(perf, event, &record);
        } /* else /proc was read later */
        break;
    }
}

/* Deliver the records of a ring up to and including until_ns. Returns the time of the
 * next one. */
static uint64_t
deliver_run(struct perf *perf, struct perf_ring *ring, uint64_t until_ns)
{
    const struct perf_event_header *header;

    while ((header = perf_ring_peek(ring)) != NULL) {
        const uint64_t time_ns = perf_record_time(header, header->size);

        if (time_ns > until_ns) {
            return time_ns;
        }
        if (time_ns != 0) {
            note_time(perf, time_ns);
        }
        if (header->type != PERF_RECORD_SAMPLE) {
            deliver_record(perf, ring, header);
        } else if (perf_sample_is_whole(header)) {
            deliver_sample(perf, ring, (const void *)header);
        }
        perf_ring_skip(ring, header);
    }
    return PERF_MERGE_EMPTY;
}

/* ---- after a loss ---- */

static int
list_processes(const struct process_table *table, struct perf_tids *pids)
{
    for (size_t i = 0; i < table->by_pid.capacity; i++) {
        const struct perf_process *process = table->by_pid.entries[i].value;

        if (process != NULL && perf_tids_add(pids, process->pid) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* Add children whose FORK records may have been lost. */
static void
adopt_children(struct perf *perf, const struct perf_process *parent,
               struct perf_tids *pids)
{
    const size_t before = pids->count;
    struct perf_watcher *watcher = NULL;

    for (size_t i = 0; i < parent->watcher_count && watcher == NULL; i++) {
        watcher = parent->watchers[i]->descendants ? parent->watchers[i] : NULL;
    }
    if (watcher == NULL || perf_procfs_children(parent->pid, pids) < 0) {
        return;
    }
    for (size_t i = before; i < pids->count; i++) {
        if (process_table_find(&perf->processes, pids->items[i]) == NULL) {
            (void)perf_attach(perf, pids->items[i], perf->last_ns, watcher);
        }
    }
}

static void
resync_process(struct perf *perf, uint32_t pid, struct perf_tids *pids)
{
    struct perf_process *process = process_table_find(&perf->processes, pid);
    struct perf_reading reading;
    int result;

    if (process == NULL) {
        return;
    }
    result = perf_procfs_read(pid, &reading);
    if (result == -ESRCH || result == -ECHILD) {
        process_table_end(&perf->processes, process, perf->last_ns);
    } else if (result == 0) {
        process_table_resync(&perf->processes, process, reading.tids.items,
                             reading.tids.count, &reading.mappings, perf->last_ns);
        adopt_children(perf, process, pids);
    } else if (result == -EAGAIN) {
        perf->resync = true;
    }
    perf_reading_finish(&reading);
}

/* After lost records, read the state of all processes in /proc. Records that are still
 * in the rings may repeat changes found here, which does no harm. */
static void
resync_all(struct perf *perf)
{
    struct perf_tids pids = {0};

    perf->resync = false;
    perf->processes.dropped = 0;
    if (list_processes(&perf->processes, &pids) == 0) {
        for (size_t i = 0; i < pids.count; i++) {
            resync_process(perf, pids.items[i], &pids);
        }
    }
    perf_tids_finish(&pids);
    if (perf->machine_ns != 0) {
        perf_machine_resync(perf);
    }
}

/* After lost records: is it time to read /proc? */
static bool
is_resync_due(struct perf *perf)
{
    if (!perf->resync && perf->processes.dropped == 0) {
        return false;
    }
    if (perf->side_band_ns != 0) {
        const uint64_t now_ns = perf_now_ns();

        if (now_ns - perf->resynced_ns < WIDE_RESYNC_NS) {
            return false;
        }
        perf->resynced_ns = now_ns;
    }
    return true;
}

/* ---- delivery ---- */

/* Report corrupt records, which were skipped, as lost. */
static void
report_corrupt(struct perf *perf, struct perf_ring *ring)
{
    const struct perf_record record = {.time_ns = perf->last_ns,
                                       .count = ring->corrupt};

    if (ring->corrupt != 0) {
        ring->corrupt = 0;
        deliver_lost(perf, ring, NULL, &record);
    }
}

/*
 * The kernel writes a LOST record before the next record that fits, which may never
 * come. So the losses of a ring that was nearly full are read from its events.
 */
static void
check_tight(struct perf *perf, struct perf_ring *ring)
{
    uint64_t lost = ring->lost_closed;

    if (!ring->tight) {
        return;
    }
    ring->tight = false;
    if (!perf->features.read_lost) {
        perf->lost_by_ns = perf_now_ns();
        perf->resync = true;
        return;
    }
    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        for (size_t i = 0; i < target->events.count; i++) {
            struct perf_counts counts;

            if (target->events.items[i]->processor == ring->processor) {
                perf_event_read_counts(target->events.items[i], &perf->features,
                                       &counts);
                lost += counts.lost;
            }
        }
    }
    if (lost > ring->lost_reported) {
        perf->lost_by_ns = perf_now_ns();
        report_lost(perf, ring, lost, perf->last_ns);
    }
}

/* Read the heads of all rings. */
static void
gather(struct perf *perf)
{
    perf->merge.count = 0;
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        struct perf_ring *ring = perf->rings[i];

        if (ring != NULL) {
            const uint64_t unread = perf_ring_update(ring);

            ring->tight = ring->tight || ring->size_bytes - unread < TIGHT_BYTES;
            perf_merge_add(&perf->merge, ring);
        }
    }
}

static void
deliver_until(struct perf *perf, uint64_t bound_ns)
{
    struct perf_merge *merge = &perf->merge;

    assert(!perf->delivering);
    perf->delivering = true;
    gather(perf);
    while (merge->count > 0 && merge->entries[0].time_ns <= bound_ns) {
        struct perf_ring *ring = merge->entries[0].ring;
        const uint64_t limit_ns = perf_merge_limit(merge);

        const uint64_t next_ns =
            deliver_run(perf, ring, limit_ns < bound_ns ? limit_ns : bound_ns);

        perf_ring_publish(ring);
        perf_merge_settle(merge, next_ns);
    }
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        if (perf->rings[i] != NULL) {
            report_corrupt(perf, perf->rings[i]);
            perf_ring_publish(perf->rings[i]);
            check_tight(perf, perf->rings[i]);
        }
    }
    perf_throttles_expire(&perf->throttles, bound_ns);
    perf_reap_closed(perf, bound_ns);
    if (is_resync_due(perf)) {
        resync_all(perf);
        /* An undelivered record from before the loss may report a start whose exit was
         * lost. */
        perf->resync = perf->resync || perf->lost_by_ns > bound_ns;
    }
    perf->delivered_ns = bound_ns;
    perf->delivering = false;
}

/* Is a ring so full that waiting for order might lose records? */
static bool
is_pressing(const struct perf *perf)
{
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        struct perf_ring *ring = perf->rings[i];

        if (ring != NULL && perf_ring_is_filling(ring)) {
            return true;
        }
    }
    return false;
}

/* Stop polling rings whose thread has exited: they are always readable, and cause no
 * wake-ups. */
static void
check_owners(struct perf *perf)
{
    struct epoll_event ready[16];
    const int count = epoll_wait(perf->epoll_fd, ready, 16, 0);

    for (int i = 0; i < count; i++) {
        const struct perf_ring *ring = perf->rings[ready[i].data.u32];

        if ((ready[i].events & (EPOLLHUP | EPOLLERR)) != 0 && ring != NULL) {
            epoll_ctl(perf->epoll_fd, EPOLL_CTL_DEL, ring->owner_fd, NULL);
            perf->owner_gone = true;
        }
    }
}

int
perf_deliver(struct perf *perf)
{
    /* Taken before the heads are read: a record written later may have an older
     * time. */
    const uint64_t now_ns = perf_now_ns();

    if (perf->delivering || perf->ring_pages == 0) {
        return -1;
    }
    check_owners(perf);
    deliver_until(perf, is_pressing(perf) ? now_ns : now_ns - SLACK_NS);
    perf_machine_check_online(perf, now_ns);
    if (perf->targets == NULL && perf->closed == NULL) {
        return -1;
    }
    return perf->owner_gone ? UNWOKEN_MS : WAIT_MS;
}

void
perf_flush(struct perf *perf)
{
    const uint64_t now_ns = perf_now_ns();

    if (perf->delivering || perf->ring_pages == 0) {
        return;
    }
    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        for (size_t i = 0; i < target->events.count; i++) {
            struct perf_counts counts;

            if (target->events.items[i]->source != NULL) {
                perf_event_read_counts(target->events.items[i], &perf->features,
                                       &counts);
            }
        }
    }
    deliver_until(perf, now_ns);
}
