/* SPDX-License-Identifier: MIT */
/* processors.c - exact counts by processor, and of all processes at once. */
#include "fixture.h"
#include "guarded.h"

#include <string.h>

static GROUP_AFFINITY
affinity_of(size_t processor)
{
    return (GROUP_AFFINITY){.Mask = (KAFFINITY)1 << (processor % 64),
                            .Group = (USHORT)(processor / 64)};
}

static HANDLE
start_on(size_t processor, ULONG *counters, KPROFILE_SOURCE source)
{
    GROUP_AFFINITY affinity = affinity_of(processor);
    HANDLE profile;

    assert_success(NtCreateProfileEx(&profile, NtCurrentProcess(),
                                     (PVOID)(uintptr_t)slot_address(0),
                                     SLOT_BYTES * SLOT_COUNT, 4, counters,
                                     SLOT_COUNT * sizeof(ULONG), source, 1, &affinity));
    assert_success(NtStartProfile(profile));
    return profile;
}

static void
two_processors(size_t processors[2])
{
    if (usable_processors(processors, 2) < 2) {
        skip_because("needs two processors");
    }
}

static void
affinity__a_profile_for_each_of_two_processors__each_counts_its_own(void **state)
{
    const KPROFILE_SOURCE source = slot_source(5);
    ULONG *const counters[3] = {guarded_counters(SLOT_COUNT),
                                guarded_counters(SLOT_COUNT),
                                guarded_counters(SLOT_COUNT)};
    size_t processors[2];
    HANDLE profiles[3];

    (void)state;
    two_processors(processors);
    profiles[0] = start_on(processors[0], counters[0], source);
    profiles[1] = start_on(processors[1], counters[1], source);
    profiles[2] = start_slots(NtCurrentProcess(), counters[2], source);
    for (int i = 0; i < 10; i++) {
        pin_to(processors[0]);
        call_slot(5, 3);
        pin_to(processors[1]);
        call_slot(5, 8);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_success(NtStopProfile(profiles[i]));
        assert_success(NtClose(profiles[i]));
    }
    assert_only(counters[0], SLOT_COUNT, 5, 30);
    assert_only(counters[1], SLOT_COUNT, 5, 80);
    assert_only(counters[2], SLOT_COUNT, 5, 110);
    assert_exact_statistics(session, source, 110, 110);
}

static void
affinity__of_one_processor__hits_on_the_other_are_not_taken(void **state)
{
    const KPROFILE_SOURCE source = slot_source(5);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    size_t processors[2];
    HANDLE profile;

    (void)state;
    two_processors(processors);
    profile = start_on(processors[1], counters, source);
    pin_to(processors[0]);
    call_slot(5, 20);
    pin_to(processors[1]);
    call_slot(5, 6);
    assert_success(NtClose(profile));
    assert_only(counters, SLOT_COUNT, 5, 6);
    assert_exact_statistics(session, source, 6, 6);
}

static void
affinity__as_a_mask_of_the_old_call__counts_the_same(void **state)
{
    const KPROFILE_SOURCE source = slot_source(5);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    size_t processors[2];
    HANDLE profile;

    (void)state;
    two_processors(processors);
    if (processors[1] >= 64) {
        skip_because("the processors are not in the first group");
    }
    assert_success(NtCreateProfile(
        &profile, NtCurrentProcess(), (PVOID)(uintptr_t)slot_address(0),
        SLOT_BYTES * SLOT_COUNT, 4, counters, SLOT_COUNT * sizeof(ULONG), source,
        (KAFFINITY)1 << processors[0]));
    assert_success(NtStartProfile(profile));
    pin_to(processors[0]);
    call_slot(5, 4);
    pin_to(processors[1]);
    call_slot(5, 70);
    assert_success(NtClose(profile));
    assert_only(counters, SLOT_COUNT, 5, 4);
}

static void
affinity__of_an_inactive_processor__invalid_parameter(void **state)
{
    GROUP_AFFINITY affinity = {.Mask = 1, .Group = 1000};
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    HANDLE profile = NULL;

    (void)state;
    assert_status(NtCreateProfileEx(
                      &profile, NtCurrentProcess(), (PVOID)(uintptr_t)slot_address(0),
                      SLOT_BYTES * SLOT_COUNT, 4, counters, SLOT_COUNT * sizeof(ULONG),
                      ProfileTime, 1, &affinity),
                  STATUS_INVALID_PARAMETER);
    assert_null(profile);
}

static int
call_when_told(const struct peer *test, void *argument)
{
    const size_t slot = *(const size_t *)argument;
    const uint64_t times = peer_hear(test);

    call_slot(slot, times);
    return 0;
}

static void
assert_global_refused(void)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    HANDLE profile = NULL;

    assert_status(NtCreateProfileEx(&profile, NULL, (PVOID)(uintptr_t)slot_address(0),
                                    SLOT_BYTES * SLOT_COUNT, 4, counters,
                                    SLOT_COUNT * sizeof(ULONG), ProfileTime, 0, NULL),
                  STATUS_PRIVILEGE_NOT_HELD);
    assert_null(profile);
}

static void
global_profile__with_the_privilege_only__counts_all_processes(void **state)
{
    const KPROFILE_SOURCE source = slot_source(11);
    size_t slot = 11;
    ULONG *const all = guarded_counters(SLOT_COUNT);
    ULONG *const own = guarded_counters(SLOT_COUNT);
    struct peer peers[2];
    HANDLE profiles[2];

    (void)state;
    if (!may_profile_all()) {
        assert_global_refused();
        return;
    }
    peer_start(&peers[0], call_when_told, &slot);
    profiles[0] = start_slots(NULL, all, source);
    profiles[1] = start_slots(NtCurrentProcess(), own, source);
    peer_start(&peers[1], call_when_told, &slot);
    peer_tell(&peers[0], 20);
    peer_tell(&peers[1], 300);
    call_slot(11, 1000);
    peer_finish(&peers[0]);
    peer_finish(&peers[1]);
    assert_success(NtStopProfile(profiles[0]));
    call_slot(11, 4000);
    assert_success(NtStopProfile(profiles[1]));
    assert_only(all, SLOT_COUNT, 11, 1320);
    assert_only(own, SLOT_COUNT, 11, 5000);
    read_statistics(session, source);
    assert_success(NtClose(profiles[0]));
    assert_success(NtClose(profiles[1]));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(
            affinity__a_profile_for_each_of_two_processors__each_counts_its_own),
        fixture_test(affinity__of_one_processor__hits_on_the_other_are_not_taken),
        fixture_test(affinity__as_a_mask_of_the_old_call__counts_the_same),
        fixture_test(affinity__of_an_inactive_processor__invalid_parameter),
        fixture_test(global_profile__with_the_privilege_only__counts_all_processes),
    };

    return fixture_run("processors", tests, sizeof(tests) / sizeof(tests[0]));
}
