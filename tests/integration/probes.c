/* SPDX-License-Identifier: MIT */
/*
 * probes.c - the calls' pointers on real pages: every page and edge that a caller can
 * come up with, and memory that another thread maps and unmaps meanwhile. Statuses,
 * never a signal; nothing is left behind. rules: create-handle-pointer,
 * create-handle-fault, create-buffer-alignment, create-buffer-pointer,
 * create-affinity-alignment, create-affinity-pointer, query-alignment, query-pointer,
 * query-late-fault, duplicate-pointer, handle-process-pointers, query-object-pointers
 */
#include "fixture.h"
#include "guarded.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { READ = PROT_READ, BOTH = PROT_READ | PROT_WRITE };

static size_t
page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- memory of all kinds ---- */

/* One page each, in this order, between guards; a page of 0 is unmapped. */
static const int kinds[] = {BOTH, BOTH, READ, BOTH, PROT_NONE, BOTH, 0, BOTH};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), UNMAPPED = 6 };

/* The last page of user space, where the architecture has it. */
#ifdef __x86_64__
#define TOP_PAGE UINT64_C(0x7fffffffe000)
#else
#define TOP_PAGE UINT64_C(0)
#endif

struct area {
    struct guarded memory;
    bool top; /* TOP_PAGE is ours; else it is the stack's */
};

static struct area area;

static void
area_make(void)
{
    area.memory = guarded_make(KINDS, MAP_PRIVATE);
    for (size_t i = 0; i < KINDS; i++) {
        unsigned char *const at = area.memory.pages + i * page();

        if (i == UNMAPPED) {
            assert_int_equal(munmap(at, page()), 0);
        } else {
            assert_int_equal(mprotect(at, page(), kinds[i]), 0);
        }
    }
    area.top = TOP_PAGE != 0 && mmap((void *)(uintptr_t)TOP_PAGE, page(), BOTH,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                                     -1, 0) == (void *)(uintptr_t)TOP_PAGE;
}

static void
area_free(void)
{
    if (area.top) {
        munmap((void *)(uintptr_t)TOP_PAGE, page());
    }
    guarded_free(&area.memory);
}

/* What can be done with the byte at address, as far as the test knows it. */
static int
rights_at(uint64_t address)
{
    const uint64_t offset = address - (uintptr_t)area.memory.pages;

    if (offset < area.memory.bytes) {
        return kinds[offset / page()];
    }
    if (area.top && address - TOP_PAGE < page()) {
        return BOTH;
    }
    return address - slot_address(0) < SLOT_BYTES * SLOT_COUNT ? READ | PROT_EXEC : 0;
}

/* May all of it be accessed so? */
static bool
is_allowed(uint64_t address, size_t bytes, int right)
{
    for (size_t i = 0; i < bytes; i++) {
        if (address + i < address || (rights_at(address + i) & right) == 0) {
            return false;
        }
    }
    return true;
}

enum { MOST_SPOTS = 256 };

struct spots {
    uint64_t list[MOST_SPOTS];
    size_t count;
};

static void
spots_add(struct spots *spots, uint64_t address)
{
    assert_true(spots->count < MOST_SPOTS);
    spots->list[spots->count++] = address;
}

/* Every edge between two kinds of page, touched, straddled and missed by one step. */
static struct spots
spots_for(size_t bytes, size_t step)
{
    static const uint64_t beyond[] = {
        0x0000800000000000, 0x00007ffffffff000, 0xffff7ffffffff000, 0xffff800000000000,
        0xffffffff80000000, 0xffffffffff600000, 0xffffffff00000000};
    struct spots spots = {.count = 0};

    for (size_t i = 0; i <= KINDS; i++) {
        const uint64_t edge = (uintptr_t)area.memory.pages + i * page();

        spots_add(&spots, edge);
        spots_add(&spots, edge + step);
        spots_add(&spots, edge - step);
        spots_add(&spots, edge - bytes);
        spots_add(&spots, edge - bytes + step);
        spots_add(&spots, edge - bytes - step);
    }
    for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
        spots_add(&spots, beyond[i]);
    }
    spots_add(&spots, 0);
    spots_add(&spots, step);
    spots_add(&spots, slot_address(0));
    spots_add(&spots, UINT64_MAX - (bytes - 1)); /* ends at the very top */
    for (size_t i = step; i < bytes; i += step) {
        spots_add(&spots, UINT64_MAX - (i - 1)); /* wraps */
    }
    if (TOP_PAGE != 0) {
        if (area.top) {
            spots_add(&spots, TOP_PAGE);
            spots_add(&spots, TOP_PAGE + page() - bytes);
        }
        spots_add(&spots, TOP_PAGE + page() - bytes + step);
        spots_add(&spots, TOP_PAGE + page() - step + (bytes > step ? 0 : step));
    }
    return spots;
}

/* ---- nothing left behind ---- */

/* Open handles to profiles; kept is one. */
static ULONG
count_handles(HANDLE kept)
{
    struct {
        OBJECT_TYPE_INFORMATION type;
        char name[64];
    } information;
    ULONG length;

    assert_success(NtQueryObject(kept, ObjectTypeInformation, &information,
                                 sizeof(information), &length));
    return information.type.TotalNumberOfHandles;
}

static HANDLE kept;

static int
setup(void **state)
{
    if (fixture_setup(state) != 0) {
        return -1;
    }
    area_make();
    kept = create_profile(NtCurrentProcess(), 0x10000, 64, 2, guarded_counters(16), 16,
                          ProfileTime);
    return 0;
}

static int
teardown(void **state)
{
    assert_success(NtClose(kept));
    area_free();
    return fixture_teardown(state);
}

#define probe_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void *
pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static void
assert_at(uint64_t address, NTSTATUS status, NTSTATUS expected)
{
    if (status != expected) {
        fail_msg("at 0x%llx: %s instead of %s", (unsigned long long)address,
                 ntprof_status_name(status), ntprof_status_name(expected));
    }
    assert_int_equal(count_handles(kept), 1);
}

static void
close_handle_at(uint64_t address)
{
    HANDLE handle;

    memcpy(&handle, pointer(address), sizeof(handle));
    assert_success(NtClose(handle));
    memset(pointer(address), 0, sizeof(handle));
}

/* ---- the pointers ---- */

static NTSTATUS
create_into(HANDLE *handle, ULONG *buffer, ULONG bytes)
{
    return NtCreateProfileEx(handle, NtCurrentProcess(), pointer(0x10000), bytes, 2,
                             buffer, bytes, ProfileTime, 0, NULL);
}

/* Unaligned is fine, and so is the end of one good page and the beginning of the next.
 */
static void
create__handle_pointer_anywhere__written_or_access_violation(void **state)
{
    const struct spots spots = spots_for(sizeof(HANDLE), 1);
    ULONG *const counters = guarded_counters(16);
    size_t good = 0;

    (void)state;
    for (size_t i = 0; i < spots.count; i++) {
        const uint64_t at = spots.list[i];
        const bool writable = is_allowed(at, sizeof(HANDLE), PROT_WRITE);
        const NTSTATUS status = create_into(pointer(at), counters, 64);

        if (writable && NT_SUCCESS(status)) {
            close_handle_at(at);
            good++;
        }
        assert_at(at, status, writable ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION);
    }
    assert_true(good > 10);
}

static void
create__buffer_anywhere__created_or_access_violation(void **state)
{
    const struct spots spots = spots_for(16, 4);
    size_t good = 0;

    (void)state;
    for (size_t i = 0; i < spots.count; i++) {
        const uint64_t at = spots.list[i];
        const bool writable = is_allowed(at, 16, PROT_WRITE);
        HANDLE handle = kept;
        const NTSTATUS status = create_into(&handle, pointer(at), 16);

        if (writable && NT_SUCCESS(status)) {
            /* The same pages can be locked, too. */
            assert_success(NtStartProfile(handle));
            assert_success(NtClose(handle));
            good++;
        } else {
            assert_ptr_equal(handle, kept);
        }
        assert_at(at, status, writable ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION);
    }
    assert_true(good > 10);
}

/* Alignment comes before all that a page could be. */
static void
create__buffer_not_aligned__misalignment(void **state)
{
    const struct spots spots = spots_for(16, 4);

    (void)state;
    for (size_t i = 0; i < spots.count; i++) {
        for (uint64_t offset = 1; offset < 4; offset++) {
            const uint64_t at = spots.list[i] + offset;
            HANDLE handle = kept;

            assert_at(at, create_into(&handle, pointer(at), 16),
                      STATUS_DATATYPE_MISALIGNMENT);
            assert_ptr_equal(handle, kept);
        }
    }
}

/* A page that is bad anywhere in the buffer is found, also where no counter is needed.
 */
static void
create__buffer_of_several_pages__each_is_probed(void **state)
{
    (void)state;
    for (size_t first = 0; first < KINDS; first++) {
        for (size_t pages = 1; first + pages <= KINDS; pages++) {
            const uint64_t at = (uintptr_t)area.memory.pages + first * page();
            const size_t bytes = pages * page();
            HANDLE handle = kept;
            const NTSTATUS status =
                NtCreateProfileEx(&handle, NtCurrentProcess(), pointer(0x10000), 4, 2,
                                  pointer(at), (ULONG)bytes, ProfileTime, 0, NULL);
            const bool writable = is_allowed(at, bytes, PROT_WRITE);

            if (writable && NT_SUCCESS(status)) {
                assert_success(NtClose(handle));
            }
            assert_at(at, status, writable ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION);
        }
    }
}

/* Sizes that leave user space or the address space. */
static void
create__buffer_larger_than_its_place__access_violation(void **state)
{
    static const uint64_t places[] = {0x7ffffff00000,       0x7fff80000000,
                                      UINT64_MAX - 0xFFFFF, UINT64_MAX - 3,
                                      0xffffffff00000000,   0};
    static const ULONG sizes[] = {0x7FFFFFFC, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF};

    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
            const uint64_t at = places[i] & ~UINT64_C(3);
            HANDLE handle = kept;

            assert_at(at,
                      NtCreateProfileEx(&handle, NtCurrentProcess(), pointer(0x10000),
                                        4, 2, pointer(at), sizes[j], ProfileTime, 0,
                                        NULL),
                      STATUS_ACCESS_VIOLATION);
            assert_ptr_equal(handle, kept);
        }
    }
}

static NTSTATUS
create_with_affinity(void *array, USHORT groups)
{
    HANDLE handle = kept;
    const NTSTATUS status =
        NtCreateProfileEx(&handle, NtCurrentProcess(), pointer(0x10000), 64, 2,
                          guarded_counters(16), 64, ProfileTime, groups, array);

    if (NT_SUCCESS(status)) {
        assert_success(NtClose(handle));
    }
    return status;
}

/* What can be read there is no affinity: zeros, or code. */
static void
create__affinity_array_anywhere__read_or_access_violation(void **state)
{
    const struct spots spots = spots_for(sizeof(GROUP_AFFINITY), 4);

    (void)state;
    for (size_t i = 0; i < spots.count; i++) {
        const uint64_t at = spots.list[i];
        const bool readable = is_allowed(at, sizeof(GROUP_AFFINITY), PROT_READ);

        assert_at(at, create_with_affinity(pointer(at), 1),
                  readable ? STATUS_INVALID_PARAMETER : STATUS_ACCESS_VIOLATION);
        for (uint64_t offset = 1; offset < 4; offset++) {
            assert_at(at + offset, create_with_affinity(pointer(at + offset), 1),
                      STATUS_DATATYPE_MISALIGNMENT);
        }
        /* No groups: nothing is looked at. */
        assert_at(at, create_with_affinity(pointer(at + 1), 0), STATUS_SUCCESS);
    }
}

static void
create__good_affinity_over_two_pages_or_read_only__success(void **state)
{
    const GROUP_AFFINITY affinity = {.Mask = 1};
    unsigned char *const straddling =
        area.memory.pages + page() - sizeof(GROUP_AFFINITY) / 2;

    (void)state;
    memcpy(straddling, &affinity, sizeof(affinity));
    assert_success(create_with_affinity(straddling, 1));
    memcpy(area.memory.pages, &affinity, sizeof(affinity));
    assert_int_equal(mprotect(area.memory.pages, page(), PROT_READ), 0);
    assert_success(create_with_affinity(area.memory.pages, 1));
    assert_int_equal(mprotect(area.memory.pages, page(), PROT_NONE), 0);
    assert_at((uintptr_t)area.memory.pages, create_with_affinity(area.memory.pages, 1),
              STATUS_ACCESS_VIOLATION);
    assert_int_equal(mprotect(area.memory.pages, page(), BOTH), 0);
    /* A count that wraps with the address. */
    assert_at(UINT64_MAX - 15,
              create_with_affinity(pointer(UINT64_MAX - 15), UINT16_MAX),
              STATUS_ACCESS_VIOLATION);
}

static void
query_interval__pointer_anywhere__written_or_access_violation(void **state)
{
    const struct spots spots = spots_for(sizeof(ULONG), 4);
    ULONG interval = 0;

    (void)state;
    assert_success(NtQueryIntervalProfile(ProfileTime, &interval));
    for (size_t i = 0; i < spots.count; i++) {
        const uint64_t at = spots.list[i];
        const bool writable = is_allowed(at, sizeof(ULONG), PROT_WRITE);

        assert_at(at, NtQueryIntervalProfile(ProfileTime, pointer(at)),
                  writable ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION);
        if (writable) {
            assert_int_equal(*(const ULONG *)pointer(at), interval);
            memset(pointer(at), 0, sizeof(ULONG));
        }
        for (uint64_t offset = 1; offset < 4; offset++) {
            assert_at(at + offset,
                      NtQueryIntervalProfile(ProfileTime, pointer(at + offset)),
                      STATUS_DATATYPE_MISALIGNMENT);
        }
    }
}

static void
duplicate__target_pointer_anywhere__written_or_access_violation(void **state)
{
    const struct spots spots = spots_for(sizeof(HANDLE), 1);

    (void)state;
    for (size_t i = 0; i < spots.count; i++) {
        const uint64_t at = spots.list[i];
        const bool writable = is_allowed(at, sizeof(HANDLE), PROT_WRITE);
        const NTSTATUS status =
            NtDuplicateObject(NtCurrentProcess(), kept, NtCurrentProcess(), pointer(at),
                              0, 0, DUPLICATE_SAME_ACCESS);

        if (writable && NT_SUCCESS(status)) {
            close_handle_at(at);
        }
        /* NULL would be no target at all. */
        assert_at(at, status, writable ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION);
    }
}

static void
open_process__pointers_anywhere__used_or_access_violation(void **state)
{
    const struct spots handles = spots_for(sizeof(HANDLE), 1);
    const struct spots clients = spots_for(sizeof(CLIENT_ID), 8);
    const CLIENT_ID own = {.UniqueProcess = (HANDLE)(uintptr_t)getpid()};

    (void)state;
    for (size_t i = 0; i < handles.count; i++) {
        const uint64_t at = handles.list[i];
        const bool writable = is_allowed(at, sizeof(HANDLE), PROT_WRITE);
        const NTSTATUS status =
            NtOpenProcess(pointer(at), PROCESS_QUERY_INFORMATION, NULL, &own);

        if (writable && NT_SUCCESS(status)) {
            close_handle_at(at);
        }
        assert_at(at, status, writable ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION);
    }
    for (size_t i = 0; i < clients.count; i++) {
        const uint64_t at = clients.list[i];
        HANDLE handle = kept;
        const NTSTATUS status =
            NtOpenProcess(&handle, PROCESS_QUERY_INFORMATION, NULL, pointer(at));

        if (at == 0) {
            assert_at(at, status, STATUS_INVALID_PARAMETER);
        } else if (!is_allowed(at, sizeof(CLIENT_ID), PROT_READ)) {
            assert_at(at, status, STATUS_ACCESS_VIOLATION);
        } else { /* no process has the pid of zeros, or of code */
            assert_at(at, status, STATUS_INVALID_CID);
        }
        assert_ptr_equal(handle, kept);
    }
}

static void
query_object__pointers_anywhere__written_or_access_violation(void **state)
{
    const struct spots spots = spots_for(sizeof(OBJECT_BASIC_INFORMATION), 4);

    (void)state;
    for (size_t i = 0; i < spots.count; i++) {
        const uint64_t at = spots.list[i];
        const bool writable =
            is_allowed(at, sizeof(OBJECT_BASIC_INFORMATION), PROT_WRITE);

        assert_at(at,
                  NtQueryObject(kept, ObjectBasicInformation, pointer(at),
                                sizeof(OBJECT_BASIC_INFORMATION), NULL),
                  writable ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION);
        assert_at(at + 2,
                  NtQueryObject(kept, ObjectBasicInformation, pointer(at + 2),
                                sizeof(OBJECT_BASIC_INFORMATION), NULL),
                  STATUS_DATATYPE_MISALIGNMENT);
    }
}

/* ---- memory that comes and goes during the calls ---- */

enum { RACES = 3000 };

/*
 * Pages at an address where nothing else is ever put, so that what is unmapped for a
 * moment does not become memory of ours.
 */
struct racer {
    unsigned char *pages;
    size_t bytes;
    bool stop;
    size_t rounds;
    pthread_t thread;
};

static void
racer_map(const struct racer *racer, int protection)
{
    (void)mmap(racer->pages, racer->bytes, protection,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void *
race(void *argument)
{
    struct racer *const racer = argument;

    while (!__atomic_load_n(&racer->stop, __ATOMIC_RELAXED)) {
        munmap(racer->pages, racer->bytes);
        racer_map(racer, BOTH);
        (void)mprotect(racer->pages, racer->bytes, PROT_READ);
        (void)mprotect(racer->pages, racer->bytes, BOTH);
        racer_map(racer, PROT_NONE);
        racer_map(racer, BOTH);
        __atomic_fetch_add(&racer->rounds, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void
racer_start(struct racer *racer, size_t pages)
{
    *racer = (struct racer){.pages = pointer(FIXED_ADDRESS + 0x100000),
                            .bytes = pages * page()};
    racer_map(racer, BOTH);
    assert_int_equal(pthread_create(&racer->thread, NULL, race, racer), 0);
    while (__atomic_load_n(&racer->rounds, __ATOMIC_RELAXED) == 0) {
        sched_yield();
    }
}

static void
racer_stop(struct racer *racer)
{
    __atomic_store_n(&racer->stop, true, __ATOMIC_RELAXED);
    pthread_join(racer->thread, NULL);
    munmap(racer->pages, racer->bytes);
    assert_true(racer->rounds > 0);
}

/* Statuses of many calls on the racing memory; tells how many succeeded. */
static size_t
race_with(NTSTATUS (*call)(struct racer *racer, size_t round), size_t pages)
{
    struct racer racer;
    size_t succeeded = 0;

    racer_start(&racer, pages);
    for (size_t i = 0; i < RACES; i++) {
        const NTSTATUS status = call(&racer, i);

        if (status != STATUS_ACCESS_VIOLATION) {
            assert_success(status);
            succeeded++;
        }
    }
    racer_stop(&racer);
    return succeeded;
}

static NTSTATUS
call_create_handle(struct racer *racer, size_t round)
{
    static ULONG *counters;

    if (round == 0) {
        counters = guarded_counters(16);
    }
    /* Within a page, and over two of them. */
    return create_into(pointer((uintptr_t)racer->pages + page() - round % 16), counters,
                       64);
}

/* A handle that could not be written is closed again: there are as many as were. */
static void
create__handle_memory_comes_and_goes__no_handle_lost(void **state)
{
    size_t made;

    (void)state;
    made = race_with(call_create_handle, 2);
    assert_int_equal(count_handles(kept), 1 + made);
    /* Nobody knows them: the session closes them. */
    ntprof_session_use(NULL);
    ntprof_session_close(session);
    session = NULL;
    fixture_reopen(NULL);
    kept = create_profile(NtCurrentProcess(), 0x10000, 64, 2, guarded_counters(16), 16,
                          ProfileTime);
    assert_int_equal(count_handles(kept), 1);
}

static NTSTATUS
call_query_interval(struct racer *racer, size_t round)
{
    (void)round;
    return NtQueryIntervalProfile(ProfileTime, pointer((uintptr_t)racer->pages));
}

static void
query_interval__memory_comes_and_goes__success_or_access_violation(void **state)
{
    (void)state;
    race_with(call_query_interval, 1);
}

static NTSTATUS
call_with_affinity(struct racer *racer, size_t round)
{
    const NTSTATUS status =
        NtCreateProfileEx(pointer((uintptr_t)racer->pages), NtCurrentProcess(),
                          pointer(0x10000), 64, 2, pointer((uintptr_t)racer->pages), 64,
                          ProfileTime, 1, pointer((uintptr_t)racer->pages));

    (void)round;
    /* It reads zeros, which are no affinity. */
    return status == STATUS_INVALID_PARAMETER ? STATUS_SUCCESS : status;
}

static void
create__all_its_memory_comes_and_goes__status(void **state)
{
    (void)state;
    race_with(call_with_affinity, 1);
    assert_int_equal(count_handles(kept), 1);
}

/* Create, start, stop and close with a buffer that is there, is not, or is another.
 * Memory that was gone and is back during the start is refused as if it was beyond the
 * limit; that is returned as what it was. */
static NTSTATUS
call_start(struct racer *racer, size_t round)
{
    static const ULONG sizes[] = {64, 4096, 8192, 12000};
    const ULONG bytes = sizes[round % 4];
    const uint64_t at = (uintptr_t)racer->pages + (round / 4 % 3) * 4;
    HANDLE handle;
    NTSTATUS status = create_into(&handle, pointer(at), bytes);

    if (!NT_SUCCESS(status)) {
        return status;
    }
    status = NtStartProfile(handle);
    if (NT_SUCCESS(status)) {
        assert_success(ntprof_session_flush(session));
        assert_success(NtStopProfile(handle));
    }
    assert_success(NtClose(handle));
    return status == STATUS_WORKING_SET_QUOTA ? STATUS_ACCESS_VIOLATION : status;
}

static void
start__buffer_comes_and_goes__status_and_stops(void **state)
{
    (void)state;
    race_with(call_start, 4);
    assert_int_equal(count_handles(kept), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        probe_test(create__handle_pointer_anywhere__written_or_access_violation),
        probe_test(create__buffer_anywhere__created_or_access_violation),
        probe_test(create__buffer_not_aligned__misalignment),
        probe_test(create__buffer_of_several_pages__each_is_probed),
        probe_test(create__buffer_larger_than_its_place__access_violation),
        probe_test(create__affinity_array_anywhere__read_or_access_violation),
        probe_test(create__good_affinity_over_two_pages_or_read_only__success),
        probe_test(query_interval__pointer_anywhere__written_or_access_violation),
        probe_test(duplicate__target_pointer_anywhere__written_or_access_violation),
        probe_test(open_process__pointers_anywhere__used_or_access_violation),
        probe_test(query_object__pointers_anywhere__written_or_access_violation),
        probe_test(create__handle_memory_comes_and_goes__no_handle_lost),
        probe_test(query_interval__memory_comes_and_goes__success_or_access_violation),
        probe_test(create__all_its_memory_comes_and_goes__status),
        probe_test(start__buffer_comes_and_goes__status_and_stops),
    };

    return fixture_run("probes", tests, sizeof(tests) / sizeof(tests[0]));
}
