/* SPDX-License-Identifier: MIT */
/* lock.h - locks of counter buffers, and hits, for the host tests. */
#ifndef TESTS_UNIT_HOST_LOCK_H
#define TESTS_UNIT_HOST_LOCK_H

#include "fixture.h"

static inline NTSTATUS
lock(MDL *mdl, const void *buffer, size_t counters)
{
    *mdl = (MDL){.StartVa = (uintptr_t)buffer, .ByteCount = (ULONG)(counters * 4)};
    return host.Table->LockPages(host.Context, mdl);
}

static inline void
lock_and_map(MDL *mdl, const void *buffer, size_t counters)
{
    assert_int_equal(lock(mdl, buffer, counters), STATUS_SUCCESS);
    assert_int_equal(host.Table->MapPages(host.Context, mdl), STATUS_SUCCESS);
    assert_non_null(mdl->MappedSystemVa);
}

static inline void
unmap_and_unlock(MDL *mdl)
{
    host.Table->UnmapPages(host.Context, mdl);
    host.Table->UnlockPages(host.Context, mdl);
}

static inline void
flush(MDL *mdl)
{
    host.Table->FlushPages(host.Context, mdl);
}

static inline void
hit(const MDL *mdl, size_t counter)
{
    __atomic_fetch_add((ULONG *)mdl->MappedSystemVa + counter, 1, __ATOMIC_RELAXED);
}

/* Opaque to the compiler, which knows nothing of a second mapping. */
static inline ULONG
value(const ULONG *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#endif
