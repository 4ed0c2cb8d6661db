/* SPDX-License-Identifier: MIT */
/* Process objects by pid: alive, ended, watched, and pids that are used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guarded.h"
#include "machine.h"
#include "ps/ps.h"

enum { PID = 500 };

struct fixture {
    struct machine machine;
    PS_SYSTEM *ps;
};

static struct fixture fixture;

static int
setup(void **state)
{
    machine_open(&fixture.machine, NULL);
    fixture.ps = &fixture.machine.system.Ps;
    host_sim_add_process(fixture.machine.host, PID);
    *state = &fixture;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    machine_close(&fixture.machine);
    return 0;
}

static void
make(EPROCESS *process, uint64_t pid, BOOLEAN watched)
{
    *process = (EPROCESS){0};
    assert_int_equal(PsInitializeProcess(fixture.ps, process, pid, watched),
                     STATUS_SUCCESS);
}

static void
process__alive__found_by_pid(void **state)
{
    EPROCESS process;
    EPROCESS same_chain;

    (void)state;
    host_sim_add_process(fixture.machine.host, PID + PS_PROCESS_BUCKETS);
    make(&process, PID, FALSE);
    make(&same_chain, PID + PS_PROCESS_BUCKETS, FALSE);
    assert_ptr_equal(PsLookupProcess(fixture.ps, PID), &process);
    assert_ptr_equal(PsLookupProcess(fixture.ps, PID + PS_PROCESS_BUCKETS),
                     &same_chain);
    assert_null(PsLookupProcess(fixture.ps, PID + 1));
    assert_false(PsIsProcessGone(fixture.ps, &process));
    PsDeleteProcess(fixture.ps, &process);
    assert_null(PsLookupProcess(fixture.ps, PID));
    assert_ptr_equal(PsLookupProcess(fixture.ps, PID + PS_PROCESS_BUCKETS),
                     &same_chain);
    PsDeleteProcess(fixture.ps, &same_chain);
}

static void
process__no_such_pid__invalid_cid(void **state)
{
    EPROCESS process = {0};

    (void)state;
    assert_int_equal(PsInitializeProcess(fixture.ps, &process, PID + 1, FALSE),
                     STATUS_INVALID_CID);
    assert_null(PsLookupProcess(fixture.ps, PID + 1));
    /* As ex does when it gives the object back. */
    PsDeleteProcess(fixture.ps, &process);
}

static void
process__ended__no_longer_found(void **state)
{
    EPROCESS process;

    (void)state;
    make(&process, PID, FALSE);
    host_sim_end_process(fixture.machine.host, PID);
    assert_true(PsIsProcessGone(fixture.ps, &process));
    assert_null(PsLookupProcess(fixture.ps, PID));
    assert_false(process.Active);
    PsDeleteProcess(fixture.ps, &process);
}

static void
process__pid_used_again__another_process(void **state)
{
    EPROCESS old;
    EPROCESS young;

    (void)state;
    make(&old, PID, FALSE);
    host_sim_end_process(fixture.machine.host, PID);
    host_sim_add_process(fixture.machine.host, PID);
    assert_true(PsIsProcessGone(fixture.ps, &old));
    assert_null(PsLookupProcess(fixture.ps, PID));
    make(&young, PID, FALSE);
    assert_ptr_equal(PsLookupProcess(fixture.ps, PID), &young);
    assert_true(PsIsProcessGone(fixture.ps, &old));
    PsDeleteProcess(fixture.ps, &old);
    assert_ptr_equal(PsLookupProcess(fixture.ps, PID), &young);
    PsDeleteProcess(fixture.ps, &young);
}

static void
process__watched_and_ended_in_host__found_until_told(void **state)
{
    EPROCESS process;

    (void)state;
    make(&process, 31337, TRUE); /* the host has never known it */
    assert_ptr_equal(PsLookupProcess(fixture.ps, 31337), &process);
    assert_false(PsIsProcessGone(fixture.ps, &process));
    assert_int_equal(PsCheckAccess(fixture.ps, &process), STATUS_SUCCESS);
    PsEndProcess(fixture.ps, &process);
    assert_null(PsLookupProcess(fixture.ps, 31337));
    assert_true(PsIsProcessGone(fixture.ps, &process));
    PsEndProcess(fixture.ps, &process);
    PsDeleteProcess(fixture.ps, &process);
}

static void
access__host_refuses__denied(void **state)
{
    EPROCESS process;

    (void)state;
    make(&process, PID, FALSE);
    assert_int_equal(PsCheckAccess(fixture.ps, &process), STATUS_SUCCESS);
    host_sim_set_accessible(fixture.machine.host, PID, false);
    assert_int_equal(PsCheckAccess(fixture.ps, &process), STATUS_ACCESS_DENIED);
    PsDeleteProcess(fixture.ps, &process);
}

/* Its end takes its started profiles out of the way of the pid's next process. */
static void
end_process__started_profile__detached(void **state)
{
    static const ULONG64 affinity[1] = {1};
    ULONG *const counters = guarded_counters(4);
    EPROCESS process;
    KPROFILE profile;
    const KE_HIT hit = {ProfileTime, 0, PID, 0x1000, 0, KE_SCOPE_BOTH, 0};

    (void)state;
    make(&process, PID, FALSE);
    profile = (KPROFILE){.Process = &process.Pcb,
                         .Counters = 4,
                         .RangeBase = 0x1000,
                         .RangeSize = 16,
                         .BucketLog2 = 2,
                         .Buffer = counters,
                         .Source = ProfileTime,
                         .AffinityWords = 1,
                         .Affinity = affinity};
    assert_int_equal(KeStartProfile(fixture.ps->Ke, &profile), STATUS_SUCCESS);
    assert_int_equal(KeProfileInterruptWithSource(fixture.ps->Ke, &hit), 1);
    PsEndProcess(fixture.ps, &process);
    assert_true(profile.Detached);
    assert_int_equal(KeProfileInterruptWithSource(fixture.ps->Ke, &hit), 0);
    assert_int_equal(counters[0], 1);
    KeStopProfile(fixture.ps->Ke, &profile);
    /* Started once more, it stays without interrupts. */
    assert_int_equal(KeStartProfile(fixture.ps->Ke, &profile), STATUS_SUCCESS);
    assert_int_equal(sim_started(fixture.machine.sim), 0);
    assert_int_equal(KeProfileInterruptWithSource(fixture.ps->Ke, &hit), 0);
    KeStopProfile(fixture.ps->Ke, &profile);
    PsDeleteProcess(fixture.ps, &process);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(process__alive__found_by_pid),
        TEST(process__no_such_pid__invalid_cid),
        TEST(process__ended__no_longer_found),
        TEST(process__pid_used_again__another_process),
        TEST(process__watched_and_ended_in_host__found_until_told),
        TEST(access__host_refuses__denied),
        TEST(end_process__started_profile__detached),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
