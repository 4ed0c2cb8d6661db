/* SPDX-License-Identifier: MIT */
/*
 * notify.c - follows processes and their mappings by the session's notifications.
 *
 * Invariant: a process is in the table from its start notification to its exit
 * notification. Notifications come in the order of time, within deliveries: calls in
 * which the session counts the hits that are due and notifies.
 */
#include "record/collect/collectorp.h"
#include "record/collect/region_cut.h"
#include "record/collect/unit.h"

#include <stdlib.h>
#include <string.h>

/* Number of segments that may be made before memory is measured again; measuring at
 * each mapping would cost too much. */
enum { SEGMENTS_UNMEASURED = 64 };

/* --- the list of processes --- */

/* Measure memory and check memory_max (collector_measure) if SEGMENTS_UNMEASURED
 * segments were made since the last check. Snapshots check it too, but many mappings
 * may come between two. */
static void
notify_measure(struct collector *collector)
{
    const struct image_set *const set = &collector->images;

    if (set->segments_made - collector->segments_measured >= SEGMENTS_UNMEASURED) {
        collector_measure(collector);
    }
}

/* Return the link in the hash table that points to the process with this pid. If there
 * is none, the link contains NULL, and a new process can be put there. */
static struct process **
process_find(struct collector *collector, uint32_t pid)
{
    struct process **link = &collector->processes[pid % PROCESS_BUCKETS];

    while (*link != NULL && (*link)->pid != pid) {
        link = &(*link)->next;
    }
    return link;
}

/* Set the program of a process: its name and, with endless, its unit. If unit is NULL,
 * the unit is read; if that fails, the unit that the process had is kept. Returns false
 * if memory runs out; the process keeps its program then. */
static bool
process_set_program(struct collector *collector, struct process *process,
                    const char *name, const char *unit)
{
    struct program_set *const set = &collector->programs;
    char read[UNIT_BYTES];
    uint32_t number;

    if (!collector->options.endless) {
        unit = "";
    } else if (unit == NULL) {
        unit = process->counted ? set->items[process->program].unit : "";
        if (unit_read(process->pid, read)) {
            unit = read;
        }
    }
    if (!program_set_find(set, name, unit, &number)) {
        return false;
    }
    set->items[number].users++;
    set->items[process->program].users -= process->counted;
    process->program = number;
    process->counted = true;
    free(process->name);
    process->name = NULL;
    return true;
}

/* Give a process a program unless it has one. It gets one at its first code or hit:
 * most kernel threads never run, and machines with many processors have more of them
 * than there are numbers of programs. Returns false if memory runs out. */
static bool
process_need_program(struct collector *collector, struct process *process)
{
    return process->counted ||
           process_set_program(collector, process, process->name, /* unit */ NULL);
}

/* Find a process among the EXITED_MAX that exited last, the latest first. All of the
 * owner is zero if it is not among them. */
static struct owner
find_exited(const struct collector *collector, uint32_t pid)
{
    for (uint32_t i = 1; i <= EXITED_MAX; i++) {
        const struct owner *const exited =
            &collector->exited[(collector->exited_next - i) % EXITED_MAX];

        if (exited->pid == pid) {
            return *exited;
        }
    }
    return (struct owner){0};
}

struct owner
notify_owner(struct collector *collector, uint32_t pid)
{
    struct process *const process = *process_find(collector, pid);

    if (process == NULL) {
        return find_exited(collector, pid);
    }
    return process_need_program(collector, process)
               ? (struct owner){process, process->serial, pid, process->program}
               : (struct owner){0};
}

void
notify_forget_exited(struct collector *collector)
{
    memset(collector->exited, 0, sizeof(collector->exited));
}

/* With options.machine, remember that a process with a program has exited: it still
 * owns hits that are delivered later (EXITED_MAX). */
static void
note_exited(struct collector *collector, const struct process *process)
{
    if (collector->options.machine && process->counted) {
        collector->exited[collector->exited_next++ % EXITED_MAX] =
            (struct owner){NULL, process->serial, process->pid, process->program};
    }
}

/* List the pids of at most limit ancestors of a process, its parent first. The list
 * ends at the first one that is not watched or has exited. Returns their number. */
static size_t
process_list_ancestors(struct collector *collector, const struct process *process,
                       uint32_t *pids, size_t limit)
{
    size_t count = 0;

    while (count < limit && process != NULL && process->parent != 0) {
        pids[count++] = process->parent;
        process = *process_find(collector, process->parent);
    }
    return count;
}

/* --- mappings --- */

/* Remember the code of a part of a mapping, so that stacks can be walked through it, if
 * it has an image. Hits need not be counted there. */
static void
process_add_code(struct collector *collector, struct process *process,
                 const struct mapping *part)
{
    struct stack_mapping code;

    if (collector->callers == NULL || part->image == NULL) {
        return;
    }
    code = (struct stack_mapping){
        .start = part->base,
        .end = part->base + part->length,
        .address = part->place,
        .image = part->image->number,
        .anonymous = part->image->kind == IMAGE_ANONYMOUS,
    };
    if (!code_map_add(&process->code, &code)) {
        collector_fail(collector, STATUS_INSUFFICIENT_RESOURCES);
    }
}

/* Count in a mapping of a process, each part of which has its image: image, or for
 * anonymous memory that of a file that the program has moved there. */
static void
process_map(struct collector *collector, struct process *process,
            const ntprof_notification *map, struct image *image)
{
    const struct process *const parent =
        process->parent != 0 ? *process_find(collector, process->parent) : NULL;
    const uint64_t end = map->base + map->length;
    uint64_t at = map->base;
    struct mapping part;

    do {
        struct mapping counted;

        part = (struct mapping){
            .mapped_at = map->base,
            .base = at,
            .length = end - at,
            .image = image,
            .place = map->file_offset,
            .program = process->program,
        };
        if (image != NULL && image->kind == IMAGE_ANONYMOUS) {
            part.place = at;
            remapped_cut(collector, process, parent, map, &part);
        }
        process_add_code(collector, process, &part);
        counted = part;
        if (collector->options.user &&
            region_cut(&collector->options.region, &counted)) {
            mapping_add(collector, process, &counted);
        }
        at += part.length;
    } while (at < end);
}

/* Count in code that a process has mapped. The session delivers hits and notifications
 * in the order of time, so no hit in the mapping was delivered before. */
static void
notify_map(struct collector *collector, const ntprof_notification *map)
{
    uint32_t ancestors[IMAGE_ROOTS_MAX - 1];
    size_t ancestor_count;
    struct process *const process = *process_find(collector, map->pid);
    struct image *image;

    if (process == NULL) {
        collector_fail(collector, STATUS_NOT_FOUND);
        return;
    }
    process->followed = true;
    if (!collector->options.user && collector->callers == NULL) {
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
    notify_measure(collector);
    if (!process_need_program(collector, process)) {
        collector_fail(collector, STATUS_INSUFFICIENT_RESOURCES);
        return;
    }
    ancestor_count =
        process_list_ancestors(collector, process, ancestors, IMAGE_ROOTS_MAX - 1);
    image = image_set_find(&collector->images, map, ancestors, ancestor_count);
    if (image != NULL && image->kind == IMAGE_ANONYMOUS && !process->remembered) {
        process->remembered = true;
        image_set_remember(&collector->images, image, ancestors, ancestor_count);
    }
    process_map(collector, process, map, image);
}

/* Close the profile objects of code that a process has unmapped. Its mapping may be
 * several in our list, one for each part (process_map). Parts of files are remembered
 * until the next change: the program may move their code to anonymous memory at the
 * same addresses (remapped.c). The loop runs backwards, since a removed mapping is
 * replaced by the last one. */
static void
notify_unmap(struct collector *collector, const ntprof_notification *unmap)
{
    struct process *const process = *process_find(collector, unmap->pid);

    if (process != NULL) {
        code_map_remove(&process->code, unmap->base, unmap->base + unmap->length);
    }
    for (size_t i = process != NULL ? process->mapping_count : 0; i > 0; i--) {
        if (process->mappings[i - 1].mapped_at == unmap->base) {
            replaced_add(&collector->replaced, unmap, &process->mappings[i - 1]);
            mapping_remove(collector, process, i - 1);
        }
    }
}

/* --- ends --- */

/* Remove the process that *link leads to, and close its profile objects. */
static void
process_remove(struct collector *collector, struct process **link)
{
    struct process *const process = *link;

    mapping_remove_all(collector, process);
    if (process->handle != NULL) {
        NtClose(process->handle);
    }
    collector->programs.items[process->program].users -= process->counted;
    *link = process->next;
    free(process->name);
    code_map_release(process->code);
    free(process->mappings);
    free(process);
}

void
notify_end(struct collector *collector)
{
    collector->deleting = true;
    mapping_remove_all(collector, &collector->machine);
    free(collector->machine.mappings);
    for (size_t i = 0; i < PROCESS_BUCKETS; i++) {
        while (collector->processes[i] != NULL) {
            process_remove(collector, &collector->processes[i]);
        }
    }
}

/* With options.machine, start to count in the kernel for all processes together, and
 * for idle processors, at the first notification. Not earlier: the watch starts with
 * it, and a profile that starts before the watch would count hits from before the
 * recording. */
static void
notify_start_machine(struct collector *collector)
{
    if (!collector->watch_started && collector->options.machine) {
        mapping_add_kernel(collector, &collector->machine);
    }
    collector->watch_started = true;
}

/* --- starts and executed programs --- */

/* Return the unit of the process that forked the one which starts; NULL if the parent
 * is not known or has no program yet. */
static const char *
parent_unit(struct collector *collector, const ntprof_notification *start)
{
    const struct process *const parent =
        start->parent_pid != 0 ? *process_find(collector, start->parent_pid) : NULL;

    return parent != NULL && parent->counted
               ? collector->programs.items[parent->program].unit
               : NULL;
}

/* Return the name of a process. Pid 0 stands for what idle processors run or, in a pid
 * namespace, for that and all processes outside of it. */
static const char *
start_name(const ntprof_notification *start)
{
    if (start->pid != 0) {
        return start->name;
    }
    return strcmp(start->name, "(others)") == 0 ? "[others]" : "[idle]";
}

/* Add a process to the table: it started, or was running and is watched from now on. */
static void
notify_start(struct collector *collector, const ntprof_notification *start)
{
    struct process **const link = process_find(collector, start->pid);
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)start->pid};
    const char *const unit = parent_unit(collector, start);
    struct process *process;

    notify_start_machine(collector);
    if (*link != NULL) {
        process_remove(collector, link); /* its exit notification was lost */
    }
    process = calloc(1, sizeof(*process));
    if (process != NULL) {
        process->pid = start->pid;
        process->parent = start->parent_pid;
        process->serial = ++collector->processes_started;
        process->name = strdup(start_name(start));
    }
    /* Of a machine, only processes that run get a program (process_need_program), and
     * at once their children, whose unit need not be read. */
    if (process == NULL || process->name == NULL ||
        ((!collector->options.machine || unit != NULL) &&
         !process_set_program(collector, process, process->name, unit))) {
        free(process != NULL ? process->name : NULL);
        free(process);
        collector_fail(collector, STATUS_INSUFFICIENT_RESOURCES);
        return;
    }
    process->status =
        NtOpenProcess(&process->handle, PROCESS_QUERY_INFORMATION, NULL, &client);
    process->next = *link;
    *link = process;
    if (collector->options.machine) {
        /* The kernel is counted already, and kernel threads cannot be opened. */
        return;
    }
    if (!NT_SUCCESS(process->status)) {
        collector_fail(collector, process->status);
        return;
    }
    mapping_add_kernel(collector, process);
}

/* Give a process that executed another program that program. Its old code was notified
 * as unmapped before this. Only the mappings of the kernel's code are left, which
 * mapping_add_kernel has added: replace them by mappings for the new program. */
static void
notify_exec(struct collector *collector, const ntprof_notification *exec)
{
    struct process *const process = *process_find(collector, exec->pid);

    if (process != NULL) {
        process->execed = true;
        process->followed = false;
        process->remembered = false;
        mapping_remove_all(collector, process);
        /* If memory runs out, hits are counted for the program that it had before. */
        if (!process_set_program(collector, process, exec->name, /* unit */ NULL)) {
            collector_fail(collector, STATUS_INSUFFICIENT_RESOURCES);
        }
        if (!collector->options.machine && NT_SUCCESS(process->status)) {
            mapping_add_kernel(collector, process);
        }
    }
}

/* Remove a process that exited from the table. */
static void
notify_exit(struct collector *collector, const ntprof_notification *exit)
{
    struct process **const link = process_find(collector, exit->pid);

    if (*link != NULL) {
        /* When an unprivileged caller's process executes a set-uid program, Linux ends
         * its events, so no mapping of that program is notified. */
        collector->gaps.unfollowed += (*link)->execed && !(*link)->followed;
        note_exited(collector, *link);
        process_remove(collector, link);
    }
}

/* --- what the collector calls --- */

void
notify_session(void *context, const ntprof_notification *notification)
{
    struct collector *const collector = context;

    switch (notification->kind) {
    case NTPROF_PROCESS_START:
        notify_start(collector, notification);
        break;
    case NTPROF_PROCESS_EXEC:
        notify_exec(collector, notification);
        break;
    case NTPROF_PROCESS_EXIT:
        notify_exit(collector, notification);
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

bool
notify_prepare(struct collector *collector)
{
    const struct collector_options *const options = &collector->options;

    return !options->machine || !options->kernel ||
           process_set_program(collector, &collector->machine, "[kernel]", "");
}
