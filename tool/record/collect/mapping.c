/* SPDX-License-Identifier: MIT */
/*
 * mapping.c - starts and closes the profile objects of mappings.
 *
 * Invariant: each mapping in a process's list has one started profile object for each
 * source, and with per_cpu for each processor too, or NULL where that failed or no
 * processor is online. Mappings of one part of an image by processes of one program
 * share their counters.
 */
#include "record/collect/collectorp.h"

#include "base/array.h"

#include <stdlib.h>

/* Return the number of profile objects of one mapping: one for each source on each
 * processor, or on all together. */
static size_t
profile_count(const struct collector *collector)
{
    return collector->options.source_count * collector->cpu_count;
}

/* Return the number that image_segment.program has for a program on a processor; cpu_at
 * is the index of the processor in collector->cpus. */
static uint32_t
program_on_cpu(const struct collector *collector, uint32_t program, uint32_t cpu_at)
{
    return program * collector->cpu_count + cpu_at;
}

/* Close the profile objects of one processor, the one with index cpu_at. */
static void
mapping_close_cpu(const struct collector *collector, struct mapping *mapping,
                  uint32_t cpu_at)
{
    const size_t sources = collector->options.source_count;

    for (size_t i = cpu_at * sources; i < (cpu_at + 1) * sources; i++) {
        if (mapping->profiles[i] != NULL) {
            NtClose(mapping->profiles[i]);
            mapping->profiles[i] = NULL;
        }
    }
}

/* Close all profile objects of a mapping, so that its counters do not change any
 * more. */
static void
mapping_close(const struct collector *collector, struct mapping *mapping)
{
    for (uint32_t i = 0; mapping->profiles != NULL && i < collector->cpu_count; i++) {
        mapping_close_cpu(collector, mapping, i);
    }
    free(mapping->profiles);
}

/* Create a profile object, which counts hits in the mapping in the counters of segment,
 * for those of its processors that are online. *profile is NULL if there are none. */
static NTSTATUS
mapping_create_profile(struct collector *collector, const struct process *process,
                       const struct mapping *mapping,
                       const struct image_segment *segment, uint32_t cpu_at,
                       size_t source, HANDLE *profile)
{
    const uint64_t buckets = ((mapping->length - 1) >> segment->log2) + 1;
    GROUP_AFFINITY affinity[CPU_LIST_GROUPS];
    uint16_t count;
    NTSTATUS status;

    do {
        *profile = NULL;
        if (!online_get_affinity(collector, cpu_at, affinity, &count)) {
            return STATUS_SUCCESS;
        }
        status = NtCreateProfileEx(
            profile, process->handle, (PVOID)(uintptr_t)mapping->base,
            (SIZE_T)mapping->length, segment->log2,
            image_segment_counter(segment, source, mapping->place),
            (ULONG)(buckets * sizeof(ULONG)), collector->options.sources[source], count,
            count != 0 ? affinity : NULL);
        /* A processor may have gone offline since they were looked at. */
    } while (status == STATUS_INVALID_PARAMETER && online_has_shrunk(collector));
    return status;
}

/* Create and start a profile object (mapping_create_profile). Returns NULL if that
 * fails, which is counted, or if no processor is online. */
static HANDLE
mapping_start_profile(struct collector *collector, const struct process *process,
                      const struct mapping *mapping,
                      const struct image_segment *segment, uint32_t cpu_at,
                      size_t source)
{
    HANDLE profile;
    NTSTATUS status = mapping_create_profile(collector, process, mapping, segment,
                                             cpu_at, source, &profile);

    if (!NT_SUCCESS(status)) {
        collector_fail(collector, status);
        return NULL;
    }
    if (profile == NULL) {
        return NULL;
    }
    status = NtStartProfile(profile);
    if (!NT_SUCCESS(status)) {
        collector_fail(collector, status);
        NtClose(profile);
        return NULL;
    }
    return profile;
}

/* Append a copy of a mapping, which has no profile objects yet, to the process's list.
 * Returns the copy, or NULL if memory runs out. */
static struct mapping *
mapping_append(struct process *process, const struct mapping *mapping)
{
    struct mapping *const mappings =
        array_grow(process->mappings, process->mapping_count,
                   &process->mapping_capacity, sizeof(*mappings));

    if (mappings == NULL) {
        return NULL;
    }
    process->mappings = mappings;
    mapping->image->users++;
    process->mappings[process->mapping_count] = *mapping;
    return &process->mappings[process->mapping_count++];
}

/* Start one profile object for each source on one processor, the one with index cpu_at.
 * Returns false if no counters could be made for it. A profile object that could not be
 * started is counted as a failure, and its hits are outside. */
static bool
mapping_start_cpu(struct collector *collector, const struct process *process,
                  const struct mapping *mapping, uint32_t cpu_at)
{
    const size_t sources = collector->options.source_count;
    const struct image_segment *const segment = image_segment_find(
        &collector->images, mapping->image, mapping->place, mapping->length,
        program_on_cpu(collector, mapping->program, cpu_at));

    if (segment == NULL) {
        collector_fail_for_memory(collector);
        return false;
    }
    for (size_t i = 0; i < sources; i++) {
        mapping->profiles[cpu_at * sources + i] =
            mapping_start_profile(collector, process, mapping, segment, cpu_at, i);
    }
    return true;
}

/* Start all profile objects of a mapping. Returns false if counters could be made for
 * none of the processors. */
static bool
mapping_start(struct collector *collector, const struct process *process,
              struct mapping *mapping)
{
    bool any = false;

    mapping->profiles = calloc(profile_count(collector), sizeof(*mapping->profiles));
    if (mapping->profiles == NULL) {
        collector_fail_for_memory(collector);
        return false;
    }
    mapping->partial = !collector->online.all;
    for (uint32_t i = 0; i < collector->cpu_count; i++) {
        any = mapping_start_cpu(collector, process, mapping, i) || any;
    }
    return any;
}

/* Fold the counters of an image that no process maps any more, and free them. If memory
 * runs out they stay, with the hits that were not folded. */
static void
mapping_release_counters(struct collector *collector, struct image *image)
{
    bool complete = true;

    for (size_t i = 0; i < collector->options.source_count; i++) {
        const uint64_t before = collector->images.folded;

        complete = image_fold(&collector->images, image, (uint32_t)i) && complete;
        collector->late[i] += collector->images.folded - before;
    }
    if (complete) { /* else the hits that are left are in the next fold */
        image_release(&collector->images, image);
    }
}

void
mapping_remove(struct collector *collector, struct process *process, size_t at)
{
    struct image *const image = process->mappings[at].image;

    mapping_close(collector, &process->mappings[at]);
    process->mappings[at] = process->mappings[--process->mapping_count];
    /* JITs map and unmap code all the time. Freeing its counters bounds memory. */
    if (--image->users == 0 && image->kind == IMAGE_ANONYMOUS && !collector->deleting) {
        mapping_release_counters(collector, image);
    }
}

void
mapping_remove_all(struct collector *collector, struct process *process)
{
    while (process->mapping_count > 0) {
        mapping_remove(collector, process, process->mapping_count - 1);
    }
}

void
mapping_add(struct collector *collector, struct process *process,
            const struct mapping *mapping)
{
    struct mapping *added = NULL;

    if (mapping->length == 0) {
        return;
    }
    if (mapping->image != NULL) {
        added = mapping_append(process, mapping);
    }
    if (added == NULL) {
        collector_fail_for_memory(collector);
    } else if (!mapping_start(collector, process, added)) {
        mapping_remove(collector, process, process->mapping_count - 1);
    }
}

/* Make the counters of the kernel and of the kernel map (image.c) for a program on each
 * processor, unless they exist. Returns false if memory runs out or memory_max is
 * exceeded. */
static bool
mapping_make_kernel_counters(struct collector *collector, uint32_t of_program)
{
    const struct kernel_range *const range = &collector->kernel_range;
    struct image_set *const set = &collector->images;
    struct image *const image = image_set_kernel(set, IMAGE_KERNEL);
    struct image *const map = image_set_kernel(set, IMAGE_KERNEL_MAP);
    bool complete = image != NULL && map != NULL;

    for (uint32_t at = 0; complete && at < collector->cpu_count; at++) {
        const uint32_t program = program_on_cpu(collector, of_program, at);

        complete =
            image_segment_find(set, image, range->begin, range->length, program) !=
                NULL &&
            image_segment_find(set, map, range->begin, range->length, program) != NULL;
    }
    return complete;
}

/* Close each profile object of the kernel or of the kernel map whose counterpart was
 * not started: hits that only one of them counts would be in no row. The process's
 * mappings with index first and first + 1 are those of the kernel map and of the
 * kernel; if one of the two could not be added, remove the other. */
static void
mapping_pair_kernel(struct collector *collector, struct process *process, size_t first)
{
    struct mapping *const mappings = &process->mappings[first];

    if (process->mapping_count - first < 2) {
        while (process->mapping_count > first) {
            mapping_remove(collector, process, first);
        }
        return;
    }
    for (size_t i = 0; i < profile_count(collector); i++) {
        for (size_t at = 0; at < 2; at++) {
            HANDLE *const profile = &mappings[at].profiles[i];

            if (mappings[1 - at].profiles[i] == NULL && *profile != NULL) {
                NtClose(*profile);
                *profile = NULL;
            }
        }
    }
}

/* The profile objects of the kernel map start before those of the kernel: a hit that
 * only the kernel map counts costs a useless search, but a hit that only the kernel's
 * counters count would never be found. */
void
mapping_add_kernel(struct collector *collector, struct process *process)
{
    struct image_set *const set = &collector->images;
    const size_t first = process->mapping_count;
    const struct kernel_range *const range = &collector->kernel_range;
    struct mapping mapping = {.mapped_at = range->begin,
                              .base = range->begin,
                              .length = range->length,
                              .place = range->begin,
                              .program = process->program};

    if (!collector->options.kernel || range->length == 0) {
        return;
    }
    if (!mapping_make_kernel_counters(collector, mapping.program)) {
        collector_fail_for_memory(collector);
        return;
    }
    mapping.image = image_set_kernel(set, IMAGE_KERNEL_MAP);
    mapping_add(collector, process, &mapping);
    mapping.image = image_set_kernel(set, IMAGE_KERNEL);
    mapping_add(collector, process, &mapping);
    mapping_pair_kernel(collector, process, first);
}

/* Do the profile objects with this index lack a processor that is online now? */
static bool
mapping_lacks(const struct collector *collector, const struct mapping *mapping,
              uint32_t cpu_at)
{
    if (collector->cpus != NULL) {
        return mapping->profiles[cpu_at * collector->options.source_count] == NULL;
    }
    return mapping->partial || collector->online.newcomer;
}

/* As in mapping_add_kernel, those of the kernel start last, and are closed first. */
void
mapping_renew_all(struct collector *collector, struct process *process, uint32_t cpu_at)
{
    for (size_t i = 0; i < process->mapping_count; i++) {
        struct mapping *const mapping = &process->mappings[i];

        if (mapping->image->kind == IMAGE_KERNEL &&
            mapping_lacks(collector, mapping, cpu_at)) {
            mapping_close_cpu(collector, mapping, cpu_at);
        }
    }
    for (int kernel = 0; kernel <= 1; kernel++) {
        for (size_t i = 0; i < process->mapping_count; i++) {
            struct mapping *const mapping = &process->mappings[i];

            if ((mapping->image->kind == IMAGE_KERNEL) == kernel &&
                mapping_lacks(collector, mapping, cpu_at)) {
                mapping_close_cpu(collector, mapping, cpu_at);
                mapping->partial = !collector->online.all;
                (void)mapping_start_cpu(collector, process, mapping, cpu_at);
            }
        }
    }
}
