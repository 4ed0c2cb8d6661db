/* SPDX-License-Identifier: MIT */
/* calls.c - makes one call on the core and on the model. */
#include "driverp.h"

#include <inttypes.h>
#include <string.h>

/* What the core takes for it: a kernel-mode caller's pointers are not the simulated
 * caller's, but real ones. */
static uint64_t
core_pointer(struct driver *d, bool kernel_mode, uint64_t address)
{
    return kernel_mode && address != 0
               ? (uintptr_t)host_sim_at(d->machine.host, address, 1)
               : address;
}

/* Only from a call that would do well otherwise: which allocations come before which
 * other check is the core's own. */
static void
take_memory(struct driver *d, NTSTATUS expected)
{
    if (d->model->faults.memory && expected == STATUS_INSUFFICIENT_RESOURCES) {
        host_sim_fail(d->machine.host, HOST_SIM_ALLOCATE, 1, true);
        driver_trace(d, "  no memory");
    }
}

/* The handle that the core made is the model's too. */
static void
take_handle(struct driver *d, struct model_handle *made, uint64_t address)
{
    const void *const place = host_sim_at(d->machine.host, address, sizeof(uint64_t));
    uint64_t value = 0;

    if (made == NULL || d->run->difference[0] != '\0') {
        return;
    }
    if (place != NULL) {
        memcpy(&value, place, sizeof(value));
    }
    driver_trace(d, "    handle 0x%" PRIx64, value);
    for (unsigned i = 0; i < DRIVER_CLOSED; i++) {
        if (value == d->closed[i]) {
            driver_differ(d, "handle 0x%" PRIx64 " was closed before", value);
        }
    }
    if (!model_name_handle(d->model, made, value, address)) {
        driver_differ(d, "no good handle: 0x%" PRIx64, value);
    }
}

static NTSTATUS
create_on_core(struct driver *d, const struct model_create_call *c)
{
    const KPROCESSOR_MODE mode = c->kernel_mode ? KernelMode : UserMode;
    const EX_CREATE_PROFILE arguments = {
        .ProfileHandle = core_pointer(d, c->kernel_mode, c->profile_handle),
        .Process = (HANDLE)(uintptr_t)c->process,
        .ProfileBase = c->base,
        .ProfileSize = c->size,
        .BucketSize = c->bucket,
        .Buffer = c->buffer,
        .BufferSize = c->buffer_bytes,
        .ProfileSource = c->source,
        .GroupCount = c->group_count,
        .AffinityArray = core_pointer(d, c->kernel_mode, c->array),
    };

    switch (c->form) {
    case MODEL_TEN:
        return ExCreateProfileEx(&d->machine.system, mode, &arguments);
    case MODEL_NINE:
        return ExCreateProfile(&d->machine.system, mode, &arguments, c->affinity);
    default:
        return ExCreateProfile310(&d->machine.system, mode, &arguments);
    }
}

void
driver_create(struct driver *d, const struct model_create_call *c)
{
    struct model_handle *made = NULL;
    NTSTATUS expected;

    driver_trace(d,
                 "create form %d%s handle 0x%" PRIx64 " process 0x%" PRIx64
                 " base 0x%" PRIx64 " size 0x%" PRIx64 " bucket %u buffer 0x%" PRIx64
                 " bytes 0x%x source 0x%x groups %u array 0x%" PRIx64
                 " affinity 0x%" PRIx64,
                 (int)c->form, c->kernel_mode ? " kernel" : "", c->profile_handle,
                 c->process, c->base, c->size, c->bucket, c->buffer, c->buffer_bytes,
                 c->source, c->group_count, c->array, c->affinity);
    expected = model_create_profile(d->model, c, &made);
    take_memory(d, expected);
    driver_settle(d, (enum driver_call)(DRIVER_TEN + (int)c->form), expected,
                  create_on_core(d, c));
    take_handle(d, made, c->profile_handle);
}

void
driver_start(struct driver *d, uint64_t handle)
{
    NTSTATUS expected;

    driver_trace(d, "start 0x%" PRIx64, handle);
    expected = model_start(d->model, handle);
    take_memory(d, expected);
    driver_settle(
        d, DRIVER_START, expected,
        ExStartProfile(&d->machine.system, UserMode, (HANDLE)(uintptr_t)handle));
}

void
driver_stop(struct driver *d, uint64_t handle)
{
    driver_trace(d, "stop 0x%" PRIx64, handle);
    driver_settle(
        d, DRIVER_STOP, model_stop(d->model, handle),
        ExStopProfile(&d->machine.system, UserMode, (HANDLE)(uintptr_t)handle));
}

static void
remember_closed(struct driver *d, uint64_t handle)
{
    d->closed[d->closed_count++ % DRIVER_CLOSED] = model_handle_value(handle);
}

void
driver_close(struct driver *d, uint64_t handle)
{
    driver_trace(d, "close 0x%" PRIx64, handle);
    if (model_find_handle(d->model, handle) != NULL) {
        remember_closed(d, handle);
    }
    driver_settle(d, DRIVER_CLOSE, model_close(d->model, handle),
                  ExClose(&d->machine.system, (HANDLE)(uintptr_t)handle));
}

void
driver_open(struct driver *d, bool kernel_mode, uint64_t address, ACCESS_MASK access,
            uint64_t pid)
{
    struct model_handle *made = NULL;
    NTSTATUS expected;

    driver_trace(d, "open%s pid %" PRIu64 " handle 0x%" PRIx64 " access 0x%x",
                 kernel_mode ? " kernel" : "", pid, address, access);
    expected = model_open_process(d->model, kernel_mode, address, access, pid, &made);
    driver_settle(d, DRIVER_OPEN, expected,
                  ExOpenProcess(&d->machine.system, kernel_mode ? KernelMode : UserMode,
                                core_pointer(d, kernel_mode, address), access, pid));
    take_handle(d, made, address);
}

static NTSTATUS
duplicate_on_core(struct driver *d, const struct model_duplicate_call *c)
{
    const EX_DUPLICATE_OBJECT arguments = {
        .SourceProcessHandle = (HANDLE)(uintptr_t)c->source_process,
        .SourceHandle = (HANDLE)(uintptr_t)c->source,
        .TargetProcessHandle = (HANDLE)(uintptr_t)c->target_process,
        .TargetHandle = core_pointer(d, c->kernel_mode, c->target_handle),
        .DesiredAccess = c->access,
        .HandleAttributes = c->attributes,
        .Options = c->options,
    };

    return ExDuplicateObject(&d->machine.system, c->kernel_mode ? KernelMode : UserMode,
                             &arguments);
}

void
driver_duplicate(struct driver *d, const struct model_duplicate_call *c)
{
    const bool open = model_find_handle(d->model, c->source) != NULL;
    struct model_handle *made = NULL;
    NTSTATUS expected;

    driver_trace(d,
                 "duplicate%s from 0x%" PRIx64 " 0x%" PRIx64 " to 0x%" PRIx64
                 " handle 0x%" PRIx64 " access 0x%x attributes 0x%x options 0x%x",
                 c->kernel_mode ? " kernel" : "", c->source_process, c->source,
                 c->target_process, c->target_handle, c->access, c->attributes,
                 c->options);
    expected = model_duplicate(d->model, c, &made);
    driver_settle(d, DRIVER_DUPLICATE, expected, duplicate_on_core(d, c));
    if (open && model_find_handle(d->model, c->source) == NULL) {
        remember_closed(d, c->source);
    }
    take_handle(d, made, c->target_handle);
}

void
driver_query_object(struct driver *d, const struct driver_query_object_call *c)
{
    NTSTATUS expected;

    driver_trace(d,
                 "query object%s 0x%" PRIx64 " class %u information 0x%" PRIx64
                 " length %u return length 0x%" PRIx64,
                 c->kernel_mode ? " kernel" : "", c->handle, c->class, c->information,
                 c->length, c->returned);
    expected = model_query_object(d->model, c->kernel_mode, c->handle, c->class,
                                  c->information, c->length, c->returned);
    driver_settle(
        d, DRIVER_QUERY_OBJECT, expected,
        ExQueryObject(&d->machine.system, c->kernel_mode ? KernelMode : UserMode,
                      (HANDLE)(uintptr_t)c->handle, c->class,
                      core_pointer(d, c->kernel_mode, c->information), c->length,
                      core_pointer(d, c->kernel_mode, c->returned)));
}

void
driver_query(struct driver *d, bool kernel_mode, bool old, KPROFILE_SOURCE source,
             uint64_t address)
{
    const KPROCESSOR_MODE mode = kernel_mode ? KernelMode : UserMode;
    const uint64_t pointer = core_pointer(d, kernel_mode, address);
    NTSTATUS expected;
    NTSTATUS got;

    driver_trace(d, "query%s%s source 0x%x interval 0x%" PRIx64,
                 kernel_mode ? " kernel" : "", old ? " old" : "", source, address);
    expected = model_query_interval(d->model, kernel_mode, old, source, address);
    got = old ? ExQueryIntervalProfile310(&d->machine.system, mode, pointer)
              : ExQueryIntervalProfile(&d->machine.system, mode, source, pointer);
    driver_settle(d, old ? DRIVER_QUERY_OLD : DRIVER_QUERY, expected, got);
}

void
driver_set(struct driver *d, bool kernel_mode, bool old, uint32_t interval,
           KPROFILE_SOURCE source)
{
    const KPROCESSOR_MODE mode = kernel_mode ? KernelMode : UserMode;
    NTSTATUS expected;
    NTSTATUS got;

    driver_trace(d, "set%s%s source 0x%x interval %u", kernel_mode ? " kernel" : "",
                 old ? " old" : "", source, interval);
    expected = model_set_interval(d->model, kernel_mode, old, interval, source);
    got = old ? ExSetIntervalProfile310(&d->machine.system, mode, interval)
              : ExSetIntervalProfile(&d->machine.system, mode, interval, source);
    driver_settle(d, old ? DRIVER_SET_OLD : DRIVER_SET, expected, got);
}

void
driver_hit(struct driver *d, const struct model_hit *hit)
{
    struct sim *const sim = d->machine.sim;
    uint32_t expected;
    uint32_t got;

    driver_trace(d,
                 "hit source 0x%x processor %u pid %" PRIu64 " address 0x%" PRIx64
                 " selector 0x%x offset 0x%" PRIx64,
                 hit->source, hit->processor, hit->pid, hit->address, hit->selector,
                 hit->offset);
    expected = model_take_hit(d->model, hit);
    got = hit->selector != 0
              ? sim_hit_segment(sim, hit->source, hit->processor, hit->pid,
                                hit->address, hit->selector, hit->offset)
              : sim_hit(sim, hit->source, hit->processor, hit->pid, hit->address);
    d->run->tally->hits++;
    d->waiting++;
    d->pending = true;
    if (!d->queued) {
        if (got != expected) {
            driver_differ(d, "hit: expected %u counters, got %u", expected, got);
        }
    }
}
