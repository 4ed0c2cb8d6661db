/* SPDX-License-Identifier: MIT */
/*
 * collector.c - processes, their mappings, and the profile object of each.
 *
 * Invariant: a process is in the table from its start notification to its exit's; each of its
 * mappings has a started profile a source, or none if that failed. All but collector_finish runs within
 * deliveries of the session, one at a time.
 */
#include "collect/collector.h"
#include "collect/naming.h"

#include <stdlib.h>
#include <string.h>

enum { PROCESS_BUCKETS = 1024 };

/* Buckets larger than a page would not begin where mappings do. */
static const uint32_t collect_log2_max = 12;

#if defined(__x86_64__)
/* Kernel text and modules: the top 2 GB, less the last byte so that the end does not wrap. */
static const uint64_t kernel_begin = UINT64_C(0xffffffff80000000);
static const uint64_t kernel_length = UINT64_C(0x7ffffff0);
#elif defined(__aarch64__)
/* Modules and kernel image lie below this much above the start of the vmalloc region. */
static const uint64_t kernel_begin = UINT64_C(0xffff800000000000);
static const uint64_t kernel_length = UINT64_C(0x100000000);
#else
static const uint64_t kernel_begin = UINT64_C(0xc0000000);
static const uint64_t kernel_length = UINT64_C(0x3ffffff0);
#endif

struct mapping {
    uint64_t base;
    uint64_t length;
    struct image *image;
    HANDLE *profiles; /* one a source; NULL where none could be made */
};

struct process {
    struct process *next;
    uint32_t pid;
    uint32_t program;
    HANDLE handle;
    bool execed;   /* runs a program begun since it is watched */
    bool followed; /* that program's mappings were told */
    struct mapping *mappings;
    size_t mapping_count;
    size_t mapping_capacity;
};

struct collector {
    struct collector_options options;
    struct image_set images;
    struct profile *profile; /* takes program names and anonymous rows as they come */
    struct process *processes[PROCESS_BUCKETS];
    uint32_t programs;
    uint64_t failures;
    uint64_t unfollowed;
    uint64_t records_lost;
    uint64_t running; /* processes left at the end */
    NTSTATUS first_failure;
    bool out_of_memory;
};

static uint32_t
bucket_log2(uint32_t bucket_bytes)
{
    uint32_t log2 = 0;

    while ((UINT32_C(1) << log2) < bucket_bytes && log2 < collect_log2_max) {
        log2++;
    }
    return log2;
}

static bool
collector_add_sources(struct collector *collector)
{
    for (size_t i = 0; i < collector->options.source_count; i++) {
        if (!naming_add_source(collector->profile, collector->options.session,
                               collector->options.sources[i])) {
            return false;
        }
    }
    return true;
}

struct collector *
collector_new(const struct collector_options *options)
{
    struct collector *const collector = calloc(1, sizeof(*collector));

    if (collector == NULL) {
        return NULL;
    }
    collector->options = *options;
    image_set_init(&collector->images, options->source_count,
                   bucket_log2(options->bucket_bytes));
    collector->profile = profile_new();
    if (collector->profile == NULL || !collector_add_sources(collector)) {
        collector_delete(collector);
        return NULL;
    }
    collector->profile->bucket_bytes = options->bucket_bytes;
    return collector;
}

static void
collector_fail(struct collector *collector, NTSTATUS status)
{
    if (collector->failures++ == 0) {
        collector->first_failure = status;
    }
}

uint64_t
collector_failures(const struct collector *collector, NTSTATUS *first)
{
    *first = collector->first_failure;
    return collector->failures;
}

uint64_t
collector_running(const struct collector *collector)
{
    return collector->running;
}

uint64_t
collector_unfollowed(const struct collector *collector)
{
    return collector->unfollowed;
}

uint64_t
collector_records_lost(const struct collector *collector)
{
    return collector->records_lost;
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

/* Number of a program's name, or of "[other]" once there are too many. */
static uint32_t
collector_program(struct collector *collector, const char *name)
{
    struct profile *const profile = collector->profile;
    uint32_t number = 0;

    for (size_t i = 0; i < profile->process_count; i++) {
        if (strcmp(profile->processes[i], name) == 0) {
            return (uint32_t)i;
        }
    }
    if (profile->process_count >= COLLECTOR_PROGRAMS_MAX) {
        name = "[other]";
    }
    if (!profile_add_process(profile, name, &number)) {
        collector->out_of_memory = true;
    }
    return number;
}

static void
mapping_close(struct collector *collector, struct mapping *mapping)
{
    for (size_t i = 0; i < collector->options.source_count; i++) {
        if (mapping->profiles[i] != NULL) {
            NtClose(mapping->profiles[i]);
        }
    }
    free(mapping->profiles);
}

/* One profile object, started. The handle stays NULL if that fails. */
static void
mapping_start_source(struct collector *collector, const struct process *process,
                     struct mapping *mapping, const struct image_segment *segment,
                     uint64_t place, size_t source)
{
    const struct collector_options *const options = &collector->options;
    const uint64_t buckets = ((mapping->length - 1) >> segment->log2) + 1;
    HANDLE profile;
    NTSTATUS status = NtCreateProfileEx(
        &profile, process->handle, (PVOID)(uintptr_t)mapping->base,
        (SIZE_T)mapping->length, segment->log2,
        image_segment_counter(segment, source, place), (ULONG)(buckets * sizeof(ULONG)),
        options->sources[source], options->affinity_count, options->affinity);

    if (!NT_SUCCESS(status)) {
        collector_fail(collector, status);
        return;
    }
    status = NtStartProfile(profile);
    if (!NT_SUCCESS(status)) {
        collector_fail(collector, status);
        NtClose(profile);
        return;
    }
    mapping->profiles[source] = profile;
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
    process->mappings[process->mapping_count] = *mapping;
    return &process->mappings[process->mapping_count++];
}

/* Starts profiles for [base, base + length) of a process, which is at place of image. */
static void
process_profile(struct collector *collector, struct process *process,
                struct image *image, uint64_t base, uint64_t length, uint64_t place)
{
    struct mapping mapping = {.base = base, .length = length, .image = image};
    const struct image_segment *segment = NULL;
    struct mapping *added = NULL;

    if (length == 0) {
        return;
    }
    if (image != NULL) {
        segment = image_segment_find(&collector->images, image, place, length,
                                     process->program);
        mapping.profiles =
            calloc(collector->options.source_count, sizeof(*mapping.profiles));
    }
    if (segment != NULL && mapping.profiles != NULL) {
        added = process_add_mapping(process, &mapping);
    }
    if (added == NULL) {
        free(mapping.profiles);
        collector_fail(collector, STATUS_INSUFFICIENT_RESOURCES);
        return;
    }
    for (size_t i = 0; i < collector->options.source_count; i++) {
        mapping_start_source(collector, process, added, segment, place, i);
    }
}

/* The map first: a hit that only it has counted is looked for in vain, one that it has not
 * counted would be lost. */
static void
process_profile_kernel(struct collector *collector, struct process *process)
{
    if (collector->options.kernel) {
        process_profile(collector, process,
                        image_set_kernel(&collector->images, IMAGE_KERNEL_MAP),
                        kernel_begin, kernel_length, kernel_begin);
        process_profile(collector, process,
                        image_set_kernel(&collector->images, IMAGE_KERNEL),
                        kernel_begin, kernel_length, kernel_begin);
    }
}

static void
notify_map(struct collector *collector, const ntprof_notification *map)
{
    struct process *const process = *process_slot(collector, map->pid);
    struct image *image;

    if (process == NULL) {
        collector_fail(collector, STATUS_NOT_FOUND);
        return;
    }
    process->followed = true;
    image = image_set_find(&collector->images, map);
    process_profile(collector, process, image, map->base, map->length,
                    image != NULL && image->kind == IMAGE_ANONYMOUS ? map->base
                                                                    : map->file_offset);
}

static bool
process_uses(const struct process *process, const struct image *image)
{
    for (size_t i = 0; i < process->mapping_count; i++) {
        if (process->mappings[i].image == image) {
            return true;
        }
    }
    return false;
}

static void
process_remove_mapping(struct collector *collector, struct process *process, size_t at)
{
    struct image *const image = process->mappings[at].image;

    mapping_close(collector, &process->mappings[at]);
    process->mappings[at] = process->mappings[--process->mapping_count];
    /* JIT code comes and goes: its counters go with it, so that memory stays bounded. */
    if (image->kind == IMAGE_ANONYMOUS && !process_uses(process, image) &&
        !image_fold(&collector->images, image)) {
        collector->out_of_memory = true;
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

static void
notify_start(struct collector *collector, const ntprof_notification *start)
{
    struct process **const slot = process_slot(collector, start->pid);
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)start->pid};
    struct process *process;
    NTSTATUS status;

    if (*slot != NULL) {
        process_remove(collector, slot); /* its exit was lost */
    }
    process = calloc(1, sizeof(*process));
    if (process == NULL) {
        collector->out_of_memory = true;
        return;
    }
    process->pid = start->pid;
    process->program = collector_program(collector, start->name);
    status = NtOpenProcess(&process->handle, PROCESS_QUERY_INFORMATION, NULL, &client);
    if (!NT_SUCCESS(status)) {
        collector_fail(collector, status);
        free(process);
        return;
    }
    process->next = *slot;
    *slot = process;
    process_profile_kernel(collector, process);
}

/* All mappings were told to be gone; only the kernel is left of the old program. */
static void
notify_exec(struct collector *collector, const ntprof_notification *exec)
{
    struct process *const process = *process_slot(collector, exec->pid);

    if (process != NULL) {
        process->execed = true;
        process->followed = false;
        process_remove_mappings(collector, process);
        process->program = collector_program(collector, exec->name);
        process_profile_kernel(collector, process);
    }
}

void
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
            /* Linux ends the events of a caller without rights when a set-uid program begins. */
            collector->unfollowed += (*slot)->execed && !(*slot)->followed;
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
        collector->records_lost += notification->count;
        break;
    default:
        break;
    }
}

static uint64_t
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
    ntprof_session_set_notify(collector->options.session, NULL, NULL);
    collector_remove_processes(collector);
    image_set_finish(&collector->images);
    profile_delete(collector->profile);
    free(collector);
}

struct profile *
collector_finish(struct collector *collector)
{
    struct profile *const profile = collector->profile;
    bool complete;

    ntprof_session_flush(collector->options.session);
    ntprof_session_set_notify(collector->options.session, NULL, NULL);
    collector->running = collector_count_processes(collector);
    collector_remove_processes(collector);
    complete =
        naming_read_books(profile, collector->options.session,
                          collector->options.sources, collector->options.source_count);
    for (size_t i = 0; i < collector->images.count; i++) {
        struct image *const image = collector->images.images[i];

        complete = image_fold(&collector->images, image) && complete;
        complete = naming_add_rows(profile, image) && complete;
    }
    if (!complete || collector->out_of_memory) {
        return NULL;
    }
    profile_sort(profile);
    collector->profile = NULL;
    return profile;
}
