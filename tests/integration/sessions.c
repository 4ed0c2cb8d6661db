/* SPDX-License-Identifier: MIT */
/*
 * sessions.c - sessions that are polled, several at once, in forked children; losses
 * and refusals that are told.
 */
#include "breakpoints.h"
#include "fixture.h"
#include "guarded.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLOT = 30, PAGE_BYTES = 4096 };

static const ntprof_session_options polled = {.size = sizeof(polled),
                                              .flags = NTPROF_SESSION_POLLED};

/* ---- polled ---- */

/* Polls as the interface says, until the counter has this value. */
static void
poll_until(const ULONG *counter, ULONG value)
{
    /* -1 if the back end has none: then only the time passes. */
    struct pollfd descriptor = {.fd = ntprof_session_fd(session), .events = POLLIN};

    while (__atomic_load_n(counter, __ATOMIC_RELAXED) < value) {
        int wait_ms = 0;

        assert_success(ntprof_session_poll(session, &wait_ms));
        assert_true(wait_ms >= 0);
        poll(&descriptor, 1, wait_ms);
    }
    assert_int_equal(*counter, value);
}

static void
polled_session__descriptor_and_poll__deliver_all(void **state)
{
    KPROFILE_SOURCE source;
    /* Whole pages of it are counted in directly, so that they are live without a flush.
     */
    ULONG *const counters = ntprof_buffer_alloc(PAGE_BYTES);
    HANDLE profile;

    (void)state;
    assert_non_null(counters);
    fixture_reopen(&polled);
    source = slot_source(SLOT);
    profile = start_slots(NtCurrentProcess(), counters, source);
    call_slot(SLOT, 3);
    poll_until(&counters[SLOT], 3);
    call_slot(SLOT, 5000);
    poll_until(&counters[SLOT], 5003);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 5003);
    assert_exact_statistics(session, source, 5003, 5003);
    assert_success(NtClose(profile));
    ntprof_buffer_free(counters, PAGE_BYTES);
}

static int
call_many(const struct peer *test, void *argument)
{
    size_t processor;

    (void)argument;
    if (usable_processors(&processor, 1) == 1) {
        pin_to(processor);
    }
    peer_hear(test);
    call_slot(SLOT, 12000);
    peer_tell(test, 1);
    peer_hear(test);
    return 0;
}

/* Nobody asks again after wait_ms here: the watermark alone must wake. */
static void
polled_session__ring_above_its_watermark__wakes_the_poller(void **state)
{
    need_exact_source();

    struct pollfd descriptor = {.events = POLLIN};
    ULONG *const counters = ntprof_buffer_alloc(PAGE_BYTES);
    struct peer peer;
    HANDLE process;
    HANDLE profile;

    (void)state;
    assert_non_null(counters);
    fixture_reopen(&polled);
    peer_start(&peer, call_many, NULL);
    process = open_process(peer.pid);
    profile = start_slots(process, counters, slot_source(SLOT));
    descriptor.fd = ntprof_session_fd(session);
    assert_int_equal(poll(&descriptor, 1, 0), 0);
    peer_tell(&peer, 1);
    assert_int_equal(poll(&descriptor, 1, -1), 1);
    peer_hear(&peer);
    poll_until(&counters[SLOT], 12000);
    assert_int_equal(poll(&descriptor, 1, 0), 0);
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_success(NtClose(profile));
    assert_success(NtClose(process));
    ntprof_buffer_free(counters, PAGE_BYTES);
}

/* ---- losses ---- */

static void
polled_session__never_polled__losses_are_in_the_statistics(void **state)
{
    const bool may_lose = fixture_has(FIXTURE_RINGS);
    KPROFILE_SOURCE source;
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    ntprof_source_info info;
    HANDLE profile;
    size_t processor;

    (void)state;
    fixture_reopen(&polled);
    source = slot_source(SLOT);
    assert_int_equal(usable_processors(&processor, 1), 1);
    pin_to(processor);
    profile = start_slots(NtCurrentProcess(), counters, source);
    call_slot(SLOT, 160000);
    assert_success(ntprof_session_flush(session));
    info = read_statistics(session, source);
    assert_int_equal(info.lost > 0, may_lose);
    assert_true(info.taken > 0);
    assert_int_equal(info.expected, 160000);
    assert_int_equal(info.taken + info.lost, 160000);
    assert_int_equal(info.counted, info.taken);
    assert_only(counters, SLOT_COUNT, SLOT, (ULONG)info.taken);
    /* And on it goes without a loss. */
    call_slot(SLOT, 1000);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, (ULONG)info.taken + 1000);
    assert_int_equal(read_statistics(session, source).lost, info.lost);
    assert_success(NtClose(profile));
}

static struct {
    uint64_t wanted;
    KPROFILE_SOURCE source;
    ULONG *counter;
    uint32_t mapped;
    uint64_t records_lost;
    HANDLE profile;
    NTSTATUS failure;
} resync;

static void
resync_notification(void *context, const ntprof_notification *notification)
{
    (void)context;
    if (notification->kind == NTPROF_RECORDS_LOST) {
        resync.records_lost += notification->count;
    }
    if (notification->kind == NTPROF_IMAGE_MAP && notification->base == resync.wanted) {
        HANDLE process = open_process((pid_t)notification->pid);

        resync.mapped++;
        resync.failure = NtCreateProfileEx(
            &resync.profile, process, (PVOID)(uintptr_t)notification->base,
            (SIZE_T)notification->length, 31, resync.counter, sizeof(ULONG),
            resync.source, 0, NULL);
        if (NT_SUCCESS(resync.failure)) {
            resync.failure = NtStartProfile(resync.profile);
        }
        NtClose(process);
    }
}

static int
fill_ring_and_map(const struct peer *test, void *argument)
{
    size_t processor;

    (void)argument;
    if (usable_processors(&processor, 1) == 1) {
        pin_to(processor);
    }
    peer_hear(test);
    call_slot(SLOT, 160000); /* more than a ring of root's holds */
    if (map_fixed_slots() != 0) {
        return 1;
    }
    peer_tell(test, 1);
    peer_hear(test);
    /* Linux tells of a loss with the next record that finds room. */
    call_slot(SLOT, 1);
    peer_tell(test, 1);
    peer_hear(test);
    call_address(FIXED_ADDRESS, 70);
    return 0;
}

static void
lost_records__of_a_mapping__are_told_and_made_up_for(void **state)
{
    ntprof_watch_options options = {.size = sizeof(options), .source_count = 2};
    KPROFILE_SOURCE sources[2];
    struct peer peer;
    HANDLE process;

    (void)state;
    fixture_reopen(&polled);
    memset(&resync, 0, sizeof(resync));
    resync.counter = guarded_counters(1);
    sources[0] = slot_source(SLOT);
    sources[1] = fixed_source(session);
    resync.wanted = FIXED_ADDRESS;
    resync.source = sources[1];
    options.sources = sources;
    ntprof_session_set_notify(session, resync_notification, NULL);
    peer_start(&peer, fill_ring_and_map, NULL);
    process = open_process(peer.pid);
    assert_success(ntprof_session_watch(session, process, &options));
    peer_tell(&peer, 1);
    peer_hear(&peer);
    assert_success(ntprof_session_flush(session));
    peer_tell(&peer, 1);
    peer_hear(&peer);
    assert_success(ntprof_session_flush(session));
    assert_true(resync.records_lost > 0);
    assert_int_equal(resync.mapped, 1);
    assert_success(resync.failure);
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_success(ntprof_session_flush(session));
    assert_success(NtClose(resync.profile));
    assert_int_equal(resync.counter[0], 70);
    assert_exact_statistics(session, sources[1], 70, 70);
    assert_true(read_statistics(session, sources[0]).lost > 0);
    assert_success(NtClose(process));
}

/* ---- several ---- */

static void
two_sessions__on_one_process__count_independently(void **state)
{
    need_exact_source();

    ntprof_session *const first = session;
    ntprof_session *second;
    ntprof_session_options options = {.size = sizeof(options), .backend = backend};
    ULONG *const counters[2] = {guarded_counters(SLOT_COUNT),
                                guarded_counters(SLOT_COUNT)};
    KPROFILE_SOURCE sources[2];
    HANDLE profiles[2];

    (void)state;
    assert_success(ntprof_session_open(&options, &second));
    sources[0] = breakpoint_at(first, slot_address(SLOT));
    sources[1] = breakpoint_at(second, slot_address(SLOT));
    profiles[0] = start_slots(NtCurrentProcess(), counters[0], sources[0]);
    call_slot(SLOT, 10);
    ntprof_session_use(second);
    profiles[1] = start_slots(NtCurrentProcess(), counters[1], sources[1]);
    call_slot(SLOT, 100);
    ntprof_session_use(first);
    assert_success(NtStopProfile(profiles[0]));
    call_slot(SLOT, 1000);
    assert_only(counters[0], SLOT_COUNT, SLOT, 110);
    assert_exact_statistics(first, sources[0], 110, 110);
    ntprof_session_use(second);
    /* A handle is its session's. */
    assert_success(NtStopProfile(profiles[1]));
    assert_only(counters[1], SLOT_COUNT, SLOT, 1100);
    assert_exact_statistics(second, sources[1], 1100, 1100);
    ntprof_session_close(second);
    ntprof_session_use(first);
    assert_success(NtClose(profiles[0]));
}

static void
session_close__with_started_profiles__ends_them_and_keeps_the_counts(void **state)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);

    (void)state;
    start_slots(NtCurrentProcess(), counters, slot_source(SLOT));
    call_slot(SLOT, 12);
    fixture_reopen(NULL);
    call_slot(SLOT, 500);
    assert_only(counters, SLOT_COUNT, SLOT, 12);
}

static void *
count_in_thread(void *argument)
{
    ULONG *const counters = argument;
    HANDLE profile;

    ntprof_session_use(session);
    if (!NT_SUCCESS(NtCreateProfileEx(
            &profile, NtCurrentProcess(), (PVOID)(uintptr_t)slot_address(0),
            SLOT_BYTES * SLOT_COUNT, 4, counters, SLOT_COUNT * sizeof(ULONG),
            slot_source(SLOT), 0, NULL)) ||
        !NT_SUCCESS(NtStartProfile(profile))) {
        return NULL;
    }
    call_slot(SLOT, 10);
    return profile;
}

static void
thread__that_opened_the_profile_ends__others_are_counted_on(void **state)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    pthread_t thread;
    void *profile;

    (void)state;
    (void)slot_source(SLOT); /* skips on this thread, if it must */
    assert_int_equal(pthread_create(&thread, NULL, count_in_thread, counters), 0);
    pthread_join(thread, &profile);
    assert_non_null(profile);
    call_slot(SLOT, 20);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 30);
    assert_success(NtClose(profile));
}

/* ---- forked children ---- */

/* For a child: another session on the tested back end. */
static NTSTATUS
open_another(ntprof_session **another)
{
    const ntprof_session_options options = {.size = sizeof(options),
                                            .backend = backend};

    return ntprof_session_open(&options, another);
}

/* In the child: each call on the parent's session says so, and its own default session
 * works. */
static int
use_session_of_parent(const struct peer *test, void *argument)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    ntprof_session_info info = {.size = sizeof(info)};
    const HANDLE inherited = argument;
    char name[64];
    KPROFILE_SOURCE source;
    HANDLE profile;

    peer_hear(test);
    if (NtStopProfile(inherited) != STATUS_INVALID_HANDLE ||
        NtClose(inherited) != STATUS_INVALID_HANDLE ||
        ntprof_session_flush(session) != STATUS_INVALID_PARAMETER ||
        ntprof_session_get_info(session, &info) != STATUS_INVALID_PARAMETER) {
        return 2;
    }
    ntprof_session_close(session);
    ntprof_session_use(NULL);
    if (!NT_SUCCESS(NtCreateProfileEx(
            &profile, NtCurrentProcess(), (PVOID)(uintptr_t)slot_address(0),
            SLOT_BYTES * SLOT_COUNT, 4, counters, SLOT_COUNT * sizeof(ULONG),
            ProfilePageFaults, 0, NULL)) ||
        !NT_SUCCESS(NtStartProfile(profile)) || !NT_SUCCESS(NtClose(profile))) {
        return 3;
    }
    if (!NT_SUCCESS(open_another(&session))) {
        return 4;
    }
    ntprof_session_use(session);
    name_source_at(name, sizeof(name), slot_address(SLOT));
    if (!NT_SUCCESS(ntprof_source_lookup(session, name, &source)) ||
        !NT_SUCCESS(NtCreateProfileEx(&profile, NtCurrentProcess(),
                                      (PVOID)(uintptr_t)slot_address(0),
                                      SLOT_BYTES * SLOT_COUNT, 4, counters,
                                      SLOT_COUNT * sizeof(ULONG), source, 0, NULL)) ||
        !NT_SUCCESS(NtStartProfile(profile))) {
        return 5;
    }
    call_slot(SLOT, 6);
    if (!NT_SUCCESS(NtClose(profile)) || counters[SLOT] != 6) {
        return 6;
    }
    ntprof_session_close(session);
    return 0;
}

static void
session__in_a_forked_child__is_refused_and_the_childs_own_works(void **state)
{
    need_exact_source();

    ULONG *const counters = guarded_counters(SLOT_COUNT);
    const KPROFILE_SOURCE source = slot_source(SLOT);
    struct peer peer;
    HANDLE profile;

    (void)state;
    profile = start_slots(NtCurrentProcess(), counters, source);
    call_slot(SLOT, 1);
    peer_start(&peer, use_session_of_parent, profile);
    peer_tell(&peer, 1);
    peer_finish(&peer);
    call_slot(SLOT, 2);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 3);
    assert_statistics_beside(session, source, 3, 3, 6);
    assert_success(NtClose(profile));
}

/* How many of a process's descriptors are events, or programs at events. */
static int
count_events_of(pid_t pid)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        char path[64];
        char target[64];
        ssize_t length;

        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
        length = readlink(path, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = 0;
        count += strstr(target, "[perf_event]") != NULL ||
                 strstr(target, "bpf_link") != NULL ||
                 strstr(target, "bpf-raw-tracepoint") != NULL;
    }
    return count;
}

static int
wait_for_the_end(const struct peer *test, void *argument)
{
    (void)argument;
    peer_tell(test, 1);
    peer_hear(test);
    return 0;
}

/* Else events would go on for nobody as long as the child lives, should the parent be
 * killed. */
static void
session__with_a_forked_child__its_events_are_the_parents_alone(void **state)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    const KPROFILE_SOURCE source = slot_source(SLOT);
    struct peer peer;
    HANDLE profile;

    (void)state;
    profile = start_slots(NtCurrentProcess(), counters, source);
    assert_true(count_events_of(getpid()) > 0);
    peer_start(&peer, wait_for_the_end, NULL);
    peer_hear(&peer);
    assert_int_equal(count_events_of(peer.pid), 0);
    call_slot(SLOT, 3);
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 3);
    assert_success(NtClose(profile));
}

/* ---- limits and refusals ---- */

static void
interval__below_what_the_kernel_does__is_clamped_and_told(void **state)
{
    const ntprof_source_interval wanted = {.source = "time", .interval = 1};
    const ntprof_session_options options = {
        .size = sizeof(options), .intervals = &wanted, .interval_count = 1};
    ntprof_source_info info;
    ULONG interval = 0;

    (void)state;
    fixture_reopen(&options);
    info = read_statistics(session, ProfileTime);
    assert_int_equal(info.interval_asked, 1);
    assert_true(info.interval_minimum > 1);
    assert_int_equal(info.interval_granted, info.interval_minimum);
    assert_success(NtQueryIntervalProfile(ProfileTime, &interval));
    assert_int_equal(interval, info.interval_minimum);
}

/* A ring of the kernel's with this many pages of data, never given back. */
static bool
take_ring_memory(size_t pages)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_DUMMY,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    const int fd =
        (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

    return fd >= 0 && mmap(NULL, (pages + 1) * (size_t)sysconf(_SC_PAGESIZE),
                           PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED;
}

enum { FAULTS = 500 };

static void
fault_often(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = FAULTS * page;
    char *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        return;
    }
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += page) {
        *(volatile char *)&memory[i] = 1;
    }
    munmap(memory, bytes);
}

/* Starts a profile in a session of its own, which stays open, and counts: a ring
 * this small may lose hits, and then says so. The status of the start. Its caller
 * may lock no memory, so the buffer is one that is not locked. */
static NTSTATUS
count_in_new_session(uint64_t *ring_bytes, const char **error)
{
    ULONG *const counters = ntprof_buffer_alloc(SLOT_COUNT * sizeof(ULONG));
    ntprof_session_info info = {.size = sizeof(info)};
    ntprof_source_info faults = {.size = sizeof(faults)};
    ntprof_session *one;
    HANDLE profile;
    NTSTATUS status;

    if (counters == NULL || !NT_SUCCESS(open_another(&one))) {
        return STATUS_UNSUCCESSFUL;
    }
    ntprof_session_use(one);
    if (!NT_SUCCESS(NtCreateProfileEx(
            &profile, NtCurrentProcess(), (PVOID)(uintptr_t)slot_address(0),
            SLOT_BYTES * SLOT_COUNT, 4, counters, SLOT_COUNT * sizeof(ULONG),
            ProfilePageFaults, 0, NULL))) {
        return STATUS_UNSUCCESSFUL;
    }
    status = NtStartProfile(profile);
    *error = ntprof_session_error(one);
    if (!NT_SUCCESS(status)) {
        return status;
    }
    fault_often();
    status = NtStopProfile(profile);
    ntprof_source_get(one, ProfilePageFaults, &faults);
    ntprof_session_get_info(one, &info);
    *ring_bytes = info.ring_bytes;
    if (faults.expected < FAULTS || faults.taken == 0 ||
        faults.expected != faults.taken + faults.lost + faults.throttled +
                               faults.missed + faults.unfinished + faults.excluded) {
        fprintf(stderr, "of %llu hits: %llu taken, %llu lost, %llu missed\n",
                (unsigned long long)faults.expected, (unsigned long long)faults.taken,
                (unsigned long long)faults.lost, (unsigned long long)faults.missed);
        return STATUS_UNSUCCESSFUL;
    }
    return status;
}

/* A user whom nobody else is, without locked memory of its own: the kernel's setting is
 * all. */
static int
exhaust_ring_memory(const struct peer *test, void *argument)
{
    const struct rlimit nothing = {0, 0};
    const uid_t uid = 3000000000u + (uid_t)getpid();
    const uint64_t full_bytes = *(const uint64_t *)argument;
    uint64_t bytes = 0;
    const char *error = "";

    (void)test;
    if (syscall(SYS_setresuid, uid, uid, uid) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0 ||
        setrlimit(RLIMIT_MEMLOCK, &nothing) != 0 || !take_ring_memory(64)) {
        return 2;
    }
    /* The rest is not enough for rings as large as the first; smaller ones do the same.
     */
    if (count_in_new_session(&bytes, &error) != STATUS_SUCCESS) {
        return 3;
    }
    if (bytes == 0 || bytes >= full_bytes) {
        return 4;
    }
    while (take_ring_memory(1)) {
    }
    if (count_in_new_session(&bytes, &error) != STATUS_INSUFFICIENT_RESOURCES) {
        return 5;
    }
    return strstr(error, "kernel.perf_event_mlock_kb") != NULL ? 0 : 6;
}

static void
ring_memory__short__rings_shrink_until_it_is_said_that_there_is_none(void **state)
{
    ntprof_session_info info = {.size = sizeof(info)};
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    struct peer peer;

    (void)state;
    if (!is_root()) {
        return; /* as root, for it needs a user of its own */
    }
    assert_success(
        NtClose(start_slots(NtCurrentProcess(), counters, ProfilePageFaults)));
    assert_success(ntprof_session_get_info(session, &info));
    peer_start(&peer, exhaust_ring_memory, &info.ring_bytes);
    peer_finish(&peer);
}

static void *
wait_for_release(void *argument)
{
    pthread_mutex_lock(argument);
    pthread_mutex_unlock(argument);
    return NULL;
}

static void
take_all_descriptors(void)
{
    while (dup(STDIN_FILENO) >= 0) {
    }
}

/* More threads than descriptors; where threads need none, none are left. */
static int
exhaust_descriptors(const struct peer *test, void *argument)
{
    enum { THREADS = 64 };
    const struct rlimit few = {64, 64};
    static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    ntprof_session *one;
    NTSTATUS status;
    HANDLE profile;

    (void)argument;
    (void)test;
    pthread_mutex_lock(&gate);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, wait_for_release, &gate) != 0) {
            return 2;
        }
    }
    setrlimit(RLIMIT_NOFILE, &few);
    if (!NT_SUCCESS(open_another(&one))) {
        return 3;
    }
    ntprof_session_use(one);
    if (fixture_has(FIXTURE_EVENTS_OF_ALL)) {
        take_all_descriptors(); /* threads do not need any */
    }
    if (!NT_SUCCESS(NtCreateProfileEx(
            &profile, NtCurrentProcess(), (PVOID)(uintptr_t)slot_address(0),
            SLOT_BYTES * SLOT_COUNT, 4, counters, SLOT_COUNT * sizeof(ULONG),
            ProfilePageFaults, 0, NULL))) {
        return 4;
    }
    status = NtStartProfile(profile);
    if (status != STATUS_INSUFFICIENT_RESOURCES ||
        strstr(ntprof_session_error(one), "RLIMIT_NOFILE is 64") == NULL) {
        return 5;
    }
    if (NtStopProfile(profile) != STATUS_PROFILING_NOT_STARTED) {
        return 6;
    }
    pthread_mutex_unlock(&gate);
    ntprof_session_close(one);
    return 0;
}

static void
descriptors__used_up__start_fails_and_it_is_said(void **state)
{
    struct peer peer;

    (void)state;
    peer_start(&peer, exhaust_descriptors, NULL);
    peer_finish(&peer);
}

/* From now on perf_event_open fails with this error. */
static int
refuse_events(unsigned error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]),
                                 .filter = filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

static int
open_without_events(const struct peer *test, void *argument)
{
    const unsigned error = *(const unsigned *)argument;
    ntprof_session_options options = {.size = sizeof(options), .backend = backend};
    ntprof_backend_info info = {.size = sizeof(info)};
    ntprof_session *one = NULL;

    (void)test;
    if (refuse_events(error) != 0) {
        return 1;
    }
    if (ntprof_session_open(&options, &one) != STATUS_NOT_SUPPORTED || one != NULL) {
        return 2;
    }
    for (uint32_t i = 0; NT_SUCCESS(ntprof_backend_next(i, &info)); i++) {
        if (strcmp(info.name, backend) == 0) {
            return info.usable == 0 && strstr(info.reason, "seccomp") != NULL &&
                           strstr(info.remedy, "perf_event_open") != NULL
                       ? 0
                       : 3;
        }
    }
    return 4;
}

static void
perf_event_open__refused_by_a_filter__session_says_what_refuses(void **state)
{
    static unsigned errors[] = {EPERM, EACCES, ENOSYS};

    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        struct peer peer;

        peer_start(&peer, open_without_events, &errors[i]);
        peer_finish(&peer);
    }
}

/* The default session, opened by a call of NT: it takes no signal unasked. */
static bool
is_told_of_timers(void)
{
    const char *const said = ntprof_session_error(NULL);
    ULONG counter = 0;
    HANDLE profile;

    ntprof_session_use(NULL);
    return NtCreateProfileEx(&profile, NtCurrentProcess(), &counter, 4, 2, &counter, 4,
                             ProfileTime, 0, NULL) == STATUS_NOT_SUPPORTED &&
           strstr(said, "perf: a seccomp filter refuses") != NULL &&
           strstr(said, "\"perf,timer\" as ntprof_session_options.backend") != NULL &&
           strstr(said, "signals") != NULL;
}

/* Without a default session calls that read it say why. */
static bool
is_default_refused(void)
{
    ntprof_session_info info = {.size = sizeof(info)};
    ntprof_source_info source = {.size = sizeof(source)};
    KPROFILE_SOURCE number;

    return ntprof_session_get_info(NULL, &info) == STATUS_NOT_SUPPORTED &&
           strstr(ntprof_session_error(NULL), "seccomp") != NULL &&
           ntprof_session_flush(NULL) == STATUS_NOT_SUPPORTED &&
           ntprof_session_poll(NULL, NULL) == STATUS_NOT_SUPPORTED &&
           ntprof_session_fd(NULL) == -1 &&
           ntprof_source_get(NULL, ProfileTime, &source) == STATUS_NOT_SUPPORTED &&
           ntprof_source_next(NULL, 0, &number) == STATUS_NOT_SUPPORTED &&
           ntprof_source_lookup(NULL, "time", &number) == STATUS_NOT_SUPPORTED;
}

static int
open_list_without_events(const struct peer *test, void *argument)
{
    static const char *const lists[] = {"perf,timer", "bpf,perf,timer,sim",
                                        "timer,perf"};
    ntprof_session_options options = {.size = sizeof(options)};

    (void)test;
    if (refuse_events(*(const unsigned *)argument) != 0) {
        return 1;
    }
    if (!is_told_of_timers() || !is_default_refused()) {
        return 2;
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        ntprof_session_info info = {.size = sizeof(info)};
        ntprof_session *one;

        options.backend = lists[i];
        if (!NT_SUCCESS(ntprof_session_open(&options, &one)) ||
            !NT_SUCCESS(ntprof_session_get_info(one, &info)) ||
            strcmp(info.backend, "timer") != 0) {
            return 3;
        }
        /* Why those before it are not used. */
        if ((strstr(info.better, "perf: a seccomp filter") != NULL) != (i < 2)) {
            return 4;
        }
        ntprof_session_close(one);
    }
    options.backend = "perf,bpf";
    return ntprof_session_open(&options, &(ntprof_session *){NULL}) ==
                       STATUS_NOT_SUPPORTED &&
                   strstr(ntprof_session_error(NULL), "; bpf: ") != NULL
               ? 0
               : 5;
}

static void
perf_event_open__refused_by_a_filter__timers_count_where_they_are_named(void **state)
{
    static unsigned errors[] = {EPERM, ENOSYS};

    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        struct peer peer;

        peer_start(&peer, open_list_without_events, &errors[i]);
        peer_finish(&peer);
    }
}

/* Starts a profile of the default session. */
static int
start_in_default(ULONG counters[4], HANDLE *profile)
{
    NTSTATUS status;

    ntprof_session_use(NULL);
    status = NtCreateProfileEx(profile, NtCurrentProcess(), counters, 16, 2, counters,
                               16, ProfileTime, 0, NULL);
    return NT_SUCCESS(status) ? NtStartProfile(*profile) : status;
}

/* Returns the line of what is wrong, or 0. */
static int
compare_with_default(ntprof_session *other)
{
    ntprof_session_info info = {.size = sizeof(info)};
    ntprof_source_info time = {.size = sizeof(time)};
    KPROFILE_SOURCE source;

#define EXPECT(what)     \
    if (!(what)) {       \
        return __LINE__; \
    }
    EXPECT(ntprof_session_get_info(NULL, &info) == STATUS_SUCCESS);
    EXPECT(info.started == 1 && strcmp(info.backend, "perf") == 0);
    EXPECT(ntprof_session_get_info(other, &info) == STATUS_SUCCESS);
    EXPECT(info.started == 0 && strcmp(info.backend, "sim") == 0);
    EXPECT(ntprof_source_lookup(NULL, "time", &source) == STATUS_SUCCESS);
    EXPECT(source == ProfileTime);
    for (int i = 0; i < 1000000 && time.taken == 0; i++) { /* the calls take time */
        EXPECT(ntprof_source_get(NULL, ProfileTime, &time) == STATUS_SUCCESS);
    }
    EXPECT(time.taken > 0 && time.taken == time.counted + time.outside);
    EXPECT(ntprof_source_get(other, ProfileTime, &time) == STATUS_SUCCESS);
    EXPECT(time.taken == 0);
    EXPECT(ntprof_source_next(NULL, 0, &source) == STATUS_SUCCESS);
    EXPECT(ntprof_session_flush(NULL) == STATUS_SUCCESS);
    EXPECT(ntprof_session_poll(NULL, NULL) == STATUS_SUCCESS);
    EXPECT(ntprof_session_fd(NULL) >= 0);
    /* Other arguments are looked at as before. */
    EXPECT(ntprof_session_get_info(NULL, NULL) == STATUS_INVALID_PARAMETER);
    EXPECT(ntprof_source_next(NULL, 0, NULL) == STATUS_INVALID_PARAMETER);
    EXPECT(ntprof_source_lookup(NULL, NULL, &source) == STATUS_INVALID_PARAMETER);
    EXPECT(ntprof_source_lookup(NULL, "none", &source) == STATUS_NOT_FOUND);
    EXPECT(strstr(ntprof_session_error(NULL), "\"none\"") != NULL);
    return 0;
}

/* In a process of its own, whose default session ends with it. */
static int
read_default(const struct peer *test, void *argument)
{
    const ntprof_session_options simulated = {.size = sizeof(simulated),
                                              .backend = "sim"};
    static ULONG counters[4];
    ntprof_session *other;
    HANDLE profile;
    int line;

    (void)test;
    (void)argument;
    if (!NT_SUCCESS(start_in_default(counters, &profile)) ||
        !NT_SUCCESS(ntprof_session_open(&simulated, &other))) {
        return 1;
    }
    ntprof_session_use(other);
    line = compare_with_default(other);
    if (line != 0) {
        fprintf(stderr, "line %d: %s\n", line, ntprof_session_error(NULL));
    }
    return line != 0 ? 2 : 0;
}

static void
null__calls_that_read__are_for_the_default_session(void **state)
{
    struct peer peer;

    (void)state;
    peer_start(&peer, read_default, NULL);
    peer_finish(&peer);
}

static void
null__calls_that_change__refused(void **state)
{
    (void)state;
    assert_status(ntprof_session_watch(NULL, NULL, NULL), STATUS_INVALID_PARAMETER);
    assert_status(ntprof_session_set_notify(NULL, NULL, NULL),
                  STATUS_INVALID_PARAMETER);
    assert_status(ntprof_session_freeze(NULL), STATUS_INVALID_PARAMETER);
    assert_status(ntprof_source_set_interval(NULL, ProfileTime, 1),
                  STATUS_INVALID_PARAMETER);
}

/* A session that counts in the interrupt has nobody to tell of processes. */
static void
watch__back_end_counts_profile_objects__refused_and_said(void **state)
{
    (void)state;
    assert_status(ntprof_session_watch(session, NULL, NULL), STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), "watches no process"));
    assert_status(ntprof_session_watch(session, NtCurrentProcess(), NULL),
                  STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), "watches no process"));
}

static void
freeze__started_profile__calls_after_it_do_not_count(void **state)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    const KPROFILE_SOURCE source = slot_source(SLOT);
    HANDLE profile;

    (void)state;
    profile = start_slots(NtCurrentProcess(), counters, source);
    call_slot(SLOT, 30);
    assert_success(ntprof_session_freeze(session));
    call_slot(SLOT, 500);
    assert_success(ntprof_session_flush(session));
    assert_only(counters, SLOT_COUNT, SLOT, 30);
    assert_exact_statistics(session, source, 30, 30);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 30);
    assert_success(NtClose(profile));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(polled_session__descriptor_and_poll__deliver_all),
        fixture_test_of(polled_session__ring_above_its_watermark__wakes_the_poller,
                        FIXTURE_RINGS),
        fixture_test(polled_session__never_polled__losses_are_in_the_statistics),
        fixture_test_of(lost_records__of_a_mapping__are_told_and_made_up_for,
                        FIXTURE_RINGS),
        fixture_test(two_sessions__on_one_process__count_independently),
        fixture_test(
            session_close__with_started_profiles__ends_them_and_keeps_the_counts),
        fixture_test(thread__that_opened_the_profile_ends__others_are_counted_on),
        fixture_test(session__with_a_forked_child__its_events_are_the_parents_alone),
        fixture_test(session__in_a_forked_child__is_refused_and_the_childs_own_works),
        fixture_test(interval__below_what_the_kernel_does__is_clamped_and_told),
        fixture_test_of(
            ring_memory__short__rings_shrink_until_it_is_said_that_there_is_none,
            FIXTURE_RINGS),
        fixture_test(descriptors__used_up__start_fails_and_it_is_said),
        fixture_test(perf_event_open__refused_by_a_filter__session_says_what_refuses),
        fixture_test(null__calls_that_read__are_for_the_default_session),
        fixture_test(null__calls_that_change__refused),
        fixture_test(
            perf_event_open__refused_by_a_filter__timers_count_where_they_are_named),
        fixture_test_of(watch__back_end_counts_profile_objects__refused_and_said,
                        FIXTURE_EVENTS_OF_ALL),
        fixture_test(freeze__started_profile__calls_after_it_do_not_count),
    };

    return fixture_run("sessions", tests, sizeof(tests) / sizeof(tests[0]));
}
