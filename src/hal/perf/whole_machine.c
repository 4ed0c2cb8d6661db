/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/whole_machine.c - opens the events of watches of all processes, and reads
 * the running processes.
 *
 * The events are opened before /proc is read. So each process is in /proc, or a FORK
 * record of it will be delivered, or both; process_table.c ignores records that are
 * older than the reading.
 */
#include "hal/perf/whole_machine.h"

#include "hal/perf/opening.h"

#include <assert.h>
#include <errno.h>

#define NOTICE_NS 1000000000u

bool
perf_is_machine_watched(const struct perf *perf, const struct perf_source *source,
                        uint32_t processor)
{
    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        if (target->watch && target->pid == 0 &&
            perf_target_has_event(target, source, processor)) {
            return true;
        }
    }
    return false;
}

/* ---- running processes ---- */

/* Report pid 0: idle processors, and processes outside this pid namespace. */
static void
notify_no_process(struct perf *perf, uint64_t time_ns)
{
    const uint64_t namespace = perf_procfs_pid_namespace(0);
    ntprof_notification notification = {
        .kind = NTPROF_PROCESS_START,
        .time_ns = time_ns,
        .name = namespace == 0 || namespace == PERF_FIRST_PID_NAMESPACE ? "swapper"
                                                                        : "(others)",
    };

    process_table_notify(&perf->stream.processes, &notification);
}

static void
attach_running(struct perf *perf, uint32_t pid, uint64_t time_ns)
{
    const int result = perf_attach(perf, pid, time_ns, NULL);

    if (result == -ENOMEM) {
        perf->stream.processes.dropped++; /* the next delivery reads it again */
    } else if (result < 0 && result != -ECHILD && result != -ESRCH) {
        perf->unread++;
    }
}

/* Callbacks must not flush: records would change a process that is being reported. */
static void
attach_all(struct perf *perf, const struct perf_tids *pids, uint64_t time_ns)
{
    const bool delivering = perf->stream.delivering;

    perf->stream.delivering = true;
    notify_no_process(perf, time_ns);
    for (size_t i = 0; i < pids->count; i++) {
        attach_running(perf, pids->items[i], time_ns);
    }
    perf->stream.delivering = delivering;
}

void
perf_machine_resync(struct perf *perf)
{
    struct perf_tids pids = {0};

    if (perf_procfs_processes(&pids) == 0) {
        for (size_t i = 0; i < pids.count; i++) {
            if (process_table_find(&perf->stream.processes, pids.items[i]) == NULL) {
                (void)perf_attach(perf, pids.items[i], perf->stream.last_ns, NULL);
            }
        }
    }
    perf_tids_finish(&pids);
}

/* ---- events ---- */

static struct perf_selection
selection_of(const struct perf_target *target, bool side_band)
{
    return (struct perf_selection){
        .sources = target->sources,
        .source_count = target->source_count,
        .processors = target->processors,
        .processor_words = target->processor_words,
        .side_band = side_band,
        .side_band_apart = true,
        .skip_covered = true,
    };
}

/* Open the target's selection on a processor, or with UINT32_MAX on all. One that is
 * offline is opened when it is online. */
static int
open_on(struct perf *perf, struct perf_target *target, uint32_t processor,
        bool side_band, uint64_t *from_ns)
{
    const struct perf_selection selection = selection_of(target, side_band);
    struct perf_events opened = {0};
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < perf->processor_limit; i++) {
        if (perf->rings[i] != NULL && (processor == UINT32_MAX || processor == i)) {
            result = perf_open_on(perf, target, &selection, perf->rings[i], 0, &opened);
        }
        if (result == -ENODEV) {
            result = 0;
        }
    }
    if (result == 0) {
        result = perf_events_begin(target, &opened, from_ns);
    }
    if (result < 0) {
        perf_events_forget_from(perf, &opened, 0);
        perf_events_finish(&opened);
    }
    return result;
}

/* A ring is watched when the side band is open on its processor, and so all events. */
static void
mark_watched(struct perf *perf, const struct perf_target *target)
{
    for (size_t i = 0; i < target->events.count; i++) {
        const struct perf_event *const event = target->events.items[i];

        if (event->side_band) {
            perf->rings[event->processor]->watched = true;
        }
    }
}

static void
take_over_all(struct perf *perf, const struct perf_target *watch, uint64_t until_ns)
{
    struct perf_target *next;

    for (struct perf_target *other = perf->targets; other != NULL; other = next) {
        next = other->next;
        if (!other->watch || other->pid != 0) {
            perf_target_give_over(perf, other, watch, until_ns);
        }
    }
}

/* Add a target whose events are open; from now on its side band is used. */
static void
adopt_target(struct perf *perf, struct perf_target *target, uint64_t from_ns)
{
    assert(target->watch && target->pid == 0);
    target->next = perf->targets;
    perf->targets = target;
    mark_watched(perf, target);
    take_over_all(perf, target, from_ns - 1);
    if (perf->side_band_ns == 0) {
        perf->side_band_ns = from_ns;
        perf->noticed_ns = from_ns;
    }
}

int
perf_watch_all(struct perf *perf, const HAL_WATCH *request,
               struct perf_source *const *sources)
{
    const bool first = perf->machine_ns == 0;
    struct perf_tids pids = {0};
    struct perf_target *target;
    uint64_t from_ns = 0;
    int result;

    perf_widen_rings(perf);
    result = perf_watch_create(perf, request, sources, &target);
    if (result < 0) {
        return result;
    }
    result = open_on(perf, target, UINT32_MAX, perf->side_band_ns == 0, &from_ns);
    if (result == 0 && first) {
        result = perf_procfs_processes(&pids);
    }
    if (result < 0) {
        goto delete_target;
    }
    adopt_target(perf, target, from_ns);
    if (first) {
        perf->machine_ns = from_ns;
        perf->stream.processes.all = true;
        attach_all(perf, &pids, from_ns);
    }
    perf_tids_finish(&pids);
    return 0;

delete_target:
    perf_tids_finish(&pids);
    perf_target_delete(perf, target);
    return perf_fail(perf, result, PERF_SCOPE_ALL, "watch all processes");
}

/* ---- processors that come online ---- */

/* Is the side band's event on this processor still enabled? */
static bool
is_alive(const struct perf *perf, uint32_t processor)
{
    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        for (size_t i = 0; target->pid == 0 && i < target->events.count; i++) {
            struct perf_event *const event = target->events.items[i];

            if (event->side_band && event->processor == processor) {
                return perf_event_grows(event, &perf->features);
            }
        }
    }
    return false;
}

static void
give_up(struct perf *perf, struct perf_ring *ring, uint64_t until_ns)
{
    ring->watched = false;
    for (struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        if (target->watch && target->pid == 0) {
            perf_target_close(perf, target, NULL, ring->processor, until_ns);
        }
    }
}

/* Open all watches on a processor, or none: if memory or descriptors ran out, the next
 * perf_machine_check_online tries again. */
static void
bring_in(struct perf *perf, uint32_t processor, uint64_t now_ns)
{
    bool side_band = true;
    uint64_t from_ns = now_ns;
    struct perf_ring *ring;
    int result;

    ring = perf_processor_ring(perf, processor, &result);
    if (ring == NULL) {
        return;
    }
    give_up(perf, ring, now_ns);
    for (struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        if (target->watch && target->pid == 0) {
            if (open_on(perf, target, processor, side_band, &from_ns) < 0) {
                give_up(perf, ring, now_ns);
                return;
            }
            side_band = false;
            mark_watched(perf, target);
            take_over_all(perf, target, from_ns - 1);
        }
    }
    perf->stream.resync = true; /* there are no records of what ran there before */
}

void
perf_machine_check_online(struct perf *perf, uint64_t now_ns)
{
    if (perf->side_band_ns == 0 || now_ns - perf->noticed_ns < NOTICE_NS) {
        return;
    }
    perf->noticed_ns = now_ns;
    for (uint32_t i = 0; perf_next_online(perf, &i); i++) {
        if (!is_alive(perf, i)) {
            bring_in(perf, i, now_ns);
        }
    }
}
