/* SPDX-License-Identifier: MIT */
/*
 * live_counters.c - what readers of counters see while profiles start, count and stop:
 * whole pages live and never wrong, all else in step at the times that are promised,
 * and nothing after a stop.
 *
 * NTPROF_STOPS has more or fewer rounds of stops under load than are made by default.
 * rules: start-live, start-adds, start-again, stop-final, close-last-stops,
 * start-lock-holds
 */
#include "breakpoints.h"
#include "fixture.h"
#include "guarded.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Four bytes of code a counter: all slots are a page of counters. */
enum { BUCKET_LOG2 = 2, PAGE_COUNTERS = SLOT_BYTES * SLOT_COUNT >> BUCKET_LOG2 };
enum { SLOT = 37, COUNTER = SLOT * SLOT_BYTES >> BUCKET_LOG2 };

/* Opaque to the compiler, which knows nothing of who else counts there. */
static ULONG
value(const ULONG *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static HANDLE
create_page(ULONG *counters, KPROFILE_SOURCE source)
{
    return create_profile(NtCurrentProcess(), slot_address(0), SLOT_BYTES * SLOT_COUNT,
                          BUCKET_LOG2, counters, PAGE_COUNTERS, source);
}

/* Another profile of the source, which keeps its interrupts coming. */
static HANDLE
start_keeper(KPROFILE_SOURCE source)
{
    HANDLE profile = create_page(guarded_counters(PAGE_COUNTERS), source);

    assert_success(NtStartProfile(profile));
    return profile;
}

/* Breakpoints are few, and each start of a source takes them anew: others may have them
 * for a while. */
static void
start_when_possible(HANDLE profile)
{
    NTSTATUS status;

    while ((status = NtStartProfile(profile)) == STATUS_INSUFFICIENT_RESOURCES) {
        usleep(1000);
    }
    assert_success(status);
}

static void
stop_and_close(HANDLE profile)
{
    assert_success(NtStopProfile(profile));
    assert_success(NtClose(profile));
}

static int64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* No call of the library: whoever waits for ever is stopped by the time limit of the
 * test. */
static void
wait_for(const ULONG *counter, ULONG expected)
{
    while (value(counter) != expected) {
        usleep(1000);
    }
}

/* ---- readers ---- */

enum { READ_PAGES = 3, READ_ROUNDS = 1500, MARK = 0x5A5A0000 };

/* Counters that only go up, and beside them words that never change. */
struct reader {
    const ULONG *pages;
    pthread_t thread;
    uint64_t reads;
    const char *wrong;
    bool done;
};

static ULONG
mark_at(size_t page)
{
    return (ULONG)MARK + (ULONG)page;
}

static void *
read_on(void *argument)
{
    struct reader *const reader = argument;
    ULONG last[READ_PAGES] = {0};

    while (!__atomic_load_n(&reader->done, __ATOMIC_ACQUIRE)) {
        for (size_t i = 0; i < READ_PAGES; i++) {
            const ULONG *const page = reader->pages + i * PAGE_COUNTERS;
            const ULONG seen = value(&page[COUNTER]);

            if (seen < last[i]) {
                reader->wrong = "a counter went back";
            }
            if (value(&page[0]) != mark_at(i) ||
                value(&page[PAGE_COUNTERS - 1]) != mark_at(i)) {
                reader->wrong = "another word changed";
            }
            last[i] = seen;
        }
        __atomic_fetch_add(&reader->reads, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Pages start and stop in different rounds, so that neighbours are of both kinds. */
static void
count_in_rounds(ULONG *pages, KPROFILE_SOURCE source)
{
    HANDLE profiles[READ_PAGES];
    ULONG totals[READ_PAGES] = {0};

    for (size_t i = 0; i < READ_PAGES; i++) {
        profiles[i] = create_page(pages + i * PAGE_COUNTERS, source);
    }
    for (size_t round = 0; round < READ_ROUNDS; round++) {
        const size_t calls = 1 + round % 3;
        const size_t chosen = round % 7;

        for (size_t i = 0; i < READ_PAGES; i++) {
            if ((chosen >> i & 1) != 0) {
                assert_success(NtStartProfile(profiles[i]));
                totals[i] += (ULONG)calls;
            }
        }
        call_slot(SLOT, calls);
        for (size_t i = 0; i < READ_PAGES; i++) {
            if ((chosen >> i & 1) != 0) {
                assert_success(NtStopProfile(profiles[i]));
            }
            assert_int_equal(value(&pages[i * PAGE_COUNTERS + COUNTER]), totals[i]);
        }
    }
    for (size_t i = 0; i < READ_PAGES; i++) {
        assert_success(NtClose(profiles[i]));
    }
}

static void
read_while_counting(ULONG *pages)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    const HANDLE keeper = start_keeper(source);
    struct reader reader = {.pages = pages};

    for (size_t i = 0; i < READ_PAGES; i++) {
        pages[i * PAGE_COUNTERS] = mark_at(i);
        pages[(i + 1) * PAGE_COUNTERS - 1] = mark_at(i);
    }
    assert_int_equal(pthread_create(&reader.thread, NULL, read_on, &reader), 0);
    while (__atomic_load_n(&reader.reads, __ATOMIC_RELAXED) == 0) {
        sched_yield(); /* on a busy machine all could be over before it begins */
    }
    count_in_rounds(pages, source);
    stop_and_close(keeper);
    __atomic_store_n(&reader.done, true, __ATOMIC_RELEASE);
    pthread_join(reader.thread, NULL);
    if (reader.wrong != NULL) {
        fail_msg("%s", reader.wrong);
    }
}

static void
reader__whole_pages_start_and_stop__never_a_wrong_value(void **state)
{
    struct guarded memory = guarded_make(READ_PAGES, MAP_PRIVATE);

    (void)state;
    read_while_counting((ULONG *)(void *)memory.pages);
    guarded_free(&memory);
}

static void
reader__memory_of_buffer_alloc__never_a_wrong_value(void **state)
{
    const size_t bytes = READ_PAGES * PAGE_COUNTERS * sizeof(ULONG);
    ULONG *const pages = ntprof_buffer_alloc(bytes);

    (void)state;
    assert_non_null(pages);
    read_while_counting(pages);
    ntprof_buffer_free(pages, bytes);
}

/* ---- when counts are there ---- */

/* They are there with no call of ours; in live memory, where the back end counts in the
 * interrupt, at once. */
static void
count_without_a_call(ULONG *counters, bool live)
{
    const HANDLE profile = create_page(counters, slot_source(SLOT));

    for (ULONG round = 0; round < 3; round++) {
        const ULONG before = value(&counters[COUNTER]);

        assert_success(NtStartProfile(profile));
        call_slot(SLOT, 10);
        if (!live || fixture_has(FIXTURE_RINGS)) {
            wait_for(&counters[COUNTER], before + 10);
        }
        assert_int_equal(value(&counters[COUNTER]), before + 10);
        assert_success(NtStopProfile(profile));
        assert_int_equal(value(&counters[COUNTER]), before + 10);
    }
    assert_success(NtClose(profile));
}

static void
own_memory__whole_pages__counted_without_a_call(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);

    (void)state;
    count_without_a_call((ULONG *)(void *)memory.pages, false);
    guarded_free(&memory);
}

/* Wherever in it the counters begin. */
static void
live__memory_of_buffer_alloc__counted_without_a_call(void **state)
{
    const size_t bytes = 3 * PAGE_COUNTERS * sizeof(ULONG);
    ULONG *const buffer = ntprof_buffer_alloc(bytes);

    (void)state;
    assert_non_null(buffer);
    count_without_a_call(buffer, true);
    count_without_a_call(buffer + 5, true);
    count_without_a_call(buffer + PAGE_COUNTERS + 999, true);
    ntprof_buffer_free(buffer, bytes);
}

/* Where the simulated machine's programs are, in counters of 2 GB each. */
static HANDLE
create_simulated(ULONG *counters)
{
    HANDLE profile;

    assert_success(NtCreateProfileEx(
        &profile, NtCurrentProcess(), (PVOID)(uintptr_t)0x555500000000, 0x200000000, 31,
        counters, 4 * sizeof(ULONG), ProfileTime, 0, NULL));
    return profile;
}

/* Two profiles for the same hits: one's counters are live, the other's come by a flush.
 */
static void
live__memory_of_buffer_alloc_in_the_simulation__as_soon_as_delivered(void **state)
{
    const ntprof_session_options options = {.size = sizeof(options),
                                            .flags = NTPROF_SESSION_POLLED,
                                            .backend = "sim",
                                            .simulation_seed = 7};
    ULONG *const buffer = ntprof_buffer_alloc(4 * sizeof(ULONG));
    ULONG *const added = guarded_counters(4);
    ntprof_session *simulated;
    HANDLE profiles[2];

    (void)state;
    assert_non_null(buffer);
    assert_success(ntprof_session_open(&options, &simulated));
    ntprof_session_use(simulated);
    profiles[0] = create_simulated(buffer);
    profiles[1] = create_simulated(added);
    assert_success(NtStartProfile(profiles[0]));
    assert_success(NtStartProfile(profiles[1]));
    while (sum_counters(buffer, 4) < 100) {
        assert_success(ntprof_session_poll(simulated, NULL));
        assert_true(sum_counters(added, 4) <= sum_counters(buffer, 4));
    }
    stop_and_close(profiles[0]);
    stop_and_close(profiles[1]);
    assert_memory_equal(added, buffer, 4 * sizeof(ULONG));
    ntprof_session_use(session);
    ntprof_session_close(simulated);
    ntprof_buffer_free(buffer, 4 * sizeof(ULONG));
}

/* Part of a page has differences added: by themselves, when asked for, and at stop. */
static void
added__part_of_a_page__by_itself_at_query_at_flush_and_at_stop(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    ULONG *const counters = guarded_counters_behind(SLOT_COUNT);
    const HANDLE profile = start_slots(NtCurrentProcess(), counters, source);
    ntprof_source_info info = {.size = sizeof(info)};

    (void)state;
    for (ULONG round = 1; round <= 3; round++) {
        call_slot(SLOT, 10);
        wait_for(&counters[SLOT], 10 * round);
    }
    call_slot(SLOT, 10);
    assert_success(ntprof_source_get(session, source, &info));
    assert_int_equal(value(&counters[SLOT]), 40);
    call_slot(SLOT, 10);
    assert_success(ntprof_session_flush(session));
    assert_int_equal(value(&counters[SLOT]), 50);
    call_slot(SLOT, 10);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 60);
    assert_success(NtClose(profile));
}

static void
added__polled_session__by_polling(void **state)
{
    const ntprof_session_options options = {.size = sizeof(options),
                                            .flags = NTPROF_SESSION_POLLED};
    ULONG *const counters = guarded_counters_behind(SLOT_COUNT);
    HANDLE profile;

    (void)state;
    fixture_reopen(&options);
    profile = start_slots(NtCurrentProcess(), counters, slot_source(SLOT));
    call_slot(SLOT, 10);
    while (value(&counters[SLOT]) != 10) {
        assert_success(ntprof_session_poll(session, NULL));
    }
    call_slot(SLOT, 10);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 20);
    assert_success(NtClose(profile));
}

/* Pages of a buffer are live, and what is before and behind them is added. */
static void
added__pages_and_parts_of_pages__each_exact(void **state)
{
    struct guarded memory = guarded_make(3, MAP_PRIVATE);
    ULONG *const counters = (ULONG *)(void *)memory.pages + PAGE_COUNTERS - 300;
    HANDLE profile;

    (void)state;
    profile =
        create_profile(NtCurrentProcess(), slot_address(0) - 300 * 4,
                       (uint64_t)(PAGE_COUNTERS + 600) << BUCKET_LOG2, BUCKET_LOG2,
                       counters, PAGE_COUNTERS + 600, slot_source(SLOT));
    assert_success(NtStartProfile(profile));
    call_slot(SLOT, 10);
    wait_for(&counters[300 + COUNTER], 10);
    assert_success(NtStopProfile(profile));
    assert_only(counters, PAGE_COUNTERS + 600, 300 + COUNTER, 10);
    assert_success(NtClose(profile));
    guarded_free(&memory);
}

/* ---- several sessions on one buffer ---- */

/* Each back end's counts are there, whoever came first and whoever goes first. */
static void
sessions__of_two_back_ends_on_one_buffer__sum_exact(void **state)
{
    need_exact_source();

    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *const counters = (ULONG *)(void *)memory.pages;
    const ntprof_session_options options = {.size = sizeof(options), .backend = "perf"};
    KPROFILE_SOURCE source = slot_source(SLOT); /* skips here, if anywhere */
    char name[64];

    (void)state;
    name_source_at(name, sizeof(name), slot_address(SLOT));
    for (ULONG round = 0; round < 4; round++) {
        const ULONG before = value(&counters[COUNTER]);
        ntprof_session *second;
        HANDLE profiles[2];

        assert_success(ntprof_session_open(&options, &second));
        for (size_t i = 0; i < 2; i++) {
            ntprof_session *const user = (round + i) % 2 == 0 ? session : second;

            ntprof_session_use(user);
            assert_success(ntprof_source_lookup(user, name, &source));
            profiles[i] = create_page(counters, source);
            start_when_possible(profiles[i]);
        }
        call_slot(SLOT, 10);
        for (size_t i = 0; i < 2; i++) {
            const size_t next = round < 2 ? i : 1 - i;

            ntprof_session_use((round + next) % 2 == 0 ? session : second);
            stop_and_close(profiles[next]);
        }
        ntprof_session_use(session);
        ntprof_session_close(second);
        assert_only(counters, PAGE_COUNTERS, COUNTER, before + 20);
    }
    guarded_free(&memory);
}

/* ---- forked children ---- */

enum { BY_EXIT, BY_UNMAPPING, BY_EXEC, WAYS };

struct forked {
    ULONG *whole;  /* a private page */
    ULONG *part;   /* of a private page */
    ULONG *buffer; /* of ntprof_buffer_alloc */
    int way;
};

/* What the child sees of three counters, or 0 if it is as it was at the fork. */
static int
look_at(const struct forked *forked, ULONG expected)
{
    const ULONG shared = value(&forked->buffer[COUNTER]);

    return (value(&forked->whole[COUNTER]) != expected ? 1 : 0) +
           (value(&forked->part[SLOT]) != expected ? 2 : 0) +
           (fixture_has(FIXTURE_MAPS) && shared != expected ? 4 : 0);
}

static int
live_on_in_child(const struct peer *test, void *argument)
{
    const struct forked *const forked = argument;
    int wrong = look_at(forked, 10);

    peer_tell(test, 1);
    (void)peer_hear(test);
    wrong += 8 * look_at(forked, 10);
    forked->whole[COUNTER] = 1000; /* which the parent must not see */
    forked->part[SLOT] = 1000;
    if (wrong == 0 && forked->way == BY_UNMAPPING) {
        wrong = munmap(forked->whole, PAGE_COUNTERS * sizeof(ULONG)) != 0;
        ntprof_buffer_free(forked->buffer, PAGE_COUNTERS * sizeof(ULONG));
    }
    if (wrong == 0 && forked->way == BY_EXEC) {
        execl("/bin/true", "true", (char *)NULL);
        wrong = 128;
    }
    return wrong;
}

static void
fork_while_counting(int way)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    struct forked forked = {
        .whole = (ULONG *)(void *)memory.pages,
        .part = guarded_counters_behind(SLOT_COUNT),
        .buffer = ntprof_buffer_alloc(PAGE_COUNTERS * sizeof(ULONG)),
        .way = way,
    };
    HANDLE profiles[3];
    struct peer peer;

    assert_non_null(forked.buffer);
    profiles[0] = create_page(forked.whole, source);
    profiles[1] = create_page(forked.buffer, source);
    assert_success(NtStartProfile(profiles[0]));
    assert_success(NtStartProfile(profiles[1]));
    profiles[2] = start_slots(NtCurrentProcess(), forked.part, source);
    call_slot(SLOT, 10);
    assert_success(ntprof_session_flush(session));
    peer_start(&peer, live_on_in_child, &forked);
    (void)peer_hear(&peer);
    call_slot(SLOT, 5);
    assert_success(ntprof_session_flush(session));
    peer_tell(&peer, 1);
    peer_finish(&peer);
    call_slot(SLOT, 5);
    for (size_t i = 0; i < 3; i++) {
        stop_and_close(profiles[i]);
    }
    assert_only(forked.whole, PAGE_COUNTERS, COUNTER, 20);
    assert_only(forked.buffer, PAGE_COUNTERS, COUNTER, 20);
    assert_only(forked.part, SLOT_COUNT, SLOT, 20);
    ntprof_buffer_free(forked.buffer, PAGE_COUNTERS * sizeof(ULONG));
    guarded_free(&memory);
}

static void
fork__while_counting__child_keeps_what_it_had_and_ends_as_it_likes(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        fork_while_counting(way);
    }
}

/* ---- stops under load ---- */

enum { STOPS = 1000, HAMMERS = 64, WAIT_EVERY = 16 };

struct hammer {
    pthread_t thread;
    size_t processor;
    const bool *done;
    uint64_t calls;
};

static void *
hammer_on(void *argument)
{
    struct hammer *const hammer = argument;

    pin_to(hammer->processor);
    while (!__atomic_load_n(hammer->done, __ATOMIC_RELAXED)) {
        call_slot(SLOT, 16);
        hammer->calls += 16;
    }
    return NULL;
}

static size_t
start_hammers(struct hammer *hammers, const bool *done)
{
    size_t processors[HAMMERS];
    const size_t count = usable_processors(processors, HAMMERS);

    for (size_t i = 0; i < count; i++) {
        hammers[i] = (struct hammer){.processor = processors[i], .done = done};
        assert_int_equal(
            pthread_create(&hammers[i].thread, NULL, hammer_on, &hammers[i]), 0);
    }
    return count;
}

static uint64_t
end_hammers(struct hammer *hammers, size_t count, bool *done)
{
    uint64_t calls = 0;

    __atomic_store_n(done, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < count; i++) {
        pthread_join(hammers[i].thread, NULL);
        calls += hammers[i].calls;
    }
    return calls;
}

/* A delivering back end counts by threads that a stop waits for, which as root takes
 * 20 ms: fewer. make check-long has thousands. */
static size_t
count_stops(void)
{
    const char *const wanted = getenv("NTPROF_STOPS");

    if (wanted != NULL) {
        return strtoul(wanted, NULL, 10);
    }
    return fixture_has(FIXTURE_MAPS) ? STOPS : STOPS / 16;
}

/* Long enough for a hit that is under way on another processor to end, and at times for
 * anything. */
static void
let_others_run(size_t round)
{
    for (volatile int i = 0; i < 2000; i++) {
    }
    if (round % 64 == 0) {
        sched_yield();
    }
}

/*
 * Until hits are being counted just now, on another processor, so that the stop comes
 * in their midst. That is seen where the back end counts in the interrupt. The kernel
 * lets an event make only so many in each of its ticks, so it may take one; and the
 * other processor may be another program's.
 */
static void
wait_for_hits(const ULONG *counter)
{
    const int64_t end_ms = now_ms() + 2;
    ULONG last = value(counter);

    while (fixture_has(FIXTURE_MAPS) && value(counter) == last && now_ms() < end_ms) {
        last = value(counter);
    }
}

/* What stops under load came to. */
struct stops {
    uint64_t counted;
    uint64_t busy; /* stops during which hits were counted */
    uint64_t late;
};

/*
 * The pages of ntprof_buffer_alloc stay where they were counted in, so what came late
 * would be seen. Other rounds are on private memory, whose pages others count in at
 * once: in theirs it would be seen.
 */
static void
stop_once(size_t round, ULONG *counters, KPROFILE_SOURCE source, struct stops *stops)
{
    const ULONG *const counter = &counters[COUNTER];
    const ULONG before = value(counter);
    const HANDLE profile = create_page(counters, source);
    ULONG looked;
    ULONG after;

    start_when_possible(profile);
    if (round % WAIT_EVERY == 0) {
        wait_for_hits(counter);
    } else {
        let_others_run(round);
    }
    looked = value(counter);
    if (round % 2 == 0) {
        assert_success(NtStopProfile(profile));
    } else {
        assert_success(NtClose(profile)); /* the last handle */
    }
    after = value(counter);
    let_others_run(round);
    stops->counted += after - before;
    stops->busy += after != looked;
    stops->late += value(counter) - after;
    if (round % 2 == 0) {
        assert_success(NtClose(profile));
    }
}

static void
stop_in_rounds(size_t rounds, KPROFILE_SOURCE source, struct stops *stops)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *const buffer = ntprof_buffer_alloc(PAGE_COUNTERS * sizeof(ULONG));
    ULONG *const whole = (ULONG *)(void *)memory.pages;

    assert_non_null(buffer);
    for (size_t round = 0; round < rounds; round++) {
        stop_once(round, round % 4 == 3 ? whole : buffer, source, stops);
    }
    assert_only(whole, PAGE_COUNTERS, COUNTER, value(&whole[COUNTER]));
    assert_only(buffer, PAGE_COUNTERS, COUNTER, value(&buffer[COUNTER]));
    ntprof_buffer_free(buffer, PAGE_COUNTERS * sizeof(ULONG));
    guarded_free(&memory);
}

/* With each stop the source's last, and then with the source going on for another
 * profile. */
static void
stop__under_load_on_all_processors__nothing_counted_late(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    const size_t rounds = count_stops();
    struct hammer hammers[HAMMERS];
    struct stops stops = {0};
    ntprof_source_info statistics;
    bool done = false;
    HANDLE keeper;
    uint64_t calls;
    size_t count;

    (void)state;
    (void)setpriority(PRIO_PROCESS, 0, -20); /* where that is allowed */
    count = start_hammers(hammers, &done);
    stop_in_rounds(rounds - rounds / 8, source, &stops);
    while (stops.counted == 0 && count > 1) {
        stop_in_rounds(8, source, &stops); /* no hammer has run yet in between */
    }
    keeper = start_keeper(source);
    stop_in_rounds(rounds / 8, source, &stops);
    stop_and_close(keeper);
    calls = end_hammers(hammers, count, &done);
    (void)setpriority(PRIO_PROCESS, 0, 0);
    statistics = read_statistics(session, source);
    print_message("%zu stops under %zu hammers: %llu calls, %llu counted, %llu stops "
                  "while counting, %llu late\n",
                  rounds, count, (unsigned long long)calls,
                  (unsigned long long)stops.counted, (unsigned long long)stops.busy,
                  (unsigned long long)stops.late);
    assert_int_equal(stops.late, 0);
    /* On a single processor no hammer runs while this thread does. */
    assert_true(stops.counted > 0 || count == 1);
    assert_true(stops.counted <= statistics.counted);
}

/* ---- starts without calls of the kernel's ---- */

enum { MANY = 16384, LARGE_EVERY = 4, SMALL_COUNTERS = 4, HIT_EVERY = SLOT_COUNT };

struct many {
    HANDLE profiles[MANY];
    const ULONG *counters[MANY]; /* the one that is hit, if any is */
    size_t count;
    /* Made before the child is, where nothing may fail as a test does. */
    struct guarded pages;
    ULONG *small;
    ULONG *kept;
};

static bool
create_one(struct many *many, size_t i, uint64_t base, size_t bytes, ULONG *counters,
           KPROFILE_SOURCE source)
{
    return NT_SUCCESS(NtCreateProfileEx(&many->profiles[i], NtCurrentProcess(),
                                        (PVOID)(uintptr_t)base, bytes, BUCKET_LOG2,
                                        counters, (ULONG)bytes, source, 0, NULL));
}

/* One in four has a page of counters, the others a few beside each other. One of 256 is
 * hit. */
static bool
create_many(struct many *many, KPROFILE_SOURCE source)
{
    const size_t page_bytes = PAGE_COUNTERS * sizeof(ULONG);

    for (size_t i = 0; i < many->count; i++) {
        const uint64_t away = i % HIT_EVERY < 2 ? 0 : i * page_bytes;
        ULONG *counters = many->small + i * SMALL_COUNTERS;
        bool created;

        if (i % LARGE_EVERY == 0) {
            counters =
                (ULONG *)(void *)(many->pages.pages + i / LARGE_EVERY * page_bytes);
            created = create_one(many, i, slot_address(0) + away, page_bytes, counters,
                                 source);
            counters += COUNTER;
        } else {
            created = create_one(many, i, slot_address(SLOT) + away,
                                 SMALL_COUNTERS * sizeof(ULONG), counters, source);
        }
        if (!created) {
            return false;
        }
        many->counters[i] = counters;
    }
    return true;
}

static bool
start_and_stop_many(const struct many *many, uint64_t calls)
{
    for (size_t i = 0; i < many->count; i++) {
        if (!NT_SUCCESS(NtStartProfile(many->profiles[i]))) {
            return false;
        }
    }
    call_slot(SLOT, calls);
    for (size_t i = 0; i < many->count; i++) {
        if (!NT_SUCCESS(NtStopProfile(many->profiles[i]))) {
            return false;
        }
    }
    return true;
}

/* From now on there is neither bpf() nor a call that waits for the kernel's readers. */
static bool
refuse_bpf(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 5, .filter = filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
                   &program) == 0;
}

static bool
are_exact(const struct many *many, ULONG expected)
{
    for (size_t i = 0; i < many->count; i++) {
        if (value(many->counters[i]) != (i % HIT_EVERY < 2 ? expected : 0)) {
            return false;
        }
    }
    return true;
}

/* In a child, since the filter stays. The first round makes all memory that there has
 * to be. */
static int
start_many_without_bpf(const struct peer *test, void *argument)
{
    /* Sanitizers allow no thread in a child of a process that has some. */
    const ntprof_session_options options = {
        .size = sizeof(options), .flags = NTPROF_SESSION_POLLED, .backend = backend};
    struct many *const many = argument;
    ntprof_session_info info = {.size = sizeof(info)};
    KPROFILE_SOURCE source;
    ntprof_session *own;
    char name[64];
    int64_t begin_ms;

    (void)test;
    name_source_at(name, sizeof(name), slot_address(SLOT));
    if (!NT_SUCCESS(ntprof_session_open(&options, &own)) ||
        !NT_SUCCESS(ntprof_source_lookup(own, name, &source)) ||
        !NT_SUCCESS(ntprof_session_get_info(own, &info))) {
        return 1;
    }
    ntprof_session_use(own);
    many->count = info.start_limit - 1 < MANY ? info.start_limit - 1 : MANY;
    if (!create_many(many, source)) {
        return 2;
    }
    start_slots(NtCurrentProcess(), many->kept, source);
    if (!start_and_stop_many(many, 3)) {
        return 3;
    }
    if (!refuse_bpf()) {
        return 4;
    }
    begin_ms = now_ms();
    if (!start_and_stop_many(many, 4)) {
        return 5;
    }
    printf("%zu starts and stops without bpf(): %lld ms\n", many->count,
           (long long)(now_ms() - begin_ms));
    fflush(stdout);
    return are_exact(many, 7) ? 0 : 6;
}

static void
start__thousands_while_the_source_runs__no_bpf_call_and_no_wait(void **state)
{
    static struct many many;
    struct peer peer;

    (void)state;
    (void)slot_source(SLOT); /* skips here, if anywhere */
    many.pages.bytes = MANY / LARGE_EVERY * PAGE_COUNTERS * sizeof(ULONG);
    many.pages.pages = (unsigned char *)ntprof_buffer_alloc(many.pages.bytes);
    assert_non_null(many.pages.pages);
    many.small = guarded_counters((size_t)MANY * SMALL_COUNTERS);
    many.kept = guarded_counters(SLOT_COUNT);
    peer_start(&peer, start_many_without_bpf, &many);
    peer_finish(&peer);
    ntprof_buffer_free((ULONG *)(void *)many.pages.pages, many.pages.bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(reader__whole_pages_start_and_stop__never_a_wrong_value),
        fixture_test(reader__memory_of_buffer_alloc__never_a_wrong_value),
        fixture_test(own_memory__whole_pages__counted_without_a_call),
        fixture_test(live__memory_of_buffer_alloc__counted_without_a_call),
        fixture_test(
            live__memory_of_buffer_alloc_in_the_simulation__as_soon_as_delivered),
        fixture_test(added__part_of_a_page__by_itself_at_query_at_flush_and_at_stop),
        fixture_test(added__polled_session__by_polling),
        fixture_test(added__pages_and_parts_of_pages__each_exact),
        fixture_test(sessions__of_two_back_ends_on_one_buffer__sum_exact),
        fixture_test(
            fork__while_counting__child_keeps_what_it_had_and_ends_as_it_likes),
        fixture_test(stop__under_load_on_all_processors__nothing_counted_late),
        fixture_test_of(start__thousands_while_the_source_runs__no_bpf_call_and_no_wait,
                        FIXTURE_MAPS),
    };

    return fixture_run("live counters", tests, sizeof(tests) / sizeof(tests[0]));
}
