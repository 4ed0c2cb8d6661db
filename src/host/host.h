/* SPDX-License-Identifier: MIT */
/*
 * host/host.h - the host as the core sees it. The contract itself is public:
 * <ntprof/host.h>.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <ntprof/host.h>

/* HostAllocate - zeroed memory of the host's; NULL if there is none. */
static inline void *
HostAllocate(const HOST *Host, SIZE_T Bytes)
{
    return Host->Table->Allocate(Host->Context, Bytes);
}

/* HostFree - free memory of HostAllocate; NULL is ignored. Bytes: in, as allocated. */
static inline void
HostFree(const HOST *Host, void *Memory, SIZE_T Bytes)
{
    if (Memory != NULL) {
        Host->Table->Free(Host->Context, Memory, Bytes);
    }
}

#endif
