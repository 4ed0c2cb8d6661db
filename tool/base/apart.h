/* SPDX-License-Identifier: MIT */
/*
 * apart.h - runs functions beside the caller, as threads do, but so that their system
 * calls cannot keep the command from ending.
 *
 * A call to a file system that does not answer may be one that no signal ends (FUSE,
 * once its server has taken the request). A process with such a thread stays as a
 * zombie, and whoever started it waits. So what may make such calls runs in a process
 * that shares memory, descriptors and locks with the command, as its threads do. When
 * the command ends it is killed, at the latest when its call returns.
 */
#ifndef BASE_APART_H
#define BASE_APART_H

#include <stdbool.h>
#include <stdint.h>

/*
 * apart_start - have run(argument) called beside the caller, with all signals blocked.
 *
 *   name      of the process, at most 15 bytes
 *   detached  nobody calls apart_join or apart_leave: the handle only says that run is
 *             called, and frees itself
 *
 * Returns a handle for apart_join or apart_leave, or NULL with errno set. Any thread.
 */
struct apart *apart_start(const char *name, void (*run)(void *), void *argument,
                          bool detached);

/* apart_join - wait until run has returned, and free the handle. */
void apart_join(struct apart *apart);

/* apart_leave - never wait for run, which may not return. The handle is freed once it
 * has. */
void apart_leave(struct apart *apart);

/* apart_cpu_ns - return the processor time of all processes that apart_start made, also
 * of those that exited. */
uint64_t apart_cpu_ns(void);

/*
 * apart_finish - prepare the end of the command: if a process of apart_start still
 * runs, put /dev/null in place of the standard streams, which that process shares, so
 * that whoever reads them sees their end.
 */
void apart_finish(void);

#endif
