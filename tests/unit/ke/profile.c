/* SPDX-License-Identifier: MIT */
/* Kernel profiles: linked while started, detached from an address space that is gone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guarded.h"
#include "machine.h"

enum { PID = 77 };

static const ULONG64 affinity[1] = {0x3};

struct fixture {
    struct machine machine;
    KE_SYSTEM *ke;
    KPROCESS process;
    ULONG *counters; /* 16 */
};

static struct fixture fixture;

static int
setup(void **state)
{
    fixture = (struct fixture){.ke = &fixture.machine.system.Ke};
    machine_open(&fixture.machine, NULL);
    KeInitializeProcess(&fixture.process, PID);
    fixture.counters = guarded_counters(16);
    *state = &fixture;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    KeFinishProcess(fixture.ke, &fixture.process);
    machine_close(&fixture.machine);
    return 0;
}

static KPROFILE
profile_of(KPROCESS *process)
{
    return (KPROFILE){
        .Counters = ~(ULONG)0,
        .Process = process,
        .RangeBase = 0x401000,
        .RangeSize = 64,
        .BucketLog2 = 2,
        .Buffer = fixture.counters,
        .Source = ProfileTime,
        .AffinityWords = 1,
        .Affinity = affinity,
    };
}

static ULONG
hit(uint64_t pid)
{
    const KE_HIT at = {ProfileTime, 0, pid, 0x401000, 0, KE_SCOPE_BOTH, 0};

    return KeProfileInterruptWithSource(fixture.ke, &at);
}

static void
start(KPROFILE *profile)
{
    assert_int_equal(KeStartProfile(fixture.ke, profile), STATUS_SUCCESS);
}

static void
profile__started_and_stopped_often__counts_only_between(void **state)
{
    KPROFILE profile = profile_of(&fixture.process);

    (void)state;
    for (ULONG i = 1; i <= 20; i++) {
        assert_int_equal(hit(PID), 0);
        start(&profile);
        assert_int_equal(hit(PID), 1);
        KeStopProfile(fixture.ke, &profile);
        assert_int_equal(hit(PID), 0);
        assert_int_equal(fixture.counters[0], i);
    }
}

static void
profile__same_one_in_two_processes__each_counts_its_own(void **state)
{
    KPROCESS other;
    KPROFILE first = profile_of(&fixture.process);
    KPROFILE second;

    (void)state;
    /* The same chain of the table. */
    KeInitializeProcess(&other, PID + KE_PROCESS_BUCKETS);
    second = profile_of(&other);
    second.Buffer = &fixture.counters[8];
    second.RangeSize = 32;
    start(&first);
    start(&second);
    assert_int_equal(hit(PID), 1);
    assert_int_equal(hit(PID + KE_PROCESS_BUCKETS), 1);
    assert_int_equal(hit(PID + KE_PROCESS_BUCKETS), 1);
    assert_int_equal(fixture.counters[0], 1);
    assert_int_equal(fixture.counters[8], 2);
    KeStopProfile(fixture.ke, &first);
    assert_int_equal(hit(PID), 0);
    assert_int_equal(hit(PID + KE_PROCESS_BUCKETS), 1);
    KeStopProfile(fixture.ke, &second);
    KeFinishProcess(fixture.ke, &other);
}

static void
detach__started_profiles__never_count_again_stop_as_usual(void **state)
{
    KPROFILE first = profile_of(&fixture.process);
    KPROFILE second = profile_of(&fixture.process);
    KPROFILE global = profile_of(&fixture.ke->Global);

    (void)state;
    start(&first);
    start(&second);
    start(&global);
    KeDetachProcess(fixture.ke, &fixture.process);
    assert_true(first.Detached);
    assert_true(second.Detached);
    assert_false(global.Detached);
    assert_int_equal(hit(PID), 1); /* the global one */
    KeStopProfile(fixture.ke, &first);
    KeStopProfile(fixture.ke, &second);
    assert_int_equal(hit(PID), 1);
    KeStopProfile(fixture.ke, &global);
    assert_int_equal(fixture.counters[0], 2);
}

/* exec: the old program's profiles are over, the new one's begin. */
static void
detach__profile_started_afterwards__counts_alone(void **state)
{
    KPROFILE old = profile_of(&fixture.process);
    KPROFILE young = profile_of(&fixture.process);

    (void)state;
    young.Buffer = &fixture.counters[1];
    young.RangeSize = 32;
    start(&old);
    KeDetachProcess(fixture.ke, &fixture.process);
    start(&young);
    assert_false(young.Detached);
    assert_int_equal(hit(PID), 1);
    KeStopProfile(fixture.ke, &old);
    assert_int_equal(hit(PID), 1);
    assert_int_equal(fixture.counters[0], 0);
    assert_int_equal(fixture.counters[1], 2);
    KeStopProfile(fixture.ke, &young);
    assert_int_equal(hit(PID), 0);
}

static void
detach__profile_started_again__counts_again(void **state)
{
    KPROFILE profile = profile_of(&fixture.process);

    (void)state;
    start(&profile);
    KeDetachProcess(fixture.ke, &fixture.process);
    assert_int_equal(hit(PID), 0);
    KeStopProfile(fixture.ke, &profile);
    start(&profile);
    assert_false(profile.Detached);
    assert_int_equal(hit(PID), 1);
    KeStopProfile(fixture.ke, &profile);
}

/* A detached profile needs no interrupts: they would be another program's. */
static void
detach__last_profile__interrupts_given_back(void **state)
{
    KPROFILE profile = profile_of(&fixture.process);

    (void)state;
    start(&profile);
    assert_int_equal(sim_started(fixture.machine.sim), 2);
    KeDetachProcess(fixture.ke, &fixture.process);
    assert_int_equal(sim_started(fixture.machine.sim), 0);
    KeStopProfile(fixture.ke, &profile);
    assert_int_equal(sim_stop_calls(fixture.machine.sim), 2);
}

static void
profile__size_0__started_never_counts(void **state)
{
    KPROFILE profile = profile_of(&fixture.process);

    (void)state;
    profile.RangeSize = 0;
    start(&profile);
    assert_int_equal(hit(PID), 0);
    KeStopProfile(fixture.ke, &profile);
    assert_int_equal(fixture.counters[0], 0);
}

static void
finish_process__index_grown__memory_given_back(void **state)
{
    KPROFILE profiles[100];
    const uint64_t before = host_sim_balance(fixture.machine.host).allocations;
    KPROCESS process;

    (void)state;
    KeInitializeProcess(&process, PID);
    for (size_t i = 0; i < 100; i++) {
        profiles[i] = profile_of(&process);
        start(&profiles[i]);
    }
    assert_int_equal(hit(PID), 100);
    for (size_t i = 0; i < 100; i++) {
        KeStopProfile(fixture.ke, &profiles[i]);
    }
    KeFinishProcess(fixture.ke, &process);
    /* The statistics of the source stay. */
    assert_int_equal(host_sim_balance(fixture.machine.host).allocations, before + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(profile__started_and_stopped_often__counts_only_between),
        TEST(profile__same_one_in_two_processes__each_counts_its_own),
        TEST(detach__started_profiles__never_count_again_stop_as_usual),
        TEST(detach__profile_started_afterwards__counts_alone),
        TEST(detach__profile_started_again__counts_again),
        TEST(detach__last_profile__interrupts_given_back),
        TEST(profile__size_0__started_never_counts),
        TEST(finish_process__index_grown__memory_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
