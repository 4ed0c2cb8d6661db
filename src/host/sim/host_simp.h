/* SPDX-License-Identifier: MIT */
/* host/sim/host_simp.h - the state of the simulated host, for the files of host/sim. */
#ifndef HOST_SIM_HOST_SIMP_H
#define HOST_SIM_HOST_SIMP_H

#include "host/sim/host_sim.h"

/* A piece of the caller's memory: guard, pages, guard. */
struct host_sim_region {
    struct host_sim_region *next;
    uint64_t base;
    uint64_t bytes; /* a multiple of the page size */
    bool gone;      /* unmapped by the caller; the memory stays for what is locked */
    uint8_t *memory;
    uint8_t *guards[2];
    size_t mapped_bytes; /* of the whole, guards included */
    uint8_t rights[];    /* enum host_sim_page, one a page */
};

/* A process. A later one may have the same pid. */
struct host_sim_process {
    struct host_sim_process *next;
    uint64_t pid;
    LONG_PTR number; /* which no other process has: HOST_PROCESS.Reference */
    bool alive;
    bool accessible;
    uint64_t open_count;
};

/* A buffer that the core has locked: MDL.HostContext. */
struct host_sim_lock {
    struct host_sim_lock *next;
    uint8_t *memory;
    uint32_t bytes;
    bool mapped;
};

/* Calls of one kind, and which of them fails. */
struct host_sim_fault {
    uint64_t calls;
    uint64_t fail_at; /* value of calls that fails; 0: none */
    bool forever;     /* later calls fail too */
    NTSTATUS status;
};

struct host_sim_allocation;

struct host_sim {
    HOST_TABLE table;
    bool privilege;
    uint32_t restricted_rules;
    uint8_t nothing[4]; /* where a lock of no bytes is mapped */
    uint16_t group_count;
    uint16_t current_group;
    KAFFINITY active[HOST_SIM_MOST_GROUPS];
    uint64_t own_pid;
    struct host_sim_region *regions;
    struct host_sim_process *processes;
    LONG_PTR last_process_number;
    struct host_sim_lock *locks;
    struct host_sim_allocation *allocations;
    struct host_sim_balance balance;
    uint64_t flushes;
    struct host_sim_fault faults[HOST_SIM_CALLS];
    const char *complaint;
};

/* Count a call. Returns true if it has to fail, as a test asked by host_sim_fail.
 * status: out, what it then returns. */
bool host_sim_must_fail(struct host_sim *sim, enum host_sim_call call,
                        NTSTATUS *status);

/* Keep the text of the first wrong use of the table: host_sim_complaint. */
void host_sim_complain(struct host_sim *sim, const char *text);

/* Fill in the part of the table that the other files implement. */
void host_sim_fill_heap(HOST_TABLE *table);
void host_sim_fill_memory(HOST_TABLE *table);
void host_sim_fill_locks(HOST_TABLE *table);
void host_sim_fill_processes(HOST_TABLE *table);

/* Free what is left of each kind when the host is deleted. */
void host_sim_delete_heap(struct host_sim *sim);
void host_sim_delete_memory(struct host_sim *sim);
void host_sim_delete_locks(struct host_sim *sim);
void host_sim_delete_processes(struct host_sim *sim);

/* Return the region that contains the byte at address, or NULL. */
struct host_sim_region *host_sim_find_region(const struct host_sim *sim,
                                             uint64_t address);

/* Does each page of [address, address + bytes) have at least these rights? */
bool host_sim_pages_allow(const struct host_sim *sim, uint64_t address, uint64_t bytes,
                          enum host_sim_page rights);

#endif
