/* SPDX-License-Identifier: MIT */
/*
 * hal/sim/interrupt.c - starts and stops sources on processors, and makes interrupts.
 *
 * A processor's lock is held while it handles an interrupt: a thread that takes the
 * lock waits until the interrupt is handled.
 */
#include "hal/sim/simp.h"

#include <stdlib.h>

/* ---- starts ---- */

void
sim_complain(struct sim *sim, const char *text)
{
    if (sim->complaint == NULL) {
        sim->complaint = text;
    }
}

/* Return the start of a source for a pid on a processor, or NULL. */
static struct sim_start *
find_start(const struct sim_processor *processor, KPROFILE_SOURCE source, uint64_t pid)
{
    for (size_t i = 0; i < processor->start_count; i++) {
        struct sim_start *const start = &processor->starts[i];

        if (start->source == source && start->pid == pid) {
            return start;
        }
    }
    return NULL;
}

/* Make room for one more start. Returns false if memory runs out. */
static bool
reserve_start(struct sim_processor *processor)
{
    const size_t capacity =
        processor->start_capacity != 0 ? processor->start_capacity * 2 : 8;
    struct sim_start *starts;

    if (processor->start_count < processor->start_capacity) {
        return true;
    }
    starts = realloc(processor->starts, capacity * sizeof(*starts));
    if (starts == NULL) {
        return false;
    }
    processor->starts = starts;
    processor->start_capacity = capacity;
    return true;
}

/* Count one more start or watch that wants interrupts of a source (its row) here. */
static void
arm(struct sim_processor *processor, int row)
{
    processor->armed[row]++;
    processor->armed_total++;
}

/* Count one start or watch less; without any the source's timer no longer expires. */
static void
disarm(struct sim_processor *processor, int row)
{
    processor->armed[row]--;
    processor->armed_total--;
    if (processor->armed[row] == 0) {
        processor->due_ns[row] = 0;
    }
}

NTSTATUS
sim_start(struct sim *sim, KPROFILE_SOURCE source, ULONG number, uint64_t pid)
{
    const int row = sim_source_row_of(source);
    struct sim_processor *processor;
    NTSTATUS status = STATUS_SUCCESS;

    if (row < 0 || !sim->sources[row].supported) {
        return STATUS_NOT_SUPPORTED;
    }
    if (number >= sim->processor_count) {
        return STATUS_INVALID_PARAMETER;
    }
    processor = &sim->processors[number];
    pthread_mutex_lock(&processor->lock);
    if (find_start(processor, source, pid) != NULL) {
        sim_complain(sim, "StartProfileInterrupt of a source that is started");
    } else if (!reserve_start(processor)) {
        status = STATUS_INSUFFICIENT_RESOURCES;
    } else {
        processor->starts[processor->start_count++] = (struct sim_start){
            .source = source,
            .pid = pid,
            /* Its process has exited, but the core was not notified yet. */
            .stale = pid != 0 && sim_find_process(sim, pid) == NULL,
        };
        arm(processor, row);
    }
    pthread_mutex_unlock(&processor->lock);
    return status;
}

void
sim_begin(struct sim *sim, KPROFILE_SOURCE source, uint64_t pid)
{
    for (uint32_t i = 0; i < sim->processor_count; i++) {
        struct sim_processor *const processor = &sim->processors[i];
        struct sim_start *start;

        pthread_mutex_lock(&processor->lock);
        start = find_start(processor, source, pid);
        if (start != NULL) {
            start->begun = true;
        }
        pthread_mutex_unlock(&processor->lock);
    }
}

void
sim_stop(struct sim *sim, KPROFILE_SOURCE source, ULONG number, uint64_t pid)
{
    const int row = sim_source_row_of(source);
    struct sim_processor *processor;
    struct sim_start *start;

    if (row < 0 || number >= sim->processor_count) {
        sim_complain(sim, "StopProfileInterrupt: no such source or processor");
        return;
    }
    processor = &sim->processors[number];
    pthread_mutex_lock(&processor->lock);
    start = find_start(processor, source, pid);
    if (start == NULL) {
        sim_complain(sim, "StopProfileInterrupt of a source that is not started");
    } else {
        *start = processor->starts[--processor->start_count];
        disarm(processor, row);
    }
    pthread_mutex_unlock(&processor->lock);
}

bool
sim_has_starts(struct sim *sim, uint64_t pid)
{
    for (uint32_t i = 0; i < sim->processor_count; i++) {
        const struct sim_processor *const processor = &sim->processors[i];

        for (size_t k = 0; k < processor->start_count; k++) {
            if (processor->starts[k].pid == pid && !processor->starts[k].stale) {
                return true;
            }
        }
    }
    return false;
}

void
sim_make_starts_stale(struct sim *sim, uint64_t pid)
{
    for (uint32_t i = 0; i < sim->processor_count; i++) {
        struct sim_processor *const processor = &sim->processors[i];

        pthread_mutex_lock(&processor->lock);
        for (size_t k = 0; k < processor->start_count; k++) {
            if (processor->starts[k].pid == pid) {
                processor->starts[k].stale = true;
            }
        }
        pthread_mutex_unlock(&processor->lock);
    }
}

/* ---- watches ---- */

void
sim_arm_watch(struct sim *sim, const struct sim_watch *watch, bool armed)
{
    for (uint32_t i = 0; i < sim->processor_count; i++) {
        for (int row = 0; row < SIM_SOURCES; row++) {
            if (!sim_watch_covers(watch, row, i)) {
                continue;
            }
            if (armed) {
                arm(&sim->processors[i], row);
            } else {
                disarm(&sim->processors[i], row);
            }
        }
    }
}

void
sim_synchronize(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->processor_count; i++) {
        pthread_mutex_lock(&sim->processors[i].lock);
        pthread_mutex_unlock(&sim->processors[i].lock);
    }
}

/* ---- hits ---- */

/* Return for which profiles (KE_SCOPE_...: of the process, global) an interrupt is; 0:
 * nothing was started or watched for it. */
static ULONG
find_scope(const struct sim *sim, const struct sim_processor *processor, int row,
           const KE_HIT *where)
{
    ULONG scope = 0;

    for (size_t i = 0; i < processor->start_count; i++) {
        const struct sim_start *const start = &processor->starts[i];

        if (start->source != where->Source || start->stale || !start->begun) {
            continue;
        }
        if (start->pid == 0) {
            scope |= KE_SCOPE_GLOBAL;
        } else if (start->pid == where->ProcessId) {
            scope |= KE_SCOPE_PROCESS;
        }
    }
    if (sim->all != NULL && sim_watch_covers(sim->all, row, where->Processor)) {
        return KE_SCOPE_BOTH;
    }
    if (sim->watches != NULL) {
        const struct sim_process *const process =
            sim_find_process(sim, where->ProcessId);

        if (process != NULL && process->watch != NULL &&
            sim_watch_covers(process->watch, row, where->Processor)) {
            scope |= KE_SCOPE_PROCESS;
        }
    }
    return scope;
}

/* Add a hit to the hash of its processor's trace. */
static void
hash_hit(struct sim *sim, struct sim_processor *processor, const KE_HIT *hit)
{
    processor->hash = sim_hash_add(processor->hash, sim->now_ns);
    processor->hash = sim_hash_add(processor->hash, hit->Source);
    processor->hash = sim_hash_add(processor->hash, hit->ProcessId);
    processor->hash = sim_hash_add(processor->hash, hit->Address);
    processor->hash = sim_hash_add(processor->hash, hit->Scope);
}

/* Count an interrupt by its fate; one that is SIM_DELIVERED is passed to the core, or
 * queued. Called with the processor's lock held. Returns the number of counters
 * incremented. */
static ULONG
make_interrupt(struct sim *sim, struct sim_processor *processor, int row,
               const KE_HIT *hit, enum sim_fate fate)
{
    struct sim_tally *const tally = &processor->tallies[row];

    tally->expected++;
    tally->events += sim->sources[row].interval;
    switch (fate) {
    case SIM_LOST:
        tally->lost++;
        return 0;
    case SIM_THROTTLED:
        tally->throttled++;
        return 0;
    case SIM_MISSED:
        tally->missed++;
        return 0;
    case SIM_EXCLUDED:
        tally->excluded++;
        return 0;
    case SIM_DELIVERED:
        break;
    }
    hash_hit(sim, processor, hit);
    if (sim->options.queue_records == 0) {
        return sim_deliver_hit(sim, hit);
    }
    if (!sim_push_hit(sim, hit)) {
        tally->lost++;
    }
    return 0;
}

ULONG
sim_interrupt(struct sim *sim, int row, const KE_HIT *where, enum sim_fate fate)
{
    struct sim_processor *const processor = &sim->processors[where->Processor];
    KE_HIT hit = *where;
    ULONG counters = 0;

    pthread_mutex_lock(&processor->lock);
    hit.Scope = find_scope(sim, processor, row, &hit);
    if (hit.Scope != 0) {
        counters = make_interrupt(sim, processor, row, &hit, fate);
    }
    pthread_mutex_unlock(&processor->lock);
    return counters;
}

ULONG
sim_hit(struct sim *sim, KPROFILE_SOURCE source, ULONG processor, uint64_t pid,
        uint64_t address)
{
    return sim_hit_segment(sim, source, processor, pid, address, 0, 0);
}

ULONG
sim_hit_segment(struct sim *sim, KPROFILE_SOURCE source, ULONG processor, uint64_t pid,
                uint64_t address, ULONG selector, uint64_t offset)
{
    const KE_HIT where = {
        .Source = source,
        .Processor = processor,
        .ProcessId = pid,
        .Address = address,
        .Selector = selector,
        .Offset = offset,
    };
    const int row = sim_source_row_of(source);

    if (row < 0 || processor >= sim->processor_count) {
        return 0;
    }
    return sim_interrupt(sim, row, &where, SIM_DELIVERED);
}

/* ---- what tests ask ---- */

struct sim_tally
sim_tally_of(struct sim *sim, int row)
{
    struct sim_tally sum = {0};

    for (uint32_t i = 0; i < sim->processor_count; i++) {
        struct sim_processor *const processor = &sim->processors[i];
        const struct sim_tally *const tally = &processor->tallies[row];

        pthread_mutex_lock(&processor->lock);
        sum.expected += tally->expected;
        sum.events += tally->events;
        sum.lost += tally->lost;
        sum.throttled += tally->throttled;
        sum.missed += tally->missed;
        sum.excluded += tally->excluded;
        pthread_mutex_unlock(&processor->lock);
    }
    return sum;
}

bool
sim_is_started(const struct sim *sim, KPROFILE_SOURCE source, ULONG processor,
               uint64_t pid)
{
    return processor < sim->processor_count &&
           find_start(&sim->processors[processor], source, pid) != NULL;
}

uint64_t
sim_started(const struct sim *sim)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < sim->processor_count; i++) {
        count += sim->processors[i].start_count;
    }
    return count;
}
