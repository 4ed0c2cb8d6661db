/* SPDX-License-Identifier: MIT */
/*
 * layout.c - sizes and offsets of the public structs on 64-bit hosts, and NT's numbers
 * and prototypes. A released struct only grows at its end; a change here is a change of
 * the ABI.
 */
#include <ntprof/hal.h>
#include <ntprof/host.h>
#include <ntprof/ntprof.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* rule: call-types */
static void
nt_structs__sizes_and_offsets__are_nts(void **state)
{
    (void)state;
    assert_int_equal(sizeof(GROUP_AFFINITY), 16);
    assert_int_equal(offsetof(GROUP_AFFINITY, Group), 8);
    assert_int_equal(offsetof(GROUP_AFFINITY, Reserved), 10);
    assert_int_equal(sizeof(CLIENT_ID), 16);
    assert_int_equal(sizeof(OBJECT_ATTRIBUTES), 48);
    assert_int_equal(sizeof(UNICODE_STRING), 16);
    assert_int_equal(offsetof(UNICODE_STRING, Buffer), 8);
    assert_int_equal(sizeof(GENERIC_MAPPING), 16);
    assert_int_equal(sizeof(HANDLE), 8);
    assert_int_equal(sizeof(KPROFILE_SOURCE), 4);
    assert_int_equal(sizeof(NTSTATUS), 4);
    assert_int_equal(sizeof(KAFFINITY), sizeof(void *));
    assert_int_equal(sizeof(SIZE_T), sizeof(void *));
}

/* As published, each by hand; those of the warning class are failures too.
 * rules: status-values, status-failure */
static void
statuses__numbers__are_nts(void **state)
{
    static const struct {
        NTSTATUS status;
        ULONG number;
    } rows[] = {
        {STATUS_DATATYPE_MISALIGNMENT, 0x80000002},
        {STATUS_BUFFER_OVERFLOW, 0x80000005},
        {STATUS_UNSUCCESSFUL, 0xC0000001},
        {STATUS_INVALID_INFO_CLASS, 0xC0000003},
        {STATUS_INFO_LENGTH_MISMATCH, 0xC0000004},
        {STATUS_ACCESS_VIOLATION, 0xC0000005},
        {STATUS_INVALID_HANDLE, 0xC0000008},
        {STATUS_INVALID_CID, 0xC000000B},
        {STATUS_INVALID_PARAMETER, 0xC000000D},
        {STATUS_INVALID_SYSTEM_SERVICE, 0xC000001C},
        {STATUS_ACCESS_DENIED, 0xC0000022},
        {STATUS_BUFFER_TOO_SMALL, 0xC0000023},
        {STATUS_OBJECT_TYPE_MISMATCH, 0xC0000024},
        {STATUS_PRIVILEGE_NOT_HELD, 0xC0000061},
        {STATUS_INTEGER_DIVIDE_BY_ZERO, 0xC0000094},
        {STATUS_INSUFFICIENT_RESOURCES, 0xC000009A},
        {STATUS_WORKING_SET_QUOTA, 0xC00000A1},
        {STATUS_PROFILING_NOT_STARTED, 0xC00000B7},
        {STATUS_PROFILING_NOT_STOPPED, 0xC00000B8},
        {STATUS_NOT_SUPPORTED, 0xC00000BB},
        {STATUS_PROFILING_AT_LIMIT, 0xC00000D3},
        {STATUS_INVALID_PARAMETER_7, 0xC00000F5},
        {STATUS_PROCESS_IS_TERMINATING, 0xC000010A},
        {STATUS_NOT_FOUND, 0xC0000225},
        {STATUS_SYSTEM_SHUTDOWN, 0xC00002EB},
    };
    size_t in_table = 0;

    (void)state;
#define COUNT_STATUS(name, value, text) in_table++;
    NTPROF_STATUS_TABLE(COUNT_STATUS)
    assert_int_equal(sizeof(rows) / sizeof(rows[0]) + 1, in_table);
    assert_int_equal(STATUS_SUCCESS, 0);
    assert_true(NT_SUCCESS(STATUS_SUCCESS));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal((ULONG)rows[i].status, rows[i].number);
        assert_true(rows[i].status < 0 && !NT_SUCCESS(rows[i].status));
    }
}

/* rule: call-sources */
static void
sources__numbers__are_nts(void **state)
{
    static const KPROFILE_SOURCE sources[] = {
        ProfileTime,
        ProfileAlignmentFixup,
        ProfileTotalIssues,
        ProfilePipelineDry,
        ProfileLoadInstructions,
        ProfilePipelineFrozen,
        ProfileBranchInstructions,
        ProfileTotalNonissues,
        ProfileDcacheMisses,
        ProfileIcacheMisses,
        ProfileCacheMisses,
        ProfileBranchMispredictions,
        ProfileStoreInstructions,
        ProfileFpInstructions,
        ProfileIntegerInstructions,
        Profile2Issue,
        Profile3Issue,
        Profile4Issue,
        ProfileSpecialInstructions,
        ProfileTotalCycles,
        ProfileIcacheIssues,
        ProfileDcacheAccesses,
        ProfileMemoryBarrierCycles,
        ProfileLoadLinkedIssues,
        ProfileMaximum,
    };

    (void)state;
    assert_int_equal(sizeof(sources) / sizeof(sources[0]), 25);
    for (ULONG i = 0; i < 25; i++) {
        assert_int_equal(sources[i], i);
    }
}

/* As published, from plain types; the compiler compares. rule: call-prototypes */
#define ASSERT_PROTOTYPE(name, ...)                                                    \
    _Static_assert(                                                                    \
        __builtin_types_compatible_p(__typeof__(name), int32_t(__VA_ARGS__)) &&        \
            __builtin_types_compatible_p(__typeof__(ntprof_##name), __typeof__(name)), \
        #name)

ASSERT_PROTOTYPE(NtCreateProfileEx, void **, void *, void *, uintptr_t, uint32_t,
                 uint32_t *, uint32_t, uint32_t, uint16_t, GROUP_AFFINITY *);
ASSERT_PROTOTYPE(NtCreateProfile, void **, void *, void *, uintptr_t, uint32_t,
                 uint32_t *, uint32_t, uint32_t, uintptr_t);
ASSERT_PROTOTYPE(NtStartProfile, void *);
ASSERT_PROTOTYPE(NtStopProfile, void *);
ASSERT_PROTOTYPE(NtQueryIntervalProfile, uint32_t, uint32_t *); /* the source first */
ASSERT_PROTOTYPE(NtSetIntervalProfile, uint32_t, uint32_t);
ASSERT_PROTOTYPE(NtClose, void *);

static void
object_structs__sizes_and_offsets__are_nts(void **state)
{
    (void)state;
    assert_int_equal(sizeof(OBJECT_BASIC_INFORMATION), 0x38);
    assert_int_equal(offsetof(OBJECT_BASIC_INFORMATION, PointerCount), 0x0C);
    assert_int_equal(offsetof(OBJECT_BASIC_INFORMATION, TypeInfoSize), 0x28);
    assert_int_equal(offsetof(OBJECT_BASIC_INFORMATION, CreationTime), 0x30);
    assert_int_equal(sizeof(OBJECT_NAME_INFORMATION), 0x10);
    assert_int_equal(offsetof(OBJECT_NAME_INFORMATION, Name.Buffer), 0x08);
    assert_int_equal(sizeof(OBJECT_TYPE_INFORMATION), 0x68);
    assert_int_equal(offsetof(OBJECT_TYPE_INFORMATION, TotalNumberOfObjects), 0x10);
    assert_int_equal(offsetof(OBJECT_TYPE_INFORMATION, InvalidAttributes), 0x40);
    assert_int_equal(offsetof(OBJECT_TYPE_INFORMATION, GenericMapping), 0x44);
    assert_int_equal(offsetof(OBJECT_TYPE_INFORMATION, ValidAccessMask), 0x54);
    assert_int_equal(offsetof(OBJECT_TYPE_INFORMATION, TypeIndex), 0x5A);
    assert_int_equal(offsetof(OBJECT_TYPE_INFORMATION, PoolType), 0x5C);
}

static void
session_structs__sizes_and_offsets__are_as_released(void **state)
{
    (void)state;
    assert_int_equal(sizeof(ntprof_source_interval), 16);
    assert_int_equal(sizeof(ntprof_session_options), 96);
    assert_int_equal(offsetof(ntprof_session_options, backend), 8);
    assert_int_equal(offsetof(ntprof_session_options, flags), 16);
    assert_int_equal(offsetof(ntprof_session_options, intervals), 24);
    assert_int_equal(offsetof(ntprof_session_options, simulation_seed), 40);
    assert_int_equal(offsetof(ntprof_session_options, log_context), 56);
    assert_int_equal(offsetof(ntprof_session_options, abi), 64);
    assert_int_equal(offsetof(ntprof_session_options, cgroup), 72);
    assert_int_equal(offsetof(ntprof_session_options, stack_bytes), 80);
    assert_int_equal(offsetof(ntprof_session_options, stack_sources), 88);
    assert_int_equal(sizeof(ntprof_session_info), 1200);
    assert_int_equal(offsetof(ntprof_session_info, abi), 1120);
    assert_int_equal(offsetof(ntprof_session_info, halt), 1124);
    assert_int_equal(offsetof(ntprof_session_info, bug_check_parameters), 1136);
    assert_int_equal(offsetof(ntprof_session_info, unread), 1168);
    assert_int_equal(offsetof(ntprof_session_info, unnumbered), 1176);
    assert_int_equal(offsetof(ntprof_session_info, counter_bytes), 1184);
    assert_int_equal(offsetof(ntprof_session_info, stack_bytes), 1192);
    assert_int_equal(offsetof(ntprof_session_info, better), 24);
    assert_int_equal(offsetof(ntprof_session_info, profiles), 1056);
    assert_int_equal(sizeof(ntprof_watch_options), 40);
    assert_int_equal(offsetof(ntprof_watch_options, sources), 16);
    assert_int_equal(offsetof(ntprof_watch_options, affinity), 24);
}

static void
hit_structs__sizes_and_offsets__are_as_released(void **state)
{
    (void)state;
    assert_int_equal(sizeof(ntprof_hit), 48);
    assert_int_equal(offsetof(ntprof_hit, address), 32);
    assert_int_equal(sizeof(ntprof_stack), 88);
    assert_int_equal(offsetof(ntprof_stack, address), 32);
    assert_int_equal(offsetof(ntprof_stack, registers), 48);
    assert_int_equal(offsetof(ntprof_stack, kernel_chain), 64);
    assert_int_equal(offsetof(ntprof_stack, stack), 72);
    assert_int_equal(offsetof(ntprof_stack, stack_bytes), 84);
}

static void
source_structs__sizes_and_offsets__are_as_released(void **state)
{
    (void)state;
    assert_int_equal(sizeof(ntprof_source_info), 448);
    assert_int_equal(offsetof(ntprof_source_info, outside_kernel), 440);
    assert_int_equal(offsetof(ntprof_source_info, unwritten), 432);
    assert_int_equal(offsetof(ntprof_source_info, name), 24);
    assert_int_equal(offsetof(ntprof_source_info, reason), 120);
    assert_int_equal(offsetof(ntprof_source_info, interval_asked), 312);
    assert_int_equal(sizeof(ntprof_backend_info), 568);
    assert_int_equal(offsetof(ntprof_backend_info, reason), 40);
}

static void
notification__size_and_offsets__are_as_released(void **state)
{
    (void)state;
    assert_int_equal(sizeof(ntprof_notification), 104);
    assert_int_equal(offsetof(ntprof_notification, time_ns), 16);
    assert_int_equal(offsetof(ntprof_notification, name), 32);
    assert_int_equal(offsetof(ntprof_notification, base), 40);
    assert_int_equal(offsetof(ntprof_notification, inode), 72);
    assert_int_equal(offsetof(ntprof_notification, count), 96);
}

static void
embedding_structs__sizes__are_as_released(void **state)
{
    (void)state;
    assert_int_equal(sizeof(MDL), 40);
    assert_int_equal(offsetof(MDL, Live), 12);
    assert_int_equal(offsetof(MDL, Unwritten), 32);
    assert_int_equal(sizeof(HOST_PROCESS), 16);
    assert_int_equal(sizeof(HOST_TABLE), 184);
    assert_int_equal(sizeof(KE_HIT), 40);
    assert_int_equal(sizeof(HAL_SOURCE), 40);
    assert_int_equal(sizeof(HAL_TABLE), 72);
    assert_int_equal(sizeof(HAL_COUNTING), 56);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nt_structs__sizes_and_offsets__are_nts),
        cmocka_unit_test(statuses__numbers__are_nts),
        cmocka_unit_test(sources__numbers__are_nts),
        cmocka_unit_test(object_structs__sizes_and_offsets__are_nts),
        cmocka_unit_test(session_structs__sizes_and_offsets__are_as_released),
        cmocka_unit_test(hit_structs__sizes_and_offsets__are_as_released),
        cmocka_unit_test(source_structs__sizes_and_offsets__are_as_released),
        cmocka_unit_test(notification__size_and_offsets__are_as_released),
        cmocka_unit_test(embedding_structs__sizes__are_as_released),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
