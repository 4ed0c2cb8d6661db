/* SPDX-License-Identifier: MIT */
/*
 * hits.c - finds out whose each counted hit is, where its counter does not show it: in
 * the kernel's code, which has one array of counters for all processes together, and,
 * with options.threads, in all code.
 *
 * The session calls notify_hit right after it has counted a hit. So the hit is in its
 * counter, and is moved from there to the fresh counts of its image, with its program
 * and thread. Invariant: each hit is in exactly one of them. Hits that are not moved,
 * for lack of memory or because their process is unknown, belong to the program of the
 * counter: they are folded like all others.
 */
#include "record/collect/collectorp.h"

/* Return the index of a source, or source_count if it is not recorded. */
static uint32_t
source_index(const struct collector *collector, KPROFILE_SOURCE source)
{
    uint32_t at = 0;

    while (at < collector->options.source_count &&
           collector->options.sources[at] != source) {
        at++;
    }
    return at;
}

/* Return the index of a processor in collector->cpus, 0 if there are none; cpu_count if
 * it is not one of them. */
static uint32_t
cpu_index(const struct collector *collector, uint32_t cpu)
{
    uint32_t at = 0;

    while (collector->cpus != NULL && at < collector->cpu_count &&
           collector->cpus[at] != cpu) {
        at++;
    }
    return at;
}

static bool
is_kernel(const struct collector *collector, uint64_t address)
{
    return address - collector->kernel_range.begin < collector->kernel_range.length;
}

/* Find the mapping in which a hit was counted, or NULL. The kernel is counted twice, at
 * the same addresses: no hits are folded from its map, which only says where to
 * look. */
static const struct mapping *
find_mapping(const struct process *process, uint64_t address)
{
    for (size_t i = 0; i < process->mapping_count; i++) {
        const struct mapping *const mapping = &process->mappings[i];

        if (address - mapping->base < mapping->length &&
            mapping->image->kind != IMAGE_KERNEL_MAP) {
            return mapping;
        }
    }
    return NULL;
}

/* Find the counter of a hit at an address of a mapping. Sets place and source of
 * *count, and makes its program the one on the processor. Returns NULL if there is
 * none. */
static ULONG *
find_counter(struct collector *collector, const struct mapping *mapping,
             uint64_t address, uint32_t processor, struct count *count)
{
    struct image *const image = mapping->image;
    const uint64_t place = mapping->place + (address - mapping->base);
    const uint32_t cpu = cpu_index(collector, processor);
    const struct image_segment *segment;
    ULONG *counter;

    if (cpu == collector->cpu_count) {
        return NULL;
    }
    segment = image_segment_look_up(image, mapping->place, mapping->length,
                                    mapping->program * collector->cpu_count + cpu);
    if (segment == NULL) {
        return NULL;
    }
    counter = image_segment_counter(segment, count->source, place);
    count->place = image_counter_place(
        image, segment, (size_t)(counter - segment->counters[count->source]));
    count->program = count->program * collector->cpu_count + cpu;
    return counter;
}

/* Move a hit that was counted in a mapping to its owner. count: in, the owner and the
 * source; out, as it was moved. Returns false if the hit stays in its counter. */
static bool
move_hit(struct collector *collector, const struct mapping *mapping,
         const ntprof_hit *hit, struct count *count)
{
    struct image_set *const set = &collector->images;
    struct image *const image = mapping->image;
    ULONG *const counter =
        find_counter(collector, mapping, hit->address, hit->processor, count);

    if (counter == NULL || __atomic_load_n(counter, __ATOMIC_RELAXED) == 0 ||
        !(set->full ? counts_make_room_within(&image->fresh)
                    : counts_make_room(&image->fresh))) {
        return false;
    }
    count->hits = 1;
    __atomic_fetch_sub(counter, 1, __ATOMIC_RELAXED);
    counts_add(&image->fresh, count);
    collector->late[count->source]++;
    collector->moved = (struct moved){true, *count};
    return true;
}

/* Move a hit to its process and, with options.threads, to its thread. */
static void
own_hit(struct collector *collector, const ntprof_hit *hit, const struct owner *owner,
        const struct mapping *mapping, uint32_t source)
{
    struct count count = {.program = owner->program, .source = source};
    const char *const name = collector->programs.items[owner->program].name;

    if (collector->options.threads) {
        count.thread = thread_set_hit(&collector->threads, owner->serial, owner->pid,
                                      hit->tid, name, !collector->images.full);
    }
    if ((collector->options.threads && count.thread == 0) ||
        !move_hit(collector, mapping, hit, &count)) {
        collector->gaps.unowned++;
    }
}

void
notify_hit(void *context, const ntprof_hit *hit)
{
    struct collector *const collector = context;
    const struct collector_options *const options = &collector->options;
    const bool kernel = is_kernel(collector, hit->address);
    const uint32_t source = source_index(collector, hit->source);
    const struct process *mapper;
    const struct mapping *mapping;
    struct owner owner;

    collector->moved.is = false;
    /* In user code the counter itself shows the program. */
    if ((!kernel && !options->threads) || source == options->source_count ||
        collector->images.discarding) {
        return;
    }
    owner = notify_owner(collector, hit->pid);
    mapper = kernel && options->machine ? &collector->machine : owner.process;
    if (owner.serial == 0 || mapper == NULL) {
        return;
    }
    mapping = find_mapping(mapper, hit->address);
    if (mapping != NULL) {
        collector_measure_sometimes(collector);
        own_hit(collector, hit, &owner, mapping, source);
    }
}

/* Find what the hit of a stack was counted as, and where. Returns false if that is
 * unknown, or it is in no row. */
static bool
find_place(struct collector *collector, const ntprof_stack *stack,
           const struct process *process, struct stack_place *place)
{
    const bool machine =
        collector->options.machine && is_kernel(collector, stack->address);
    const struct process *const mapper = machine ? &collector->machine : process;
    const struct mapping *const mapping =
        mapper != NULL ? find_mapping(mapper, stack->address) : NULL;
    struct count count;

    if (mapping == NULL) {
        return false;
    }
    count = (struct count){.program = mapping->program,
                           .source = (uint32_t)collector->stack_source};
    if (collector->moved.is) {
        count = collector->moved.count;
    } else if (find_counter(collector, mapping, stack->address, stack->processor,
                            &count) == NULL) {
        return false;
    }
    place->address = count.place;
    return callers_owner(mapping->image->number, count.program, count.thread,
                         &place->owner);
}

void
notify_stack(void *context, const ntprof_stack *stack)
{
    struct collector *const collector = context;
    const struct process *const process = notify_owner(collector, stack->pid).process;
    struct callers_hit hit = {.stack = stack};

    /* Hits that are discarded need no callers; if memory is full, all others stay
     * without. */
    if (collector->images.discarding || collector->images.full ||
        !find_place(collector, stack, process, &hit.place)) {
        return;
    }
    collector_measure_sometimes(collector);
    hit.code = process != NULL ? process->code : NULL;
    if (stack->mode == NTPROF_MODE_KERNEL) {
        hit.kernel_image = image_set_kernel(&collector->images, IMAGE_KERNEL)->number;
    }
    callers_take(collector->callers, &hit);
}
