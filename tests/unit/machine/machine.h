/* SPDX-License-Identifier: MIT */
/*
 * machine.h - a KSYSTEM on a simulated host and a simulated machine, for tests of the
 * core.
 *
 * Include it after cmocka.h. machine_close checks what must hold whatever a test did:
 * memory, locks, mappings, processes and interrupts are given back, guards are whole,
 * no contract was broken.
 */
#ifndef TESTS_MACHINE_H
#define TESTS_MACHINE_H

#include "ex/ex.h"
#include "hal/sim/sim.h"
#include "host/sim/host_sim.h"

/* Where the caller's memory is. */
#define MACHINE_SCRATCH 0x20000000ull /* handles, arrays; MACHINE_SCRATCH_BYTES */
#define MACHINE_BUFFER 0x30000000ull  /* counters; MACHINE_BUFFER_BYTES */
#define MACHINE_CODE 0x401000ull      /* what is profiled; no memory is behind it */
enum {
    MACHINE_SCRATCH_BYTES = 0x10000,
    MACHINE_BUFFER_BYTES = 0x20000,
    MACHINE_COUNTER_COUNT = 16, /* of machine_request */
    MACHINE_COUNTER_BYTES = 64,
    MACHINE_PID = HOST_SIM_OWN_PID,
    MACHINE_OTHER_PID = 2000
};
/* Those of machine_request: they end where a guard begins. A further profile's are
 * before them. */
#define MACHINE_COUNTERS (MACHINE_BUFFER + MACHINE_BUFFER_BYTES - MACHINE_COUNTER_BYTES)
#define MACHINE_HANDLE MACHINE_SCRATCH /* where handles are written */
#define MACHINE_ARRAY (MACHINE_SCRATCH + 0x1000)
#define MACHINE_INTERVAL (MACHINE_SCRATCH + 0x4000)

struct machine {
    struct host_sim *host;
    struct sim *sim;
    KSYSTEM system;
    void (*notify)(struct machine *machine, const ntprof_notification *notification);
    void *context; /* a test's own */
};

struct machine_options {
    struct host_sim_options host;
    struct sim_options sim; /* notify is the machine's */
    EX_OPTIONS ex;
};

/* machine_open - options may be NULL. The other process (MACHINE_OTHER_PID) exists. */
void machine_open(struct machine *machine, const struct machine_options *options);
void machine_close(struct machine *machine);

/* machine_give_up - the rest of machine_close, for a test that has finished the system
 * itself. */
void machine_give_up(struct machine *machine);

/* machine_check_undone - nothing is locked, mapped or started. */
void machine_check_undone(struct machine *machine);

/*
 * machine_request - what every test begins with: the caller's process, 16 buckets of 16
 * bytes at MACHINE_CODE, ProfileTime, all processors.
 */
EX_CREATE_PROFILE machine_request(void);

/* machine_create - in user mode; the handle, which must have been made. */
HANDLE machine_create(struct machine *machine, const EX_CREATE_PROFILE *request);

/* machine_create_started - and started. */
HANDLE machine_create_started(struct machine *machine,
                              const EX_CREATE_PROFILE *request);

/* machine_open_process - with PROCESS_QUERY_INFORMATION. */
HANDLE machine_open_process(struct machine *machine, uint64_t pid);

/* machine_counter - index: 0 to 15 of machine_request's counters, 16 to 31 of those
 * before them ... */
ULONG machine_counter(struct machine *machine, size_t index);

/* machine_read_handle, machine_write - what is in the caller's memory. */
HANDLE machine_read_handle(struct machine *machine, uint64_t address);
void machine_write(struct machine *machine, uint64_t address, const void *bytes,
                   size_t count);

/* machine_hit - ProfileTime, in the caller's process, on processor 0. */
ULONG machine_hit(struct machine *machine, uint64_t address);

#endif
