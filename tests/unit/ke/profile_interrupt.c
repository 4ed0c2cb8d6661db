/* SPDX-License-Identifier: MIT */
/*
 * The profile interrupt: a hit counts in a profile exactly if source, processor,
 * process, selector and address all match; and the statistics of what was taken add up.
 * docs/behaviour.md, Hits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guarded.h"
#include "ke/profint.h"
#include "machine.h"

enum { PID = 77, OTHER_PID = 78 };

struct fixture {
    struct machine machine;
    KE_SYSTEM *ke;
    KPROCESS process;
    ULONG *own; /* 16 each */
    ULONG *global;
    KPROFILE of_process;
    KPROFILE of_all;
};

static struct fixture fixture;
static const ULONG64 two_words[2] = {0x3, 0x1};

static KPROFILE
profile_of(KPROCESS *process, ULONG *counters)
{
    return (KPROFILE){
        .Counters = ~(ULONG)0,
        .Process = process,
        .RangeBase = 0x401000,
        .RangeSize = 64,
        .BucketLog2 = 2,
        .Buffer = counters,
        .Source = ProfileTime,
        .AffinityWords = 2,
        .Affinity = two_words,
    };
}

static int
setup(void **state)
{
    static const struct machine_options options = {.host = {.group_count = 2},
                                                   .sim = {.processor_count = 128}};

    fixture = (struct fixture){.ke = &fixture.machine.system.Ke};
    machine_open(&fixture.machine, &options);
    KeInitializeProcess(&fixture.process, PID);
    fixture.own = guarded_counters(16);
    fixture.global = guarded_counters(16);
    fixture.of_process = profile_of(&fixture.process, fixture.own);
    fixture.of_all = profile_of(&fixture.ke->Global, fixture.global);
    assert_int_equal(KeStartProfile(fixture.ke, &fixture.of_process), STATUS_SUCCESS);
    assert_int_equal(KeStartProfile(fixture.ke, &fixture.of_all), STATUS_SUCCESS);
    *state = &fixture;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    KeStopProfile(fixture.ke, &fixture.of_process);
    KeStopProfile(fixture.ke, &fixture.of_all);
    KeFinishProcess(fixture.ke, &fixture.process);
    machine_close(&fixture.machine);
    return 0;
}

struct hit_row {
    const char *what;
    KE_HIT hit;
    int own;    /* counted in the process's profile */
    int global; /* and in the one for all */
};

static const struct hit_row hit_rows[] = {
    {"all match", {ProfileTime, 0, PID, 0x401000, 0, KE_SCOPE_BOTH, 0}, 1, 1},
    {"other source", {ProfileTotalCycles, 0, PID, 0x401000, 0, KE_SCOPE_BOTH, 0}, 0, 0},
    {"same in 16 bits", {0x10000, 0, PID, 0x401000, 0, KE_SCOPE_BOTH, 0}, 0, 0},
    {"second processor", {ProfileTime, 1, PID, 0x401000, 0, KE_SCOPE_BOTH, 0}, 1, 1},
    {"third processor", {ProfileTime, 2, PID, 0x401000, 0, KE_SCOPE_BOTH, 0}, 0, 0},
    {"second group", {ProfileTime, 64, PID, 0x401000, 0, KE_SCOPE_BOTH, 0}, 1, 1},
    {"its next", {ProfileTime, 65, PID, 0x401000, 0, KE_SCOPE_BOTH, 0}, 0, 0},
    {"third group", {ProfileTime, 128, PID, 0x401000, 0, KE_SCOPE_BOTH, 0}, 0, 0},
    {"no such", {ProfileTime, 0xFFFFFFFF, PID, 0x401000, 0, KE_SCOPE_BOTH, 0}, 0, 0},
    {"other process", {ProfileTime, 0, OTHER_PID, 0x401000, 0, KE_SCOPE_BOTH, 0}, 0, 1},
    {"no process", {ProfileTime, 0, 0, 0x401000, 0, KE_SCOPE_BOTH, 0}, 0, 1},
    {"same hash", {ProfileTime, 0, PID + 4096, 0x401000, 0, KE_SCOPE_BOTH, 0}, 0, 1},
    {"beyond 32 bits",
     {ProfileTime, 0, PID + 0x100000000, 0x401000, 0, KE_SCOPE_BOTH, 0},
     0,
     1},
    {"below", {ProfileTime, 0, PID, 0x400FFF, 0, KE_SCOPE_BOTH, 0}, 0, 0},
    {"last byte", {ProfileTime, 0, PID, 0x40103F, 0, KE_SCOPE_BOTH, 0}, 1, 1},
    {"end", {ProfileTime, 0, PID, 0x401040, 0, KE_SCOPE_BOTH, 0}, 0, 0},
    {"selector told", {ProfileTime, 0, PID, 0x401000, 0x23, KE_SCOPE_BOTH, 0}, 1, 1},
    {"offset in a segment",
     {ProfileTime, 0, PID, 0x30401000, 0x0F, KE_SCOPE_BOTH, 0x401000},
     0,
     0},
    {"for process", {ProfileTime, 0, PID, 0x401000, 0, KE_SCOPE_PROCESS, 0}, 1, 0},
    {"for all", {ProfileTime, 0, PID, 0x401000, 0, KE_SCOPE_GLOBAL, 0}, 0, 1},
    {"for none", {ProfileTime, 0, PID, 0x401000, 0, 0, 0}, 0, 0},
};

static ULONG
sum(const ULONG *counters)
{
    ULONG total = 0;

    for (size_t i = 0; i < 16; i++) {
        total += counters[i];
    }
    return total;
}

/* rules: hit-all-match, hit-source-width */
static void
profile_interrupt__table__counts_only_what_matches(void **state)
{
    ULONG own = 0;
    ULONG global = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(hit_rows) / sizeof(hit_rows[0]); i++) {
        const struct hit_row *const row = &hit_rows[i];
        const ULONG matches = KeProfileInterruptWithSource(fixture.ke, &row->hit);

        own += (ULONG)row->own;
        global += (ULONG)row->global;
        if (matches != (ULONG)(row->own + row->global) || sum(fixture.own) != own ||
            sum(fixture.global) != global) {
            fail_msg("%s: %u matches", row->what, (unsigned)matches);
        }
    }
}

/* rule: hit-index */
static void
profile_interrupt__each_bucket__its_own_counter(void **state)
{
    (void)state;
    for (ULONG64 i = 0; i < 64; i++) {
        const KE_HIT hit = {ProfileTime, 0, PID, 0x401000 + i, 0, KE_SCOPE_PROCESS, 0};

        assert_int_equal(KeProfileInterruptWithSource(fixture.ke, &hit), 1);
    }
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(fixture.own[i], 4);
        assert_int_equal(fixture.global[i], 0);
    }
}

/* rule: hit-atomic */
static void
profile_interrupt__counter_at_top__wraps(void **state)
{
    const KE_HIT hit = {ProfileTime, 0, PID, 0x401004, 0, KE_SCOPE_PROCESS, 0};

    (void)state;
    fixture.own[1] = 0xFFFFFFFF;
    assert_int_equal(KeProfileInterruptWithSource(fixture.ke, &hit), 1);
    assert_int_equal(fixture.own[1], 0);
    assert_int_equal(fixture.own[0], 0);
    assert_int_equal(fixture.own[2], 0);
}

/* rule: hit-all-match */
static void
profile_interrupt__overlapping_profiles__every_one_counts(void **state)
{
    const KE_HIT hit = {ProfileTime, 0, PID, 0x401020, 0, KE_SCOPE_BOTH, 0};
    ULONG *const counters[3] = {guarded_counters(16), guarded_counters(16),
                                guarded_counters(16)};
    KPROFILE profiles[3];
    KE_STATISTICS statistics;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        profiles[i] = profile_of(&fixture.process, counters[i]);
        profiles[i].RangeBase += 16 * i;
        assert_int_equal(KeStartProfile(fixture.ke, &profiles[i]), STATUS_SUCCESS);
    }
    assert_int_equal(KeProfileInterruptWithSource(fixture.ke, &hit), 5);
    assert_int_equal(counters[0][8], 1);
    assert_int_equal(counters[1][4], 1);
    assert_int_equal(counters[2][0], 1);
    assert_int_equal(fixture.own[8], 1);
    assert_int_equal(fixture.global[8], 1);
    KeQueryStatistics(fixture.ke, ProfileTime, &statistics);
    assert_int_equal(statistics.Taken, 1);
    assert_int_equal(statistics.Counted, 1);
    for (size_t i = 0; i < 3; i++) {
        KeStopProfile(fixture.ke, &profiles[i]);
    }
}

/* taken = counted + outside, with processors that the statistics have no place for
 * among them. */
/* rule: hit-statistics */
static void
statistics__hits_inside_and_outside__add_up(void **state)
{
    static const ULONG processors[] = {0, 1, 63, 64, 127, 128, 4096, 0xFFFFFFFF};
    KE_STATISTICS statistics;
    ULONG64 matched = 0;

    (void)state;
    for (ULONG64 i = 0; i < 800; i++) {
        const KE_HIT hit = {ProfileTime,
                            processors[i % 8],
                            i % 3 == 0 ? PID : OTHER_PID,
                            0x400FF0 + i % 96,
                            0,
                            KE_SCOPE_BOTH,
                            0};

        matched += KeProfileInterruptWithSource(fixture.ke, &hit) != 0;
    }
    KeQueryStatistics(fixture.ke, ProfileTime, &statistics);
    assert_int_equal(statistics.Taken, 800);
    assert_int_equal(statistics.Counted, matched);
    assert_int_equal(statistics.Outside, 800 - matched);
    assert_true(matched > 0 && matched < 800);
    KeQueryStatistics(fixture.ke, ProfileTotalCycles, &statistics);
    assert_int_equal(statistics.Taken, 0);
}

/* As many sources as the table holds, with numbers that collide; then one more. */
static void
sources__table_full__statistics_kept_one_more_refused(void **state)
{
    KE_STATISTICS statistics;

    (void)state;
    for (ULONG i = 1; i < KE_SOURCE_SLOTS; i++) {
        assert_int_equal(KeRegisterSource(fixture.ke, i * 0x4000), STATUS_SUCCESS);
    }
    assert_int_equal(KeRegisterSource(fixture.ke, 0x77), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(KeRegisterSource(fixture.ke, ProfileTime), STATUS_SUCCESS);
    for (ULONG i = 0; i <= KE_SOURCE_SLOTS; i++) {
        const KE_HIT hit = {i * 0x4000, 0, PID, 1, 0, KE_SCOPE_BOTH, 0};

        assert_int_equal(KeProfileInterruptWithSource(fixture.ke, &hit), 0);
        KeQueryStatistics(fixture.ke, hit.Source, &statistics);
        assert_int_equal(statistics.Taken, i < KE_SOURCE_SLOTS ? 1 : 0);
        assert_int_equal(statistics.Outside, statistics.Taken);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            profile_interrupt__table__counts_only_what_matches, setup, teardown),
        cmocka_unit_test_setup_teardown(profile_interrupt__each_bucket__its_own_counter,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(profile_interrupt__counter_at_top__wraps, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            profile_interrupt__overlapping_profiles__every_one_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(statistics__hits_inside_and_outside__add_up,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            sources__table_full__statistics_kept_one_more_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
