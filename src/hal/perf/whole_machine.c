/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/whole_machine.c - opens the events of watches of all processes, and reads
 * who runs already.
 *
 * The events are there before /proc is read. So a process is in /proc, or a record of
 * its birth will come, or both; process_table.c leaves out what records say that was
 * read already.
 */
#include "hal/perf/whole_machine.h"

#include "hal/perf/opening.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>

#define NOTICE_NS 1000000000u

/* The number of the first pid namespace's file (PROC_PID_INIT_INO). */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

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

/* ---- who runs already ---- */

static bool
in_first_pid_namespace(void)
{
    struct stat file;

    return stat("/proc/self/ns/pid", &file) < 0 || file.st_ino == FIRST_PID_NAMESPACE;
}

/* What has no process of this pid namespace: idle processors, and processes out of
 * it. */
static void
tell_nobody(struct perf *perf, uint64_t time_ns)
{
    const ntprof_notification notification = {
        .size = sizeof(notification),
        .kind = NTPROF_PROCESS_START,
        .time_ns = time_ns,
        .name = in_first_pid_namespace() ? "swapper" : "(others)",
    };

    if (perf->processes.notify != NULL) {
        perf->processes.notify(perf->processes.context, &notification);
    }
}

static void
announce(struct perf *perf, uint32_t pid, uint64_t time_ns)
{
    const int result = perf_attach(perf, pid, time_ns, NULL);

    if (result == -ENOMEM) {
        perf->processes.dropped++; /* the next delivery reads it again */
    } else if (result < 0 && result != -ECHILD && result != -ESRCH) {
        perf->unread++;
    }
}

/* Callbacks must not flush meanwhile: records would change what is just being told. */
static void
announce_all(struct perf *perf, const struct perf_tids *pids, uint64_t time_ns)
{
    const bool delivering = perf->delivering;

    perf->delivering = true;
    tell_nobody(perf, time_ns);
    for (size_t i = 0; i < pids->count; i++) {
        announce(perf, pids->items[i], time_ns);
    }
    perf->delivering = delivering;
}

void
perf_machine_resync(struct perf *perf)
{
    struct perf_tids pids = {0};

    if (perf_procfs_processes(&pids) == 0) {
        for (size_t i = 0; i < pids.count; i++) {
            if (process_table_find(&perf->processes, pids.items[i]) == NULL) {
                (void)perf_attach(perf, pids.items[i], perf->last_ns, NULL);
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

/* All that the target wants on the processors that are online; those that go away are
 * noticed when they come back. */
static int
open_everywhere(struct perf *perf, struct perf_target *target, bool side_band,
                uint64_t *from_ns)
{
    const struct perf_selection selection = selection_of(target, side_band);
    struct perf_events opened = {0};
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < perf->processor_limit; i++) {
        if (perf->rings[i] != NULL) {
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

/* Rings say on which processors the side band is there, and so all the rest. */
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

/* What another target counts and the watch does too is the watch's now. */
static void
close_covered(struct perf *perf, const struct perf_target *watch,
              struct perf_target *other, uint64_t until_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < other->events.count; i++) {
        struct perf_event *const event = other->events.items[i];

        if (event->source != NULL && perf->rings[event->processor]->watched &&
            perf_watch_covers(watch, event->source, event->processor)) {
            perf_event_close(perf, event, until_ns, true);
        } else {
            other->events.items[kept++] = event;
        }
    }
    other->events.count = kept;
}

static void
take_over_all(struct perf *perf, const struct perf_target *watch, uint64_t until_ns)
{
    struct perf_target *next;

    for (struct perf_target *other = perf->targets; other != NULL; other = next) {
        next = other->next;
        if (!other->watch || other->pid != 0) {
            close_covered(perf, watch, other, until_ns);
            perf_target_drop_if_empty(perf, other);
        }
    }
}

/* The target's events are all there: they are what tells from now on. */
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
perf_watch_all(struct perf *perf, struct perf_source *const *sources,
               size_t source_count, const uint64_t *processors, size_t processor_words)
{
    const bool first = perf->machine_ns == 0;
    struct perf_tids pids = {0};
    struct perf_target *target;
    uint64_t from_ns = 0;
    int result;

    perf_widen_rings(perf);
    result = perf_watch_create(perf, 0, sources, source_count, processors,
                               processor_words, &target);
    if (result < 0) {
        return result;
    }
    result = open_everywhere(perf, target, perf->side_band_ns == 0, &from_ns);
    if (result == 0 && first) {
        result = perf_procfs_processes(&pids);
    }
    if (result < 0) {
        goto delete_target;
    }
    adopt_target(perf, target, from_ns);
    if (first) {
        perf->machine_ns = from_ns;
        perf->processes.all = true;
        announce_all(perf, &pids, from_ns);
    }
    perf_tids_finish(&pids);
    return 0;

delete_target:
    perf_tids_finish(&pids);
    perf_target_delete(perf, target);
    return perf_fail(perf, result, PERF_SCOPE_ALL, "watch all processes");
}

/* ---- processors that come ---- */

/* Does the side band's event on this processor still run? */
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
close_on(struct perf *perf, struct perf_target *target, uint32_t processor,
         uint64_t until_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < target->events.count; i++) {
        struct perf_event *const event = target->events.items[i];

        if (event->processor == processor) {
            perf_event_close(perf, event, until_ns, true);
        } else {
            target->events.items[kept++] = event;
        }
    }
    target->events.count = kept;
}

/* Open on one processor what a watch had there, or would have had. */
static int
reopen_on(struct perf *perf, struct perf_target *target, struct perf_ring *ring,
          bool side_band)
{
    const struct perf_selection selection = selection_of(target, side_band);
    struct perf_events opened = {0};
    uint64_t from_ns = 0;
    int result;

    result = perf_open_on(perf, target, &selection, ring, 0, &opened);
    if (result == 0) {
        result = perf_events_begin(target, &opened, &from_ns);
    }
    if (result < 0) {
        perf_events_forget_from(perf, &opened, 0);
        perf_events_finish(&opened);
        return result;
    }
    ring->watched = true;
    take_over_all(perf, target, from_ns - 1);
    return 0;
}

static void
give_up(struct perf *perf, struct perf_ring *ring, uint64_t until_ns)
{
    ring->watched = false;
    for (struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        if (target->watch && target->pid == 0) {
            close_on(perf, target, ring->processor, until_ns);
        }
    }
}

/* All of it or nothing: what could not be done, for want of memory or descriptors, is
 * tried again the next time. */
static void
bring_in(struct perf *perf, uint32_t processor, uint64_t now_ns)
{
    bool side_band = true;
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
            if (reopen_on(perf, target, ring, side_band) < 0) {
                give_up(perf, ring, now_ns);
                return;
            }
            side_band = false;
        }
    }
    perf->resync = true; /* what it did meanwhile was not told */
}

void
perf_machine_notice(struct perf *perf, uint64_t now_ns)
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
