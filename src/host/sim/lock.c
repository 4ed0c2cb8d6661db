/* SPDX-License-Identifier: MIT */
/*
 * host/sim/lock.c - locking and mapping counter buffers. A buffer must lie in one
 * region; its system address is the region's memory, which stays until the host is
 * deleted.
 */
#include "host/sim/host_simp.h"

#include <stdlib.h>

/* Return the link to an MDL's lock in the list; NULL if it is not locked. */
static struct host_sim_lock **
find_lock(struct host_sim *sim, const MDL *mdl)
{
    struct host_sim_lock **link = &sim->locks;

    while (*link != NULL && *link != mdl->HostContext) {
        link = &(*link)->next;
    }
    return *link != NULL ? link : NULL;
}

/* ---- HOST_TABLE ---- */

static NTSTATUS
lock_pages(void *context, MDL *mdl)
{
    struct host_sim *const sim = context;
    struct host_sim_lock *lock;
    uint8_t *memory;
    NTSTATUS status;

    if (mdl->ByteCount != 0 && mdl->StartVa % sizeof(ULONG) != 0) {
        host_sim_complain(sim, "LockPages of memory that is not aligned");
    }
    if (host_sim_must_fail(sim, HOST_SIM_LOCK_PAGES, &status)) {
        return status;
    }
    if (mdl->ByteCount == 0) {
        memory = sim->nothing;
    } else {
        memory = host_sim_at(sim, mdl->StartVa, mdl->ByteCount);
    }
    if (memory == NULL ||
        !host_sim_pages_allow(sim, mdl->StartVa, mdl->ByteCount, HOST_SIM_WRITABLE)) {
        return STATUS_ACCESS_VIOLATION;
    }
    lock = calloc(1, sizeof(*lock));
    if (lock == NULL) {
        return STATUS_WORKING_SET_QUOTA;
    }
    lock->memory = memory;
    lock->bytes = mdl->ByteCount;
    lock->next = sim->locks;
    sim->locks = lock;
    sim->balance.locks++;
    mdl->HostContext = lock;
    return STATUS_SUCCESS;
}

static NTSTATUS
map_pages(void *context, MDL *mdl)
{
    struct host_sim *const sim = context;
    struct host_sim_lock **const link = find_lock(sim, mdl);
    NTSTATUS status;

    if (link == NULL || (*link)->mapped) {
        host_sim_complain(sim, "MapPages of memory that is not locked, or is mapped");
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    if (host_sim_must_fail(sim, HOST_SIM_MAP_PAGES, &status)) {
        return status;
    }
    (*link)->mapped = true;
    sim->balance.mappings++;
    mdl->MappedSystemVa = (*link)->memory;
    return STATUS_SUCCESS;
}

static void
flush_pages(void *context, MDL *mdl)
{
    struct host_sim *const sim = context;
    struct host_sim_lock **const link = find_lock(sim, mdl);

    if (link == NULL || !(*link)->mapped) {
        host_sim_complain(sim, "FlushPages of memory that is not mapped");
    }
    sim->flushes++;
}

static void
unmap_pages(void *context, MDL *mdl)
{
    struct host_sim *const sim = context;
    struct host_sim_lock **const link = find_lock(sim, mdl);

    if (link == NULL || !(*link)->mapped) {
        host_sim_complain(sim, "UnmapPages of memory that is not mapped");
        return;
    }
    (*link)->mapped = false;
    sim->balance.mappings--;
    mdl->MappedSystemVa = NULL;
}

static void
unlock_pages(void *context, MDL *mdl)
{
    struct host_sim *const sim = context;
    struct host_sim_lock **const link = find_lock(sim, mdl);
    struct host_sim_lock *lock;

    if (link == NULL || (*link)->mapped) {
        host_sim_complain(sim,
                          "UnlockPages of memory that is not locked, or is mapped");
        return;
    }
    lock = *link;
    *link = lock->next;
    free(lock);
    sim->balance.locks--;
    mdl->HostContext = NULL;
}

void
host_sim_fill_locks(HOST_TABLE *table)
{
    table->LockPages = lock_pages;
    table->MapPages = map_pages;
    table->FlushPages = flush_pages;
    table->UnmapPages = unmap_pages;
    table->UnlockPages = unlock_pages;
}

/* ---- what tests ask ---- */

uint64_t
host_sim_locked_bytes(const struct host_sim *sim)
{
    uint64_t bytes = 0;

    for (const struct host_sim_lock *lock = sim->locks; lock != NULL;
         lock = lock->next) {
        bytes += lock->bytes;
    }
    return bytes;
}

void
host_sim_delete_locks(struct host_sim *sim)
{
    while (sim->locks != NULL) {
        struct host_sim_lock *const next = sim->locks->next;

        free(sim->locks);
        sim->locks = next;
    }
}
