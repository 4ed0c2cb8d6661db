/* SPDX-License-Identifier: MIT */
/*
 * hal/sim/clock.c - letting time pass: the next timer of any source on any processor
 * expires, or the next process acts, whichever is first.
 */
#include "hal/sim/simp.h"

#define NEVER_NS (~(uint64_t)0) /* a time that does not come */

/* What happens next: a timer expires, or a process acts. */
struct event {
    uint64_t at_ns;
    uint32_t processor;
    int row; /* of the source whose timer expires; -1: process acts */
    struct sim_process *process;
};

/* Return when a source's timer expires on this processor; NEVER_NS if it is not started
 * or watched there. The first expiration is drawn at random within a period, so that
 * timers do not all expire together. */
static uint64_t
due_ns(struct sim *sim, struct sim_processor *processor, int row)
{
    if (processor->armed[row] == 0) {
        return NEVER_NS;
    }
    if (processor->due_ns[row] == 0) {
        const uint64_t period_ns = sim_source_period_ns(sim, row);

        processor->due_ns[row] = sim->now_ns + 1 + sim_random_below(sim, period_ns);
    }
    return processor->due_ns[row];
}

/* Return what happens next; at_ns is NEVER_NS if nothing does. */
static struct event
find_next(struct sim *sim)
{
    struct event next = {.at_ns = NEVER_NS, .row = -1};

    for (uint32_t i = 0; i < sim->processor_count; i++) {
        for (int row = 0; sim->processors[i].armed_total != 0 && row < SIM_SOURCES;
             row++) {
            const uint64_t at_ns = due_ns(sim, &sim->processors[i], row);

            if (at_ns < next.at_ns) {
                next = (struct event){.at_ns = at_ns, .processor = i, .row = row};
            }
        }
    }
    for (struct sim_process *process = sim->processes; process != NULL;
         process = process->next) {
        if (process->alive && process->wakes_ns != 0 &&
            process->wakes_ns < next.at_ns) {
            next = (struct event){
                .at_ns = process->wakes_ns, .row = -1, .process = process};
        }
    }
    return next;
}

/* Pick one of all running processes at random (reservoir sampling). */
static struct sim_process *
pick_process(struct sim *sim)
{
    struct sim_process *picked = NULL;
    uint64_t seen = 0;

    for (struct sim_process *process = sim->processes; process != NULL;
         process = process->next) {
        if (process->alive && !process->waits_for_exec) {
            seen++;
            if (sim_random_below(sim, seen) == 0) {
                picked = process;
            }
        }
    }
    return picked;
}

/* Draw what a processor runs now: three times out of four what it ran before. Returns
 * NULL if it is idle. */
static struct sim_process *
schedule(struct sim *sim, struct sim_processor *processor)
{
    struct sim_process *process = sim_find_process(sim, processor->running_pid);

    if (process == NULL || sim_random_below(sim, 4) == 0) {
        process = pick_process(sim);
        processor->running_pid = process != NULL ? process->pid : 0;
    }
    return process;
}

/* Draw an offset in code of this length: three times out of four one of four hot
 * places, else any. */
static uint64_t
pick_offset(struct sim *sim, uint64_t length_bytes)
{
    const uint64_t place = sim_random_below(sim, 4);

    if (sim_random_below(sim, 4) != 0) {
        return length_bytes / 8 * (2 * place + 1);
    }
    return sim_random_below(sim, length_bytes);
}

/* Pick where a hit is: one time out of eight in the kernel, else in an image. */
static uint64_t
pick_address(struct sim *sim, const struct sim_process *process)
{
    const bool kernel = sim_random_below(sim, 8) == 0;
    const struct sim_image *image;

    if (process == NULL || process->image_count == 0 || kernel) {
        return SIM_KERNEL_BASE + pick_offset(sim, SIM_KERNEL_BYTES);
    }
    image = &process->images[sim_random_below(sim, process->image_count)];
    return image->base + pick_offset(sim, image->length_bytes);
}

/* Draw whether a hit is delivered, or why not, by the shares of sim_faults; with
 * user_only, hits in the kernel that are not throttled or missed are excluded. */
static enum sim_fate
pick_fate(struct sim *sim, uint64_t address)
{
    const struct sim_faults *const faults = &sim->faults;
    uint64_t draw = sim_random_below(sim, 1000);

    if (draw < faults->throttled_per_mille) {
        return SIM_THROTTLED;
    }
    draw -= faults->throttled_per_mille;
    if (draw < faults->missed_per_mille) {
        return SIM_MISSED;
    }
    draw -= faults->missed_per_mille;
    if (sim->options.user_only && address >= SIM_KERNEL_BASE) {
        return SIM_EXCLUDED;
    }
    return draw < faults->lost_per_mille ? SIM_LOST : SIM_DELIVERED;
}

/* A source's timer has expired: draw what its processor runs, and interrupt that. */
static void
expire(struct sim *sim, const struct event *event)
{
    struct sim_processor *const processor = &sim->processors[event->processor];
    const struct sim_process *const process = schedule(sim, processor);
    const KE_HIT where = {
        .Source = sim_source_rows[event->row].number,
        .Processor = event->processor,
        .ProcessId = process != NULL ? process->pid : 0,
        .Address = pick_address(sim, process),
    };
    const enum sim_fate fate = pick_fate(sim, where.Address);

    processor->due_ns[event->row] += sim_source_period_ns(sim, event->row);
    (void)sim_interrupt(sim, event->row, &where, fate);
}

/* Advance the time to an event, and have it happen. Returns true if a timer expired,
 * false if a process acted. */
static bool
run_event(struct sim *sim, const struct event *event)
{
    sim->now_ns = event->at_ns;
    if (event->row >= 0) {
        expire(sim, event);
        return true;
    }
    sim_act(sim, event->process);
    return false;
}

uint64_t
sim_step(struct sim *sim, uint64_t timers)
{
    uint64_t done = 0;

    while (done < timers) {
        const struct event next = find_next(sim);

        if (next.at_ns == NEVER_NS) {
            break;
        }
        if (run_event(sim, &next)) {
            done++;
        }
    }
    return done;
}

void
sim_run(struct sim *sim, uint64_t duration_ns)
{
    const uint64_t end_ns = sim->now_ns + duration_ns;
    struct event next = find_next(sim);

    while (next.at_ns <= end_ns) {
        (void)run_event(sim, &next);
        next = find_next(sim);
    }
    sim->now_ns = end_ns;
}

uint64_t
sim_now_ns(const struct sim *sim)
{
    return sim->now_ns;
}
