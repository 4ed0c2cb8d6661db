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

/* Hits that may be moved before memory is measured again. */
enum { HITS_UNMEASURED = 4096 };

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

/* Find the mapping in which a hit was counted, or NULL. The kernel map is another copy
 * of the kernel's, and no hits are folded from it. */
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

/* Move a hit of source that was counted in a mapping to its owner. Returns false if it
 * stays in its counter. */
static bool
move_hit(struct collector *collector, const struct mapping *mapping,
         const ntprof_hit *hit, uint32_t source, struct count *count)
{
    struct image_set *const set = &collector->images;
    struct image *const image = mapping->image;
    const uint64_t place = mapping->place + (hit->address - mapping->base);
    const uint32_t cpu = cpu_index(collector, hit->processor);
    const struct image_segment *const segment =
        image_segment_look_up(image, mapping->place, mapping->length,
                              mapping->program * collector->cpu_count + cpu);
    ULONG *counter;

    if (segment == NULL || cpu == collector->cpu_count) {
        return false;
    }
    counter = image_segment_counter(segment, source, place);
    if (__atomic_load_n(counter, __ATOMIC_RELAXED) == 0 ||
        !(set->full ? counts_make_room_within(&image->fresh)
                    : counts_make_room(&image->fresh))) {
        return false;
    }
    count->place = image_counter_place(image, segment,
                                       (size_t)(counter - segment->counters[source]));
    count->program = count->program * collector->cpu_count + cpu;
    count->source = source;
    count->hits = 1;
    __atomic_fetch_sub(counter, 1, __ATOMIC_RELAXED);
    counts_add(&image->fresh, count);
    return true;
}

/* Move a hit to its process and, with options.threads, to its thread. */
static void
own_hit(struct collector *collector, const ntprof_hit *hit, const struct owner *owner,
        const struct mapping *mapping, uint32_t source)
{
    struct count count = {.program = owner->program};
    const char *const name = collector->programs.items[owner->program].name;

    if (collector->options.threads) {
        count.thread = thread_set_hit(&collector->threads, owner->serial, owner->pid,
                                      hit->tid, name, !collector->images.full);
    }
    if ((collector->options.threads && count.thread == 0) ||
        !move_hit(collector, mapping, hit, source, &count)) {
        collector->gaps.unowned++;
    }
}

/* Measure the memory that counts take, now and then, as this takes too long for each
 * hit. */
static void
measure_sometimes(struct collector *collector)
{
    if (++collector->hits_unmeasured == HITS_UNMEASURED) {
        collector->hits_unmeasured = 0;
        collector_measure(collector);
    }
}

void
notify_hit(void *context, const ntprof_hit *hit)
{
    struct collector *const collector = context;
    const struct collector_options *const options = &collector->options;
    const bool kernel =
        hit->address - collector->kernel_range.begin < collector->kernel_range.length;
    const uint32_t source = source_index(collector, hit->source);
    const struct process *mapper;
    const struct mapping *mapping;
    struct owner owner;

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
        measure_sometimes(collector);
        own_hit(collector, hit, &owner, mapping, source);
    }
}
