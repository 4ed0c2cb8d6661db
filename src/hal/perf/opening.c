/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/opening.c - opens the events of threads that run, so that no thread is counted twice.
 *
 * A thread that runs already is opened by its number, later ones inherit. A thread that begins
 * while we are opening may be seen in /proc without our knowing whether its creator already had
 * events to inherit. It gets events of its own and is a suspect, with all that descend from it: what
 * marks (heirs.h) or their first hits (witness.h) show to be there twice goes.
 *
 * Events begin together, when all of them are there: a call that fails has counted nothing. They
 * run from their opening nevertheless, and what is older than their beginning is left out when
 * it is delivered. For a thread that is being created while the kernel enables its creator's event
 * may inherit it disabled, for ever; and with it its creator, since the kernel exchanges the
 * events of such threads when it switches from one to the other.
 */
#include "hal/perf/opening.h"
#include "hal/linux/descriptor.h"

#include "hal/perf/whole_machine.h"
#include "hal/perf/witness.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/*
 * Who makes threads all the time is seen by the rounds in which new ones show. Then all threads get marks (heirs.h):
 * not before, since most openings need none. If new ones show in all of so many rounds, the time that an opening may take
 * is its bound.
 */
enum { ROUNDS_UNMARKED = 1, ROUNDS_MAX = 50 };

/* So many rounds in which nothing new showed will do where threads come and go faster than they can be listed. A listing
 * misses one only if others end at the wrong moment. */
enum { PARTIAL_ROUNDS = 10 };

/*
 * Breakpoints are few: x86 has four, and most other machines no fewer. A thread that had more of them than there are could make no
 * other thread, and the kernel, which counts them by the thread that they were made for, does not always notice. So we keep
 * within them, and rather do all of it again, with marks on all threads: until nothing is doubtful, and after some attempts,
 * until what is doubtful fits. Where busy threads leave us hardly a processor an attempt can take a second: so time counts too.
 */
enum { REGISTERS = 4, ATTEMPTS_SURE = 20, ATTEMPTS_MAX = 30 };
static const uint64_t OPENING_SURE_NS = 5000000000, OPENING_MAX_NS = 10000000000;

/* How long all waiting for threads that never get a processor may take together. A virtual processor may stand still for
 * tenths of a second, amid a call. */
static const uint64_t PATIENCE_NS = 2000000000;

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

/* Give an open descriptor its ring and its place in the statistics. Takes fd over on success. */
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

/* Open an event of a target and add it to opened; without a source and side band it is a mark. Returns 0 or
 * negative errno. */
static int
event_open(struct perf *perf, struct perf_target *target, struct perf_source *source,
           const struct perf_ring *ring, uint32_t tid, bool side_band,
           struct perf_events *opened)
{
    struct perf_event_request request = {
        .source = source,
        .kernel = source != NULL && source->kernel_included,
        .side_band = side_band,
        .switches = source == NULL && !side_band,
        .inherit = target->pid != 0,
        .threads_only = !target->watcher.descendants,
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
    event->tells_silence = source != NULL && source->unit == NTPROF_UNIT_100NS &&
                           target->pid == 0 && perf->cgroup_fd < 0;
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

/* As if it had never been opened. */
static void
event_undo(struct perf *perf, struct perf_event *event)
{
    if (event->source != NULL) {
        event->source->tally.instances--;
    }
    perf_event_forget(perf, event);
}

void
perf_events_forget_from(struct perf *perf, struct perf_events *events, size_t first)
{
    while (events->count > first) {
        event_undo(perf, events->items[--events->count]);
    }
}

int
perf_open_mark(struct perf *perf, struct perf_target *target,
               const struct perf_ring *ring, uint32_t tid, struct perf_events *marks)
{
    return event_open(perf, target, NULL, ring, tid, false, marks);
}

int
perf_events_begin(struct perf_target *target, struct perf_events *opened,
                  uint64_t *from_ns)
{
    const size_t before = target->events.count;

    *from_ns = perf_now_ns();
    for (size_t i = 0; i < opened->count; i++) {
        if (perf_events_add(&target->events, opened->items[i]) < 0) {
            target->events.count = before;
            return -ENOMEM;
        }
    }
    for (size_t i = 0; i < opened->count; i++) {
        opened->items[i]->from_ns = *from_ns;
        opened->items[i]->doubtful = target->doubtful > 0;
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
                            : perf_is_machine_watched(perf, source, processor);
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

/* ---- all threads ---- */

/* Forget all but whom to look into. */
static void
roll_empty(struct perf *perf, struct perf_roll *roll)
{
    perf_idmap_finish(&roll->done);
    perf_idmap_finish(&roll->gone);
    perf_settle_finish(&roll->settling);
    perf_heirs_finish(perf, &roll->heirs);
    roll->suspects.count = 0;
    roll->suspected = false;
    roll->unknown = 0;
    roll->doubtful_rounds = 0;
}

void
perf_roll_finish(struct perf *perf, struct perf_roll *roll)
{
    roll_empty(perf, roll);
    perf_tids_finish(&roll->suspects);
    perf_tids_finish(&roll->pids);
}

/* Marks give way. */
static int
roll_add_children(struct perf *perf, struct perf_roll *roll, uint32_t pid)
{
    struct perf_tids children = {0};
    int result = perf_procfs_children(pid, &children);

    if ((result == -EMFILE || result == -ENFILE) &&
        perf_heirs_give_up(perf, &roll->heirs)) {
        children.count = 0;
        result = perf_procfs_children(pid, &children);
    }
    roll->partial = roll->partial || result > 0;
    for (size_t i = 0; result >= 0 && i < children.count; i++) {
        if (!perf_tids_hold(&roll->pids, children.items[i])) {
            result = perf_tids_add(&roll->pids, children.items[i]);
        }
    }
    perf_tids_finish(&children);
    return result;
}

/* A thread is gone: it ended meanwhile, or only waits for the others to end. Returns whether it may have made others
 * that have not inherited, or -ENOMEM. */
static int
note_gone(const struct perf *perf, struct perf_target *target, struct perf_roll *roll,
          uint32_t pid, uint32_t tid)
{
    /* Who ended may have made the next one, whoever had its number before. */
    const bool known =
        perf_idmap_find(&roll->gone, tid) != NULL && perf_procfs_state(pid, tid) == 'Z';

    if (perf_idmap_put(&roll->gone, tid, target) < 0) {
        return -ENOMEM;
    }
    perf_heirs_read(perf, &roll->heirs);
    return !known && !perf_heirs_held(&roll->heirs, tid);
}

/* As perf_open_thread, but marks give way. */
static int
open_before_marks(struct perf *perf, struct perf_target *target,
                  const struct perf_selection *selection, struct perf_roll *roll,
                  uint32_t tid, struct perf_events *opened)
{
    int result = perf_open_thread(perf, target, selection, tid, opened);

    if ((result == -EMFILE || result == -ENFILE) &&
        perf_heirs_give_up(perf, &roll->heirs)) {
        result = perf_open_thread(perf, target, selection, tid, opened);
    }
    return result;
}

/* A thread has been opened that may have inherited. */
static int
note_suspect(struct perf_roll *roll, uint32_t tid, bool number_known)
{
    if (number_known) {
        roll->unknown++;
        return 0;
    }
    return perf_tids_add(&roll->suspects, tid);
}

/* Open a thread that is not done yet. Returns whether there may be others that it made, or
 * negative errno. */
static int
open_new_thread(struct perf *perf, struct perf_target *target,
                const struct perf_selection *selection, struct perf_roll *roll,
                uint32_t pid, uint32_t tid, bool suspect, struct perf_events *opened)
{
    const bool number_known = perf_heirs_know(&roll->heirs, tid);
    const bool marked = suspect || roll->marked;
    int result;

    if (perf_heirs_hold(&roll->heirs, tid)) {
        return perf_idmap_put(&roll->done, tid, target);
    }
    roll->suspected = roll->suspected || suspect;
    if (marked) {
        perf_heirs_mark(perf, &roll->heirs, target, tid, false);
    }
    result = open_before_marks(perf, target, selection, roll, tid, opened);
    if (result == -ESRCH) {
        return note_gone(perf, target, roll, pid, tid);
    }
    if (result == 0) {
        result = perf_idmap_put(&roll->done, tid, target);
    }
    if (result == 0 && marked) {
        perf_heirs_mark(perf, &roll->heirs, target, tid, true);
    }
    if (result == 0 && suspect) {
        result = note_suspect(roll, tid, number_known);
    }
    if (result == 0) {
        result = perf_settle_add(&roll->settling, &perf->features, pid, tid);
    }
    return result < 0 ? result : 1;
}

/* The threads of a process, which may be none; marks give way. Returns 0, 1 if some may be missing, or negative
 * errno. */
static int
list_threads(struct perf *perf, struct perf_roll *roll, uint32_t pid,
             struct perf_tids *tids)
{
    int result = perf_procfs_threads(pid, tids);

    if ((result == -EMFILE || result == -ENFILE) &&
        perf_heirs_give_up(perf, &roll->heirs)) {
        tids->count = 0;
        result = perf_procfs_threads(pid, tids);
    }
    return result == -ESRCH ? 0 : result;
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

    result = list_threads(perf, roll, pid, &tids);
    roll->partial = roll->partial || result > 0;
    perf_heirs_read(perf, &roll->heirs);
    for (size_t i = 0; result >= 0 && i < tids.count; i++) {
        if (perf_idmap_find(&roll->done, tids.items[i]) == NULL) {
            result = open_new_thread(perf, target, selection, roll, pid, tids.items[i],
                                     suspect, opened);
            perf_heirs_read(perf, &roll->heirs);
            fresh += result > 0;
        }
    }
    perf_tids_finish(&tids);
    return result < 0 ? result : fresh;
}

/* Look once into all processes of the roll, those that show meanwhile too. Returns how many threads may have made
 * others that are not known, or negative errno. */
static int
open_round(struct perf *perf, struct perf_target *target,
           const struct perf_selection *selection, struct perf_roll *roll,
           size_t unsuspected, struct perf_events *opened)
{
    int fresh = 0;

    roll->partial = false;
    for (size_t i = 0; i < roll->pids.count; i++) {
        const uint32_t pid = roll->pids.items[i];
        int result = open_new_threads(perf, target, selection, roll, pid,
                                      i >= unsuspected, opened);

        if (result >= 0) {
            fresh += result;
            result = roll->follow ? roll_add_children(perf, roll, pid) : 0;
        }
        if (result < 0) {
            return result;
        }
    }
    return fresh;
}

/* Suspects that have inherited all need nothing of their own. */
static void
drop_heirs(struct perf *perf, const struct perf_roll *roll, size_t first,
           struct perf_events *opened)
{
    size_t kept = first;

    for (size_t i = first; i < opened->count; i++) {
        struct perf_event *const event = opened->items[i];

        if (perf_heirs_held(&roll->heirs, event->tid) &&
            perf_tids_hold(&roll->suspects, event->tid)) {
            event_undo(perf, event);
        } else {
            opened->items[kept++] = event;
        }
    }
    opened->count = kept;
}

/* End a round: how many of its suspects have inherited all? Of the others it may be doubtful whether they have some. */
static size_t
judge_suspects(struct perf_roll *roll, bool settled)
{
    const bool sure = settled && roll->marked && !roll->heirs.given_up;
    size_t doubtful = roll->unknown;
    size_t heirs = 0;

    for (size_t i = 0; i < roll->suspects.count; i++) {
        const uint32_t tid = roll->suspects.items[i];

        if (perf_heirs_held(&roll->heirs, tid)) {
            heirs++;
        } else if (!sure || perf_heirs_know_some(&roll->heirs, tid)) {
            doubtful++;
        }
    }
    roll->doubtful_rounds += doubtful > 0;
    roll->suspects.count = 0;
    roll->unknown = 0;
    return heirs;
}

static void
mark_all(struct perf *perf, struct perf_target *target, struct perf_roll *roll,
         const struct perf_events *opened)
{
    for (size_t i = 0; i < opened->count; i++) {
        if (i == 0 || opened->items[i]->tid != opened->items[i - 1]->tid) {
            perf_heirs_mark(perf, &roll->heirs, target, opened->items[i]->tid, true);
        }
    }
}

/* How many breakpoints of this source may threads of this target have already? */
static unsigned
breakpoints_of(const struct perf *perf, const struct perf_target *target,
               const struct perf_source *source)
{
    for (const struct perf_target *other = perf->targets;
         other != NULL && source->type == PERF_TYPE_BREAKPOINT; other = other->next) {
        if (!other->watch && other->pid != 0 && other->pid != target->pid) {
            continue;
        }
        for (size_t i = 0; i < other->events.count; i++) {
            if (other->events.items[i]->source == source) {
                return 1 + other->doubtful;
            }
        }
    }
    return 0;
}

/* In how many rounds may threads get events that they may have already? Down a line of creators there may be one more of
 * each in each of those rounds. */
static unsigned
allowed_rounds(const struct perf *perf, const struct perf_target *target,
               const struct perf_selection *selection)
{
    unsigned taken = 0;

    for (size_t i = 0; i < selection->source_count; i++) {
        taken += selection->sources[i]->type == PERF_TYPE_BREAKPOINT;
    }
    if (taken == 0) {
        return UINT_MAX;
    }
    for (size_t i = 0; i < perf->sources.count; i++) {
        taken += breakpoints_of(perf, target, perf->sources.items[i]);
    }
    return taken < REGISTERS ? REGISTERS / taken - 1 : 0;
}

/* What read_marks needs. */
struct marks {
    const struct perf *perf;
    struct perf_heirs *heirs;
};

/* So that their rings do not fill. */
static void
read_marks(void *context)
{
    const struct marks *const marks = context;

    perf_heirs_read(marks->perf, marks->heirs);
}

/* Open all threads of all processes of the roll, until no new one shows that may not have inherited. */
static int
open_rounds(struct perf *perf, struct perf_target *target,
            const struct perf_selection *selection, struct perf_roll *roll,
            unsigned allowed, struct perf_events *opened)
{
    struct marks marks = {perf, &roll->heirs};
    size_t unsuspected = roll->pids.count;
    int quiet_rounds = 0;

    for (int round = 0;; round++) {
        const size_t first = opened->count;
        int fresh = open_round(perf, target, selection, roll, unsuspected, opened);
        bool settled;

        if (fresh < 0) {
            return fresh;
        }
        settled = perf_settle_wait(&roll->settling, &perf->features, &roll->patience_ns,
                                   read_marks, &marks);
        perf_heirs_read(perf, &roll->heirs);
        drop_heirs(perf, roll, first, opened);
        fresh -= (int)judge_suspects(roll, settled);
        if (roll->doubtful_rounds > allowed) {
            return -ENOSPC;
        }
        quiet_rounds = fresh == 0 ? quiet_rounds + 1 : 0;
        if (quiet_rounds > 0 && (!roll->partial || quiet_rounds >= PARTIAL_ROUNDS)) {
            return 0;
        }
        if (round >= ROUNDS_MAX && perf_now_ns() >= roll->until_ns) {
            return -EAGAIN;
        }
        if (round == ROUNDS_UNMARKED && !roll->marked) {
            mark_all(perf, target, roll, opened);
        }
        /* Known only now that others are open: it may have inherited. */
        unsuspected = 0;
    }
}

int
perf_open_all(struct perf *perf, struct perf_target *target,
              const struct perf_selection *selection, struct perf_roll *roll,
              struct perf_events *opened)
{
    const size_t opened_before = opened->count;
    const size_t pids_before = roll->pids.count;
    const unsigned allowed = allowed_rounds(perf, target, selection);
    const unsigned wanted = allowed == UINT_MAX ? allowed : 0;
    const uint64_t begun_ns = perf_now_ns();
    uint64_t spent_ns = 0;
    int result;

    roll->until_ns = begun_ns + OPENING_MAX_NS;
    roll->patience_ns = PATIENCE_NS;
    result = open_rounds(perf, target, selection, roll, wanted, opened);
    for (int i = 0; result == -ENOSPC && roll->suspected && i < ATTEMPTS_MAX &&
                    spent_ns < OPENING_MAX_NS;
         i++) {
        const bool sure = i < ATTEMPTS_SURE && spent_ns < OPENING_SURE_NS;

        perf_events_forget_from(perf, opened, opened_before);
        roll_empty(perf, roll);
        roll->pids.count = pids_before;
        roll->marked = true;
        result =
            open_rounds(perf, target, selection, roll, sure ? wanted : allowed, opened);
        spent_ns = perf_now_ns() - begun_ns;
    }
    if (result < 0) {
        return result == -ENOSPC && roll->suspected ? -EAGAIN : result;
    }
    if (target->doubtful < roll->doubtful_rounds) {
        target->doubtful = roll->doubtful_rounds;
    }
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
        result = perf_events_begin(target, &opened, from_ns);
    }
    if (result < 0) {
        perf_events_forget_from(perf, &opened, 0);
    }
    perf_events_finish(&opened);
    perf_roll_finish(perf, &roll);
    return result;
}
