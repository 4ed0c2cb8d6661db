/* SPDX-License-Identifier: MIT */
/* host/sim/heap.c - memory for the core: each allocation is kept in a list, so that
 * wrong uses and leaks are found. */
#include "host/sim/host_simp.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* Written over freed memory: a use after free then reads nonsense. */
enum { FREED_BYTE = 0xDD };

struct host_sim_allocation {
    alignas(16) struct host_sim_allocation *next;
    struct host_sim_allocation **link; /* what points here */
    size_t bytes;
};

/* Add an allocation to the list. */
static void
link_allocation(struct host_sim *sim, struct host_sim_allocation *allocation)
{
    allocation->next = sim->allocations;
    allocation->link = &sim->allocations;
    if (allocation->next != NULL) {
        allocation->next->link = &allocation->next;
    }
    sim->allocations = allocation;
}

static void
unlink_allocation(struct host_sim_allocation *allocation)
{
    *allocation->link = allocation->next;
    if (allocation->next != NULL) {
        allocation->next->link = allocation->link;
    }
}

/* ---- HOST_TABLE ---- */

static void *
allocate(void *context, SIZE_T bytes)
{
    struct host_sim *const sim = context;
    struct host_sim_allocation *allocation;
    NTSTATUS status;

    if (host_sim_must_fail(sim, HOST_SIM_ALLOCATE, &status)) {
        return NULL;
    }
    if (bytes > SIZE_MAX - sizeof(*allocation)) {
        return NULL;
    }
    allocation = calloc(1, sizeof(*allocation) + bytes);
    if (allocation == NULL) {
        return NULL;
    }
    allocation->bytes = bytes;
    link_allocation(sim, allocation);
    sim->balance.allocations++;
    sim->balance.bytes += bytes;
    return allocation + 1;
}

static void
release(void *context, void *memory, SIZE_T bytes)
{
    struct host_sim *const sim = context;
    struct host_sim_allocation *allocation;

    if (memory == NULL) {
        host_sim_complain(sim, "Free of NULL");
        return;
    }
    allocation = (struct host_sim_allocation *)memory - 1;
    if (allocation->bytes != bytes) {
        host_sim_complain(sim, "Free with another size than Allocate had");
    }
    sim->balance.allocations--;
    sim->balance.bytes -= allocation->bytes;
    unlink_allocation(allocation);
    memset(memory, FREED_BYTE, allocation->bytes);
    free(allocation);
}

void
host_sim_fill_heap(HOST_TABLE *table)
{
    table->Allocate = allocate;
    table->Free = release;
}

void
host_sim_delete_heap(struct host_sim *sim)
{
    while (sim->allocations != NULL) {
        struct host_sim_allocation *const next = sim->allocations->next;

        free(sim->allocations);
        sim->allocations = next;
    }
}
