/* SPDX-License-Identifier: MIT */
/* host/sim/memory.c - the caller's memory: regions of pages between guards. */
#include "host/sim/host_simp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The guard before and behind each region, which nobody may write. */
enum { GUARD_BYTE = 0xA5, GUARD_BYTES = 4096 };

struct host_sim_region *
host_sim_find_region(const struct host_sim *sim, uint64_t address)
{
    for (struct host_sim_region *region = sim->regions; region != NULL;
         region = region->next) {
        if (!region->gone && address - region->base < region->bytes) {
            return region;
        }
    }
    return NULL;
}

bool
host_sim_pages_allow(const struct host_sim *sim, uint64_t address, uint64_t bytes,
                     enum host_sim_page rights)
{
    const uint64_t page = sim->table.PageSize;

    while (bytes > 0) {
        const struct host_sim_region *const region = host_sim_find_region(sim, address);
        const uint64_t step = page - address % page;

        if (region == NULL ||
            region->rights[(address - region->base) / page] < rights) {
            return false;
        }
        if (step >= bytes) {
            return true;
        }
        address += step;
        bytes -= step;
    }
    return true;
}

/* ---- HOST_TABLE ---- */

static NTSTATUS
probe_for_write(void *context, ULONG64 address, SIZE_T bytes)
{
    struct host_sim *const sim = context;
    NTSTATUS status;

    if (host_sim_must_fail(sim, HOST_SIM_PROBE_FOR_WRITE, &status)) {
        return status;
    }
    return host_sim_pages_allow(sim, address, bytes, HOST_SIM_WRITABLE)
               ? STATUS_SUCCESS
               : STATUS_ACCESS_VIOLATION;
}

/* Copies piece by piece, because regions that adjoin in the simulated address space are
 * allocated separately. to_simulated: from ours to the caller's memory; else back. All
 * of the caller's range is mapped. */
static void
copy(struct host_sim *sim, uint64_t address, uint8_t *ours, size_t bytes,
     bool to_simulated)
{
    while (bytes > 0) {
        struct host_sim_region *const region = host_sim_find_region(sim, address);
        const uint64_t offset = address - region->base;
        const uint64_t left = region->bytes - offset;
        const size_t piece = left < bytes ? (size_t)left : bytes;

        if (to_simulated) {
            memcpy(region->memory + offset, ours, piece);
        } else {
            memcpy(ours, region->memory + offset, piece);
        }
        address += piece;
        ours += piece;
        bytes -= piece;
    }
}

static NTSTATUS
copy_from_caller(void *context, void *to, ULONG64 from, SIZE_T bytes)
{
    struct host_sim *const sim = context;
    NTSTATUS status;

    if (host_sim_must_fail(sim, HOST_SIM_COPY_FROM_CALLER, &status)) {
        return status;
    }
    if (!host_sim_pages_allow(sim, from, bytes, HOST_SIM_READ_ONLY)) {
        return STATUS_ACCESS_VIOLATION;
    }
    copy(sim, from, to, bytes, false);
    return STATUS_SUCCESS;
}

static NTSTATUS
copy_to_caller(void *context, ULONG64 to, const void *from, SIZE_T bytes)
{
    struct host_sim *const sim = context;
    NTSTATUS status;

    if (host_sim_must_fail(sim, HOST_SIM_COPY_TO_CALLER, &status)) {
        return status;
    }
    if (!host_sim_pages_allow(sim, to, bytes, HOST_SIM_WRITABLE)) {
        return STATUS_ACCESS_VIOLATION;
    }
    copy(sim, to, (uint8_t *)(uintptr_t)from, bytes, true);
    return STATUS_SUCCESS;
}

void
host_sim_fill_memory(HOST_TABLE *table)
{
    table->ProbeForWrite = probe_for_write;
    table->CopyFromCaller = copy_from_caller;
    table->CopyToCaller = copy_to_caller;
}

/* ---- regions ---- */

/* Is anything mapped in this range? */
static bool
overlaps(const struct host_sim *sim, uint64_t base, uint64_t bytes)
{
    for (const struct host_sim_region *region = sim->regions; region != NULL;
         region = region->next) {
        if (!region->gone &&
            (base - region->base < region->bytes || region->base - base < bytes)) {
            return true;
        }
    }
    return false;
}

void *
host_sim_map(struct host_sim *sim, uint64_t address, uint64_t bytes)
{
    const uint64_t page = sim->table.PageSize;
    const size_t rounded = (size_t)((bytes + page - 1) / page * page);
    const size_t total = rounded + 2 * (size_t)GUARD_BYTES;
    struct host_sim_region *region;
    void *memory;

    if (bytes == 0 || address % page != 0 || overlaps(sim, address, rounded)) {
        return NULL;
    }
    region = calloc(1, sizeof(*region) + (size_t)(rounded / page));
    if (region == NULL) {
        return NULL;
    }
    memory = mmap(NULL, total, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        free(region);
        return NULL;
    }
    region->base = address;
    region->bytes = rounded;
    region->mapped_bytes = total;
    region->guards[0] = memory;
    region->memory = (uint8_t *)memory + GUARD_BYTES;
    region->guards[1] = region->memory + rounded;
    memset(region->guards[0], GUARD_BYTE, GUARD_BYTES);
    memset(region->guards[1], GUARD_BYTE, GUARD_BYTES);
    memset(region->rights, HOST_SIM_WRITABLE, (size_t)(rounded / page));
    region->next = sim->regions;
    sim->regions = region;
    return region->memory;
}

void
host_sim_protect(struct host_sim *sim, uint64_t address, uint64_t bytes,
                 enum host_sim_page rights)
{
    struct host_sim_region *const region = host_sim_find_region(sim, address);
    const uint64_t page = sim->table.PageSize;

    if (region == NULL || bytes == 0) {
        return;
    }
    for (uint64_t i = (address - region->base) / page;
         i < region->bytes / page && i * page < address - region->base + bytes; i++) {
        region->rights[i] = (uint8_t)rights;
    }
}

void
host_sim_unmap(struct host_sim *sim, uint64_t address)
{
    struct host_sim_region *const region = host_sim_find_region(sim, address);

    if (region != NULL) {
        region->gone = true;
    }
}

void *
host_sim_at(struct host_sim *sim, uint64_t address, uint64_t bytes)
{
    struct host_sim_region *const region = host_sim_find_region(sim, address);

    if (region == NULL || bytes > region->bytes - (address - region->base)) {
        return NULL;
    }
    return region->memory + (address - region->base);
}

/* Does each byte of a guard equal the next, and the first one GUARD_BYTE? */
static bool
guard_is_intact(const uint8_t *guard)
{
    return guard[0] == GUARD_BYTE && memcmp(guard, guard + 1, GUARD_BYTES - 1) == 0;
}

bool
host_sim_guards_intact(const struct host_sim *sim)
{
    for (const struct host_sim_region *region = sim->regions; region != NULL;
         region = region->next) {
        if (!guard_is_intact(region->guards[0]) ||
            !guard_is_intact(region->guards[1])) {
            return false;
        }
    }
    return true;
}

void
host_sim_delete_memory(struct host_sim *sim)
{
    while (sim->regions != NULL) {
        struct host_sim_region *const next = sim->regions->next;

        munmap(sim->regions->guards[0], sim->regions->mapped_bytes);
        free(sim->regions);
        sim->regions = next;
    }
}
