/* SPDX-License-Identifier: MIT */
/* steps.c - random steps: which call with which faults, hits, changes. */
#include "driverp.h"

static void
draw_copy_fault(struct driver *d)
{
    if (draw_one_in(d->draw, 12)) {
        d->model->faults.copy_to_caller = true;
        host_sim_fail(d->machine.host, HOST_SIM_COPY_TO_CALLER, 1, false);
        driver_trace(d, "  the next write to the caller fails");
    }
}

static void
draw_memory_fault(struct driver *d)
{
    d->model->faults.memory = draw_one_in(d->draw, 16);
}

static void
draw_lock_fault(struct driver *d)
{
    static const NTSTATUS failures[] = {STATUS_WORKING_SET_QUOTA,
                                        STATUS_ACCESS_VIOLATION};
    const bool map = draw_one_in(d->draw, 2);

    if (!draw_one_in(d->draw, 12)) {
        return;
    }
    if (map) {
        d->model->faults.map = STATUS_INSUFFICIENT_RESOURCES;
    } else {
        d->model->faults.lock = DRAW_FROM(d->draw, failures);
        host_sim_set_failure(d->machine.host, HOST_SIM_LOCK_PAGES,
                             d->model->faults.lock);
    }
    host_sim_fail(d->machine.host, map ? HOST_SIM_MAP_PAGES : HOST_SIM_LOCK_PAGES, 1,
                  false);
    driver_trace(d, "  the next %s fails", map ? "mapping" : "lock");
}

static void
draw_interrupt_fault(struct driver *d)
{
    static const NTSTATUS failures[] = {STATUS_ACCESS_DENIED, STATUS_PRIVILEGE_NOT_HELD,
                                        STATUS_INSUFFICIENT_RESOURCES,
                                        STATUS_PROCESS_IS_TERMINATING};

    if (!draw_one_in(d->draw, 12)) {
        return;
    }
    d->model->faults.interrupt_nth = 1 + draw_below(d->draw, 4);
    d->model->faults.interrupt_failure = DRAW_FROM(d->draw, failures);
    sim_fail_start(d->machine.sim, d->model->faults.interrupt_nth,
                   d->model->faults.interrupt_failure);
    driver_trace(d, "  interrupt %u fails", d->model->faults.interrupt_nth);
}

static void
step_create(struct driver *d)
{
    struct model_create_call call = {0};

    driver_draw_create(d, &call);
    draw_copy_fault(d);
    draw_memory_fault(d);
    if (call.bucket == 0 && d->pending) {
        driver_deliver(d); /* it may halt, and what waits would come after it */
    }
    driver_create(d, &call);
}

static void
step_start(struct driver *d)
{
    const uint64_t handle = driver_draw_handle(d, DRIVER_WANT_PROFILE);

    draw_memory_fault(d);
    draw_lock_fault(d);
    draw_interrupt_fault(d);
    driver_start(d, handle);
}

static void
step_stop(struct driver *d)
{
    driver_stop(d, driver_draw_handle(d, DRIVER_WANT_PROFILE));
}

static void
step_close(struct driver *d)
{
    driver_close(d, draw_one_in(d->draw, 24) ? UINT64_MAX
                                             : driver_draw_handle(d, DRIVER_WANT_ANY));
}

static void
step_open(struct driver *d)
{
    static const ACCESS_MASK accesses[] = {0x400, 0x400, 0x440, 0x40, 0, 0x1440};
    const uint64_t odd_pids[] = {0, 1, 4444, UINT64_MAX, MACHINE_PID, MACHINE_PID};
    const bool kernel_mode = draw_one_in(d->draw, 10);
    const uint64_t address = driver_draw_pointer(d, kernel_mode, 8);
    const ACCESS_MASK access = DRAW_FROM(d->draw, accesses);
    uint64_t pid = driver_pids[1 + draw_below(d->draw, DRIVER_PIDS - 1)];

    if (draw_one_in(d->draw, 12)) {
        pid = DRAW_FROM(d->draw, odd_pids);
    }
    draw_copy_fault(d);
    driver_open(d, kernel_mode, address, access, pid);
}

static void
step_duplicate(struct driver *d)
{
    struct model_duplicate_call call;

    driver_draw_duplicate(d, &call);
    draw_copy_fault(d);
    driver_duplicate(d, &call);
}

static void
step_query_object(struct driver *d)
{
    static const ULONG classes[] = {0, 0, 0, 0, 1, 1, 3, 0xFFFFFFFF};
    static const ULONG lengths[] = {56, 56, 56, 56, 56, 55, 57, 4, 1};
    struct driver_query_object_call call;

    call.kernel_mode = draw_one_in(d->draw, 10);
    call.handle = driver_draw_handle(d, DRIVER_WANT_ANY);
    call.class = DRAW_FROM(d->draw, classes);
    call.length = DRAW_FROM(d->draw, lengths);
    call.information = driver_draw_pointer(d, call.kernel_mode, 8);
    call.returned =
        draw_one_in(d->draw, 2) ? 0 : driver_draw_pointer(d, call.kernel_mode, 4);
    if (call.returned - call.information + 4 < 64) {
        call.returned = 0; /* which of the two is written last is not told */
    }
    driver_query_object(d, &call);
}

static bool
draw_old_form(struct driver *d)
{
    return (d->model->version <= NTPROF_NT_3_50) != draw_one_in(d->draw, 16);
}

static void
step_query(struct driver *d)
{
    const bool kernel_mode = draw_one_in(d->draw, 10);
    const bool old = draw_old_form(d);
    const KPROFILE_SOURCE source = driver_draw_interval_source(d);

    draw_copy_fault(d);
    driver_query(d, kernel_mode, old, source, driver_draw_pointer(d, kernel_mode, 4));
}

static void
step_set(struct driver *d)
{
    static const uint32_t intervals[] = {
        0,       0,        0,        1,      999,   1220,       1221,
        1222,    0xFFF,    4096,     0x1001, 10000, 39063,      0x10000,
        9999999, 10000000, 10000001, 0,      0,     0x7FFFFFFF, 0xFFFFFFFF};
    const bool kernel_mode = draw_one_in(d->draw, 10);
    const bool old = draw_old_form(d);
    const KPROFILE_SOURCE source = driver_draw_interval_source(d);

    driver_set(d, kernel_mode, old, DRAW_FROM(d->draw, intervals), source);
}

static void
step_hits(struct driver *d)
{
    for (uint32_t left = 1 + draw_below(d->draw, 6); left > 0; left--) {
        struct model_hit hit = {0};

        driver_draw_hit(d, &hit);
        driver_hit(d, &hit);
    }
    if (!d->queued || d->model->halted || d->waiting > DRIVER_QUEUE - 16 ||
        draw_one_in(d->draw, 2)) {
        driver_deliver(d);
    }
}

void
driver_step(struct driver *d)
{
    static void (*const steps[])(struct driver *) = {
        step_create,   step_create,    step_create,       step_create,    step_create,
        step_create,   step_create,    step_create,       step_start,     step_start,
        step_start,    step_start,     step_start,        step_stop,      step_stop,
        step_close,    step_close,     step_hits,         step_hits,      step_hits,
        step_hits,     step_hits,      step_open,         step_duplicate, step_query,
        step_set,      step_duplicate, step_query_object, driver_change,  driver_change,
        driver_change, driver_change,
    };

    DRAW_FROM(d->draw, steps)(d);
}
