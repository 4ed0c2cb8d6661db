/* SPDX-License-Identifier: MIT */
/* A session's version and word size: what may be asked for, and which calls there are
 * then. */
#include "api/api.h"
#include "ex/version.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "guarded.h"

#define SELF NtCurrentProcess()
#define UNTOUCHED ((HANDLE)(uintptr_t)0x5A5A5A58)

enum { COUNTER_BYTES = 64 };

static ULONG *counters;

static ntprof_session_options
simulated(void)
{
    return (ntprof_session_options){.size = sizeof(ntprof_session_options),
                                    .backend = "sim",
                                    .flags = NTPROF_SESSION_POLLED};
}

static NTSTATUS
open_with(const ntprof_session_options *options, ntprof_session **session)
{
    const NTSTATUS status = ntprof_session_open(options, session);

    if (NT_SUCCESS(status)) {
        ntprof_session_use(*session);
    }
    return status;
}

static ntprof_session *
open_version(uint32_t nt_version)
{
    ntprof_session_options options = simulated();
    ntprof_session *session = NULL;

    options.nt_version = nt_version;
    assert_int_equal(open_with(&options, &session), STATUS_SUCCESS);
    return session;
}

static void
close_session(ntprof_session *session)
{
    ntprof_session_use(NULL);
    ntprof_session_close(session);
}

/* ---- Names ---- */

static void
version_lookup__each_name__its_number(void **state)
{
    static const struct {
        const char *name;
        uint32_t number;
    } rows[] = {
        {"newest", NTPROF_NT_NEWEST},   {"NEWEST", NTPROF_NT_NEWEST},
        {"3.10", NTPROF_NT_3_10},       {"3.50", NTPROF_NT_3_50},
        {"3.51", NTPROF_NT_3_51},       {"4.0", NTPROF_NT_4_0},
        {"4.0 SP4", NTPROF_NT_4_0_SP4}, {"4.0 sp4", NTPROF_NT_4_0_SP4},
        {"5.0", NTPROF_NT_5_0},         {"5.1", NTPROF_NT_5_1},
        {"5.2", NTPROF_NT_5_2},         {"6.0", NTPROF_NT_6_0},
        {"6.1", NTPROF_NT_6_1},         {"6.2", NTPROF_NT_6_2},
        {"6.3", NTPROF_NT_6_3},         {"10.0", NTPROF_NT_10_0},
        {"1511", NTPROF_NT_1511},       {"1607", NTPROF_NT_1607},
        {"1703", NTPROF_NT_1703},       {"1709", NTPROF_NT_1709},
        {"1803", NTPROF_NT_1803},       {"1809", NTPROF_NT_1809},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ntprof_session_info info = {.size = sizeof(info)};
        uint32_t number = 0xFFFFFFFF;
        ntprof_session *session;

        assert_int_equal(ntprof_nt_version_lookup(rows[i].name, &number),
                         STATUS_SUCCESS);
        assert_int_equal(number, rows[i].number);
        session = open_version(number);
        assert_int_equal(ntprof_session_get_info(session, &info), STATUS_SUCCESS);
        assert_int_equal(info.nt_version, number);
        close_session(session);
    }
}

static void
version_lookup__no_such_name__not_found(void **state)
{
    static const char *const names[] = {"",         " ",       "3.1",   "4.0 SP",
                                        "4.0 SP40", "newest ", " 10.0", "11",
                                        "1507",     "%s%s%s%s"};
    uint32_t number = 0x5A5A5A5A;

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(ntprof_nt_version_lookup(names[i], &number), STATUS_NOT_FOUND);
    }
    assert_int_equal(ntprof_nt_version_lookup(NULL, &number), STATUS_INVALID_PARAMETER);
    assert_int_equal(ntprof_nt_version_lookup("10.0", NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(number, 0x5A5A5A5A);
}

/* ---- Options ---- */

static void
session_options__no_such_rules__invalid_parameter(void **state)
{
    static const struct {
        uint32_t nt_version;
        uint32_t abi;
        uint32_t flags;
        NTSTATUS status;
    } rows[] = {
        {NTPROF_NT_1809, NTPROF_ABI_HOST, 0, STATUS_SUCCESS},
        {NTPROF_NT_1809, NTPROF_ABI_X86, 0, STATUS_SUCCESS},
        {NTPROF_NT_3_10, NTPROF_ABI_X86, 0, STATUS_SUCCESS},
        {1, NTPROF_ABI_HOST, 0, STATUS_INVALID_PARAMETER},
        {309, NTPROF_ABI_HOST, 0, STATUS_INVALID_PARAMETER},
        {1810, NTPROF_ABI_HOST, 0, STATUS_INVALID_PARAMETER},
        {0xFFFFFFFF, NTPROF_ABI_HOST, 0, STATUS_INVALID_PARAMETER},
        {NTPROF_NT_1809, 3, 0, STATUS_INVALID_PARAMETER},
        {NTPROF_NT_1809, 0xFFFFFFFF, 0, STATUS_INVALID_PARAMETER},
        {NTPROF_NT_1809, NTPROF_ABI_X86, NTPROF_SESSION_WOW64,
         STATUS_INVALID_PARAMETER},
        /* rule: create-fine-buckets */
        {NTPROF_NT_NEWEST, NTPROF_ABI_X64, NTPROF_SESSION_FINE_BUCKETS, STATUS_SUCCESS},
        {NTPROF_NT_NEWEST, NTPROF_ABI_X86, NTPROF_SESSION_FINE_BUCKETS,
         STATUS_INVALID_PARAMETER},
        {NTPROF_NT_1809, NTPROF_ABI_X64, NTPROF_SESSION_FINE_BUCKETS,
         STATUS_INVALID_PARAMETER},
        {NTPROF_NT_1809, NTPROF_ABI_HOST, 16, STATUS_INVALID_PARAMETER},
        {NTPROF_NT_1809, NTPROF_ABI_HOST, 0x80000000, STATUS_INVALID_PARAMETER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ntprof_session_options options = simulated();
        ntprof_session *session = (ntprof_session *)UNTOUCHED;

        options.nt_version = rows[i].nt_version;
        options.abi = rows[i].abi;
        options.flags |= rows[i].flags;
        assert_int_equal(open_with(&options, &session), rows[i].status);
        if (NT_SUCCESS(rows[i].status)) {
            close_session(session);
        } else {
            assert_ptr_equal(session, UNTOUCHED);
        }
    }
}

/* x64 is there on a 64-bit host alone, and with it its 32-bit callers. */
static void
session_options__x64__as_the_host_is(void **state)
{
    static const uint32_t flags[] = {0, NTPROF_SESSION_WOW64};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        ntprof_session_options options = simulated();
        ntprof_session_info info = {.size = sizeof(info)};
        ntprof_session *session;

        options.abi = NTPROF_ABI_X64;
        options.flags |= flags[i];
        if (sizeof(void *) == 4) {
            assert_int_equal(open_with(&options, &session), STATUS_INVALID_PARAMETER);
            continue;
        }
        assert_int_equal(open_with(&options, &session), STATUS_SUCCESS);
        assert_int_equal(ntprof_session_get_info(session, &info), STATUS_SUCCESS);
        assert_int_equal(info.abi, NTPROF_ABI_X64);
        close_session(session);
    }
}

/* A program that was built before abi, or after what will come. */
static void
session_options__other_sizes__older_ones_and_newer_ones_of_zeros(void **state)
{
    struct {
        ntprof_session_options options;
        uint64_t newer;
    } grown;
    static const struct {
        size_t size;
        uint64_t newer;
        NTSTATUS status;
    } rows[] = {
        {0, 0, STATUS_INVALID_PARAMETER},
        {sizeof(size_t), 0, STATUS_INVALID_PARAMETER},
        {offsetof(ntprof_session_options, abi) - 1, 0, STATUS_INVALID_PARAMETER},
        {offsetof(ntprof_session_options, abi), 0, STATUS_SUCCESS},
        {sizeof(ntprof_session_options), 1, STATUS_SUCCESS},
        {sizeof(grown), 0, STATUS_SUCCESS},
        {sizeof(grown), 1, STATUS_INVALID_PARAMETER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ntprof_session *session = NULL;

        grown.options = simulated();
        grown.options.size = rows[i].size;
        grown.newer = rows[i].newer;
        /* Behind the first version's end: not to be looked at in a smaller one. */
        grown.options.abi = rows[i].size < sizeof(grown.options) ? 77 : NTPROF_ABI_HOST;
        assert_int_equal(open_with(&grown.options, &session), rows[i].status);
        close_session(session);
    }
}

static void
session_info__older_size__what_it_has_room_for(void **state)
{
    ntprof_session *const session = open_version(NTPROF_NT_6_0);
    ntprof_session_info info;

    (void)state;
    memset(&info, 0xEE, sizeof(info));
    info.size = offsetof(ntprof_session_info, abi);
    assert_int_equal(ntprof_session_get_info(session, &info), STATUS_SUCCESS);
    assert_int_equal(info.size, offsetof(ntprof_session_info, abi));
    assert_int_equal(info.nt_version, NTPROF_NT_6_0);
    assert_int_equal(info.abi, 0xEEEEEEEE);
    info.size--;
    assert_int_equal(ntprof_session_get_info(session, &info), STATUS_INVALID_PARAMETER);
    close_session(session);
}

/* ---- Calls by version ---- */

static NTSTATUS
create_now(HANDLE *handle)
{
    return NtCreateProfile(handle, SELF, (PVOID)(uintptr_t)0x10000, 64, 2, counters,
                           COUNTER_BYTES, ProfileTime, 1);
}

static NTSTATUS
create_310(HANDLE *handle)
{
    return ntprof_NtCreateProfile310(handle, SELF, (PVOID)(uintptr_t)0x10000, 64, 2,
                                     counters, COUNTER_BYTES);
}

/* What a set gives where there is one: the caller may be anybody. */
static NTSTATUS
set_status(const ntprof_session *session)
{
    return session->system.Version->SetNeedsPrivilege &&
                   !NT_SUCCESS(SeCheckSystemProfilePrivilege(&session->host, UserMode))
               ? STATUS_PRIVILEGE_NOT_HELD
               : STATUS_SUCCESS;
}

static void
check_present_calls(const ntprof_session *session, NTSTATUS status, NTSTATUS ex_status)
{
    HANDLE handle = UNTOUCHED;
    ULONG interval = 0x5A5A5A5A;

    assert_int_equal(create_now(&handle), status);
    assert_int_equal(handle != UNTOUCHED, NT_SUCCESS(status));
    handle = UNTOUCHED;
    assert_int_equal(NtCreateProfileEx(&handle, SELF, (PVOID)(uintptr_t)0x10000, 64, 2,
                                       counters, COUNTER_BYTES, ProfileTime, 0, NULL),
                     ex_status);
    assert_int_equal(handle != UNTOUCHED, NT_SUCCESS(ex_status));
    assert_int_equal(NtQueryIntervalProfile(ProfileTime, &interval), status);
    assert_int_equal(interval != 0x5A5A5A5A, NT_SUCCESS(status));
    assert_int_equal(NtSetIntervalProfile(20000, ProfileTime),
                     NT_SUCCESS(status) ? set_status(session) : status);
}

/* rules: create-351, interval-351 */
static void
calls_of_310__in_later_versions__not_there(void **state)
{
    static const uint32_t versions[] = {NTPROF_NT_3_51, NTPROF_NT_6_0, NTPROF_NT_6_1,
                                        NTPROF_NT_1809, NTPROF_NT_NEWEST};

    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        ntprof_session *const session = open_version(versions[i]);
        HANDLE handle = UNTOUCHED;
        ULONG interval = 0x5A5A5A5A;

        assert_int_equal(create_310(&handle), STATUS_INVALID_SYSTEM_SERVICE);
        assert_int_equal(ntprof_NtCreateProfile310(NULL, NULL, NULL, 1, 99, NULL, 0),
                         STATUS_INVALID_SYSTEM_SERVICE);
        assert_int_equal(ntprof_NtQueryIntervalProfile310(&interval),
                         STATUS_INVALID_SYSTEM_SERVICE);
        assert_int_equal(ntprof_NtQueryIntervalProfile310(NULL),
                         STATUS_INVALID_SYSTEM_SERVICE);
        assert_int_equal(ntprof_NtSetIntervalProfile310(10000),
                         STATUS_INVALID_SYSTEM_SERVICE);
        assert_ptr_equal(handle, UNTOUCHED);
        assert_int_equal(interval, 0x5A5A5A5A);
        check_present_calls(session, STATUS_SUCCESS,
                            i == 0 || i == 1 ? STATUS_INVALID_SYSTEM_SERVICE
                                             : STATUS_SUCCESS);
        close_session(session);
    }
}

/* rules: create-310, interval-310 */
static void
calls_of_310__in_310_and_350__work_and_the_present_ones_do_not(void **state)
{
    static const uint32_t versions[] = {NTPROF_NT_3_10, NTPROF_NT_3_50};

    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        ntprof_session *const session = open_version(versions[i]);
        HANDLE handle = NULL;
        ULONG interval = 0;

        check_present_calls(session, STATUS_INVALID_SYSTEM_SERVICE,
                            STATUS_INVALID_SYSTEM_SERVICE);
        assert_int_equal(create_310(&handle), STATUS_SUCCESS);
        assert_int_equal(NtStartProfile(handle), STATUS_SUCCESS);
        assert_int_equal(NtStopProfile(handle), STATUS_SUCCESS);
        assert_int_equal(NtClose(handle), STATUS_SUCCESS);

        assert_int_equal(ntprof_NtSetIntervalProfile310(20000), STATUS_SUCCESS);
        assert_int_equal(ntprof_NtQueryIntervalProfile310(&interval), STATUS_SUCCESS);
        assert_int_equal(interval, 20000);
        close_session(session);
    }
}

/* rules: create-310, interval-310, create-handle-pointer, query-pointer,
 * query-alignment */
static void
calls_of_310__bad_arguments__as_the_present_ones(void **state)
{
    ntprof_session *const session = open_version(NTPROF_NT_3_50);
    HANDLE handle = UNTOUCHED;
    ULONG intervals[2] = {1, 2};

    (void)state;
    assert_int_equal(create_310(NULL), STATUS_ACCESS_VIOLATION);
    assert_int_equal(
        ntprof_NtCreateProfile310(&handle, SELF, NULL, 64, 1, counters, COUNTER_BYTES),
        STATUS_INVALID_PARAMETER);
    assert_int_equal(
        ntprof_NtCreateProfile310(&handle, SELF, NULL, 68, 2, counters, COUNTER_BYTES),
        STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ntprof_NtCreateProfile310(&handle, SELF, (PVOID)UINTPTR_MAX, 64, 2,
                                               counters, COUNTER_BYTES),
                     STATUS_BUFFER_OVERFLOW);
    assert_int_equal(ntprof_NtCreateProfile310(&handle, SELF, NULL, 64, 2,
                                               (ULONG *)(void *)((char *)counters + 2),
                                               COUNTER_BYTES),
                     STATUS_DATATYPE_MISALIGNMENT);
    assert_int_equal(
        ntprof_NtCreateProfile310(&handle, SELF, NULL, 64, 2, NULL, COUNTER_BYTES),
        STATUS_ACCESS_VIOLATION);
    assert_int_equal(ntprof_NtCreateProfile310(&handle, (HANDLE)(uintptr_t)0x1230, NULL,
                                               64, 2, counters, COUNTER_BYTES),
                     STATUS_INVALID_HANDLE);
    assert_ptr_equal(handle, UNTOUCHED);
    assert_int_equal(ntprof_NtQueryIntervalProfile310(NULL), STATUS_ACCESS_VIOLATION);
    assert_int_equal(
        ntprof_NtQueryIntervalProfile310((ULONG *)(void *)((char *)intervals + 2)),
        STATUS_DATATYPE_MISALIGNMENT);
    assert_int_equal(intervals[0], 1);
    assert_int_equal(intervals[1], 2);
    close_session(session);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_lookup__each_name__its_number),
        cmocka_unit_test(version_lookup__no_such_name__not_found),
        cmocka_unit_test(session_options__no_such_rules__invalid_parameter),
        cmocka_unit_test(session_options__x64__as_the_host_is),
        cmocka_unit_test(
            session_options__other_sizes__older_ones_and_newer_ones_of_zeros),
        cmocka_unit_test(session_info__older_size__what_it_has_room_for),
        cmocka_unit_test(calls_of_310__in_later_versions__not_there),
        cmocka_unit_test(
            calls_of_310__in_310_and_350__work_and_the_present_ones_do_not),
        cmocka_unit_test(calls_of_310__bad_arguments__as_the_present_ones),
    };

    counters = guarded_counters(COUNTER_BYTES / sizeof(ULONG));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
