/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/procfs.h - what /proc tells of processes that run already. Names in it are
 * hostile.
 */
#ifndef HAL_LINUX_PROCFS_H
#define HAL_LINUX_PROCFS_H

#include "hal/linux/mapping.h"

#include <stdint.h>
#include <sys/types.h>

/* A growing list of thread ids. All zero: empty. */
struct perf_tids {
    uint32_t *items;
    size_t count;
    size_t capacity;
};

/* perf_tids_add - Returns 0 or -ENOMEM. perf_tids_hold - is it in the list? */
int perf_tids_add(struct perf_tids *tids, uint32_t tid);
bool perf_tids_hold(const struct perf_tids *tids, uint32_t tid);
void perf_tids_finish(struct perf_tids *tids);

/* perf_procfs_threads - add the threads of a process. Returns 0; 1 if some may be
 * missing, since they come and go faster than they can be read; or negative errno:
 * -ESRCH if there is no such process. */
int perf_procfs_threads(uint32_t pid, struct perf_tids *tids);

/* perf_procfs_children - add the processes that threads of this one have forked and
 * that live; nothing where the kernel cannot tell. Returns 0; 1 if threads may be
 * missing; or negative errno. */
int perf_procfs_children(uint32_t pid, struct perf_tids *pids);

/* perf_procfs_processes - add all processes that can be seen, kernel threads too.
 * Returns 0 or negative errno. */
int perf_procfs_processes(struct perf_tids *pids);

/* perf_procfs_name - the process's name; "" if it cannot be read. */
void perf_procfs_name(uint32_t pid, char *name, size_t bytes);

/* perf_procfs_state - the letter that tells what a thread does: 'R' runs, 'D' cannot be
 * interrupted, 'Z' has ended. 0 if there is no such thread. */
char perf_procfs_state(uint32_t pid, uint32_t tid);

/* perf_procfs_mappings - its executable mappings. mappings: out, was empty. Returns 0
 * or negative errno: -ESRCH if there is no such process, -EACCES if the caller may not
 * look. */
int perf_procfs_mappings(uint32_t pid, struct perf_mappings *mappings);

/* perf_procfs_parse_mappings - the same from text that ends in a NUL; text is changed.
 * Lines that make no sense are passed over. Returns 0 or -ENOMEM. */
int perf_procfs_parse_mappings(char *text, struct perf_mappings *mappings);

/* What /proc tells of one process. */
struct perf_reading {
    char name[64];
    struct perf_tids tids; /* that live: at least one */
    struct perf_mappings mappings;
};

/*
 * perf_procfs_read - all of it.
 *
 *   reading  out: to be given to perf_reading_finish, whatever is returned
 *
 * Returns 0, though threads may be missing if they come and go faster than they can be
 * read; -ESRCH if there is no such process; -ECHILD if it is ending, or has ended, and
 * its parent has not waited for it yet; -EAGAIN if no thread lives long enough to be
 * read; -EACCES if the caller may not look: the mappings are missing; -ENOMEM or
 * another negative errno.
 */
int perf_procfs_read(uint32_t pid, struct perf_reading *reading);
void perf_reading_finish(struct perf_reading *reading);

/* perf_procfs_setting - a number from below /proc/sys/; fallback if it cannot be read.
 */
long perf_procfs_setting(const char *name, long fallback);

#endif
