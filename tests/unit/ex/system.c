/* SPDX-License-Identifier: MIT */
/* Whole facilities: several at once, and none left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"

/* rule: interval-of-session */
static void
system__two_at_once__do_not_see_each_other(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    struct machine machines[2];
    HANDLE handles[2];
    KE_STATISTICS statistics;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        machine_open(&machines[i], NULL);
        handles[i] = machine_create(&machines[i], &request);
    }
    assert_int_equal(ExStartProfile(&machines[0].system, UserMode, handles[0]),
                     STATUS_SUCCESS);
    assert_int_equal(machines[1].system.StartedCount, 0);
    assert_int_equal(sim_started(machines[1].sim), 0);
    assert_int_equal(machine_hit(&machines[0], MACHINE_CODE), 1);
    assert_int_equal(machine_hit(&machines[1], MACHINE_CODE), 0);
    assert_int_equal(machine_counter(&machines[0], 0), 1);
    assert_int_equal(machine_counter(&machines[1], 0), 0);
    assert_int_equal(ExStopProfile(&machines[1].system, UserMode, handles[1]),
                     STATUS_PROFILING_NOT_STARTED);
    /* A handle opened more in one means nothing in the other. */
    handles[0] = machine_open_process(&machines[0], MACHINE_OTHER_PID);
    assert_int_equal(ExClose(&machines[1].system, handles[0]), STATUS_INVALID_HANDLE);
    assert_int_equal(
        ExSetIntervalProfile(&machines[0].system, UserMode, 5000, ProfileTime),
        STATUS_SUCCESS);
    assert_int_equal(ExQueryIntervalProfile(&machines[1].system, UserMode, ProfileTime,
                                            MACHINE_INTERVAL),
                     STATUS_SUCCESS);
    assert_int_equal(
        *(ULONG *)host_sim_at(machines[1].host, MACHINE_INTERVAL, sizeof(ULONG)),
        10000);
    KeQueryStatistics(&machines[1].system.Ke, ProfileTime, &statistics);
    assert_int_equal(statistics.Taken, 0);
    /* The end of one is not the other's. */
    machine_close(&machines[0]);
    assert_int_equal(ExStartProfile(&machines[1].system, UserMode, handles[1]),
                     STATUS_SUCCESS);
    assert_int_equal(machine_hit(&machines[1], MACHINE_CODE), 1);
    machine_close(&machines[1]);
}

static void
initialize__unknown_version__invalid_parameter(void **state)
{
    struct host_sim *const host_sim = host_sim_create(NULL);
    KSYSTEM system;
    struct sim *const sim = sim_create(NULL, &system.Ke);
    const HOST host = host_sim_host(host_sim);
    const HAL hal = sim_hal(sim);

    (void)state;
    assert_int_equal(
        ExInitializeSystem(&system, &host, &hal, &(EX_OPTIONS){.Version = 0xDEAD}),
        STATUS_INVALID_PARAMETER);
    assert_int_equal(host_sim_balance(host_sim).allocations, 0);
    sim_delete(sim);
    host_sim_delete(host_sim);
}

/* rule: call-caller-layout */
static void
initialize__layout_of_callers__only_what_they_can_have(void **state)
{
    static const struct {
        EX_OPTIONS options;
        NTSTATUS status;
    } rows[] = {
        {{.CallerLayout = EX_LAYOUT_32, .Abi = EX_ABI_X86}, STATUS_SUCCESS},
        {{.CallerLayout = EX_LAYOUT_32, .Abi = EX_ABI_X64, .Wow64 = TRUE},
         STATUS_SUCCESS},
        {{.CallerLayout = EX_LAYOUT_32, .Abi = EX_ABI_X64}, STATUS_INVALID_PARAMETER},
        {{.CallerLayout = EX_LAYOUT_64, .Abi = EX_ABI_X64}, STATUS_SUCCESS},
        {{.CallerLayout = 3}, STATUS_INVALID_PARAMETER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct host_sim *const host_sim = host_sim_create(NULL);
        KSYSTEM system;
        struct sim *const sim = sim_create(NULL, &system.Ke);
        const HOST host = host_sim_host(host_sim);
        const HAL hal = sim_hal(sim);

        assert_int_equal(ExInitializeSystem(&system, &host, &hal, &rows[i].options),
                         rows[i].status);
        if (NT_SUCCESS(rows[i].status)) {
            ExFinishSystem(&system);
        }
        assert_int_equal(host_sim_balance(host_sim).allocations, 0);
        sim_delete(sim);
        host_sim_delete(host_sim);
    }
}

static void
initialize__every_allocation_fails_in_turn__nothing_left(void **state)
{
    struct host_sim *const host_sim = host_sim_create(NULL);
    KSYSTEM system;
    struct sim *const sim = sim_create(NULL, &system.Ke);
    const HOST host = host_sim_host(host_sim);
    const HAL hal = sim_hal(sim);
    NTSTATUS status = STATUS_UNSUCCESSFUL;
    uint64_t n = 0;

    (void)state;
    while (!NT_SUCCESS(status)) {
        n++;
        assert_in_range(n, 1, 20);
        host_sim_clear_failures(host_sim);
        host_sim_fail(host_sim, HOST_SIM_ALLOCATE, n, false);
        status = ExInitializeSystem(&system, &host, &hal, NULL);
        if (!NT_SUCCESS(status)) {
            assert_int_equal(status, STATUS_INSUFFICIENT_RESOURCES);
            assert_int_equal(host_sim_balance(host_sim).allocations, 0);
        }
    }
    assert_true(n > 1);
    ExFinishSystem(&system);
    assert_int_equal(host_sim_balance(host_sim).allocations, 0);
    assert_null(host_sim_complaint(host_sim));
    sim_delete(sim);
    host_sim_delete(host_sim);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(system__two_at_once__do_not_see_each_other),
        cmocka_unit_test(initialize__unknown_version__invalid_parameter),
        cmocka_unit_test(initialize__layout_of_callers__only_what_they_can_have),
        cmocka_unit_test(initialize__every_allocation_fails_in_turn__nothing_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
