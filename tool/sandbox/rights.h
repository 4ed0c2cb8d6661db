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

/* The descriptor that sanitizers report to, in builds with them; else -1. */
extern const int sandbox_errors_fd;

/* Make it impossible for the process to gain capabilities, and detach it from signals
 * of the terminal. Returns 0 or a negative errno. */
int sandbox_keep_to_itself(void);

/*
 * Give up capabilities and, for good, all system calls but those that reading needs:
 * any other kills the process by SIGSYS.
 *
 *   memory_bytes  limit for private memory, beside what the process has already and a
 *                 stack of 8 MiB. Of other memory, only files can be mapped
 *   cpu_seconds   limit for processor time: SIGXCPU kills the process then
 *
 * Returns 0 or a negative errno.
 */
int sandbox_drop_rights(uint64_t memory_bytes, uint64_t cpu_seconds);

#endif
