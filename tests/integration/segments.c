/* SPDX-License-Identifier: MIT */
/*
 * segments.c - profiles of code segments, by code that really runs in 32-bit and 16-bit
 * segments of its own: exactly by breakpoints, and by the clock.
 */
#include "breakpoints.h"
#include "fixture.h"
#include "guarded.h"
#include "programs/segment_code.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what the tests share ---- */

/* Some machines may let modify_ldt succeed and fault on the way into such a segment:
 * a child finds out. Returns 0 or -EFAULT. */
static int
try_segments(void)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        segment_run(SELECTOR_32, LOOP_32, 1);
        segment_run(SELECTOR_16, LOOP_16, 1);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -EFAULT : 0;
}

/* In each program once, and in its children. */
static void
need_segments(void)
{
    static int result = 1;

    if (result > 0) {
        result = segment_make();
        if (result == 0) {
            result = try_segments();
        }
    }
    if (result == -ENOSYS || result == -EPERM) {
        skip_because("modify_ldt is not allowed here");
    }
    if (result == -EFAULT) {
        skip_because("a far jump into a segment of the LDT faults here");
    }
    assert_int_equal(result, 0);
}

static void
reopen_x86(void)
{
    const ntprof_session_options options = {.size = sizeof(options),
                                            .abi = NTPROF_ABI_X86};

    fixture_reopen(&options);
}

/* An own-process test of an x86 session. */
static void
begin_x86(void)
{
    need_segments();
    reopen_x86();
}

struct buffer {
    ULONG *counters;
    size_t count;
};

static struct buffer
buffer_make(size_t count)
{
    return (struct buffer){guarded_counters(count), count};
}

static uint64_t
buffer_sum(const struct buffer *buffer)
{
    return sum_counters(buffer->counters, buffer->count);
}

/* A started profile with a buffer of its own. */
struct running {
    struct buffer buffer;
    HANDLE handle;
};

static struct running
running_start(HANDLE process, uint64_t base, uint64_t size, ULONG log2, size_t count,
              KPROFILE_SOURCE source)
{
    struct running running = {.buffer = buffer_make(count)};

    running.handle = create_profile(process, base, size, log2, running.buffer.counters,
                                    count, source);
    assert_success(NtStartProfile(running.handle));
    return running;
}

static void
running_stop(struct running *running)
{
    assert_success(NtStopProfile(running->handle));
    assert_success(NtClose(running->handle));
}

/* 8 bytes for each counter: floor(65536 / 8192) is 8, and 2^3 the least power that
 * holds it. */
enum { SEGMENT_COUNTERS = 8192, SEGMENT_BUCKET_BYTES = 8 };

static struct running
start_segment(HANDLE process, uint64_t selector, KPROFILE_SOURCE source)
{
    return running_start(process, selector, SEGMENT_BYTES, 0, SEGMENT_COUNTERS, source);
}

/* An address profile with the same buckets. */
static struct running
start_addresses(HANDLE process, uint64_t base, KPROFILE_SOURCE source)
{
    return running_start(process, base, SEGMENT_BYTES, 3, SEGMENT_COUNTERS, source);
}

static void
assert_only_at(const struct running *running, uint64_t offset, ULONG value)
{
    assert_only(running->buffer.counters, running->buffer.count,
                offset / SEGMENT_BUCKET_BYTES, value);
}

static void
assert_none(const struct running *running)
{
    assert_int_equal(buffer_sum(&running->buffer), 0);
}

/* ---- buckets ---- */

/* The buckets that NT's rule gives, and where the first instructions of both loops fall
 * in them. rules: create-segment, create-segment-bucket, hit-segment */
static const struct placing {
    uint64_t size;
    size_t counters;
    ULONG log2; /* of the bucket, by hand */
    int index_32;
    int index_16; /* -1: outside */
} placings[] = {
    {0x10000, 16384, 2, 1088, 2176},
    {0x10000, 65536, 2, 1088, 2176}, /* more counters than buckets of 4 bytes */
    {0x10000, 8192, 3, 544, 1088},
    {0x10000, 3000, 5, 136, 272}, /* 21 bytes each */
    {0x10000, 256, 8, 17, 34},
    {0xFFFF, 16, 12, 1, 2}, /* 4095 bytes each */
    {0x10000, 1, 16, 0, 0},
    {0x1101, 4, 11, 2, -1},  /* LOOP_32 is the last byte */
    {0x1100, 2, 12, -1, -1}, /* and here the end */
    {0xFFFFFFFF, 4, 30, 0, 0},
};

enum { PLACINGS = sizeof(placings) / sizeof(placings[0]) };

static void
assert_placed(const struct running *running, const struct placing *placing, int index,
              ULONG value)
{
    if (index < 0) {
        assert_none(running);
        return;
    }
    assert_int_equal((placing->index_32 == index ? LOOP_32 : LOOP_16) >> placing->log2,
                     index);
    assert_only(running->buffer.counters, running->buffer.count, (size_t)index, value);
}

/* Both segments, their loops' breakpoints, and all the rows in each, at once. */
static void
segments__breakpoints__each_execution_in_the_bucket_of_its_offset(void **state)
{
    static struct running of_32[PLACINGS];
    static struct running of_16[PLACINGS];
    KPROFILE_SOURCE source_32;
    KPROFILE_SOURCE source_16;

    (void)state;
    begin_x86();
    source_32 = breakpoint_at(session, SEGMENT_BASE + LOOP_32);
    source_16 = breakpoint_at(session, SEGMENT_BASE + LOOP_16);
    for (size_t i = 0; i < PLACINGS; i++) {
        const struct placing *const at = &placings[i];

        of_32[i] = running_start(NtCurrentProcess(), SELECTOR_32, at->size, 0,
                                 at->counters, source_32);
        of_16[i] = running_start(NtCurrentProcess(), SELECTOR_16, at->size, 0,
                                 at->counters, source_16);
    }
    segment_run(SELECTOR_32, LOOP_32, 1234);
    segment_run(SELECTOR_16, LOOP_16, 567);
    for (size_t i = 0; i < PLACINGS; i++) {
        running_stop(&of_32[i]);
        running_stop(&of_16[i]);
    }
    segment_run(SELECTOR_32, LOOP_32, 5);
    segment_run(SELECTOR_16, LOOP_16, 5);
    for (size_t i = 0; i < PLACINGS; i++) {
        assert_placed(&of_32[i], &placings[i], placings[i].index_32, 1234);
        assert_placed(&of_16[i], &placings[i], placings[i].index_16, 567);
    }
    assert_exact_statistics(session, source_32, 1234, 1234);
    assert_exact_statistics(session, source_16, 567, 567);
}

/* rule: create-segment-bucket */
static void
segment__buckets_that_cannot_be__refused_as_the_rule_says(void **state)
{
    static const struct {
        uint64_t size;
        size_t counters;
        NTSTATUS status;
    } rows[] = {
        {1, 2, STATUS_INVALID_PARAMETER}, /* no byte each */
        {0, 1, STATUS_INVALID_PARAMETER},
        {4, 4, STATUS_SUCCESS}, /* one byte each */
        {3, 1, STATUS_SUCCESS},
        {1024, 2, STATUS_SUCCESS},
        {1025, 2, STATUS_BUFFER_TOO_SMALL}, /* 512 each, and one byte left */
    };

    (void)state;
    reopen_x86();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buffer buffer = buffer_make(rows[i].counters);
        HANDLE profile = NULL;

        assert_status(NtCreateProfileEx(&profile, NtCurrentProcess(),
                                        (PVOID)(uintptr_t)SELECTOR_32,
                                        (SIZE_T)rows[i].size, 0, buffer.counters,
                                        (ULONG)(rows[i].counters * sizeof(ULONG)),
                                        ProfileTime, 0, NULL),
                      rows[i].status);
        if (NT_SUCCESS(rows[i].status)) {
            assert_success(NtClose(profile));
        } else {
            assert_null(profile);
        }
    }
}

/* ---- who counts ---- */

/* rules: create-segment, hit-segment */
static void
hits__in_a_segment__count_by_offset_there_and_by_linear_address(void **state)
{
    const uint64_t bases[] = {0, SEGMENT_BASE};
    struct running segment_32;
    struct running segment_16;
    struct running flat[2];
    struct running addresses[2];
    KPROFILE_SOURCE source;

    (void)state;
    begin_x86();
    source = breakpoint_at(session, SEGMENT_BASE + LOOP_32_SECOND);
    segment_32 = start_segment(NtCurrentProcess(), SELECTOR_32, source);
    segment_16 = start_segment(NtCurrentProcess(), SELECTOR_16, source);
    flat[0] = start_segment(NtCurrentProcess(), SELECTOR_FLAT_32, source);
    flat[1] = start_segment(NtCurrentProcess(), SELECTOR_FLAT_64, source);
    for (size_t i = 0; i < 2; i++) {
        addresses[i] = start_addresses(NtCurrentProcess(), bases[i], source);
    }
    segment_run(SELECTOR_32, LOOP_32, 321);
    running_stop(&segment_32);
    running_stop(&segment_16);
    for (size_t i = 0; i < 2; i++) {
        running_stop(&flat[i]);
        running_stop(&addresses[i]);
    }
    assert_only_at(&segment_32, LOOP_32_SECOND, 321);
    assert_none(&segment_16);
    assert_none(&flat[0]);
    assert_none(&flat[1]);
    assert_none(&addresses[0]);
    assert_only_at(&addresses[1], LOOP_32_SECOND, 321);
    assert_exact_statistics(session, source, 321, 321);
}

/* In flat segments the offset is the address. rules: create-segment-bucket, hit-segment
 */
static void
hits__in_flat_segments__count_by_their_address(void **state)
{
    static const struct {
        uint64_t selector;
        uint64_t loop;
    } flats[] = {{SELECTOR_FLAT_64, LOOP_64}, {SELECTOR_FLAT_32, LOOP_32}};

    (void)state;
    begin_x86();
    for (size_t i = 0; i < 2; i++) {
        const uint64_t address = SEGMENT_BASE + flats[i].loop;
        const uint64_t other = flats[1 - i].selector;
        const KPROFILE_SOURCE source = breakpoint_at(session, address);
        /* 2^28 bytes for each of four counters: the address is in the last one. */
        struct running own = running_start(NtCurrentProcess(), flats[i].selector,
                                           0x40000000, 0, 4, source);
        struct running others =
            running_start(NtCurrentProcess(), other, 0x40000000, 0, 4, source);
        struct running low = start_addresses(NtCurrentProcess(), 0, source);

        segment_run(flats[i].selector, address, 99);
        running_stop(&own);
        running_stop(&others);
        running_stop(&low);
        assert_only(own.buffer.counters, 4, 3, 99);
        assert_none(&others);
        assert_none(&low);
        assert_exact_statistics(session, source, 99, 99);
    }
}

/* rules: create-segment-none, hit-segment */
static void
hits__in_a_segment_in_an_x64_session__count_by_linear_address_alone(void **state)
{
    struct buffer refused = buffer_make(1);
    HANDLE profile = NULL;
    KPROFILE_SOURCE source;
    struct running low;
    struct running linear;

    (void)state;
    need_segments();
    assert_status(NtCreateProfileEx(&profile, NtCurrentProcess(),
                                    (PVOID)(uintptr_t)SELECTOR_32, 0x10000, 0,
                                    refused.counters, sizeof(ULONG), ProfileTime, 0,
                                    NULL),
                  STATUS_INVALID_PARAMETER);
    assert_null(profile);
    source = breakpoint_at(session, SEGMENT_BASE + LOOP_16);
    low = start_addresses(NtCurrentProcess(), 0, source);
    linear = start_addresses(NtCurrentProcess(), SEGMENT_BASE, source);
    segment_run(SELECTOR_16, LOOP_16, 77);
    running_stop(&low);
    running_stop(&linear);
    assert_none(&low);
    assert_only_at(&linear, LOOP_16, 77);
    assert_exact_statistics(session, source, 77, 77);
}

/* rule: create-segment-global */
static void
segment__of_all_processes__refused_unless_it_is_0(void **state)
{
    static const ULONG selectors[] = {
        1, SELECTOR_32, SELECTOR_16, SELECTOR_FLAT_32, SELECTOR_FLAT_64, 0xFFFF};
    struct buffer buffer = buffer_make(16);
    HANDLE profile = NULL;

    (void)state;
    reopen_x86();
    for (size_t i = 0; i < sizeof(selectors) / sizeof(selectors[0]); i++) {
        assert_status(NtCreateProfileEx(&profile, NULL, (PVOID)(uintptr_t)selectors[i],
                                        0x10000, 0, buffer.counters, 64, ProfileTime, 0,
                                        NULL),
                      STATUS_INVALID_PARAMETER);
        assert_null(profile);
    }
    assert_status(NtCreateProfileEx(&profile, NULL, NULL, 0x10000, 0, buffer.counters,
                                    64, ProfileTime, 0, NULL),
                  may_profile_all() ? STATUS_SUCCESS : STATUS_PRIVILEGE_NOT_HELD);
    if (may_profile_all()) {
        assert_success(NtStartProfile(profile));
        assert_success(NtClose(profile));
    } else {
        assert_null(profile);
    }
}

/* Who is not root has no profiles of all processes. */
static void
assert_all_refused(KPROFILE_SOURCE source)
{
    enum { COUNTERS = 16 };
    HANDLE profile = NULL;

    assert_int_equal(NtCreateProfileEx(&profile, NULL, (PVOID)SEGMENT_BASE, 64, 2,
                                       guarded_counters(COUNTERS),
                                       COUNTERS * sizeof(ULONG), source, 0, NULL),
                     STATUS_PRIVILEGE_NOT_HELD);
    assert_null(profile);
}

/* Events for all processes tell segments as well; an address profile must not take
 * their offsets. rule: hit-segment */
static void
hits__for_all_processes__count_by_linear_address(void **state)
{
    struct running low;
    struct running linear;
    struct running own;
    KPROFILE_SOURCE source;

    (void)state;
    begin_x86();
    source = breakpoint_at(session, SEGMENT_BASE + LOOP_32);
    if (!may_profile_all()) {
        assert_all_refused(source);
        return;
    }
    low = start_addresses(NULL, 0, source);
    linear = start_addresses(NULL, SEGMENT_BASE, source);
    own = start_segment(NtCurrentProcess(), SELECTOR_32, source);
    segment_run(SELECTOR_32, LOOP_32, 45);
    running_stop(&low);
    running_stop(&linear);
    running_stop(&own);
    assert_none(&low);
    assert_only_at(&linear, LOOP_32, 45);
    assert_only_at(&own, LOOP_32, 45);
}

/* ---- the clock ---- */

/* A loop's counter, which is the one of all its instructions. */
static uint64_t
loop_counter(const struct running *running, uint64_t loop)
{
    return running->buffer.counters[loop / SEGMENT_BUCKET_BYTES];
}

/* By the linear address as well, where that is known; else not by address at all. */
static void
assert_also_linear(const struct running *linear, const struct running *segment_32,
                   const struct running *segment_16)
{
    if (!fixture_has(FIXTURE_LINEAR)) {
        assert_none(linear);
        return;
    }
    assert_int_equal(loop_counter(linear, LOOP_32), loop_counter(segment_32, LOOP_32));
    assert_int_equal(loop_counter(linear, LOOP_16), loop_counter(segment_16, LOOP_16));
    assert_int_equal(buffer_sum(&linear->buffer),
                     buffer_sum(&segment_32->buffer) + buffer_sum(&segment_16->buffer));
}

/* rule: hit-segment */
static void
time__in_both_segments__hits_are_in_their_loops_and_never_at_low_addresses(void **state)
{
    enum { ENOUGH = 30, ROUNDS = 50000000 };
    struct running segment_32;
    struct running segment_16;
    struct running low;
    struct running linear;
    const struct running *seen_32 = &linear;
    const struct running *seen_16 = &linear;
    ntprof_source_info info;

    (void)state;
    begin_x86();
    if (!fixture_has(FIXTURE_LINEAR)) {
        seen_32 = &segment_32;
        seen_16 = &segment_16;
    }
    segment_32 = start_segment(NtCurrentProcess(), SELECTOR_32, ProfileTime);
    segment_16 = start_segment(NtCurrentProcess(), SELECTOR_16, ProfileTime);
    low = start_addresses(NtCurrentProcess(), 0, ProfileTime);
    linear = start_addresses(NtCurrentProcess(), SEGMENT_BASE, ProfileTime);
    do {
        segment_run(SELECTOR_32, LOOP_32, ROUNDS);
        segment_run(SELECTOR_16, LOOP_16, ROUNDS);
        assert_success(ntprof_session_flush(session));
        /* By the linear addresses, so that a segment's failure is no endless loop. */
    } while (loop_counter(seen_32, LOOP_32) < ENOUGH ||
             loop_counter(seen_16, LOOP_16) < ENOUGH);
    running_stop(&segment_32);
    running_stop(&segment_16);
    running_stop(&low);
    running_stop(&linear);

    info = read_statistics(session, ProfileTime);
    assert_none(&low);
    assert_int_equal(loop_counter(&segment_32, LOOP_32),
                     buffer_sum(&segment_32.buffer));
    assert_int_equal(loop_counter(&segment_16, LOOP_16),
                     buffer_sum(&segment_16.buffer));
    assert_int_equal(buffer_sum(&segment_32.buffer) + buffer_sum(&segment_16.buffer),
                     info.counted);
    assert_also_linear(&linear, &segment_32, &segment_16);
    /* The process does little else, however often the machine interrupts it. */
    if (!fixture_has(FIXTURE_EVENTS_OF_ALL)) {
        assert_true(info.counted > info.outside - info.outside_kernel);
    }
    print_message("%" PRIu64 " hits of %" PRIu64 " in segments\n", info.counted,
                  info.taken);
}

/* ---- other processes ---- */

/* Becomes the program, its words coming and going by the peer's pipes; when told to. */
static int
run_program(const struct peer *test, void *path)
{
    if (peer_hear(test) != 0 || dup2(test->from_fd, STDIN_FILENO) < 0 ||
        dup2(test->to_fd, STDOUT_FILENO) < 0) {
        return 1;
    }
    close(test->from_fd);
    close(test->to_fd);
    execl(path, path, (char *)NULL);
    return 127;
}

static void
program_start(struct peer *peer)
{
    peer_start(peer, run_program, (void *)(uintptr_t)program_path("SEGMENTS"));
}

/* Let it become the program and make its segments. */
static void
program_go(const struct peer *peer)
{
    peer_tell(peer, 0);
    assert_int_equal(peer_hear(peer), 0);
}

static uint64_t
program_obey(const struct peer *peer, uint32_t command, uint32_t rounds)
{
    peer_tell(peer, SEGMENT_WORD(command, rounds));
    return peer_hear(peer);
}

/* Its input ends, and so does it. */
static void
program_end(struct peer *peer)
{
    close(peer->to_fd);
    peer->to_fd = dup(peer->from_fd);
    peer_finish(peer);
}

/* rule: hit-segment */
static void
attached__process_and_a_thread_that_comes__count_in_its_segments(void **state)
{
    need_breakpoints();

    struct peer peer;
    KPROFILE_SOURCE source_32;
    KPROFILE_SOURCE source_16;
    struct running segment_32;
    struct running segment_16;
    struct running own;
    HANDLE process;

    (void)state;
    begin_x86();
    program_start(&peer);
    program_go(&peer);
    source_32 = breakpoint_at(session, SEGMENT_BASE + LOOP_32);
    source_16 = breakpoint_at(session, SEGMENT_BASE + LOOP_16);
    process = open_process(peer.pid);
    segment_32 = start_segment(process, SELECTOR_32, source_32);
    segment_16 = start_segment(process, SELECTOR_16, source_16);
    own = start_segment(NtCurrentProcess(), SELECTOR_32, source_32);
    assert_int_equal(program_obey(&peer, SEGMENT_COMMAND_RUN_32, 200), 0);
    assert_int_equal(program_obey(&peer, SEGMENT_COMMAND_THREAD_32, 30), 0);
    assert_int_equal(program_obey(&peer, SEGMENT_COMMAND_RUN_16, 4), 0);
    segment_run(SELECTOR_32, LOOP_32, 1);
    running_stop(&segment_32);
    running_stop(&segment_16);
    running_stop(&own);
    assert_only_at(&segment_32, LOOP_32, 230);
    assert_only_at(&segment_16, LOOP_16, 4);
    assert_only_at(&own, LOOP_32, 1);
    assert_exact_statistics(session, source_32, 231, 231);
    assert_success(NtClose(process));
    program_end(&peer);
}

/* rule: hit-segment */
static void
watched__command_and_its_child__count_in_their_segments(void **state)
{
    struct peer peer;
    KPROFILE_SOURCE source;
    struct running of_parent;
    struct running of_child;
    HANDLE parent;
    HANDLE child;
    uint64_t pid;

    (void)state;
    begin_x86();
    source = breakpoint_at(session, SEGMENT_BASE + LOOP_32);
    program_start(&peer);
    watch_peer(&peer, NTPROF_WATCH_ON_EXEC | NTPROF_WATCH_DESCENDANTS, source);
    program_go(&peer);
    parent = open_process(peer.pid);
    of_parent = start_segment(parent, SELECTOR_32, source);
    assert_int_equal(program_obey(&peer, SEGMENT_COMMAND_RUN_32, 60), 0);
    pid = program_obey(&peer, SEGMENT_COMMAND_FORK, 0);
    assert_true(pid != 0 && pid != UINT64_MAX);
    child = open_process((pid_t)pid);
    of_child = start_segment(child, SELECTOR_32, source);
    assert_int_equal(program_obey(&peer, SEGMENT_COMMAND_RUN_32, 7), 0);
    running_stop(&of_parent);
    running_stop(&of_child);
    assert_only_at(&of_parent, LOOP_32, 60);
    assert_only_at(&of_child, LOOP_32, 7);
    assert_exact_statistics(session, source, 67, 67);
    assert_success(NtClose(parent));
    assert_success(NtClose(child));
    program_end(&peer);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(segments__breakpoints__each_execution_in_the_bucket_of_its_offset),
        fixture_test(segment__buckets_that_cannot_be__refused_as_the_rule_says),
        fixture_test(hits__in_a_segment__count_by_offset_there_and_by_linear_address),
        fixture_test(hits__in_flat_segments__count_by_their_address),
        fixture_test(
            hits__in_a_segment_in_an_x64_session__count_by_linear_address_alone),
        fixture_test(segment__of_all_processes__refused_unless_it_is_0),
        fixture_test(hits__for_all_processes__count_by_linear_address),
        fixture_test(
            time__in_both_segments__hits_are_in_their_loops_and_never_at_low_addresses),
        fixture_test(attached__process_and_a_thread_that_comes__count_in_its_segments),
        fixture_test_of(watched__command_and_its_child__count_in_their_segments,
                        FIXTURE_WATCHES),
    };

    return fixture_run("segments", tests, sizeof(tests) / sizeof(tests[0]));
}
