/* SPDX-License-Identifier: MIT */
/*
 * The index of started profiles against a plain list of them: every hit must count in
 * exactly the same counters, whatever was started and stopped before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guarded.h"
#include "ke/index.h"
#include "ke/ke.h"
#include "machine.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PROFILES = 200, MOST_COUNTERS = 40, STEPS = 6000, PID = 77 };

/* How the regions of a run lie. */
enum shape { ANYWHERE, NESTED, IDENTICAL, DISJOINT, AT_TOP, SHAPES };

struct listed {
    bool started;
    KPROFILE profile;
    ULONG *counters; /* as many as expected; NULL: never started */
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
    ULONG *const before = listed->counters;

    memset(listed, 0, sizeof(*listed));
    listed->counters = before != NULL ? before : guarded_counters(MOST_COUNTERS);
    memset(listed->counters, 0, sizeof(listed->expected));
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
    if (listed->counters != NULL) {
        assert_memory_equal(listed->counters, listed->expected,
                            sizeof(listed->expected));
    }
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

/* What has been found of a tree so far, in order. */
struct walked {
    size_t nodes;
    size_t ranges;
    size_t leaf_depth;
    ULONG64 base;
    ULONG64 sequence;
};

static size_t
count_entries(const KI_NODE *node)
{
    size_t count = KI_FANOUT;

    while (count > 0 && node->Spans[count - 1].Base == ~(ULONG64)0 &&
           node->Spans[count - 1].Last == 0) {
        count--;
    }
    return count;
}

static void
check_leaf_entry(const KI_NODE *node, size_t at, struct walked *walked)
{
    const KPROFILE *const profile = node->Profiles[at];
    const ULONG64 base = node->Spans[at].Base;

    assert_true(base > walked->base ||
                (base == walked->base && node->Sequences[at] > walked->sequence));
    assert_true(base == profile->RangeBase &&
                node->Spans[at].Last == base + profile->RangeSize - 1);
    assert_true(node->Sequences[at] == profile->Sequence);
    assert_ptr_equal(node->Ranges[at].Buffer, profile->Buffer);
    walked->base = base;
    walked->sequence = node->Sequences[at];
    walked->ranges++;
}

/* All leaves equally deep, no node but the root nearly empty, all in order, no span
 * wider than what is in it: otherwise searches would look where nothing is. Returns the
 * span. */
static KI_SPAN
check_node(const KI_POOL *pool, ULONG number, size_t depth, struct walked *walked)
{
    const KI_NODE *const node = KiNodeAt(pool, number);
    const size_t count = count_entries(node);
    KI_SPAN span = {node->Spans[0].Base, 0};

    walked->nodes++;
    assert_true(depth <= KI_DEPTH_MAX);
    assert_true(count >= (depth > 1                 ? KI_LEAST_ENTRIES
                          : (number & KI_LEAF) != 0 ? 1
                                                    : 2));
    for (size_t at = 0; at < count; at++) {
        if ((number & KI_LEAF) != 0) {
            check_leaf_entry(node, at, walked);
        } else {
            const KI_SPAN child =
                check_node(pool, node->Children[at], depth + 1, walked);

            assert_memory_equal(&child, &node->Spans[at], sizeof(child));
        }
        span.Last = node->Spans[at].Last > span.Last ? node->Spans[at].Last : span.Last;
    }
    if ((number & KI_LEAF) != 0) {
        assert_true(walked->leaf_depth == 0 || walked->leaf_depth == depth);
        walked->leaf_depth = depth;
    }
    return span;
}

/* The whole index and its pool; ranges: how many it must hold. */
static void
check_index(const KE_SYSTEM *ke, const KPROCESS *process, size_t ranges)
{
    const KI_POOL *const pool = &ke->Pool;
    const ULONG root = process->Roots[KI_TREE_ADDRESSES];
    struct walked walked = {0};
    size_t nodes = 0;

    assert_int_equal(process->Roots[KI_TREE_SEGMENTS], 0);
    if (root != 0) {
        (void)check_node(pool, root, 1, &walked);
    }
    assert_int_equal(walked.ranges, ranges);
    assert_int_equal(pool->Used, walked.nodes);
    for (ULONG chunk = 0; chunk < pool->Chunks; chunk++) {
        nodes += (size_t)KI_POOL_FIRST_CHUNK << chunk;
    }
    /* None is lost but the one that stands for none. */
    assert_int_equal(pool->Used + pool->Free + pool->Retired + (pool->Chunks != 0),
                     nodes);
    if (pool->Used != 0) {
        assert_true(pool->Free >= 2 * KI_DEPTH_MAX + 1);
    }
}

/* Those that can count. */
static size_t
count_started(const struct run *run)
{
    size_t started = 0;

    for (size_t i = 0; i < MOST_PROFILES; i++) {
        started += run->listed[i].started && run->listed[i].profile.RangeSize != 0;
    }
    return started;
}

/* The number of started profiles grows for a third of the time, holds, and falls. */
static void
step(struct run *run, int i)
{
    const size_t number = draw(run, MOST_PROFILES);
    const uint64_t start_per_cent = i < STEPS / 3 ? 90 : i < 2 * STEPS / 3 ? 50 : 10;

    if (draw(run, 3) == 0) {
        hit_one(run);
    } else if (!run->listed[number].started) {
        if (draw(run, 100) < start_per_cent) {
            start_one(run, number);
        }
    } else if (draw(run, 100) >= start_per_cent) {
        stop_one(run, number);
    }
}

static void
run_shape(enum shape shape, uint64_t seed)
{
    struct run *const run = calloc(1, sizeof(*run));
    KE_STATISTICS statistics;

    assert_non_null(run);
    print_message("shape %d, seed %llu\n", (int)shape, (unsigned long long)seed);
    machine_open(&run->machine, NULL);
    KeInitializeProcess(&run->process, PID);
    run->random = seed;
    run->shape = shape;
    for (int i = 0; i < STEPS; i++) {
        step(run, i);
        check_index(&run->machine.system.Ke, &run->process, count_started(run));
    }
    for (size_t i = 0; i < MOST_PROFILES; i++) {
        check_counters(&run->listed[i]);
        if (run->listed[i].started) {
            stop_one(run, i);
        }
    }
    KeQueryStatistics(&run->machine.system.Ke, ProfileTime, &statistics);
    assert_int_equal(statistics.Taken, statistics.Counted + statistics.Outside);
    check_index(&run->machine.system.Ke, &run->process, 0);
    KeFinishProcess(&run->machine.system.Ke, &run->process);
    assert_int_equal(run->machine.system.Ke.Pool.Chunks, 0);
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
    ULONG *const counter = guarded_counters(1);
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

/* ---- orders that would make a tree without balance a list ---- */

enum { MANY = 3000 };

enum order { ASCENDING, DESCENDING, SAME_BASE, FROM_BOTH_ENDS, ORDERS };

struct many {
    struct machine machine;
    KPROCESS process;
    KPROFILE profiles[MANY];
    ULONG *counters; /* MANY */
};

static struct many *
many_open(const struct machine_options *options)
{
    struct many *const many = calloc(1, sizeof(*many));

    assert_non_null(many);
    many->counters = guarded_counters(MANY);
    machine_open(&many->machine, options);
    KeInitializeProcess(&many->process, PID);
    return many;
}

static void
many_close(struct many *many)
{
    KeFinishProcess(&many->machine.system.Ke, &many->process);
    machine_close(&many->machine);
    free(many);
}

/* The number-th profile: one counter for 16 bytes. */
static NTSTATUS
many_start(struct many *many, size_t number, ULONG64 base, ULONG64 size)
{
    many->profiles[number] = (KPROFILE){
        .Process = &many->process,
        .RangeBase = base,
        .RangeSize = size,
        .BucketLog2 = 31,
        .Buffer = &many->counters[number],
        .Counters = 1,
        .Source = ProfileTime,
        .AffinityWords = 1,
        .Affinity = all_processors,
    };
    return KeStartProfile(&many->machine.system.Ke, &many->profiles[number]);
}

static ULONG
many_hit(struct many *many, ULONG64 address)
{
    const KE_HIT hit = {.Source = ProfileTime,
                        .ProcessId = PID,
                        .Address = address,
                        .Scope = KE_SCOPE_BOTH};

    return KeProfileInterruptWithSource(&many->machine.system.Ke, &hit);
}

static ULONG64
base_in_order(enum order order, size_t number)
{
    switch (order) {
    case ASCENDING:
        return 0x10000 + number * 16;
    case DESCENDING:
        return 0x10000 + (MANY - 1 - number) * 16;
    case SAME_BASE:
        return 0x10000;
    default:
        return 0x10000 + (number % 2 == 0 ? number : 2 * MANY - number) * 16;
    }
}

/* Half of them go, those that were first in their order first; then all the others from
 * the end. */
static void
check_order(enum order order)
{
    struct many *const many = many_open(NULL);
    KE_SYSTEM *const ke = &many->machine.system.Ke;

    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(many_start(many, i, base_in_order(order, i), 16),
                         STATUS_SUCCESS);
    }
    check_index(ke, &many->process, MANY);
    if (order != FROM_BOTH_ENDS) {
        /* What is never come back to is left nearly full. */
        assert_true(ke->Pool.Used <= MANY / (KI_FANOUT - KI_LEAST_ENTRIES - 2));
    }
    assert_int_equal(many_hit(many, 0x10000 - 1), 0);
    for (size_t i = 0; i < MANY; i += 7) {
        assert_int_equal(many_hit(many, base_in_order(order, i) + 15),
                         order == SAME_BASE ? MANY : 1);
    }
    for (size_t i = 0; i < MANY / 2; i++) {
        KeStopProfile(ke, &many->profiles[i]);
    }
    check_index(ke, &many->process, MANY - MANY / 2);
    for (size_t i = 0; i < MANY; i++) {
        many->counters[i] = 0;
    }
    assert_int_equal(many_hit(many, base_in_order(order, MANY - 1)),
                     order == SAME_BASE ? MANY - MANY / 2 : 1);
    assert_int_equal(many->counters[0], 0);
    assert_int_equal(many->counters[MANY - 1], 1);
    for (size_t i = MANY; i > MANY / 2; i--) {
        KeStopProfile(ke, &many->profiles[i - 1]);
    }
    assert_int_equal(ke->Pool.Used, 0);
    assert_int_equal(many->process.Roots[KI_TREE_ADDRESSES], 0);
    many_close(many);
}

static void
index__hostile_orders__balanced_and_all_given_back(void **state)
{
    (void)state;
    for (int order = 0; order < ORDERS; order++) {
        check_order((enum order)order);
    }
}

/* A chain: each within the one before. A hit in the midst is in all that are around it.
 */
static void
index__nested_deeply__exactly_those_around(void **state)
{
    struct many *const many = many_open(NULL);

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(many_start(many, i, 0x10000 + i, 2 * (MANY - i)),
                         STATUS_SUCCESS);
    }
    for (size_t i = 0; i < MANY; i += 100) {
        assert_int_equal(many_hit(many, 0x10000 + i), i + 1);
        assert_int_equal(many_hit(many, 0x10000 + 2 * MANY - 1 - i), i + 1);
    }
    check_index(&many->machine.system.Ke, &many->process, MANY);
    KeDetachProcess(&many->machine.system.Ke, &many->process);
    assert_int_equal(many_hit(many, 0x10000 + MANY), 0);
    assert_int_equal(many->machine.system.Ke.Pool.Used, 0);
    for (size_t i = 0; i < MANY; i++) {
        KeStopProfile(&many->machine.system.Ke, &many->profiles[i]);
    }
    many_close(many);
}

/* ---- memory ---- */

/* Whichever start finds no memory changes nothing; what is started goes on, and can be
 * stopped while there still is none. */
static void
index__no_memory_at_any_start__others_count_and_stop(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth < 8; nth++) {
        struct many *const many = many_open(NULL);
        KE_SYSTEM *const ke = &many->machine.system.Ke;
        size_t started = 0;

        host_sim_fail(many->machine.host, HOST_SIM_ALLOCATE, nth, true);
        while (started < MANY &&
               NT_SUCCESS(many_start(many, started, 0x10000 + started, 1))) {
            started++;
        }
        /* The first three: statistics, nodes, and the count of interrupts. */
        assert_int_equal(started != 0, nth > 3);
        check_index(ke, &many->process, started);
        for (size_t i = 0; i < started; i++) {
            assert_int_equal(many_hit(many, 0x10000 + i), 1);
        }
        assert_int_equal(many_hit(many, 0x10000 + started), 0);
        for (size_t i = started; i > 0; i--) {
            KeStopProfile(ke, &many->profiles[i - 1]);
            assert_int_equal(many_hit(many, 0x10000 + i - 1), 0);
        }
        assert_int_equal(ke->Pool.Used, 0);
        many_close(many);
    }
}

static void
index__nodes_of_many_processes__all_given_back(void **state)
{
    struct many *const many = many_open(NULL);
    KE_SYSTEM *const ke = &many->machine.system.Ke;
    KPROCESS *const processes = calloc(MANY, sizeof(*processes));

    (void)state;
    assert_non_null(processes);
    for (size_t i = 0; i < MANY; i++) {
        KeInitializeProcess(&processes[i], 10000 + i);
        many->profiles[i] = (KPROFILE){
            .Process = &processes[i],
            .RangeBase = 0x10000,
            .RangeSize = 16,
            .BucketLog2 = 31,
            .Buffer = &many->counters[i],
            .Counters = 1,
            .Source = ProfileTime,
            .AffinityWords = 1,
            .Affinity = all_processors,
        };
        assert_int_equal(KeStartProfile(ke, &many->profiles[i]), STATUS_SUCCESS);
    }
    assert_int_equal(ke->Pool.Used, MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(many_hit(many, 0x10000), 0); /* of none of them */
        KeStopProfile(ke, &many->profiles[i]);
        KeFinishProcess(ke, &processes[i]);
        assert_int_equal(ke->Pool.Used, MANY - 1 - i);
    }
    assert_int_equal(ke->Pool.Chunks, 0);
    free(processes);
    many_close(many);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index__random_starts_and_stops__counts_as_a_plain_list),
        cmocka_unit_test(index__one_wide_region_under_many__found_at_both_ends),
        cmocka_unit_test(index__hostile_orders__balanced_and_all_given_back),
        cmocka_unit_test(index__nested_deeply__exactly_those_around),
        cmocka_unit_test(index__no_memory_at_any_start__others_count_and_stop),
        cmocka_unit_test(index__nodes_of_many_processes__all_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
