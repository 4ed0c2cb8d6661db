/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/process_table.h - watched processes: who lives, under which name, with
 * which threads, and what is mapped executable where. Fed with records in order of
 * time, it tells each change.
 *
 * Invariants:
 *   - a process's mappings are sorted by base and do not overlap;
 *   - a process has at least one thread, and each thread is in the map of all threads;
 *   - each NTPROF_IMAGE_MAP is followed by one NTPROF_IMAGE_UNMAP of the same range
 *     before its process's NTPROF_PROCESS_EXEC or NTPROF_PROCESS_EXIT, or before
 *     something overlaps it.
 *
 * A callback may add processes (process_table_attach) but never takes one away, so a
 * process stays valid while its changes are being told. Saying a thing twice (two
 * events that tell of the same process) changes nothing.
 */
#ifndef HAL_LINUX_PROCESS_TABLE_H
#define HAL_LINUX_PROCESS_TABLE_H

#include "hal/linux/idmap.h"
#include "hal/linux/mapping.h"
#include "hal/linux/record.h"

#include <ntprof/notification.h>
#include <stdbool.h>

struct perf_thread {
    struct perf_thread *next;
    struct perf_thread *previous;
    struct perf_process *process;
    uint32_t tid;
};

/* What watches a process. The user embeds it; it must outlive the table. */
struct perf_watcher {
    bool descendants; /* children are covered as well */
};

struct perf_process {
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t start_ns;
    uint64_t read_ns;   /* found in /proc then; 0: told by records from its start on */
    uint64_t reread_ns; /* /proc was last asked for an address that is in no mapping */
    char name[64];
    struct perf_thread *threads; /* list, newest first */
    struct perf_mappings mappings;
    struct perf_watcher **watchers;
    size_t watcher_count;
};

typedef void perf_notify(void *context, const ntprof_notification *notification);

struct process_table {
    perf_notify *notify; /* may be NULL */
    void *context;
    struct perf_idmap by_pid; /* pid to struct perf_process */
    struct perf_idmap by_tid; /* pid and tid to struct perf_thread */
    bool all;                 /* whoever is born, or runs a program, is wanted */
    uint64_t last_ns;         /* time of the record applied last */
    uint64_t dropped;         /* changes not applied for want of memory */
};

/* process_table_init, process_table_finish - an empty table; nothing is told when it
 * goes. */
void process_table_init(struct process_table *table, perf_notify *notify,
                        void *context);
void process_table_finish(struct process_table *table);

/* process_table_find - the live process with this pid, or NULL. */
struct perf_process *process_table_find(const struct process_table *table,
                                        uint32_t pid);

/* What was found out about a process that runs. */
struct perf_found {
    uint32_t pid;
    const char *name;
    const uint32_t *tids; /* at least one */
    size_t tid_count;
    struct perf_mappings *mappings; /* emptied */
    uint64_t read_ns;               /* before the first of this was read */
};

/*
 * process_table_attach - begin with a process that runs already: tells its start and
 * mappings.
 *
 *   time_ns  in: of what is told
 *   watcher    in: added to its watchers; may be NULL
 *
 * Records of it that are older than the reading say what was read, and change nothing;
 * but an end is an end.
 *
 * Returns 0; -EEXIST if it is known (the watcher is added, nothing is told); -ENOMEM.
 */
int process_table_attach(struct process_table *table, const struct perf_found *found,
                         uint64_t time_ns, struct perf_watcher *watcher);

/* process_table_add_watcher - add a watcher to a process. Returns 0 or -ENOMEM. */
int process_table_add_watcher(struct perf_process *process,
                              struct perf_watcher *watcher);

/*
 * process_table_apply - apply a COMM, FORK, EXIT or MMAP2 record; others are ignored.
 *
 *   watcher  in: what watches through the event that wrote it; a process not known yet
 *            that runs a
 *          program begins with it. NULL: only known processes.
 */
void process_table_apply(struct process_table *table, const struct perf_record *record,
                         struct perf_watcher *watcher);

/*
 * process_table_resync - records were lost: bring a process's threads and mappings to
 * what they really are.
 *
 *   tids      in: its threads as read now, at least one
 *   mappings  in: as read now; emptied
 */
void process_table_resync(struct process_table *table, struct perf_process *process,
                          const uint32_t *tids, size_t tid_count,
                          struct perf_mappings *mappings, uint64_t time_ns);

/*
 * process_table_add_unreported - the process executed at an address that is in no
 * mapping: add what Linux does not report, such as code that mremap moved. Added are
 * the mapping that has the address and those that overlap none known. None is removed:
 * records still to come may be older than the reading, and hits in what is unmapped by
 * now may be among them.
 *
 *   mappings  in: as read now; emptied
 */
void process_table_add_unreported(struct process_table *table,
                                  struct perf_process *process,
                                  struct perf_mappings *mappings, uint64_t address,
                                  uint64_t time_ns);

/* process_table_end - a process is gone, whatever its records said. It is not valid any
 * more. */
void process_table_end(struct process_table *table, struct perf_process *process,
                       uint64_t time_ns);

#endif
