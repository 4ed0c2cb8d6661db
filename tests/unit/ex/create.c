/* SPDX-License-Identifier: MIT */
/*
 * NtCreateProfileEx by the newest rules: each check of nt.md 2.2 on both sides of its
 * boundary, and every two faults at once, which pins the order.
 *
 * The machine's user space ends at 0x7FFEFFFF and its kernel begins at 0x80000000, so
 * that a region can begin in one and reach into the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guarded.h"
#include "machine.h"

#include <string.h>

#define HIGHEST 0x7FFEFFFFull
#define KERNEL 0x80000000ull
#define LAST_PAGE (HIGHEST - 0xFFF)
#define UNMAPPED 0x50000000ull
#define PATTERN 0xA5A5A5A5u

static struct machine machine;
static HANDLE process_handle;   /* with PROCESS_QUERY_INFORMATION */
static HANDLE powerless_handle; /* a process, without it */
static HANDLE profile_handle;   /* not a process */
static HANDLE closed_handle;

static HANDLE
open_with(ACCESS_MASK access)
{
    assert_int_equal(ExOpenProcess(&machine.system, UserMode, MACHINE_HANDLE, access,
                                   MACHINE_OTHER_PID),
                     STATUS_SUCCESS);
    return machine_read_handle(&machine, MACHINE_HANDLE);
}

static int
setup(void **state)
{
    static const struct machine_options options = {
        .host = {.highest_user_address = HIGHEST, .system_range_start = KERNEL}};
    const EX_CREATE_PROFILE request = machine_request();

    machine_open(&machine, &options);
    assert_non_null(host_sim_map(machine.host, LAST_PAGE, 0x1000));
    process_handle = open_with(PROCESS_QUERY_INFORMATION);
    powerless_handle = open_with(0x1000);
    profile_handle = machine_create(&machine, &request);
    closed_handle = open_with(PROCESS_QUERY_INFORMATION);
    assert_int_equal(ExClose(&machine.system, closed_handle), STATUS_SUCCESS);
    *state = &machine;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    machine_close(&machine);
    return 0;
}

/* 16 buckets of 16 KB that begin in user space and end in the kernel's, for one
 * process. */
static EX_CREATE_PROFILE
sound_request(void)
{
    const GROUP_AFFINITY group = {.Mask = 0x5};
    EX_CREATE_PROFILE request = machine_request();

    machine_write(&machine, MACHINE_ARRAY, &group, sizeof(group));
    request.Process = process_handle;
    request.ProfileBase = 0x7FFE0000;
    request.ProfileSize = 0x40000;
    request.BucketSize = 14;
    request.GroupCount = 1;
    request.AffinityArray = MACHINE_ARRAY;
    return request;
}

static void
fill_handle(uint64_t address)
{
    const uint64_t pattern[2] = {0xA5A5A5A5A5A5A5A5, 0xA5A5A5A5A5A5A5A5};

    if (host_sim_at(machine.host, address, sizeof(pattern)) != NULL) {
        machine_write(&machine, address, pattern, sizeof(pattern));
    }
}

static void
check_handle_untouched(uint64_t address)
{
    const uint64_t *const bytes =
        host_sim_at(machine.host, address, 2 * sizeof(uint64_t));
    uint64_t words[2];

    if (bytes != NULL) {
        memcpy(words, bytes, sizeof(words));
        assert_true(words[0] == 0xA5A5A5A5A5A5A5A5 && words[1] == words[0]);
    }
}

/* Makes the call. On success the profile is closed again; on failure nothing may be
 * left. */
static NTSTATUS
try_create(const EX_CREATE_PROFILE *request)
{
    const struct host_sim_balance before = host_sim_balance(machine.host);
    const uint64_t objects = machine.system.Ob.ObjectCount;
    const uint64_t profiles = machine.system.ProfileCount;
    NTSTATUS status;

    fill_handle(request->ProfileHandle);
    status = ExCreateProfileEx(&machine.system, UserMode, request);
    if (NT_SUCCESS(status)) {
        const HANDLE handle = machine_read_handle(&machine, request->ProfileHandle);

        assert_int_equal(machine.system.ProfileCount, profiles + 1);
        assert_int_equal(ExClose(&machine.system, handle), STATUS_SUCCESS);
    } else {
        check_handle_untouched(request->ProfileHandle);
    }
    assert_int_equal(machine.system.ProfileCount, profiles);
    assert_int_equal(machine.system.Ob.ObjectCount, objects);
    assert_int_equal(host_sim_balance(machine.host).allocations, before.allocations);
    assert_int_equal(host_sim_balance(machine.host).open_processes,
                     before.open_processes);
    assert_int_equal(host_sim_balance(machine.host).locks, 0);
    return status;
}

static void
expect(const EX_CREATE_PROFILE *request, NTSTATUS expected, const char *what,
       uint64_t value)
{
    const NTSTATUS status = try_create(request);

    if (status != expected) {
        fail_msg("%s 0x%llx: 0x%08x instead of 0x%08x", what, (unsigned long long)value,
                 (unsigned)status, (unsigned)expected);
    }
}

/* ---- Every two faults at once ---- */

struct fault {
    const char *what;
    int check; /* its place in the order; those of one place are not combined */
    NTSTATUS status;
    void (*make)(EX_CREATE_PROFILE *request);
};

static void
no_buffer_size(EX_CREATE_PROFILE *request)
{
    request->BufferSize = 0;
}

static void
small_bucket(EX_CREATE_PROFILE *request)
{
    request->BucketSize = 1;
}

static void
large_bucket(EX_CREATE_PROFILE *request)
{
    request->BucketSize = 32;
}

static void
one_byte_too_many(EX_CREATE_PROFILE *request)
{
    request->ProfileSize++;
}

static void
ends_at_top(EX_CREATE_PROFILE *request)
{
    request->ProfileBase = 0 - request->ProfileSize;
}

static void
unknown_source(EX_CREATE_PROFILE *request)
{
    request->ProfileSource = ProfileMaximum;
}

static void
handle_unmapped(EX_CREATE_PROFILE *request)
{
    request->ProfileHandle = UNMAPPED;
}

static void
buffer_unaligned(EX_CREATE_PROFILE *request)
{
    request->Buffer++;
}

static void
buffer_unmapped(EX_CREATE_PROFILE *request)
{
    request->Buffer = UNMAPPED;
}

static void
array_unaligned(EX_CREATE_PROFILE *request)
{
    request->AffinityArray += 2;
}

static void
array_in_kernel(EX_CREATE_PROFILE *request)
{
    request->AffinityArray = KERNEL;
}

static void
group_inactive(EX_CREATE_PROFILE *request)
{
    const GROUP_AFFINITY group = {.Mask = 0x10};

    (void)request;
    machine_write(&machine, MACHINE_ARRAY, &group, sizeof(group));
}

static void
process_closed(EX_CREATE_PROFILE *request)
{
    request->Process = closed_handle;
}

static void
process_other_type(EX_CREATE_PROFILE *request)
{
    request->Process = profile_handle;
}

static void
process_powerless(EX_CREATE_PROFILE *request)
{
    request->Process = powerless_handle;
}

static void
all_without_privilege(EX_CREATE_PROFILE *request)
{
    request->Process = NULL;
    host_sim_set_privilege(machine.host, false);
}

static void
restricted(EX_CREATE_PROFILE *request)
{
    (void)request;
    host_sim_set_restricted(machine.host, HOST_RESTRICTED_BY_ACCESS_CHECK);
}

static void
no_memory(EX_CREATE_PROFILE *request)
{
    (void)request;
    host_sim_fail(machine.host, HOST_SIM_ALLOCATE, 1, true);
}

/* In NT's order: nt.md 2.2, with the choices of 14. */
static const struct fault faults[] = {
    {"BufferSize 0", 1, STATUS_INVALID_PARAMETER_7, no_buffer_size},
    {"bucket 1", 2, STATUS_INVALID_PARAMETER, small_bucket},
    {"bucket 32", 2, STATUS_INVALID_PARAMETER, large_bucket},
    {"partial bucket", 3, STATUS_BUFFER_TOO_SMALL, one_byte_too_many},
    {"end at top", 4, STATUS_BUFFER_OVERFLOW, ends_at_top},
    {"source", 5, STATUS_NOT_SUPPORTED, unknown_source},
    {"handle", 6, STATUS_ACCESS_VIOLATION, handle_unmapped},
    {"buffer unaligned", 7, STATUS_DATATYPE_MISALIGNMENT, buffer_unaligned},
    {"buffer unmapped", 7, STATUS_ACCESS_VIOLATION, buffer_unmapped},
    {"array unaligned", 8, STATUS_DATATYPE_MISALIGNMENT, array_unaligned},
    {"array in kernel", 8, STATUS_ACCESS_VIOLATION, array_in_kernel},
    {"group", 9, STATUS_INVALID_PARAMETER, group_inactive},
    {"closed process", 10, STATUS_INVALID_HANDLE, process_closed},
    {"no process", 10, STATUS_OBJECT_TYPE_MISMATCH, process_other_type},
    {"powerless process", 10, STATUS_ACCESS_DENIED, process_powerless},
    /* The same place: either there is a process or there is none. */
    {"privilege", 10, STATUS_PRIVILEGE_NOT_HELD, all_without_privilege},
    {"restricted", 11, STATUS_ACCESS_DENIED, restricted},
    {"no memory", 12, STATUS_INSUFFICIENT_RESOURCES, no_memory},
};

enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

static void
undo_faults(void)
{
    host_sim_set_privilege(machine.host, true);
    host_sim_set_restricted(machine.host, false);
    host_sim_clear_failures(machine.host);
}

/* rule: create-no-memory */
static void
create__one_fault__its_status(void **state)
{
    EX_CREATE_PROFILE request = sound_request();

    (void)state;
    expect(&request, STATUS_SUCCESS, "sound", 0);
    for (size_t i = 0; i < FAULTS; i++) {
        request = sound_request();
        faults[i].make(&request);
        expect(&request, faults[i].status, faults[i].what, 0);
        undo_faults();
    }
    request = sound_request();
    expect(&request, STATUS_SUCCESS, "sound again", 0);
}

static void
create__two_faults__first_in_order_wins(void **state)
{
    int pairs = 0;

    (void)state;
    for (size_t i = 0; i < FAULTS; i++) {
        for (size_t k = i + 1; k < FAULTS; k++) {
            EX_CREATE_PROFILE request = sound_request();

            if (faults[i].check == faults[k].check) {
                continue;
            }
            faults[i].make(&request);
            faults[k].make(&request);
            expect(&request, faults[i].status, faults[i].what, k); /* k: its row */
            undo_faults();
            pairs++;
        }
    }
    assert_true(pairs > 120);
}

static void
create__all_faults__first_in_order_wins(void **state)
{
    (void)state;
    for (size_t first = 0; first < FAULTS; first++) {
        EX_CREATE_PROFILE request = sound_request();

        for (size_t i = first; i < FAULTS; i++) {
            if (i == first || faults[i].check > faults[i - 1].check) {
                faults[i].make(&request);
            }
        }
        expect(&request, faults[first].status, faults[first].what, first);
        undo_faults();
    }
}

/* ---- Boundaries ---- */

/* rule: create-buffer-size-zero */
static void
create__buffer_size__at_least_one_byte(void **state)
{
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    request.ProfileSize = 0;
    request.BufferSize = 1;
    expect(&request, STATUS_SUCCESS, "BufferSize", 1);
    request.BufferSize = 0;
    expect(&request, STATUS_INVALID_PARAMETER_7, "BufferSize", 0);
    /* Even if all else is wrong, as the first assertion of ReactOS' test has it. */
    request = (EX_CREATE_PROFILE){.ProfileHandle = UNMAPPED, .ProfileBase = 0xFFFF};
    expect(&request, STATUS_INVALID_PARAMETER_7, "zeroes", 0);
}

/* rule: create-bucket-range */
static void
create__bucket_size__2_to_31(void **state)
{
    static const ULONG bad[] = {0, 1, 32, 33, 63, 64, 0x80000000, 0xFFFFFFFF};
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    request.ProfileSize = 4;
    request.BufferSize = 4;
    for (ULONG bucket = 2; bucket <= 31; bucket++) {
        request.BucketSize = bucket;
        expect(&request, STATUS_SUCCESS, "bucket", bucket);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        request.BucketSize = bad[i];
        expect(&request, STATUS_INVALID_PARAMETER, "bucket", bad[i]);
    }
    /* No segment on 64 bits: a small base with bucket 0 is as wrong as any. */
    request.ProfileBase = 0xFFFF;
    request.BucketSize = 0;
    expect(&request, STATUS_INVALID_PARAMETER, "segment", 0);
}

/* rule: create-fine-buckets */
static void
create__fine_buckets__0_to_31_and_a_counter_for_each_byte(void **state)
{
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    machine.system.BucketSizeMinimum = 0;
    request.ProfileSize = 4;
    for (ULONG bucket = 0; bucket <= 32; bucket++) {
        request.BucketSize = bucket;
        request.BufferSize = 16;
        expect(&request, bucket < 32 ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER,
               "bucket", bucket);
        request.BufferSize = bucket == 0 ? 15 : 7;
        if (bucket < 2) {
            expect(&request, STATUS_BUFFER_TOO_SMALL, "bucket", bucket);
        }
    }
    machine.system.BucketSizeMinimum = PROFILE_BUCKET_LOG2_MIN;
}

struct size_row {
    ULONG buffer;
    ULONG bucket;
    ULONG64 largest;
};

/* nt.md 2.3. */
static const struct size_row size_rows[] = {
    {4, 2, 4}, {4, 3, 8},  {4, 4, 16}, {4, 6, 64},          {4, 8, 256},  {8, 4, 32},
    {5, 2, 4}, {7, 4, 16}, {3, 2, 0},  {4, 31, 0x80000000}, {64, 4, 256}, {8, 3, 16},
};

/* rules: create-buffer-too-small, create-buffer-partial-counter */
static void
create__region_and_buffer_sizes__exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(size_rows) / sizeof(size_rows[0]); i++) {
        EX_CREATE_PROFILE request = machine_request();

        request.BufferSize = size_rows[i].buffer;
        request.BucketSize = size_rows[i].bucket;
        request.ProfileSize = size_rows[i].largest;
        expect(&request, STATUS_SUCCESS, "row", i);
        request.ProfileSize++;
        expect(&request, STATUS_BUFFER_TOO_SMALL, "row, one more", i);
    }
}

/* rule: create-buffer-too-small */
static void
create__huge_region__too_small_not_cut_off(void **state)
{
    static const ULONG64 sizes[] = {0x400000000,        0x400000001,     0x400000004,
                                    0x8000000000000000, ~(ULONG64)0 - 3, ~(ULONG64)0};
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    request.BucketSize = 2;
    request.BufferSize = 4;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        request.ProfileSize = sizes[i];
        request.ProfileBase = 0;
        expect(&request, STATUS_BUFFER_TOO_SMALL, "size", sizes[i]);
        request.ProfileBase = ~(ULONG64)0; /* wraps too: that check comes later */
        expect(&request, STATUS_BUFFER_TOO_SMALL, "size", sizes[i]);
    }
}

struct end_row {
    ULONG64 base;
    ULONG64 size;
    NTSTATUS status;
};

static const struct end_row end_rows[] = {
    {0, 0, STATUS_SUCCESS},
    {0, 256, STATUS_SUCCESS},
    {0xFFFFFFFFFFFFFF00, 0xFF, STATUS_SUCCESS},
    {0xFFFFFFFFFFFFFF00, 0x100, STATUS_BUFFER_OVERFLOW},
    {0xFFFFFFFFFFFFFF01, 0x100, STATUS_BUFFER_OVERFLOW},
    {0xFFFFFFFFFFFFFFFF, 0, STATUS_SUCCESS},
    {0xFFFFFFFFFFFFFFFF, 1, STATUS_BUFFER_OVERFLOW},
    {0xFFFFFFFFFFFFFFFE, 1, STATUS_SUCCESS},
    /* 32 bits are nothing special here. */
    {0xFFFFFF00, 0x100, STATUS_SUCCESS},
    {0xFFFFFFFF, 0x100, STATUS_SUCCESS},
};

/* rules: create-region-wraps, create-region-ends-below-top */
static void
create__region_end__below_top_of_memory(void **state)
{
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    for (size_t i = 0; i < sizeof(end_rows) / sizeof(end_rows[0]); i++) {
        request.ProfileBase = end_rows[i].base;
        request.ProfileSize = end_rows[i].size;
        expect(&request, end_rows[i].status, "base", end_rows[i].base);
    }
}

/* rule: create-source-unsupported */
static void
create__source__what_the_hal_has(void **state)
{
    static const ULONG bad[] = {ProfileLoadInstructions,
                                ProfileMaximum,
                                25,
                                0x0FFF,
                                0x1005,
                                0x2000,
                                0x10000,
                                0x80000000,
                                0xFFFFFFFF};
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        request.ProfileSource = bad[i];
        expect(&request, STATUS_NOT_SUPPORTED, "source", bad[i]);
    }
    request.ProfileSource = ProfileTotalCycles;
    expect(&request, STATUS_SUCCESS, "source", ProfileTotalCycles);
    sim_set_supported(machine.sim, ProfileTotalCycles, false);
    expect(&request, STATUS_NOT_SUPPORTED, "source", ProfileTotalCycles);
    sim_set_supported(machine.sim, ProfileLoadInstructions, true);
    request.ProfileSource = ProfileLoadInstructions;
    expect(&request, STATUS_SUCCESS, "source", ProfileLoadInstructions);
}

/* rule: create-handle-pointer */
static void
create__handle_address__writable_user_memory_of_any_alignment(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    const uint64_t end = MACHINE_SCRATCH + MACHINE_SCRATCH_BYTES;

    (void)state;
    for (uint64_t offset = 0; offset < 8; offset++) {
        request.ProfileHandle = MACHINE_HANDLE + offset;
        expect(&request, STATUS_SUCCESS, "handle at", request.ProfileHandle);
    }
    for (uint64_t offset = 1; offset < sizeof(HANDLE); offset++) {
        request.ProfileHandle = end - offset;
        expect(&request, STATUS_ACCESS_VIOLATION, "handle at", request.ProfileHandle);
    }
    request.ProfileHandle = end - sizeof(HANDLE);
    expect(&request, STATUS_SUCCESS, "handle at", request.ProfileHandle);
    request.ProfileHandle = HIGHEST + 1 - sizeof(HANDLE);
    expect(&request, STATUS_SUCCESS, "handle at", request.ProfileHandle);
    request.ProfileHandle++;
    expect(&request, STATUS_ACCESS_VIOLATION, "handle at", request.ProfileHandle);
    request.ProfileHandle = 0;
    expect(&request, STATUS_ACCESS_VIOLATION, "handle at", 0);
    request.ProfileHandle = KERNEL;
    expect(&request, STATUS_ACCESS_VIOLATION, "handle at", KERNEL);
    request.ProfileHandle = ~(ULONG64)0;
    expect(&request, STATUS_ACCESS_VIOLATION, "handle at", request.ProfileHandle);
    host_sim_protect(machine.host, MACHINE_HANDLE, 1, HOST_SIM_READ_ONLY);
    request.ProfileHandle = MACHINE_HANDLE;
    expect(&request, STATUS_ACCESS_VIOLATION, "read-only handle", MACHINE_HANDLE);
}

struct buffer_row {
    ULONG64 buffer;
    ULONG bytes;
    NTSTATUS status;
};

static const struct buffer_row buffer_rows[] = {
    {MACHINE_BUFFER, 64, STATUS_SUCCESS},
    {MACHINE_BUFFER + 4, 64, STATUS_SUCCESS},
    {MACHINE_BUFFER + 1, 64, STATUS_DATATYPE_MISALIGNMENT},
    {MACHINE_BUFFER + 2, 64, STATUS_DATATYPE_MISALIGNMENT},
    {MACHINE_BUFFER + 3, 64, STATUS_DATATYPE_MISALIGNMENT},
    {MACHINE_BUFFER, MACHINE_BUFFER_BYTES, STATUS_SUCCESS},
    /* every byte of BufferSize counts, also those that hold no whole counter */
    {MACHINE_BUFFER, MACHINE_BUFFER_BYTES + 1, STATUS_ACCESS_VIOLATION},
    {MACHINE_BUFFER + MACHINE_BUFFER_BYTES - 64, 64, STATUS_SUCCESS},
    {MACHINE_BUFFER + MACHINE_BUFFER_BYTES - 64, 65, STATUS_ACCESS_VIOLATION},
    {MACHINE_BUFFER - 4, 64, STATUS_ACCESS_VIOLATION},
    {LAST_PAGE, 0x1000, STATUS_SUCCESS},
    {LAST_PAGE, 0x1001, STATUS_ACCESS_VIOLATION},
    {LAST_PAGE, 0xFFFFFFFF, STATUS_ACCESS_VIOLATION},
    {0, 64, STATUS_ACCESS_VIOLATION},
    {KERNEL, 64, STATUS_ACCESS_VIOLATION},
    {KERNEL + 1, 64, STATUS_DATATYPE_MISALIGNMENT},
    {0xFFFFFFFFFFFFFFC0, 64, STATUS_ACCESS_VIOLATION},
    {0xFFFFFFFFFFFFFFFC, 64, STATUS_ACCESS_VIOLATION},
    {UNMAPPED, 64, STATUS_ACCESS_VIOLATION},
};

/* rules: create-buffer-alignment, create-buffer-pointer */
static void
create__buffer__aligned_writable_user_memory(void **state)
{
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    for (size_t i = 0; i < sizeof(buffer_rows) / sizeof(buffer_rows[0]); i++) {
        request.Buffer = buffer_rows[i].buffer;
        request.BufferSize = buffer_rows[i].bytes;
        expect(&request, buffer_rows[i].status, "row", i);
    }
}

/* Any single page that cannot be written, whether or not a counter that is needed lies
 * there. */
/* rule: create-buffer-pointer */
static void
create__buffer_with_bad_page__violation_wherever(void **state)
{
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    request.BufferSize = 0x8000;
    request.Buffer = MACHINE_BUFFER + MACHINE_BUFFER_BYTES - request.BufferSize;
    for (uint64_t page = 0; page < 8; page++) {
        static const enum host_sim_page rights[] = {HOST_SIM_READ_ONLY,
                                                    HOST_SIM_ABSENT};

        for (size_t i = 0; i < 2; i++) {
            host_sim_protect(machine.host, request.Buffer + page * 0x1000, 1,
                             rights[i]);
            expect(&request, STATUS_ACCESS_VIOLATION, "page", page);
            host_sim_protect(machine.host, request.Buffer + page * 0x1000, 1,
                             HOST_SIM_WRITABLE);
        }
    }
    expect(&request, STATUS_SUCCESS, "all writable", 0);
}

/* rule: create-buffer-untouched */
static void
create__buffer__not_zeroed_nor_locked(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    ULONG *const counters =
        host_sim_at(machine.host, MACHINE_COUNTERS, MACHINE_COUNTER_BYTES);

    (void)state;
    for (size_t i = 0; i < 16; i++) {
        counters[i] = PATTERN;
    }
    expect(&request, STATUS_SUCCESS, "buffer", 0);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(counters[i], PATTERN);
    }
    assert_int_equal(host_sim_calls(machine.host, HOST_SIM_LOCK_PAGES), 0);
    assert_int_equal(sim_start_calls(machine.sim), 0);
}

struct process_row {
    const char *what;
    HANDLE *handle;
    NTSTATUS status;
};

/* rules: create-process-handle, create-process-type, create-process-access */
static void
create__process__handle_with_query_information(void **state)
{
    HANDLE null_plus_4 = (HANDLE)4000000;
    HANDLE current = NtCurrentProcess();
    HANDLE thread = (HANDLE)(LONG_PTR)-2;
    const struct process_row rows[] = {
        {"process", &process_handle, STATUS_SUCCESS},
        {"current", &current, STATUS_SUCCESS},
        {"closed", &closed_handle, STATUS_INVALID_HANDLE},
        {"never open", &null_plus_4, STATUS_INVALID_HANDLE},
        {"current thread", &thread, STATUS_INVALID_HANDLE},
        {"profile", &profile_handle, STATUS_OBJECT_TYPE_MISMATCH},
        {"powerless", &powerless_handle, STATUS_ACCESS_DENIED},
    };
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        request.Process = *rows[i].handle;
        expect(&request, rows[i].status, rows[i].what, 0);
    }
}

struct rights_row {
    const char *what;
    bool all; /* Process is NULL */
    ULONG64 base;
    ULONG64 size;
    NTSTATUS unprivileged;
    NTSTATUS restricted;
    NTSTATUS both;
};

/* Checks 11 and 12: what counts is the base for one, the whole region for the other. */
static const struct rights_row rights_rows[] = {
    {"user, one", false, 0x401000, 256, STATUS_SUCCESS, STATUS_SUCCESS, STATUS_SUCCESS},
    {"user, all", true, 0x401000, 256, STATUS_PRIVILEGE_NOT_HELD, STATUS_SUCCESS,
     STATUS_PRIVILEGE_NOT_HELD},
    {"nothing, all", true, 0, 0, STATUS_PRIVILEGE_NOT_HELD, STATUS_SUCCESS,
     STATUS_PRIVILEGE_NOT_HELD},
    {"last user byte, all", true, HIGHEST, 1, STATUS_PRIVILEGE_NOT_HELD, STATUS_SUCCESS,
     STATUS_PRIVILEGE_NOT_HELD},
    {"above user, all", true, HIGHEST + 1, 1, STATUS_SUCCESS, STATUS_SUCCESS,
     STATUS_SUCCESS},
    {"up to kernel, all", true, KERNEL - 256, 256, STATUS_SUCCESS, STATUS_SUCCESS,
     STATUS_SUCCESS},
    {"into kernel, all", true, KERNEL - 256, 257, STATUS_SUCCESS, STATUS_ACCESS_DENIED,
     STATUS_ACCESS_DENIED},
    {"into kernel, one", false, KERNEL - 256, 257, STATUS_SUCCESS, STATUS_ACCESS_DENIED,
     STATUS_ACCESS_DENIED},
    {"kernel, all", true, KERNEL, 256, STATUS_SUCCESS, STATUS_ACCESS_DENIED,
     STATUS_ACCESS_DENIED},
    {"kernel, one", false, KERNEL, 256, STATUS_SUCCESS, STATUS_ACCESS_DENIED,
     STATUS_ACCESS_DENIED},
    {"nothing at kernel, one", false, KERNEL, 0, STATUS_SUCCESS, STATUS_ACCESS_DENIED,
     STATUS_ACCESS_DENIED},
    {"nothing below, one", false, KERNEL - 1, 0, STATUS_SUCCESS, STATUS_SUCCESS,
     STATUS_SUCCESS},
    {"user to kernel, all", true, 0x7FFE0000, 0x40000, STATUS_PRIVILEGE_NOT_HELD,
     STATUS_ACCESS_DENIED, STATUS_PRIVILEGE_NOT_HELD},
    {"user to kernel, one", false, 0x7FFE0000, 0x40000, STATUS_SUCCESS,
     STATUS_ACCESS_DENIED, STATUS_ACCESS_DENIED},
    {"top, all", true, 0xFFFFFFFFFFFFFF00, 0xFF, STATUS_SUCCESS, STATUS_ACCESS_DENIED,
     STATUS_ACCESS_DENIED},
};

static void
check_rights(const struct rights_row *row, bool privilege, bool is_restricted,
             NTSTATUS status)
{
    EX_CREATE_PROFILE request = machine_request();

    host_sim_set_privilege(machine.host, privilege);
    host_sim_set_restricted(machine.host,
                            is_restricted ? HOST_RESTRICTED_BY_ACCESS_CHECK : 0);
    request.Process = row->all ? NULL : NtCurrentProcess();
    request.ProfileBase = row->base;
    request.ProfileSize = row->size;
    request.BucketSize = 14;
    expect(&request, status, row->what, privilege);
}

/* rules: create-global-privilege, create-global-kernel, create-restricted */
static void
create__rights__by_base_and_by_region(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rights_rows) / sizeof(rights_rows[0]); i++) {
        check_rights(&rights_rows[i], true, false, STATUS_SUCCESS);
        check_rights(&rights_rows[i], false, false, rights_rows[i].unprivileged);
        check_rights(&rights_rows[i], true, true, rights_rows[i].restricted);
        check_rights(&rights_rows[i], false, true, rights_rows[i].both);
    }
}

/* rule: create-handle-access */
static void
create__success__handle_is_for_control_alone(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    const HANDLE handle = machine_create(&machine, &request);
    void *body;

    (void)state;
    assert_int_equal(ObReferenceObjectByHandle(&machine.system.Ob, handle,
                                               &machine.system.ProfileType, UserMode, 1,
                                               &body),
                     STATUS_SUCCESS);
    ObDereferenceObject(&machine.system.Ob, body);
    for (unsigned bit = 1; bit < 32; bit++) {
        assert_int_equal(ObReferenceObjectByHandle(&machine.system.Ob, handle,
                                                   &machine.system.ProfileType,
                                                   UserMode, 1u << bit, &body),
                         STATUS_ACCESS_DENIED);
    }
    assert_int_equal(ExClose(&machine.system, handle), STATUS_SUCCESS);
}

/* nt.md 14, 8. */
/* rule: create-handle-fault */
static void
create__handle_memory_vanishes_after_probe__fault_nothing_left(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();

    (void)state;
    host_sim_fail(machine.host, HOST_SIM_COPY_TO_CALLER, 1, false);
    expect(&request, STATUS_ACCESS_VIOLATION, "final write", 0);
    expect(&request, STATUS_SUCCESS, "again", 0);
}

/* The profile keeps its process: closing the handle does not matter. */
/* rule: process-referenced */
static void
create__process_handle_closed_afterwards__profile_lives(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    HANDLE handle;

    (void)state;
    request.Process = process_handle;
    handle = machine_create(&machine, &request);
    assert_int_equal(ExClose(&machine.system, process_handle), STATUS_SUCCESS);
    assert_int_equal(ExClose(&machine.system, powerless_handle), STATUS_SUCCESS);
    assert_int_equal(ExStartProfile(&machine.system, UserMode, handle), STATUS_SUCCESS);
    assert_int_equal(
        sim_hit(machine.sim, ProfileTime, 0, MACHINE_OTHER_PID, MACHINE_CODE), 1);
    assert_int_equal(ExClose(&machine.system, handle), STATUS_SUCCESS);
    assert_int_equal(host_sim_balance(machine.host).open_processes, 1);
}

/* Kernel mode: addresses are its own, and neither probed nor limited by rights. */
/* rule: create-kernel-caller */
static void
create__kernel_mode__no_probes_no_rights(void **state)
{
    ULONG *const counters = guarded_counters(16);
    GROUP_AFFINITY group = {.Mask = 0x2};
    HANDLE handle = NULL;
    EX_CREATE_PROFILE request = {
        .ProfileHandle = (ULONG_PTR)&handle,
        .ProfileBase = 0x401000,
        .ProfileSize = 256,
        .BucketSize = 4,
        .Buffer = (ULONG_PTR)counters,
        .BufferSize = 16 * sizeof(ULONG),
        .GroupCount = 1,
        .AffinityArray = (ULONG_PTR)&group,
    };
    const uint64_t before = host_sim_calls(machine.host, HOST_SIM_PROBE_FOR_WRITE);

    (void)state;
    host_sim_set_privilege(machine.host, false);
    host_sim_set_restricted(machine.host, HOST_RESTRICTED_BY_ACCESS_CHECK);
    assert_int_equal(ExCreateProfileEx(&machine.system, KernelMode, &request),
                     STATUS_SUCCESS);
    assert_int_equal(ExClose(&machine.system, handle), STATUS_SUCCESS);
    request.ProfileBase = KERNEL;
    assert_int_equal(ExCreateProfileEx(&machine.system, KernelMode, &request),
                     STATUS_SUCCESS);
    assert_int_equal(ExClose(&machine.system, handle), STATUS_SUCCESS);
    assert_int_equal(host_sim_calls(machine.host, HOST_SIM_PROBE_FOR_WRITE), before);
    /* All the other checks hold. */
    group.Mask = 0x10;
    assert_int_equal(ExCreateProfileEx(&machine.system, KernelMode, &request),
                     STATUS_INVALID_PARAMETER);
    request.ProfileSize = 257;
    assert_int_equal(ExCreateProfileEx(&machine.system, KernelMode, &request),
                     STATUS_BUFFER_TOO_SMALL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(create__one_fault__its_status),
        TEST(create__two_faults__first_in_order_wins),
        TEST(create__all_faults__first_in_order_wins),
        TEST(create__buffer_size__at_least_one_byte),
        TEST(create__bucket_size__2_to_31),
        TEST(create__fine_buckets__0_to_31_and_a_counter_for_each_byte),
        TEST(create__region_and_buffer_sizes__exact),
        TEST(create__huge_region__too_small_not_cut_off),
        TEST(create__region_end__below_top_of_memory),
        TEST(create__source__what_the_hal_has),
        TEST(create__handle_address__writable_user_memory_of_any_alignment),
        TEST(create__buffer__aligned_writable_user_memory),
        TEST(create__buffer_with_bad_page__violation_wherever),
        TEST(create__buffer__not_zeroed_nor_locked),
        TEST(create__process__handle_with_query_information),
        TEST(create__rights__by_base_and_by_region),
        TEST(create__success__handle_is_for_control_alone),
        TEST(create__handle_memory_vanishes_after_probe__fault_nothing_left),
        TEST(create__process_handle_closed_afterwards__profile_lives),
        TEST(create__kernel_mode__no_probes_no_rights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
