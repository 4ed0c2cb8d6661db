/* SPDX-License-Identifier: MIT */
/* counting.c - exact counts on the real back end: buckets, overlap, start and stop,
 * intervals. */
#include "breakpoints.h"
#include "fixture.h"
#include "guarded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

/* Regions around slot 5, at offset 80 of the page; where a hit there must land. */
static const struct placing {
    const char *what;
    uint64_t base; /* offset from the first slot */
    uint64_t size;
    ULONG log2;
    int index; /* -1: nowhere */
} placings[] = {
    {"a counter for each slot", 0, 4096, 4, 5},
    {"smallest bucket", 0, 4096, 2, 20},
    {"one bucket for all", 0, 4096, 12, 0},
    {"largest bucket", 0, 4096, 31, 0},
    {"base on the address", 80, 16, 2, 0},
    {"base is not aligned to the bucket", 24, 1000, 5, 1},
    {"last byte before the end", 0, 81, 6, 1},
    {"end is the address", 0, 80, 4, -1},
    {"begins behind it", 81, 4000, 4, -1},
    {"empty region", 80, 0, 4, -1},
    {"ends before it", 0, 16, 2, -1},
};

enum { PLACINGS = sizeof(placings) / sizeof(placings[0]), COUNTERS = 1024 };

static void
buckets__overlapping_regions__each_counts_by_its_own_buckets(void **state)
{
    const KPROFILE_SOURCE source = slot_source(5);
    ULONG *placed[PLACINGS];
    HANDLE profiles[PLACINGS];

    (void)state;
    for (size_t i = 0; i < PLACINGS; i++) {
        placed[i] = guarded_counters(COUNTERS);
        profiles[i] = create_profile(
            NtCurrentProcess(), slot_address(0) + placings[i].base, placings[i].size,
            placings[i].log2, placed[i], COUNTERS, source);
        assert_success(NtStartProfile(profiles[i]));
    }
    call_slot(5, 11);
    call_slot(4, 3);
    for (size_t i = 0; i < PLACINGS; i++) {
        assert_success(NtStopProfile(profiles[i]));
        assert_success(NtClose(profiles[i]));
    }
    for (size_t i = 0; i < PLACINGS; i++) {
        if (placings[i].index < 0) {
            assert_int_equal(sum_counters(placed[i], COUNTERS), 0);
        } else {
            assert_only(placed[i], COUNTERS, (size_t)placings[i].index, 11);
        }
    }
    assert_exact_statistics(session, source, 11, 11);
}

static void
buckets__address_in_no_region__is_outside(void **state)
{
    const KPROFILE_SOURCE source = slot_source(7);
    ULONG *const counters = guarded_counters(4);
    HANDLE profile =
        create_profile(NtCurrentProcess(), slot_address(0), 64, 4, counters, 4, source);

    (void)state;
    assert_success(NtStartProfile(profile));
    call_slot(7, 9);
    assert_success(NtStopProfile(profile));
    assert_int_equal(sum_counters(counters, 4), 0);
    assert_exact_statistics(session, source, 9, 0);
    assert_success(NtClose(profile));
}

/* Where the session sees kernel mode, until it has; each hit is in a system call. */
static void
statistics__hits_in_no_region__those_in_kernel_mode_are_told_apart(void **state)
{
    static unsigned char bytes[65536];
    ULONG *const counters = guarded_counters(4);
    HANDLE profile = create_profile(NtCurrentProcess(), slot_address(0), 64, 4,
                                    counters, 4, ProfileTime);
    ntprof_source_info info = read_statistics(session, ProfileTime);
    const uint64_t before = info.outside_kernel;

    (void)state;
    assert_success(NtStartProfile(profile));
    for (int i = 0; i < 20000 && info.outside - info.outside_kernel < 3; i++) {
        for (volatile int spin = 0; spin < 100000; spin++) {
        }
        info = read_statistics(session, ProfileTime);
    }
    for (int i = 0;
         i < 20000 && info.kernel_included && info.outside_kernel < before + 3; i++) {
        assert_int_equal(getrandom(bytes, sizeof(bytes), 0), sizeof(bytes));
        info = read_statistics(session, ProfileTime);
    }
    assert_success(NtStopProfile(profile));
    assert_success(NtClose(profile));
    info = read_statistics(session, ProfileTime);
    assert_true(info.outside_kernel <= info.outside);
    assert_int_equal(info.taken, info.counted + info.outside);
    if (info.kernel_included) {
        assert_true(info.outside_kernel >= before + 3);
    } else {
        assert_int_equal(info.outside_kernel, 0);
    }
}

static void
sources__two_breakpoints_and_disjoint_regions__keep_apart(void **state)
{
    const KPROFILE_SOURCE low = slot_source(3);
    const KPROFILE_SOURCE high = slot_source(200);
    const uint64_t half = SLOT_BYTES * SLOT_COUNT / 2;
    ULONG *const counters[4] = {
        guarded_counters(SLOT_COUNT), guarded_counters(SLOT_COUNT),
        guarded_counters(SLOT_COUNT), guarded_counters(SLOT_COUNT)};
    HANDLE profiles[4];

    (void)state;
    profiles[0] = create_profile(NtCurrentProcess(), slot_address(0), half, 4,
                                 counters[0], SLOT_COUNT, low);
    profiles[1] = create_profile(NtCurrentProcess(), slot_address(128), half, 4,
                                 counters[1], SLOT_COUNT, low);
    profiles[2] = create_profile(NtCurrentProcess(), slot_address(0), half, 4,
                                 counters[2], SLOT_COUNT, high);
    profiles[3] = create_profile(NtCurrentProcess(), slot_address(128), half, 4,
                                 counters[3], SLOT_COUNT, high);
    for (size_t i = 0; i < 4; i++) {
        assert_success(NtStartProfile(profiles[i]));
    }
    for (int i = 0; i < 100; i++) {
        call_slot(3, 2);
        call_slot(200, 5);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_success(NtStopProfile(profiles[i]));
        assert_success(NtClose(profiles[i]));
    }
    assert_only(counters[0], SLOT_COUNT, 3, 200);
    assert_int_equal(sum_counters(counters[1], SLOT_COUNT), 0);
    assert_int_equal(sum_counters(counters[2], SLOT_COUNT), 0);
    assert_only(counters[3], SLOT_COUNT, 200 - 128, 500);
    assert_exact_statistics(session, low, 200, 200);
    assert_exact_statistics(session, high, 500, 500);
}

static void
start_stop__many_rounds__counts_accumulate_and_none_after_stop(void **state)
{
    const KPROFILE_SOURCE source = slot_source(9);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    HANDLE profile;

    (void)state;
    profile = create_profile(NtCurrentProcess(), slot_address(0),
                             SLOT_BYTES * SLOT_COUNT, 4, counters, SLOT_COUNT, source);
    for (ULONG round = 1; round <= 50; round++) {
        assert_success(NtStartProfile(profile));
        assert_status(NtStartProfile(profile), STATUS_PROFILING_NOT_STOPPED);
        call_slot(9, 7);
        assert_success(NtStopProfile(profile));
        assert_only(counters, SLOT_COUNT, 9, 7 * round);
        call_slot(9, 5);
        assert_status(NtStopProfile(profile), STATUS_PROFILING_NOT_STARTED);
        assert_only(counters, SLOT_COUNT, 9, 7 * round);
    }
    assert_success(NtClose(profile));
    call_slot(9, 5);
    assert_only(counters, SLOT_COUNT, 9, 350);
    assert_exact_statistics(session, source, 350, 350);
}

static void
close__of_a_started_profile__stops_it(void **state)
{
    const KPROFILE_SOURCE source = slot_source(9);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    HANDLE profile;

    (void)state;
    profile = start_slots(NtCurrentProcess(), counters, source);
    call_slot(9, 4);
    assert_success(NtClose(profile));
    call_slot(9, 5);
    assert_success(ntprof_session_flush(session));
    assert_only(counters, SLOT_COUNT, 9, 4);
    assert_status(NtStopProfile(profile), STATUS_INVALID_HANDLE);
    assert_exact_statistics(session, source, 4, 4);
}

static void
profiles__one_of_two_stopped__the_other_goes_on(void **state)
{
    const KPROFILE_SOURCE source = slot_source(1);
    ULONG *const first = guarded_counters(SLOT_COUNT);
    ULONG *const second = guarded_counters(SLOT_COUNT);
    HANDLE profiles[2];

    (void)state;
    profiles[0] = start_slots(NtCurrentProcess(), first, source);
    call_slot(1, 10);
    profiles[1] = start_slots(NtCurrentProcess(), second, source);
    call_slot(1, 100);
    assert_success(NtStopProfile(profiles[0]));
    call_slot(1, 1000);
    assert_success(NtStopProfile(profiles[1]));
    assert_only(first, SLOT_COUNT, 1, 110);
    assert_only(second, SLOT_COUNT, 1, 1100);
    assert_exact_statistics(session, source, 1110, 1110);
    assert_success(NtClose(profiles[0]));
    assert_success(NtClose(profiles[1]));
}

/* Before the counters and, where no guard can be, behind them is what must stay as it
 * was. */
static void
buffers__of_each_kind__get_the_counts_and_keep_what_is_around(void **state)
{
    enum { AREA = (SLOT_COUNT + 1) * sizeof(ULONG) + GUARDED_ROOM };
    const KPROFILE_SOURCE source = slot_source(2);
    static char in_data[AREA];
    char on_stack[AREA];
    char *const on_heap = malloc(AREA);
    ULONG *const allocated = ntprof_buffer_alloc((SLOT_COUNT + 2) * sizeof(ULONG));
    char *const areas[] = {in_data, on_stack, on_heap};
    ULONG *buffers[4] = {NULL, NULL, NULL, allocated};
    HANDLE profiles[4];

    (void)state;
    assert_non_null(on_heap);
    assert_non_null(allocated);
    for (size_t i = 0; i < 3; i++) {
        buffers[i] = guarded_within(areas[i], AREA, SLOT_COUNT + 1);
    }
    allocated[SLOT_COUNT + 1] = 1000;
    for (size_t i = 0; i < 4; i++) {
        for (size_t n = 0; n < SLOT_COUNT + 1; n++) {
            buffers[i][n] = 1000;
        }
        profiles[i] = start_slots(NtCurrentProcess(), buffers[i] + 1, source);
    }
    call_slot(2, 33);
    for (size_t i = 0; i < 4; i++) {
        assert_success(NtStopProfile(profiles[i]));
        assert_success(NtClose(profiles[i]));
        for (size_t n = 0; n < SLOT_COUNT + 1; n++) {
            assert_int_equal(buffers[i][n], n == 3 ? 1033 : 1000);
        }
    }
    assert_int_equal(allocated[SLOT_COUNT + 1], 1000);
    for (size_t i = 0; i < 3; i++) {
        guarded_give_back(areas[i], AREA);
    }
    free(on_heap);
    ntprof_buffer_free(allocated, (SLOT_COUNT + 2) * sizeof(ULONG));
}

/* rule: create-fine-buckets */
static void
fine_buckets__of_one_and_two_bytes__each_hit_at_its_instruction(void **state)
{
    const ntprof_session_options options = {.size = sizeof(options),
                                            .backend = backend,
                                            .flags = NTPROF_SESSION_FINE_BUCKETS};
    ULONG *counters;

    need_exact_source();
    (void)state;
    fixture_reopen(&options);
    counters = guarded_counters((size_t)SLOT_BYTES * 8);
    for (ULONG log2 = 0; log2 < 2; log2++) {
        const size_t count = (size_t)SLOT_BYTES * 8 >> log2;
        const HANDLE profile = create_profile(NtCurrentProcess(), slot_address(0),
                                              (uint64_t)SLOT_BYTES * 8, log2, counters,
                                              count, slot_source(5));

        assert_success(NtStartProfile(profile));
        call_slot(5, 7);
        call_slot(4, 3);
        assert_success(NtStopProfile(profile));
        assert_success(NtClose(profile));
        assert_only(counters, count, (size_t)SLOT_BYTES * 5 >> log2, 7);
        memset(counters, 0, (size_t)SLOT_BYTES * 8 * sizeof(ULONG));
    }
}

static void
counters__after_flush__show_hits_while_started(void **state)
{
    const KPROFILE_SOURCE source = slot_source(2);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    HANDLE profile = start_slots(NtCurrentProcess(), counters, source);

    (void)state;
    for (ULONG round = 1; round <= 3; round++) {
        call_slot(2, 10);
        assert_success(ntprof_session_flush(session));
        assert_only(counters, SLOT_COUNT, 2, 10 * round);
    }
    assert_success(NtClose(profile));
}

/* A session whose breakpoint on the slot has an interval, and this thread on one
 * processor: each processor counts for itself. */
static KPROFILE_SOURCE
reopen_with_interval(size_t slot, uint64_t interval)
{
    char name[64];
    const ntprof_source_interval wanted = {.source = name, .interval = interval};
    const ntprof_session_options options = {
        .size = sizeof(options), .intervals = &wanted, .interval_count = 1};
    size_t processor;

    name_source_at(name, sizeof(name), slot_address(slot));
    fixture_reopen(&options);
    assert_int_equal(usable_processors(&processor, 1), 1);
    pin_to(processor);
    return slot_source(slot);
}

static void
interval__of_ten__counts_each_tenth(void **state)
{
    const KPROFILE_SOURCE source = reopen_with_interval(6, 10);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    ULONG interval = 0;
    HANDLE profile;

    (void)state;
    assert_success(NtQueryIntervalProfile(source, &interval));
    assert_int_equal(interval, 10);
    profile = start_slots(NtCurrentProcess(), counters, source);
    call_slot(6, 9);
    assert_success(ntprof_session_flush(session));
    assert_only(counters, SLOT_COUNT, 6, 0);
    call_slot(6, 1);
    assert_success(ntprof_session_flush(session));
    assert_only(counters, SLOT_COUNT, 6, 1);
    call_slot(6, 998);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, 6, 100);
    assert_exact_statistics(session, source, 100, 100);
    assert_success(NtClose(profile));
}

static void
interval__set_while_started__holds_from_then_on(void **state)
{
    const KPROFILE_SOURCE source = reopen_with_interval(6, 10);
    const ULONG second = may_profile_all() ? 4 : 10;
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    ULONG interval = 0;
    HANDLE profile = start_slots(NtCurrentProcess(), counters, source);

    (void)state;
    call_slot(6, 200);
    assert_status(NtSetIntervalProfile(4, source),
                  may_profile_all() ? STATUS_SUCCESS : STATUS_PRIVILEGE_NOT_HELD);
    assert_success(NtQueryIntervalProfile(source, &interval));
    assert_int_equal(interval, second);
    call_slot(6, 200);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, 6, 20 + 200 / second);
    assert_exact_statistics(session, source, 20 + 200 / second, 20 + 200 / second);
    assert_success(NtClose(profile));
}

/* In a section of its own, so that it has a beginning and an end. A sanitizer's own
 * accesses would fault in pages of its shadow here. */
__attribute__((noinline, section("page_toucher"), no_sanitize("address"),
               no_sanitize("undefined"), no_sanitize("thread"))) static void
touch_pages(volatile char *memory, size_t pages, size_t page_bytes)
{
    for (size_t i = 0; i < pages; i++) {
        memory[i * page_bytes] = 1;
    }
}

extern const char __start_page_toucher[];
extern const char __stop_page_toucher[];

static void
page_faults__of_fresh_pages__one_hit_each_where_they_were_touched(void **state)
{
    const uint64_t base = (uint64_t)(uintptr_t)__start_page_toucher;
    const uint64_t size = (uint64_t)(__stop_page_toucher - __start_page_toucher);
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages = 300;
    ULONG *const counters = guarded_counters(COUNTERS);
    char *const memory = mmap(NULL, pages * page_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HANDLE profile;

    (void)state;
    assert_ptr_not_equal(memory, MAP_FAILED);
    madvise(memory, pages * page_bytes, MADV_NOHUGEPAGE);
    profile = create_profile(NtCurrentProcess(), base, size, 2, counters, COUNTERS,
                             ProfilePageFaults);
    assert_success(NtStartProfile(profile));
    touch_pages(memory, pages, page_bytes);
    touch_pages(memory, pages, page_bytes);
    assert_success(NtStopProfile(profile));
    assert_success(NtClose(profile));
    assert_int_equal(sum_counters(counters, COUNTERS), pages);
    read_statistics(session, ProfilePageFaults);
    munmap(memory, pages * page_bytes);
}

__attribute__((noinline, section("time_burner"))) static uint64_t
burn_time(uint64_t rounds)
{
    uint64_t value = 1;

    for (uint64_t i = 0; i < rounds; i++) {
        value = value * UINT64_C(6364136223846793005) + i;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

extern const char __start_time_burner[];
extern const char __stop_time_burner[];

static void
time__in_a_busy_function__hits_are_there_and_not_elsewhere(void **state)
{
    const uint64_t base = (uint64_t)(uintptr_t)__start_time_burner;
    const uint64_t size = (uint64_t)(__stop_time_burner - __start_time_burner);
    ULONG *const busy = guarded_counters(COUNTERS);
    ULONG *const idle = guarded_counters(SLOT_COUNT);
    HANDLE profiles[2];
    ntprof_source_info info;
    uint64_t counted;

    (void)state;
    profiles[0] =
        create_profile(NtCurrentProcess(), base, size, 2, busy, COUNTERS, ProfileTime);
    assert_success(NtStartProfile(profiles[0]));
    profiles[1] = start_slots(NtCurrentProcess(), idle, ProfileTime);
    do {
        burn_time(1000000);
        info = read_statistics(session, ProfileTime);
    } while (info.counted < 50);
    counted = info.counted;
    assert_success(NtStopProfile(profiles[0]));
    assert_success(NtStopProfile(profiles[1]));
    info = read_statistics(session, ProfileTime);
    assert_int_equal(sum_counters(busy, COUNTERS), info.counted);
    assert_int_equal(sum_counters(idle, SLOT_COUNT), 0);
    assert_true(info.counted >= counted);
    assert_true(info.interval_measured > 0);
    assert_success(NtClose(profiles[0]));
    assert_success(NtClose(profiles[1]));
}

/* The upper half of the address space, in the largest buckets. */
static void
kernel_region__with_the_right_only__counts_system_calls(void **state)
{
    enum { KERNEL_BUCKETS = 65536 };
    const uint64_t base = UINT64_C(0xffff800000000000);
    const uint64_t size = UINT64_C(0x7fffffffff00);
    ULONG *const counters = guarded_counters(KERNEL_BUCKETS);
    HANDLE profile = NULL;
    ntprof_source_info info;
    NTSTATUS status;

    (void)state;
    status = NtCreateProfileEx(&profile, NtCurrentProcess(), (PVOID)(uintptr_t)base,
                               (SIZE_T)size, 31, counters,
                               KERNEL_BUCKETS * sizeof(ULONG), ProfileTime, 0, NULL);
    if (!may_profile_all()) {
        assert_status(status, STATUS_ACCESS_DENIED);
        assert_null(profile);
        return;
    }
    assert_success(status);
    assert_success(NtStartProfile(profile));
    do {
        for (int i = 0; i < 10000; i++) {
            (void)getppid();
        }
        info = read_statistics(session, ProfileTime);
    } while (info.counted < 20);
    assert_success(NtStopProfile(profile));
    assert_int_equal(sum_counters(counters, KERNEL_BUCKETS),
                     read_statistics(session, ProfileTime).counted);
    assert_success(NtClose(profile));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(buckets__overlapping_regions__each_counts_by_its_own_buckets),
        fixture_test(buckets__address_in_no_region__is_outside),
        fixture_test(
            statistics__hits_in_no_region__those_in_kernel_mode_are_told_apart),
        fixture_test(sources__two_breakpoints_and_disjoint_regions__keep_apart),
        fixture_test(start_stop__many_rounds__counts_accumulate_and_none_after_stop),
        fixture_test(close__of_a_started_profile__stops_it),
        fixture_test(profiles__one_of_two_stopped__the_other_goes_on),
        fixture_test(buffers__of_each_kind__get_the_counts_and_keep_what_is_around),
        fixture_test(fine_buckets__of_one_and_two_bytes__each_hit_at_its_instruction),
        fixture_test(counters__after_flush__show_hits_while_started),
        fixture_test(interval__of_ten__counts_each_tenth),
        fixture_test(interval__set_while_started__holds_from_then_on),
        fixture_test(page_faults__of_fresh_pages__one_hit_each_where_they_were_touched),
        fixture_test(time__in_a_busy_function__hits_are_there_and_not_elsewhere),
        fixture_test(kernel_region__with_the_right_only__counts_system_calls),
    };

    return fixture_run("counting", tests, sizeof(tests) / sizeof(tests[0]));
}
