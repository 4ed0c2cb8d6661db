/* SPDX-License-Identifier: MIT */
/* The Nt entry points: names, the arguments of NtOpenProcess, and the type Profile, in
 * a session of its own on the simulated machine's back end. */
#include "api/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static HANDLE const untouched = (HANDLE)(uintptr_t)0x5A5A5A58;

static ntprof_session *session;
static unsigned char *no_memory; /* a page that cannot be read or written */

static int
setup(void **state)
{
    const ntprof_session_options options = {.size = sizeof(options), .backend = "sim"};

    (void)state;
    no_memory = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (no_memory == MAP_FAILED ||
        !NT_SUCCESS(ntprof_session_open(&options, &session))) {
        return -1;
    }
    ntprof_session_use(session);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    ntprof_session_use(NULL);
    ntprof_session_close(session);
    munmap(no_memory, 4096);
    return 0;
}

static CLIENT_ID
own_pid(void)
{
    return (CLIENT_ID){.UniqueProcess = (HANDLE)(uintptr_t)getpid()};
}

/* rule: handle-process-name */
static void
open_process__named_attributes__invalid_parameter(void **state)
{
    OBJECT_ATTRIBUTES attributes = {.Length = sizeof(attributes)};
    const CLIENT_ID client = own_pid();
    HANDLE handle = untouched;

    (void)state;
    attributes.ObjectName = &attributes;
    assert_int_equal(
        NtOpenProcess(&handle, PROCESS_QUERY_INFORMATION, &attributes, &client),
        STATUS_INVALID_PARAMETER);
    assert_ptr_equal(handle, untouched);

    attributes.ObjectName = NULL;
    assert_int_equal(
        NtOpenProcess(&handle, PROCESS_QUERY_INFORMATION, &attributes, &client),
        STATUS_SUCCESS);
    assert_ptr_not_equal(handle, untouched);
    assert_int_equal(NtClose(handle), STATUS_SUCCESS);
}

/* rule: handle-process-pointers */
static void
open_process__bad_pointers__their_status_nothing_opened(void **state)
{
    const CLIENT_ID client = own_pid();
    HANDLE handle = untouched;

    (void)state;
    assert_int_equal(NtOpenProcess(&handle, PROCESS_QUERY_INFORMATION, NULL, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(NtOpenProcess(&handle, PROCESS_QUERY_INFORMATION, NULL,
                                   (const CLIENT_ID *)(void *)no_memory),
                     STATUS_ACCESS_VIOLATION);
    assert_int_equal(NtOpenProcess(&handle, PROCESS_QUERY_INFORMATION,
                                   (const OBJECT_ATTRIBUTES *)(void *)no_memory,
                                   &client),
                     STATUS_ACCESS_VIOLATION);
    assert_int_equal(NtOpenProcess((HANDLE *)(void *)no_memory,
                                   PROCESS_QUERY_INFORMATION, NULL, &client),
                     STATUS_ACCESS_VIOLATION);
    assert_ptr_equal(handle, untouched);
    assert_int_equal(session->system.Ob.ObjectCount, 0);
}

typedef void any_function(void);

/* rule: zw-same */
static void
other_names__each__the_same_function(void **state)
{
    /* Volatile: a compiler takes functions with two names for two functions. */
#define NAMES(name)                                         \
    {                                                       \
        (any_function *)Nt##name, (any_function *)Zw##name, \
            (any_function *)ntprof_Nt##name                 \
    }
    static any_function *volatile names[][3] = {
        NAMES(CreateProfileEx), NAMES(CreateProfile),        NAMES(StartProfile),
        NAMES(StopProfile),     NAMES(QueryIntervalProfile), NAMES(SetIntervalProfile),
        NAMES(Close),           NAMES(OpenProcess),          NAMES(DuplicateObject),
        NAMES(QueryObject),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_non_null(names[i][0]);
        assert_true(names[i][1] == names[i][0]);
        assert_true(names[i][2] == names[i][0]);
    }
}

/* rules: handle-type, handle-generic */
static void
profile_type__access__as_in_nt(void **state)
{
    const OBJECT_TYPE *const type = &session->system.ProfileType;

    (void)state;
    assert_string_equal(type->Name, "Profile");
    assert_int_equal(type->ValidAccess, PROFILE_ALL_ACCESS);
    assert_int_equal(type->GenericRead, 0x00020001);
    assert_int_equal(type->GenericWrite, 0x00020001);
    assert_int_equal(type->GenericExecute, 0x00020001);
    assert_int_equal(type->GenericAll, 0x000F0001);
}

/* rule: handle-bad-values */
static void
calls__bad_handles__invalid_handle(void **state)
{
    static const uintptr_t bad[] = {0, 1, 2, 3, 5, 0x7FFFFFFC, UINTPTR_MAX - 7};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const HANDLE handle = (HANDLE)bad[i];

        assert_int_equal(NtStartProfile(handle), STATUS_INVALID_HANDLE);
        assert_int_equal(NtStopProfile(handle), STATUS_INVALID_HANDLE);
        assert_int_equal(NtClose(handle), STATUS_INVALID_HANDLE);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            open_process__named_attributes__invalid_parameter, setup, teardown),
        cmocka_unit_test_setup_teardown(
            open_process__bad_pointers__their_status_nothing_opened, setup, teardown),
        cmocka_unit_test(other_names__each__the_same_function),
        cmocka_unit_test_setup_teardown(profile_type__access__as_in_nt, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(calls__bad_handles__invalid_handle, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
