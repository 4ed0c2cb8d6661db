/* SPDX-License-Identifier: MIT */
/*
 * host/sim/host_sim.h - a simulated host for tests and for embedding experiments: a
 * HOST_TABLE over memory, processes, processors and rights that a test makes as it
 * likes.
 *
 * Addresses of the caller are numbers of the simulated machine; regions made with
 * host_sim_map give them memory. Every allocation, lock, mapping and open process is
 * counted, and every wrong use of the table (a free of the wrong size, an unlock while
 * mapped, ...) is remembered: host_sim_complaint. Any call that can fail can be made
 * to.
 *
 * Not part of libntprof. Not thread-safe, as the contract has it; MappedSystemVa is
 * plain memory that any thread may count in.
 */
#ifndef HOST_SIM_HOST_SIM_H
#define HOST_SIM_HOST_SIM_H

#include "host/host.h"

#include <stdbool.h>

/* The calls of HOST_TABLE that can fail. */
enum host_sim_call {
    HOST_SIM_ALLOCATE,
    HOST_SIM_PROBE_FOR_WRITE,
    HOST_SIM_COPY_FROM_CALLER,
    HOST_SIM_COPY_TO_CALLER,
    HOST_SIM_LOCK_PAGES,
    HOST_SIM_MAP_PAGES,
    HOST_SIM_OPEN_PROCESS,
    HOST_SIM_CHECK_PROCESS_ACCESS,
    HOST_SIM_CHECK_PRIVILEGE,
    HOST_SIM_CHECK_RESTRICTED,
    HOST_SIM_ANY_CALL, /* all of the above, counted together */
    HOST_SIM_CALLS
};

/* What a page of the caller is good for. */
enum host_sim_page { HOST_SIM_ABSENT, HOST_SIM_READ_ONLY, HOST_SIM_WRITABLE };

/* Most processor groups; the caller's pid unless options have another. */
enum { HOST_SIM_MOST_GROUPS = 128, HOST_SIM_OWN_PID = 1000 };

/* Zero members take the defaults named here. */
struct host_sim_options {
    uint32_t page_size_bytes;      /* 4096 */
    uint64_t highest_user_address; /* 0x7FFFFFFEFFFF, or 0x7FFEFFFF on 32 bits */
    uint64_t system_range_start;   /* 0xFFFF800000000000, or 0x80000000 */
    uint16_t group_count; /* 1; each group begins with processors 0 to 3 active */
    uint64_t own_pid;     /* HOST_SIM_OWN_PID; exists and may be accessed */
};

struct host_sim;

/* host_sim_create - options may be NULL. NULL if there is no memory. */
struct host_sim *host_sim_create(const struct host_sim_options *options);
void host_sim_delete(struct host_sim *sim);

/* host_sim_host - return the host to give to the core; valid until host_sim_delete. */
HOST host_sim_host(struct host_sim *sim);

/* Rights: the caller has the privilege and is not restricted until these functions
 * change it; rules is a sum of HOST_RESTRICTED_.... */
void host_sim_set_privilege(struct host_sim *sim, bool held);
void host_sim_set_restricted(struct host_sim *sim, uint32_t rules);

/* Set which processors of a group are active. */
void host_sim_set_active(struct host_sim *sim, uint16_t group, KAFFINITY mask);
void host_sim_set_current_group(struct host_sim *sim, uint16_t group);

/*
 * host_sim_map - give the caller memory at [address, address + bytes), all writable.
 *
 *   address  in: a multiple of the page size
 *   bytes    in: rounded up to whole pages; untouched pages cost nothing
 *
 * Returns the memory behind it, zeroed, with guards before and after; NULL if there is
 * none or something is mapped there.
 */
void *host_sim_map(struct host_sim *sim, uint64_t address, uint64_t bytes);

/* host_sim_protect - change all pages that [address, address + bytes) touches. */
void host_sim_protect(struct host_sim *sim, uint64_t address, uint64_t bytes,
                      enum host_sim_page rights);

/* host_sim_unmap - the caller unmaps the region at address; what is locked there stays
 * mapped for the core. */
void host_sim_unmap(struct host_sim *sim, uint64_t address);

/* host_sim_at - return the memory behind [address, address + bytes) if that is in one
 * region; else NULL. */
void *host_sim_at(struct host_sim *sim, uint64_t address, uint64_t bytes);

/* host_sim_guards_intact - was nothing written before or behind any region? */
bool host_sim_guards_intact(const struct host_sim *sim);

/* Processes. A pid that is added again after its end is another process. */
void host_sim_add_process(struct host_sim *sim, uint64_t pid);
void host_sim_end_process(struct host_sim *sim, uint64_t pid);
void host_sim_set_accessible(struct host_sim *sim, uint64_t pid, bool accessible);

/*
 * host_sim_fail - make a call fail.
 *
 *   call     in: which, or HOST_SIM_ANY_CALL
 *   nth      in: 1 for the next one from now, 2 for the one after it ...
 *   forever  in: all later ones too
 */
void host_sim_fail(struct host_sim *sim, enum host_sim_call call, uint64_t nth,
                   bool forever);

/* host_sim_set_failure - set the status that a call returns when host_sim_fail makes it
 * fail. */
void host_sim_set_failure(struct host_sim *sim, enum host_sim_call call,
                          NTSTATUS status);

/* host_sim_clear_failures - let all calls succeed, and reset the statuses of
 * host_sim_set_failure to their defaults. */
void host_sim_clear_failures(struct host_sim *sim);

/* What has been done so far, and what of it is not undone. */
uint64_t host_sim_calls(const struct host_sim *sim, enum host_sim_call call);
uint64_t host_sim_flushes(const struct host_sim *sim);
struct host_sim_balance {
    uint64_t allocations;
    uint64_t bytes;
    uint64_t locks;
    uint64_t mappings;
    uint64_t open_processes;
};
struct host_sim_balance host_sim_balance(const struct host_sim *sim);

/* host_sim_locked_bytes - bytes of all buffers locked now. */
uint64_t host_sim_locked_bytes(const struct host_sim *sim);

/* host_sim_complaint - return what the first wrong use of the table was, or NULL. */
const char *host_sim_complaint(const struct host_sim *sim);

#endif
