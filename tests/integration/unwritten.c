/* SPDX-License-Identifier: MIT */
/*
 * unwritten.c - a caller takes its buffer away from a started profile: what can no
 * longer be added is in the statistics, to the hit. rules: start-lock-holds,
 * stop-unwritten, hit-statistics
 */
#include "fixture.h"
#include "guarded.h"

#include <sys/mman.h>
#include <unistd.h>

/* One counter for each slot, in the middle of a page: nothing of it is shared. */
enum { OFFSET = 100, SLOT = 9, OTHER_SLOT = 200, CALLS = 10 };

static size_t
page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static ULONG *
counters_in(const struct guarded *memory)
{
    return (ULONG *)(void *)memory->pages + OFFSET;
}

static void
hit(size_t slot)
{
    call_slot(slot, CALLS);
    assert_success(ntprof_session_flush(session));
}

static void
assert_unwritten(KPROFILE_SOURCE source, uint64_t counted, uint64_t unwritten)
{
    assert_exact_statistics(session, source, counted, counted);
    assert_int_equal(read_statistics(session, source).unwritten, unwritten);
}

static void
stop__buffer_protected__unwritten_counts_are_told(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *const counters = counters_in(&memory);
    const HANDLE profile = start_slots(NtCurrentProcess(), counters, source);

    (void)state;
    hit(SLOT);
    assert_only(counters, SLOT_COUNT, SLOT, CALLS);
    assert_int_equal(mprotect(memory.pages, page(), PROT_READ), 0);
    hit(SLOT);
    assert_unwritten(source, 2 * CALLS, 0); /* not yet: the profile is started */
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, CALLS);
    assert_unwritten(source, 2 * CALLS, CALLS);

    /* The statistics go on, and the profile works where it can be written. */
    assert_int_equal(mprotect(memory.pages, page(), PROT_READ | PROT_WRITE), 0);
    assert_success(NtStartProfile(profile));
    hit(SLOT);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 2 * CALLS);
    assert_unwritten(source, 3 * CALLS, CALLS);
    assert_success(NtClose(profile));
    guarded_free(&memory);
}

static void
stop__protection_lifted_before__nothing_is_lost(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *const counters = counters_in(&memory);
    const HANDLE profile = start_slots(NtCurrentProcess(), counters, source);

    (void)state;
    assert_int_equal(mprotect(memory.pages, page(), PROT_READ), 0);
    hit(SLOT);
    assert_only(counters, SLOT_COUNT, SLOT, 0);
    assert_int_equal(mprotect(memory.pages, page(), PROT_READ | PROT_WRITE), 0);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, CALLS);
    assert_unwritten(source, CALLS, 0);
    assert_success(NtClose(profile));
    guarded_free(&memory);
}

/* By the last close too, and of each profile that the hit matched. */
static void
close__buffer_unmapped__unwritten_counts_of_each_profile(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    const KPROFILE_SOURCE other_source = slot_source(OTHER_SLOT);
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *const counters = counters_in(&memory);
    ULONG *const kept = guarded_counters(SLOT_COUNT);
    const HANDLE first = start_slots(NtCurrentProcess(), counters, source);
    const HANDLE second = start_slots(NtCurrentProcess(), counters, source);
    const HANDLE third = start_slots(NtCurrentProcess(), kept, source);
    const HANDLE other = start_slots(NtCurrentProcess(), kept, other_source);

    (void)state;
    hit(SLOT);
    assert_only(counters, SLOT_COUNT, SLOT, 2 * CALLS);
    assert_int_equal(munmap(memory.pages, page()), 0);
    hit(SLOT);
    hit(OTHER_SLOT);
    assert_success(NtClose(first));
    assert_unwritten(source, 2 * CALLS, CALLS);
    assert_success(NtClose(second));
    assert_unwritten(source, 2 * CALLS, 2 * CALLS);
    assert_success(NtClose(third));
    assert_success(NtClose(other));
    assert_unwritten(source, 2 * CALLS, 2 * CALLS);
    assert_unwritten(other_source, CALLS, 0);
    assert_int_equal(kept[SLOT], 2 * CALLS);
    assert_int_equal(kept[OTHER_SLOT], CALLS);
    guarded_free(&memory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(stop__buffer_protected__unwritten_counts_are_told),
        fixture_test(stop__protection_lifted_before__nothing_is_lost),
        fixture_test(close__buffer_unmapped__unwritten_counts_of_each_profile),
    };

    return fixture_run("unwritten", tests, sizeof(tests) / sizeof(tests[0]));
}
