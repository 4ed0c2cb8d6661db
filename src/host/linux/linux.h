/* SPDX-License-Identifier: MIT */
/*
 * host/linux/linux.h - the host table for a Linux process.
 *
 * A host belongs to one session. What belongs to the process (which of its pages are
 * shared counter pages) is in arena.c, under its own mutex. ntprof_buffer_alloc and
 * ntprof_buffer_free, declared in <ntprof/session.h>, are there too.
 */
#ifndef HOST_LINUX_LINUX_H
#define HOST_LINUX_LINUX_H

#include "host/host.h"

/*
 * host_linux_prepare - have the host's locks taken and left around each fork, if that is not so
 * yet. A lock under which hosts are made must be taken before them: call this first, then
 * pthread_atfork. Any thread. Level: passive.
 */
void host_linux_prepare(void);

/*
 * host_linux_create - fill Host with the services of this system.
 *
 * STATUS_INSUFFICIENT_RESOURCES  no memory; Host is untouched
 *
 * Any thread. Level: passive.
 */
NTSTATUS host_linux_create(HOST *Host);

/*
 * host_linux_delete - give back what host_linux_create made. Every MDL must be unlocked by
 * then; Allocate'd memory and HOST_PROCESS references are the caller's to free. A Host of
 * zeros is allowed.
 */
void host_linux_delete(HOST *Host);

#endif
