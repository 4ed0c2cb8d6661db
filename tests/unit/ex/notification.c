/* SPDX-License-Identifier: MIT */
/*
 * Process objects in step with the stream of notifications: found until their end is
 * told, kept apart when a pid is used again, and profiles that begin and end exactly
 * with the events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"

enum { PID = 3000, CHILD = 3001 };

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

/* Watches ProfileTime on all processors. */
static void
watch(struct machine *m, uint64_t pid, ULONG flags)
{
    static const KPROFILE_SOURCE sources[] = {ProfileTime};
    static const ULONG64 processors[1] = {0xF};
    const HAL_WATCH wanted = {
        .ProcessId = pid,
        .Flags = flags,
        .SourceCount = 1,
        .Sources = sources,
        .ProcessorCount = 64,
        .Processors = processors,
    };

    assert_int_equal(KeRegisterSource(&m->system.Ke, ProfileTime), STATUS_SUCCESS);
    assert_int_equal(HalSimBackend.Watch(m->sim, &wanted), STATUS_SUCCESS);
}

static NTSTATUS
open_process(struct machine *m, uint64_t pid)
{
    return ExOpenProcess(&m->system, UserMode, MACHINE_HANDLE,
                         PROCESS_QUERY_INFORMATION, pid);
}

static ULONG
hit(uint64_t pid)
{
    return sim_hit(machine.sim, ProfileTime, 0, pid, MACHINE_CODE);
}

static HANDLE
start_profile(struct machine *m, uint64_t pid, size_t slot)
{
    EX_CREATE_PROFILE request = machine_request();

    request.Process = machine_open_process(m, pid);
    request.Buffer -= 64 * slot;
    return machine_create_started(m, &request);
}

/* The host has never heard of these processes: the stream alone tells of them. */
static void
stream__process_unknown_to_host__found_from_start_to_exit(void **state)
{
    (void)state;
    assert_int_equal(open_process(&machine, PID), STATUS_INVALID_CID);
    watch(&machine, PID, NTPROF_WATCH_DESCENDANTS);
    assert_int_equal(open_process(&machine, PID), STATUS_SUCCESS);
    sim_fork(machine.sim, PID, CHILD);
    assert_int_equal(open_process(&machine, CHILD), STATUS_SUCCESS);
    sim_exit(machine.sim, CHILD);
    assert_int_equal(open_process(&machine, CHILD), STATUS_INVALID_CID);
    assert_int_equal(open_process(&machine, PID), STATUS_SUCCESS);
    sim_exit(machine.sim, PID);
    assert_int_equal(open_process(&machine, PID), STATUS_INVALID_CID);
}

static void
open_in_callback(struct machine *m, const ntprof_notification *notification)
{
    unsigned *const seen = m->context;

    assert_int_equal(open_process(m, notification->pid), STATUS_SUCCESS);
    assert_int_equal(ExClose(&m->system, machine_read_handle(m, MACHINE_HANDLE)),
                     STATUS_SUCCESS);
    *seen |= 1u << notification->kind;
}

/* In every callback, the one of the exit included, although the host forgot it long
 * ago. */
static void
stream__process_ended_in_host__found_in_every_callback(void **state)
{
    unsigned seen = 0;

    (void)state;
    machine.notify = open_in_callback;
    machine.context = &seen;
    host_sim_add_process(machine.host, PID);
    watch(&machine, PID, 0);
    host_sim_end_process(machine.host, PID);
    sim_exec(machine.sim, PID);
    sim_exit(machine.sim, PID);
    assert_int_equal(seen, 1u << NTPROF_PROCESS_START | 1u << NTPROF_PROCESS_EXEC |
                               1u << NTPROF_PROCESS_EXIT | 1u << NTPROF_IMAGE_MAP |
                               1u << NTPROF_IMAGE_UNMAP);
    assert_int_equal(open_process(&machine, PID), STATUS_INVALID_CID);
}

/* Opened before it was watched: the same object, which then lives by the stream. */
static void
stream__process_opened_before__same_one_until_told(void **state)
{
    HANDLE profile;

    (void)state;
    host_sim_add_process(machine.host, PID);
    profile = start_profile(&machine, PID, 0);
    watch(&machine, PID, 0);
    host_sim_end_process(machine.host, PID);
    assert_int_equal(hit(PID), 1);
    assert_int_equal(open_process(&machine, PID), STATUS_SUCCESS);
    assert_int_equal(hit(PID), 1);
    sim_exit(machine.sim, PID);
    assert_int_equal(hit(PID), 0);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, profile), STATUS_SUCCESS);
    assert_int_equal(machine_counter(&machine, 0), 2);
}

static void
stream__no_right_to_look_into__watched_is_enough(void **state)
{
    (void)state;
    host_sim_add_process(machine.host, PID);
    host_sim_set_accessible(machine.host, PID, false);
    assert_int_equal(open_process(&machine, PID), STATUS_ACCESS_DENIED);
    watch(&machine, PID, 0);
    assert_int_equal(open_process(&machine, PID), STATUS_SUCCESS);
    sim_exit(machine.sim, PID);
}

/* rule: process-gone */
static void
exec__started_profiles__old_ones_silent_new_ones_count(void **state)
{
    HANDLE old;
    HANDLE young;

    (void)state;
    watch(&machine, PID, 0);
    old = start_profile(&machine, PID, 0);
    assert_int_equal(hit(PID), 1);
    sim_exec(machine.sim, PID);
    assert_int_equal(hit(PID), 0);
    young = start_profile(&machine, PID, 1);
    assert_int_equal(hit(PID), 1);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, old), STATUS_SUCCESS);
    assert_int_equal(ExStartProfile(&machine.system, UserMode, old), STATUS_SUCCESS);
    assert_int_equal(hit(PID), 2);
    assert_int_equal(ExClose(&machine.system, young), STATUS_SUCCESS);
    assert_int_equal(machine_counter(&machine, 0), 2);
    assert_int_equal(machine_counter(&machine, 16), 2);
}

/* Not watched, but started: the HAL tells the core alone. */
static void
exec__process_not_watched__old_profile_silent_new_counts(void **state)
{
    HANDLE old;

    (void)state;
    host_sim_add_process(machine.host, PID);
    old = start_profile(&machine, PID, 0);
    assert_int_equal(hit(PID), 1);
    sim_exec(machine.sim, PID);
    assert_int_equal(hit(PID), 0);
    assert_int_equal(sim_started(machine.sim), 0);
    (void)start_profile(&machine, PID, 1);
    assert_int_equal(hit(PID), 1);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, old), STATUS_SUCCESS);
    assert_int_equal(hit(PID), 1);
    assert_int_equal(machine_counter(&machine, 0), 1);
    assert_int_equal(machine_counter(&machine, 16), 2);
}

static void
exit__pid_used_again__old_handles_mean_the_old_one(void **state)
{
    HANDLE old_profile;
    HANDLE old_process;
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    watch(&machine, PID, 0);
    old_profile = start_profile(&machine, PID, 0);
    old_process = machine_open_process(&machine, PID);
    assert_int_equal(hit(PID), 1);
    sim_exit(machine.sim, PID);
    sim_add_process(machine.sim, PID);
    watch(&machine, PID, 0);
    assert_int_equal(hit(PID), 0);
    (void)start_profile(&machine, PID, 1);
    assert_int_equal(hit(PID), 1);
    request.Process = old_process;
    request.Buffer -= 128;
    (void)machine_create_started(&machine, &request);
    assert_int_equal(hit(PID), 1);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, old_profile),
                     STATUS_SUCCESS);
    assert_int_equal(hit(PID), 1);
    assert_int_equal(machine_counter(&machine, 0), 1);
    assert_int_equal(machine_counter(&machine, 16), 3);
    assert_int_equal(machine_counter(&machine, 32), 0);
}

/* The record of the exit was lost, and the pid is forked anew: that is another process.
 */
static void
fork__exit_of_same_pid_was_lost__another_process(void **state)
{
    ntprof_notification notification = {
        .size = sizeof(notification),
        .kind = NTPROF_PROCESS_START,
        .pid = CHILD,
        .parent_pid = PID,
        .name = "child",
    };
    const KE_HIT at = {ProfileTime, 0, CHILD, MACHINE_CODE, 0, KE_SCOPE_BOTH, 0};

    (void)state;
    ExBeforeNotification(&machine.system, &notification);
    ExAfterNotification(&machine.system, &notification);
    (void)start_profile(&machine, CHILD, 0);
    assert_int_equal(KeProfileInterruptWithSource(&machine.system.Ke, &at), 1);
    ExBeforeNotification(&machine.system, &notification);
    ExAfterNotification(&machine.system, &notification);
    assert_int_equal(KeProfileInterruptWithSource(&machine.system.Ke, &at), 0);
    (void)start_profile(&machine, CHILD, 1);
    assert_int_equal(KeProfileInterruptWithSource(&machine.system.Ke, &at), 1);
    assert_int_equal(machine_counter(&machine, 0), 1);
    assert_int_equal(machine_counter(&machine, 16), 1);
    notification.kind = NTPROF_PROCESS_EXIT;
    ExBeforeNotification(&machine.system, &notification);
    ExAfterNotification(&machine.system, &notification);
    assert_int_equal(open_process(&machine, CHILD), STATUS_INVALID_CID);
}

/* Watched a second time: told of again, but the same process with one reference. */
static void
start__told_twice_without_parent__same_process(void **state)
{
    ntprof_notification notification = {
        .size = sizeof(notification),
        .kind = NTPROF_PROCESS_START,
        .pid = PID,
        .name = "process",
    };
    const KE_HIT at = {ProfileTime, 0, PID, MACHINE_CODE, 0, KE_SCOPE_BOTH, 0};

    (void)state;
    ExBeforeNotification(&machine.system, &notification);
    (void)start_profile(&machine, PID, 0);
    ExBeforeNotification(&machine.system, &notification);
    assert_int_equal(KeProfileInterruptWithSource(&machine.system.Ke, &at), 1);
    notification.kind = NTPROF_PROCESS_EXIT;
    ExAfterNotification(&machine.system, &notification);
    assert_int_equal(KeProfileInterruptWithSource(&machine.system.Ke, &at), 0);
    ExAfterNotification(&machine.system, &notification);
    assert_int_equal(open_process(&machine, PID), STATUS_INVALID_CID);
}

static void
stream__unknown_processes_end_or_exec__nothing(void **state)
{
    ntprof_notification notification = {.size = sizeof(notification), .name = ""};

    (void)state;
    for (uint32_t kind = 0; kind < 10; kind++) {
        if (kind != NTPROF_PROCESS_START) {
            notification.kind = kind;
            notification.pid = 4242;
            ExBeforeNotification(&machine.system, &notification);
            ExAfterNotification(&machine.system, &notification);
        }
    }
    assert_int_equal(machine.system.Ob.ObjectCount, 0);
}

/* ---- Profiles made within notifications, with the hits queued beside them ---- */

struct follower {
    int maps; /* images to let pass before the profile is started */
    bool stop_at_exit;
    HANDLE profile;
    NTSTATUS stop_status;
};

static void
follow(struct machine *m, const ntprof_notification *notification)
{
    struct follower *const follower = m->context;

    if (notification->kind == NTPROF_IMAGE_MAP && follower->maps-- == 0) {
        follower->profile = start_profile(m, notification->pid, 0);
    }
    if (notification->kind == NTPROF_PROCESS_EXIT && follower->stop_at_exit) {
        follower->stop_status = ExStopProfile(&m->system, UserMode, follower->profile);
    }
}

static void
map_anything(struct machine *m, uint64_t base)
{
    const struct sim_image image = {
        .base = base, .length_bytes = 0x1000, .name = "/sim/lib/x"};

    sim_map(m->sim, PID, &image);
}

static void
callback__profile_started_at_map__all_after_none_before(void **state)
{
    static const struct machine_options options = {.sim = {.queue_records = 1000}};
    struct follower follower = {.maps = 3, .stop_at_exit = true};
    struct machine queued;

    (void)state;
    machine_open(&queued, &options);
    queued.notify = follow;
    queued.context = &follower;
    watch(&queued, PID, 0); /* maps two images */
    for (int i = 0; i < 10; i++) {
        (void)sim_hit(queued.sim, ProfileTime, 0, PID, MACHINE_CODE);
    }
    map_anything(&queued, 0x10000000);
    for (int i = 0; i < 20; i++) {
        (void)sim_hit(queued.sim, ProfileTime, 1, PID, MACHINE_CODE);
    }
    map_anything(&queued, 0x20000000); /* the fourth */
    for (int i = 0; i < 40; i++) {
        (void)sim_hit(queued.sim, ProfileTime, (ULONG)i % 4, PID, MACHINE_CODE);
    }
    sim_exit(queued.sim, PID);
    /* All of it is delivered only now; the process is long gone. */
    KeFlushHits(&queued.system.Ke);
    assert_int_equal(machine_counter(&queued, 0), 40);
    assert_int_equal(follower.stop_status, STATUS_SUCCESS);
    assert_int_equal(queued.system.StartedCount, 0);
    machine_close(&queued);
}

static void
callback__profile_left_started_at_exit__stop_later_succeeds(void **state)
{
    struct follower follower = {.maps = 0};

    (void)state;
    machine.notify = follow;
    machine.context = &follower;
    watch(&machine, PID, 0);
    assert_int_equal(hit(PID), 1);
    sim_exit(machine.sim, PID);
    assert_int_equal(sim_started(machine.sim), 0);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, follower.profile),
                     STATUS_SUCCESS);
    assert_int_equal(machine_counter(&machine, 0), 1);
}

static void
start__no_memory_for_process__others_unharmed(void **state)
{
    (void)state;
    host_sim_fail(machine.host, HOST_SIM_ALLOCATE, 2, true); /* after the statistics */
    watch(&machine, PID, NTPROF_WATCH_DESCENDANTS);
    host_sim_clear_failures(machine.host);
    assert_int_equal(open_process(&machine, PID), STATUS_INVALID_CID);
    sim_fork(machine.sim, PID, CHILD);
    assert_int_equal(open_process(&machine, CHILD), STATUS_SUCCESS);
    sim_exit(machine.sim, PID);
    assert_int_equal(open_process(&machine, CHILD), STATUS_SUCCESS);
    sim_exit(machine.sim, CHILD);
    assert_int_equal(open_process(&machine, CHILD), STATUS_INVALID_CID);
}

static void
finish_system__watched_processes_alive__released(void **state)
{
    (void)state;
    watch(&machine, PID, NTPROF_WATCH_DESCENDANTS);
    for (uint64_t i = 0; i < 20; i++) {
        sim_fork(machine.sim, PID, CHILD + i);
        (void)start_profile(&machine, CHILD + i, 0);
    }
    /* machine_close checks the rest. */
    assert_int_equal(machine.system.StartedCount, 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stream__process_unknown_to_host__found_from_start_to_exit),
        TEST(stream__process_ended_in_host__found_in_every_callback),
        TEST(stream__process_opened_before__same_one_until_told),
        TEST(stream__no_right_to_look_into__watched_is_enough),
        TEST(exec__started_profiles__old_ones_silent_new_ones_count),
        TEST(exec__process_not_watched__old_profile_silent_new_counts),
        TEST(exit__pid_used_again__old_handles_mean_the_old_one),
        TEST(fork__exit_of_same_pid_was_lost__another_process),
        TEST(start__told_twice_without_parent__same_process),
        TEST(stream__unknown_processes_end_or_exec__nothing),
        TEST(callback__profile_started_at_map__all_after_none_before),
        TEST(callback__profile_left_started_at_exit__stop_later_succeeds),
        TEST(start__no_memory_for_process__others_unharmed),
        TEST(finish_system__watched_processes_alive__released),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
