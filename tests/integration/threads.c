/* SPDX-License-Identifier: MIT */
/* threads.c - threads that exist and threads to come: each hit once, in this process
 * and in others. */
#include "breakpoints.h"
#include "fixture.h"
#include "guarded.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum {
    THREADS = 16,
    CALLS = 50,
    SLOT = 12,
    CROWD = 100,
    CHAINS = 2,
    STORM_CALLS = 300
};

static ULONG *counters; /* of SLOT_COUNT, made by each test */
static ULONG *more;     /* the same for a second profile */

static void
clear(void)
{
    counters = guarded_counters(SLOT_COUNT);
}

/* Back end perf refuses breakpoints amid threads that are being created: a thread with
 * too many could make no other. */
static bool
was_refused(NTSTATUS status)
{
    return status == STATUS_INSUFFICIENT_RESOURCES && breakpoints_fire() &&
           strstr(ntprof_session_error(session), "threads are being created") != NULL;
}

/* Start a profile of the slots amid threads that are being created. Returns false if it
 * is refused. */
static bool
start_amid_threads(HANDLE process, ULONG *into, KPROFILE_SOURCE source, HANDLE *profile)
{
    NTSTATUS status;

    *profile = create_profile(process, slot_address(0), SLOT_BYTES * SLOT_COUNT, 4,
                              into, SLOT_COUNT, source);
    status = NtStartProfile(*profile);
    if (was_refused(status)) {
        assert_success(NtClose(*profile));
        assert_int_equal(sum_counters(into, SLOT_COUNT), 0);
        return false;
    }
    assert_success(status);
    return true;
}

/* Calls in storms, and those of them that were counted. */
struct account {
    uint64_t calls;
    uint64_t counted;
};

/* Who gets no processor amid a storm loses records: that is told, and nothing else is
 * missing. */
static void
assert_counted_or_lost(struct account *account, KPROFILE_SOURCE source,
                       const ULONG *of_source, size_t slot, uint64_t calls)
{
    account->calls += calls;
    account->counted += of_source[slot];
    assert_only(of_source, SLOT_COUNT, slot, of_source[slot]);
    assert_int_equal(account->counted + read_statistics(session, source).lost,
                     account->calls);
}

static void *
call_after_barrier(void *argument)
{
    pthread_barrier_wait(argument);
    call_slot(SLOT, CALLS);
    return NULL;
}

static void *
call_at_once(void *argument)
{
    (void)argument;
    call_slot(SLOT, CALLS);
    return NULL;
}

/* A thread whose thread makes a thread, and so on. */
static void *
call_and_make_next(void *argument)
{
    const uintptr_t depth = (uintptr_t)argument;
    pthread_t thread;

    call_slot(SLOT, CALLS);
    if (depth > 1 &&
        pthread_create(&thread, NULL, call_and_make_next, (void *)(depth - 1)) == 0) {
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void
threads__that_exist__all_are_counted(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    pthread_barrier_t barrier;
    pthread_t threads[THREADS];
    HANDLE profile;

    (void)state;
    clear();
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(
            pthread_create(&threads[i], NULL, call_after_barrier, &barrier), 0);
    }
    profile = start_slots(NtCurrentProcess(), counters, source);
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, THREADS * CALLS);
    assert_exact_statistics(session, source, THREADS * CALLS, THREADS * CALLS);
    assert_success(NtClose(profile));
    pthread_barrier_destroy(&barrier);
}

static void
threads__to_come__all_are_counted(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    pthread_t threads[THREADS];
    HANDLE profile;

    (void)state;
    clear();
    profile = start_slots(NtCurrentProcess(), counters, source);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, call_at_once, NULL), 0);
        }
        for (size_t i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    call_and_make_next((void *)(uintptr_t)10);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 20 * THREADS * CALLS + 10 * CALLS);
    assert_exact_statistics(session, source, 20 * THREADS * CALLS + 10 * CALLS,
                            20 * THREADS * CALLS + 10 * CALLS);
    assert_success(NtClose(profile));
}

/* A storm: four threads make threads that end at once, all the time. Those that see
 * that the profile is started make calls and say how many. */
static struct storm {
    atomic_bool counting;
    atomic_bool over;
    _Atomic uint64_t calls;
} storm;

static void *
storm_drop(void *argument)
{
    (void)argument;
    /* No more than are wanted: who is to end the storm may not get a processor for
     * long. */
    if (atomic_load(&storm.counting) && atomic_load(&storm.calls) < STORM_CALLS) {
        call_slot(SLOT, 3);
        call_slot(SLOT + 1, 3);
        atomic_fetch_add(&storm.calls, 3);
    }
    return NULL;
}

static void *
storm_cloud(void *argument)
{
    (void)argument;
    while (!atomic_load(&storm.over)) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, storm_drop, NULL) == 0) {
            pthread_join(thread, NULL);
        }
        storm_drop(NULL);
    }
    return NULL;
}

static void
storm_begin(pthread_t clouds[4])
{
    atomic_store(&storm.counting, false);
    atomic_store(&storm.over, false);
    atomic_store(&storm.calls, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&clouds[i], NULL, storm_cloud, NULL), 0);
    }
}

static void
storm_end(pthread_t clouds[4])
{
    atomic_store(&storm.over, true);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(clouds[i], NULL);
    }
}

static void
threads__made_and_ended_while_starting__exact_or_refused(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    struct account account = {0};

    (void)state;
    for (int round = 0; round < 10; round++) {
        pthread_t clouds[4];
        HANDLE profile;

        clear();
        storm_begin(clouds);
        if (!start_amid_threads(NtCurrentProcess(), counters, source, &profile)) {
            storm_end(clouds);
            continue;
        }
        atomic_store(&storm.counting, true);
        while (atomic_load(&storm.calls) < STORM_CALLS) {
            sched_yield();
        }
        storm_end(clouds);
        assert_success(NtStopProfile(profile));
        assert_counted_or_lost(&account, source, counters, SLOT,
                               atomic_load(&storm.calls));
        assert_success(NtClose(profile));
    }
}

/* A storm of chains: each thread makes the next one and ends. */
static _Atomic int chains;
static _Atomic int chains_refused; /* could not make the next one */

static void *
storm_link(void *argument)
{
    pthread_t next;

    storm_drop(NULL);
    if (atomic_load(&storm.over)) {
        atomic_fetch_sub(&chains, 1);
        return NULL;
    }
    usleep(100);
    if (pthread_create(&next, NULL, storm_link, NULL) != 0) {
        atomic_fetch_add(&chains_refused, 1);
        atomic_fetch_sub(&chains, 1);
        return NULL;
    }
    pthread_detach(next);
    return argument;
}

static void
chains_begin(void)
{
    atomic_store(&storm.counting, false);
    atomic_store(&storm.over, false);
    atomic_store(&storm.calls, 0);
    atomic_store(&chains, CHAINS);
    atomic_store(&chains_refused, 0);
    for (size_t i = 0; i < CHAINS; i++) {
        pthread_t first;

        assert_int_equal(pthread_create(&first, NULL, storm_link, NULL), 0);
        pthread_detach(first);
    }
}

static void
chains_end(void)
{
    atomic_store(&storm.over, true);
    while (atomic_load(&chains) != 0) {
        usleep(100);
    }
}

/* A thread that had more events than there are breakpoint registers could not make the
 * next one. */
static void
threads__that_make_the_next_and_end_while_starting__exact_or_refused(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    struct account account = {0};

    (void)state;
    for (int round = 0; round < 10; round++) {
        HANDLE profile;

        clear();
        chains_begin();
        if (!start_amid_threads(NtCurrentProcess(), counters, source, &profile)) {
            chains_end();
            assert_int_equal(atomic_load(&chains_refused), 0);
            continue;
        }
        atomic_store(&storm.counting, true);
        while (atomic_load(&storm.calls) < STORM_CALLS &&
               atomic_load(&chains_refused) == 0) {
            sched_yield();
        }
        chains_end();
        assert_int_equal(atomic_load(&chains_refused), 0);
        assert_success(NtStopProfile(profile));
        assert_counted_or_lost(&account, source, counters, SLOT,
                               atomic_load(&storm.calls));
        assert_success(NtClose(profile));
    }
}

static void
threads__that_make_the_next_while_two_sources_start__exact_or_refused(void **state)
{
    const KPROFILE_SOURCE sources[] = {slot_source(SLOT), slot_source(SLOT + 1)};
    struct account accounts[2] = {{0}};

    (void)state;
    for (int round = 0; round < 5; round++) {
        HANDLE profiles[2];
        bool started[2];
        uint64_t calls;

        clear();
        more = guarded_counters(SLOT_COUNT);
        chains_begin();
        started[0] =
            start_amid_threads(NtCurrentProcess(), counters, sources[0], &profiles[0]);
        started[1] =
            start_amid_threads(NtCurrentProcess(), more, sources[1], &profiles[1]);
        atomic_store(&storm.counting, true);
        while (atomic_load(&storm.calls) < STORM_CALLS &&
               atomic_load(&chains_refused) == 0) {
            sched_yield();
        }
        chains_end();
        assert_int_equal(atomic_load(&chains_refused), 0);
        calls = atomic_load(&storm.calls);
        for (size_t i = 0; i < 2; i++) {
            if (started[i]) {
                assert_success(NtStopProfile(profiles[i]));
                assert_counted_or_lost(&accounts[i], sources[i],
                                       i == 0 ? counters : more, SLOT + i, calls);
                assert_success(NtClose(profiles[i]));
            }
        }
    }
}

/* Threads that are made while the profile starts and stay: some have inherited events,
 * on one processor or on both, and some have not. Each calls on every processor, and so
 * does a thread that it makes. */
static struct crowd {
    atomic_bool counting;
    atomic_bool full;
    _Atomic uint64_t calls;
    size_t processors[2];
    size_t processor_count;
} crowd;

static void *
crowd_call(void *argument)
{
    (void)argument;
    for (size_t i = 0; i < crowd.processor_count; i++) {
        pin_to(crowd.processors[i]);
        call_slot(SLOT, 3);
        atomic_fetch_add(&crowd.calls, 3);
    }
    return NULL;
}

static void *
crowd_member(void *argument)
{
    pthread_t thread;

    while (!atomic_load(&crowd.counting)) {
        usleep(1000);
    }
    crowd_call(argument);
    if (pthread_create(&thread, NULL, crowd_call, NULL) == 0) {
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void *
crowd_maker(void *argument)
{
    pthread_t *const members = argument;
    uintptr_t count = 0;

    while (count < CROWD && !atomic_load(&crowd.full)) {
        if (pthread_create(&members[count], NULL, crowd_member, NULL) == 0) {
            count++;
        }
    }
    return (void *)count;
}

static uint64_t
processes_unread(void)
{
    ntprof_session_info info = {.size = sizeof(info)};

    assert_success(ntprof_session_get_info(session, &info));
    return info.unread;
}

/* All calls were counted, or the start has reported that threads may be missing, as it
 * does where a busy machine takes more than its second for the first round. */
static void
assert_exact_or_unread(ULONG calls, uint64_t unread_before)
{
    if (processes_unread() > unread_before) {
        assert_in_range(counters[SLOT], 0, calls);
        calls = counters[SLOT];
    }
    assert_only(counters, SLOT_COUNT, SLOT, calls);
}

static void
threads__made_while_starting_that_stay__exact_or_refused(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);

    (void)state;
    crowd.processor_count = usable_processors(crowd.processors, 2);
    for (int round = 0; round < 5; round++) {
        static pthread_t members[CROWD];
        pthread_t maker;
        const uint64_t unread = processes_unread();
        HANDLE profile;
        bool started;
        void *count;

        clear();
        atomic_store(&crowd.counting, false);
        atomic_store(&crowd.full, false);
        atomic_store(&crowd.calls, 0);
        assert_int_equal(pthread_create(&maker, NULL, crowd_maker, members), 0);
        started = start_amid_threads(NtCurrentProcess(), counters, source, &profile);
        atomic_store(&crowd.full, true);
        atomic_store(&crowd.counting, true);
        pthread_join(maker, &count);
        for (uintptr_t i = 0; i < (uintptr_t)count; i++) {
            pthread_join(members[i], NULL);
        }
        if (started) {
            assert_success(NtStopProfile(profile));
            assert_exact_or_unread((ULONG)atomic_load(&crowd.calls), unread);
            assert_success(NtClose(profile));
        }
    }
    read_statistics(session, source);
}

/* The same in another process: the words are "ready", "count", "stop", and the calls
 * made. */
static int
storm_peer(const struct peer *test, void *argument)
{
    pthread_t clouds[4];

    (void)argument;
    storm_begin(clouds);
    peer_tell(test, 1);
    peer_hear(test);
    atomic_store(&storm.counting, true);
    while (atomic_load(&storm.calls) < STORM_CALLS) {
        sched_yield();
    }
    storm_end(clouds);
    peer_tell(test, atomic_load(&storm.calls));
    peer_hear(test);
    return 0;
}

static void
threads__of_another_process_while_starting__exact_or_refused(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    struct account account = {0};

    (void)state;
    for (int round = 0; round < 5; round++) {
        struct peer peer;
        uint64_t calls;
        HANDLE process;
        HANDLE profile;
        bool started;

        clear();
        peer_start(&peer, storm_peer, NULL);
        peer_hear(&peer);
        process = open_process(peer.pid);
        started = start_amid_threads(process, counters, source, &profile);
        peer_tell(&peer, 1);
        calls = peer_hear(&peer);
        if (started) {
            assert_success(NtStopProfile(profile));
            assert_counted_or_lost(&account, source, counters, SLOT, calls);
            assert_success(NtClose(profile));
        }
        peer_tell(&peer, 1);
        peer_finish(&peer);
        assert_success(NtClose(process));
    }
}

/* The same of a watch. */
static bool
watch_amid_threads(HANDLE process, KPROFILE_SOURCE source)
{
    const ntprof_watch_options options = {
        .size = sizeof(options),
        .flags = NTPROF_WATCH_DESCENDANTS,
        .source_count = 1,
        .sources = &source,
    };
    const NTSTATUS status = ntprof_session_watch(session, process, &options);

    if (was_refused(status)) {
        return false;
    }
    assert_success(status);
    return true;
}

static void
threads__of_a_watched_process_while_watching__exact_or_refused(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    struct account account = {0};

    (void)state;
    for (int round = 0; round < 5; round++) {
        struct peer peer;
        uint64_t calls;
        HANDLE process;
        HANDLE profile = NULL;
        bool started;

        clear();
        peer_start(&peer, storm_peer, NULL);
        peer_hear(&peer);
        process = open_process(peer.pid);
        started = watch_amid_threads(process, source);
        if (started) {
            profile = start_slots(process, counters, source);
        }
        peer_tell(&peer, 1);
        calls = peer_hear(&peer);
        peer_tell(&peer, 1);
        peer_finish(&peer);
        if (started) {
            assert_success(NtStopProfile(profile));
            assert_counted_or_lost(&account, source, counters, SLOT, calls);
            assert_success(NtClose(profile));
        }
        assert_success(NtClose(process));
    }
}

/* Profiles started and stopped by many threads at once. */
static pthread_barrier_t all_exist;

static void *
start_and_stop(void *argument)
{
    const KPROFILE_SOURCE source = *(const KPROFILE_SOURCE *)argument;
    ULONG *const own = guarded_counters(SLOT_COUNT);

    pthread_barrier_wait(&all_exist);
    ntprof_session_use(session);
    for (int round = 0; round < 20; round++) {
        HANDLE profile;

        if (!NT_SUCCESS(NtCreateProfileEx(
                &profile, NtCurrentProcess(), (PVOID)(uintptr_t)slot_address(0),
                SLOT_BYTES * SLOT_COUNT, 4, own, SLOT_COUNT * sizeof(ULONG), source, 0,
                NULL)) ||
            !NT_SUCCESS(NtStartProfile(profile))) {
            return NULL;
        }
        call_slot(SLOT, 5);
        if (!NT_SUCCESS(NtStopProfile(profile)) || !NT_SUCCESS(NtClose(profile))) {
            return NULL;
        }
    }
    /* At least this thread's own calls, and those of others in the same moments. */
    return own[SLOT] >= 100 ? argument : NULL;
}

static void
profiles__started_and_stopped_by_many_threads__own_calls_always_count(void **state)
{
    KPROFILE_SOURCE source = slot_source(SLOT);
    pthread_t threads[8];

    (void)state;
    pthread_barrier_init(&all_exist, NULL, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, start_and_stop, &source), 0);
    }
    for (size_t i = 0; i < 8; i++) {
        void *result;

        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &source);
    }
    pthread_barrier_destroy(&all_exist);
    read_statistics(session, source);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(threads__that_exist__all_are_counted),
        fixture_test(threads__to_come__all_are_counted),
        fixture_test(threads__made_and_ended_while_starting__exact_or_refused),
        fixture_test(
            threads__that_make_the_next_and_end_while_starting__exact_or_refused),
        fixture_test(
            threads__that_make_the_next_while_two_sources_start__exact_or_refused),
        fixture_test(threads__made_while_starting_that_stay__exact_or_refused),
        fixture_test(threads__of_another_process_while_starting__exact_or_refused),
        fixture_test_of(threads__of_a_watched_process_while_watching__exact_or_refused,
                        FIXTURE_WATCHES),
        fixture_test(
            profiles__started_and_stopped_by_many_threads__own_calls_always_count),
    };

    return fixture_run("threads", tests, sizeof(tests) / sizeof(tests[0]));
}
