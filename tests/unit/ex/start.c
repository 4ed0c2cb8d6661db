/* SPDX-License-Identifier: MIT */
/* NtStartProfile, NtStopProfile and the last close. nt.md 3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ex/exp.h"
#include "machine.h"

#include <stdlib.h>
#include <string.h>

static struct machine machine;

static int
setup(void **state)
{
    machine_open(&machine, NULL);
    *state = &machine;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    machine_close(&machine);
    return 0;
}

static NTSTATUS
start(HANDLE handle)
{
    return ExStartProfile(&machine.system, UserMode, handle);
}

static NTSTATUS
stop(HANDLE handle)
{
    return ExStopProfile(&machine.system, UserMode, handle);
}

/* rules: start-handle, stop-handle, handle-pseudo-type */
static void
start_stop__bad_handles__object_manager_status(void **state)
{
    const HANDLE process = machine_open_process(&machine, MACHINE_OTHER_PID);
    const EX_CREATE_PROFILE request = machine_request();
    const HANDLE closed = machine_create(&machine, &request);
    void *body;
    HANDLE powerless;

    (void)state;
    assert_int_equal(ObReferenceObjectByHandle(&machine.system.Ob, closed,
                                               &machine.system.ProfileType, UserMode, 1,
                                               &body),
                     STATUS_SUCCESS);
    assert_int_equal(ObOpenHandle(&machine.system.Ob, body, 0x000F0000, &powerless),
                     STATUS_SUCCESS);
    ObDereferenceObject(&machine.system.Ob, body);
    assert_int_equal(ExClose(&machine.system, closed), STATUS_SUCCESS);
    assert_int_equal(start(NULL), STATUS_INVALID_HANDLE);
    assert_int_equal(stop(NULL), STATUS_INVALID_HANDLE);
    assert_int_equal(start(NtCurrentProcess()), STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(start(closed), STATUS_INVALID_HANDLE);
    assert_int_equal(stop(closed), STATUS_INVALID_HANDLE);
    assert_int_equal(start(process), STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(stop(process), STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(start(powerless), STATUS_ACCESS_DENIED);
    assert_int_equal(stop(powerless), STATUS_ACCESS_DENIED);
    machine_check_undone(&machine);
}

/* rules: start-twice, stop-not-started */
static void
start_stop__out_of_turn__not_stopped_not_started(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    const HANDLE handle = machine_create(&machine, &request);

    (void)state;
    assert_int_equal(stop(handle), STATUS_PROFILING_NOT_STARTED);
    assert_int_equal(start(handle), STATUS_SUCCESS);
    assert_int_equal(start(handle), STATUS_PROFILING_NOT_STOPPED);
    assert_int_equal(machine.system.StartedCount, 1);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 1);
    assert_int_equal(stop(handle), STATUS_SUCCESS);
    assert_int_equal(stop(handle), STATUS_PROFILING_NOT_STARTED);
    machine_check_undone(&machine);
}

/* rules: start-again, stop-keeps-object, start-live */
static void
start_stop__many_times__counts_go_on(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    const HANDLE handle = machine_create(&machine, &request);
    struct host_sim_balance first = {0};

    (void)state;
    for (ULONG i = 1; i <= 100; i++) {
        assert_int_equal(start(handle), STATUS_SUCCESS);
        assert_int_equal(machine_hit(&machine, MACHINE_CODE + 17), 1);
        assert_int_equal(machine_counter(&machine, 1), i); /* live, before the stop */
        assert_int_equal(stop(handle), STATUS_SUCCESS);
        assert_int_equal(machine_hit(&machine, MACHINE_CODE + 17), 0);
        assert_int_equal(machine_counter(&machine, 1), i);
        machine_check_undone(&machine);
        if (i == 1) {
            first = host_sim_balance(machine.host);
        }
    }
    assert_int_equal(host_sim_balance(machine.host).bytes, first.bytes);
}

/* Start adds to what is there; only the counters of the region change. */
/* rule: start-adds */
static void
start__buffer_with_contents__only_added_to(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    /* Its own and as many before them. */
    ULONG *const counters =
        host_sim_at(machine.host, MACHINE_COUNTERS - MACHINE_COUNTER_BYTES,
                    2 * MACHINE_COUNTER_BYTES);
    ULONG expected[2 * MACHINE_COUNTER_COUNT];
    HANDLE handle;

    (void)state;
    for (ULONG i = 0; i < 2 * MACHINE_COUNTER_COUNT; i++) {
        expected[i] = counters[i] = 1000 + i;
    }
    handle = machine_create_started(&machine, &request);
    for (ULONG64 i = 0; i < 256; i++) {
        assert_int_equal(machine_hit(&machine, MACHINE_CODE + i), 1);
        expected[MACHINE_COUNTER_COUNT + i / 16]++;
    }
    assert_int_equal(machine_hit(&machine, MACHINE_CODE - 1), 0);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE + 256), 0);
    assert_int_equal(stop(handle), STATUS_SUCCESS);
    assert_memory_equal(counters, expected, sizeof(expected));
}

/* rule: start-kernel-profile */
static void
start__kernel_object__type_size_and_mdl_behind(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    const HANDLE handle = machine_create_started(&machine, &request);
    void *body;
    const EPROFILE *profile;
    const MDL *mdl;

    (void)state;
    assert_int_equal(ObReferenceObjectByHandle(&machine.system.Ob, handle,
                                               &machine.system.ProfileType, UserMode, 1,
                                               &body),
                     STATUS_SUCCESS);
    profile = body;
    assert_non_null(profile->ProfileObject);
    assert_int_equal(profile->ProfileObject->Type, 0x17);
    assert_int_equal(profile->ProfileObject->Size, sizeof(KPROFILE));
    assert_ptr_equal(profile->ProfileObject->Buffer, profile->LockedBuffer);
    mdl = KeProfileMdl(profile->ProfileObject);
    assert_ptr_equal((const char *)mdl,
                     (const char *)profile->ProfileObject + sizeof(KPROFILE));
    assert_true(mdl->StartVa == MACHINE_COUNTERS);
    assert_ptr_equal(mdl->MappedSystemVa, profile->LockedBuffer);
    assert_ptr_equal(profile->LockedBuffer, host_sim_at(machine.host, MACHINE_COUNTERS,
                                                        MACHINE_COUNTER_BYTES));
    assert_int_equal(stop(handle), STATUS_SUCCESS);
    assert_null(profile->ProfileObject);
    assert_null(profile->LockedBuffer);
    ObDereferenceObject(&machine.system.Ob, body);
}

/* The default locks what the counters need, not the whole buffer (design, versions). */
/* rule: start-lock-needed */
static void
start__large_buffer__only_needed_counters_locked(void **state)
{
    static const struct {
        ULONG64 size;
        ULONG64 locked;
    } rows[] = {{1, 4}, {16, 4}, {17, 8}, {256, 64}, {257, 68}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        EX_CREATE_PROFILE request = machine_request();
        HANDLE handle;

        request.ProfileSize = rows[i].size;
        request.BufferSize = 0x10000;
        request.Buffer = MACHINE_BUFFER + MACHINE_BUFFER_BYTES - request.BufferSize;
        handle = machine_create_started(&machine, &request);
        assert_int_equal(host_sim_locked_bytes(machine.host), rows[i].locked);
        assert_int_equal(ExClose(&machine.system, handle), STATUS_SUCCESS);
    }
}

/* Whatever the caller does with the memory between create and start. */
/* rules: start-lock, start-fails-clean */
static void
start__buffer_gone_since_create__violation_and_again_later(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    const HANDLE handle = machine_create(&machine, &request);

    (void)state;
    host_sim_protect(machine.host, MACHINE_COUNTERS, 1, HOST_SIM_READ_ONLY);
    assert_int_equal(start(handle), STATUS_ACCESS_VIOLATION);
    machine_check_undone(&machine);
    host_sim_protect(machine.host, MACHINE_COUNTERS, 1, HOST_SIM_ABSENT);
    assert_int_equal(start(handle), STATUS_ACCESS_VIOLATION);
    machine_check_undone(&machine);
    assert_int_equal(stop(handle), STATUS_PROFILING_NOT_STARTED);
    host_sim_protect(machine.host, MACHINE_COUNTERS, 1, HOST_SIM_WRITABLE);
    assert_int_equal(start(handle), STATUS_SUCCESS);
    /* Locked pages stay whatever the caller does. */
    host_sim_unmap(machine.host, MACHINE_BUFFER);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 1);
    assert_int_equal(stop(handle), STATUS_SUCCESS);
}

static HOST_TABLE lossy_table;

/* A host whose caller's memory takes all but three counts of each buffer. */
static void
lossy_unmap(void *context, MDL *mdl)
{
    host_sim_host(context).Table->UnmapPages(context, mdl);
    mdl->Unwritten = 3;
}

/* rules: stop-unwritten, hit-statistics */
static void
stop__counts_that_memory_did_not_take__in_the_statistics_of_the_source(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    const HANDLE handle = machine_create_started(&machine, &request);
    KE_STATISTICS statistics;

    (void)state;
    lossy_table = *machine.system.Host.Table;
    lossy_table.UnmapPages = lossy_unmap;
    machine.system.Host.Table = &lossy_table;
    for (ULONG round = 1; round <= 2; round++) {
        for (int i = 0; i < 5; i++) {
            assert_int_equal(machine_hit(&machine, MACHINE_CODE), 1);
        }
        KeQueryStatistics(&machine.system.Ke, ProfileTime, &statistics);
        assert_int_equal(statistics.Unwritten, 3 * (round - 1)); /* they may yet be */
        assert_int_equal(round == 1 ? stop(handle) : ExClose(&machine.system, handle),
                         STATUS_SUCCESS);
        KeQueryStatistics(&machine.system.Ke, ProfileTime, &statistics);
        assert_int_equal(statistics.Unwritten, 3 * round);
        assert_int_equal(statistics.Counted, 5 * round);
        assert_int_equal(statistics.Taken, statistics.Counted + statistics.Outside);
        if (round == 1) {
            assert_int_equal(start(handle), STATUS_SUCCESS);
        }
    }
    KeQueryStatistics(&machine.system.Ke, ProfileTotalCycles, &statistics);
    assert_int_equal(statistics.Unwritten, 0);
    machine.system.Host.Table = host_sim_host(machine.host).Table;
}

/* As examples/embed: the caller's address is handed back, NULL too. */
static NTSTATUS
map_to_null(void *context, MDL *mdl)
{
    const NTSTATUS status = host_sim_host(context).Table->MapPages(context, mdl);

    mdl->MappedSystemVa = NULL;
    return status;
}

/* rule: start-null-mapping */
static void
start__mapped_at_null__started_once_if_empty_else_refused(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    HOST_TABLE table = *machine.system.Host.Table;
    HANDLE handle;

    (void)state;
    table.MapPages = map_to_null;
    machine.system.Host.Table = &table;
    handle = machine_create(&machine, &request);
    assert_int_equal(start(handle), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(stop(handle), STATUS_PROFILING_NOT_STARTED);
    assert_int_equal(host_sim_balance(machine.host).locks, 0);

    request.ProfileSize = 0; /* nothing to lock or to count */
    handle = machine_create(&machine, &request);
    assert_int_equal(start(handle), STATUS_SUCCESS);
    assert_int_equal(start(handle), STATUS_PROFILING_NOT_STOPPED);
    assert_int_equal(stop(handle), STATUS_SUCCESS);
    assert_int_equal(stop(handle), STATUS_PROFILING_NOT_STARTED);
    assert_int_equal(start(handle), STATUS_SUCCESS); /* ended by its last close */
    assert_int_equal(ExClose(&machine.system, handle), STATUS_SUCCESS);
    assert_int_equal(host_sim_balance(machine.host).locks, 0);
    assert_int_equal(host_sim_balance(machine.host).mappings, 0);
    machine.system.Host.Table = host_sim_host(machine.host).Table;
}

static HOST_TABLE live_table;
static ULONG flushes;

/* A host with which buffers of fewer counters than usual are live. */
static NTSTATUS
live_map(void *context, MDL *mdl)
{
    mdl->Live = mdl->ByteCount != MACHINE_COUNTER_BYTES;
    return host_sim_host(context).Table->MapPages(context, mdl);
}

static void
live_flush(void *context, MDL *mdl)
{
    assert_int_equal(mdl->Live, 0);
    flushes++;
    host_sim_host(context).Table->FlushPages(context, mdl);
}

/* There may be thousands that are live, and a flush comes several times a second. */
static void
flush__live_buffers_and_others__the_others_each_once(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    HANDLE handles[6];

    (void)state;
    live_table = *machine.system.Host.Table;
    live_table.MapPages = live_map;
    live_table.FlushPages = live_flush;
    machine.system.Host.Table = &live_table;
    for (size_t i = 0; i < 6; i++) {
        request.ProfileSize = machine_request().ProfileSize / (i % 2 == 0 ? 1 : 2);
        handles[i] = machine_create_started(&machine, &request);
    }
    flushes = 0;
    ExFlushBuffers(&machine.system);
    assert_int_equal(flushes, 3);
    assert_int_equal(stop(handles[2]), STATUS_SUCCESS);
    assert_int_equal(stop(handles[3]), STATUS_SUCCESS);
    flushes = 0;
    ExFlushBuffers(&machine.system);
    assert_int_equal(flushes, 2);
    machine.system.Host.Table = host_sim_host(machine.host).Table;
}

/* rules: start-mdl-limit, create-mdl-limit */
static void
start__more_than_an_mdl_describes__insufficient_resources(void **state)
{
    static const struct {
        ULONG counters;
        NTSTATUS status;
    } rows[] = {
        {0x3FFFFC00, STATUS_SUCCESS}, /* 4 GB - 4096 */
        {0x3FFFFC01, STATUS_INSUFFICIENT_RESOURCES},
        {0x3FFFFFFF, STATUS_INSUFFICIENT_RESOURCES},
    };
    const uint64_t large = 0x100000000;

    (void)state;
    assert_non_null(host_sim_map(machine.host, large, 0x100000000));
    for (size_t i = 0; i < 3; i++) {
        EX_CREATE_PROFILE request = machine_request();
        HANDLE handle;

        request.Buffer = large;
        request.BufferSize = 0xFFFFFFFF;
        request.BucketSize = 2;
        request.ProfileSize = (ULONG64)rows[i].counters * 4;
        handle = machine_create(&machine, &request);
        assert_int_equal(start(handle), rows[i].status);
        if (NT_SUCCESS(rows[i].status)) {
            assert_int_equal(
                machine_hit(&machine, MACHINE_CODE + request.ProfileSize - 1), 1);
        }
        assert_int_equal(ExClose(&machine.system, handle), STATUS_SUCCESS);
    }
}

/* Which of two reasons comes first. */
/* rules: start-no-memory, start-map, start-hal-fails */
static void
start__two_faults__first_in_order_wins(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    const HANDLE handle = machine_create_started(&machine, &request);

    (void)state;
    /* started, before the limit and memory */
    host_sim_set_active(machine.host, 0, 0);
    host_sim_fail(machine.host, HOST_SIM_ALLOCATE, 1, true);
    assert_int_equal(start(handle), STATUS_PROFILING_NOT_STOPPED);
    assert_int_equal(stop(handle), STATUS_SUCCESS);
    /* the limit, which is 0 now, before memory */
    assert_int_equal(start(handle), STATUS_PROFILING_AT_LIMIT);
    host_sim_set_active(machine.host, 0, 0xF);
    /* memory, before the lock */
    host_sim_fail(machine.host, HOST_SIM_LOCK_PAGES, 1, true);
    assert_int_equal(start(handle), STATUS_INSUFFICIENT_RESOURCES);
    host_sim_clear_failures(machine.host);
    /* the lock, before the mapping */
    host_sim_fail(machine.host, HOST_SIM_LOCK_PAGES, 1, true);
    host_sim_fail(machine.host, HOST_SIM_MAP_PAGES, 1, true);
    assert_int_equal(start(handle), STATUS_WORKING_SET_QUOTA);
    host_sim_clear_failures(machine.host);
    /* the mapping, before the HAL */
    host_sim_fail(machine.host, HOST_SIM_MAP_PAGES, 1, true);
    sim_fail_start(machine.sim, 1, STATUS_ACCESS_DENIED);
    assert_int_equal(start(handle), STATUS_INSUFFICIENT_RESOURCES);
    host_sim_clear_failures(machine.host);
    assert_int_equal(start(handle), STATUS_ACCESS_DENIED);
    machine_check_undone(&machine);
    assert_int_equal(start(handle), STATUS_SUCCESS);
}

static HANDLE
create_on(const EX_CREATE_PROFILE *request, KAFFINITY affinity)
{
    assert_int_equal(ExCreateProfile(&machine.system, UserMode, request, affinity),
                     STATUS_SUCCESS);
    return machine_read_handle(&machine, request->ProfileHandle);
}

/* The HAL fails when all processors have been named: what another profile has started
 * stays. */
/* rules: start-hal-fails, start-fails-clean */
static void
start__hal_cannot_begin__nothing_left(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    HANDLE standing;
    HANDLE handle;

    (void)state;
    standing = create_on(&request, 0x5);
    assert_int_equal(start(standing), STATUS_SUCCESS);
    request.Buffer -= MACHINE_COUNTER_BYTES;
    handle = create_on(&request, 0xF);
    sim_fail_begin(machine.sim, STATUS_ACCESS_DENIED);
    assert_int_equal(start(handle), STATUS_ACCESS_DENIED);
    assert_int_equal(sim_started(machine.sim), 2);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 1);
    assert_int_equal(stop(handle), STATUS_PROFILING_NOT_STARTED);
    sim_fail_begin(machine.sim, STATUS_SUCCESS);
    assert_int_equal(start(handle), STATUS_SUCCESS);
    assert_int_equal(sim_started(machine.sim), 4);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 2);
    assert_int_equal(stop(standing), STATUS_SUCCESS);
    assert_int_equal(sim_started(machine.sim), 4);
    assert_int_equal(stop(handle), STATUS_SUCCESS);
    machine_check_undone(&machine);
}

/* rule: create-region-empty */
static void
start__size_0__succeeds_never_counts(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    HANDLE handle;

    (void)state;
    request.ProfileSize = 0;
    request.BufferSize = 1;
    handle = machine_create_started(&machine, &request);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 0);
    assert_int_equal(machine_counter(&machine, 0), 0);
    assert_int_equal(start(handle), STATUS_PROFILING_NOT_STOPPED);
    assert_int_equal(stop(handle), STATUS_SUCCESS);
}

/* Sources that are not there leave room for those that are. rule:
 * start-source-unsupported */
static void
start__many_sources_that_are_not_there__the_next_one_counts(void **state)
{
    const struct machine_options options = {.ex = {.Version = 601}};
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    machine_close(&machine);
    machine_open(&machine, &options);
    for (ULONG i = 0; i < 2 * KE_SOURCE_SLOTS; i++) {
        HANDLE handle;

        request.ProfileSource = 0x4000 + i;
        handle = machine_create_started(&machine, &request);
        assert_int_equal(ExClose(&machine.system, handle), STATUS_SUCCESS);
    }
    request.ProfileSource = ProfileTime;
    machine_create_started(&machine, &request);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 1);
}

static void
start__one_process_or_all__counts_where_it_should(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    HANDLE of_process;
    HANDLE of_all;

    (void)state;
    of_process = machine_create_started(&machine, &request);
    request.Process = NULL;
    request.Buffer -= 64;
    of_all = machine_create_started(&machine, &request);
    assert_int_equal(sim_hit(machine.sim, ProfileTime, 0, MACHINE_PID, MACHINE_CODE),
                     2);
    assert_int_equal(
        sim_hit(machine.sim, ProfileTime, 3, MACHINE_OTHER_PID, MACHINE_CODE), 1);
    assert_int_equal(sim_hit(machine.sim, ProfileTime, 1, 0, MACHINE_CODE + 16), 1);
    assert_int_equal(machine_counter(&machine, 0), 1);
    assert_int_equal(machine_counter(&machine, 16), 2);
    assert_int_equal(machine_counter(&machine, 17), 1);
    assert_int_equal(stop(of_all), STATUS_SUCCESS);
    assert_int_equal(sim_hit(machine.sim, ProfileTime, 0, MACHINE_PID, MACHINE_CODE),
                     1);
    assert_int_equal(stop(of_process), STATUS_SUCCESS);
}

/* ---- Hits that wait in the back end ---- */

/* rules: stop-complete, stop-final */
static void
start_stop__hits_queued__counted_in_the_order_of_time(void **state)
{
    static const struct machine_options options = {.sim = {.queue_records = 100}};
    EX_CREATE_PROFILE request = machine_request();
    struct machine queued;
    HANDLE first;
    HANDLE second;

    (void)state;
    machine_open(&queued, &options);
    first = machine_create_started(&queued, &request);
    request.Buffer -= 64;
    second = machine_create(&queued, &request);
    (void)machine_hit(&queued, MACHINE_CODE);
    /* It happened before the start, although it is delivered with it. */
    assert_int_equal(ExStartProfile(&queued.system, UserMode, second), STATUS_SUCCESS);
    (void)machine_hit(&queued, MACHINE_CODE);
    assert_int_equal(machine_counter(&queued, 0), 1);
    assert_int_equal(ExStopProfile(&queued.system, UserMode, first), STATUS_SUCCESS);
    (void)machine_hit(&queued, MACHINE_CODE);
    assert_int_equal(ExStopProfile(&queued.system, UserMode, second), STATUS_SUCCESS);
    (void)machine_hit(&queued, MACHINE_CODE);
    assert_int_equal(machine_counter(&queued, 0), 2);
    assert_int_equal(machine_counter(&queued, 16), 2);
    /* The last close counts what happened before it, too. */
    assert_int_equal(ExStartProfile(&queued.system, UserMode, second), STATUS_SUCCESS);
    (void)machine_hit(&queued, MACHINE_CODE);
    assert_int_equal(ExClose(&queued.system, second), STATUS_SUCCESS);
    assert_int_equal(machine_counter(&queued, 16), 3);
    machine_close(&queued);
}

static void
flush_profiles__started_ones__each_flushed(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    HANDLE handles[3];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        handles[i] = machine_create_started(&machine, &request);
    }
    assert_int_equal(stop(handles[1]), STATUS_SUCCESS);
    ExFlushProfiles(&machine.system);
    assert_int_equal(host_sim_flushes(machine.host), 2);
}

/* ---- Close ---- */

/* rules: close-last-stops, close-not-open */
static void
close__started__stopped_first(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    const HANDLE handle = machine_create_started(&machine, &request);

    (void)state;
    assert_int_equal(ExClose(&machine.system, handle), STATUS_SUCCESS);
    machine_check_undone(&machine);
    assert_int_equal(machine.system.ProfileCount, 0);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 0);
    assert_int_equal(ExClose(&machine.system, handle), STATUS_INVALID_HANDLE);
    assert_int_equal(stop(handle), STATUS_INVALID_HANDLE);
}

/* rule: close-not-last */
static void
close__one_of_two_handles__goes_on_until_the_last(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    const HANDLE first = machine_create_started(&machine, &request);
    HANDLE second;
    void *body;

    (void)state;
    assert_int_equal(ObReferenceObjectByHandle(&machine.system.Ob, first,
                                               &machine.system.ProfileType, UserMode, 1,
                                               &body),
                     STATUS_SUCCESS);
    assert_int_equal(ObOpenHandle(&machine.system.Ob, body, 1, &second),
                     STATUS_SUCCESS);
    ObDereferenceObject(&machine.system.Ob, body);
    assert_int_equal(ExClose(&machine.system, first), STATUS_SUCCESS);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 1);
    assert_int_equal(start(second), STATUS_PROFILING_NOT_STOPPED);
    assert_int_equal(ExClose(&machine.system, second), STATUS_SUCCESS);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 0);
    machine_check_undone(&machine);
}

/* rule: close-pseudo-handle */
static void
close__pseudo_handle__success_nothing_happens(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();

    (void)state;
    (void)machine_create_started(&machine, &request);
    assert_int_equal(ExClose(&machine.system, NtCurrentProcess()), STATUS_SUCCESS);
    assert_int_equal(ExClose(&machine.system, NULL), STATUS_INVALID_HANDLE);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 1);
}

static void
finish_system__started_profiles__all_undone(void **state)
{
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    for (size_t i = 0; i < 50; i++) {
        request.Process = i % 3 == 0 ? NULL : NtCurrentProcess();
        request.ProfileSource = i % 2 == 0 ? ProfileTime : ProfileTotalCycles;
        (void)machine_create_started(&machine, &request);
    }
    /* The rest is machine_close's to check. */
    assert_int_equal(machine.system.StartedCount, 50);
}

/* The hits of all processors are read for a handle that is right only. */
static void
start_stop_close__bad_handle__delivers_nothing(void **state)
{
    static const struct machine_options options = {.sim = {.queue_records = 1000}};
    const EX_CREATE_PROFILE request = machine_request();
    struct machine queued;
    HANDLE profile;

    (void)state;
    machine_open(&queued, &options);
    profile = machine_create(&queued, &request);
    assert_int_equal(ExStartProfile(&queued.system, UserMode, profile), STATUS_SUCCESS);
    (void)sim_hit(queued.sim, ProfileTime, 0, MACHINE_PID, MACHINE_CODE);
    assert_int_equal(ExStartProfile(&queued.system, UserMode, NULL),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(ExStopProfile(&queued.system, UserMode, NULL),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(ExStopProfile(&queued.system, UserMode, NtCurrentProcess()),
                     STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(ExClose(&queued.system, NULL), STATUS_INVALID_HANDLE);
    assert_int_equal(machine_counter(&queued, 0), 0);
    assert_int_equal(ExStartProfile(&queued.system, UserMode, profile),
                     STATUS_PROFILING_NOT_STOPPED);
    assert_int_equal(machine_counter(&queued, 0), 1);
    machine_close(&queued);
}

static void
finish_system__hits_queued__counted(void **state)
{
    static const struct machine_options options = {.sim = {.queue_records = 100}};
    const EX_CREATE_PROFILE request = machine_request();
    struct machine queued;

    (void)state;
    machine_open(&queued, &options);
    (void)machine_create_started(&queued, &request);
    (void)machine_hit(&queued, MACHINE_CODE);
    assert_int_equal(machine_counter(&queued, 0), 0);
    ExFinishSystem(&queued.system);
    assert_int_equal(machine_counter(&queued, 0), 1);
    machine_give_up(&queued);
}

/* ---- Sources beyond 15 bits ---- */

static void
has_any_source(void *context, KPROFILE_SOURCE source, HAL_SOURCE *information)
{
    (void)context;
    (void)source;
    *information = (HAL_SOURCE){.Supported = TRUE, .Interval = 10000};
}

static NTSTATUS
start_any_source(void *context, KPROFILE_SOURCE source, ULONG processor, ULONG64 pid)
{
    (void)context;
    (void)source;
    (void)processor;
    (void)pid;
    return STATUS_SUCCESS;
}

static void
stop_any_source(void *context, KPROFILE_SOURCE source, ULONG processor, ULONG64 pid)
{
    (void)start_any_source(context, source, processor, pid);
}

/* What a started profile keeps of a source, on a machine that has all there are. */
static KPROFILE_SOURCE
kept_source(ULONG version, KPROFILE_SOURCE source)
{
    const struct machine_options options = {.ex.Version = version};
    EX_CREATE_PROFILE request = machine_request();
    struct machine any;
    HAL_TABLE table;
    KPROFILE_SOURCE kept;
    HANDLE handle;
    void *body;

    machine_open(&any, &options);
    table = *any.system.Hal.Table;
    table.QuerySource = has_any_source;
    table.StartProfileInterrupt = start_any_source;
    table.StopProfileInterrupt = stop_any_source;
    table.BeginProfileInterrupts = NULL;
    any.system.Hal.Table = any.system.Ke.Hal.Table = &table;
    request.ProfileSource = source;
    assert_int_equal(ExCreateProfile(&any.system, UserMode, &request, ~(KAFFINITY)0),
                     STATUS_SUCCESS);
    handle = machine_read_handle(&any, MACHINE_HANDLE);
    assert_int_equal(ExStartProfile(&any.system, UserMode, handle), STATUS_SUCCESS);
    assert_int_equal(ObReferenceObjectByHandle(&any.system.Ob, handle,
                                               &any.system.ProfileType, UserMode, 1,
                                               &body),
                     STATUS_SUCCESS);
    kept = ((EPROFILE *)body)->ProfileObject->Source;
    ObDereferenceObject(&any.system.Ob, body);
    assert_int_equal(ExClose(&any.system, handle), STATUS_SUCCESS);
    machine_close(&any);
    return kept;
}

/* rules: start-source-narrowed, hit-source-width */
static void
start__source_beyond_15_bits__narrowed_with_its_sign_up_to_6_1(void **state)
{
    static const struct {
        KPROFILE_SOURCE source;
        KPROFILE_SOURCE narrowed;
    } rows[] = {
        {0x7FFF, 0x7FFF},         {0x8000, 0xFFFF8000},
        {0xFFFF, 0xFFFFFFFF},     {0x10000, 0},
        {0x17FFF, 0x7FFF},        {0x18000, 0xFFFF8000},
        {0x7FFF8001, 0xFFFF8001},
    };
    static const ULONG narrow[] = {351, 400, 502, 600, 601};
    static const ULONG wide[] = {0, 602, 603, 1507, 1809};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t v = 0; v < sizeof(narrow) / sizeof(narrow[0]); v++) {
            assert_int_equal(kept_source(narrow[v], rows[i].source), rows[i].narrowed);
        }
        for (size_t v = 0; v < sizeof(wide) / sizeof(wide[0]); v++) {
            assert_int_equal(kept_source(wide[v], rows[i].source), rows[i].source);
        }
    }
}

/* ---- The limit ---- */

static void
check_limit(KAFFINITY active, ULONG64 limit)
{
    EX_CREATE_PROFILE request = machine_request();
    HANDLE *const handles = calloc(limit + 2, sizeof(*handles));
    struct machine limited;

    assert_non_null(handles);
    machine_open(&limited, NULL);
    host_sim_set_active(limited.host, 0, active);
    assert_int_equal(ExStartLimit(&limited.system), limit);
    for (ULONG64 i = 0; i < limit + 2; i++) {
        request.ProfileBase = MACHINE_CODE + i % 64 * 256;
        handles[i] = machine_create(&limited, &request);
        assert_int_equal(ExStartProfile(&limited.system, UserMode, handles[i]),
                         i < limit ? STATUS_SUCCESS : STATUS_PROFILING_AT_LIMIT);
    }
    assert_int_equal(limited.system.StartedCount, limit);
    /* A failed start does not count; a stop or a close makes room for one. */
    assert_int_equal(ExStopProfile(&limited.system, UserMode, handles[0]),
                     STATUS_SUCCESS);
    assert_int_equal(ExStartProfile(&limited.system, UserMode, handles[limit]),
                     STATUS_SUCCESS);
    assert_int_equal(ExStartProfile(&limited.system, UserMode, handles[0]),
                     STATUS_PROFILING_AT_LIMIT);
    assert_int_equal(ExClose(&limited.system, handles[1]), STATUS_SUCCESS);
    assert_int_equal(ExStartProfile(&limited.system, UserMode, handles[0]),
                     STATUS_SUCCESS);
    assert_int_equal(ExStartProfile(&limited.system, UserMode, handles[limit + 1]),
                     STATUS_PROFILING_AT_LIMIT);
    machine_close(&limited);
    free(handles);
}

/* rules: start-limit, start-limit-counts-started */
static void
start__limit__8192_for_each_active_processor(void **state)
{
    (void)state;
    check_limit(0x1, 8192);
    check_limit(0x6, 16384);
}

/* rule: start-limit */
static void
start_limit__groups__active_processors_at_the_time(void **state)
{
    static const struct machine_options options = {.host = {.group_count = 3}};
    struct machine grouped;

    (void)state;
    machine_open(&grouped, &options);
    assert_int_equal(ExStartLimit(&grouped.system), 12 * 8192);
    host_sim_set_active(grouped.host, 1, ~(KAFFINITY)0);
    assert_int_equal(ExStartLimit(&grouped.system), 72 * 8192);
    host_sim_set_active(grouped.host, 2, 0);
    assert_int_equal(ExStartLimit(&grouped.system), 68 * 8192);
    machine_close(&grouped);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(start_stop__bad_handles__object_manager_status),
        TEST(start_stop__out_of_turn__not_stopped_not_started),
        TEST(start_stop__many_times__counts_go_on),
        TEST(start__buffer_with_contents__only_added_to),
        TEST(start__kernel_object__type_size_and_mdl_behind),
        TEST(start__large_buffer__only_needed_counters_locked),
        TEST(start__buffer_gone_since_create__violation_and_again_later),
        TEST(start__mapped_at_null__started_once_if_empty_else_refused),
        TEST(start__source_beyond_15_bits__narrowed_with_its_sign_up_to_6_1),
        TEST(flush__live_buffers_and_others__the_others_each_once),
        TEST(stop__counts_that_memory_did_not_take__in_the_statistics_of_the_source),
        TEST(start__more_than_an_mdl_describes__insufficient_resources),
        TEST(start__two_faults__first_in_order_wins),
        TEST(start__hal_cannot_begin__nothing_left),
        TEST(start__size_0__succeeds_never_counts),
        TEST(start__many_sources_that_are_not_there__the_next_one_counts),
        TEST(start__one_process_or_all__counts_where_it_should),
        TEST(start_stop__hits_queued__counted_in_the_order_of_time),
        TEST(flush_profiles__started_ones__each_flushed),
        TEST(close__started__stopped_first),
        TEST(close__one_of_two_handles__goes_on_until_the_last),
        TEST(close__pseudo_handle__success_nothing_happens),
        TEST(finish_system__started_profiles__all_undone),
        TEST(start_stop_close__bad_handle__delivers_nothing),
        TEST(finish_system__hits_queued__counted),
        TEST(start__limit__8192_for_each_active_processor),
        TEST(start_limit__groups__active_processors_at_the_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
