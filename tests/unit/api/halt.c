/* SPDX-License-Identifier: MIT */
/*
 * What a caller sees when a defect of an old version has stopped the simulated NT:
 * every call's status, the session's facts, one line in the log, and a page behind the
 * counters that nothing wrote to.
 */
#include "api/api.h"
#include "hal/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define SELF NtCurrentProcess()
#define BASE ((PVOID)(uintptr_t)0x10000)
enum { BUCKET_LOG2 = 6, REGION_BYTES = 1 << BUCKET_LOG2 };

static ntprof_session *session;
static unsigned char *pages; /* one for counters, and a guard */
static size_t page_bytes;
static HANDLE profile;
static int logged;
static int logged_level;
static char logged_text[512];

static void
remember(void *context, int level, const char *message)
{
    assert_ptr_equal(context, &logged);
    logged++;
    logged_level = level;
    (void)snprintf(logged_text, sizeof(logged_text), "%s", message);
}

static void
open_session(uint32_t nt_version, uint32_t abi)
{
    const ntprof_session_options options = {.size = sizeof(options),
                                            .backend = "sim",
                                            .flags = NTPROF_SESSION_POLLED,
                                            .nt_version = nt_version,
                                            .abi = abi,
                                            .log = remember,
                                            .log_context = &logged};

    assert_int_equal(ntprof_session_open(&options, &session), STATUS_SUCCESS);
    ntprof_session_use(session);
    logged = 0; /* opening may say why there is no better back end */
}

static int
setup(void **state)
{
    (void)state;
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    pages = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED ||
        mprotect(pages + page_bytes, page_bytes, PROT_NONE) != 0) {
        return -1;
    }
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    ntprof_session_use(NULL);
    ntprof_session_close(session);
    munmap(pages, 2 * page_bytes);
    return 0;
}

/* A started profile of one bucket whose counter is here. */
static void
start_profile(ULONG *counter)
{
    assert_int_equal(NtCreateProfileEx(&profile, SELF, BASE, REGION_BYTES, BUCKET_LOG2,
                                       counter, sizeof(*counter), ProfileTime, 0, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(NtStartProfile(profile), STATUS_SUCCESS);
}

/* Execution found so far from the region's beginning. Returns the counters incremented.
 */
static ULONG
hit(ULONG offset)
{
    return sim_hit(session->backend_context, ProfileTime, 0, (uint64_t)getpid(),
                   (uintptr_t)BASE + offset);
}

static ntprof_session_info
session_info(void)
{
    ntprof_session_info info = {.size = sizeof(info)};

    assert_int_equal(ntprof_session_get_info(session, &info), STATUS_SUCCESS);
    return info;
}

/* Each call, with arguments that have every other fault as well. */
static void
check_calls_are_shut_down(void)
{
    ULONG *const nowhere = (ULONG *)(void *)(pages + page_bytes + 1);
    HANDLE *const target = (HANDLE *)(void *)nowhere;

    assert_int_equal(NtCreateProfileEx(target, NULL, NULL, 1, 99, nowhere, 0, 99, 1,
                                       (GROUP_AFFINITY *)(void *)nowhere),
                     STATUS_SYSTEM_SHUTDOWN);
    assert_int_equal(NtCreateProfile(target, NULL, NULL, 1, 99, nowhere, 0, 99, 0),
                     STATUS_SYSTEM_SHUTDOWN);
    assert_int_equal(NtStartProfile(NULL), STATUS_SYSTEM_SHUTDOWN);
    assert_int_equal(NtStopProfile(NULL), STATUS_SYSTEM_SHUTDOWN);
    assert_int_equal(NtQueryIntervalProfile(99, nowhere), STATUS_SYSTEM_SHUTDOWN);
    assert_int_equal(NtSetIntervalProfile(0, 99), STATUS_SYSTEM_SHUTDOWN);
    assert_int_equal(NtOpenProcess(target, 0, NULL, NULL), STATUS_SYSTEM_SHUTDOWN);
    assert_int_equal(NtDuplicateObject(NULL, NULL, NULL, target, 0, 99, 99),
                     STATUS_SYSTEM_SHUTDOWN);
    assert_int_equal(NtQueryObject(NULL, 99, nowhere, 1, nowhere),
                     STATUS_SYSTEM_SHUTDOWN);
    assert_int_equal(ntprof_NtCreateProfile310(target, NULL, NULL, 1, 99, nowhere, 0),
                     STATUS_SYSTEM_SHUTDOWN);
    assert_int_equal(ntprof_NtQueryIntervalProfile310(nowhere), STATUS_SYSTEM_SHUTDOWN);
    assert_int_equal(ntprof_NtSetIntervalProfile310(0), STATUS_SYSTEM_SHUTDOWN);
}

/* rule: halted-calls */
static void
check_halted(uint32_t kind, uint32_t code, const char *text)
{
    ntprof_session_info info;

    check_calls_are_shut_down();
    assert_string_equal(ntprof_session_error(session), logged_text);
    assert_non_null(strstr(logged_text, text));
    assert_int_equal(logged, 1);
    assert_int_equal(logged_level, NTPROF_LOG_ERROR);

    info = session_info();
    assert_int_equal(info.halt, kind);
    assert_int_equal(info.bug_check, code);
    assert_int_equal(info.started, 0);
}

static void
check_close_works(void)
{
    assert_int_equal(session_info().profiles, 1);
    assert_int_equal(NtClose(profile), STATUS_SUCCESS);
    assert_int_equal(NtClose(profile), STATUS_INVALID_HANDLE);
    assert_int_equal(NtClose(SELF), STATUS_SUCCESS);
    assert_int_equal(session_info().profiles, 0);
}

/* rules: hit-bug-check, halted-calls, hit-halted */
static void
halt__counter_on_the_next_page__bug_check_and_no_more_calls(void **state)
{
    ULONG *const counter = (ULONG *)(void *)(pages + page_bytes - sizeof(ULONG));
    ntprof_session_info info;

    (void)state;
    open_session(NTPROF_NT_1803, NTPROF_ABI_HOST);
    start_profile(counter);
    assert_int_equal(hit(REGION_BYTES - 1), 1);
    assert_int_equal(session_info().halt, NTPROF_HALT_NONE);
    assert_int_equal(logged, 0);

    assert_int_equal(hit(REGION_BYTES), 0);
    assert_int_equal(hit(0), 0);
    check_halted(NTPROF_HALT_BUG_CHECK, 0x0A, "bug check 0x0A");
    info = session_info();
    assert_int_equal(info.bug_check_parameters[0], (uintptr_t)(counter + 1));
    assert_int_equal(info.bug_check_parameters[2], 1);
    assert_int_equal(*counter, 1);
    check_close_works();
}

/* rules: hit-corruption, halted-calls */
static void
halt__counter_on_the_same_page__silent_corruption_contained(void **state)
{
    ULONG *const counter = (ULONG *)(void *)(pages + 64);

    (void)state;
    counter[1] = 0x5A5A5A5A;
    open_session(NTPROF_NT_1803, NTPROF_ABI_HOST);
    start_profile(counter);
    assert_int_equal(hit(REGION_BYTES), 0);
    /* The delivery that follows a hit tells of it, whoever calls next. */
    assert_int_equal(ntprof_session_poll(session, NULL), STATUS_SUCCESS);
    assert_int_equal(logged, 1);
    check_halted(NTPROF_HALT_CORRUPTION, 0, "corrupted memory");
    assert_int_equal(counter[0], 0);
    assert_int_equal(counter[1], 0x5A5A5A5A);
    check_close_works();
}

/* rules: create-segment-division, halted-calls */
static void
halt__by_a_create_call__its_own_status_says_so(void **state)
{
    (void)state;
    profile = (HANDLE)(uintptr_t)0x5A5A5A58;
    open_session(NTPROF_NT_4_0, NTPROF_ABI_X86);
    assert_int_equal(NtCreateProfile(&profile, SELF, (PVOID)(uintptr_t)0x23, 64, 0,
                                     (ULONG *)(void *)pages, 3, ProfileTime, 0),
                     STATUS_SYSTEM_SHUTDOWN);
    assert_ptr_equal(profile, (HANDLE)(uintptr_t)0x5A5A5A58);
    check_halted(NTPROF_HALT_BUG_CHECK, 0x1E, "bug check 0x1E");
    assert_int_equal(session_info().bug_check_parameters[0], 0xC0000094);
}

/* rule: hit-region */
static void
newest__hit_at_the_end__outside_and_goes_on(void **state)
{
    ULONG *const counter = (ULONG *)(void *)(pages + page_bytes - sizeof(ULONG));

    (void)state;
    open_session(NTPROF_NT_NEWEST, NTPROF_ABI_HOST);
    start_profile(counter);
    assert_int_equal(hit(REGION_BYTES), 0);
    assert_int_equal(hit(0), 1);
    assert_int_equal(NtStopProfile(profile), STATUS_SUCCESS);
    assert_int_equal(*counter, 1);
    assert_int_equal(session_info().halt, NTPROF_HALT_NONE);
    assert_int_equal(logged, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(halt__counter_on_the_next_page__bug_check_and_no_more_calls),
        TEST(halt__counter_on_the_same_page__silent_corruption_contained),
        TEST(halt__by_a_create_call__its_own_status_says_so),
        TEST(newest__hit_at_the_end__outside_and_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
