/* SPDX-License-Identifier: MIT */
/*
 * collector.c - tracks processes and their mappings, and starts the profile objects of
 * each mapping.
 *
 * Invariant: a process is in the table from its start notification to its exit
 * notification. Each of its mappings has one started profile object for each source, or
 * NULL where that failed. Only deliveries change processes and images; delivery_lock
 * keeps deliveries out.
 */
#include "collect/collectorp.h"
#include "collect/kernel_range.h"
#include "collect/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After memory was measured, this many segments are made before it is measured
 * again. */
enum { SEGMENTS_UNMEASURED = 64 };

/* Number of processors in the mask of one processor group. */
enum { CPUS_A_GROUP = 8 * sizeof(KAFFINITY) };

static uint32_t
bucket_log2(uint32_t bucket_bytes)
{
    uint32_t log2 = 0;

    while ((UINT32_C(1) << log2) < bucket_bytes && log2 < COUNTED_LOG2_MAX) {
        log2++;
    }
    return log2;
}

/* Set images.full if the process uses more memory than memory_max allows. */
void
collector_measure(struct collector *collector)
{
    const uint64_t limit = collector->options.memory_max;

    collector->measured = collector->images.made;
    collector->images.full = limit != 0 && usage_bytes() > limit;
}

/* Measure memory again if SEGMENTS_UNMEASURED segments were made since the last
 * time. */
static void
collector_measure_new(struct collector *collector)
{
    const struct image_set *const set = &collector->images;

    if (set->made - collector->measured >= SEGMENTS_UNMEASURED) {
        collector_measure(collector);
    }
}

static void collector_notify(void *context, const ntprof_notification *notification);
static void process_remove_mapping(struct collector *collector, struct process *process,
                                   size_t at);
static bool collector_prepare(struct collector *collector);

/* List the processors of options.affinity; each gets its own profile objects. Returns
 * false if memory runs out or the list is empty. */
static bool
collector_list_cpus(struct collector *collector)
{
    const struct collector_options *const options = &collector->options;
    uint32_t count = 0;

    collector->cpus = calloc((size_t)options->affinity_count * CPUS_A_GROUP + 1,
                             sizeof(*collector->cpus));
    if (collector->cpus == NULL) {
        return false;
    }
    for (uint16_t i = 0; i < options->affinity_count; i++) {
        for (uint32_t bit = 0; bit < CPUS_A_GROUP; bit++) {
            if ((options->affinity[i].Mask >> bit & 1) != 0) {
                collector->cpus[count++] =
                    options->affinity[i].Group * CPUS_A_GROUP + bit;
            }
        }
    }
    collector->cpu_count = count;
    naming_set_cpus(collector->naming, collector->cpus, count);
    return count > 0;
}

struct collector *
collector_new(const struct collector_options *options)
{
    struct collector *const collector = calloc(1, sizeof(*collector));

    if (collector == NULL) {
        return NULL;
    }
    collector->options = *options;
    collector->cpu_count = 1;
    delivery_init(&collector->delivery, options->session);
    image_set_init(&collector->images, options->source_count,
                   bucket_log2(options->bucket_bytes));
    collector_measure(collector);
    collector->naming = naming_new(options->memory_max, options->symbols);
    collector->statistics =
        calloc(options->source_count + 1, sizeof(*collector->statistics));
    collector->session_statistics =
        calloc(options->source_count + 1, sizeof(*collector->session_statistics));
    collector->pauses = calloc(options->source_count + 1, sizeof(*collector->pauses));
    if (collector->naming == NULL || collector->statistics == NULL ||
        collector->session_statistics == NULL || collector->pauses == NULL) {
        collector_delete(collector);
        return NULL;
    }
    if (!collector_prepare(collector) ||
        (options->per_cpu && !collector_list_cpus(collector))) {
        collector_delete(collector);
        return NULL;
    }
    ntprof_session_set_notify(options->session, collector_notify, collector);
    return collector;
}

static void
collector_fail(struct collector *collector, NTSTATUS status)
{
    if (collector->gaps.failures++ == 0) {
        collector->gaps.first_failure = status;
    }
}

static struct process **
process_slot(struct collector *collector, uint32_t pid)
{
    struct process **slot = &collector->processes[pid % PROCESS_BUCKETS];

    while (*slot != NULL && (*slot)->pid != pid) {
        slot = &(*slot)->next;
    }
    return slot;
}

static bool
collector_find_program(const struct collector *collector, const char *name,
                       uint32_t *number)
{
    for (*number = 0; *number < collector->program_count; ++*number) {
        if (strcmp(collector->programs[*number], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Find or add the program name and store its number. Once there are
 * COLLECTOR_PROGRAMS_MAX names, new ones become "[other]". Returns false if memory runs
 * out. */
static bool
collector_program(struct collector *collector, const char *name, uint32_t *number)
{
    if (collector_find_program(collector, name, number)) {
        return true;
    }
    if (collector->program_count >= COLLECTOR_PROGRAMS_MAX) {
        name = "[other]";
        if (collector_find_program(collector, name, number)) {
            return true;
        }
    }
    collector->programs[*number] = strdup(name);
    if (collector->programs[*number] == NULL) {
        return false;
    }
    collector->program_count++;
    return true;
}

/* Number of profile objects of one mapping. */
static size_t
profile_count(const struct collector *collector)
{
    return collector->options.source_count * collector->cpu_count;
}

/* Number under which image.h keeps the counters of a program on one processor. */
static uint32_t
program_on_cpu(const struct collector *collector, uint32_t program, uint32_t cpu_at)
{
    return program * collector->cpu_count + cpu_at;
}

static void
mapping_close(const struct collector *collector, struct mapping *mapping)
{
    for (size_t i = 0; mapping->profiles != NULL && i < profile_count(collector); i++) {
        if (mapping->profiles[i] != NULL) {
            NtClose(mapping->profiles[i]);
        }
    }
    free(mapping->profiles);
}

/* Create and start one profile object. Returns NULL if that fails. */
static HANDLE
mapping_start_source(struct collector *collector, const struct process *process,
                     const struct mapping *mapping, const struct image_segment *segment,
                     uint32_t cpu_at, size_t source)
{
    const struct collector_options *const options = &collector->options;
    const uint32_t cpu = collector->cpus != NULL ? collector->cpus[cpu_at] : 0;
    const GROUP_AFFINITY one = {.Mask = (KAFFINITY)1 << cpu % CPUS_A_GROUP,
                                .Group = (uint16_t)(cpu / CPUS_A_GROUP)};
    const bool all = collector->cpus == NULL;
    const uint64_t buckets = ((mapping->length - 1) >> segment->log2) + 1;
    HANDLE profile;
    NTSTATUS status = NtCreateProfileEx(
        &profile, process->handle, (PVOID)(uintptr_t)mapping->base,
        (SIZE_T)mapping->length, segment->log2,
        image_segment_counter(segment, source, mapping->place),
        (ULONG)(buckets * sizeof(ULONG)), options->sources[source],
        all ? options->affinity_count : 1, all ? options->affinity : &one);

    if (!NT_SUCCESS(status)) {
        collector_fail(collector, status);
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

static struct mapping *
process_add_mapping(struct process *process, const struct mapping *mapping)
{
    if (process->mapping_count == process->mapping_capacity) {
        const size_t capacity =
            process->mapping_capacity == 0 ? 16 : process->mapping_capacity * 2;
        struct mapping *const mappings =
            reallocarray(process->mappings, capacity, sizeof(*mappings));

        if (mappings == NULL) {
            return NULL;
        }
        process->mappings = mappings;
        process->mapping_capacity = capacity;
    }
    mapping->image->users++;
    process->mappings[process->mapping_count] = *mapping;
    return &process->mappings[process->mapping_count++];
}

/* Count a failure, unless the limit memory_max caused it: images.refused counts
 * those. */
static void
collector_fail_for_memory(struct collector *collector)
{
    if (!collector->images.full) {
        collector_fail(collector, STATUS_INSUFFICIENT_RESOURCES);
    }
}

/* Start one profile object for each source on one processor. Returns false if the
 * mapping has no counters there. */
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
            mapping_start_source(collector, process, mapping, segment, cpu_at, i);
    }
    return true;
}

/* Start all profile objects of a mapping. Returns false if it has no counters. */
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
    for (uint32_t i = 0; i < collector->cpu_count; i++) {
        any = mapping_start_cpu(collector, process, mapping, i) || any;
    }
    return any;
}

/* Add the mapping to the process and start its profile objects. */
static void
process_profile(struct collector *collector, struct process *process,
                const struct mapping *mapping)
{
    struct mapping *added = NULL;

    if (mapping->length == 0) {
        return;
    }
    if (mapping->image != NULL) {
        added = process_add_mapping(process, mapping);
    }
    if (added == NULL) {
        collector_fail_for_memory(collector);
    } else if (!mapping_start(collector, process, added)) {
        process_remove_mapping(collector, process, process->mapping_count - 1);
    }
}

/* Make the counters of the kernel and of its map for each processor, unless they exist.
 * Returns false if any is missing afterwards. */
static bool
kernel_make_counters(struct collector *collector, uint32_t of_program)
{
    struct image_set *const set = &collector->images;
    struct image *const image = image_set_kernel(set, IMAGE_KERNEL);
    struct image *const map = image_set_kernel(set, IMAGE_KERNEL_MAP);
    bool complete = image != NULL && map != NULL;

    for (uint32_t at = 0; complete && at < collector->cpu_count; at++) {
        const uint32_t program = program_on_cpu(collector, of_program, at);

        complete = image_segment_find(set, image, kernel_range.begin,
                                      kernel_range.length, program) != NULL &&
                   image_segment_find(set, map, kernel_range.begin, kernel_range.length,
                                      program) != NULL;
    }
    return complete;
}

/* Close each profile object of the kernel or of its map whose counterpart does not run:
 * hits that only one of them counts would be in no row. first is the index of the first
 * of the two mappings. */
static void
process_pair_kernel(struct collector *collector, struct process *process, size_t first)
{
    struct mapping *const mappings = &process->mappings[first];

    if (process->mapping_count - first < 2) {
        while (process->mapping_count > first) {
            process_remove_mapping(collector, process, first);
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

/* Start to count in the kernel. The map starts first: a hit that only the map counts
 * costs a useless search, but a hit that only the kernel's counters count would never
 * be found. */
static void
process_profile_kernel(struct collector *collector, struct process *process)
{
    struct image_set *const set = &collector->images;
    const size_t first = process->mapping_count;
    struct mapping mapping = {.base = kernel_range.begin,
                              .length = kernel_range.length,
                              .place = kernel_range.begin,
                              .program = process->program};

    if (!collector->options.kernel) {
        return;
    }
    if (!kernel_make_counters(collector, mapping.program)) {
        collector_fail_for_memory(collector);
        return;
    }
    mapping.image = image_set_kernel(set, IMAGE_KERNEL_MAP);
    process_profile(collector, process, &mapping);
    mapping.image = image_set_kernel(set, IMAGE_KERNEL);
    process_profile(collector, process, &mapping);
    process_pair_kernel(collector, process, first);
}

/* With options.machine, add the program "[kernel]", to which the kernel's hits of all
 * processes belong. */
static bool
collector_prepare(struct collector *collector)
{
    const struct collector_options *const options = &collector->options;

    return !options->machine || !options->kernel ||
           collector_program(collector, "[kernel]", &collector->machine.program);
}

/* List the ancestors of a process that have not exited, its parent first. */
static size_t
find_ancestors(struct collector *collector, const struct process *process,
               uint32_t *pids, size_t limit)
{
    size_t count = 0;

    while (count < limit && process != NULL && process->parent != 0) {
        pids[count++] = process->parent;
        process = *process_slot(collector, process->parent);
    }
    return count;
}

static void
notify_map(struct collector *collector, const ntprof_notification *map)
{
    uint32_t ancestors[IMAGE_ROOTS_MAX - 1];
    size_t ancestor_count;
    struct process *const process = *process_slot(collector, map->pid);
    struct mapping mapping;
    struct image *image;

    if (process == NULL) {
        collector_fail(collector, STATUS_NOT_FOUND);
        return;
    }
    process->followed = true;
    if (!collector->options.user) {
        return;
    }
    if (!NT_SUCCESS(process->status)) {
        collector_fail(collector, process->status);
        return;
    }
    if (strcmp(map->name, "[vsyscall]") == 0) {
        /* No code runs in this page: the kernel emulates calls to it. */
        return;
    }
    collector_measure_new(collector);
    ancestor_count = find_ancestors(collector, process, ancestors, IMAGE_ROOTS_MAX - 1);
    image = image_set_find(&collector->images, map, ancestors, ancestor_count);
    mapping = (struct mapping){
        .base = map->base,
        .length = map->length,
        .image = image,
        .place = image != NULL && image->kind == IMAGE_ANONYMOUS ? map->base
                                                                 : map->file_offset,
        .program = process->program,
    };
    process_profile(collector, process, &mapping);
}

static void
image_finish_unmapped(struct collector *collector, struct image *image)
{
    bool complete = true;

    for (size_t i = 0; i < collector->options.source_count; i++) {
        complete = image_fold(&collector->images, image, (uint32_t)i) && complete;
    }
    if (complete) { /* else the counters stay until the next fold */
        image_release(&collector->images, image);
    }
}

static void
process_remove_mapping(struct collector *collector, struct process *process, size_t at)
{
    struct image *const image = process->mappings[at].image;

    mapping_close(collector, &process->mappings[at]);
    process->mappings[at] = process->mappings[--process->mapping_count];
    /* JITs map and unmap code all the time. Freeing its counters bounds memory. */
    if (--image->users == 0 && image->kind == IMAGE_ANONYMOUS) {
        image_finish_unmapped(collector, image);
    }
}

static void
notify_unmap(struct collector *collector, const ntprof_notification *unmap)
{
    struct process *const process = *process_slot(collector, unmap->pid);

    for (size_t i = process != NULL ? process->mapping_count : 0; i > 0; i--) {
        if (process->mappings[i - 1].base == unmap->base) {
            process_remove_mapping(collector, process, i - 1);
            return;
        }
    }
}

static void
process_remove_mappings(struct collector *collector, struct process *process)
{
    while (process->mapping_count > 0) {
        process_remove_mapping(collector, process, process->mapping_count - 1);
    }
}

static void
process_remove(struct collector *collector, struct process **slot)
{
    struct process *const process = *slot;

    process_remove_mappings(collector, process);
    if (process->handle != NULL) {
        NtClose(process->handle);
    }
    *slot = process->next;
    free(process->mappings);
    free(process);
}

/* With options.machine, start to count in the kernel for all processes together, which
 * includes idle processors. This waits for the first notification, since starting it
 * before the watch would start hits too. */
static void
collector_start_machine(struct collector *collector)
{
    if (!collector->watch_started && collector->options.machine) {
        process_profile_kernel(collector, &collector->machine);
    }
    collector->watch_started = true;
}

static void
notify_start(struct collector *collector, const ntprof_notification *start)
{
    struct process **const slot = process_slot(collector, start->pid);
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)start->pid};
    struct process *process;

    collector_start_machine(collector);
    if (*slot != NULL) {
        process_remove(collector, slot); /* its exit notification was lost */
    }
    process = calloc(1, sizeof(*process));
    if (process == NULL ||
        !collector_program(collector, start->name, &process->program)) {
        free(process);
        collector_fail(collector, STATUS_INSUFFICIENT_RESOURCES);
        return;
    }
    process->pid = start->pid;
    process->parent = start->parent_pid;
    process->status =
        NtOpenProcess(&process->handle, PROCESS_QUERY_INFORMATION, NULL, &client);
    process->next = *slot;
    *slot = process;
    if (collector->options.machine) {
        /* The kernel is counted already, and kernel threads cannot be opened. */
        return;
    }
    if (!NT_SUCCESS(process->status)) {
        collector_fail(collector, process->status);
        return;
    }
    process_profile_kernel(collector, process);
}

/* The unmappings were notified before, so only the kernel's mappings of the old program
 * are left. */
static void
notify_exec(struct collector *collector, const ntprof_notification *exec)
{
    struct process *const process = *process_slot(collector, exec->pid);

    if (process != NULL) {
        process->execed = true;
        process->followed = false;
        process_remove_mappings(collector, process);
        if (!collector_program(collector, exec->name, &process->program)) {
            collector_fail(collector, STATUS_INSUFFICIENT_RESOURCES);
            process->program = 0; /* the program of the first process: a valid number */
        }
        if (!collector->options.machine && NT_SUCCESS(process->status)) {
            process_profile_kernel(collector, process);
        }
    }
}

static void
collector_notify(void *context, const ntprof_notification *notification)
{
    struct collector *const collector = context;
    struct process **slot;

    switch (notification->kind) {
    case NTPROF_PROCESS_START:
        notify_start(collector, notification);
        break;
    case NTPROF_PROCESS_EXEC:
        notify_exec(collector, notification);
        break;
    case NTPROF_PROCESS_EXIT:
        slot = process_slot(collector, notification->pid);
        if (*slot != NULL) {
            /* When an unprivileged caller's process executes a set-uid program, Linux
             * ends its events. */
            collector->gaps.unfollowed += (*slot)->execed && !(*slot)->followed;
            process_remove(collector, slot);
        }
        break;
    case NTPROF_IMAGE_MAP:
        notify_map(collector, notification);
        break;
    case NTPROF_IMAGE_UNMAP:
        notify_unmap(collector, notification);
        break;
    case NTPROF_RECORDS_LOST:
        collector->gaps.records_lost += notification->count;
        break;
    default:
        break;
    }
}

uint64_t
collector_count_processes(const struct collector *collector)
{
    uint64_t count = 0;

    for (size_t i = 0; i < PROCESS_BUCKETS; i++) {
        for (const struct process *process = collector->processes[i]; process != NULL;
             process = process->next) {
            count++;
        }
    }
    return count;
}

static void
collector_remove_processes(struct collector *collector)
{
    for (size_t i = 0; i < PROCESS_BUCKETS; i++) {
        while (collector->processes[i] != NULL) {
            process_remove(collector, &collector->processes[i]);
        }
    }
}

void
collector_delete(struct collector *collector)
{
    if (collector == NULL) {
        return;
    }
    delivery_finish(&collector->delivery);
    ntprof_session_set_notify(collector->options.session, NULL, NULL);
    collector_remove_processes(collector);
    process_remove_mappings(collector, &collector->machine);
    free(collector->machine.mappings);
    image_set_finish(&collector->images);
    naming_delete(collector->naming);
    free(collector->statistics);
    free(collector->session_statistics);
    free(collector->pauses);
    free(collector->cpus);
    for (uint32_t i = 0; i < collector->program_count; i++) {
        free(collector->programs[i]);
    }
    free(collector);
}

int
collector_start(struct collector *collector)
{
    return delivery_start(&collector->delivery);
}

static bool
collector_fold_source(struct collector *collector, uint32_t source)
{
    struct image_set *const set = &collector->images;
    bool complete = true;

    for (size_t i = 0; i < set->count; i++) {
        complete = image_fold(set, set->images[i], source) && complete;
    }
    return complete;
}

bool
collector_fold(struct collector *collector)
{
    bool complete = true;

    delivery_lock(&collector->delivery);
    collector_measure(collector);
    for (size_t i = 0; !collector->ended && i < collector->options.source_count; i++) {
        complete = collector_fold_source(collector, (uint32_t)i) && complete;
    }
    delivery_unlock(&collector->delivery);
    return complete;
}

static bool
collector_read_source(struct collector *collector, uint32_t source)
{
    ntprof_source_info *const info = &collector->session_statistics[source];

    info->size = sizeof(*info);
    if (!NT_SUCCESS(ntprof_source_get(collector->options.session,
                                      collector->options.sources[source], info))) {
        return false;
    }
    collector->statistics[source] = *info;
    pause_apply(&collector->pauses[source], &collector->statistics[source]);
    return true;
}

/*
 * Read the statistics of each source, and fold its counters into fresh.
 * ntprof_source_get delivers everything up to its call, so each source is folded before
 * the next one is read. The caller keeps other deliveries out.
 */
bool
collector_read(struct collector *collector)
{
    for (uint32_t i = 0; i < collector->options.source_count; i++) {
        if (!collector_read_source(collector, i) ||
            !collector_fold_source(collector, i)) {
            return false;
        }
    }
    return true;
}

/* Stop hits and deliver those from before. Closing the profile objects takes a while,
 * in which hits would count as outside, so that happens later. */
static void
collector_freeze(struct collector *collector)
{
    (void)ntprof_session_freeze(collector->options.session);
    (void)ntprof_session_flush(collector->options.session);
}

void
collector_stop(struct collector *collector)
{
    delivery_stop(&collector->delivery);
    delivery_lock(&collector->delivery);
    if (!collector->ended) {
        collector_freeze(collector);
    }
    /* If memory runs out, the next snapshot reads again. A session that cannot be
     * frozen then ends a little later. */
    collector->ended = collector->ended || collector_read(collector);
    delivery_unlock(&collector->delivery);
}

bool
collector_set_interval(struct collector *collector, size_t source, uint64_t interval,
                       uint64_t *granted)
{
    const KPROFILE_SOURCE number = collector->options.sources[source];
    ntprof_source_info info = {.size = sizeof(info)};
    bool changed;

    delivery_lock(&collector->delivery);
    changed = !collector->ended &&
              NT_SUCCESS(ntprof_source_set_interval(collector->options.session, number,
                                                    interval)) &&
              NT_SUCCESS(ntprof_source_get(collector->options.session, number, &info));
    delivery_unlock(&collector->delivery);
    if (changed) {
        *granted = info.interval_granted;
    }
    return changed;
}

bool
collector_get_source(struct collector *collector, size_t source,
                     ntprof_source_info *info)
{
    bool read;

    delivery_lock(&collector->delivery);
    read = !collector->ended &&
           NT_SUCCESS(ntprof_source_get(collector->options.session,
                                        collector->options.sources[source], info));
    delivery_unlock(&collector->delivery);
    return read;
}
