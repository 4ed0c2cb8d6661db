/* SPDX-License-Identifier: MIT */
/*
 * Every allocation and every call of host and HAL fails in turn, in each service: the
 * status is the documented one, outputs stay as they were, nothing is left behind, and
 * the same call succeeds afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"

#include <string.h>

enum { HAL_START = HOST_SIM_CALLS, KINDS, MOST_PROFILES = 20 };
#define PATTERN 0xA5A5A5A5A5A5A5A5u
#define HAL_STATUS STATUS_NOT_SUPPORTED

static struct machine machine;
static HANDLE profiles[MOST_PROFILES];
static HANDLE process;

/* What a failure of each kind of call must come out as. */
static const NTSTATUS statuses[KINDS] = {
    [HOST_SIM_ALLOCATE] = STATUS_INSUFFICIENT_RESOURCES,
    [HOST_SIM_PROBE_FOR_WRITE] = STATUS_ACCESS_VIOLATION,
    [HOST_SIM_COPY_FROM_CALLER] = STATUS_ACCESS_VIOLATION,
    [HOST_SIM_COPY_TO_CALLER] = STATUS_ACCESS_VIOLATION,
    [HOST_SIM_LOCK_PAGES] = STATUS_WORKING_SET_QUOTA,
    [HOST_SIM_MAP_PAGES] = STATUS_INSUFFICIENT_RESOURCES,
    [HOST_SIM_OPEN_PROCESS] = STATUS_INSUFFICIENT_RESOURCES,
    [HOST_SIM_CHECK_PROCESS_ACCESS] = STATUS_ACCESS_DENIED,
    [HOST_SIM_CHECK_PRIVILEGE] = STATUS_INSUFFICIENT_RESOURCES,
    [HOST_SIM_CHECK_RESTRICTED] = STATUS_INSUFFICIENT_RESOURCES,
    [HAL_START] = HAL_STATUS,
};

struct scenario {
    const char *name;
    void (*prepare)(void);
    NTSTATUS (*act)(void);
    void (*check)(void); /* the effect, once it has succeeded */
    unsigned kinds;      /* kinds of calls that it must make, as a mask */
    unsigned swallowed;  /* kinds whose failure is no failure of the service */
};

/* ---- What is to be done ---- */

static EX_CREATE_PROFILE
small_request(void)
{
    EX_CREATE_PROFILE request = machine_request();

    request.ProfileSize = 16;
    request.BufferSize = 4;
    return request;
}

static void
prepare_nothing(void)
{
}

static NTSTATUS
create_own(void)
{
    const EX_CREATE_PROFILE request = small_request();

    return ExCreateProfileEx(&machine.system, UserMode, &request);
}

static NTSTATUS
create_with_groups(void)
{
    static const GROUP_AFFINITY groups[] = {{.Mask = 1}, {.Mask = 2}};
    EX_CREATE_PROFILE request = small_request();

    machine_write(&machine, MACHINE_ARRAY, groups, sizeof(groups));
    request.GroupCount = 2;
    request.AffinityArray = MACHINE_ARRAY;
    return ExCreateProfileEx(&machine.system, UserMode, &request);
}

static NTSTATUS
create_old_call(void)
{
    const EX_CREATE_PROFILE request = small_request();

    return ExCreateProfile(&machine.system, UserMode, &request, 3);
}

static void
check_created(void)
{
    const HANDLE handle = machine_read_handle(&machine, MACHINE_HANDLE);

    assert_int_equal(machine.system.ProfileCount, 1);
    assert_int_equal(ExStartProfile(&machine.system, UserMode, handle), STATUS_SUCCESS);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 1);
}

static void
prepare_process(void)
{
    process = machine_open_process(&machine, MACHINE_OTHER_PID);
}

static NTSTATUS
create_for_process(void)
{
    EX_CREATE_PROFILE request = small_request();

    request.Process = process;
    return ExCreateProfileEx(&machine.system, UserMode, &request);
}

static void
check_created_for_process(void)
{
    const HANDLE handle = machine_read_handle(&machine, MACHINE_HANDLE);

    assert_int_equal(ExStartProfile(&machine.system, UserMode, handle), STATUS_SUCCESS);
    assert_int_equal(
        sim_hit(machine.sim, ProfileTime, 0, MACHINE_OTHER_PID, MACHINE_CODE), 1);
}

/* So many handles that the next one makes the table grow. */
static void
prepare_full_table(void)
{
    for (int i = 0; i < 64; i++) {
        (void)machine_open_process(&machine, MACHINE_PID);
    }
}

static void
prepare_profile(void)
{
    const EX_CREATE_PROFILE request = small_request();

    profiles[0] = machine_create(&machine, &request);
}

static NTSTATUS
start_first(void)
{
    return ExStartProfile(&machine.system, UserMode, profiles[0]);
}

static void
check_started(void)
{
    assert_int_equal(machine.system.StartedCount, 1);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 1);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, profiles[0]),
                     STATUS_SUCCESS);
    machine_check_undone(&machine);
}

static void
prepare_global(void)
{
    EX_CREATE_PROFILE request = small_request();

    request.Process = NULL;
    request.ProfileSource = ProfileTotalCycles;
    profiles[0] = machine_create(&machine, &request);
}

static void
check_started_global(void)
{
    assert_int_equal(sim_hit(machine.sim, ProfileTotalCycles, 3, 1, MACHINE_CODE), 1);
}

/* So many started ones that the index of the process is full; the next has another
 * source. */
static void
prepare_full_index(void)
{
    EX_CREATE_PROFILE request = small_request();

    for (int i = 1; i <= 8; i++) {
        profiles[i] = machine_create_started(&machine, &request);
    }
    request.ProfileSource = ProfileTotalCycles;
    profiles[0] = machine_create(&machine, &request);
}

static void
check_started_beside_8(void)
{
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 8);
    assert_int_equal(
        sim_hit(machine.sim, ProfileTotalCycles, 2, MACHINE_PID, MACHINE_CODE), 1);
}

static NTSTATUS
open_other(void)
{
    return ExOpenProcess(&machine.system, UserMode, MACHINE_HANDLE,
                         PROCESS_QUERY_INFORMATION, MACHINE_OTHER_PID);
}

static void
check_opened(void)
{
    process = machine_read_handle(&machine, MACHINE_HANDLE);
    assert_int_equal(create_for_process(), STATUS_SUCCESS);
}

static NTSTATUS
query_interval(void)
{
    return ExQueryIntervalProfile(&machine.system, UserMode, ProfileTime,
                                  MACHINE_HANDLE);
}

static void
check_queried(void)
{
    ULONG interval;

    memcpy(&interval, host_sim_at(machine.host, MACHINE_HANDLE, 4), 4);
    assert_int_equal(interval, 10000);
}

static const struct scenario scenarios[] = {
    {"create", prepare_nothing, create_own, check_created,
     1u << HOST_SIM_ALLOCATE | 1u << HOST_SIM_PROBE_FOR_WRITE |
         1u << HOST_SIM_COPY_TO_CALLER | 1u << HOST_SIM_OPEN_PROCESS,
     0},
    {"create with groups", prepare_nothing, create_with_groups, check_created,
     1u << HOST_SIM_ALLOCATE | 1u << HOST_SIM_COPY_FROM_CALLER, 0},
    {"create, old call", prepare_nothing, create_old_call, check_created,
     1u << HOST_SIM_ALLOCATE, 0},
    {"create for a process", prepare_process, create_for_process,
     check_created_for_process, 1u << HOST_SIM_ALLOCATE, 0},
    {"create, table full", prepare_full_table, create_own, check_created,
     1u << HOST_SIM_ALLOCATE, 0},
    {"start", prepare_profile, start_first, check_started,
     1u << HOST_SIM_ALLOCATE | 1u << HOST_SIM_LOCK_PAGES | 1u << HOST_SIM_MAP_PAGES |
         1u << HAL_START,
     0},
    {"start global", prepare_global, start_first, check_started_global,
     1u << HOST_SIM_ALLOCATE | 1u << HAL_START, 0},
    {"start, index full", prepare_full_index, start_first, check_started_beside_8,
     1u << HOST_SIM_ALLOCATE | 1u << HAL_START, 0},
    {"open process", prepare_nothing, open_other, check_opened,
     1u << HOST_SIM_ALLOCATE | 1u << HOST_SIM_PROBE_FOR_WRITE |
         1u << HOST_SIM_COPY_TO_CALLER | 1u << HOST_SIM_OPEN_PROCESS |
         1u << HOST_SIM_CHECK_PROCESS_ACCESS,
     0},
    {"query interval", prepare_nothing, query_interval, check_queried,
     1u << HOST_SIM_PROBE_FOR_WRITE | 1u << HOST_SIM_COPY_TO_CALLER,
     1u << HOST_SIM_COPY_TO_CALLER},
};

/* ---- Making it fail ---- */

struct snapshot {
    struct host_sim_balance balance;
    uint64_t objects;
    uint64_t profile_count;
    uint64_t started_count;
    uint64_t hal_started;
};

static struct snapshot
take_snapshot(void)
{
    return (struct snapshot){
        .balance = host_sim_balance(machine.host),
        .objects = machine.system.Ob.ObjectCount,
        .profile_count = machine.system.ProfileCount,
        .started_count = machine.system.StartedCount,
        .hal_started = sim_started(machine.sim),
    };
}

/* Nothing that the caller could notice; memory that is kept for the next time is its
 * own check. */
static void
check_same(const struct snapshot *before)
{
    const struct snapshot now = take_snapshot();

    assert_int_equal(now.balance.locks, before->balance.locks);
    assert_int_equal(now.balance.mappings, before->balance.mappings);
    assert_int_equal(now.balance.open_processes, before->balance.open_processes);
    assert_int_equal(now.objects, before->objects);
    assert_int_equal(now.profile_count, before->profile_count);
    assert_int_equal(now.started_count, before->started_count);
    assert_int_equal(now.hal_started, before->hal_started);
}

static void
write_pattern(void)
{
    const uint64_t pattern = PATTERN;

    machine_write(&machine, MACHINE_HANDLE, &pattern, sizeof(pattern));
}

static void
check_pattern(void)
{
    uint64_t word;

    memcpy(&word, host_sim_at(machine.host, MACHINE_HANDLE, 8), sizeof(word));
    assert_true(word == PATTERN);
}

static uint64_t
calls_of(int kind)
{
    return kind == HAL_START ? sim_start_calls(machine.sim)
                             : host_sim_calls(machine.host, (enum host_sim_call)kind);
}

static void
fail_nth(int kind, uint64_t nth)
{
    if (kind == HAL_START) {
        sim_fail_start(machine.sim, nth, HAL_STATUS);
    } else {
        host_sim_fail(machine.host, (enum host_sim_call)kind, nth, false);
    }
}

static void
fail_none(void)
{
    host_sim_clear_failures(machine.host);
    sim_fail_start(machine.sim, 0, STATUS_SUCCESS);
}

/* How often the service makes this kind of call when all goes well. */
static uint64_t
count_calls(const struct scenario *scenario, int kind)
{
    uint64_t before;
    uint64_t count;

    machine_open(&machine, NULL);
    scenario->prepare();
    before = calls_of(kind);
    assert_int_equal(scenario->act(), STATUS_SUCCESS);
    count = calls_of(kind) - before;
    machine_close(&machine);
    return count;
}

static void
act_with_failure(const struct scenario *scenario, int kind, uint64_t nth)
{
    const bool swallowed = (scenario->swallowed >> kind & 1) != 0;
    NTSTATUS status;

    write_pattern();
    fail_nth(kind, nth);
    status = scenario->act();
    fail_none();
    check_pattern();
    if (status != (swallowed ? STATUS_SUCCESS : statuses[kind])) {
        fail_msg("%s: call %d failing at %llu gives 0x%08x", scenario->name, kind,
                 (unsigned long long)nth, (unsigned)status);
    }
}

static void
run_failure(const struct scenario *scenario, int kind, uint64_t nth)
{
    struct snapshot before;
    uint64_t bytes;

    machine_open(&machine, NULL);
    scenario->prepare();
    before = take_snapshot();
    act_with_failure(scenario, kind, nth);
    check_same(&before);
    /*
     * Whatever it kept for the next time, it keeps only once: where the same call fails
     * the second time may be further on, so let it happen until nothing new can be
     * kept.
     */
    for (int i = 0; i < 8; i++) {
        fail_nth(kind, 1);
        (void)scenario->act();
        fail_none();
    }
    bytes = host_sim_balance(machine.host).bytes;
    for (int i = 0; i < 8; i++) {
        fail_nth(kind, 1);
        (void)scenario->act();
        fail_none();
    }
    assert_int_equal(host_sim_balance(machine.host).bytes, bytes);
    check_same(&before);
    assert_int_equal(scenario->act(), STATUS_SUCCESS);
    scenario->check();
    machine_close(&machine);
}

static void
services__each_call_fails_in_turn__nothing_left_and_works_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            const uint64_t count =
                kind == HOST_SIM_ANY_CALL ? 0 : count_calls(&scenarios[i], kind);

            if ((scenarios[i].kinds >> kind & 1) != 0 && count == 0) {
                fail_msg("%s never makes call %d", scenarios[i].name, kind);
            }
            for (uint64_t nth = 1; nth <= count; nth++) {
                run_failure(&scenarios[i], kind, nth);
            }
        }
    }
}

/* ---- What cannot fail ---- */

static void
start_three(void)
{
    EX_CREATE_PROFILE request = small_request();

    profiles[0] = machine_create_started(&machine, &request);
    request.Process = NULL;
    profiles[1] = machine_create_started(&machine, &request);
    request.ProfileSource = ProfileTotalCycles;
    profiles[2] = machine_create_started(&machine, &request);
}

static void
stop_and_close__every_call_fails__succeed(void **state)
{
    (void)state;
    machine_open(&machine, NULL);
    start_three();
    host_sim_fail(machine.host, HOST_SIM_ANY_CALL, 1, true);
    sim_fail_start(machine.sim, 1, HAL_STATUS);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, profiles[0]),
                     STATUS_SUCCESS);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, profiles[1]),
                     STATUS_SUCCESS);
    assert_int_equal(ExClose(&machine.system, profiles[2]), STATUS_SUCCESS);
    machine_check_undone(&machine);
    assert_int_equal(ExClose(&machine.system, profiles[0]), STATUS_SUCCESS);
    assert_int_equal(ExClose(&machine.system, profiles[1]), STATUS_SUCCESS);
    machine_close(&machine);
}

static void
finish_system__every_call_fails__all_undone(void **state)
{
    (void)state;
    machine_open(&machine, NULL);
    start_three();
    host_sim_fail(machine.host, HOST_SIM_ANY_CALL, 1, true);
    machine_close(&machine);
}

/* It asks for the privilege, and nothing else that could fail. */
/* rule: set-privilege-unknown */
static void
set_interval__every_call_fails__privilege_unknown(void **state)
{
    (void)state;
    machine_open(&machine, NULL);
    host_sim_fail(machine.host, HOST_SIM_ANY_CALL, 1, false);
    assert_int_equal(ExSetIntervalProfile(&machine.system, UserMode, 2000, ProfileTime),
                     STATUS_INSUFFICIENT_RESOURCES);
    host_sim_fail(machine.host, HOST_SIM_ANY_CALL, 2, true);
    assert_int_equal(ExSetIntervalProfile(&machine.system, UserMode, 2000, ProfileTime),
                     STATUS_SUCCESS);
    machine_close(&machine);
}

/* ---- Notifications, which have nobody to tell of a failure ---- */

static void
start_at_map(struct machine *m, const ntprof_notification *notification)
{
    EX_CREATE_PROFILE request = small_request();

    if (notification->kind != NTPROF_IMAGE_MAP ||
        !NT_SUCCESS(ExOpenProcess(&m->system, UserMode, MACHINE_HANDLE,
                                  PROCESS_QUERY_INFORMATION, notification->pid))) {
        return;
    }
    request.Process = machine_read_handle(m, MACHINE_HANDLE);
    request.ProfileBase = notification->base;
    if (NT_SUCCESS(ExCreateProfileEx(&m->system, UserMode, &request))) {
        (void)ExStartProfile(&m->system, UserMode,
                             machine_read_handle(m, MACHINE_HANDLE));
    }
}

static void
live_a_life(void)
{
    static const KPROFILE_SOURCE sources[] = {ProfileTime};
    static const ULONG64 processors[1] = {0xF};
    const HAL_WATCH wanted = {
        .ProcessId = 3000,
        .Flags = NTPROF_WATCH_DESCENDANTS,
        .SourceCount = 1,
        .Sources = sources,
        .ProcessorCount = 4,
        .Processors = processors,
    };

    machine.notify = start_at_map;
    assert_int_equal(HalSimBackend.Watch(machine.sim, &wanted), STATUS_SUCCESS);
    sim_fork(machine.sim, 3000, 3001);
    sim_exec(machine.sim, 3001);
    (void)sim_step(machine.sim, 20);
    sim_exit(machine.sim, 3000);
    sim_exit(machine.sim, 3001);
}

static void
notifications__each_call_fails_in_turn__nothing_left(void **state)
{
    uint64_t count;

    (void)state;
    machine_open(&machine, NULL);
    live_a_life();
    count = host_sim_calls(machine.host, HOST_SIM_ANY_CALL);
    assert_int_equal(machine.system.StartedCount, 6);
    machine_close(&machine);
    for (uint64_t nth = 1; nth <= count; nth++) {
        machine_open(&machine, NULL);
        host_sim_fail(machine.host, HOST_SIM_ANY_CALL, nth, false);
        live_a_life();
        assert_int_equal(sim_started(machine.sim), 0);
        machine_close(&machine);
        machine_open(&machine, NULL);
        host_sim_fail(machine.host, HOST_SIM_ANY_CALL, nth, true);
        live_a_life();
        machine_close(&machine);
    }
    for (uint64_t nth = 1; nth <= 24; nth++) {
        machine_open(&machine, NULL);
        sim_fail_start(machine.sim, nth, HAL_STATUS);
        live_a_life();
        machine_close(&machine);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            services__each_call_fails_in_turn__nothing_left_and_works_again),
        cmocka_unit_test(stop_and_close__every_call_fails__succeed),
        cmocka_unit_test(finish_system__every_call_fails__all_undone),
        cmocka_unit_test(set_interval__every_call_fails__privilege_unknown),
        cmocka_unit_test(notifications__each_call_fails_in_turn__nothing_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
