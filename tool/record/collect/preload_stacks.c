/* SPDX-License-Identifier: MIT */
/*
 * preload_stacks.c - the rings of all processes.
 *
 * A hit is counted when it is taken out of its ring, and only then its callers are
 * looked for: rows with callers have no hit that their counter lacks. What cannot be
 * walked is counted all the same.
 *
 * The code of a process is what its preload object reported, and what was read of its
 * mappings in /proc elsewhere: libraries that it loaded later, and code of JITs.
 */
#include "record/collect/preload_stacks.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/command_log.h"
#include "record/collect/collectorp.h"
#include "record/collect/preloadedp.h"
#include "record/collect/ring_reader.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Connections that are taken at a time: programs may make any number. */
enum { ACCEPTED_MAX = 4096 };

/* How often slots of threads that are gone are looked for. */
#define DEAD_NS CLOCK_SECOND_NS

/* followed - a ring, and what is known of the code of its process. */
struct followed {
    struct ring_reader *reader;
    uint32_t pid;          /* as the kernel says; 0: it has no number here */
    struct code_map *code; /* NULL: none yet */
    bool believed;         /* it is that of the process that it names */
    bool has_code;         /* code is that of the next two */
    uint32_t event_count;
    uint64_t maps_version;
};

struct preload_stacks {
    struct preloaded *preloaded;
    struct followed *items;
    size_t count;
    size_t capacity;
    struct stack_ring_slot *hit; /* a copy that no program changes */
    uint64_t dead_looked_ns;
};

struct preload_stacks *
preload_stacks_new(struct preloaded *preloaded)
{
    struct preload_stacks *const stacks = calloc(1, sizeof(*stacks));
    const size_t bytes = stack_ring_slot_bytes(preloaded->memory->stack_bytes);

    if (stacks == NULL) {
        return NULL;
    }
    stacks->preloaded = preloaded;
    /* As in sample_pool.h: no core dump has it. */
    stacks->hit =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks->hit == MAP_FAILED || madvise(stacks->hit, bytes, MADV_DONTDUMP) != 0) {
        preload_stacks_delete(stacks);
        return NULL;
    }
    return stacks;
}

/* Forget a ring. */
static void
forget(struct preload_stacks *stacks, size_t at)
{
    ring_reader_delete(stacks->items[at].reader);
    code_map_release(stacks->items[at].code);
    stacks->items[at] = stacks->items[--stacks->count];
}

void
preload_stacks_delete(struct preload_stacks *stacks)
{
    if (stacks == NULL) {
        return;
    }
    while (stacks->count > 0) {
        forget(stacks, stacks->count - 1);
    }
    if (stacks->hit != MAP_FAILED) {
        munmap(stacks->hit,
               stack_ring_slot_bytes(stacks->preloaded->memory->stack_bytes));
    }
    free(stacks->items);
    free(stacks);
}

/* ---- New rings ---- */

/* Make room for one more ring. Returns false if memory runs out. */
static bool
make_room(struct preload_stacks *stacks)
{
    struct followed *const items =
        array_grow(stacks->items, stacks->count, &stacks->capacity, sizeof(*items));

    stacks->items = items != NULL ? items : stacks->items;
    return items != NULL;
}

void
preload_stacks_accept(struct preload_stacks *stacks)
{
    struct preload_memory *const memory = stacks->preloaded->memory;
    uint32_t pid;
    int fd;

    for (int i = 0; i < ACCEPTED_MAX && stack_socket_take(&memory->socket, &fd, &pid);
         i++) {
        struct ring_reader *reader;

        if (fd < 0) {
            memory->lost_rings += fd == -EMFILE;
            memory->denied_rings += fd == -EACCES;
            continue;
        }
        reader = ring_reader_new(fd, memory->ring_slots, memory->stack_bytes);
        if (reader == NULL && errno == EINVAL) {
            memory->refused++;
            continue;
        }
        if (reader == NULL || !make_room(stacks)) {
            ring_reader_delete(reader);
            memory->lost_rings++;
            continue;
        }
        stacks->items[stacks->count++] =
            (struct followed){.reader = reader, .pid = pid};
    }
}

/* ---- Code ---- */

/* Add code of an image. Returns false if memory runs out. */
static bool
add_code(struct code_map **code, const struct image *image, uint64_t start,
         uint64_t end, uint64_t place)
{
    const struct stack_mapping mapping = {
        .start = start,
        .end = end,
        .address = place,
        .image = image->number,
        .anonymous = image->kind == IMAGE_ANONYMOUS,
    };

    return code_map_add(code, &mapping);
}

/* Apply a change that a preload object reported. Returns false if memory runs out. */
static bool
apply_event(struct preloaded *preloaded, struct code_map **code,
            const struct stack_ring_event *event)
{
    /* Its number may be any, and is checked below. */
    const struct preload_segment_seen *const segment =
        &preloaded->segments[event->segment % PRELOAD_SEGMENTS];

    if (event->segment == 0) {
        code_map_remove(code, event->base, event->base + event->length);
        return true;
    }
    if (event->segment >= PRELOAD_SEGMENTS || segment->image == NULL ||
        event->length != segment->length) {
        return true;
    }
    return add_code(code, segment->image, event->base, event->base + event->length,
                    segment->place);
}

/* Find the code of a process by the first count events of its ring and what was read of
 * its mappings. Returns false if memory runs out. */
static bool
find_code(struct preload_stacks *stacks, struct followed *followed, uint32_t count)
{
    struct preloaded *const preloaded = stacks->preloaded;
    const struct preload_maps *const maps =
        &preloaded->processes[ring_reader_process(followed->reader)].maps;
    struct code_map *code = NULL;
    bool complete = true;

    for (uint32_t i = 0; complete && i < count; i++) {
        struct stack_ring_event event;

        if (ring_reader_event(followed->reader, i, &event)) {
            complete = apply_event(preloaded, &code, &event);
        }
    }
    for (size_t i = 0; complete && i < maps->count; i++) {
        const struct preload_range *const range = &maps->ranges[i];

        if (!code_map_overlaps(code, range->begin, range->end)) {
            complete =
                add_code(&code, range->image, range->begin, range->end, range->place);
        }
    }
    if (!complete) {
        code_map_release(code);
        return false;
    }
    code_map_release(followed->code);
    followed->code = code;
    followed->event_count = count;
    followed->maps_version = maps->version;
    followed->has_code = true;
    return true;
}

/* Bring the code of a process up to date with the first count events of its ring.
 * Returns false if memory runs out, or if there were more events before: no preload
 * object takes one back, and code is not looked up anew for each hit. */
static bool
update_code(struct preload_stacks *stacks, struct followed *followed, uint32_t count)
{
    const struct preload_seen *const process =
        &stacks->preloaded->processes[ring_reader_process(followed->reader)];

    if (followed->has_code && count < followed->event_count) {
        return false;
    }
    return (followed->has_code && followed->event_count == count &&
            followed->maps_version == process->maps.version) ||
           find_code(stacks, followed, count);
}

/* ---- Hits ---- */

/* Have the callers of a hit found, unless its code has changed since. events: how many
 * the ring has. */
static void
take_callers(struct preload_stacks *stacks, struct followed *followed, uint32_t events,
             const struct preload_target *target)
{
    struct collector *const collector = stacks->preloaded->collector;
    const struct stack_ring_slot *const hit = stacks->hit;
    const ntprof_stack stack = {
        .size = sizeof(stack),
        .mode = NTPROF_MODE_USER,
        .word_bytes = sizeof(uint64_t),
        .address = hit->registers[STACK_RING_REGISTERS - 1],
        .registers = hit->registers,
        .register_count = STACK_RING_REGISTERS,
        .stack = hit->stack,
        .stack_asked = stacks->preloaded->memory->stack_bytes,
        .stack_bytes = hit->stack_bytes,
    };
    struct callers_hit taken = {.place.address = target->place, .stack = &stack};

    /* Without its callers, a hit needs no memory. */
    if (collector->images.discarding || collector->images.full ||
        !update_code(stacks, followed, events) ||
        hit->event_count != followed->event_count ||
        !callers_owner(target->image->number, target->program, 0, &taken.place.owner)) {
        return;
    }
    collector_measure_sometimes(collector);
    taken.code = followed->code;
    callers_take(collector->callers, &taken);
}

/*
 * Take the hits of a ring. Returns false if memory runs out.
 *
 *   all  else those stay whose code is not known yet: mappings are read again
 */
static bool
take_ring(struct preload_stacks *stacks, struct followed *followed, bool all)
{
    struct preloaded *const preloaded = stacks->preloaded;
    /* Once: the program may change it while hits are taken. */
    const uint32_t events = ring_reader_event_count(followed->reader);
    /* The mappings of a process without a number here are never read. */
    const bool waits =
        !all && preloaded->processes[ring_reader_process(followed->reader)].pid != 0;

    for (uint32_t at = 0; ring_reader_next(followed->reader, &at, stacks->hit); at++) {
        struct preload_target target;

        preloaded_find(preloaded, stacks->hit->key, &target);
        if (target.image == NULL && waits &&
            (stacks->hit->key & PRELOAD_KEY_PLAIN) != 0) {
            continue;
        }
        if (!preloaded_count(preloaded, &target, 1)) {
            return false;
        }
        ring_reader_free(followed->reader, at);
        if (target.image != NULL) {
            take_callers(stacks, followed, events, &target);
        }
    }
    return true;
}

bool
preload_stacks_take(struct preload_stacks *stacks)
{
    bool complete = true;

    for (size_t i = 0; i < stacks->count; i++) {
        complete = take_ring(stacks, &stacks->items[i], /* all */ true) && complete;
    }
    return complete;
}

/* ---- Processes ---- */

/* Is a new ring that of the process that it names, and the first of that? */
static bool
is_believable(const struct preload_stacks *stacks, const struct followed *followed)
{
    const uint32_t number = ring_reader_process(followed->reader);
    const struct preload_seen *process;

    if (number == 0 || number >= PRELOAD_PROCESSES) {
        return false;
    }
    process = &stacks->preloaded->processes[number];
    return process->seen && !process->has_ring && process->kind != PRELOAD_SPAWNED &&
           (process->pid == 0 || process->pid == followed->pid);
}

void
preload_stacks_look(struct preload_stacks *stacks)
{
    for (size_t i = stacks->count; i-- > 0;) {
        struct followed *const followed = &stacks->items[i];
        struct preload_seen *process;

        if (!followed->believed && !is_believable(stacks, followed)) {
            COMMAND_LOG("process %u sent stacks that are not its own", followed->pid);
            stacks->preloaded->memory->refused++;
            forget(stacks, i);
            continue;
        }
        process = &stacks->preloaded->processes[ring_reader_process(followed->reader)];
        followed->believed = true;
        process->has_ring = true;
        process->wants_maps =
            process->wants_maps ||
            (process->maps.next_ns == 0 && ring_reader_has_hits(followed->reader)) ||
            code_map_missed(followed->code);
    }
}

/* Has the process of a ring exited, or executed another program? */
static bool
is_gone(const struct preload_stacks *stacks, const struct followed *followed)
{
    const struct preload_seen *const process =
        &stacks->preloaded->processes[ring_reader_process(followed->reader)];

    return !process->alive || (process->pid == 0 && followed->pid != 0 &&
                               kill((pid_t)followed->pid, 0) < 0 && errno == ESRCH);
}

/* Look for threads that ended while they wrote; their numbers are known where those of
 * their process are. */
static void
free_dead(const struct preload_stacks *stacks, const struct followed *followed)
{
    const struct preload_seen *const process =
        &stacks->preloaded->processes[ring_reader_process(followed->reader)];

    if (process->pid != 0 && process->pid == process->inner_pid) {
        ring_reader_free_dead(followed->reader, process->pid);
    }
}

void
preload_stacks_end(struct preload_stacks *stacks)
{
    const uint64_t now_ns = clock_now_ns();
    const bool due = now_ns - stacks->dead_looked_ns >= DEAD_NS;

    for (size_t i = stacks->count; i-- > 0;) {
        struct followed *const followed = &stacks->items[i];
        /* Before its hits are taken: later there are none. */
        const bool gone = is_gone(stacks, followed);

        if (take_ring(stacks, followed, gone) && gone) {
            forget(stacks, i);
        } else if (due) {
            free_dead(stacks, followed);
        }
    }
    stacks->dead_looked_ns = due ? now_ns : stacks->dead_looked_ns;
}
