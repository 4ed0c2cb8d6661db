/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/process_table.c - applies records to the process table, and reports the
 * changes.
 *
 * The states of a process, with what takes it from one to the next:
 *
 *               a followed FORK, an exec, process_table_attach
 *     ABSENT ----------------------------------------------------> CREATED
 *      ^  ^                                                         |  |
 *      |  '--- memory runs out: never reported ---------------------'  | START, MAPs
 *      |                                                               v
 *    ENDED <---------------------------------------------------------- LIVE <-.
 *            UNMAPs and EXIT: its last thread exits, /proc no longer    |     |
 *            shows it, or another process has its pid                   '-----'
 *                                  FORK and EXIT of threads, MMAP2, COMM, exec, resync
 *
 *   ABSENT   not in by_pid: records of it are ignored, unless one creates it
 *   CREATED  in by_pid with a thread, but not reported; no callback runs meanwhile
 *   LIVE     in by_pid, with at least one thread; its mappings are those reported
 *   ENDED    out of by_pid while its UNMAPs and its EXIT are reported; then freed
 *
 * assert_process_state() holds for CREATED and LIVE; all calls from outside, and all
 * records, find a process in LIVE.
 */
#include "hal/linux/process_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Two events write FORK records of the same child at most FORK_TWIN_NS apart. A child
 * may be read in /proc up to FORK_LATE_NS before they are written. */
enum { FORK_TWIN_NS = 1000000, FORK_LATE_NS = 1000000000 };

enum { TID_UNKNOWN = 0 }; /* which thread made a change is not known */

#ifndef NDEBUG
/* Do mappings have the order that mapping.h promises, and their images? Only for
 * functions that walk all mappings anyway: called for each record, it would make the
 * time grow with the square of their number. */
static bool
assert_mappings_state(const struct perf_mappings *mappings)
{
    uint64_t end = 0; /* of the mapping before */

    for (size_t i = 0; i < mappings->count; i++) {
        const struct perf_mapping *const mapping = &mappings->items[i];

        assert(mapping->base >= end);
        assert(mapping->length > 0 && mapping->length <= UINT64_MAX - mapping->base);
        assert(mapping->image != NULL && mapping->image->references > 0);
        end = mapping->base + mapping->length;
    }
    return true;
}

/* Is the process in the table, as it is in the states CREATED and LIVE? */
static bool
assert_process_state(const struct process_table *table,
                     const struct perf_process *process)
{
    assert(perf_idmap_find(&table->by_pid, process->pid) == process);
    assert(process->threads.count > 0);
    assert(strnlen(process->name, sizeof(process->name)) < sizeof(process->name));
    assert((process->watchers == NULL) == (process->watcher_count == 0));
    for (size_t i = 1; i < process->watcher_count; i++) {
        assert(process->watchers[i] != process->watchers[i - 1]);
    }
    return true;
}

/* Is the process with this pid, if there is one, in state LIVE? */
static bool
assert_pid_state(const struct process_table *table, uint32_t pid)
{
    const struct perf_process *const process = perf_idmap_find(&table->by_pid, pid);

    return process == NULL || assert_process_state(table, process);
}
#endif

/* ---- notifications ---- */

void
process_table_notify(const struct process_table *table,
                     ntprof_notification *notification)
{
    if (table->notify == NULL) {
        return;
    }
    notification->size = sizeof(*notification);
    notification->time_ns = perf_clock_shown_ns(&table->clock, notification->time_ns);
    if (notification->name == NULL) {
        notification->name = "";
    }
    table->notify(table->context, notification);
}

/* Notify of the start, exec, new name or exit of a process. tid: the thread that made
 * the change, or TID_UNKNOWN. */
static void
notify_process(struct process_table *table, uint32_t kind,
               const struct perf_process *process, uint64_t time_ns, uint32_t tid)
{
    ntprof_notification notification = {
        .kind = kind,
        .pid = process->pid,
        .parent_pid = kind == NTPROF_PROCESS_START ? process->parent_pid : 0,
        .tid = tid,
        .time_ns = time_ns,
        .name = process->name,
    };

    process_table_notify(table, &notification);
}

/* Notify that an image was mapped or unmapped. tid: as in notify_process. */
static void
notify_mapping(struct process_table *table, uint32_t kind,
               const struct perf_process *process, const struct perf_mapping *mapping,
               uint64_t time_ns, uint32_t tid)
{
    const struct perf_image *image = mapping->image;
    ntprof_notification notification = {
        .kind = kind,
        .pid = process->pid,
        .tid = tid,
        .time_ns = time_ns,
        .name = image->name,
        .base = mapping->base,
        .length = mapping->length,
        .file_offset = mapping->file_offset,
        .device_major = image->device_major,
        .device_minor = image->device_minor,
        .inode = image->inode,
        .inode_generation = image->inode_generation,
        .image_flags = image->flags,
    };

    process_table_notify(table, &notification);
}

/* ---- processes ---- */

/* Add a thread. Returns 0 or -ENOMEM. */
static int
thread_add(struct perf_process *process, uint32_t tid)
{
    return perf_idmap_put(&process->threads, tid, process);
}

static void
process_free(struct perf_process *process)
{
    perf_idmap_finish(&process->threads);
    perf_mappings_finish(&process->mappings);
    free(process->watchers);
    free(process);
}

static void
process_set_name(struct perf_process *process, const char *name)
{
    const size_t length = strnlen(name, sizeof(process->name) - 1);

    memcpy(process->name, name, length);
    process->name[length] = 0;
}

/* Add a process with one thread and no mapping. It is not reported yet. NULL if memory
 * runs out. */
static struct perf_process *
process_create(struct process_table *table, uint32_t pid, uint32_t tid,
               uint64_t time_ns)
{
    struct perf_process *process = calloc(1, sizeof(*process));

    if (process == NULL) {
        return NULL;
    }
    process->pid = pid;
    process->start_ns = time_ns;
    if (thread_add(process, tid) < 0 ||
        perf_idmap_put(&table->by_pid, pid, process) < 0) {
        process_free(process);
        return NULL;
    }
    return process;
}

/* Remove a process that was created but not reported. */
static void
process_discard(struct process_table *table, struct perf_process *process)
{
    perf_idmap_remove(&table->by_pid, process->pid);
    process_free(process);
}

/* Remove all mappings, as at an exec or exit, and report that. */
static void
unmap_all(struct process_table *table, struct perf_process *process, uint64_t time_ns,
          uint32_t tid)
{
    struct perf_mappings gone = process->mappings;

    /* A callback must see the process without mappings. */
    process->mappings = (struct perf_mappings){0};
    for (size_t i = 0; i < gone.count; i++) {
        notify_mapping(table, NTPROF_IMAGE_UNMAP, process, &gone.items[i], time_ns,
                       tid);
    }
    perf_mappings_finish(&gone);
}

/* Report the start of a process and all its mappings. */
static void
notify_start(struct process_table *table, const struct perf_process *process,
             uint64_t time_ns, uint32_t tid)
{
    assert(assert_process_state(table, process));
    assert(assert_mappings_state(&process->mappings));
    notify_process(table, NTPROF_PROCESS_START, process, time_ns, tid);
    for (size_t i = 0; i < process->mappings.count; i++) {
        notify_mapping(table, NTPROF_IMAGE_MAP, process, &process->mappings.items[i],
                       time_ns, tid);
    }
}

int
process_table_add_watcher(struct perf_process *process, struct perf_watcher *watcher)
{
    struct perf_watcher **watchers;

    assert(process->threads.count > 0);
    for (size_t i = 0; i < process->watcher_count; i++) {
        if (process->watchers[i] == watcher) {
            return 0;
        }
    }
    watchers = realloc(process->watchers,
                       (process->watcher_count + 1) * sizeof(*process->watchers));
    if (watchers == NULL) {
        return -ENOMEM;
    }
    process->watchers = watchers;
    process->watchers[process->watcher_count++] = watcher;
    return 0;
}

void
process_table_end(struct process_table *table, struct perf_process *process,
                  uint64_t time_ns)
{
    assert(assert_process_state(table, process));
    assert(assert_mappings_state(&process->mappings));
    perf_idmap_remove(&table->by_pid, process->pid);
    unmap_all(table, process, time_ns, TID_UNKNOWN);
    notify_process(table, NTPROF_PROCESS_EXIT, process, time_ns, TID_UNKNOWN);
    process_free(process);
}

/* ---- records of processes ---- */

/* Have the watchers that follow the parent's descendants watch this child too. Returns
 * 0 or -ENOMEM. */
static int
inherit_watchers(struct perf_process *child, const struct perf_process *parent)
{
    for (size_t i = 0; i < parent->watcher_count; i++) {
        if (parent->watchers[i]->descendants &&
            process_table_add_watcher(child, parent->watchers[i]) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* Give a child what it has from its parent. Returns 0 or -ENOMEM. */
static int
inherit(struct perf_process *child, const struct perf_process *parent)
{
    process_set_name(child, parent->name);
    return inherit_watchers(child, parent) < 0
               ? -ENOMEM
               : perf_mappings_copy(&child->mappings, &parent->mappings);
}

/* Does any watcher of this process follow its children too? */
static bool
are_children_watched(const struct perf_process *process)
{
    for (size_t i = 0; i < process->watcher_count; i++) {
        if (process->watchers[i]->descendants) {
            return true;
        }
    }
    return false;
}

/* May a FORK record be of a process whose parent is not known, as /proc showed it? */
static bool
is_of_read_process(const struct perf_process *process, const struct perf_record *record)
{
    const uint64_t apart_ns = record->time_ns > process->read_ns
                                  ? record->time_ns - process->read_ns
                                  : process->read_ns - record->time_ns;

    return process->read_ns != 0 && process->parent_pid == 0 && apart_ns < FORK_LATE_NS;
}

/*
 * A process created another one. Add the child if it is to be watched. If the table has
 * its pid, the record is one of these:
 *
 *   at most FORK_LATE_NS older or newer than the reading of /proc that added the
 *       process: of this child, whose record was delivered, or written, after that:
 *       parent, start and the parent's watchers are filled in;
 *   written by a second event, within FORK_TWIN_NS, or older than the reading: ignored;
 *   any other: of a new process, as the old one exited without a record.
 */
static void
apply_process_start(struct process_table *table, const struct perf_record *record)
{
    const struct perf_process *parent = process_table_find(table, record->parent_pid);
    struct perf_process *process = process_table_find(table, record->pid);

    if (!table->all && (parent == NULL || !are_children_watched(parent))) {
        return;
    }
    if (process != NULL) {
        if (is_of_read_process(process, record)) {
            process->parent_pid = record->parent_pid;
            process->start_ns = record->time_ns;
            if (parent != NULL && inherit_watchers(process, parent) < 0) {
                table->dropped++;
            }
            return;
        }
        if (record->time_ns < process->read_ns ||
            (process->parent_pid == record->parent_pid &&
             record->time_ns - process->start_ns < FORK_TWIN_NS)) {
            return;
        }
        /* Callbacks remove no process, so parent stays valid. */
        process_table_end(table, process, record->time_ns);
    }
    process = process_create(table, record->pid, record->tid, record->time_ns);
    if (process == NULL) {
        table->dropped++;
        return;
    }
    process->parent_pid = record->parent_pid;
    if (parent != NULL && inherit(process, parent) < 0) {
        process_discard(table, process);
        table->dropped++;
        return;
    }
    notify_start(table, process, record->time_ns, record->tid);
}

/* Apply a FORK record: a process created another one or, if both pids are the same, a
 * thread. */
static void
apply_fork(struct process_table *table, const struct perf_record *record)
{
    struct perf_process *process;

    if (record->pid != record->parent_pid) {
        apply_process_start(table, record);
        return;
    }
    process = process_table_find(table, record->pid);
    if (process != NULL && thread_add(process, record->tid) < 0) {
        table->dropped++;
    }
}

/* A thread exited; the last one ends its process. */
static void
apply_exit(struct process_table *table, const struct perf_record *record)
{
    struct perf_process *process = process_table_find(table, record->pid);

    if (process == NULL || perf_idmap_find(&process->threads, record->tid) == NULL) {
        return;
    }
    if (process->threads.count == 1) {
        process_table_end(table, process, record->time_ns);
        return;
    }
    perf_idmap_remove(&process->threads, record->tid);
}

/* Add a process that execs: the one that is to be watched from its exec on or, with
 * table->all, any process. Returns NULL if memory runs out. */
static struct perf_process *
begin_at_exec(struct process_table *table, const struct perf_record *record,
              struct perf_watcher *watcher)
{
    struct perf_process *process;

    process = process_create(table, record->pid, record->tid, record->time_ns);
    if (process == NULL) {
        return NULL;
    }
    if (watcher != NULL && process_table_add_watcher(process, watcher) < 0) {
        process_discard(table, process);
        return NULL;
    }
    process_set_name(process, record->name);
    notify_start(table, process, record->time_ns, record->tid);
    return process;
}

/* Make tid the process's only thread: after an exec it is the main thread. */
static void
keep_only_thread(struct process_table *table, struct perf_process *process,
                 uint32_t tid)
{
    struct perf_idmap only = {0};

    if (perf_idmap_put(&only, tid, process) < 0) {
        table->dropped++;
        return;
    }
    perf_idmap_finish(&process->threads);
    process->threads = only;
}

/* The process runs a new program: no mapping and no other thread is left. */
static void
apply_exec(struct process_table *table, const struct perf_record *record,
           struct perf_watcher *watcher)
{
    struct perf_process *process = process_table_find(table, record->pid);

    if (process == NULL) {
        if (watcher == NULL && !table->all) {
            return;
        }
        process = begin_at_exec(table, record, watcher);
        if (process == NULL) {
            table->dropped++;
            return;
        }
    }
    unmap_all(table, process, record->time_ns, record->tid);
    keep_only_thread(table, process, record->tid);
    process_set_name(process, record->name);
    notify_process(table, NTPROF_PROCESS_EXEC, process, record->time_ns, record->tid);
}

/* Apply a COMM record: a thread got a name, or its process a new program. The main
 * thread's name is the process's; those of others are ignored. */
static void
apply_comm(struct process_table *table, const struct perf_record *record,
           struct perf_watcher *watcher)
{
    struct perf_process *process;

    if ((record->misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
        apply_exec(table, record, watcher);
        return;
    }
    process = process_table_find(table, record->pid);
    if (process == NULL || record->tid != record->pid ||
        strncmp(process->name, record->name, sizeof(process->name) - 1) == 0) {
        return;
    }
    process_set_name(process, record->name);
    notify_process(table, NTPROF_PROCESS_NAME, process, record->time_ns, record->tid);
}

/* ---- mappings ---- */

/* Add a mapping that overlaps no other, and report it. Takes the image's reference. */
static void
add_mapping(struct process_table *table, struct perf_process *process,
            struct perf_mapping mapping, uint64_t time_ns, uint32_t tid)
{
    if (perf_mappings_insert(&process->mappings, mapping) < 0) {
        table->dropped++;
        return;
    }
    notify_mapping(table, NTPROF_IMAGE_MAP, process, &mapping, time_ns, tid);
}

/* Put back [base, end), the part that is left of a mapping just removed. */
static void
add_part(struct process_table *table, struct perf_process *process,
         const struct perf_mapping *unmapped, uint64_t base, uint64_t end,
         uint64_t time_ns, uint32_t tid)
{
    struct perf_mapping part = *unmapped;

    if (base < end) {
        part.base = base;
        part.length = end - base;
        part.file_offset += base - unmapped->base;
        part.image->references++;
        add_mapping(table, process, part, time_ns, tid);
    }
}

/* Remove mappings that overlap [base, base + length), and put back the parts of them
 * outside that range; report both. */
static void
make_room(struct process_table *table, struct perf_process *process, uint64_t base,
          uint64_t length, uint64_t time_ns, uint32_t tid)
{
    struct perf_mapping gone;

    while (perf_mappings_take(&process->mappings, base, length, &gone)) {
        notify_mapping(table, NTPROF_IMAGE_UNMAP, process, &gone, time_ns, tid);
        add_part(table, process, &gone, gone.base, base, time_ns, tid);
        add_part(table, process, &gone, base + length, gone.base + gone.length, time_ns,
                 tid);
        perf_image_release(gone.image);
    }
}

/* Add a mapping unless it is there already. Takes over the image's reference. */
static void
map(struct process_table *table, struct perf_process *process,
    struct perf_mapping mapping, uint64_t time_ns, uint32_t tid)
{
    if (perf_mappings_contain(&process->mappings, &mapping)) {
        perf_image_release(mapping.image);
        return;
    }
    make_room(table, process, mapping.base, mapping.length, time_ns, tid);
    add_mapping(table, process, mapping, time_ns, tid);
}

/* Apply an MMAP2 record: add executable memory, ignore data. */
static void
apply_mmap2(struct process_table *table, const struct perf_record *record)
{
    struct perf_process *process = process_table_find(table, record->pid);
    struct perf_mapping mapping = {
        .base = record->base,
        .length = record->length,
        .file_offset = record->file_offset,
    };

    if (process == NULL || (record->misc & PERF_RECORD_MISC_MMAP_DATA) != 0) {
        return;
    }
    mapping.image =
        perf_image_create(record->name, record->device_major, record->device_minor,
                          record->inode, record->inode_generation);
    if (mapping.image == NULL) {
        table->dropped++;
        return;
    }
    map(table, process, mapping, record->time_ns, record->tid);
}

/* ---- what the stream calls ---- */

void
process_table_init(struct process_table *table, perf_notify *notify, void *context)
{
    *table = (struct process_table){.notify = notify, .context = context};
}

void
process_table_finish(struct process_table *table)
{
    for (size_t i = 0; i < table->by_pid.capacity; i++) {
        struct perf_process *process = table->by_pid.entries[i].value;

        if (process != NULL) {
            assert(assert_process_state(table, process));
            process_free(process);
        }
    }
    perf_idmap_finish(&table->by_pid);
}

struct perf_process *
process_table_find(const struct process_table *table, uint32_t pid)
{
    struct perf_process *const process = perf_idmap_find(&table->by_pid, pid);

    assert(process == NULL || (process->pid == pid && process->threads.count > 0));
    return process;
}

int
process_table_attach(struct process_table *table, const struct perf_found *found,
                     uint64_t time_ns, struct perf_watcher *watcher)
{
    struct perf_process *process = process_table_find(table, found->pid);

    assert(found->tid_count > 0 && assert_pid_state(table, found->pid));
    assert(assert_mappings_state(found->mappings));
    if (process != NULL) {
        perf_mappings_finish(found->mappings);
        return watcher == NULL || process_table_add_watcher(process, watcher) == 0
                   ? -EEXIST
                   : -ENOMEM;
    }
    process = process_create(table, found->pid, found->tids[0], time_ns);
    if (process == NULL) {
        goto no_memory;
    }
    for (size_t i = 1; i < found->tid_count; i++) {
        if (thread_add(process, found->tids[i]) < 0) {
            goto discard_process;
        }
    }
    if (watcher != NULL && process_table_add_watcher(process, watcher) < 0) {
        goto discard_process;
    }
    process_set_name(process, found->name);
    process->read_ns = found->read_ns;
    process->mappings = *found->mappings;
    *found->mappings = (struct perf_mappings){0};
    notify_start(table, process, time_ns, TID_UNKNOWN);
    return 0;

discard_process:
    process_discard(table, process);
no_memory:
    perf_mappings_finish(found->mappings);
    return -ENOMEM;
}

/* Does the kernel write this pid for a process outside the session's pid namespace,
 * or for an exited thread? */
static bool
is_no_process(uint32_t pid)
{
    return pid == 0 || pid == UINT32_MAX;
}

/* Is a record older than the reading of /proc that added its process, which then shows
 * its effect already? FORK and EXIT records of threads are applied anyway: the reading
 * may have listed a thread that was exiting. */
static bool
is_read_already(const struct process_table *table, const struct perf_record *record)
{
    const struct perf_process *const process = process_table_find(table, record->pid);

    return process != NULL && record->time_ns < process->read_ns;
}

void
process_table_apply(struct process_table *table, const struct perf_record *record,
                    struct perf_watcher *watcher)
{
    assert(assert_pid_state(table, record->pid));
    if (is_no_process(record->pid)) {
        return;
    }
    switch (record->type) {
    case PERF_RECORD_COMM:
        if (!is_read_already(table, record)) {
            apply_comm(table, record, watcher);
        }
        break;
    case PERF_RECORD_FORK:
        apply_fork(table, record);
        break;
    case PERF_RECORD_EXIT:
        apply_exit(table, record);
        break;
    case PERF_RECORD_MMAP2:
        if (!is_read_already(table, record)) {
            apply_mmap2(table, record);
        }
        break;
    default:
        break;
    }
}

void
process_table_resync(struct process_table *table, struct perf_process *process,
                     const struct perf_found *found, uint64_t time_ns)
{
    struct perf_mappings *const mappings = found->mappings;
    bool kept = false;
    bool removed = false;

    assert(found->tid_count > 0 && assert_process_state(table, process));
    assert(assert_mappings_state(&process->mappings));
    assert(assert_mappings_state(mappings));
    keep_only_thread(table, process, found->tids[0]);
    for (size_t i = 1; i < found->tid_count; i++) {
        if (thread_add(process, found->tids[i]) < 0) {
            table->dropped++;
        }
    }
    /* Remove mappings that no longer exist, then add new ones. */
    for (size_t i = process->mappings.count; i-- > 0;) {
        const struct perf_mapping old = process->mappings.items[i];
        const bool user = (int64_t)old.base >= 0; /* all have the vsyscall page */

        if (perf_mappings_contain(mappings, &old)) {
            kept = kept || user;
        } else {
            removed = removed || user;
            make_room(table, process, old.base, old.length, time_ns, TID_UNKNOWN);
        }
    }
    /* Threads of the kernel, without mappings, change their names all the time. */
    if ((kept || removed) && found->name[0] != 0 &&
        strncmp(process->name, found->name, sizeof(process->name) - 1) != 0) {
        process_set_name(process, found->name);
        /* An exec keeps no mapping. */
        notify_process(table, kept ? NTPROF_PROCESS_NAME : NTPROF_PROCESS_EXEC, process,
                       time_ns, TID_UNKNOWN);
    }
    for (size_t i = 0; i < mappings->count; i++) {
        mappings->items[i].image->references++;
        map(table, process, mappings->items[i], time_ns, TID_UNKNOWN);
    }
    perf_mappings_finish(mappings);
}

void
process_table_add_unreported(struct process_table *table, struct perf_process *process,
                             struct perf_mappings *mappings, uint64_t address,
                             uint64_t time_ns)
{
    assert(assert_process_state(table, process) && assert_mappings_state(mappings));
    for (size_t i = 0; i < mappings->count; i++) {
        const struct perf_mapping *const mapping = &mappings->items[i];

        if (address - mapping->base < mapping->length ||
            !perf_mappings_overlap(&process->mappings, mapping->base,
                                   mapping->length)) {
            mapping->image->references++;
            map(table, process, *mapping, time_ns, TID_UNKNOWN);
        }
    }
    perf_mappings_finish(mappings);
}
