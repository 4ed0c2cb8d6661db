/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/target.c - opens and closes sets of events, so that no thread is counted twice.
 *
 * A thread that runs already is opened by its number, later ones inherit. A thread that begins
 * while we are opening may be seen in /proc without our knowing whether its creator already had
 * events to inherit. It gets events of its own and is a suspect: the first hit that it makes with an
 * inherited event settles it, and its own events go.
 */
#include "hal/perf/target.h"

#include "hal/perf/procfs.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- events ---- */

/* Close an event and keep it until its records are gone from the rings. */
static void
event_close(struct perf *perf, struct perf_event *event, uint64_t until_ns, bool count)
{
    if (event->source != NULL && count) {
        struct perf_tally *tally = &event->source->tally;
        struct perf_counts counts;

        perf_event_read_counts(event, &perf->features, &counts);
        tally->events += counts.events;
        tally->running_ns += counts.running_ns;
        tally->lost += counts.lost;
    }
    close(event->fd);
    event->fd = -1;
    event->target = NULL;
    event->until_ns = until_ns;
    event->next_closed = perf->closed;
    perf->closed = event;
}

/* Take an event out before anybody could see a record of it. */
static void
event_forget(struct perf *perf, struct perf_event *event)
{
    perf_idmap_remove(&perf->events, event->id);
    if (event->fd >= 0) {
        close(event->fd);
    }
    free(event);
}

void
perf_reap_closed(struct perf *perf, uint64_t bound_ns)
{
    struct perf_event **link = &perf->closed;

    while (*link != NULL) {
        struct perf_event *event = *link;

        if (event->until_ns > bound_ns) {
            link = &event->next_closed;
            continue;
        }
        *link = event->next_closed;
        for (uint32_t i = 0; i < perf->processor_limit; i++) {
            if (perf->rings[i] != NULL && perf->rings[i]->last_event == event) {
                perf->rings[i]->last_event = NULL;
            }
        }
        event_forget(perf, event);
    }
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

/* Open an event of a target and add it to opened. Returns 0 or negative errno. */
static int
event_open(struct perf *perf, struct perf_target *target, struct perf_source *source,
           const struct perf_ring *ring, uint32_t tid, bool side_band,
           struct perf_events *opened)
{
    const struct perf_event_request request = {
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

    fd = perf_event_open_fd(&request, &perf->features, target->pid != 0 ? (int)tid : -1,
                            (int)ring->processor);
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
    event->scope = target->pid != 0 ? KE_SCOPE_PROCESS : KE_SCOPE_GLOBAL;
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
    return 0;

drop_last:
    opened->count--;
free_event:
    free(event);
close_fd:
    close(fd);
    return result;
}

static void
events_forget_from(struct perf *perf, struct perf_events *events, size_t first)
{
    while (events->count > first) {
        event_forget(perf, events->items[--events->count]);
    }
}

/* Move all of opened to the target and let them begin, or none. */
static int
events_begin(struct perf_target *target, struct perf_events *opened)
{
    const size_t before = target->events.count;

    for (size_t i = 0; i < opened->count; i++) {
        if (perf_events_add(&target->events, opened->items[i]) < 0) {
            target->events.count = before;
            return -ENOMEM;
        }
    }
    for (size_t i = 0; i < opened->count && !target->on_exec; i++) {
        /* Also those that threads have inherited meanwhile. */
        ioctl(opened->items[i]->fd, PERF_EVENT_IOC_ENABLE, 0);
    }
    perf_events_finish(opened);
    return 0;
}

/* ---- what is covered ---- */

static bool
set_holds(const uint64_t *set, size_t words, uint32_t number)
{
    return number / 64 < words && (set[number / 64] >> (number % 64) & 1) != 0;
}

static bool
target_has_source(const struct perf_target *target, const struct perf_source *source)
{
    for (size_t i = 0; i < target->source_count; i++) {
        if (target->sources[i] == source) {
            return true;
        }
    }
    return false;
}

static bool
watch_covers(const struct perf_target *target, const struct perf_source *source,
             uint32_t processor)
{
    return target->watch && target_has_source(target, source) &&
           set_holds(target->processors, target->processor_words, processor);
}

/* Does a watch count this source for this process on this processor? */
static bool
is_covered(const struct perf *perf, const struct perf_source *source,
           uint32_t processor, uint32_t pid)
{
    const struct perf_process *process = perf_space_find(&perf->space, pid);

    if (process != NULL) {
        for (size_t i = 0; i < process->cover_count; i++) {
            if (watch_covers((const struct perf_target *)process->covers[i], source,
                             processor)) {
                return true;
            }
        }
    }
    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        /* A command that has not begun yet. */
        if (target->on_exec && target->pid == pid &&
            watch_covers(target, source, processor)) {
            return true;
        }
    }
    return false;
}

/* ---- threads ---- */

static bool
selection_has(const struct perf_selection *selection, uint32_t processor)
{
    if (selection->processors == NULL) {
        return processor == selection->processor;
    }
    return set_holds(selection->processors, selection->processor_words, processor);
}

/* All that is selected for one thread on one processor. */
static int
open_on_processor(struct perf *perf, struct perf_target *target,
                  const struct perf_selection *selection, const struct perf_ring *ring,
                  uint32_t tid, struct perf_events *opened)
{
    bool side_band = selection->side_band;
    int result = 0;

    if (selection_has(selection, ring->processor)) {
        for (size_t i = 0; result == 0 && i < selection->source_count; i++) {
            if (selection->skip_covered &&
                is_covered(perf, selection->sources[i], ring->processor, target->pid)) {
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

/* All that is selected for one thread, or nothing. */
static int
open_thread(struct perf *perf, struct perf_target *target,
            const struct perf_selection *selection, uint32_t tid,
            struct perf_events *opened)
{
    const size_t before = opened->count;

    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        int result;

        if (perf->rings[i] == NULL) {
            continue;
        }
        result =
            open_on_processor(perf, target, selection, perf->rings[i], tid, opened);
        if (result < 0) {
            events_forget_from(perf, opened, before);
            return result;
        }
    }
    return 0;
}

/* The threads being opened. */
struct roll {
    struct perf_tids
        pids; /* processes to look into; grows when descendants are followed */
    struct perf_idmap done; /* tids seen */
    bool follow;            /* children as well */
};

static void
roll_finish(struct roll *roll)
{
    perf_tids_finish(&roll->pids);
    perf_idmap_finish(&roll->done);
}

static int
roll_add_children(struct roll *roll, uint32_t pid)
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

/* Open the threads of a process that are not done yet. Returns how many, or negative errno. */
static int
open_new_threads(struct perf *perf, struct perf_target *target,
                 const struct perf_selection *selection, struct roll *roll,
                 uint32_t pid, bool suspect, struct perf_events *opened)
{
    struct perf_tids tids = {0};
    int fresh = 0;
    int result;

    result = perf_procfs_threads(pid, &tids);
    if (result == -ESRCH) {
        result = 0;
    }
    for (size_t i = 0; result == 0 && i < tids.count; i++) {
        const uint32_t tid = tids.items[i];

        if (perf_idmap_find(&roll->done, tid) != NULL) {
            continue;
        }
        result = perf_idmap_put(&roll->done, tid, target);
        if (result < 0) {
            break;
        }
        result = open_thread(perf, target, selection, tid, opened);
        if (result == -ESRCH) {
            perf_idmap_remove(&roll->done, tid); /* it ended meanwhile */
            result = 0;
            continue;
        }
        if (result == 0 && suspect) {
            result = perf_idmap_put(&target->suspects, tid, target);
        }
        fresh++;
    }
    perf_tids_finish(&tids);
    return result < 0 ? result : fresh;
}

/* Open all threads of all processes of the roll, until no new one shows. */
static int
open_all(struct perf *perf, struct perf_target *target,
         const struct perf_selection *selection, struct roll *roll,
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
    } while (fresh > 0);
    if (opened->count > 0) {
        return 0;
    }
    return roll->done.count > 0 ? -ENOENT : -ESRCH;
}

/* Open what is selected for a process and its threads, and give it to the target. */
static int
open_process(struct perf *perf, struct perf_target *target,
             const struct perf_selection *selection)
{
    struct perf_events opened = {0};
    struct roll roll = {0};
    int result;

    if (target->pid == 0 || target->on_exec) {
        result = open_thread(perf, target, selection, target->pid, &opened);
    } else {
        result = perf_tids_add(&roll.pids, target->pid);
        if (result == 0) {
            result = open_all(perf, target, selection, &roll, &opened);
        }
    }
    if (result == 0) {
        result = events_begin(target, &opened);
    }
    if (result < 0) {
        events_forget_from(perf, &opened, 0);
    }
    perf_events_finish(&opened);
    roll_finish(&roll);
    return result;
}

/* ---- targets ---- */

static struct perf_target *
target_create(uint32_t pid)
{
    struct perf_target *target = calloc(1, sizeof(*target));

    if (target != NULL) {
        target->pid = pid;
        target->pidfd = -1;
    }
    return target;
}

void
perf_target_delete(struct perf *perf, struct perf_target *target)
{
    const uint64_t now_ns = perf_now_ns();

    for (size_t i = 0; i < target->events.count; i++) {
        event_close(perf, target->events.items[i], now_ns, true);
    }
    perf_events_finish(&target->events);
    perf_idmap_finish(&target->suspects);
    if (target->pidfd >= 0) {
        close(target->pidfd);
    }
    free(target->sources);
    free(target->processors);
    free(target);
}

/* Close the events of a target that fit; NULL and 0 fit all. */
static void
close_matching(struct perf *perf, struct perf_target *target,
               const struct perf_source *source, uint32_t processor, uint64_t until_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < target->events.count; i++) {
        struct perf_event *event = target->events.items[i];

        if (event->source == source && event->processor == processor) {
            event_close(perf, event, until_ns, true);
        } else {
            target->events.items[kept++] = event;
        }
    }
    target->events.count = kept;
}

static void
unlink_target(struct perf *perf, const struct perf_target *target)
{
    struct perf_target **link = &perf->targets;

    while (*link != target) {
        link = &(*link)->next;
    }
    *link = target->next;
}

/* Forget a private target without events. */
static void
drop_if_empty(struct perf *perf, struct perf_target *target)
{
    if (!target->watch && target->events.count == 0) {
        unlink_target(perf, target);
        perf_target_delete(perf, target);
    }
}

static bool
has_exited(int pidfd)
{
    struct pollfd descriptor = {.fd = pidfd, .events = POLLIN};

    return pidfd >= 0 && poll(&descriptor, 1, 0) > 0;
}

static struct perf_target *
find_private(const struct perf *perf, uint32_t pid)
{
    for (struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        if (!target->watch && target->pid == pid) {
            return target;
        }
    }
    return NULL;
}

/* The private target of a process, made if need be; one whose process ended gives way. */
static struct perf_target *
private_target(struct perf *perf, uint32_t pid)
{
    struct perf_target *target = find_private(perf, pid);

    if (target != NULL && has_exited(target->pidfd)) {
        unlink_target(perf, target);
        perf_target_delete(perf, target);
        target = NULL;
    }
    if (target == NULL) {
        target = target_create(pid);
        if (target == NULL) {
            return NULL;
        }
        if (pid != 0) {
            target->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        }
        target->next = perf->targets;
        perf->targets = target;
    }
    return target;
}

static bool
has_events(const struct perf_target *target, const struct perf_source *source,
           uint32_t processor)
{
    for (size_t i = 0; i < target->events.count; i++) {
        if (target->events.items[i]->source == source &&
            target->events.items[i]->processor == processor) {
            return true;
        }
    }
    return false;
}

int
perf_start(struct perf *perf, struct perf_source *source, uint32_t processor,
           uint32_t pid)
{
    struct perf_source *const sources[] = {source};
    const struct perf_selection selection = {
        .sources = sources, .source_count = 1, .processor = processor};
    struct perf_target *target;
    int result;

    perf_probe_source(perf, source);
    if (!source->supported) {
        return perf_refuse_source(perf, source);
    }
    result = perf_make_rings(perf);
    if (result < 0) {
        return result;
    }
    if (perf_processor_ring(perf, processor) == NULL) {
        return -ENODEV;
    }
    if (pid != 0 && is_covered(perf, source, processor, pid)) {
        return 0;
    }
    target = private_target(perf, pid);
    if (target == NULL) {
        return perf_fail(perf, -ENOMEM, PERF_SCOPE_SELF, "count %s", source->name);
    }
    result = has_events(target, source, processor)
                 ? 0
                 : open_process(perf, target, &selection);
    if (result < 0) {
        if (pid == 0) {
            perf_fail(perf, result, PERF_SCOPE_ALL,
                      "count %s on processor %u for all "
                      "processes",
                      source->name, processor);
        } else {
            perf_fail(perf, result, PERF_SCOPE_PROCESS, "count %s in process %u",
                      source->name, pid);
        }
        drop_if_empty(perf, target);
    }
    return result;
}

void
perf_stop(struct perf *perf, struct perf_source *source, uint32_t processor,
          uint32_t pid)
{
    struct perf_target *target = find_private(perf, pid);

    /* Without one a watch covers it, and goes on. */
    if (target != NULL) {
        close_matching(perf, target, source, processor, perf_now_ns());
        drop_if_empty(perf, target);
    }
}

/* ---- watches ---- */

/* Keep what a watch covers. */
static int
watch_fill(struct perf_target *target, struct perf_source *const *sources,
           size_t source_count, const uint64_t *processors, size_t processor_words)
{
    target->sources = calloc(source_count + 1, sizeof(struct perf_source *));
    target->processors = calloc(processor_words + 1, sizeof(*target->processors));
    if (target->sources == NULL || target->processors == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < source_count; i++) {
        if (!target_has_source(target, sources[i])) {
            target->sources[target->source_count++] = sources[i];
        }
    }
    memcpy(target->processors, processors, processor_words * sizeof(*processors));
    target->processor_words = processor_words;
    return 0;
}

/* What a started profile had opened for this process is the watch's now. */
static void
take_over_private(struct perf *perf, const struct perf_target *watch, uint64_t from_ns)
{
    struct perf_target *target = find_private(perf, watch->pid);

    if (target == NULL) {
        return;
    }
    for (size_t i = 0; i < watch->source_count; i++) {
        for (uint32_t n = 0; n < perf->processor_limit; n++) {
            if (set_holds(watch->processors, watch->processor_words, n)) {
                close_matching(perf, target, watch->sources[i], n, from_ns);
            }
        }
    }
    drop_if_empty(perf, target);
}

/* Tell of a process that runs already. */
static int
watch_announce(struct perf *perf, struct perf_target *target)
{
    struct perf_mappings mappings = {0};
    struct perf_tids tids = {0};
    char name[64];
    int result;

    result = perf_procfs_threads(target->pid, &tids);
    if (result == 0) {
        result = perf_procfs_mappings(target->pid, &mappings);
    }
    if (result == 0) {
        perf_procfs_name(target->pid, name, sizeof(name));
        result =
            perf_space_attach(&perf->space, target->pid, name, tids.items, tids.count,
                              perf_now_ns(), &mappings, &target->cover);
        if (result == -EEXIST) {
            result = 0;
        }
    }
    perf_tids_finish(&tids);
    return result;
}

static int
check_sources(struct perf *perf, struct perf_source *const *sources,
              size_t source_count)
{
    for (size_t i = 0; i < source_count; i++) {
        perf_probe_source(perf, sources[i]);
        if (!sources[i]->supported) {
            return perf_refuse_source(perf, sources[i]);
        }
    }
    return 0;
}

int
perf_watch(struct perf *perf, uint32_t pid, bool descendants, bool on_exec,
           struct perf_source *const *sources, size_t source_count,
           const uint64_t *processors, size_t processor_words)
{
    struct perf_selection selection = {0};
    struct perf_target *target;
    uint64_t from_ns;
    int result;

    result = check_sources(perf, sources, source_count);
    if (result == 0) {
        result = perf_make_rings(perf);
    }
    if (result < 0) {
        return result;
    }
    /* What is known of the pid must be of the process that has it now. */
    perf_flush(perf);
    target = target_create(pid);
    if (target == NULL) {
        result = -ENOMEM;
        goto fail;
    }
    target->watch = true;
    target->cover.descendants = descendants;
    target->on_exec = on_exec;
    result = watch_fill(target, sources, source_count, processors, processor_words);
    if (result < 0) {
        goto delete_target;
    }
    selection.sources = target->sources;
    selection.source_count = target->source_count;
    selection.processors = target->processors;
    selection.processor_words = target->processor_words;
    selection.side_band = perf_space_find(&perf->space, pid) == NULL;
    selection.skip_covered = true;

    from_ns = perf_now_ns();
    result = open_process(perf, target, &selection);
    if (result == -ENOENT) {
        result = 0; /* other watches do all of it */
    }
    if (result < 0) {
        goto delete_target;
    }
    take_over_private(perf, target, from_ns);
    target->next = perf->targets;
    perf->targets = target;
    result = on_exec ? 0 : watch_announce(perf, target);
    if (result < 0) {
        unlink_target(perf, target);
        goto delete_target;
    }
    return 0;

delete_target:
    perf_target_delete(perf, target);
fail:
    return perf_fail(perf, result, PERF_SCOPE_PROCESS, "watch process %u", pid);
}

/* ---- suspects and intervals ---- */

void
perf_target_settle_suspect(struct perf *perf, struct perf_target *target, uint32_t tid,
                           uint64_t time_ns)
{
    size_t kept = 0;

    perf_idmap_remove(&target->suspects, tid);
    for (size_t i = 0; i < target->events.count; i++) {
        struct perf_event *event = target->events.items[i];

        if (event->tid == tid) {
            event_close(perf, event, time_ns, false);
        } else {
            target->events.items[kept++] = event;
        }
    }
    target->events.count = kept;
}

/* All processes that a target may count in now. */
static int
roll_add_covered(struct perf *perf, struct perf_target *target, struct roll *roll)
{
    int result = perf_tids_add(&roll->pids, target->pid);

    for (size_t i = 0; result == 0 && i < perf->space.processes.capacity; i++) {
        const struct perf_process *process = perf->space.processes.entries[i].value;

        for (size_t n = 0; process != NULL && result == 0 && n < process->cover_count;
             n++) {
            if (process->covers[n] == &target->cover && process->pid != target->pid) {
                result = perf_tids_add(&roll->pids, process->pid);
            }
        }
    }
    return result;
}

static bool
target_counts(const struct perf_target *target, const struct perf_source *source)
{
    for (size_t i = 0; i < target->events.count; i++) {
        if (target->events.items[i]->source == source) {
            return true;
        }
    }
    return false;
}

/* Processors on which the target counts the source, and whether that carries the side band. */
static int
present_selection(const struct perf *perf, const struct perf_target *target,
                  const struct perf_source *source, uint64_t **processors,
                  bool *side_band)
{
    *side_band = false;
    *processors = calloc(perf->processor_limit / 64 + 1, sizeof(**processors));
    if (*processors == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < target->events.count; i++) {
        const struct perf_event *event = target->events.items[i];

        if (event->source == source) {
            (*processors)[event->processor / 64] |= (uint64_t)1
                                                    << (event->processor % 64);
            *side_band = *side_band || event->side_band;
        }
    }
    return 0;
}

/* Close what the target had for the source before the first of the new events. */
static void
close_before(struct perf *perf, struct perf_target *target,
             const struct perf_source *source, bool side_band, size_t first_new,
             uint64_t until_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < target->events.count; i++) {
        struct perf_event *event = target->events.items[i];

        if (i < first_new &&
            (event->source == source || (side_band && event->side_band))) {
            event_close(perf, event, until_ns, true);
        } else {
            target->events.items[kept++] = event;
        }
    }
    target->events.count = kept;
}

/* Open the source again for all that the target counts in, and close what it had. Returns 0 or
 * negative errno: then nothing changed. */
static int
reopen(struct perf *perf, struct perf_target *target,
       const struct perf_selection *selection, struct roll *roll)
{
    struct perf_events opened = {0};
    const size_t before = target->events.count;
    const uint64_t from_ns = perf_now_ns();
    int result;

    if (target->pid == 0) {
        result = open_thread(perf, target, selection, 0, &opened);
    } else {
        result = roll_add_covered(perf, target, roll);
        if (result == 0) {
            result = open_all(perf, target, selection, roll, &opened);
        }
    }
    if (result == 0) {
        result = events_begin(target, &opened);
    }
    if (result == 0) {
        close_before(perf, target, selection->sources[0], selection->side_band, before,
                     from_ns);
    }
    events_forget_from(perf, &opened, 0);
    perf_events_finish(&opened);
    return result;
}

/* The kernel can change the period of a running event, but not of those that inherited it; and
 * where events are counted one by one, the next one is a hit at once. */
static void
change_period(struct perf_target *target, const struct perf_source *source)
{
    uint64_t period = perf_source_period(source);

    for (size_t i = 0; i < target->events.count; i++) {
        if (target->events.items[i]->source == source) {
            ioctl(target->events.items[i]->fd, PERF_EVENT_IOC_PERIOD, &period);
        }
    }
}

void
perf_target_reopen(struct perf *perf, struct perf_target *target,
                   struct perf_source *source)
{
    struct perf_source *const sources[] = {source};
    struct perf_selection selection = {
        .sources = sources,
        .source_count = 1,
        .processor_words = perf->processor_limit / 64 + 1,
    };
    struct roll roll = {.follow = target->cover.descendants};
    uint64_t *processors = NULL;
    int result = -EAGAIN;

    if (!target_counts(target, source)) {
        return;
    }
    /* Before its exec an event has not begun, and nobody inherited it. */
    if (!target->on_exec) {
        result =
            present_selection(perf, target, source, &processors, &selection.side_band);
    }
    if (result == 0) {
        selection.processors = processors;
        result = reopen(perf, target, &selection, &roll);
    }
    if (result < 0) {
        /* No descriptors, or no right any more: the best that is left. */
        change_period(target, source);
    }
    free(processors);
    roll_finish(&roll);
}
