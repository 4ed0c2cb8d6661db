/* SPDX-License-Identifier: MIT */
/*
 * agents.c - follows processes that count their own hits by a preloaded agent, and adds
 * those hits to images.
 *
 * Programs may write anything into the shared memory. So the processor time of a
 * process is read from the kernel while it runs, and a time that its agent reports is
 * believed only if it fits between two such readings. The hits of all processes are
 * compared with their processor time (is_too_much).
 *
 * Invariant: all processes below process_next and all segments below segment_next have
 * been seen. The record of a process or segment is copied when it is seen and not read
 * again, except for the counters of a process.
 */
#include "record/collect/preloaded.h"
#include "base/clock.h"
#include "record/collect/collectorp.h"
#include "record/collect/preload_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An agent may report this much more processor time than passed between two calls of
 * agents_look, whose times are not exact; more is not believed. */
static const uint64_t look_slack_ns = 100000000;

/* A process as last looked at; preload_process has what its agent says. */
struct agent_seen {
    bool seen; /* all below is set */
    bool alive;
    /* only for PRELOAD_SPAWNED: the program that the child executed has an agent */
    bool agent_loaded;
    uint32_t kind; /* PRELOAD_EXECED ... */
    uint32_t pid;  /* 0: unknown, as its PID namespace is another one */
    uint32_t parent;
    uint32_t inner_pid; /* its number in its PID namespace */
    uint32_t pid_namespace;
    uint32_t program;  /* number of its program */
    uint64_t begin_ns; /* of its processor clock */
    uint64_t cpu_ns;   /* of its processor clock, as far as it is known */
    uint32_t plain;    /* its hits in no segment, as of the last reading of its maps */
    struct agent_maps maps;
};

/* Code that agents count in, and where it is in its image. */
struct agent_segment_seen {
    bool seen;
    struct image *image; /* NULL: its hits are outside */
    uint64_t place;
    uint64_t length;
    uint32_t program;
};

struct agents {
    struct collector *collector;
    struct agent_memory *memory;
    uint64_t interval_asked; /* in 100 ns */
    uint64_t processors;     /* of the machine */
    uint64_t looked_ns;      /* CLOCK_MONOTONIC: when agents_look was last called */
    struct agent_seen *processes;
    struct agent_segment_seen *segments;
    uint32_t process_next;
    uint32_t segment_next;
    uint64_t counted; /* hits taken that are in an image */
    uint64_t outside; /* hits taken that are in none */
};

struct agents *
agents_new(struct collector *collector, struct agent_memory *memory,
           uint64_t interval_asked)
{
    struct agents *const agents = calloc(1, sizeof(*agents));
    const long processors = sysconf(_SC_NPROCESSORS_CONF);

    if (agents == NULL) {
        return NULL;
    }
    agents->collector = collector;
    agents->memory = memory;
    agents->interval_asked = interval_asked;
    agents->processors = processors > 0 ? (uint64_t)processors : 1;
    agents->looked_ns = clock_now_ns();
    agents->process_next = 1;
    agents->segment_next = 1;
    /* Pages that are not used take no memory. */
    agents->processes = calloc(PRELOAD_PROCESSES, sizeof(*agents->processes));
    agents->segments = calloc(PRELOAD_SEGMENTS, sizeof(*agents->segments));
    if (agents->processes == NULL || agents->segments == NULL) {
        agents_delete(agents);
        return NULL;
    }
    return agents;
}

void
agents_delete(struct agents *agents)
{
    if (agents == NULL) {
        return;
    }
    /* Processes above process_next may have been seen too. */
    for (uint32_t i = 1; agents->processes != NULL && i < PRELOAD_PROCESSES; i++) {
        agent_maps_finish(&agents->processes[i].maps);
    }
    free(agents->processes);
    free(agents->segments);
    free(agents);
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

/* Advance the clock of a process to what its agent says, as far as the time between two
 * looks allows that. */
static void
believe_time(struct agents *agents, struct agent_seen *process, uint64_t cpu_ns,
             uint64_t now_ns)
{
    const uint64_t most_ns =
        (now_ns - agents->looked_ns + look_slack_ns) * agents->processors;

    if (cpu_ns > process->cpu_ns && cpu_ns - process->cpu_ns > most_ns) {
        agents->memory->refused++;
    } else if (cpu_ns > process->cpu_ns) {
        process->cpu_ns = cpu_ns;
    }
}

/* The process has exited, or executes another program: its agent may have said when. */
static void
end_process(struct agents *agents, uint32_t number, uint64_t now_ns)
{
    struct agent_seen *const process = &agents->processes[number];
    struct preload_process record;

    process->alive = false;
    if (agent_memory_process(agents->memory, number, &record) && record.end_ns != 0) {
        believe_time(agents, process, record.end_ns, now_ns);
    }
}

/* Is the process of a record the one that was seen, with this or another program? */
static bool
is_same_process(const struct agent_seen *process, const struct preload_process *record)
{
    return process->seen && process->inner_pid == record->pid &&
           process->pid_namespace == record->pid_namespace;
}

/* Most numbers between the record that a parent makes of a child (PRELOAD_SPAWNED) and
 * the record of the agent that the child loads. */
enum { NUMBERS_APART = 64 };

/* A program has loaded an agent: end the record of each program that the same
 * process executed before. All of these were followed by a program with an agent:
 * agent_loaded. */
static void
end_former(struct agents *agents, uint32_t number, const struct preload_process *record,
           uint64_t now_ns)
{
    for (uint32_t i = number; i > 1; i--) {
        struct agent_seen *const former = &agents->processes[i - 1];

        if (!is_same_process(former, record)) {
            continue;
        }
        former->agent_loaded = true;
        if (former->alive) {
            believe_time(agents, former, record->begin_ns, now_ns);
            former->alive = false;
        }
    }
}

/* Has a child, which its parent forked, already made its own record by loading an
 * agent? That may have come first: look at the numbers just below. */
static bool
has_loaded_agent(const struct agents *agents, uint32_t number,
                 const struct preload_process *record)
{
    for (uint32_t i = number; i > 1 && number - i < NUMBERS_APART; i--) {
        const struct agent_seen *const process = &agents->processes[i - 1];

        if (process->kind == PRELOAD_EXECED && is_same_process(process, record)) {
            return true;
        }
    }
    return false;
}

/* Set the clock of a process that was not seen before. */
static void
begin_clock(struct agents *agents, uint32_t number,
            const struct preload_process *record, uint64_t now_ns)
{
    struct agent_seen *const process = &agents->processes[number];
    uint64_t cpu_ns = 0;

    process->begin_ns = record->begin_ns;
    process->cpu_ns = record->begin_ns;
    process->alive = process->pid == 0 || read_clock(process->pid, &cpu_ns);
    if (process->pid == 0) {
        return; /* its agent says what its clock shows */
    }
    if (!process->alive) {
        end_process(agents, number, now_ns);
    } else if (cpu_ns < record->begin_ns) {
        agents->memory->refused++;
        process->begin_ns = cpu_ns;
        process->cpu_ns = cpu_ns;
    }
}

/* Take over what an agent has just said of its process. */
static void
see_process(struct agents *agents, uint32_t number,
            const struct preload_process *record, uint64_t now_ns)
{
    struct agent_seen *const process = &agents->processes[number];

    process->seen = true;
    process->kind = record->kind;
    process->pid = record->outer_pid;
    process->parent = record->parent;
    process->inner_pid = record->pid;
    process->pid_namespace = record->pid_namespace;
    if (record->kind == PRELOAD_SPAWNED) {
        process->agent_loaded = has_loaded_agent(agents, number, record);
        return;
    }
    end_former(agents, number, record, now_ns);
    begin_clock(agents, number, record, now_ns);
    if (!program_set_find(&agents->collector->programs, record->program, "",
                          &process->program)) {
        collector_fail(agents->collector, STATUS_INSUFFICIENT_RESOURCES);
    }
}

/* Take over all processes that were recorded since the last call. */
static void
see_processes(struct agents *agents, uint64_t now_ns)
{
    const uint32_t last = agent_memory_processes(agents->memory);
    bool all = true;

    for (uint32_t i = agents->process_next; i <= last; i++) {
        struct preload_process record;

        if (agents->processes[i].seen) {
            continue;
        }
        if (agent_memory_process(agents->memory, i, &record)) {
            see_process(agents, i, &record, now_ns);
        } else {
            all = false; /* its writer may have been killed */
        }
        if (all) {
            agents->process_next = i + 1;
        }
    }
}

/* ---- Code ---- */

/* Take over a segment that is ready: find the image that its hits belong to. */
static void
see_segment(struct agents *agents, uint32_t number)
{
    struct agent_segment_seen *const seen = &agents->segments[number];
    struct collector *const collector = agents->collector;
    struct agent_code code;
    ntprof_notification map = {.size = sizeof(map), .kind = NTPROF_IMAGE_MAP};
    const struct agent_seen *process;

    seen->seen = true;
    if (!agent_memory_segment(agents->memory, number, &code) ||
        !collector->options.user) {
        return;
    }
    process = &agents->processes[code.process];
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
see_segments(struct agents *agents)
{
    const uint32_t last = agent_memory_segments(agents->memory);
    bool all = true;

    for (uint32_t i = agents->segment_next; i <= last; i++) {
        if (!agents->segments[i].seen && agent_memory_is_ready(agents->memory, i)) {
            see_segment(agents, i);
        }
        all = all && agents->segments[i].seen;
        if (all) {
            agents->segment_next = i + 1;
        }
    }
}

/* ---- Looking ---- */

/* Read what a process maps if it had hits in code that its agent does not know. */
static void
look_at_maps(struct agents *agents, struct agent_seen *process,
             const struct preload_process *record, uint64_t now_ns)
{
    if (!agents->collector->options.user || record->plain == process->plain ||
        now_ns < process->maps.next_ns) {
        return;
    }
    process->plain = record->plain;
    agent_maps_read(&process->maps, agents->collector, process->pid, process->parent,
                    now_ns);
}

/* Read the processor time and mappings of a process, or end it if it has exited. One
 * whose number is unknown is left to what its agent says. */
static void
look_at_process(struct agents *agents, uint32_t number, uint64_t now_ns)
{
    struct agent_seen *const process = &agents->processes[number];
    struct preload_process record;
    uint64_t cpu_ns;

    if (!agent_memory_process(agents->memory, number, &record)) {
        return;
    }
    if (process->pid != 0 && !read_clock(process->pid, &cpu_ns)) {
        end_process(agents, number, now_ns);
    } else if (record.leaving != 0 || process->pid == 0) {
        /* The clock shows the time of the next program, until that has an agent. */
        believe_time(agents, process, record.end_ns, now_ns);
    } else {
        /* Its pid may be that of another process. The look may have begun a while
         * ago. */
        believe_time(agents, process, cpu_ns, clock_now_ns());
        look_at_maps(agents, process, &record, now_ns);
    }
}

void
agents_look(void *given)
{
    struct agents *const agents = given;
    const uint64_t now_ns = clock_now_ns();

    see_processes(agents, now_ns);
    see_segments(agents);
    for (uint32_t i = 1; i <= agent_memory_processes(agents->memory); i++) {
        if (agents->processes[i].alive) {
            look_at_process(agents, i, now_ns);
        }
    }
    agents->looked_ns = now_ns;
}

/* ---- Hits ---- */

/* A part of an image that hits are added to. */
struct target {
    struct image *image;
    uint64_t place;
    uint32_t program;
};

/* Find the place of a bucket of a segment. Returns false if it is in no segment. */
static bool
find_segment(const struct agents *agents, uint32_t number, uint64_t bucket,
             struct target *target)
{
    const struct agent_segment_seen *seen;
    uint64_t offset;

    if (number >= PRELOAD_SEGMENTS) {
        return false;
    }
    seen = &agents->segments[number];
    offset = bucket << agents->memory->bucket_log2;
    if (seen->image == NULL || offset >= seen->length) {
        return false;
    }
    *target = (struct target){seen->image, seen->place + offset, seen->program};
    return true;
}

/* Find the place of a bucket of a process's address space, by its mappings as last
 * read: its agent had no segment for that code. Returns false if none holds it. */
static bool
find_plain(const struct agents *agents, uint32_t number, uint64_t bucket,
           struct target *target)
{
    const struct agent_seen *process;

    if (number >= PRELOAD_PROCESSES) {
        return false;
    }
    process = &agents->processes[number];
    target->program = process->program;
    target->image = agent_maps_find(
        &process->maps, bucket << agents->memory->bucket_log2, &target->place);
    return target->image != NULL;
}

/* Add hits that an agent counted to those of their image, or to those outside. Returns
 * false if memory runs out; they are not taken then. */
static bool
take_hits(void *context, bool plain, uint32_t number, uint64_t bucket, uint32_t hits)
{
    struct agents *const agents = context;
    struct target target = {NULL, 0, 0};
    const bool found = plain ? find_plain(agents, number, bucket, &target)
                             : find_segment(agents, number, bucket, &target);

    if (!found) {
        agents->outside += hits;
        return true;
    }
    if (!agents->collector->images.discarding) {
        const struct count count = {
            .place = target.place, .hits = hits, .program = target.program};

        if (!counts_make_room(&target.image->fresh)) {
            return false;
        }
        counts_add(&target.image->fresh, &count);
    }
    agents->counted += hits;
    return true;
}

bool
agents_take(struct agents *agents)
{
    return agent_memory_take(agents->memory, take_hits, agents);
}

bool
agents_fold(struct agents *agents)
{
    agents_look(agents);
    return agents_take(agents);
}

/* ---- Statistics ---- */

/* Sums over all processes. */
struct sums {
    uint64_t cpu_ns;
    uint64_t missed;
    uint64_t threads;
    uint64_t unarmed; /* threads without a timer */
    uint64_t processes;
    uint64_t running;
    uint64_t unloaded; /* processes whose last program loaded no agent */
};

/* Add up what is known of all processes that loaded an agent. */
static struct sums
add_up(const struct agents *agents)
{
    const uint64_t interval_ns = agents->memory->interval_ns;
    struct sums sums = {0};

    for (uint32_t i = 1; i <= agent_memory_processes(agents->memory); i++) {
        const struct agent_seen *const process = &agents->processes[i];
        struct preload_process record;
        uint64_t cpu_ns;

        if (!process->seen || !agent_memory_process(agents->memory, i, &record)) {
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
        sums.unarmed += record.unarmed;
        sums.unloaded += record.leaving != 0 && !process->agent_loaded;
    }
    return sums;
}

void
agents_statistics(const struct agents *agents, ntprof_source_info *info)
{
    const struct sums sums = add_up(agents);
    const uint64_t interval_ns = agents->memory->interval_ns;
    const uint64_t elapsed = sums.cpu_ns / interval_ns;
    uint64_t explained;

    *info = (ntprof_source_info){
        .size = sizeof(*info),
        .source = ProfileTime,
        .unit = NTPROF_UNIT_100NS,
        .supported = 1,
        .name = "time",
        .nt_name = "ProfileTime",
        .interval_asked = agents->interval_asked,
        .interval_granted = interval_ns / 100,
        .taken = agents->counted + agents->outside,
        .counted = agents->counted,
        .outside = agents->outside,
        .lost = agent_memory_lost(agents->memory),
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

/* Are there more hits than intervals in the processor time of their processes and in
 * the time that may have passed after the last look at each? By chance hits may be some
 * more, as the first of each thread comes within its first interval. Once all records
 * of processes are taken, the time of later processes is not known: false. */
static bool
is_too_much(const struct agents *agents, const struct sums *sums)
{
    const uint64_t interval_ns = agents->memory->interval_ns;
    /* A killed process may have run on all processors since its last look. */
    const uint64_t unseen =
        (sums->processes + agents->processors) * (look_slack_ns / interval_ns + 1);
    const uint64_t most = sums->cpu_ns / interval_ns + unseen;

    return agents->process_next < PRELOAD_PROCESSES &&
           agents->counted + agents->outside > most + most / 20;
}

void
agents_describe(const struct agents *agents, struct collector_gaps *gaps)
{
    const struct sums sums = add_up(agents);

    gaps->running = sums.running;
    gaps->unarmed = sums.unarmed;
    gaps->unloaded = sums.unloaded;
    gaps->refusals = agent_memory_refusals(agents->memory);
    gaps->unbelieved = agents->memory->refused;
    gaps->too_many_hits = is_too_much(agents, &sums);
    gaps->no_agent = sums.processes == 0;
}
