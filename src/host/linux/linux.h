/* SPDX-License-Identifier: MIT */
/*
 * host/linux/linux.h - the host table for a Linux process.
 *
 * A host belongs to one session. What belongs to the process (the buffers of
 * ntprof_buffer_alloc, the pinned pages) is under the mutex of buffer.c.
 * ntprof_buffer_alloc and ntprof_buffer_free (<ntprof/session.h>) are there too.
 */
#ifndef HOST_LINUX_LINUX_H
#define HOST_LINUX_LINUX_H

#include "host/host.h"

#include <stddef.h>

/*
 * host_linux_prepare - have the host's locks taken and left around each fork, if that
 * is not so yet. A lock under which hosts are made must be taken before them: call this
 * first, then pthread_atfork. Any thread. Level: passive.
 */
void host_linux_prepare(void);

/*
 * host_linux_create - fill Host with the services of this system.
 *
 * STATUS_INSUFFICIENT_RESOURCES  no memory, or no descriptor to ask for the processors
 *                                with, as errno says; Host is untouched
 *
 * Any thread. Level: passive.
 */
NTSTATUS host_linux_create(HOST *Host);

/* What a host has refused a session, in its own call or the kernel's. */
enum {
    HOST_REFUSED_NOTHING,
    HOST_REFUSED_PRIVILEGE, /* events of all processes */
    HOST_REFUSED_KERNEL,    /* events in kernel mode */
    HOST_REFUSED_PROCESS,   /* to look into a process */
    HOST_REFUSED_LOCK,      /* to lock a buffer */
    HOST_REFUSED_ADDRESS,   /* to read or write there */
};

struct host_linux_refusal {
    int what;        /* HOST_REFUSED_... */
    int error;       /* negative errno */
    NTSTATUS status; /* that it came out as */
    ULONG64 subject; /* the process, or the address */
};

/* host_linux_refusal - the last one since host_linux_forget_refusal. */
const struct host_linux_refusal *host_linux_refusal(const HOST *Host);
void host_linux_forget_refusal(const HOST *Host);

/*
 * host_page_source - where a session's counters must be, if a back end finds them
 * nowhere else. Any thread; take and map return 0 or negative errno. None of them may
 * call the host.
 */
struct host_page_source {
    void *context;
    /* Zero, resident and mapped page by page; at a whole page if it is a page or more,
     * and then of whole pages. */
    int (*take)(void *context, size_t bytes, void **memory);
    /* What was taken; nobody counts in it or has another mapping of it. */
    void (*give)(void *context, void *memory, size_t bytes);
    /* Another mapping of whole pages that were taken, with all of them in it. It may
     * outlive the source. */
    int (*map)(void *context, const void *memory, size_t bytes, void **mapping);
};

/*
 * host_linux_use_pages - have all counters of Host's locks in pages of Source from now
 * on; NULL: of Source no more, which may go then. No MDL may be locked. A buffer of
 * ntprof_buffer_alloc gets such pages and is live; for any other memory, what is
 * counted in them is added to it at each flush.
 */
void host_linux_use_pages(HOST *Host, const struct host_page_source *Source);

/*
 * host_linux_delete - give back what host_linux_create made. Every MDL must be unlocked
 * by then; Allocate'd memory and HOST_PROCESS references are the caller's to free. A
 * Host of zeros is allowed.
 */
void host_linux_delete(HOST *Host);

#endif
