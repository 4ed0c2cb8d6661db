/* SPDX-License-Identifier: MIT */
/*
 * rights.h - what a process that reads foreign files may do: read the descriptors that
 * it was handed, use memory, and answer on one socket.
 */
#ifndef SANDBOX_RIGHTS_H
#define SANDBOX_RIGHTS_H

#include <stdint.h>

/* The only descriptor that can be sent to and received from. */
enum { SANDBOX_SOCKET = 3 };

/* What sanitizers write to, if there are some; or -1. */
extern const int sandbox_errors_fd;

/* Gives up all ways to new capabilities; no signal of a terminal ends the process. 0 or
 * negative errno. */
int sandbox_keep_to_itself(void);

/*
 * Gives up capabilities and all else for good: what is not allowed kills the process by
 * SIGSYS.
 *
 *   memory_bytes  private memory beside what there is, and beside a stack of 8 MiB;
 *                 no other kind of memory can be had but that of mapped files
 *   cpu_seconds   processor time; then SIGXCPU kills it
 *
 * 0 or negative errno.
 */
int sandbox_drop_rights(uint64_t memory_bytes, uint64_t cpu_seconds);

#endif
