/* SPDX-License-Identifier: MIT */
/*
 * host/linux/linux.h - the host table for a Linux process.
 *
 * A host belongs to one session. Process-wide state (buffers of ntprof_buffer_alloc,
 * pinned pages) is protected by the mutex of buffer.c, which also defines
 * ntprof_buffer_alloc and ntprof_buffer_free (<ntprof/session.h>).
 */
#ifndef HOST_LINUX_LINUX_H
#define HOST_LINUX_LINUX_H

#include "host/host.h"

#include <stddef.h>

/*
 * host_linux_prepare - install the fork handlers of the host's mutex, once. A lock
 * under which hosts are made must be taken before the mutex: call this first, then
 * pthread_atfork for that lock. Any thread. Level: passive.
 */
void host_linux_prepare(void);

/*
 * host_linux_create - fill Host with the services of this system.
 *
 * STATUS_INSUFFICIENT_RESOURCES  memory or descriptors ran out, see errno; Host is
 *                                unchanged
 *
 * Any thread. Level: passive.
 */
NTSTATUS host_linux_create(HOST *Host);

/* What the kernel did not allow when a function of the host table failed. */
enum {
    HOST_REFUSED_NOTHING,
    HOST_REFUSED_PRIVILEGE, /* events of all processes */
    HOST_REFUSED_KERNEL,    /* events in kernel mode */
    HOST_REFUSED_PROCESS,   /* to look into a process */
    HOST_REFUSED_LOCK,      /* to lock a buffer */
    HOST_REFUSED_ADDRESS,   /* to read or write at an address */
};

struct host_linux_refusal {
    int what;        /* HOST_REFUSED_... */
    int error;       /* negative errno of the kernel */
    NTSTATUS status; /* that the function of the host table returned */
    ULONG64 subject; /* the process or the address; 0 if there is none */
};

/* host_linux_refusal - return the last refusal since host_linux_forget_refusal. */
const struct host_linux_refusal *host_linux_refusal(const HOST *Host);
void host_linux_forget_refusal(const HOST *Host);

/*
 * host_page_supplier - memory for counters, given by a back end that can count only in
 * its own memory (bpf). Any thread; allocate and map return 0 or negative errno. The
 * functions must not call the host.
 */
struct host_page_supplier {
    void *context;
    /* Allocates zeroed, resident memory: whole pages if it is a page or more. */
    int (*allocate)(void *context, size_t bytes, void **memory);
    /* Frees allocated memory. No hit may be counted in it any more, and no second
     * mapping of it exist. */
    void (*release)(void *context, void *memory, size_t bytes);
    /* Maps whole allocated pages once more. The mapping may outlive the supplier. */
    int (*map)(void *context, const void *memory, size_t bytes, void **mapping);
};

/*
 * host_linux_use_pages - have the counters of all later locks in pages of Supplier; if
 * it is NULL, in anonymous memory: then the supplier before may be freed. No MDL may be
 * locked. A buffer of ntprof_buffer_alloc gets such pages and is live; to any other
 * memory the counts are added at each flush.
 */
void host_linux_use_pages(HOST *Host, const struct host_page_supplier *Supplier);

/*
 * host_linux_delete - free what host_linux_create made. Every MDL must be unlocked; the
 * caller frees memory of Allocate and HOST_PROCESS references. A Host of zeros is
 * allowed.
 */
void host_linux_delete(HOST *Host);

#endif
