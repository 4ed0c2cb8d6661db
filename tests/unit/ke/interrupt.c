/* SPDX-License-Identifier: MIT */
/*
 * Which interrupts the HAL is asked for: one for each source, processor and process
 * that some started profile needs, for as long as one does. docs/behaviour.md, Hits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guarded.h"
#include "machine.h"

enum { PID = 77, OTHER_PID = 78 };

struct fixture {
    struct machine machine;
    KE_SYSTEM *ke;
    KPROCESS process;
    KPROCESS other;
    ULONG *counters; /* 16 */
};

static struct fixture fixture;

static int
setup(void **state)
{
    machine_open(&fixture.machine, NULL);
    fixture.ke = &fixture.machine.system.Ke;
    KeInitializeProcess(&fixture.process, PID);
    fixture.counters = guarded_counters(16);
    KeInitializeProcess(&fixture.other, OTHER_PID);
    *state = &fixture;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    KeFinishProcess(fixture.ke, &fixture.process);
    KeFinishProcess(fixture.ke, &fixture.other);
    machine_close(&fixture.machine);
    return 0;
}

static KPROFILE
profile_of(KPROCESS *process, KPROFILE_SOURCE source, const ULONG64 *affinity)
{
    return (KPROFILE){
        .Counters = ~(ULONG)0,
        .Process = process,
        .RangeBase = 0x401000,
        .RangeSize = 64,
        .BucketLog2 = 2,
        .Buffer = fixture.counters,
        .Source = source,
        .AffinityWords = 1,
        .Affinity = affinity,
    };
}

/* The processors, of the first 8, on which the source is started, as a mask. */
static unsigned
started_mask(KPROFILE_SOURCE source, uint64_t pid)
{
    unsigned mask = 0;

    for (ULONG i = 0; i < 8; i++) {
        mask |= (unsigned)sim_is_started(fixture.machine.sim, source, i, pid) << i;
    }
    return mask;
}

static void
start(KPROFILE *profile)
{
    assert_int_equal(KeStartProfile(fixture.ke, profile), STATUS_SUCCESS);
    assert_int_equal(profile->Type, 0x17);
    assert_int_equal(profile->Size, sizeof(KPROFILE));
    assert_true(profile->Started);
}

static void
interrupts__one_profile__started_on_its_processors_alone(void **state)
{
    const ULONG64 affinity[1] = {0x5};
    KPROFILE profile = profile_of(&fixture.process, ProfileTime, affinity);

    (void)state;
    start(&profile);
    assert_int_equal(started_mask(ProfileTime, PID), 0x5);
    assert_int_equal(started_mask(ProfileTime, 0), 0);
    assert_int_equal(sim_started(fixture.machine.sim), 2);
    KeStopProfile(fixture.ke, &profile);
    assert_int_equal(sim_started(fixture.machine.sim), 0);
    assert_int_equal(sim_stop_calls(fixture.machine.sim), 2);
}

/* rule: start-source-shared */
static void
interrupts__shared_source__hal_asked_at_first_told_at_last(void **state)
{
    const ULONG64 affinities[3] = {0x3, 0x6, 0x2};
    KPROFILE profiles[3];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        profiles[i] = profile_of(&fixture.process, ProfileTime, &affinities[i]);
        start(&profiles[i]);
    }
    assert_int_equal(started_mask(ProfileTime, PID), 0x7);
    assert_int_equal(sim_start_calls(fixture.machine.sim), 3);
    KeStopProfile(fixture.ke, &profiles[0]);
    assert_int_equal(started_mask(ProfileTime, PID), 0x6);
    KeStopProfile(fixture.ke, &profiles[1]);
    assert_int_equal(started_mask(ProfileTime, PID), 0x2);
    KeStopProfile(fixture.ke, &profiles[2]);
    assert_int_equal(started_mask(ProfileTime, PID), 0);
    assert_int_equal(sim_start_calls(fixture.machine.sim), 3);
    assert_int_equal(sim_stop_calls(fixture.machine.sim), 3);
}

static void
interrupts__other_source_process_or_all__kept_apart(void **state)
{
    const ULONG64 affinity[1] = {0x1};
    KPROFILE profiles[4] = {
        profile_of(&fixture.process, ProfileTime, affinity),
        profile_of(&fixture.process, ProfileTotalCycles, affinity),
        profile_of(&fixture.other, ProfileTime, affinity),
        profile_of(&fixture.ke->Global, ProfileTime, affinity),
    };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        start(&profiles[i]);
    }
    assert_int_equal(sim_started(fixture.machine.sim), 4);
    KeStopProfile(fixture.ke, &profiles[0]);
    assert_int_equal(started_mask(ProfileTime, PID), 0);
    assert_int_equal(started_mask(ProfileTotalCycles, PID), 1);
    assert_int_equal(started_mask(ProfileTime, OTHER_PID), 1);
    assert_int_equal(started_mask(ProfileTime, 0), 1);
    for (size_t i = 1; i < 4; i++) {
        KeStopProfile(fixture.ke, &profiles[i]);
    }
}

/* Every processor in turn is the one where the HAL fails. */
/* rules: start-hal-fails, start-fails-clean */
static void
interrupts__hal_fails_on_kth_processor__nothing_left(void **state)
{
    const ULONG64 affinity[1] = {0x2D};
    const ULONG64 both[1] = {0x4};
    KPROFILE standing = profile_of(&fixture.process, ProfileTime, both);

    (void)state;
    start(&standing);
    for (uint64_t k = 1; k <= 3; k++) {
        KPROFILE profile = profile_of(&fixture.process, ProfileTime, affinity);

        sim_fail_start(fixture.machine.sim, k, STATUS_ACCESS_DENIED);
        assert_int_equal(KeStartProfile(fixture.ke, &profile), STATUS_ACCESS_DENIED);
        assert_false(profile.Started);
        assert_int_equal(started_mask(ProfileTime, PID), 0x4);
        sim_fail_start(fixture.machine.sim, 0, STATUS_SUCCESS);
        assert_int_equal(sim_hit(fixture.machine.sim, ProfileTime, 2, PID, 0x401000),
                         1);
        start(&profile);
        assert_int_equal(started_mask(ProfileTime, PID), 0x2D);
        KeStopProfile(fixture.ke, &profile);
        assert_int_equal(started_mask(ProfileTime, PID), 0x4);
    }
    KeStopProfile(fixture.ke, &standing);
}

static void
interrupts__failed_start__hits_find_nothing(void **state)
{
    const ULONG64 affinity[1] = {0xF};
    KPROFILE profile = profile_of(&fixture.process, ProfileTime, affinity);
    const KE_HIT hit = {.Source = ProfileTime,
                        .ProcessId = PID,
                        .Address = 0x401000,
                        .Scope = KE_SCOPE_BOTH,
                        0};

    (void)state;
    fixture.counters[0] = 0;
    sim_fail_start(fixture.machine.sim, 2, STATUS_NOT_SUPPORTED);
    assert_int_equal(KeStartProfile(fixture.ke, &profile), STATUS_NOT_SUPPORTED);
    assert_int_equal(KeProfileInterruptWithSource(fixture.ke, &hit), 0);
    assert_int_equal(fixture.counters[0], 0);
    assert_false(fixture.process.Hashed);
}

/* A later profile may be for more processors than the first one knew. */
static void
interrupts__wider_affinity_later__both_counted(void **state)
{
    const ULONG64 narrow[1] = {0x1};
    const ULONG64 wide[1] = {1ull << 63 | 1};
    KPROFILE first = profile_of(&fixture.process, ProfileTime, narrow);
    KPROFILE second = profile_of(&fixture.process, ProfileTime, wide);

    (void)state;
    start(&first);
    start(&second);
    assert_true(sim_is_started(fixture.machine.sim, ProfileTime, 63, PID));
    KeStopProfile(fixture.ke, &second);
    assert_false(sim_is_started(fixture.machine.sim, ProfileTime, 63, PID));
    assert_int_equal(started_mask(ProfileTime, PID), 1);
    KeStopProfile(fixture.ke, &first);
}

/* The same with more groups: the record of the source has to grow and keep its counts.
 */
static void
interrupts__more_groups_later__counts_kept(void **state)
{
    static const struct machine_options options = {.host = {.group_count = 3},
                                                   .sim = {.processor_count = 192}};
    const ULONG64 one_word[1] = {0x1};
    const ULONG64 three_words[3] = {0x1, 0, 0x8};
    struct machine machine;
    KPROCESS process;
    KPROFILE first = profile_of(&process, ProfileTime, one_word);
    KPROFILE second = profile_of(&process, ProfileTime, three_words);

    (void)state;
    machine_open(&machine, &options);
    KeInitializeProcess(&process, PID);
    second.AffinityWords = 3;
    assert_int_equal(KeStartProfile(&machine.system.Ke, &first), STATUS_SUCCESS);
    assert_int_equal(KeStartProfile(&machine.system.Ke, &second), STATUS_SUCCESS);
    assert_true(sim_is_started(machine.sim, ProfileTime, 131, PID));
    assert_int_equal(sim_started(machine.sim), 2);
    KeStopProfile(&machine.system.Ke, &first);
    assert_true(sim_is_started(machine.sim, ProfileTime, 0, PID));
    KeStopProfile(&machine.system.Ke, &second);
    assert_int_equal(sim_started(machine.sim), 0);
    KeFinishProcess(&machine.system.Ke, &process);
    machine_close(&machine);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            interrupts__one_profile__started_on_its_processors_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(
            interrupts__shared_source__hal_asked_at_first_told_at_last, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            interrupts__other_source_process_or_all__kept_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(
            interrupts__hal_fails_on_kth_processor__nothing_left, setup, teardown),
        cmocka_unit_test_setup_teardown(interrupts__failed_start__hits_find_nothing,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(interrupts__wider_affinity_later__both_counted,
                                        setup, teardown),
        cmocka_unit_test(interrupts__more_groups_later__counts_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
