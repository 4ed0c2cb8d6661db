/* SPDX-License-Identifier: MIT */
/* call.c - see call.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "call.h"
#include "step.h"

#include <stdio.h>
#include <string.h>

/* ---- Creating ---- */

static void
gather_create(struct world *world, struct call_arguments *arguments)
{
    arguments->create = world_request(world, false);
    arguments->address = arguments->create.ProfileHandle;
    arguments->word = world_word(world);
}

static NTSTATUS
make_create(struct world *world, struct call_arguments *arguments)
{
    return world_create(world, world_mode(world), &arguments->create, false);
}

static size_t
write_handle(const struct call_arguments *arguments, struct world_range ranges[2])
{
    ranges[0] = (struct world_range){arguments->address, arguments->word};
    return 1;
}

/* The handle that a call has written. */
static HANDLE
read_handle(struct world *world, const struct call_arguments *arguments)
{
    const uint64_t word = world_word(world);
    const void *const memory = world_mode(world) == KernelMode
                                   ? (const void *)(uintptr_t)arguments->address
                                   : world_memory(world, arguments->address, word);
    HANDLE handle = NULL;

    if (memory == NULL) {
        world_fail(world, "the handle is not in the caller's memory");
        return NULL;
    }
    handle = (HANDLE)(uintptr_t)world_read_word(world, memory);
    if (handle == NULL || (LONG_PTR)handle < 0) {
        world_fail(world, "%p is no handle", handle);
    }
    return handle;
}

static void
check_created(struct world *world, const struct call_arguments *arguments)
{
    const struct world_balance now = world_balance(world);
    const HANDLE handle = read_handle(world, arguments);

    world_set_handle(world, "made", handle);
    world_set_handle(world, "profile", handle);
    if (now.profiles != world->before.profiles + 1 ||
        now.started != world->before.started || now.locks != world->before.locks) {
        world_fail(world, "not one more profile, or not a stopped one");
    }
    step_run(world, "access=0x1");
}

/* ---- Starting, stopping, closing ---- */

static void
gather_target(struct world *world, struct call_arguments *arguments)
{
    arguments->target = (HANDLE)(uintptr_t)world_number(world, "target");
}

static NTSTATUS
make_start(struct world *world, struct call_arguments *arguments)
{
    return handles_start(&world->table, world_mode(world), arguments->target);
}

static NTSTATUS
make_stop(struct world *world, struct call_arguments *arguments)
{
    return handles_stop(&world->table, world_mode(world), arguments->target);
}

static NTSTATUS
make_close(struct world *world, struct call_arguments *arguments)
{
    return handles_close(&world->table, arguments->target);
}

static size_t
write_nothing(const struct call_arguments *arguments, struct world_range ranges[2])
{
    (void)arguments;
    (void)ranges;
    return 0;
}

static void
check_started(struct world *world, const struct call_arguments *arguments)
{
    const struct world_balance now = world_balance(world);

    (void)arguments;
    if (now.started != world->before.started + 1 ||
        now.locks != world->before.locks + 1 ||
        now.mappings != world->before.mappings + 1 ||
        now.objects != world->before.objects) {
        world_fail(world, "not one more started, locked and mapped");
    }
}

static void
check_stopped(struct world *world, const struct call_arguments *arguments)
{
    const struct world_balance now = world_balance(world);

    (void)arguments;
    if (now.started != world->before.started - 1 ||
        now.locks != world->before.locks - 1 ||
        now.mappings != world->before.mappings - 1 ||
        now.objects != world->before.objects) {
        world_fail(world, "not one less started, locked and mapped");
    }
}

/* ---- Processes ---- */

static void
gather_open_process(struct world *world, struct call_arguments *arguments)
{
    arguments->address = world_number(world, "handle");
    arguments->word = world_word(world);
    arguments->access = (ACCESS_MASK)world_number(world, "access");
    arguments->number = world_number(world, "pid");
}

static NTSTATUS
make_open_process(struct world *world, struct call_arguments *arguments)
{
    return ExOpenProcess(&world->machine.system, world_mode(world), arguments->address,
                         arguments->access, arguments->number);
}

static void
check_handle_made(struct world *world, const struct call_arguments *arguments)
{
    world_set_handle(world, "made", read_handle(world, arguments));
}

/* ---- Intervals ---- */

static bool
new_form(struct world *world)
{
    return world_is(world, "form", "any") ? world->test->form != WORLD_SEVEN
                                          : world_is(world, "form", "new");
}

static void
gather_query_interval(struct world *world, struct call_arguments *arguments)
{
    arguments->source = (KPROFILE_SOURCE)world_number(world, "source");
    arguments->address = world_number(world, "interval");
}

static NTSTATUS
make_query_interval(struct world *world, struct call_arguments *arguments)
{
    KSYSTEM *const system = &world->machine.system;

    return new_form(world)
               ? ExQueryIntervalProfile(system, world_mode(world), arguments->source,
                                        arguments->address)
               : ExQueryIntervalProfile310(system, world_mode(world),
                                           arguments->address);
}

static size_t
write_interval(const struct call_arguments *arguments, struct world_range ranges[2])
{
    ranges[0] = (struct world_range){arguments->address, sizeof(ULONG)};
    return 1;
}

static void
gather_set_interval(struct world *world, struct call_arguments *arguments)
{
    arguments->source = (KPROFILE_SOURCE)world_number(world, "source");
    arguments->number = world_number(world, "value");
}

static NTSTATUS
make_set_interval(struct world *world, struct call_arguments *arguments)
{
    KSYSTEM *const system = &world->machine.system;
    const ULONG interval = (ULONG)arguments->number;

    return new_form(world)
               ? ExSetIntervalProfile(system, world_mode(world), interval,
                                      arguments->source)
               : ExSetIntervalProfile310(system, world_mode(world), interval);
}

/* ---- Handles ---- */

static void
gather_duplicate(struct world *world, struct call_arguments *arguments)
{
    arguments->address = world_number(world, "handle");
    arguments->word = world_word(world);
    arguments->duplicate = (EX_DUPLICATE_OBJECT){
        .SourceProcessHandle = (HANDLE)(uintptr_t)world_number(world, "from"),
        .SourceHandle = (HANDLE)(uintptr_t)world_number(world, "target"),
        .TargetProcessHandle = (HANDLE)(uintptr_t)world_number(world, "to"),
        .TargetHandle = arguments->address,
        .DesiredAccess = (ACCESS_MASK)world_number(world, "access"),
        .HandleAttributes = (ULONG)world_number(world, "attributes"),
        .Options = (ULONG)world_number(world, "options"),
    };
}

static NTSTATUS
make_duplicate(struct world *world, struct call_arguments *arguments)
{
    return ExDuplicateObject(&world->machine.system, world_mode(world),
                             &arguments->duplicate);
}

static void
gather_query_object(struct world *world, struct call_arguments *arguments)
{
    gather_target(world, arguments);
    arguments->number = world_number(world, "class");
    arguments->address = world_number(world, "info");
    arguments->length = world_number(world, "length");
    arguments->return_length = world_number(world, "returned");
}

static NTSTATUS
make_query_object(struct world *world, struct call_arguments *arguments)
{
    return ExQueryObject(&world->machine.system, world_mode(world), arguments->target,
                         (OBJECT_INFORMATION_CLASS)arguments->number,
                         arguments->address, (ULONG)arguments->length,
                         arguments->return_length);
}

static size_t
write_information(const struct call_arguments *arguments, struct world_range ranges[2])
{
    ranges[0] = (struct world_range){arguments->return_length, sizeof(ULONG)};
    ranges[1] = (struct world_range){arguments->address, arguments->length};
    return 2;
}

/* ---- Hits ---- */

static void
gather_hit(struct world *world, struct call_arguments *arguments)
{
    arguments->address = world_number(world, "at");
    arguments->source = (KPROFILE_SOURCE)world_number(world, "of");
    arguments->processor = (ULONG)world_number(world, "cpu");
    arguments->number = world_number(world, "pid");
    arguments->selector = (ULONG)world_number(world, "selector");
    arguments->offset = world_number(world, "offset");
}

static NTSTATUS
make_hit(struct world *world, struct call_arguments *arguments)
{
    KE_STATISTICS after;

    KeQueryStatistics(&world->machine.system.Ke, arguments->source,
                      &arguments->statistics);
    arguments->counted = sim_hit_segment(
        world->machine.sim, arguments->source, arguments->processor, arguments->number,
        arguments->address, arguments->selector, arguments->offset);
    KeQueryStatistics(&world->machine.system.Ke, arguments->source, &after);
    arguments->statistics.Taken = after.Taken - arguments->statistics.Taken;
    arguments->statistics.Counted = after.Counted - arguments->statistics.Counted;
    arguments->statistics.Outside = after.Outside - arguments->statistics.Outside;
    return STATUS_SUCCESS;
}

/* COUNTED, COUNTED*2 ..., OUTSIDE, or NOT-MADE: no interrupt there. */
static const char *
hit_outcome(const struct call_arguments *arguments)
{
    static const char *const counted[] = {"OUTSIDE", "COUNTED", "COUNTED*2"};
    const KE_STATISTICS *const statistics = &arguments->statistics;

    if (statistics->Taken == 0 && arguments->counted == 0) {
        return "NOT-MADE";
    }
    if (statistics->Taken != 1 || statistics->Counted != (arguments->counted != 0) ||
        statistics->Outside != (arguments->counted == 0) || arguments->counted > 2) {
        return "STATISTICS-WRONG";
    }
    return counted[arguments->counted];
}

static const struct call calls[] = {
    {"create", CALL_REQUEST | CALL_EVERY_FORM, "", gather_create, make_create,
     write_handle, check_created},
    {"start", CALL_REQUEST | CALL_PREPARES, "target", gather_target, make_start,
     write_nothing, check_started},
    {"stop", CALL_REQUEST | CALL_PREPARES, "target", gather_target, make_stop,
     write_nothing, check_stopped},
    {"close", CALL_REQUEST | CALL_PREPARES, "target", gather_target, make_close,
     write_nothing, NULL},
    {"open_process", 0, "handle access pid", gather_open_process, make_open_process,
     write_handle, check_handle_made},
    {"query_interval", 0, "source interval form", gather_query_interval,
     make_query_interval, write_interval, NULL},
    {"set_interval", 0, "source value form limits", gather_set_interval,
     make_set_interval, write_nothing, NULL},
    {"duplicate", CALL_REQUEST | CALL_PREPARES,
     "from target to access attributes options", gather_duplicate, make_duplicate,
     write_handle, check_handle_made},
    {"query_object", CALL_REQUEST | CALL_PREPARES, "target class info length returned",
     gather_query_object, make_query_object, write_information, NULL},
    {"hit", CALL_REQUEST | CALL_PREPARES | CALL_HIT, "at of cpu pid selector offset",
     gather_hit, make_hit, write_nothing, NULL},
};

const struct call *
call_find(const char *name)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(calls[i].name, name) == 0) {
            return &calls[i];
        }
    }
    return NULL;
}

const char *
call_outcome(const struct call *call, const struct call_arguments *arguments,
             NTSTATUS status)
{
    return (call->flags & CALL_HIT) != 0 ? hit_outcome(arguments)
                                         : step_status_name(status);
}

/* ---- Failures ---- */

const char *const call_kind_names[CALL_KINDS] = {
    [HOST_SIM_ALLOCATE] = "Allocate",
    [HOST_SIM_PROBE_FOR_WRITE] = "ProbeForWrite",
    [HOST_SIM_COPY_FROM_CALLER] = "CopyFromCaller",
    [HOST_SIM_COPY_TO_CALLER] = "CopyToCaller",
    [HOST_SIM_LOCK_PAGES] = "LockPages",
    [HOST_SIM_MAP_PAGES] = "MapPages",
    [HOST_SIM_OPEN_PROCESS] = "OpenProcess",
    [HOST_SIM_CHECK_PROCESS_ACCESS] = "CheckProcessAccess",
    [HOST_SIM_CHECK_PRIVILEGE] = "CheckSystemProfilePrivilege",
    [HOST_SIM_CHECK_RESTRICTED] = "CheckRestrictedCaller",
    [CALL_HAL_START] = "StartProfileInterrupt",
};

/*
 * All that a call may come out as. What is not here must not fail, or not be asked for:
 * stopping and closing need nothing that can fail.
 */
static const struct call_failure failures[] = {
    {"create", HOST_SIM_ALLOCATE, 0, STATUS_INSUFFICIENT_RESOURCES, "create-no-memory"},
    {"create", HOST_SIM_OPEN_PROCESS, 0, STATUS_INSUFFICIENT_RESOURCES,
     "create-no-memory"},
    {"create", HOST_SIM_PROBE_FOR_WRITE, 0, STATUS_ACCESS_VIOLATION,
     "create-handle-pointer create-buffer-pointer"},
    {"create", HOST_SIM_COPY_FROM_CALLER, 0, STATUS_ACCESS_VIOLATION,
     "create-affinity-pointer"},
    {"create", HOST_SIM_COPY_TO_CALLER, 0, STATUS_ACCESS_VIOLATION,
     "create-handle-fault"},
    {"create", HOST_SIM_CHECK_PRIVILEGE, 0, STATUS_INSUFFICIENT_RESOURCES,
     "create-rights-unknown"},
    {"create", HOST_SIM_CHECK_RESTRICTED, 0, STATUS_INSUFFICIENT_RESOURCES,
     "create-rights-unknown"},
    {"set_interval", HOST_SIM_CHECK_PRIVILEGE, 0, STATUS_INSUFFICIENT_RESOURCES,
     "set-privilege-unknown"},
    {"start", HOST_SIM_ALLOCATE, 0, STATUS_INSUFFICIENT_RESOURCES, "start-no-memory"},
    {"start", HOST_SIM_LOCK_PAGES, STATUS_WORKING_SET_QUOTA, STATUS_WORKING_SET_QUOTA,
     "start-lock"},
    {"start", HOST_SIM_LOCK_PAGES, STATUS_ACCESS_VIOLATION, STATUS_ACCESS_VIOLATION,
     "start-lock"},
    {"start", HOST_SIM_MAP_PAGES, 0, STATUS_INSUFFICIENT_RESOURCES, "start-map"},
    {"start", CALL_HAL_START, STATUS_ACCESS_DENIED, STATUS_ACCESS_DENIED,
     "start-hal-fails"},
    {"start", CALL_HAL_START, STATUS_PRIVILEGE_NOT_HELD, STATUS_PRIVILEGE_NOT_HELD,
     "start-hal-fails"},
    {"start", CALL_HAL_START, STATUS_INSUFFICIENT_RESOURCES,
     STATUS_INSUFFICIENT_RESOURCES, "start-hal-fails"},
    {"start", CALL_HAL_START, STATUS_PROCESS_IS_TERMINATING,
     STATUS_PROCESS_IS_TERMINATING, "start-hal-fails"},
    {"start", CALL_HAL_START, STATUS_NOT_SUPPORTED, STATUS_NOT_SUPPORTED,
     "start-hal-fails start-fails-clean"},
    {"open_process", HOST_SIM_ALLOCATE, 0, STATUS_INSUFFICIENT_RESOURCES,
     "handle-process"},
    {"open_process", HOST_SIM_OPEN_PROCESS, 0, STATUS_INSUFFICIENT_RESOURCES,
     "handle-process"},
    {"open_process", HOST_SIM_CHECK_PROCESS_ACCESS, 0, STATUS_ACCESS_DENIED,
     "handle-process-denied"},
    {"open_process", HOST_SIM_PROBE_FOR_WRITE, 0, STATUS_ACCESS_VIOLATION,
     "handle-process-pointers"},
    {"open_process", HOST_SIM_COPY_TO_CALLER, 0, STATUS_ACCESS_VIOLATION,
     "handle-process-pointers"},
    {"query_interval", HOST_SIM_PROBE_FOR_WRITE, 0, STATUS_ACCESS_VIOLATION,
     "query-pointer"},
    {"query_interval", HOST_SIM_COPY_TO_CALLER, 0, STATUS_SUCCESS, "query-late-fault"},
    {"duplicate", HOST_SIM_ALLOCATE, 0, STATUS_INSUFFICIENT_RESOURCES,
     "duplicate-handle"},
    {"duplicate", HOST_SIM_OPEN_PROCESS, 0, STATUS_INSUFFICIENT_RESOURCES,
     "duplicate-process-handle"},
    {"duplicate", HOST_SIM_PROBE_FOR_WRITE, 0, STATUS_ACCESS_VIOLATION,
     "duplicate-pointer"},
    {"duplicate", HOST_SIM_COPY_TO_CALLER, 0, STATUS_ACCESS_VIOLATION,
     "duplicate-pointer"},
    {"query_object", HOST_SIM_ALLOCATE, 0, STATUS_INSUFFICIENT_RESOURCES,
     "query-object-handle"},
    {"query_object", HOST_SIM_OPEN_PROCESS, 0, STATUS_INSUFFICIENT_RESOURCES,
     "query-object-handle"},
    {"query_object", HOST_SIM_PROBE_FOR_WRITE, 0, STATUS_ACCESS_VIOLATION,
     "query-object-pointers"},
    {"query_object", HOST_SIM_COPY_TO_CALLER, 0, STATUS_ACCESS_VIOLATION,
     "query-object-pointers"},
};

const struct call_failure *
call_failure_at(size_t index)
{
    return index < sizeof(failures) / sizeof(failures[0]) ? &failures[index] : NULL;
}

const struct call_failure *
call_failure(const struct call *call, int kind, size_t index)
{
    for (size_t i = 0; call_failure_at(i) != NULL; i++) {
        if (strcmp(failures[i].call, call->name) == 0 && failures[i].kind == kind &&
            index-- == 0) {
            return &failures[i];
        }
    }
    return NULL;
}
