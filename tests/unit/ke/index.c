/* SPDX-License-Identifier: MIT */
/*
 * The index of started profiles against a plain list of them: every hit must count in exactly the
 * same counters, whatever was started and stopped before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ke/index.h"
#include "machine.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PROFILES = 200, MOST_COUNTERS = 40, STEPS = 6000, PID = 77 };

/* How the regions of a run lie. */
enum shape { ANYWHERE, NESTED, IDENTICAL, DISJOINT, AT_TOP, SHAPES };

struct listed {
    bool started;
    KPROFILE profile;
    ULONG counters[MOST_COUNTERS];
    ULONG expected[MOST_COUNTERS];
};

struct run {
    struct machine machine;
    KPROCESS process;
    uint64_t random;
    enum shape shape;
    struct listed listed[MOST_PROFILES];
};

static const ULONG64 all_processors[1] = {0xF};

static uint64_t
draw(struct run *run, uint64_t bound)
{
    run->random = run->random * 6364136223846793005u + 1442695040888963407u;
    return (run->random >> 33) % bound;
}

static void
draw_region(struct run *run, size_t number, KPROFILE *profile)
{
    static const ULONG64 top = ~(ULONG64)0;
    const ULONG64 size = draw(run, 4) == 0 ? draw(run, 3) : 1 + draw(run, 120);

    profile->BucketLog2 = 2 + (ULONG)draw(run, 4);
    profile->Counters = ~(ULONG)0;
    profile->RangeSize = size;
    switch (run->shape) {
    case NESTED:
        profile->RangeBase = 0x10000 - size / 2;
        break;
    case IDENTICAL:
        profile->RangeBase = 0x10000;
        profile->RangeSize = 100;
        break;
    case DISJOINT:
        profile->RangeBase = 0x10000 + number * 120;
        break;
    case AT_TOP:
        /* The last byte of memory belongs to no region; the one below may. */
        profile->RangeBase = top - size - draw(run, 20);
        break;
    default:
        profile->RangeBase = 0x10000 + draw(run, 2000);
        break;
    }
}

static void
start_one(struct run *run, size_t number)
{
    struct listed *const listed = &run->listed[number];

    memset(listed, 0, sizeof(*listed));
    draw_region(run, number, &listed->profile);
    listed->profile.Process = &run->process;
    listed->profile.Buffer = listed->counters;
    listed->profile.Source = ProfileTime;
    listed->profile.AffinityWords = 1;
    listed->profile.Affinity = all_processors;
    assert_int_equal(KeStartProfile(&run->machine.system.Ke, &listed->profile),
                     STATUS_SUCCESS);
    listed->started = true;
}

static void
check_counters(const struct listed *listed)
{
    assert_memory_equal(listed->counters, listed->expected, sizeof(listed->counters));
}

static void
stop_one(struct run *run, size_t number)
{
    KeStopProfile(&run->machine.system.Ke, &run->listed[number].profile);
    run->listed[number].started = false;
    check_counters(&run->listed[number]);
}

/* The plain way, with 128-bit ends that cannot wrap. */
static ULONG
count_plainly(struct run *run, ULONG64 address)
{
    ULONG matches = 0;

    for (size_t i = 0; i < MOST_PROFILES; i++) {
        struct listed *const listed = &run->listed[i];
        const unsigned __int128 end =
            (unsigned __int128)listed->profile.RangeBase + listed->profile.RangeSize;

        if (listed->started && address >= listed->profile.RangeBase && address < end) {
            const ULONG64 offset = address - listed->profile.RangeBase;

            listed->expected[offset / (1ull << listed->profile.BucketLog2)]++;
            matches++;
        }
    }
    return matches;
}

static ULONG64
draw_address(struct run *run)
{
    const KPROFILE *const near = &run->listed[draw(run, MOST_PROFILES)].profile;

    switch (draw(run, 6)) {
    case 0:
        return near->RangeBase;
    case 1:
        return near->RangeBase - 1;
    case 2:
        return near->RangeBase + near->RangeSize;
    case 3:
        return near->RangeBase + near->RangeSize - 1;
    case 4:
        return draw(run, 2) == 0 ? 0 : ~(ULONG64)0;
    default:
        return near->RangeBase + draw(run, 130);
    }
}

static void
hit_one(struct run *run)
{
    const KE_HIT hit = {
        .Source = ProfileTime,
        .Processor = (ULONG)draw(run, 4),
        .ProcessId = PID,
        .Address = draw_address(run),
        .Scope = KE_SCOPE_BOTH,
    };
    const ULONG expected = count_plainly(run, hit.Address);
    const ULONG counted = KeProfileInterruptWithSource(&run->machine.system.Ke, &hit);

    assert_int_equal(counted, expected);
}

/* Sorted by base, and Reach no larger than it must be: otherwise searches walk further back. */
static void
check_order(const struct run *run)
{
    const KI_INDEX *const index = run->process.Index;
    ULONG64 reach = 0;

    for (ULONG i = 0; index != NULL && i < index->Count; i++) {
        const KI_RANGE *const range = &index->Ranges[i];

        reach = range->Last > reach ? range->Last : reach;
        assert_true(range->Reach == reach);
        assert_true(i == 0 || range->Base >= index->Ranges[i - 1].Base);
    }
}

static void
step(struct run *run)
{
    const size_t number = draw(run, MOST_PROFILES);

    if (draw(run, 3) != 0) {
        hit_one(run);
    } else if (run->listed[number].started) {
        stop_one(run, number);
    } else {
        start_one(run, number);
    }
}

static void
run_shape(enum shape shape, uint64_t seed)
{
    struct run *const run = calloc(1, sizeof(*run));
    KE_BOOKS books;

    assert_non_null(run);
    print_message("shape %d, seed %llu\n", (int)shape, (unsigned long long)seed);
    machine_open(&run->machine, NULL);
    KeInitializeProcess(&run->process, PID);
    run->random = seed;
    run->shape = shape;
    for (int i = 0; i < STEPS; i++) {
        step(run);
        check_order(run);
    }
    for (size_t i = 0; i < MOST_PROFILES; i++) {
        check_counters(&run->listed[i]);
        if (run->listed[i].started) {
            stop_one(run, i);
        }
    }
    KeQueryBooks(&run->machine.system.Ke, ProfileTime, &books);
    assert_int_equal(books.Taken, books.Counted + books.Outside);
    KeFinishProcess(&run->machine.system.Ke, &run->process);
    machine_close(&run->machine);
    free(run);
}

static void
index__random_starts_and_stops__counts_as_a_plain_list(void **state)
{
    const char *const text = getenv("NTPROF_TEST_SEED");
    const uint64_t first = text != NULL ? strtoull(text, NULL, 0) : 1;

    (void)state;
    for (int shape = 0; shape < SHAPES; shape++) {
        run_shape((enum shape)shape, first);
        run_shape((enum shape)shape, first + 1000);
    }
}

/* One that covers all the others: the search has to go back to it past them all. */
static void
index__one_wide_region_under_many__found_at_both_ends(void **state)
{
    struct run *const run = calloc(1, sizeof(*run));
    KPROFILE wide = {
        .RangeBase = 0x1000, .RangeSize = 0x100000, .BucketLog2 = 20, .Counters = 1};
    ULONG counter[1] = {0};
    KE_HIT hit = {.Source = ProfileTime, .ProcessId = PID, .Scope = KE_SCOPE_BOTH};

    (void)state;
    assert_non_null(run);
    machine_open(&run->machine, NULL);
    KeInitializeProcess(&run->process, PID);
    wide.Process = &run->process;
    wide.Buffer = counter;
    wide.AffinityWords = 1;
    wide.Affinity = all_processors;
    run->shape = DISJOINT;
    for (size_t i = 0; i < 100; i++) {
        start_one(run, i);
    }
    assert_int_equal(KeStartProfile(&run->machine.system.Ke, &wide), STATUS_SUCCESS);
    hit.Address = 0x1000;
    assert_int_equal(KeProfileInterruptWithSource(&run->machine.system.Ke, &hit), 1);
    hit.Address = 0x1000 + 0x100000 - 1;
    assert_int_equal(KeProfileInterruptWithSource(&run->machine.system.Ke, &hit), 1);
    hit.Address++;
    assert_int_equal(KeProfileInterruptWithSource(&run->machine.system.Ke, &hit), 0);
    assert_int_equal(counter[0], 2);
    KeStopProfile(&run->machine.system.Ke, &wide);
    for (size_t i = 0; i < 100; i++) {
        stop_one(run, i);
    }
    KeFinishProcess(&run->machine.system.Ke, &run->process);
    machine_close(&run->machine);
    free(run);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index__random_starts_and_stops__counts_as_a_plain_list),
        cmocka_unit_test(index__one_wide_region_under_many__found_at_both_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
