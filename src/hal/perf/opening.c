/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/opening.c - opens the events of threads that run, so that no thread is counted twice.
 *
 * A thread that runs already is opened by its number, later ones inherit. A thread that begins
 * while we are opening may be seen in /proc without our knowing whether its creator already had
 * events to inherit. It gets events of its own and is a suspect, with all that descend from it: what their first
 * hits show to be there twice goes (witness.h).
 *
 * Events begin together, when all of them are there: a call that fails has counted nothing. They
 * run from their opening nevertheless, and what is older than their beginning is left out when
 * it is delivered. For a thread that is being created while the kernel enables its creator's event
 * may inherit it disabled, for ever; and with it its creator, since the kernel exchanges the
 * events of such threads when it switches from one to the other.
 */
#include "hal/perf/opening.h"
#include "hal/perf/descriptor.h"

#include "hal/perf/wide.h"
#include "hal/perf/witness.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- events ---- */

/* Take an event out before anybody could see a record of it. */
void
perf_event_forget(struct perf *perf, struct perf_event *event)
{
    perf_idmap_remove(&perf->events, event->id);
    perf_witness_forget_event(perf, event);
    if (event->fd >= 0) {
        perf_descriptor_close(event->fd);
    }
    free(event);
}

/* Give an open descriptor its ring and its place in the books. Takes fd over on success. */
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

/* A watch of all processes has one hit for both lists of profiles: none else counts there. */
static uint32_t
scope_of(const struct perf_target *target)
{
    if (target->pid != 0) {
        return KE_SCOPE_PROCESS;
    }
    return target->watch ? KE_SCOPE_BOTH : KE_SCOPE_GLOBAL;
}

/* The thread that an event of a target is opened on. Of all processes those of the cgroup alone have
 * hits, if there is one; what happened is told of all: they may come into the cgroup later. */
static int
open_request(const struct perf *perf, const struct perf_target *target,
             struct perf_event_request *request, uint32_t tid, uint32_t processor)
{
    int pid = target->pid != 0 ? (int)tid : -1;

    request->cgroup = pid == -1 && request->source != NULL && perf->cgroup_fd >= 0;
    if (request->cgroup) {
        pid = perf->cgroup_fd;
    }
    return perf_event_open_fd(request, &perf->features, pid, (int)processor);
}

/* Open an event of a target and add it to opened. Returns 0 or negative errno. */
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
        .threads_only = !target->cover.descendants,
        .on_exec = target->on_exec,
    };
    struct perf_event *event;
    int fd;
    int result;

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
    event->scope = scope_of(target);
    event->side_band = side_band;
    event->source = source;
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

void
perf_events_forget_from(struct perf *perf, struct perf_events *events, size_t first)
{
    while (events->count > first) {
        perf_event_forget(perf, events->items[--events->count]);
    }
}

int
perf_events_begin(const struct perf *perf, struct perf_target *target,
                  struct perf_events *opened, uint64_t *from_ns)
{
    const size_t before = target->events.count;

    *from_ns = perf_now_ns(perf);

    for (size_t i = 0; i < opened->count; i++) {
        if (perf_events_add(&target->events, opened->items[i]) < 0) {
            target->events.count = before;
            return -ENOMEM;
        }
    }
    for (size_t i = 0; i < opened->count; i++) {
        opened->items[i]->from_ns = *from_ns;
        opened->items[i]->doubtful = target->doubtful;
    }
    perf_events_finish(opened);
    return 0;
}

/* ---- threads ---- */

/* Does another target count it already? */
static bool
is_counted(const struct perf *perf, const struct perf_target *target,
           const struct perf_source *source, uint32_t processor)
{
    return target->pid != 0 ? perf_is_covered(perf, source, processor, target->pid)
                            : perf_is_wide(perf, source, processor);
}

/* As perf_open_on, but what was opened before a failure is in opened. */
static int
open_selected(struct perf *perf, struct perf_target *target,
              const struct perf_selection *selection, const struct perf_ring *ring,
              uint32_t tid, struct perf_events *opened)
{
    const bool selected = perf_set_holds(selection->processors,
                                         selection->processor_words, ring->processor);
    bool side_band = selection->side_band || (selection->side_band_there && selected);
    int result = 0;

    if (side_band && selection->side_band_apart) {
        result = event_open(perf, target, NULL, ring, tid, true, opened);
        side_band = false;
    }
    if (selected) {
        for (size_t i = 0; result == 0 && i < selection->source_count; i++) {
            if (selection->skip_covered &&
                is_counted(perf, target, selection->sources[i], ring->processor)) {
                continue;
            }
            result = event_open(perf, target, selection->sources[i], ring, tid,
                                side_band, opened);
            side_band = false;
        }
    }
    if (result == 0 && side_band) {
        result = event_open(perf, target, NULL, ring, tid, true, opened);
    }
    return result;
}

int
perf_open_on(struct perf *perf, struct perf_target *target,
             const struct perf_selection *selection, const struct perf_ring *ring,
             uint32_t tid, struct perf_events *opened)
{
    const size_t before = opened->count;
    const int result = open_selected(perf, target, selection, ring, tid, opened);

    if (result < 0) {
        perf_events_forget_from(perf, opened, before);
    }
    return result;
}

/* All that is selected for one thread, or nothing. */
int
perf_open_thread(struct perf *perf, struct perf_target *target,
                 const struct perf_selection *selection, uint32_t tid,
                 struct perf_events *opened)
{
    const size_t before = opened->count;

    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        int result;

        if (perf->rings[i] == NULL) {
            continue;
        }
        result = perf_open_on(perf, target, selection, perf->rings[i], tid, opened);
        if (result < 0) {
            perf_events_forget_from(perf, opened, before);
            return result;
        }
    }
    return 0;
}

void
perf_roll_finish(struct perf_roll *roll)
{
    perf_tids_finish(&roll->pids);
    perf_idmap_finish(&roll->done);
    perf_idmap_finish(&roll->gone);
    perf_settle_finish(&roll->settling);
}

static int
roll_add_children(struct perf_roll *roll, uint32_t pid)
{
    struct perf_tids children = {0};
    int result = perf_procfs_children(pid, &children);

    for (size_t i = 0; result == 0 && i < children.count; i++) {
        if (!perf_tids_hold(&roll->pids, children.items[i])) {
            result = perf_tids_add(&roll->pids, children.items[i]);
        }
    }
    perf_tids_finish(&children);
    return result;
}

/* Open a thread that is not done yet. Returns whether there may be others that it made, or
 * negative errno. */
static int
open_new_thread(struct perf *perf, struct perf_target *target,
                const struct perf_selection *selection, struct perf_roll *roll,
                uint32_t pid, uint32_t tid, bool suspect, struct perf_events *opened)
{
    int result = perf_open_thread(perf, target, selection, tid, opened);

    if (result == -ESRCH) {
        /* It ended meanwhile, or only waits for the others to end. */
        const bool known = perf_idmap_find(&roll->gone, tid) != NULL;

        result = perf_idmap_put(&roll->gone, tid, target);
        return result < 0 ? result : !known;
    }
    if (result == 0) {
        result = perf_idmap_put(&roll->done, tid, target);
    }
    target->doubtful = target->doubtful || suspect;
    if (result == 0) {
        result = perf_settle_add(&roll->settling, &perf->features, pid, tid);
    }
    return result < 0 ? result : 1;
}

/* Open the threads of a process that are not done yet. Returns how many, or negative errno. */
static int
open_new_threads(struct perf *perf, struct perf_target *target,
                 const struct perf_selection *selection, struct perf_roll *roll,
                 uint32_t pid, bool suspect, struct perf_events *opened)
{
    struct perf_tids tids = {0};
    int fresh = 0;
    int result;

    result = perf_procfs_threads(pid, &tids);
    if (result == -ESRCH) {
        result = 0;
    }
    for (size_t i = 0; result >= 0 && i < tids.count; i++) {
        if (perf_idmap_find(&roll->done, tids.items[i]) == NULL) {
            result = open_new_thread(perf, target, selection, roll, pid, tids.items[i],
                                     suspect, opened);
            fresh += result > 0;
        }
    }
    perf_tids_finish(&tids);
    return result < 0 ? result : fresh;
}

/* Open all threads of all processes of the roll, until no new one shows. */
int
perf_open_all(struct perf *perf, struct perf_target *target,
              const struct perf_selection *selection, struct perf_roll *roll,
              struct perf_events *opened)
{
    const size_t first_count = roll->pids.count;
    bool again = false;
    int fresh;

    do {
        fresh = 0;
        for (size_t i = 0; i < roll->pids.count; i++) {
            /* Known only now that others are open: it may have inherited. */
            const bool suspect = again || i >= first_count;
            const uint32_t pid = roll->pids.items[i];
            int result;

            result =
                open_new_threads(perf, target, selection, roll, pid, suspect, opened);
            if (result >= 0) {
                fresh += result;
                result = roll->follow ? roll_add_children(roll, pid) : 0;
            }
            if (result < 0) {
                return result;
            }
        }
        again = true;
    } while (perf_settle_wait(&roll->settling, &perf->features) || fresh > 0);
    if (opened->count > 0) {
        return 0;
    }
    return roll->done.count > 0 ? -ENOENT : -ESRCH;
}

/* Open what is selected for a process and its threads, and give it to the target. */
int
perf_open_process(struct perf *perf, struct perf_target *target,
                  const struct perf_selection *selection, uint64_t *from_ns)
{
    struct perf_events opened = {0};
    struct perf_roll roll = {0};
    int result;

    if (target->pid == 0 || target->on_exec) {
        result = perf_open_thread(perf, target, selection, target->pid, &opened);
    } else {
        result = perf_tids_add(&roll.pids, target->pid);
        if (result == 0) {
            result = perf_open_all(perf, target, selection, &roll, &opened);
        }
    }
    if (result == 0) {
        result = perf_events_begin(perf, target, &opened, from_ns);
    }
    if (result < 0) {
        perf_events_forget_from(perf, &opened, 0);
    }
    perf_events_finish(&opened);
    perf_roll_finish(&roll);
    return result;
}
