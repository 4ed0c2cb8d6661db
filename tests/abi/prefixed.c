/* SPDX-License-Identifier: MIT */
/*
 * A program that has other definitions of NT's names, functions of its own among them,
 * and uses the library under its prefix. C and C++.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif

typedef unsigned long ULONG;
typedef long NTSTATUS;
typedef int HANDLE;
typedef enum _KPROFILE_SOURCE { ProfileTime = 77 } KPROFILE_SOURCE;
#define STATUS_SUCCESS 1234
#define TRUE (-1)
#define OBJ_INHERIT 0x55

#ifdef __cplusplus
extern "C" {
#endif
NTSTATUS NtClose(HANDLE handle, int how);
void NtStartProfile(void);
double ZwClose(void);
#ifdef __cplusplus
}
#endif

#define NTPROF_PREFIXED
#include <ntprof/ntprof.h>

/* The simulated machine runs anywhere in user space: 2 GB a counter. */
enum { COUNTERS = 0x10000, BUCKET_LOG2 = ntprof_PROFILE_BUCKET_LOG2_MAX, ROUNDS = 50 };

static int own_calls;

NTSTATUS
NtClose(HANDLE handle, int how)
{
    own_calls++;
    return handle + how;
}

void
NtStartProfile(void)
{
    own_calls++;
}

double
ZwClose(void)
{
    own_calls++;
    return 0.5;
}

static ntprof_session *
open_session(void)
{
    ntprof_session_options options = {};
    ntprof_session *session = NULL;

    options.size = sizeof(options);
    options.backend = "sim";
    options.flags = NTPROF_SESSION_POLLED;
    options.simulation_seed = 7;
    assert_int_equal(ntprof_session_open(&options, &session), ntprof_STATUS_SUCCESS);
    ntprof_session_use(session);
    return session;
}

static uint64_t
sum_of(const ntprof_ULONG *counters)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < COUNTERS; i++) {
        sum += counters[i];
    }
    return sum;
}

static void
count_hits(ntprof_session *session, ntprof_HANDLE profile, const ntprof_ULONG *counters)
{
    uint64_t sum;

    assert_int_equal(ntprof_NtStartProfile(profile), ntprof_STATUS_SUCCESS);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(ntprof_session_poll(session, NULL), ntprof_STATUS_SUCCESS);
    }
    assert_int_equal(ntprof_NtStopProfile(profile), ntprof_STATUS_SUCCESS);
    sum = sum_of(counters);
    assert_true(sum > 0);
    assert_int_equal(ntprof_session_poll(session, NULL), ntprof_STATUS_SUCCESS);
    assert_int_equal(sum_of(counters), sum);
}

static void
profile__by_prefixed_calls__counts(void **state)
{
    const size_t bytes = COUNTERS * sizeof(ntprof_ULONG);
    const ntprof_SIZE_T size = sizeof(ntprof_SIZE_T) == 8
                                   ? (ntprof_SIZE_T)((uint64_t)COUNTERS << BUCKET_LOG2)
                                   : 0x80000000u;
    ntprof_ULONG *const counters = ntprof_buffer_alloc(bytes);
    ntprof_session *const session = open_session();
    ntprof_HANDLE profile = NULL;
    ntprof_HANDLE second = NULL;
    ntprof_OBJECT_BASIC_INFORMATION basic;

    (void)state;
    assert_non_null(counters);
    assert_int_equal(ntprof_NtCreateProfileEx(
                         &profile, ntprof_NtCurrentProcess(), NULL, size, BUCKET_LOG2,
                         counters, (ntprof_ULONG)bytes, ntprof_ProfileTime, 0, NULL),
                     ntprof_STATUS_SUCCESS);
    count_hits(session, profile, counters);
    assert_int_equal(ntprof_NtDuplicateObject(
                         ntprof_NtCurrentProcess(), profile, ntprof_NtCurrentProcess(),
                         &second, ntprof_PROFILE_CONTROL, ntprof_OBJ_INHERIT, 0),
                     ntprof_STATUS_SUCCESS);
    assert_int_equal(ntprof_NtQueryObject(second, ntprof_ObjectBasicInformation, &basic,
                                          sizeof(basic), NULL),
                     ntprof_STATUS_SUCCESS);
    assert_int_equal(basic.Attributes, 2);
    assert_int_equal(basic.HandleCount, 2);
    assert_int_equal(ntprof_NtClose(profile), ntprof_STATUS_SUCCESS);
    assert_int_equal(ntprof_NtClose(second), ntprof_STATUS_SUCCESS);
    assert_int_equal(ntprof_NtClose(second), ntprof_STATUS_INVALID_HANDLE);
    ntprof_session_close(session);
    ntprof_buffer_free(counters, bytes);

    /* Nothing in the library took the program's functions for its own. */
    assert_int_equal(own_calls, 0);
}

static void
own_names__beside_the_librarys__keep_their_meaning(void **state)
{
    (void)state;
    assert_int_equal(sizeof(ULONG), sizeof(long));
    assert_int_equal(ProfileTime, 77);
    assert_int_equal(ntprof_ProfileTime, 0);
    assert_int_equal(STATUS_SUCCESS, 1234);
    assert_int_equal(TRUE, -1);
    assert_int_equal(OBJ_INHERIT, 0x55);
    assert_int_equal(NtClose(3, 4), 7);
    NtStartProfile();
    assert_true(ZwClose() < 1);
    assert_int_equal(own_calls, 3);
    own_calls = 0;
}

/* Both spellings of each value come from one table. */
static void
statuses__each_of_the_table__has_its_value(void **state)
{
    int count = 0;

    (void)state;
#define CHECK_STATUS(name, value, text)                               \
    assert_int_equal(ntprof_##name, (ntprof_NTSTATUS)(value));        \
    assert_string_equal(ntprof_status_name(ntprof_##name), "" #name); \
    assert_string_equal(ntprof_status_text(ntprof_##name), text);     \
    count++;
    NTPROF_STATUS_TABLE(CHECK_STATUS)
    assert_int_equal(count, 26);
}

static void
constants__prefixed__have_nts_values(void **state)
{
    (void)state;
    assert_int_equal(ntprof_PROFILE_CONTROL, 1);
    assert_int_equal(ntprof_PROFILE_ALL_ACCESS, 0x000F0001);
    assert_int_equal(ntprof_PROCESS_DUP_HANDLE, 0x40);
    assert_int_equal(ntprof_PROCESS_QUERY_INFORMATION, 0x400);
    assert_int_equal(ntprof_DUPLICATE_CLOSE_SOURCE, 1);
    assert_int_equal(ntprof_DUPLICATE_SAME_ACCESS, 2);
    assert_int_equal(ntprof_DUPLICATE_SAME_ATTRIBUTES, 4);
    assert_int_equal(ntprof_OBJ_INHERIT, 2);
    assert_int_equal(ntprof_PROFILE_BUCKET_LOG2_MIN, 2);
    assert_true(ntprof_NT_SUCCESS(0) && !ntprof_NT_SUCCESS(0x80000005));
    assert_true((intptr_t)ntprof_NtCurrentProcess() == -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profile__by_prefixed_calls__counts),
        cmocka_unit_test(own_names__beside_the_librarys__keep_their_meaning),
        cmocka_unit_test(statuses__each_of_the_table__has_its_value),
        cmocka_unit_test(constants__prefixed__have_nts_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
