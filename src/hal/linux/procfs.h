/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/procfs.h - reads threads, children, mappings and settings in /proc. Names
 * in it are hostile.
 */
#ifndef HAL_LINUX_PROCFS_H
#define HAL_LINUX_PROCFS_H

#include "hal/linux/mapping.h"

#include <stdint.h>
#include <sys/types.h>

/* perf_is_shortage - is a negative errno about descriptors or memory that ran out? Then
 * it says nothing about rights or processes. */
bool perf_is_shortage(int result);

/* A growing list of thread ids. All zero: empty. */
struct perf_tids {
    uint32_t *items;
    size_t count;
};

/* perf_tids_add - append tid, even if it is in the list. Returns 0 or -ENOMEM.
 * perf_tids_contain - is tid in the list? perf_tids_finish - free the list. */
int perf_tids_add(struct perf_tids *tids, uint32_t tid);
bool perf_tids_contain(const struct perf_tids *tids, uint32_t tid);
void perf_tids_finish(struct perf_tids *tids);

/* perf_procfs_threads - add the threads of a process. Returns 0; 1 if some may be
 * missing, because they start and exit faster than they can be read; negative errno:
 * -ESRCH if there is no such process. */
int perf_procfs_threads(uint32_t pid, struct perf_tids *tids);

/* perf_procfs_children - add the living children of a process; none on a kernel without
 * CONFIG_PROC_CHILDREN. Returns 0; 1 if some may be missing; or negative errno. */
int perf_procfs_children(uint32_t pid, struct perf_tids *pids);

/* perf_procfs_processes - add all processes in /proc, kernel threads too. Returns 0 or
 * negative errno. */
int perf_procfs_processes(struct perf_tids *pids);

/* perf_procfs_name - get the name of a process; "" if it cannot be read. */
void perf_procfs_name(uint32_t pid, char *name, size_t bytes);

/* perf_procfs_state - return a thread's state: 'R' running, 'D' uninterruptible sleep,
 * 'Z' exited. 0 if there is no such thread. */
char perf_procfs_state(uint32_t pid, uint32_t tid);

/* perf_pidfd_has_exited - has the process of a pidfd exited? False for -1. */
bool perf_pidfd_has_exited(int pidfd);

/* perf_procfs_mappings - get the executable mappings of a process, through one of its
 * threads; an exited thread has none. mappings: out, must be empty. Returns 0 or
 * negative errno: -ESRCH if there is no such thread, -EACCES if the caller may not read
 * them. */
int perf_procfs_mappings(uint32_t pid, uint32_t tid, struct perf_mappings *mappings);

/* perf_procfs_parse_mappings - get executable mappings from the text of /proc/PID/maps,
 * which is modified. Malformed lines are skipped. Returns 0 or -ENOMEM. */
int perf_procfs_parse_mappings(char *text, struct perf_mappings *mappings);

/* What was read of one process. */
struct perf_reading {
    char name[64];
    struct perf_tids tids; /* of threads that are not exiting: at least one */
    struct perf_mappings mappings;
};

/*
 * perf_procfs_read - read name, threads and mappings of a process.
 *
 *   reading  out: must be given to perf_reading_finish, whatever is returned
 *
 * Returns 0, though threads may be missing if they start and exit faster than they can
 * be read; -ESRCH if there is no such process; -ECHILD if it is exiting, or has exited
 * and its parent has not waited for it; -EAGAIN if no thread lives long enough to be
 * read; -EACCES if the caller may not read the mappings, which are then missing;
 * -ENOMEM or another negative errno.
 */
int perf_procfs_read(uint32_t pid, struct perf_reading *reading);
void perf_reading_finish(struct perf_reading *reading);

/* perf_procfs_pid_namespace - return the inode of a process's pid namespace (0: of the
 * caller's); 0 if it cannot be read. */
#define PERF_FIRST_PID_NAMESPACE 0xEFFFFFFCu /* the kernel's PROC_PID_INIT_INO */
uint64_t perf_procfs_pid_namespace(uint32_t pid);

/* perf_read_text - read a whole file, named from a directory's descriptor. text: out,
 * NUL-terminated, freed by the caller. Returns 0 or negative errno: -ESRCH if there is
 * no such file. */
int perf_read_text(int directory, const char *path, char **text);

/* perf_procfs_available_bytes - return how much memory programs can have without
 * swapping; UINT64_MAX if that is not known. */
uint64_t perf_procfs_available_bytes(void);

/* perf_procfs_setting - return the number in a file below /proc/sys/; fallback if it
 * cannot be read. */
long perf_procfs_setting(const char *name, long fallback);

#endif
