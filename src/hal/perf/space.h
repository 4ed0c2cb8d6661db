/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/space.h - watched processes: who lives, under which name, with which threads, and what
 * is mapped executable where. Fed with records in order of time, it tells each change.
 *
 * Invariants:
 *   - a process's mappings are sorted by base and do not overlap;
 *   - a process has at least one thread, and each thread is in the map of all threads;
 *   - each NTPROF_IMAGE_MAP is followed by one NTPROF_IMAGE_UNMAP of the same range before its
 *     process's NTPROF_PROCESS_EXEC or NTPROF_PROCESS_EXIT, or before something overlaps it.
 *
 * A callback may add processes (perf_space_attach) but never takes one away, so a process stays
 * valid while its changes are being told. Saying a thing twice (two events that tell of the same
 * process) changes nothing.
 */
#ifndef HAL_PERF_SPACE_H
#define HAL_PERF_SPACE_H

#include "hal/perf/idmap.h"
#include "hal/perf/mapping.h"
#include "hal/perf/record.h"

#include <ntprof/notification.h>
#include <stdbool.h>

struct perf_thread {
    struct perf_thread *next;
    struct perf_thread *previous;
    struct perf_process *process;
    uint32_t tid;
};

/* What watches a process. The user embeds it; it must outlive the space. */
struct perf_cover {
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
    struct perf_cover **covers;
    size_t cover_count;
};

typedef void perf_notify(void *context, const ntprof_notification *notification);

struct perf_space {
    perf_notify *notify; /* may be NULL */
    void *context;
    struct perf_idmap processes; /* pid to struct perf_process */
    struct perf_idmap threads;   /* pid and tid to struct perf_thread */
    bool all;                    /* whoever is born, or runs a program, is wanted */
    uint64_t last_ns;            /* time of the record applied last */
    uint64_t dropped;            /* changes not applied for want of memory */
};

/* perf_space_init, perf_space_finish - an empty space; nothing is told when it goes. */
void perf_space_init(struct perf_space *space, perf_notify *notify, void *context);
void perf_space_finish(struct perf_space *space);

/* perf_space_find - the live process with this pid, or NULL. */
struct perf_process *perf_space_find(const struct perf_space *space, uint32_t pid);

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
 * perf_space_attach - begin with a process that runs already: tells its start and mappings.
 *
 *   time_ns  in: of what is told
 *   cover    in: added to its covers; may be NULL
 *
 * Records of it that are older than the reading say what was read, and change nothing; but an
 * end is an end.
 *
 * Returns 0; -EEXIST if it is known (the cover is added, nothing is told); -ENOMEM.
 */
int perf_space_attach(struct perf_space *space, const struct perf_found *found,
                      uint64_t time_ns, struct perf_cover *cover);

/* perf_space_cover - add a cover to a process. Returns 0 or -ENOMEM. */
int perf_space_cover(struct perf_process *process, struct perf_cover *cover);

/*
 * perf_space_apply - apply a COMM, FORK, EXIT or MMAP2 record; others are ignored.
 *
 *   cover  in: what watches through the event that wrote it; a process not known yet that runs a
 *          program begins with it. NULL: only known processes.
 */
void perf_space_apply(struct perf_space *space, const struct perf_record *record,
                      struct perf_cover *cover);

/*
 * perf_space_resync - records were lost: bring a process's threads and mappings to what
 * they really are.
 *
 *   tids      in: its threads as read now, at least one
 *   mappings  in: as read now; emptied
 */
void perf_space_resync(struct perf_space *space, struct perf_process *process,
                       const uint32_t *tids, size_t tid_count,
                       struct perf_mappings *mappings, uint64_t time_ns);

/*
 * perf_space_add_unreported - the process executed at an address that is in no mapping: add what
 * Linux does not report, such as code that mremap moved. Added are the mapping that has the
 * address and those that overlap none known. None is removed: records still to come may be older
 * than the reading, and hits in what is unmapped by now may be among them.
 *
 *   mappings  in: as read now; emptied
 */
void perf_space_add_unreported(struct perf_space *space, struct perf_process *process,
                               struct perf_mappings *mappings, uint64_t address,
                               uint64_t time_ns);

/* perf_space_end - a process is gone, whatever its records said. It is not valid any more. */
void perf_space_end(struct perf_space *space, struct perf_process *process,
                    uint64_t time_ns);

#endif
