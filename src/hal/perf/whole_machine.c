/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/whole_machine.c - opens the events of the watch of all processes, and reads
 * the running processes.
 *
 * The events are opened before /proc is read. So each process is in /proc, or a FORK
 * record of it will be delivered, or both; process_table.c ignores records that are
 * older than the reading.
 */
#include "hal/perf/whole_machine.h"

#include "hal/perf/opening.h"
#include "hal/perf/rings.h"
#include "hal/perf/watch.h"

#include <assert.h>
#include <errno.h>

/* Processors that came online are looked for once in this time. */
#define ONLINE_CHECK_NS 1000000000u

/* Report pid 0: idle processors, and processes outside this pid namespace. */
static void
notify_pid_0(struct perf *perf, uint64_t time_ns)
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

/* Report pid 0 and all running processes. While delivering is set, flushes of callbacks
 * do nothing: their records would change a process that is being reported. */
static void
attach_all(struct perf *perf, const struct perf_tids *pids, uint64_t time_ns)
{
    const bool delivering = perf->stream.delivering;

    perf->stream.delivering = true;
    notify_pid_0(perf, time_ns);
    for (size_t i = 0; i < pids->count; i++) {
        perf_attach_found(perf, pids->items[i], time_ns, /* watcher */ NULL);
    }
    perf->stream.delivering = delivering;
}

void
perf_machine_resync(struct perf *perf)
{
    struct perf_tids pids = {0};

    assert(perf_assert_state(perf));
    if (perf_procfs_processes(&pids) == 0) {
        for (size_t i = 0; i < pids.count; i++) {
            if (process_table_find(&perf->stream.processes, pids.items[i]) == NULL) {
                perf_attach_found(perf, pids.items[i], perf->stream.last_ns,
                                  /* watcher */ NULL);
            }
        }
    }
    perf_tids_finish(&pids);
}

/* Open the watch's events on a processor, or on PERF_ALL_PROCESSORS; an offline one is
 * skipped, and opened when it comes online. Returns 0, or negative errno with no event
 * open. */
static int
open_on(struct perf *perf, struct perf_target *machine, uint32_t processor,
        uint64_t *from_ns)
{
    const struct perf_selection selection = {
        .sources = machine->sources,
        .source_count = machine->source_count,
        .processors = machine->processors,
        .processor_words = machine->processor_words,
        .side_band = PERF_SIDE_BAND_APART,
    };
    struct perf_events opened = {0};
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < perf->processor_limit; i++) {
        const size_t before = opened.count;

        if (perf->rings[i] != NULL &&
            (processor == PERF_ALL_PROCESSORS || processor == i)) {
            result =
                perf_open_on(perf, machine, &selection, perf->rings[i], 0, &opened);
        }
        if (result == -ENODEV) {
            perf_events_forget_from(perf, &opened, before);
            result = 0;
        }
    }
    if (result == 0) {
        result = perf_events_begin(perf, machine, &opened, from_ns);
    }
    perf_events_forget_from(perf, &opened, 0);
    perf_events_finish(&opened);
    return result;
}

int
perf_watch_all(struct perf *perf, const HAL_WATCH *request)
{
    struct perf_tids pids = {0};
    struct perf_target *target;
    uint64_t from_ns = 0;
    int result;

    assert(perf_assert_state(perf));
    if (perf->targets != NULL) {
        return perf_context_fail(
            &perf->context, -EOPNOTSUPP,
            "a watch of all processes must be the session's first and only watch, and "
            "begin before profiles are started: open another session");
    }
    result = perf_watch_create(perf, request, &target);
    if (result < 0) {
        return result;
    }
    result = open_on(perf, target, PERF_ALL_PROCESSORS, &from_ns);
    if (result == 0) {
        result = perf_procfs_processes(&pids);
    }
    if (result < 0) {
        perf_tids_finish(&pids);
        perf_target_delete(perf, target);
        return perf_context_refuse(&perf->context, result, PERF_SCOPE_ALL,
                                   "watch all processes");
    }
    perf_target_link(perf, target);
    perf->machine = target;
    perf->online_checked_ns = from_ns;
    perf->stream.processes.all = true;
    attach_all(perf, &pids, from_ns);
    perf_tids_finish(&pids);
    return 0;
}

/* Do the watch's events on this processor still count? They stop for ever when it goes
 * offline; the side band's event shows it for all. */
static bool
still_counts(const struct perf *perf, uint32_t processor)
{
    const struct perf_events *const events = &perf->machine->events;

    for (size_t i = 0; i < events->count; i++) {
        if (events->items[i]->side_band && events->items[i]->processor == processor) {
            return perf_event_grows(events->items[i], &perf->features);
        }
    }
    return false;
}

/* Report a processor of which nothing is counted until it can be opened: once, although
 * each perf_machine_check_online tries again. */
static void
note_unopened(struct perf *perf, uint32_t processor)
{
    perf->unread += !perf_set_holds(perf->unopened, perf_set_words(perf), processor);
    perf_set_add(perf->unopened, processor);
}

/* Open the watch's events on a processor again. */
static void
reopen_on(struct perf *perf, uint32_t processor, uint64_t now_ns)
{
    uint64_t from_ns;
    int result = perf_require_ring(perf, processor);

    if (result == 0) {
        perf_target_close(perf, perf->machine, /* source */ NULL, processor, now_ns);
        result = open_on(perf, perf->machine, processor, &from_ns);
    }
    if (result == 0) {
        perf->stream.resync = true; /* what ran there meanwhile was not recorded */
        perf_set_remove(perf->unopened, processor);
    } else if (result != -ENODEV) { /* it is offline again */
        note_unopened(perf, processor);
    }
    perf->context.error[0] = 0; /* no call has failed */
}

void
perf_machine_check_online(struct perf *perf, uint64_t now_ns)
{
    if (perf->machine == NULL || now_ns - perf->online_checked_ns < ONLINE_CHECK_NS) {
        return;
    }
    perf->online_checked_ns = now_ns;
    for (uint32_t i = 0; perf_next_online(perf, &i); i++) {
        if (!still_counts(perf, i)) {
            reopen_on(perf, i, now_ns);
        }
    }
}
