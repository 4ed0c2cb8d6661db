/* SPDX-License-Identifier: MIT */
/* machine.c - see machine.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guarded.h"
#include "machine.h"

#include <string.h>

/* As api does it. */
static void
notify(void *context, const ntprof_notification *notification)
{
    struct machine *const machine = context;

    if (notification->kind == HAL_UNWATCHED_EXEC) {
        ExDetachProfiles(&machine->system, notification->pid);
        return;
    }
    ExBeforeNotification(&machine->system, notification);
    if (machine->notify != NULL) {
        machine->notify(machine, notification);
    }
    ExAfterNotification(&machine->system, notification);
}

void
machine_open(struct machine *machine, const struct machine_options *given)
{
    struct machine_options options =
        given != NULL ? *given : (struct machine_options){0};
    HOST host;
    HAL hal;

    memset(machine, 0, sizeof(*machine));
    options.sim.notify = notify;
    options.sim.notify_context = machine;
    machine->host = host_sim_create(&options.host);
    assert_non_null(machine->host);
    machine->sim = sim_create(&options.sim, &machine->system.Ke);
    assert_non_null(machine->sim);
    assert_non_null(
        host_sim_map(machine->host, MACHINE_SCRATCH, MACHINE_SCRATCH_BYTES));
    assert_non_null(host_sim_map(machine->host, MACHINE_BUFFER, MACHINE_BUFFER_BYTES));
    host_sim_add_process(machine->host, MACHINE_OTHER_PID);
    host = host_sim_host(machine->host);
    hal = sim_hal(machine->sim);
    assert_int_equal(ExInitializeSystem(&machine->system, &host, &hal, &options.ex),
                     STATUS_SUCCESS);
}

void
machine_check_undone(struct machine *machine)
{
    const struct host_sim_balance balance = host_sim_balance(machine->host);

    assert_int_equal(balance.locks, 0);
    assert_int_equal(balance.mappings, 0);
    assert_int_equal(sim_started(machine->sim), 0);
    assert_int_equal(machine->system.StartedCount, 0);
}

void
machine_close(struct machine *machine)
{
    ExFinishSystem(&machine->system);
    machine_give_up(machine);
    guarded_finish();
}

void
machine_give_up(struct machine *machine)
{
    struct host_sim_balance balance;

    machine_check_undone(machine);
    balance = host_sim_balance(machine->host);
    assert_int_equal(balance.allocations, 0);
    assert_int_equal(balance.bytes, 0);
    assert_int_equal(balance.open_processes, 0);
    assert_true(host_sim_guards_intact(machine->host));
    assert_null(host_sim_complaint(machine->host));
    assert_null(sim_complaint(machine->sim));
    sim_delete(machine->sim);
    host_sim_delete(machine->host);
}

EX_CREATE_PROFILE
machine_request(void)
{
    return (EX_CREATE_PROFILE){
        .ProfileHandle = MACHINE_HANDLE,
        .Process = NtCurrentProcess(),
        .ProfileBase = MACHINE_CODE,
        .ProfileSize = 256,
        .BucketSize = 4,
        .Buffer = MACHINE_COUNTERS,
        .BufferSize = MACHINE_COUNTER_BYTES,
        .ProfileSource = ProfileTime,
    };
}

HANDLE
machine_create(struct machine *machine, const EX_CREATE_PROFILE *request)
{
    assert_int_equal(ExCreateProfileEx(&machine->system, UserMode, request),
                     STATUS_SUCCESS);
    return machine_read_handle(machine, request->ProfileHandle);
}

HANDLE
machine_create_started(struct machine *machine, const EX_CREATE_PROFILE *request)
{
    const HANDLE handle = machine_create(machine, request);

    assert_int_equal(ExStartProfile(&machine->system, UserMode, handle),
                     STATUS_SUCCESS);
    return handle;
}

HANDLE
machine_open_process(struct machine *machine, uint64_t pid)
{
    assert_int_equal(ExOpenProcess(&machine->system, UserMode, MACHINE_HANDLE,
                                   PROCESS_QUERY_INFORMATION, pid),
                     STATUS_SUCCESS);
    return machine_read_handle(machine, MACHINE_HANDLE);
}

ULONG
machine_counter(struct machine *machine, size_t index)
{
    const uint64_t counters =
        MACHINE_COUNTERS - index / MACHINE_COUNTER_COUNT * MACHINE_COUNTER_BYTES;
    const ULONG *const counter = host_sim_at(
        machine->host, counters + index % MACHINE_COUNTER_COUNT * sizeof(ULONG),
        sizeof(ULONG));

    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

HANDLE
machine_read_handle(struct machine *machine, uint64_t address)
{
    HANDLE handle;

    memcpy(&handle, host_sim_at(machine->host, address, sizeof(handle)),
           sizeof(handle));
    return handle;
}

void
machine_write(struct machine *machine, uint64_t address, const void *bytes,
              size_t count)
{
    memcpy(host_sim_at(machine->host, address, count), bytes, count);
}

ULONG
machine_hit(struct machine *machine, uint64_t address)
{
    return sim_hit(machine->sim, ProfileTime, 0, MACHINE_PID, address);
}
