/* SPDX-License-Identifier: MIT */
/* hal/sim/watch.c - watches of processes, and what scripted processes do. */
#include "hal/sim/simp.h"

#include <stdio.h>
#include <stdlib.h>

/* Scripted processes fork at most this many children, and their children, in turn. */
enum { MOST_CHILDREN = 3, MOST_GENERATIONS = 2, PAGE_BYTES = 4096 };
#define MS_NS 1000000ull

bool
sim_watch_covers(const struct sim_watch *watch, int row, ULONG processor)
{
    return (watch->source_mask >> row & 1) != 0 &&
           (watch->processors[processor / 64] >> (processor % 64) & 1) != 0;
}

/* Add a watch of one process, or of all, without sources and processors. */
static struct sim_watch *
make_watch(struct sim *sim)
{
    const size_t words = (sim->processor_count + 63) / 64;
    struct sim_watch *const watch = calloc(1, sizeof(*watch));

    if (watch == NULL) {
        return NULL;
    }
    watch->processors = calloc(words, sizeof(uint64_t));
    if (watch->processors == NULL) {
        free(watch);
        return NULL;
    }
    watch->processes = 1;
    watch->next = sim->watches;
    sim->watches = watch;
    return watch;
}

/* Remove a watch from the list, and free it. */
static void
delete_watch(struct sim *sim, struct sim_watch *watch)
{
    struct sim_watch **link = &sim->watches;

    while (*link != watch) {
        link = &(*link)->next;
    }
    *link = watch->next;
    free(watch->processors);
    free(watch);
}

void
sim_release_watch(struct sim *sim, struct sim_process *process)
{
    struct sim_watch *const watch = process->watch;

    process->watch = NULL;
    if (watch == NULL) {
        return;
    }
    watch->processes--;
    if (watch->processes == 0) {
        sim_arm_watch(sim, watch, /* armed */ false);
        delete_watch(sim, watch);
    }
}

/* Set what a watch counts: what was asked for, and what the watch counts that it
 * replaces (before; may be NULL). */
static void
fill_watch(struct sim *sim, struct sim_watch *watch, const struct sim_watch *before,
           const HAL_WATCH *wanted)
{
    const uint32_t words = (sim->processor_count + 63) / 64;

    watch->descendants = (wanted->Flags & NTPROF_WATCH_DESCENDANTS) != 0;
    for (ULONG i = 0; i < wanted->SourceCount; i++) {
        watch->source_mask |= 1u << sim_source_row_of(wanted->Sources[i]);
    }
    for (uint32_t i = 0; i < words && i < (wanted->ProcessorCount + 63) / 64; i++) {
        watch->processors[i] = wanted->Processors[i];
    }
    if (before != NULL) {
        watch->descendants = watch->descendants || before->descendants;
        watch->source_mask |= before->source_mask;
        for (uint32_t i = 0; i < words; i++) {
            watch->processors[i] |= before->processors[i];
        }
    }
    /* Processors that the machine does not have never interrupt. */
    if (sim->processor_count % 64 != 0) {
        watch->processors[words - 1] &=
            ~(uint64_t)0 >> (64 - sim->processor_count % 64);
    }
}

/* Refuse a watch of sources that the machine does not have. */
static NTSTATUS
check_sources(struct sim *sim, const HAL_WATCH *wanted)
{
    for (ULONG i = 0; i < wanted->SourceCount; i++) {
        const int row = sim_source_row_of(wanted->Sources[i]);

        if (row < 0 || !sim->sources[row].supported) {
            snprintf(sim->error, sizeof(sim->error),
                     "the simulated machine has no source %u",
                     (unsigned)wanted->Sources[i]);
            return STATUS_NOT_SUPPORTED;
        }
    }
    return STATUS_SUCCESS;
}

/* If options.scripted is set, draw when a process first acts and when it exits. */
static void
begin_script(struct sim *sim, struct sim_process *process)
{
    if (sim->options.scripted) {
        process->wakes_ns = sim->now_ns + (1 + sim_random_below(sim, 5)) * MS_NS;
        process->ends_ns = sim->now_ns + (100 + sim_random_below(sim, 400)) * MS_NS;
    }
}

/* Watch a process. A watch that it has already is replaced by one that counts what both
 * do. */
static NTSTATUS
watch_process(struct sim *sim, const HAL_WATCH *wanted)
{
    struct sim_process *process;
    struct sim_watch *watch;
    bool notified_before;

    if (sim_is_ended(sim, wanted->ProcessId)) {
        snprintf(sim->error, sizeof(sim->error), "the simulated process has ended");
        return STATUS_PROCESS_IS_TERMINATING;
    }
    process = sim_adopt_process(sim, wanted->ProcessId);
    watch = process != NULL ? make_watch(sim) : NULL;
    if (watch == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    sim_notify_pending_starts(sim);
    notified_before = sim_is_watched(sim, process);
    fill_watch(sim, watch, process->watch, wanted);
    sim_arm_watch(sim, watch, /* armed */ true);
    sim_release_watch(sim, process);
    process->watch = watch;
    if (!notified_before) {
        process->waits_for_exec = (wanted->Flags & NTPROF_WATCH_ON_EXEC) != 0;
        if (!process->waits_for_exec) {
            sim_notify_start(sim, process, 0);
        }
        begin_script(sim, process);
    }
    return STATUS_SUCCESS;
}

/* Notify of the start of process 0, which hits of idle processors belong to. */
static void
notify_idle(struct sim *sim)
{
    ntprof_notification notification = {.kind = NTPROF_PROCESS_START};

    sim_push_notification(sim, &notification, "swapper");
}

void
sim_notify_pending_starts(struct sim *sim)
{
    for (struct sim_process *process = sim->processes; process != NULL;
         process = process->next) {
        if (process->alive && process->start_pending) {
            process->start_pending = false;
            sim_notify_start(sim, process, 0);
            begin_script(sim, process);
        }
    }
}

/* After the first watch of all processes, notify of the start of all that were not
 * watched before. */
static void
notify_all_starts(struct sim *sim)
{
    notify_idle(sim);
    for (struct sim_process *process = sim->processes; process != NULL;
         process = process->next) {
        process->start_pending =
            process->alive && (process->watch == NULL || process->waits_for_exec);
        process->waits_for_exec = false;
    }
    sim_notify_pending_starts(sim);
}

/* Watch all processes. If all are watched already, that watch is replaced by one that
 * counts what both do. */
static NTSTATUS
watch_all(struct sim *sim, const HAL_WATCH *wanted)
{
    struct sim_watch *const before = sim->all;
    struct sim_watch *const watch = make_watch(sim);

    if (watch == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    fill_watch(sim, watch, before, wanted);
    sim_arm_watch(sim, watch, /* armed */ true);
    sim->all = watch;
    if (before != NULL) {
        sim_arm_watch(sim, before, /* armed */ false);
        delete_watch(sim, before);
    } else {
        notify_all_starts(sim);
    }
    return STATUS_SUCCESS;
}

void
sim_finish_watches(struct sim *sim)
{
    if (sim->all != NULL) {
        delete_watch(sim, sim->all);
        sim->all = NULL;
    }
}

NTSTATUS
sim_watch(struct sim *sim, const HAL_WATCH *wanted)
{
    NTSTATUS status = check_sources(sim, wanted);

    if (!NT_SUCCESS(status)) {
        return status;
    }
    return wanted->ProcessId != 0 ? watch_process(sim, wanted) : watch_all(sim, wanted);
}

/* Map a library. All libraries are mapped at the same place, or a page above it, so
 * that each replaces the one before. */
static void
load_library(struct sim *sim, struct sim_process *process)
{
    struct sim_image image = {
        .base = 0x7E0000000000 + sim_random_below(sim, 2) * PAGE_BYTES,
        .length_bytes = (4 + sim_random_below(sim, 60)) * PAGE_BYTES,
    };

    snprintf(image.name, sizeof(image.name), "/sim/lib/plugin-%u",
             (unsigned)sim_random_below(sim, 4));
    sim_map(sim, process->pid, &image);
}

/* Have a process fork a child that acts as it does. */
static void
fork_child(struct sim *sim, struct sim_process *process)
{
    const uint64_t pid = sim->next_pid++;
    struct sim_process *child;

    sim_fork(sim, process->pid, pid);
    child = sim_find_process(sim, pid);
    if (child != NULL) {
        begin_script(sim, child);
    }
}

void
sim_act(struct sim *sim, struct sim_process *process)
{
    const bool may_fork =
        (sim->all != NULL || (process->watch != NULL && process->watch->descendants)) &&
        process->children < MOST_CHILDREN && process->generation < MOST_GENERATIONS;
    const uint64_t choice = sim_random_below(sim, 4);

    process->wakes_ns = sim->now_ns + (5 + sim_random_below(sim, 40)) * MS_NS;
    if (process->ends_ns <= sim->now_ns) {
        process->wakes_ns = 0;
        sim_exit(sim, process->pid);
    } else if (process->waits_for_exec || choice == 0) {
        sim_exec(sim, process->pid);
    } else if (choice == 1 && may_fork) {
        fork_child(sim, process);
    } else {
        load_library(sim, process);
    }
}
