/* SPDX-License-Identifier: MIT */
/*
 * hal/sim/queue.c - the hits and notifications to be delivered, in order of time.
 *
 * All notifications are queued, so that one that is made within the callback of another
 * is delivered after it. Hits are queued only with options.queue_records.
 */
#include "hal/sim/simp.h"

#include <stdio.h>
#include <stdlib.h>

/* Append a record. Returns false if memory runs out. */
static bool
push(struct sim *sim, const struct sim_record *record)
{
    if (sim->queue_count == sim->queue_capacity) {
        const size_t capacity = sim->queue_capacity != 0 ? sim->queue_capacity * 2 : 64;
        struct sim_record *const queue =
            realloc(sim->queue, capacity * sizeof(*sim->queue));

        if (queue == NULL) {
            return false;
        }
        sim->queue = queue;
        sim->queue_capacity = capacity;
    }
    sim->queue[sim->queue_count++] = *record;
    return true;
}

/* Does the queue contain options.queue_records records? */
static bool
is_full(const struct sim *sim)
{
    return sim->queue_count - sim->queue_next >= sim->options.queue_records;
}

bool
sim_push_hit(struct sim *sim, const KE_HIT *hit)
{
    const struct sim_record record = {.is_hit = true, .hit = *hit};

    if (is_full(sim) || !push(sim, &record)) {
        sim->queue_lost++;
        return false;
    }
    return true;
}

/* Add a notification to the hash of the trace. */
static void
hash_notification(struct sim *sim, const ntprof_notification *notification)
{
    uint64_t hash = sim->notification_hash;

    hash = sim_hash_add(hash, notification->time_ns);
    hash = sim_hash_add(hash, notification->kind);
    hash = sim_hash_add(hash, notification->pid);
    hash = sim_hash_add(hash, notification->base);
    hash = sim_hash_add(hash, notification->length);
    sim->notification_hash = hash;
}

void
sim_push_notification(struct sim *sim, ntprof_notification *notification,
                      const char *name)
{
    struct sim_record record = {.notification = *notification};

    record.notification.size = sizeof(record.notification);
    record.notification.time_ns = sim->now_ns;
    snprintf(record.name, sizeof(record.name), "%s", name);
    hash_notification(sim, &record.notification);
    if (!push(sim, &record)) {
        sim->queue_lost++;
    }
    if (sim->options.queue_records == 0) {
        sim_flush(sim);
    }
}

ULONG
sim_deliver_hit(struct sim *sim, const KE_HIT *hit)
{
    const ULONG counters = KeProfileInterruptWithSource(sim->ke, hit);

    if (counters == 0 && hit->Address >= SIM_KERNEL_BASE) {
        __atomic_fetch_add(&sim->outside_kernel[sim_source_row_of(hit->Source)], 1,
                           __ATOMIC_RELAXED);
    }
    return counters;
}

/* Pass a hit to the core, or a notification to the session. */
static void
deliver_record(struct sim *sim, struct sim_record *record)
{
    if (record->is_hit) {
        (void)sim_deliver_hit(sim, &record->hit);
    } else if (sim->options.notify != NULL) {
        record->notification.name = record->name;
        sim->options.notify(sim->options.notify_context, &record->notification);
    }
    if (!record->is_hit && record->notification.kind == NTPROF_PROCESS_EXIT) {
        sim_set_end_notified(sim, record->notification.pid);
    }
}

/* Notify of the records that were lost. */
static void
notify_lost(struct sim *sim)
{
    ntprof_notification lost = {
        .size = sizeof(lost),
        .kind = NTPROF_RECORDS_LOST,
        .time_ns = sim->now_ns,
        .name = "",
        .count = sim->queue_lost,
    };

    sim->queue_lost = 0;
    if (sim->options.notify != NULL) {
        sim->options.notify(sim->options.notify_context, &lost);
    }
}

void
sim_flush(struct sim *sim)
{
    if (sim->delivering) {
        return;
    }
    sim->delivering = true;
    while (sim->queue_next < sim->queue_count) {
        /* A copy: the callback may add records and so move the queue. */
        struct sim_record record = sim->queue[sim->queue_next++];

        deliver_record(sim, &record);
    }
    sim->queue_count = 0;
    sim->queue_next = 0;
    if (sim->queue_lost != 0) {
        notify_lost(sim);
    }
    sim->delivering = false;
}
