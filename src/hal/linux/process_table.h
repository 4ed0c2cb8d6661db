/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/process_table.h - the watched processes that are alive: their names, their
 * threads, and their executable mappings. Records are applied in order of time; each
 * change is reported as a notification.
 *
 * Invariants:
 *   - a process's mappings are sorted by base and do not overlap;
 *   - a process has at least one thread;
 *   - each NTPROF_IMAGE_MAP is followed by one NTPROF_IMAGE_UNMAP of the same range
 *     before its process's NTPROF_PROCESS_EXEC or NTPROF_PROCESS_EXIT, or before
 *     something overlaps it.
 *
 * A callback may add processes (process_table_attach) but never takes one away, so a
 * process stays valid while its changes are being reported. Two records of the same
 * change (from two events that watch the process) change the table once.
 */
#ifndef HAL_LINUX_PROCESS_TABLE_H
#define HAL_LINUX_PROCESS_TABLE_H

#include "hal/linux/clock.h"
#include "hal/linux/idmap.h"
#include "hal/linux/mapping.h"
#include "hal/linux/record.h"

#include <ntprof/notification.h>
#include <stdbool.h>

/* A request to follow a process; a back end embeds it in its own struct, which outlives
 * the table. */
struct perf_watcher {
    bool descendants; /* it follows the process's children too, and theirs */
};

struct perf_process {
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t start_ns;
    uint64_t read_ns;   /* when /proc was read to add it; 0: a record did that */
    uint64_t reread_ns; /* when /proc was last read for an address in no mapping */
    char name[64];
    struct perf_idmap threads; /* the set of their tids: each maps to this process */
    struct perf_mappings mappings;
    struct perf_watcher **watchers;
    size_t watcher_count;
};

typedef void perf_notify(void *context, const ntprof_notification *notification);

struct process_table {
    perf_notify *notify; /* may be NULL */
    void *context;
    struct perf_clock clock;  /* of the records' times */
    struct perf_idmap by_pid; /* pid to struct perf_process */
    bool all;                 /* every process that starts or execs is added */
    uint64_t dropped;         /* changes not applied because memory ran out */
};

/* process_table_init - make an empty table. process_table_finish frees it without
 * notifications. */
void process_table_init(struct process_table *table, perf_notify *notify,
                        void *context);
void process_table_finish(struct process_table *table);

/* process_table_notify - send a notification whose time is a record's; sets its size,
 * "" for no name, and the time that the caller's clock showed. */
void process_table_notify(const struct process_table *table,
                          ntprof_notification *notification);

/* process_table_find - return the live process with this pid, or NULL. */
struct perf_process *process_table_find(const struct process_table *table,
                                        uint32_t pid);

/* What was read in /proc about a running process. */
struct perf_found {
    uint32_t pid;
    const char *name;
    const uint32_t *tids; /* at least one */
    size_t tid_count;
    struct perf_mappings *mappings; /* the table takes them: emptied */
    uint64_t read_ns;               /* a time before the reading began */
};

/*
 * process_table_attach - add a process that is already running, and report its start
 * and mappings.
 *
 *   time_ns  in: time of the notifications
 *   watcher  in: added to the process's watchers; may be NULL
 *
 * Later, COMM and MMAP2 records of it that are older than read_ns are ignored; FORK and
 * EXIT records of its threads are applied. The FORK record of its own start, if it
 * still comes, gives it the watchers of its parent that follow children.
 *
 * Returns 0; -EEXIST if the process is in the table (the watcher is added, nothing is
 * reported); -ENOMEM.
 */
int process_table_attach(struct process_table *table, const struct perf_found *found,
                         uint64_t time_ns, struct perf_watcher *watcher);

/* process_table_add_watcher - add a watcher to a process. Returns 0 or -ENOMEM. */
int process_table_add_watcher(struct perf_process *process,
                              struct perf_watcher *watcher);

/*
 * process_table_apply - apply a COMM, FORK, EXIT or MMAP2 record; others are ignored.
 *
 *   watcher  in: the watcher of the event that wrote the record, or NULL. A process
 *            that execs and is not in the table is added, with this watcher, if there
 *            is one or table->all is set.
 */
void process_table_apply(struct process_table *table, const struct perf_record *record,
                         struct perf_watcher *watcher);

/*
 * process_table_resync - after lost records, replace a process's name, threads and
 * mappings by those found in /proc, and report the changes. With another name and none
 * of the old mappings of user mode it has executed another program.
 *
 *   found  in: as read now; its mappings are emptied. A name "" is not known, and the
 *          old one stays.
 */
void process_table_resync(struct process_table *table, struct perf_process *process,
                          const struct perf_found *found, uint64_t time_ns);

/*
 * process_table_add_unreported - add mappings that Linux writes no record of, such as
 * code that mremap moved, after a hit at an address in no mapping. The mapping that
 * contains the address is added, and those that overlap none in the table. None is
 * removed: later records may be older than the reading, with hits in mappings that are
 * gone now.
 *
 *   mappings  in: as read now; emptied
 */
void process_table_add_unreported(struct process_table *table,
                                  struct perf_process *process,
                                  struct perf_mappings *mappings, uint64_t address,
                                  uint64_t time_ns);

/* process_table_end - remove a process that has exited, even if no record says so, and
 * report its exit. The pointer is invalid afterwards. */
void process_table_end(struct process_table *table, struct perf_process *process,
                       uint64_t time_ns);

#endif
