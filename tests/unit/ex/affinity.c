/* SPDX-License-Identifier: MIT */
/*
 * Which processors a profile is for: what create accepts, and where start has the HAL
 * interrupt. nt.md 1, 2.2 (7).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"

#define ALL_ONES (~(KAFFINITY)0)

static struct machine machine;

/* Three groups: processors 0, 1 and 63; 0 to 3; none. */
static int
setup(void **state)
{
    static const struct machine_options options = {.host = {.group_count = 3},
                                                   .sim = {.processor_count = 192}};

    machine_open(&machine, &options);
    host_sim_set_active(machine.host, 0, (KAFFINITY)1 << 63 | 3);
    host_sim_set_active(machine.host, 2, 0);
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

static EX_CREATE_PROFILE
request_for(const GROUP_AFFINITY *groups, USHORT count)
{
    EX_CREATE_PROFILE request = machine_request();

    machine_write(&machine, MACHINE_ARRAY, groups, count * sizeof(*groups));
    request.GroupCount = count;
    request.AffinityArray = MACHINE_ARRAY;
    return request;
}

static NTSTATUS
create(const GROUP_AFFINITY *groups, USHORT count)
{
    const EX_CREATE_PROFILE request = request_for(groups, count);

    return ExCreateProfileEx(&machine.system, UserMode, &request);
}

/* The profile interrupts on exactly these processors, 64 a word. */
static void
check_started_on(HANDLE handle, const ULONG64 *words)
{
    assert_int_equal(ExStartProfile(&machine.system, UserMode, handle), STATUS_SUCCESS);
    for (ULONG i = 0; i < 192; i++) {
        const bool expected = (words[i / 64] >> (i % 64) & 1) != 0;

        assert_int_equal(sim_is_started(machine.sim, ProfileTime, i, MACHINE_PID),
                         expected);
        assert_int_equal(
            sim_hit(machine.sim, ProfileTime, i, MACHINE_PID, MACHINE_CODE), expected);
    }
    assert_int_equal(ExClose(&machine.system, handle), STATUS_SUCCESS);
}

struct group_row {
    const char *what;
    USHORT count;
    GROUP_AFFINITY groups[3];
    NTSTATUS status;
    ULONG64 words[3];
};

static const struct group_row group_rows[] = {
    {"one processor", 1, {{.Mask = 1}}, STATUS_SUCCESS, {1, 0, 0}},
    {"last of a group",
     1,
     {{.Mask = (KAFFINITY)1 << 63}},
     STATUS_SUCCESS,
     {1ull << 63, 0, 0}},
    {"second group", 1, {{.Mask = 0xF, .Group = 1}}, STATUS_SUCCESS, {0, 0xF, 0}},
    {"two groups",
     2,
     {{.Mask = 8, .Group = 1}, {.Mask = 2}},
     STATUS_SUCCESS,
     {2, 8, 0}},
    {"one group twice", 2, {{.Mask = 1}, {.Mask = 2}}, STATUS_SUCCESS, {3, 0, 0}},
    {"the same thrice",
     3,
     {{.Mask = 1}, {.Mask = 1}, {.Mask = 1}},
     STATUS_SUCCESS,
     {1, 0, 0}},
    {"empty mask", 1, {{.Mask = 0}}, STATUS_INVALID_PARAMETER, {0}},
    {"inactive", 1, {{.Mask = 4}}, STATUS_INVALID_PARAMETER, {0}},
    {"some inactive", 1, {{.Mask = 7}}, STATUS_INVALID_PARAMETER, {0}},
    {"all ones is no wildcard", 1, {{.Mask = ALL_ONES}}, STATUS_INVALID_PARAMETER, {0}},
    {"group without processors",
     1,
     {{.Mask = 1, .Group = 2}},
     STATUS_INVALID_PARAMETER,
     {0}},
    {"no such group", 1, {{.Mask = 1, .Group = 3}}, STATUS_INVALID_PARAMETER, {0}},
    {"last number", 1, {{.Mask = 1, .Group = 0xFFFF}}, STATUS_INVALID_PARAMETER, {0}},
    {"reserved 0",
     1,
     {{.Mask = 1, .Reserved = {1, 0, 0}}},
     STATUS_INVALID_PARAMETER,
     {0}},
    {"reserved 1",
     1,
     {{.Mask = 1, .Reserved = {0, 0x8000, 0}}},
     STATUS_INVALID_PARAMETER,
     {0}},
    {"reserved 2",
     1,
     {{.Mask = 1, .Reserved = {0, 0, 1}}},
     STATUS_INVALID_PARAMETER,
     {0}},
    {"second is bad",
     2,
     {{.Mask = 1}, {.Mask = 0x10, .Group = 1}},
     STATUS_INVALID_PARAMETER,
     {0}},
    {"third is bad",
     3,
     {{.Mask = 1}, {.Mask = 1, .Group = 1}, {.Mask = 0}},
     STATUS_INVALID_PARAMETER,
     {0}},
};

/* rule: create-affinity-contents */
static void
group_array__table__status_and_processors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(group_rows) / sizeof(group_rows[0]); i++) {
        const struct group_row *const row = &group_rows[i];
        const NTSTATUS status = create(row->groups, row->count);

        if (status != row->status) {
            fail_msg("%s: %08x", row->what, (unsigned)status);
        }
        if (NT_SUCCESS(status)) {
            check_started_on(machine_read_handle(&machine, MACHINE_HANDLE), row->words);
        }
    }
    assert_int_equal(machine.system.ProfileCount, 0);
}

/* rule: create-affinity-none */
static void
group_count_0__array_ignored__all_active(void **state)
{
    static const ULONG64 words[3] = {1ull << 63 | 3, 0xF, 0};
    static const uint64_t arrays[] = {0, 1, 0xFFFF800000000000, ~(uint64_t)0};
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        request.AffinityArray = arrays[i];
        check_started_on(machine_create(&machine, &request), words);
    }
}

/* As many elements as the count can say, so that they are read in pieces. */
static void
group_array__65535_elements__each_one_checked(void **state)
{
    enum { MOST = 65535 };
    const uint64_t array = 0x60000000;
    GROUP_AFFINITY *const groups =
        host_sim_map(machine.host, array, (uint64_t)MOST * sizeof(GROUP_AFFINITY));
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    assert_non_null(groups);
    for (size_t i = 0; i < MOST; i++) {
        groups[i] = (GROUP_AFFINITY){.Mask = 1, .Group = (USHORT)(i % 2)};
    }
    request.GroupCount = MOST;
    request.AffinityArray = array;
    check_started_on(machine_create(&machine, &request), (const ULONG64[3]){1, 1, 0});
    for (size_t i = 0; i < MOST; i += 8191) {
        groups[i].Reserved[2] = 1;
        assert_int_equal(ExCreateProfileEx(&machine.system, UserMode, &request),
                         STATUS_INVALID_PARAMETER);
        groups[i].Reserved[2] = 0;
    }
    groups[MOST - 1].Mask = 0;
    assert_int_equal(ExCreateProfileEx(&machine.system, UserMode, &request),
                     STATUS_INVALID_PARAMETER);
}

struct address_row {
    uint64_t address;
    USHORT count;
    NTSTATUS status;
};

static const struct address_row address_rows[] = {
    {MACHINE_ARRAY, 1, STATUS_SUCCESS},
    {MACHINE_ARRAY + 4, 1, STATUS_SUCCESS},
    {MACHINE_ARRAY + 1, 1, STATUS_DATATYPE_MISALIGNMENT},
    {MACHINE_ARRAY + 2, 1, STATUS_DATATYPE_MISALIGNMENT},
    {MACHINE_ARRAY + 3, 1, STATUS_DATATYPE_MISALIGNMENT},
    {0, 1, STATUS_ACCESS_VIOLATION},
    {0x50000000, 1, STATUS_ACCESS_VIOLATION},
    {0x7FFFFFFEFFF4, 1, STATUS_ACCESS_VIOLATION}, /* not entirely in user space */
    {0x7FFFFFFF0000, 1, STATUS_ACCESS_VIOLATION},
    {0xFFFF800000000000, 1, STATUS_ACCESS_VIOLATION},
    {0xFFFF800000000001, 1, STATUS_DATATYPE_MISALIGNMENT},
    {0xFFFFFFFFFFFFFFF0, 1, STATUS_ACCESS_VIOLATION},
    {0xFFFFFFFFFFFFFFF8, 2, STATUS_ACCESS_VIOLATION},
};

/* rules: create-affinity-alignment, create-affinity-pointer */
static void
group_array__address__aligned_readable_user_memory(void **state)
{
    GROUP_AFFINITY group = {.Mask = 1};

    (void)state;
    for (size_t i = 0; i < sizeof(address_rows) / sizeof(address_rows[0]); i++) {
        EX_CREATE_PROFILE request = machine_request();
        NTSTATUS status;

        if (host_sim_at(machine.host, address_rows[i].address, sizeof(group)) != NULL) {
            machine_write(&machine, address_rows[i].address, &group, sizeof(group));
        }
        request.AffinityArray = address_rows[i].address;
        request.GroupCount = address_rows[i].count;
        status = ExCreateProfileEx(&machine.system, UserMode, &request);
        if (status != address_rows[i].status) {
            fail_msg("row %zu: %08x", i, (unsigned)status);
        }
    }
}

/* It need not be writable, but all of it must be there. */
static void
group_array__read_only_or_cut_off__read_or_violation(void **state)
{
    static const GROUP_AFFINITY groups[2] = {{.Mask = 1}, {.Mask = 2}};
    const uint64_t end = MACHINE_SCRATCH + 0x8000;
    EX_CREATE_PROFILE request = request_for(groups, 2);

    (void)state;
    host_sim_protect(machine.host, MACHINE_ARRAY, 1, HOST_SIM_READ_ONLY);
    check_started_on(machine_create(&machine, &request), (const ULONG64[3]){3, 0, 0});
    request.AffinityArray = end - sizeof(groups[0]);
    machine_write(&machine, request.AffinityArray, groups, sizeof(groups));
    host_sim_protect(machine.host, end, 1, HOST_SIM_ABSENT);
    assert_int_equal(ExCreateProfileEx(&machine.system, UserMode, &request),
                     STATUS_ACCESS_VIOLATION);
    request.GroupCount = 1;
    check_started_on(machine_create(&machine, &request), (const ULONG64[3]){1, 0, 0});
}

/* rule: create-affinity-pointer */
static void
group_array__bad_element_and_absent_page__first_of_them_decides(void **state)
{
    enum { GROUPS = 5 };
    const uint64_t end = MACHINE_SCRATCH + 0x8000;
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    request.GroupCount = GROUPS;
    for (uint64_t bad = 0; bad < GROUPS; bad++) {
        for (uint64_t there = 0; there <= GROUPS; there++) {
            GROUP_AFFINITY groups[GROUPS];

            for (uint64_t i = 0; i < GROUPS; i++) {
                groups[i] = (GROUP_AFFINITY){.Mask = i == bad ? 0 : 1};
            }
            host_sim_protect(machine.host, end, 1, HOST_SIM_WRITABLE);
            request.AffinityArray = end - there * sizeof(GROUP_AFFINITY);
            machine_write(&machine, request.AffinityArray, groups, sizeof(groups));
            host_sim_protect(machine.host, end, 1, HOST_SIM_ABSENT);
            assert_int_equal(ExCreateProfileEx(&machine.system, UserMode, &request),
                             bad < there ? STATUS_INVALID_PARAMETER
                                         : STATUS_ACCESS_VIOLATION);
        }
    }
}

struct own_group_row {
    USHORT group;
    KAFFINITY affinity;
    NTSTATUS status;
    ULONG64 words[3];
};

/* NtCreateProfile: the caller's current group. */
static const struct own_group_row own_group_rows[] = {
    {0, 1, STATUS_SUCCESS, {1, 0, 0}},
    {0, ALL_ONES, STATUS_SUCCESS, {1ull << 63 | 3, 0, 0}},
    {1, 0x9, STATUS_SUCCESS, {0, 0x9, 0}},
    {1, ALL_ONES, STATUS_SUCCESS, {0, 0xF, 0}},
    {0, 0, STATUS_INVALID_PARAMETER, {0}},
    {1, 0, STATUS_INVALID_PARAMETER, {0}},
    {0, 4, STATUS_INVALID_PARAMETER, {0}},
    {1, 0x1F, STATUS_INVALID_PARAMETER, {0}},
    {0, 0xFFFFFFFF, STATUS_INVALID_PARAMETER, {0}}, /* the Wow64 quirk: no wildcard */
    {1, ALL_ONES - 1, STATUS_INVALID_PARAMETER, {0}},
    {2, ALL_ONES, STATUS_INVALID_PARAMETER, {0}}, /* nobody is active there */
};

/* rules: create-affinity-current-group, create-affinity-all-ones */
/* rule: create-affinity-zero */
static void
create_profile__affinity__processors_of_current_group(void **state)
{
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    /* Not used by this call. */
    request.GroupCount = 3;
    request.AffinityArray = 1;
    for (size_t i = 0; i < sizeof(own_group_rows) / sizeof(own_group_rows[0]); i++) {
        const struct own_group_row *const row = &own_group_rows[i];
        NTSTATUS status;

        host_sim_set_current_group(machine.host, row->group);
        status = ExCreateProfile(&machine.system, UserMode, &request, row->affinity);
        if (status != row->status) {
            fail_msg("row %zu: %08x", i, (unsigned)status);
        }
        if (NT_SUCCESS(status)) {
            check_started_on(machine_read_handle(&machine, MACHINE_HANDLE), row->words);
        }
    }
}

/* The same checks before and behind the affinity as the other call has. */
static void
create_profile__other_faults__same_order(void **state)
{
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    request.BufferSize = 0;
    assert_int_equal(ExCreateProfile(&machine.system, UserMode, &request, 0),
                     STATUS_INVALID_PARAMETER_7);
    request = machine_request();
    request.Buffer += 2;
    assert_int_equal(ExCreateProfile(&machine.system, UserMode, &request, 0),
                     STATUS_DATATYPE_MISALIGNMENT);
    request = machine_request();
    request.Process = (HANDLE)0x12340;
    assert_int_equal(ExCreateProfile(&machine.system, UserMode, &request, 0),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(ExCreateProfile(&machine.system, UserMode, &request, 1),
                     STATUS_INVALID_HANDLE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(group_array__table__status_and_processors),
        TEST(group_count_0__array_ignored__all_active),
        TEST(group_array__65535_elements__each_one_checked),
        TEST(group_array__address__aligned_readable_user_memory),
        TEST(group_array__read_only_or_cut_off__read_or_violation),
        TEST(group_array__bad_element_and_absent_page__first_of_them_decides),
        TEST(create_profile__affinity__processors_of_current_group),
        TEST(create_profile__other_faults__same_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
