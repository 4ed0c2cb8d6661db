/* SPDX-License-Identifier: MIT */
/*
 * layout.c - sizes and offsets of the public structs on 64-bit hosts. A released struct only
 * grows at its end; a change here is a change of the ABI.
 */
#include <ntprof/hal.h>
#include <ntprof/host.h>
#include <ntprof/ntprof.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
}

static void
object_structs__sizes_and_offsets__are_nts(void **state)
{
    (void)state;
    assert_int_equal(sizeof(OBJECT_BASIC_INFORMATION), 0x38);
    assert_int_equal(offsetof(OBJECT_BASIC_INFORMATION, PointerCount), 0x0C);
    assert_int_equal(offsetof(OBJECT_BASIC_INFORMATION, TypeInfoSize), 0x28);
    assert_int_equal(offsetof(OBJECT_BASIC_INFORMATION, CreationTime), 0x30);
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
    assert_int_equal(sizeof(ntprof_session_options), 72);
    assert_int_equal(offsetof(ntprof_session_options, backend), 8);
    assert_int_equal(offsetof(ntprof_session_options, flags), 16);
    assert_int_equal(offsetof(ntprof_session_options, intervals), 24);
    assert_int_equal(offsetof(ntprof_session_options, simulation_seed), 40);
    assert_int_equal(offsetof(ntprof_session_options, log_context), 56);
    assert_int_equal(offsetof(ntprof_session_options, abi), 64);
    assert_int_equal(sizeof(ntprof_session_info), 1176);
    assert_int_equal(offsetof(ntprof_session_info, abi), 1120);
    assert_int_equal(offsetof(ntprof_session_info, halt), 1124);
    assert_int_equal(offsetof(ntprof_session_info, bug_check_parameters), 1136);
    assert_int_equal(offsetof(ntprof_session_info, unread), 1168);
    assert_int_equal(offsetof(ntprof_session_info, better), 24);
    assert_int_equal(offsetof(ntprof_session_info, profiles), 1056);
    assert_int_equal(sizeof(ntprof_watch_options), 40);
    assert_int_equal(offsetof(ntprof_watch_options, sources), 16);
    assert_int_equal(offsetof(ntprof_watch_options, affinity), 24);
}

static void
source_structs__sizes_and_offsets__are_as_released(void **state)
{
    (void)state;
    assert_int_equal(sizeof(ntprof_source_info), 432);
    assert_int_equal(offsetof(ntprof_source_info, name), 24);
    assert_int_equal(offsetof(ntprof_source_info, reason), 120);
    assert_int_equal(offsetof(ntprof_source_info, interval_asked), 312);
    assert_int_equal(sizeof(ntprof_backend_info), 552);
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
    assert_int_equal(sizeof(MDL), 32);
    assert_int_equal(sizeof(HOST_PROCESS), 16);
    assert_int_equal(sizeof(HOST_TABLE), 184);
    assert_int_equal(sizeof(KE_HIT), 40);
    assert_int_equal(sizeof(HAL_SOURCE), 40);
    assert_int_equal(sizeof(HAL_TABLE), 56);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nt_structs__sizes_and_offsets__are_nts),
        cmocka_unit_test(object_structs__sizes_and_offsets__are_nts),
        cmocka_unit_test(session_structs__sizes_and_offsets__are_as_released),
        cmocka_unit_test(source_structs__sizes_and_offsets__are_as_released),
        cmocka_unit_test(notification__size_and_offsets__are_as_released),
        cmocka_unit_test(embedding_structs__sizes__are_as_released),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
