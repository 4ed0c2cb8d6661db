/* SPDX-License-Identifier: MIT */
/*
 * Where the defects of old versions lead a hit outside the counters: what is told of
 * it, that nothing is written, and that nothing counts any more. And the two ways in:
 * the region's end taken as inside, and segments. docs/behaviour.md, Hits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guarded.h"
#include "machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PID = 77,
    PAGE = 4096,
    PAGES = 4,
    IRQL = 27,
    INSTRUCTION = 0x512345,
    CANARY = 0xA5,
    SELECTOR = 0x0F
};
enum { COUNTERS = 32, COUNTERS_BYTES = COUNTERS * sizeof(ULONG) };

#define CODE 0x401000ull
#define CALLERS_PAGE 0x7000000ull /* the caller's address of the first page */

static const ULONG64 all_processors[1] = {1};

/* As ex allocates them. */
struct profile {
    KPROFILE kernel;
    MDL mdl;
};

struct fixture {
    struct machine machine;
    KE_SYSTEM *ke;
    KPROCESS process;
    struct guarded memory;
    unsigned char *pages; /* PAGES */
    ULONG *counters;      /* COUNTERS, elsewhere */
};

static struct fixture fixture;

static int
setup(void **state)
{
    fixture = (struct fixture){.ke = &fixture.machine.system.Ke};
    machine_open(&fixture.machine, NULL);
    fixture.ke->ProfileIrql = IRQL;
    fixture.ke->BugCheckAddress = INSTRUCTION;
    KeInitializeProcess(&fixture.process, PID);
    fixture.memory =
        guarded_make(PAGES * PAGE / (size_t)sysconf(_SC_PAGESIZE) + 1, MAP_PRIVATE);
    fixture.pages = fixture.memory.pages + fixture.memory.bytes - PAGES * PAGE;
    fixture.counters = guarded_counters(COUNTERS);
    memset(fixture.pages, CANARY, PAGES * PAGE);
    *state = &fixture;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    KeFinishProcess(fixture.ke, &fixture.process);
    machine_close(&fixture.machine);
    guarded_free(&fixture.memory);
    guarded_finish();
    return 0;
}

/* One with its counters in fixture.pages, buckets of four bytes, and a region for more
 * of them than the buffer has. */
static struct profile
profile_at(ULONG offset, ULONG buffer_bytes, ULONG buckets)
{
    struct profile profile = {
        .kernel =
            {
                .Process = &fixture.process,
                .RangeBase = CODE,
                .RangeSize = (ULONG64)buckets * 4,
                .BucketLog2 = 2,
                .Buffer = (ULONG *)(void *)(fixture.pages + offset),
                .Counters = buffer_bytes / 4,
                .Source = ProfileTime,
                .AffinityWords = 1,
                .Affinity = all_processors,
            },
        .mdl = {.StartVa = CALLERS_PAGE + offset, .ByteCount = buffer_bytes},
    };

    return profile;
}

/* One whose counters are in fixture.counters and are enough. */
static struct profile
plain_profile(ULONG64 base, ULONG64 size)
{
    struct profile profile = profile_at(0, COUNTERS_BYTES, 0);

    profile.kernel.RangeBase = base;
    profile.kernel.RangeSize = size;
    profile.kernel.Buffer = fixture.counters;
    return profile;
}

static void
start(struct profile *profile)
{
    assert_int_equal(KeStartProfile(fixture.ke, &profile->kernel), STATUS_SUCCESS);
}

static void
stop(struct profile *profile)
{
    KeStopProfile(fixture.ke, &profile->kernel);
}

static ULONG
hit(ULONG64 address)
{
    const KE_HIT at = {ProfileTime, 0, PID, address, 0, KE_SCOPE_BOTH, 0};

    return KeProfileInterruptWithSource(fixture.ke, &at);
}

static ULONG
hit_segment(ULONG64 address, ULONG selector, ULONG64 offset)
{
    const KE_HIT at = {ProfileTime, 0, PID, address, selector, KE_SCOPE_BOTH, offset};

    return KeProfileInterruptWithSource(fixture.ke, &at);
}

static KE_STATISTICS
statistics(void)
{
    KE_STATISTICS statistics;

    KeQueryStatistics(fixture.ke, ProfileTime, &statistics);
    return statistics;
}

static void
check_canaries(const char *what)
{
    for (size_t i = 0; i < PAGES * PAGE; i++) {
        if (fixture.pages[i] != CANARY) {
            fail_msg("%s: byte %zu was written", what, i);
        }
    }
}

/* ---- KeHalt ---- */

static KE_HALT
halt_of(ULONG64 value)
{
    return (KE_HALT){
        .Kind = KE_HALT_BUG_CHECK,
        .Code = (ULONG)value,
        .Parameters = {value, value + 1, value + 2, value + 3},
    };
}

static void
halt__none_yet__query_tells_and_writes_nothing(void **state)
{
    const KE_HALT before = halt_of(1);
    KE_HALT halt = before;

    (void)state;
    assert_false(KeQueryHalt(fixture.ke, &halt));
    assert_false(KeQueryHalt(fixture.ke, NULL));
    assert_memory_equal(&halt, &before, sizeof(halt));
}

static void
halt__twice__first_wins(void **state)
{
    const KE_HALT first = halt_of(10);
    const KE_HALT second = halt_of(20);
    KE_HALT halt;

    (void)state;
    KeHalt(fixture.ke, &first);
    KeHalt(fixture.ke, &second);
    assert_true(KeQueryHalt(fixture.ke, &halt));
    assert_true(KeQueryHalt(fixture.ke, NULL));
    assert_memory_equal(&halt, &first, sizeof(halt));
}

struct halter {
    pthread_t thread;
    pthread_barrier_t *barrier;
    KE_SYSTEM *systems;
    KE_HALT halt;
    bool torn; /* it saw a halt that nobody made, or one that changed */
};

enum { HALT_ROUNDS = 2000, HALTERS = 2 };

static bool
is_whole(const KE_HALT *halt)
{
    const KE_HALT whole = halt_of(halt->Code);

    return memcmp(halt, &whole, sizeof(whole)) == 0;
}

static void *
halt_all(void *context)
{
    struct halter *const halter = context;

    for (size_t i = 0; i < HALT_ROUNDS; i++) {
        KE_HALT early = halter->halt;
        KE_HALT late;

        pthread_barrier_wait(halter->barrier);
        KeHalt(&halter->systems[i], &halter->halt);
        if (!KeQueryHalt(&halter->systems[i], &early)) {
            continue; /* the other one is about to tell */
        }
        if (!KeQueryHalt(&halter->systems[i], &late) || !is_whole(&early) ||
            memcmp(&early, &late, sizeof(late)) != 0) {
            halter->torn = true;
        }
    }
    return NULL;
}

static void
halt__from_two_threads__one_wins_and_is_whole(void **state)
{
    struct halter halters[HALTERS] = {{.halt = halt_of(100)}, {.halt = halt_of(200)}};
    KE_SYSTEM *const systems = calloc(HALT_ROUNDS, sizeof(*systems));
    pthread_barrier_t barrier;

    (void)state;
    assert_non_null(systems);
    pthread_barrier_init(&barrier, NULL, HALTERS);
    for (size_t i = 0; i < HALTERS; i++) {
        halters[i].barrier = &barrier;
        halters[i].systems = systems;
        assert_int_equal(
            pthread_create(&halters[i].thread, NULL, halt_all, &halters[i]), 0);
    }
    for (size_t i = 0; i < HALTERS; i++) {
        pthread_join(halters[i].thread, NULL);
        assert_false(halters[i].torn);
    }
    for (size_t i = 0; i < HALT_ROUNDS; i++) {
        KE_HALT halt;

        assert_true(KeQueryHalt(&systems[i], &halt));
        assert_true(is_whole(&halt) && (halt.Code == 100 || halt.Code == 200));
    }
    pthread_barrier_destroy(&barrier);
    free(systems);
}

/* rule: hit-halted */
static void
halt__hits_afterwards__outside_and_not_counted(void **state)
{
    struct profile profile = plain_profile(CODE, 64);
    const KE_HALT halt = halt_of(1);

    (void)state;
    start(&profile);
    assert_int_equal(hit(CODE), 1);
    KeHalt(fixture.ke, &halt);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hit(CODE), 0);
    }
    assert_int_equal(fixture.counters[0], 1);
    assert_int_equal(statistics().Taken, 4);
    assert_int_equal(statistics().Counted, 1);
    assert_int_equal(statistics().Outside, 3);
    stop(&profile);
}

/* ---- hits behind the counters ---- */

struct overrun_row {
    const char *what;
    ULONG offset;       /* of the buffer in its first page */
    ULONG buffer_bytes; /* N */
    ULONG number;       /* of the counter hit */
    ULONG kind;
};

static const struct overrun_row overrun_rows[] = {
    {"next counter on the page", 0, 64, 16, KE_HALT_CORRUPTION},
    {"last counter of the page", 0, 64, 1023, KE_HALT_CORRUPTION},
    {"first of the next page", 0, 64, 1024, KE_HALT_BUG_CHECK},
    {"a whole page, the next", 0, 4096, 1024, KE_HALT_BUG_CHECK},
    {"N mod 4 is 3, its partial counter", 0, 4095, 1023, KE_HALT_CORRUPTION},
    {"N mod 4 is 3, behind it", 0, 4095, 1024, KE_HALT_BUG_CHECK},
    {"N mod 4 is 1, on a page of its own", 0, 4097, 1024, KE_HALT_CORRUPTION},
    {"N mod 4 is 1, end of that page", 0, 4097, 2047, KE_HALT_CORRUPTION},
    {"N mod 4 is 1, behind that page", 0, 4097, 2048, KE_HALT_BUG_CHECK},
    {"no whole counter", 0, 3, 0, KE_HALT_CORRUPTION},
    {"no buffer at all", 0, 0, 0, KE_HALT_BUG_CHECK},
    {"ends with the page", PAGE - 4, 4, 1, KE_HALT_BUG_CHECK},
    {"ends one before the page", PAGE - 8, 4, 1, KE_HALT_CORRUPTION},
    {"far away", 0, 64, 0x3FFFFFFF, KE_HALT_BUG_CHECK},
};

/* rules: hit-behind-counters, hit-bug-check, hit-corruption */
static void
check_overrun(const struct overrun_row *row)
{
    struct profile profile =
        profile_at(row->offset, row->buffer_bytes, row->number + 1);
    KE_HALT halt = {0};

    start(&profile);
    assert_int_equal(hit(CODE + (ULONG64)row->number * 4), 0);
    check_canaries(row->what);
    assert_true(KeQueryHalt(fixture.ke, &halt));
    if (halt.Kind != row->kind) {
        fail_msg("%s: kind %u", row->what, (unsigned)halt.Kind);
    }
    assert_int_equal(halt.Code,
                     row->kind == KE_HALT_BUG_CHECK ? KE_IRQL_NOT_LESS_OR_EQUAL : 0);
    assert_int_equal(halt.Parameters[0],
                     CALLERS_PAGE + row->offset + (ULONG64)row->number * 4);
    assert_int_equal(halt.Parameters[1], IRQL);
    assert_int_equal(halt.Parameters[2], 1);
    assert_int_equal(halt.Parameters[3], INSTRUCTION);
    assert_int_equal(statistics().Outside, 1);
    stop(&profile);
}

static void
overrun__table__told_and_nothing_written(void **state)
{
    for (size_t i = 0; i < sizeof(overrun_rows) / sizeof(overrun_rows[0]); i++) {
        check_overrun(&overrun_rows[i]);
        teardown(state);
        setup(state);
    }
}

/* The last counter there is, and behind it a page that would fault. */
static void
overrun__counters_before_a_guard__last_one_counts(void **state)
{
    struct profile profile = profile_at(PAGES * PAGE - 16, 16, 5);
    KE_HALT halt;

    (void)state;
    start(&profile);
    assert_int_equal(hit(CODE + 12), 1);
    assert_int_equal(hit(CODE + 15), 1);
    assert_false(KeQueryHalt(fixture.ke, NULL));
    assert_int_equal(hit(CODE + 16), 0);
    assert_true(KeQueryHalt(fixture.ke, &halt));
    assert_int_equal(halt.Kind, KE_HALT_BUG_CHECK);
    assert_int_equal(profile.kernel.Buffer[3], CANARY * 0x01010101u + 2);
    profile.kernel.Buffer[3] -= 2;
    check_canaries("all but the last counter");
    stop(&profile);
}

/* rule: hit-behind-counters */
static void
overrun__others_match__they_count(void **state)
{
    struct profile short_one = profile_at(0, 4, 2);
    struct profile enough = plain_profile(CODE, 64);

    (void)state;
    start(&short_one);
    start(&enough);
    assert_int_equal(hit(CODE + 4), 1);
    assert_int_equal(fixture.counters[1], 1);
    assert_true(KeQueryHalt(fixture.ke, NULL));
    assert_int_equal(statistics().Counted, 1);
    assert_int_equal(statistics().Outside, 0);
    assert_int_equal(hit(CODE), 0);
    assert_int_equal(fixture.counters[0], 0);
    check_canaries("short one");
    stop(&short_one);
    stop(&enough);
}

/* Wherever they stand in the index, in whatever tree. */
static void
overrun__of_several_profiles__first_started_is_told(void **state)
{
    enum { COUNT = 20, FIRST = 11 };
    struct profile profiles[COUNT];
    KE_HALT halt;

    (void)state;
    for (ULONG i = 0; i < COUNT; i++) {
        profiles[i] = profile_at(8 * i, 4, 64);
        /* The last quarter lies in a segment. */
        profiles[i].kernel.Segment = i < 15 ? 0 : SELECTOR;
        profiles[i].kernel.RangeBase = i < 15 ? CODE + 4 * i : 0;
    }
    start(&profiles[FIRST]);
    for (ULONG i = 0; i < COUNT; i++) {
        if (i != FIRST) {
            start(&profiles[i]);
        }
    }
    assert_int_equal(hit_segment(CODE + 4 * 15, SELECTOR, 8), 0);
    assert_true(KeQueryHalt(fixture.ke, &halt));
    assert_int_equal(halt.Parameters[0], CALLERS_PAGE + 8 * FIRST + 4 * (15 - FIRST));
    for (ULONG i = 0; i < COUNT; i++) {
        stop(&profiles[i]);
    }
    check_canaries("several");
}

/* ---- the region's end inside ---- */

struct limit_row {
    const char *what;
    ULONG64 base;
    ULONG64 size;
    ULONG64 address;
    int counter; /* -1: outside */
    int without; /* the same with the end outside */
};

static const struct limit_row limit_rows[] = {
    {"last byte", CODE, 64, CODE + 63, 15, 15},
    {"end", CODE, 64, CODE + 64, 16, -1},
    {"behind the end", CODE, 64, CODE + 65, -1, -1},
    {"end within a bucket", CODE, 62, CODE + 62, 15, -1},
    {"before", CODE, 64, CODE - 1, -1, -1},
    {"size 0, its end", CODE, 0, CODE, 0, -1},
    {"size 0, behind", CODE, 0, CODE + 1, -1, -1},
    {"size 0, before", CODE, 0, CODE - 1, -1, -1},
    {"size 0 at address 0", 0, 0, 0, 0, -1},
    {"size 0 at the top", ~0ull, 0, ~0ull, 0, -1},
    {"end at the top", ~0ull - 8, 8, ~0ull, 2, -1},
    {"end at the top, before", ~0ull - 8, 8, ~0ull - 9, -1, -1},
    {"end at the top, bottom", ~0ull - 8, 8, 0, -1, -1},
};

static void
check_limit(const struct limit_row *row, BOOLEAN inside, int counter)
{
    struct profile profile = plain_profile(row->base, row->size);
    ULONG expected[COUNTERS] = {0};

    memset(fixture.counters, 0, COUNTERS_BYTES);
    profile.kernel.LimitInside = inside;
    start(&profile);
    if (counter >= 0) {
        expected[counter] = 1;
    }
    if (hit(row->address) != (counter >= 0) ||
        memcmp(fixture.counters, expected, sizeof(expected)) != 0) {
        fail_msg("%s, end %s", row->what, inside ? "inside" : "outside");
    }
    stop(&profile);
    assert_int_equal(hit(row->address), 0);
}

/* rules: hit-region-end-inside, hit-region */
static void
limit__table__inside_or_outside(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(limit_rows) / sizeof(limit_rows[0]); i++) {
        check_limit(&limit_rows[i], TRUE, limit_rows[i].counter);
        check_limit(&limit_rows[i], FALSE, limit_rows[i].without);
    }
    assert_false(KeQueryHalt(fixture.ke, NULL));
}

/* As the published demonstration has it: as many counters as buckets, and then the end
 * is hit. */
/* rules: hit-region-end-inside, hit-behind-counters */
static void
limit__end_hit_without_a_counter_for_it__halts(void **state)
{
    struct profile profile = profile_at(0, PAGE, 1024);
    KE_HALT halt;

    (void)state;
    profile.kernel.LimitInside = TRUE;
    start(&profile);
    assert_int_equal(hit(CODE + PAGE), 0);
    assert_true(KeQueryHalt(fixture.ke, &halt));
    assert_int_equal(halt.Kind, KE_HALT_BUG_CHECK);
    assert_int_equal(halt.Parameters[0], CALLERS_PAGE + PAGE);
    check_canaries("end");
    stop(&profile);
}

/* ---- segments ---- */

struct segment_row {
    const char *what;
    ULONG64 address;
    ULONG selector;
    ULONG64 offset;
    int counter; /* of the segment's profile; -1: none */
};

/* The profile is of [0x10, 0x50) in SELECTOR. */
static const struct segment_row segment_rows[] = {
    {"in the segment", 0x30000010, SELECTOR, 0x10, 0},
    {"at its last byte", 0x3000004F, SELECTOR, 0x4F, 15},
    {"at its end", 0x30000050, SELECTOR, 0x50, -1},
    {"below it", 0x3000000F, SELECTOR, 0x0F, -1},
    {"another selector", 0x30000010, 0x17, 0x10, -1},
    {"the selector's neighbour, offset of 33 bits", 0x10, SELECTOR - 1, 0x100000010,
     -1},
    {"same in 16 bits", 0x30000010, 0x10000 + SELECTOR, 0x10, -1},
    {"offset as a linear address", 0x10, 0, 0x10, -1},
    {"linear address that looks like it", ((ULONG64)SELECTOR << 32) + 0x10, 0, 0, -1},
};

/* rule: hit-segment */
static void
segment__table__selector_and_offset_match(void **state)
{
    struct profile profile = plain_profile(0x10, 0x40);

    (void)state;
    profile.kernel.Segment = SELECTOR;
    start(&profile);
    for (size_t i = 0; i < sizeof(segment_rows) / sizeof(segment_rows[0]); i++) {
        const struct segment_row *const row = &segment_rows[i];
        ULONG expected[COUNTERS] = {0};

        memset(fixture.counters, 0, COUNTERS_BYTES);
        if (row->counter >= 0) {
            expected[row->counter] = 1;
        }
        if (hit_segment(row->address, row->selector, row->offset) !=
                (row->counter >= 0) ||
            memcmp(fixture.counters, expected, sizeof(expected)) != 0) {
            fail_msg("%s", row->what);
        }
    }
    stop(&profile);
    assert_int_equal(hit_segment(0x30000010, SELECTOR, 0x10), 0);
}

/* rule: hit-segment */
static void
segment__address_profiles__count_linear_addresses_alone(void **state)
{
    struct profile low = plain_profile(0x10, 0x40);
    struct profile linear = plain_profile(0x30000000, 0x40);
    struct profile segment = plain_profile(0, 0x40);

    (void)state;
    linear.kernel.Buffer = guarded_counters(8);
    linear.kernel.BucketLog2 = 4;
    linear.kernel.Counters = 8;
    segment.kernel.Buffer = guarded_counters(16);
    segment.kernel.Segment = SELECTOR;
    segment.kernel.Counters = 16;
    start(&low);
    start(&linear);
    start(&segment);
    assert_int_equal(hit_segment(0x30000010, SELECTOR, 0x10), 2);
    assert_int_equal(fixture.counters[0], 0);
    assert_int_equal(linear.kernel.Buffer[1], 1);
    assert_int_equal(segment.kernel.Buffer[4], 1);
    assert_int_equal(statistics().Taken, 1);
    assert_int_equal(statistics().Counted, 1);
    stop(&low);
    stop(&linear);
    stop(&segment);
}

/* Neighbouring selectors, each with the whole segment and its end: none reaches into
 * the next. */
/* rules: hit-segment, hit-region-end-inside */
static void
segment__whole_segments__none_reaches_into_the_next(void **state)
{
    enum { COUNT = 20 };
    struct profile profiles[COUNT];

    (void)state;
    for (ULONG i = 0; i < COUNT; i++) {
        profiles[i] = plain_profile(0, 0xFFFFFFFF);
        profiles[i].kernel.Segment = SELECTOR + i;
        profiles[i].kernel.LimitInside = TRUE;
        profiles[i].kernel.BucketLog2 = 31;
        profiles[i].kernel.Buffer = fixture.counters;
        start(&profiles[i]);
    }
    for (ULONG i = 0; i < COUNT; i++) {
        assert_int_equal(hit_segment(0, SELECTOR + i, 0), 1);
        assert_int_equal(hit_segment(0, SELECTOR + i, 0xFFFFFFFF), 1);
    }
    assert_int_equal(hit_segment(0, SELECTOR - 1, 0xFFFFFFFF), 0);
    assert_int_equal(hit_segment(0, SELECTOR + COUNT, 0), 0);
    assert_int_equal(fixture.counters[0], COUNT);
    assert_int_equal(fixture.counters[1], COUNT);
    for (ULONG i = 0; i < COUNT; i++) {
        stop(&profiles[i]);
        assert_int_equal(hit_segment(0, SELECTOR + i, 0), 0);
    }
    assert_int_equal(fixture.ke->Pool.Used, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(halt__none_yet__query_tells_and_writes_nothing),
        TEST(halt__twice__first_wins),
        TEST(halt__from_two_threads__one_wins_and_is_whole),
        TEST(halt__hits_afterwards__outside_and_not_counted),
        TEST(overrun__table__told_and_nothing_written),
        TEST(overrun__counters_before_a_guard__last_one_counts),
        TEST(overrun__others_match__they_count),
        TEST(overrun__of_several_profiles__first_started_is_told),
        TEST(limit__table__inside_or_outside),
        TEST(limit__end_hit_without_a_counter_for_it__halts),
        TEST(segment__table__selector_and_offset_match),
        TEST(segment__address_profiles__count_linear_addresses_alone),
        TEST(segment__whole_segments__none_reaches_into_the_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
