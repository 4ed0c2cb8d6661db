/* SPDX-License-Identifier: MIT */
/*
 * preloaded.c - follows processes that count their own hits by a preload object, and
 * adds those hits to images.
 *
 * Programs may write anything into the shared memory. So the processor time of a
 * process is read from the kernel while it runs, and a time that its preload object
 * reports is believed only if it fits between two such readings. The hits of all
 * processes are compared with their processor time (has_too_many_hits).
 *
 * Invariant: all processes below process_next and all segments below segment_next have
 * been seen. The record of a process or segment is copied when it is seen and not read
 * again, except for the counters of a process.
 */
#include "record/collect/preloaded.h"
#include "base/clock.h"
#include "base/command_log.h"
#include "record/collect/collectorp.h"
#include "record/collect/preloadedp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A preload object may report this much more processor time than passed between two
 * calls of preloaded_look, whose times are not exact; more is not believed. */
static const uint64_t look_slack_ns = 100000000;

/* Take hits with stacks, if they are wanted. Returns false if memory runs out. */
static bool
make_stacks(struct preloaded *preloaded)
{
    if (preloaded->memory->stack_bytes == 0) {
        return true;
    }
    preloaded->stacks = preload_stacks_new(preloaded);
    return preloaded->stacks != NULL;
}

struct preloaded *
preloaded_new(struct collector *collector, struct preload_memory *memory,
              uint64_t interval_asked)
{
    struct preloaded *const preloaded = calloc(1, sizeof(*preloaded));
    const long processors = sysconf(_SC_NPROCESSORS_CONF);

    if (preloaded == NULL) {
        return NULL;
    }
    preloaded->collector = collector;
    preloaded->memory = memory;
    preloaded->interval_asked = interval_asked;
    preloaded->processors = processors > 0 ? (uint64_t)processors : 1;
    preloaded->began_ns = clock_now_ns();
    preloaded->looked_ns = preloaded->began_ns;
    preloaded->process_next = 1;
    preloaded->segment_next = 1;
    /* Pages that are not used take no memory. */
    preloaded->processes = calloc(PRELOAD_PROCESSES, sizeof(*preloaded->processes));
    preloaded->segments = calloc(PRELOAD_SEGMENTS, sizeof(*preloaded->segments));
    if (preloaded->processes == NULL || preloaded->segments == NULL ||
        !make_stacks(preloaded)) {
        preloaded_delete(preloaded);
        return NULL;
    }
    return preloaded;
}

void
preloaded_delete(struct preloaded *preloaded)
{
    if (preloaded == NULL) {
        return;
    }
    preload_stacks_delete(preloaded->stacks);
    /* Processes above process_next may have been seen too. */
    for (uint32_t i = 1; preloaded->processes != NULL && i < PRELOAD_PROCESSES; i++) {
        preload_maps_finish(&preloaded->processes[i].maps);
    }
    free(preloaded->processes);
    free(preloaded->segments);
    free(preloaded);
}

/* ---- Processes ---- */

/* Read the processor clock of a process. Returns false if there is none, or not any
 * more. */
static bool
read_clock(uint32_t pid, uint64_t *cpu_ns)
{
    struct timespec now;
    clockid_t clock;

    if (clock_getcpuclockid((pid_t)pid, &clock) != 0 ||
        clock_gettime(clock, &now) != 0) {
        return false;
    }
    *cpu_ns = (uint64_t)now.tv_sec * CLOCK_SECOND_NS + (uint64_t)now.tv_nsec;
    return true;
}

/* Return the most processor time that all processes together can have used since the
 * last look. */
static uint64_t
most_since_look(const struct preloaded *preloaded, uint64_t now_ns)
{
    return (now_ns - preloaded->looked_ns + look_slack_ns) * preloaded->processors;
}

/* Advance the clock of a process to the time that its preload object reports, but by no
 * more than the time between two looks allows. */
static void
believe_time(struct preloaded *preloaded, struct preload_seen *process, uint64_t cpu_ns,
             uint64_t now_ns)
{
    const uint64_t most_ns = most_since_look(preloaded, now_ns);

    if (cpu_ns > process->cpu_ns && cpu_ns - process->cpu_ns > most_ns) {
        preloaded->memory->refused++;
    } else if (cpu_ns > process->cpu_ns) {
        process->cpu_ns = cpu_ns;
    }
}

/* Note that a process has exited, or executes another program. Its preload object may
 * have said when; if not, it was killed. */
static void
end_process(struct preloaded *preloaded, uint32_t number, uint64_t now_ns)
{
    struct preload_seen *const process = &preloaded->processes[number];
    struct preload_process record;

    process->alive = false;
    COMMAND_LOG("process %u exited or runs another program", process->pid);
    if (preload_memory_process(preloaded->memory, number, &record) &&
        record.end_ns != 0) {
        believe_time(preloaded, process, record.end_ns, now_ns);
    } else {
        preloaded->killed = true;
    }
}

/* Is the process of a record the one that was seen, with this or another program? */
static bool
is_same_process(const struct preload_seen *process,
                const struct preload_process *record)
{
    return process->seen && process->inner_pid == record->pid &&
           process->pid_namespace == record->pid_namespace;
}

/* Most numbers between the record that a parent makes of a child (PRELOAD_SPAWNED) and
 * the record of the preload object that the child loads. */
enum { NUMBERS_APART = 64 };

/* A program has loaded a preload object and made record, with this number: end each
 * program that the same process executed before, at the time when record begins. All of
 * these, also what a parent recorded of it as its child, were followed by a program
 * with a preload object: preload_loaded. */
static void
end_former(struct preloaded *preloaded, uint32_t number,
           const struct preload_process *record, uint64_t now_ns)
{
    for (uint32_t i = number; i > 1; i--) {
        struct preload_seen *const former = &preloaded->processes[i - 1];

        if (!is_same_process(former, record)) {
            continue;
        }
        former->preload_loaded = true;
        if (former->alive) {
            believe_time(preloaded, former, record->begin_ns, now_ns);
            former->alive = false;
        }
    }
}

/* Has a child, which its parent forked, already made its own record by loading a
 * preload object? That may have come first: look at the numbers just below. */
static bool
has_loaded_object(const struct preloaded *preloaded, uint32_t number,
                  const struct preload_process *record)
{
    for (uint32_t i = number; i > 1 && number - i < NUMBERS_APART; i--) {
        const struct preload_seen *const process = &preloaded->processes[i - 1];

        if (process->kind == PRELOAD_EXECED && is_same_process(process, record)) {
            return true;
        }
    }
    return false;
}

/* Set the clock of a process that was not seen before. */
static void
begin_clock(struct preloaded *preloaded, uint32_t number,
            const struct preload_process *record, uint64_t now_ns)
{
    struct preload_seen *const process = &preloaded->processes[number];
    uint64_t cpu_ns = 0;

    process->begin_ns = record->begin_ns;
    process->cpu_ns = record->begin_ns;
    process->alive = process->pid == 0 || read_clock(process->pid, &cpu_ns);
    if (process->pid == 0) {
        return; /* its preload object says what its clock shows */
    }
    if (!process->alive) {
        end_process(preloaded, number, now_ns);
    } else if (cpu_ns < record->begin_ns) {
        preloaded->memory->refused++;
        process->begin_ns = cpu_ns;
        process->cpu_ns = cpu_ns;
    }
}

/* Take over what a preload object has just said of its process. */
static void
see_process(struct preloaded *preloaded, uint32_t number,
            const struct preload_process *record, uint64_t now_ns)
{
    struct preload_seen *const process = &preloaded->processes[number];

    process->seen = true;
    process->kind = record->kind;
    process->pid = record->outer_pid;
    process->parent = record->parent;
    process->inner_pid = record->pid;
    process->pid_namespace = record->pid_namespace;
    COMMAND_LOG("process %u (%s) is followed by its preload object; its parent is %u",
                process->pid, record->program, process->parent);
    if (record->kind == PRELOAD_SPAWNED) {
        process->preload_loaded = has_loaded_object(preloaded, number, record);
        return;
    }
    end_former(preloaded, number, record, now_ns);
    begin_clock(preloaded, number, record, now_ns);
    if (!program_set_find(&preloaded->collector->programs, record->program, "",
                          &process->program)) {
        collector_fail(preloaded->collector, STATUS_INSUFFICIENT_RESOURCES);
    }
}

/* Take over all processes that were recorded since the last call. */
static void
see_processes(struct preloaded *preloaded, uint64_t now_ns)
{
    const uint32_t last = preload_memory_processes(preloaded->memory);
    bool all = true;

    for (uint32_t i = preloaded->process_next; i <= last; i++) {
        struct preload_process record;

        if (preloaded->processes[i].seen) {
            continue;
        }
        if (preload_memory_process(preloaded->memory, i, &record)) {
            see_process(preloaded, i, &record, now_ns);
        } else {
            all = false; /* its writer may have been killed */
        }
        if (all) {
            preloaded->process_next = i + 1;
        }
    }
}

/* ---- Code ---- */

/* Take over a segment that is ready: find the image that its hits belong to. */
static void
see_segment(struct preloaded *preloaded, uint32_t number)
{
    struct preload_segment_seen *const seen = &preloaded->segments[number];
    struct collector *const collector = preloaded->collector;
    struct preload_code code;
    ntprof_notification map = {.size = sizeof(map), .kind = NTPROF_IMAGE_MAP};
    const struct preload_seen *process;

    seen->seen = true;
    if (!preload_memory_segment(preloaded->memory, number, &code) ||
        !collector->options.user) {
        return;
    }
    process = &preloaded->processes[code.process];
    COMMAND_LOG("process %u maps %s, %" PRIu64 " bytes from offset %" PRIu64,
                process->pid, code.path, code.length, code.offset);
    map.pid = process->pid;
    map.name = code.path;
    map.base = UINT64_MAX - code.length; /* unknown: processes may differ */
    map.length = code.length;
    map.file_offset = code.offset;
    map.device_major = code.device_major;
    map.device_minor = code.device_minor;
    map.inode = code.inode;
    seen->place = code.offset;
    seen->length = code.length;
    /* If the process has exited, its parent leads to the root that both see. */
    seen->image = image_set_find(&collector->images, &map, &process->parent,
                                 process->parent != 0 ? 1 : 0);
    if (seen->image == NULL ||
        !program_set_find(&collector->programs, code.program, "", &seen->program)) {
        seen->image = NULL;
        collector_fail(collector, STATUS_INSUFFICIENT_RESOURCES);
    }
}

/* Take over all segments that are ready since the last call. */
static void
see_segments(struct preloaded *preloaded)
{
    const uint32_t last = preload_memory_segments(preloaded->memory);
    bool all = true;

    for (uint32_t i = preloaded->segment_next; i <= last; i++) {
        if (!preloaded->segments[i].seen &&
            preload_memory_is_ready(preloaded->memory, i)) {
            see_segment(preloaded, i);
        }
        all = all && preloaded->segments[i].seen;
        if (all) {
            preloaded->segment_next = i + 1;
        }
    }
}

/* ---- Looking ---- */

/* Read what a process maps if it had hits in code that its preload object does not
 * know, or stacks that lead there. */
static void
look_at_maps(struct preloaded *preloaded, struct preload_seen *process,
             const struct preload_process *record, uint64_t now_ns)
{
    if (!preloaded->collector->options.user ||
        (record->plain == process->plain && !process->wants_maps) ||
        now_ns < process->maps.next_ns) {
        return;
    }
    process->plain = record->plain;
    process->wants_maps = false;
    preload_maps_read(&process->maps, preloaded->collector, process->pid,
                      process->parent, now_ns);
}

/* Read the processor time and mappings of a process, or end it if it has exited. One
 * whose number is unknown is left to what its preload object says. */
static void
look_at_process(struct preloaded *preloaded, uint32_t number, uint64_t now_ns)
{
    struct preload_seen *const process = &preloaded->processes[number];
    struct preload_process record;
    uint64_t cpu_ns;

    if (!preload_memory_process(preloaded->memory, number, &record)) {
        return;
    }
    if (process->pid != 0 && !read_clock(process->pid, &cpu_ns)) {
        end_process(preloaded, number, now_ns);
    } else if (record.leaving != 0 || process->pid == 0) {
        /* The clock shows the time of the next program, until that has a preload
         * object. */
        believe_time(preloaded, process, record.end_ns, now_ns);
    } else {
        /* Its pid may be that of another process. The look may have begun a while
         * ago. */
        believe_time(preloaded, process, cpu_ns, clock_now_ns());
        look_at_maps(preloaded, process, &record, now_ns);
    }
}

void
preloaded_look(void *given)
{
    struct preloaded *const preloaded = given;
    const uint64_t now_ns = clock_now_ns();

    if (preloaded->stacks != NULL) {
        preload_stacks_accept(preloaded->stacks);
    }
    see_processes(preloaded, now_ns);
    see_segments(preloaded);
    if (preloaded->stacks != NULL) {
        preload_stacks_look(preloaded->stacks);
    }
    for (uint32_t i = 1; i <= preload_memory_processes(preloaded->memory); i++) {
        if (preloaded->processes[i].alive) {
            look_at_process(preloaded, i, now_ns);
        }
    }
    if (preloaded->killed) {
        preloaded->unseen_ns += most_since_look(preloaded, now_ns);
        preloaded->killed = false;
    }
    if (preloaded->stacks != NULL) {
        preload_stacks_end(preloaded->stacks);
    }
    preloaded->looked_ns = now_ns;
}

/* ---- Hits ---- */

/* Find the place of a bucket of a segment. Returns false if it is in no segment. */
static bool
find_segment(struct preloaded *preloaded, uint32_t number, uint64_t bucket,
             struct preload_target *target)
{
    const struct preload_segment_seen *seen;
    uint64_t offset;

    if (number == 0 || number >= PRELOAD_SEGMENTS) {
        return false;
    }
    seen = &preloaded->segments[number];
    /* It may have been recorded since the last look. Only it: counters that a program
     * forged name any number of segments that nobody recorded. */
    if (!seen->seen && preload_memory_is_ready(preloaded->memory, number)) {
        see_segment(preloaded, number);
    }
    offset = bucket << preloaded->memory->bucket_log2;
    if (seen->image == NULL || offset >= seen->length) {
        return false;
    }
    *target = (struct preload_target){seen->image, seen->place + offset, seen->program};
    return true;
}

/* Find the place of a bucket that PRELOAD_KEY_PLAIN marks: its preload object had no
 * segment for the code, so the mappings of process number, as last read in /proc, are
 * searched. Returns false if none contains it. */
static bool
find_in_mappings(const struct preloaded *preloaded, uint32_t number, uint64_t bucket,
                 struct preload_target *target)
{
    const struct preload_seen *process;

    if (number >= PRELOAD_PROCESSES) {
        return false;
    }
    process = &preloaded->processes[number];
    target->program = process->program;
    target->image = preload_maps_find(
        &process->maps, bucket << preloaded->memory->bucket_log2, &target->place);
    return target->image != NULL;
}

void
preloaded_find(struct preloaded *preloaded, uint64_t key, struct preload_target *target)
{
    const uint32_t number =
        (uint32_t)((key & ~PRELOAD_KEY_PLAIN) >> PRELOAD_KEY_NUMBER_BIT);
    const uint64_t bucket = key & (PRELOAD_KEY_BUCKETS - 1);
    const bool found = (key & PRELOAD_KEY_PLAIN) != 0
                           ? find_in_mappings(preloaded, number, bucket, target)
                           : find_segment(preloaded, number, bucket, target);

    if (!found) {
        *target = (struct preload_target){NULL, 0, 0};
    }
}

bool
preloaded_count(struct preloaded *preloaded, const struct preload_target *target,
                uint32_t hits)
{
    if (target->image == NULL) {
        preloaded->outside += hits;
        return true;
    }
    if (!preloaded->collector->images.discarding) {
        const struct count count = {
            .place = target->place, .hits = hits, .program = target->program};

        if (!counts_make_room(&target->image->fresh)) {
            return false;
        }
        counts_add(&target->image->fresh, &count);
    }
    preloaded->counted += hits;
    return true;
}

/* Add hits of a slot of the memory. */
static bool
take_hits(void *context, uint64_t key, uint32_t hits)
{
    struct preload_target target;

    preloaded_find(context, key, &target);
    return preloaded_count(context, &target, hits);
}

bool
preloaded_take(struct preloaded *preloaded)
{
    const bool complete =
        preloaded->stacks == NULL || preload_stacks_take(preloaded->stacks);

    return preload_memory_take(preloaded->memory, take_hits, preloaded) && complete;
}

bool
preloaded_fold(struct preloaded *preloaded)
{
    preloaded_look(preloaded);
    return preloaded_take(preloaded);
}

/* ---- Statistics ---- */

/* Sums over all processes. */
struct sums {
    uint64_t cpu_ns;
    uint64_t missed;
    uint64_t threads;
    uint64_t unarmed[UNARMED_CAUSES]; /* threads without a timer */
    uint64_t processes;
    uint64_t running;
    uint64_t unloaded; /* processes whose last program loaded no preload object */
};

/* Return why a thread got no timer (UNARMED_LIMIT ...). error: of preload_process. */
static size_t
cause_of(uint32_t error)
{
    switch (error) {
    case EAGAIN:
        return UNARMED_LIMIT;
    case EBUSY:
    case ESRCH:
        return UNARMED_SIGNALS;
    case EPERM:
    case EACCES:
    case ENOSYS:
        return UNARMED_REFUSED;
    default:
        return UNARMED_OTHER;
    }
}

/* Add up what is known of all processes that loaded a preload object. */
static struct sums
add_up(const struct preloaded *preloaded)
{
    const uint64_t interval_ns = preloaded->memory->interval_ns;
    struct sums sums = {0};

    for (uint32_t i = 1; i <= preload_memory_processes(preloaded->memory); i++) {
        const struct preload_seen *const process = &preloaded->processes[i];
        struct preload_process record;
        uint64_t cpu_ns;

        if (!process->seen || !preload_memory_process(preloaded->memory, i, &record)) {
            continue;
        }
        cpu_ns = process->cpu_ns - process->begin_ns;
        sums.processes += process->kind != PRELOAD_SPAWNED;
        sums.running += process->alive && process->pid != 0;
        sums.cpu_ns += cpu_ns;
        /* No more than fits into the time of the process. */
        sums.missed +=
            record.missed < cpu_ns / interval_ns ? record.missed : cpu_ns / interval_ns;
        sums.threads += record.threads;
        sums.unarmed[cause_of(record.error)] += record.unarmed;
        sums.unloaded += record.leaving != 0 && !process->preload_loaded;
    }
    return sums;
}

void
preloaded_statistics(const struct preloaded *preloaded, ntprof_source_info *info)
{
    const struct sums sums = add_up(preloaded);
    const uint64_t interval_ns = preloaded->memory->interval_ns;
    const uint64_t elapsed = sums.cpu_ns / interval_ns;
    uint64_t explained;

    *info = (ntprof_source_info){
        .size = sizeof(*info),
        .source = ProfileTime,
        .unit = NTPROF_UNIT_100NS,
        .supported = 1,
        .name = "time",
        .nt_name = "ProfileTime",
        .interval_asked = preloaded->interval_asked,
        .interval_granted = interval_ns / 100,
        .taken = preloaded->counted + preloaded->outside,
        .counted = preloaded->counted,
        .outside = preloaded->outside,
        .lost = preload_memory_lost(preloaded->memory),
        .missed = sums.missed,
    };
    if (info->taken != 0) {
        info->interval_measured = (double)sums.cpu_ns / 100 / (double)info->taken;
    }
    explained = info->taken + info->lost + info->missed;
    info->expected = elapsed > explained ? elapsed : explained;
    /* Of intervals that made no hit, one in each thread did not end before the thread
     * did; the others passed in threads without a timer. */
    info->unfinished = info->expected - explained;
    if (info->unfinished > sums.threads) {
        info->missed += info->unfinished - sums.threads;
        info->unfinished = sums.threads;
    }
}

/* Return the most processor time that processes may have used until the last look. */
static uint64_t
most_time(const struct preloaded *preloaded, const struct sums *sums)
{
    /* The time of a process without a place in the memory is not known: then it is all
     * that the machine has. */
    return preload_memory_refused_processes(preloaded->memory) != 0
               ? (preloaded->looked_ns - preloaded->began_ns) * preloaded->processors
               : sums->cpu_ns + preloaded->unseen_ns;
}

/* Are there more hits than intervals in the processor time of their processes? That of
 * each is not exact (look_slack_ns), and all processors may have been used since the
 * last look. By chance hits may be some more, as the first of each thread comes within
 * its first interval. */
static bool
has_too_many_hits(const struct preloaded *preloaded, const struct sums *sums)
{
    const uint64_t interval_ns = preloaded->memory->interval_ns;
    const uint64_t slack =
        (sums->processes + preloaded->processors) * (look_slack_ns / interval_ns + 1);
    const uint64_t most = most_time(preloaded, sums) / interval_ns + slack;

    return preloaded->counted + preloaded->outside > most + most / 20;
}

void
preloaded_describe(const struct preloaded *preloaded, struct collector_gaps *gaps)
{
    const struct sums sums = add_up(preloaded);

    gaps->running = sums.running;
    memcpy(gaps->unarmed, sums.unarmed, sizeof(gaps->unarmed));
    gaps->unloaded = sums.unloaded + preload_memory_unloaded(preloaded->memory);
    gaps->refusals = preload_memory_refusals(preloaded->memory);
    gaps->unbelieved = preloaded->memory->refused;
    gaps->lost_rings = preloaded->memory->lost_rings;
    gaps->denied_rings = preloaded->memory->denied_rings;
    gaps->too_many_hits = has_too_many_hits(preloaded, &sums);
    gaps->none_loaded = sums.processes == 0;
}
