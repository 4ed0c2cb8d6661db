/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/opening.c - opens the events of running threads, so that no hit is counted
 * twice.
 *
 * Events are opened on each running thread; threads made later inherit them. A thread
 * that appears during the scan may have inherited or not: its creator may have been
 * opened before it was made, or after, or on some processors only. So events are opened
 * on it too, and all events of this opening may be duplicates: duplicate.h closes a
 * duplicate at its first hit. Breakpoints cannot be duplicated: a thread with more
 * breakpoints than registers can create no thread, and a hit that would close one may
 * never come. So with breakpoints a thread that appears ends the attempt.
 *
 * The scan ends with a round that finds no new thread (thread_scan.h). If threads are
 * created all the time there is none: the scan ends after ROUNDS_MAX rounds or
 * ATTACH_MAX_NS, and the process is counted in perf->unread, which the session reports.
 *
 * All events start to count together, when all are open: a call that fails has counted
 * nothing. The kernel enables them when they are opened nevertheless, and delivery
 * drops hits from before the start. An event must not be opened disabled and enabled
 * later: a thread that is created at that moment may inherit it disabled for ever, and
 * with it its creator, because the kernel swaps the event contexts of such threads when
 * it switches between them.
 */
#include "hal/perf/opening.h"

#include "hal/linux/descriptor.h"
#include "hal/perf/stacks.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Most rounds of a scan; most scans, since with breakpoints a new thread ends one. */
enum { ROUNDS_MAX = 50, BREAKPOINT_ATTEMPTS = 2 };
static const uint64_t ATTACH_MAX_NS = 1000000000; /* for all rounds */

/* ---- one event ---- */

/* Have an open descriptor write into its processor's ring, and make the event findable
 * by the id in its records. Returns 0, and then fd is the event's; or negative
 * errno. */
static int
event_adopt(struct perf *perf, const struct perf_ring *ring, int fd,
            struct perf_event *event)
{
    int result;

    if (ioctl(fd, PERF_EVENT_IOC_ID, &event->id) < 0 ||
        ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->owner_fd) < 0) {
        return -errno;
    }
    result = perf_idmap_put(&perf->events, event->id, event);
    if (result == 0) {
        event->fd = fd;
    }
    return result;
}

/* Return for which profiles the hits of a target count. Those of a watch of all
 * processes are for the process's profiles and the global ones: no other event counts
 * what it does. */
static uint32_t
hit_scope(const struct perf_target *target)
{
    if (target->pid != 0) {
        return KE_SCOPE_PROCESS;
    }
    return target->watch ? KE_SCOPE_BOTH : KE_SCOPE_GLOBAL;
}

/* Open one event of a target. If the session counts a cgroup, an event that counts all
 * processes is opened for the cgroup. A side band event (without a source) covers all
 * processes nevertheless: they may enter the cgroup later. */
static int
open_request(const struct perf *perf, const struct perf_target *target,
             struct perf_event_request *request, uint32_t tid, uint32_t processor)
{
    int pid = target->pid != 0 ? (int)tid : -1; /* -1: all processes */

    request->cgroup =
        pid == -1 && request->source != NULL && perf->context.cgroup_fd >= 0;
    if (request->cgroup) {
        pid = perf->context.cgroup_fd;
    }
    return perf_event_open_fd(request, &perf->features, pid, (int)processor);
}

/* Open an event of a target and add it to opened. source: NULL: it has the side band
 * only. tid: as in perf_open_on. Returns 0 or negative errno. */
static int
event_open(struct perf *perf, struct perf_target *target, struct perf_source *source,
           const struct perf_ring *ring, uint32_t tid, bool side_band,
           struct perf_events *opened)
{
    struct perf_event_request request = {
        .source = source,
        .kernel = source != NULL && source->kernel_included,
        .side_band = side_band,
        .inherit = target->pid != 0,
        .threads_only = !target->watcher.descendants,
        .on_exec = target->on_exec,
    };
    struct perf_event *event;
    int fd;
    int result;

    perf_stacks_request(perf, &request);
    fd = open_request(perf, target, &request, tid, ring->processor);
    if (fd < 0) {
        return fd;
    }
    event = calloc(1, sizeof(*event));
    if (event == NULL) {
        result = -ENOMEM;
        goto close_fd;
    }
    event->fd = -1;
    event->processor = ring->processor;
    event->tid = tid;
    event->scope = hit_scope(target);
    event->side_band = side_band;
    event->layout = perf_event_layout(&request, &perf->features);
    event->source = source;
    event->period = source != NULL ? perf_source_period(source) : 0;
    event->reports_silence = source != NULL && source->unit == NTPROF_UNIT_100NS &&
                             target->pid == 0 && perf->context.cgroup_fd < 0;
    event->target = target;
    event->until_ns = UINT64_MAX;
    result = perf_events_add(opened, event);
    if (result < 0) {
        goto free_event;
    }
    result = event_adopt(perf, ring, fd, event);
    if (result < 0) {
        goto drop_last;
    }
    if (source != NULL) {
        source->tally.instances++;
    }
    return 0;

drop_last:
    opened->count--;
free_event:
    free(event);
close_fd:
    perf_descriptor_close(fd);
    return result;
}

/* ---- events of an opening ---- */

void
perf_events_forget_from(struct perf *perf, struct perf_events *events, size_t first)
{
    while (events->count > first) {
        struct perf_event *const event = events->items[--events->count];

        if (event->source != NULL) {
            event->source->tally.instances--;
        }
        perf_event_forget(perf, event);
    }
}

int
perf_events_begin(const struct perf *perf, struct perf_target *target,
                  struct perf_events *opened, uint64_t *from_ns)
{
    const size_t before = target->events.count;

    *from_ns = perf_stream_now_ns(&perf->stream);
    for (size_t i = 0; i < opened->count; i++) {
        if (perf_events_add(&target->events, opened->items[i]) < 0) {
            target->events.count = before;
            return -ENOMEM;
        }
    }
    for (size_t i = 0; i < opened->count; i++) {
        assert(opened->items[i]->target == target && opened->items[i]->from_ns == 0);
        opened->items[i]->from_ns = *from_ns;
    }
    perf_events_finish(opened);
    return 0;
}

/* ---- one thread ---- */

int
perf_open_on(struct perf *perf, struct perf_target *target,
             const struct perf_selection *selection, const struct perf_ring *ring,
             uint32_t tid, struct perf_events *opened)
{
    const bool selected = perf_set_holds(selection->processors,
                                         selection->processor_words, ring->processor);
    const size_t source_count = selected ? selection->source_count : 0;
    bool side_band = selection->side_band != PERF_NO_SIDE_BAND &&
                     (selected || selection->side_band != PERF_SIDE_BAND_SELECTED);
    int result = 0;

    if (side_band && selection->side_band == PERF_SIDE_BAND_APART) {
        result = event_open(perf, target, /* source */ NULL, ring, tid,
                            /* side_band */ true, opened);
        side_band = false;
    }
    for (size_t i = 0; result == 0 && i < source_count; i++) {
        struct perf_source *const source = selection->sources[i];

        if (selection->skip_covered &&
            perf_is_covered(perf, source, ring->processor, target->pid)) {
            continue;
        }
        result = event_open(perf, target, source, ring, tid, side_band, opened);
        side_band = false;
    }
    if (result == 0 && side_band) {
        result = event_open(perf, target, /* source */ NULL, ring, tid,
                            /* side_band */ true, opened);
    }
    return result;
}

/* Open the selection for a thread on all processors. Events opened before a failure
 * stay in opened. */
static int
open_thread(struct perf *perf, struct perf_target *target,
            const struct perf_selection *selection, uint32_t tid,
            struct perf_events *opened)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < perf->processor_limit; i++) {
        if (perf->rings[i] != NULL) {
            result = perf_open_on(perf, target, selection, perf->rings[i], tid, opened);
        }
    }
    return result;
}

/* ---- all threads ---- */

/* The context of open_found. */
struct opening {
    struct perf *perf;
    struct perf_target *target;
    const struct perf_selection *selection;
    struct perf_events *opened;
    bool breakpoints;   /* some are selected */
    size_t threads;     /* opened */
    bool may_duplicate; /* one of them may have inherited */
};

/* Open the events of a thread (a perf_thread_found). */
static int
open_found(void *context, uint32_t tid, bool late)
{
    struct opening *const opening = context;
    const size_t before = opening->opened->count;
    int result;

    if (late && opening->breakpoints) {
        return -EAGAIN; /* breakpoints must not be duplicated: ends this scan */
    }
    result = open_thread(opening->perf, opening->target, opening->selection, tid,
                         opening->opened);
    if (result < 0) {
        perf_events_forget_from(opening->perf, opening->opened, before);
        return result;
    }
    opening->threads++;
    opening->may_duplicate = opening->may_duplicate || late;
    return 0;
}

/* Scan once. Returns 0, 1 if some threads may be missing, or negative errno: -EAGAIN
 * with breakpoints if threads appeared. */
static int
open_scan(struct opening *opening, struct perf_thread_scan *scan)
{
    const struct perf_features *const features = &opening->perf->features;

    scan->deadline_ns = perf_elapsed_ns() + ATTACH_MAX_NS;
    if (opening->breakpoints) { /* all attempts together take ATTACH_MAX_NS */
        scan->deadline_ns = perf_elapsed_ns() + ATTACH_MAX_NS / BREAKPOINT_ATTEMPTS;
    }
    for (int round = 0; round < ROUNDS_MAX; round++) {
        const int new_threads =
            perf_thread_scan_round(scan, features, round == 0, open_found, opening);

        if (new_threads < 0) {
            return new_threads;
        }
        if (new_threads == 0 && !scan->incomplete) {
            return 0;
        }
        /* The deadline ends a scan after its second round at the earliest: on a busy
         * machine the first may take all of the time, and threads be created in it. */
        if (round > 0 && perf_elapsed_ns() >= scan->deadline_ns) {
            break;
        }
    }
    return opening->breakpoints ? -EAGAIN : 1;
}

static bool
selects_breakpoints(const struct perf_selection *selection)
{
    for (size_t i = 0; i < selection->source_count; i++) {
        if (selection->sources[i]->type == PERF_TYPE_BREAKPOINT) {
            return true;
        }
    }
    return false;
}

/* Open the selection for all threads of the scan's processes. */
static int
open_running(struct perf *perf, struct perf_target *target,
             const struct perf_selection *selection, struct perf_thread_scan *scan,
             struct perf_events *opened)
{
    struct opening opening = {.perf = perf,
                              .target = target,
                              .selection = selection,
                              .opened = opened,
                              .breakpoints = selects_breakpoints(selection)};
    int result = -EAGAIN;

    scan->pause = perf->pause;
    scan->pause_context = perf->stream.processes.context;
    for (int i = 0; result == -EAGAIN && i < BREAKPOINT_ATTEMPTS; i++) {
        perf_events_forget_from(perf, opened, 0);
        perf_thread_scan_reset(scan);
        opening.threads = 0;
        result = open_scan(&opening, scan);
    }
    if (result < 0) {
        return result;
    }
    perf->unread += (uint64_t)result;
    for (size_t i = 0; i < opened->count; i++) {
        opened->items[i]->may_duplicate = opening.may_duplicate;
    }
    if (opened->count > 0) {
        return 0;
    }
    /* Nothing was opened: watches count all threads already, or no thread is alive. */
    return opening.threads > 0 ? -ENOENT : -ESRCH;
}

int
perf_open(struct perf *perf, struct perf_target *target,
          const struct perf_selection *selection, struct perf_thread_scan *scan,
          uint64_t *from_ns)
{
    struct perf_events opened = {0};
    int result;

    if (target->pid == 0 || target->on_exec) {
        result = open_thread(perf, target, selection, target->pid, &opened);
    } else {
        result = perf_tids_add(&scan->pids, target->pid);
        if (result == 0) {
            result = open_running(perf, target, selection, scan, &opened);
        }
    }
    if (result == 0) {
        result = perf_events_begin(perf, target, &opened, from_ns);
    }
    perf_events_forget_from(perf, &opened, 0);
    perf_events_finish(&opened);
    perf_thread_scan_finish(scan);
    return result;
}
