/* SPDX-License-Identifier: MIT */
/*
 * reasons.c - every refusal whose status does not tell the reason has words: what
 * failed, on what, why, what would help.
 */
#include "api/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "guarded.h"

enum { COUNTERS = 16 };
#define SELF NtCurrentProcess()
#define KERNEL_SPACE ((PVOID)(uintptr_t)0xFFFFFFFF80000000u)

static ntprof_session *session;
static ULONG *counters;

static int
teardown(void **state)
{
    (void)state;
    ntprof_session_use(NULL);
    ntprof_session_close(session);
    session = NULL;
    guarded_finish();
    return 0;
}

static void
open_with(ntprof_session_options options)
{
    options.size = sizeof(options);
    options.backend = "sim";
    assert_int_equal(ntprof_session_open(&options, &session), STATUS_SUCCESS);
    ntprof_session_use(session);
    counters = guarded_counters(COUNTERS);
}

static int
setup(void **state)
{
    (void)state;
    open_with((ntprof_session_options){0});
    return 0;
}

static void
assert_words(NTSTATUS status, NTSTATUS expected, const char *words)
{
    const char *const said = ntprof_session_error(session);

    if (status != expected || strstr(said, words) == NULL) {
        print_message("%s, \"%s\" instead of %s and \"%s\"\n",
                      ntprof_status_name(status), said, ntprof_status_name(expected),
                      words);
    }
    assert_int_equal(status, expected);
    assert_non_null(strstr(said, words));
    /* Whoever has no session at hand is told the same. */
    assert_string_equal(ntprof_session_error(NULL), said);
}

static NTSTATUS
create(HANDLE process, const void *base, ULONG log2)
{
    HANDLE profile;

    return NtCreateProfileEx(&profile, process, (PVOID)(uintptr_t)base, 64, log2,
                             counters, COUNTERS * sizeof(ULONG), ProfileTime, 0, NULL);
}

/* ---- NT's calls ---- */

static void
create__parameters__named(void **state)
{
    GROUP_AFFINITY none = {.Mask = 0};
    HANDLE profile = NULL;

    (void)state;
    assert_words(create(SELF, counters, 1), STATUS_INVALID_PARAMETER, "BucketSize");
    assert_words(create(SELF, counters, 0), STATUS_INVALID_PARAMETER, "segment");
    assert_words(NtCreateProfileEx(&profile, SELF, counters, 64, 2, counters, 64,
                                   ProfileTime, 1, &none),
                 STATUS_INVALID_PARAMETER, "affinity");
    assert_words(
        NtCreateProfile(&profile, SELF, counters, 64, 2, counters, 64, ProfileTime, 0),
        STATUS_INVALID_PARAMETER, "affinity");
    assert_words(NtCreateProfileEx(&profile, SELF, counters, 4, 2,
                                   (ULONG *)(void *)((char *)counters + 1), 4,
                                   ProfileTime, 0, NULL),
                 STATUS_DATATYPE_MISALIGNMENT, "Buffer");
    assert_words(NtCreateProfileEx(&profile, SELF, counters, 4, 2, counters, 4,
                                   ProfileTime, 1, (void *)((char *)&none + 1)),
                 STATUS_DATATYPE_MISALIGNMENT, "AffinityArray");
    assert_null(profile);
}

/* Each of these was explained by what it is not. */
static void
create__in_x86_session__check_that_failed_is_named(void **state)
{
    const void *const selector = (const void *)0x1F;
    HANDLE profile = NULL;

    (void)state;
    ntprof_session_close(session);
    open_with((ntprof_session_options){.abi = NTPROF_ABI_X86});
    assert_words(NtCreateProfile(&profile, SELF, (PVOID)(uintptr_t)0x100000000, 64, 2,
                                 counters, 64, ProfileTime, ~(KAFFINITY)0),
                 STATUS_INVALID_PARAMETER, "x86");
    assert_words(NtCreateProfile(&profile, SELF, (PVOID)(uintptr_t)selector, 64, 0,
                                 counters, 64, ProfileTime, 0),
                 STATUS_INVALID_PARAMETER, "affinity");
    assert_words(NtCreateProfile(&profile, SELF, (PVOID)(uintptr_t)selector, 4, 0,
                                 counters, 64, ProfileTime, ~(KAFFINITY)0),
                 STATUS_INVALID_PARAMETER, "ProfileSize is less");
    assert_words(NtCreateProfile(&profile, NULL, (PVOID)(uintptr_t)selector, 64, 0,
                                 counters, 64, ProfileTime, ~(KAFFINITY)0),
                 STATUS_INVALID_PARAMETER, "one Process");
    assert_words(NtCreateProfile(&profile, SELF, (PVOID)(uintptr_t)selector, 64, 1,
                                 counters, 64, ProfileTime, ~(KAFFINITY)0),
                 STATUS_INVALID_PARAMETER, "2 to 31");
    assert_null(profile);
}

static void
create__address_that_faults__told(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    char address[32];
    HANDLE profile = NULL;

    (void)state;
    assert_int_equal(mprotect(memory.pages, memory.bytes, PROT_READ), 0);
    snprintf(address, sizeof(address), "%p", (void *)memory.pages);
    assert_words(NtCreateProfileEx(&profile, SELF, counters, 4, 2,
                                   (ULONG *)(void *)memory.pages, 4, ProfileTime, 0,
                                   NULL),
                 STATUS_ACCESS_VIOLATION, address);
    assert_words(NtCreateProfileEx((HANDLE *)(void *)memory.pages, SELF, counters, 4, 2,
                                   counters, 4, ProfileTime, 0, NULL),
                 STATUS_ACCESS_VIOLATION, address);
    assert_words(NtQueryIntervalProfile(ProfileTime, (ULONG *)KERNEL_SPACE),
                 STATUS_ACCESS_VIOLATION, "user space");
    guarded_free(&memory);
}

static void
create__handle_without_access__told(void **state)
{
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)getpid()};
    HANDLE process = NULL;

    (void)state;
    assert_int_equal(NtOpenProcess(&process, PROCESS_DUP_HANDLE, NULL, &client),
                     STATUS_SUCCESS);
    assert_words(create(process, counters, 2), STATUS_ACCESS_DENIED,
                 "PROCESS_QUERY_INFORMATION");
    assert_int_equal(NtClose(process), STATUS_SUCCESS);
}

static void
create__source_not_there__told(void **state)
{
    HANDLE profile = NULL;

    (void)state;
    assert_words(NtCreateProfileEx(&profile, SELF, counters, 64, 2, counters, 64,
                                   ProfileLoadInstructions, 0, NULL),
                 STATUS_NOT_SUPPORTED, "source");
    assert_null(profile);
}

static void
call_of_another_version__version_named(void **state)
{
    ULONG interval = 0;

    (void)state;
    assert_words(ntprof_NtQueryIntervalProfile310(&interval),
                 STATUS_INVALID_SYSTEM_SERVICE, "nt_version");
    assert_non_null(strstr(ntprof_session_error(session), "newest"));
    (void)teardown(NULL);
    open_with((ntprof_session_options){.nt_version = NTPROF_NT_3_50});
    assert_words(create(SELF, counters, 2), STATUS_INVALID_SYSTEM_SERVICE, "NT 3.50");
    assert_words(NtSetIntervalProfile(10000, ProfileTime),
                 STATUS_INVALID_SYSTEM_SERVICE, "NT 3.50");
}

static void
duplicate__each_refusal__told(void **state)
{
    HANDLE copy = NULL;
    HANDLE profile;

    (void)state;
    assert_int_equal(NtCreateProfileEx(&profile, SELF, counters, 64, 2, counters, 64,
                                       ProfileTime, 0, NULL),
                     STATUS_SUCCESS);
    assert_words(NtDuplicateObject(SELF, profile, SELF, &copy, 0, 0, 0x80),
                 STATUS_INVALID_PARAMETER, "Options");
    assert_words(NtDuplicateObject(SELF, profile, SELF, &copy, 0x000F0001, 0, 0),
                 STATUS_ACCESS_DENIED, "SourceHandle");
    assert_int_equal(NtClose(profile), STATUS_SUCCESS);
    assert_null(copy);
}

static void
open_process__named__told(void **state)
{
    OBJECT_ATTRIBUTES named = {.Length = sizeof(named), .ObjectName = &named};
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)getpid()};
    HANDLE process = NULL;

    (void)state;
    assert_words(NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, &named, &client),
                 STATUS_INVALID_PARAMETER, "ObjectAttributes");
    assert_words(NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, NULL),
                 STATUS_INVALID_PARAMETER, "ClientId");
    assert_null(process);
}

static void
start__buffer_gone__told(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    char address[32];
    HANDLE profile;

    (void)state;
    snprintf(address, sizeof(address), "%p", (void *)memory.pages);
    assert_int_equal(NtCreateProfileEx(&profile, SELF, counters, 64, 2,
                                       (ULONG *)(void *)memory.pages, 64, ProfileTime,
                                       0, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(mprotect(memory.pages, memory.bytes, PROT_READ), 0);
    assert_words(NtStartProfile(profile), STATUS_ACCESS_VIOLATION, address);
    assert_non_null(strstr(ntprof_session_error(session), "can be written"));
    assert_int_equal(NtClose(profile), STATUS_SUCCESS);
    guarded_free(&memory);
}

/* ---- what an ordinary user may not ---- */

static bool
says(NTSTATUS status, NTSTATUS expected, const char *words)
{
    const bool ok =
        status == expected && strstr(ntprof_session_error(session), words) != NULL;

    if (!ok) {
        fprintf(stderr, "%s, \"%s\" instead of %s and \"%s\"\n",
                ntprof_status_name(status), ntprof_session_error(session),
                ntprof_status_name(expected), words);
    }
    return ok;
}

/* Which setting it is differs: paranoid, a filter, a kernel without events. */
static bool
says_setting(NTSTATUS status, NTSTATUS expected, const char *words)
{
    const char *const said = ntprof_session_error(session);

    return says(status, expected, words) &&
           (strstr(said, "perf_event_paranoid") != NULL ||
            strstr(said, "perf_event_open") != NULL || strstr(said, "denies") != NULL);
}

/* If it is a level of kernel.perf_event_paranoid that refuses, the one that suffices is
 * said: for a start as well. */
static bool
says_level(NTSTATUS status, NTSTATUS expected, const char *words, char level)
{
    static const char remedy[] = "set kernel.perf_event_paranoid to ";
    const char *const said = strstr(ntprof_session_error(session), remedy);

    return says_setting(status, expected, words) &&
           (said == NULL || said[sizeof(remedy) - 1] == level);
}

/* 0: as it should be. No cmocka: it is a child's. */
static int
ask_as_ordinary_user(void)
{
    const CLIENT_ID first = {.UniqueProcess = (HANDLE)(uintptr_t)1};
    const struct rlimit little = {0, 0};
    struct stat owner;
    HANDLE process;
    HANDLE profile;

    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
        return 77;
    }
    if (NT_SUCCESS(
            session->host.Table->CheckSystemProfilePrivilege(session->host.Context)) ||
        NT_SUCCESS(
            session->host.Table->CheckRestrictedCaller(session->host.Context, 1))) {
        return 77; /* a machine that lets everybody measure */
    }
    if (!says_level(create(NULL, counters, 2), STATUS_PRIVILEGE_NOT_HELD,
                    "whole processors", '0') ||
        !says_level(NtSetIntervalProfile(10000, ProfileTime), STATUS_PRIVILEGE_NOT_HELD,
                    "whole processors", '0') ||
        !says_level(create(SELF, KERNEL_SPACE, 2), STATUS_ACCESS_DENIED, "kernel space",
                    '1') ||
        !says_level(create(NULL, KERNEL_SPACE, 2), STATUS_ACCESS_DENIED, "kernel space",
                    '0') ||
        !says_level(create(SELF, KERNEL_SPACE, 2), STATUS_ACCESS_DENIED, "kernel space",
                    '1')) {
        return 1;
    }
    /* In a process namespace the first process may be the caller's own. */
    if (stat("/proc/1", &owner) == 0 && owner.st_uid != geteuid() &&
        !says(NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, &first),
              STATUS_ACCESS_DENIED, "process 1:")) {
        return 2;
    }
    setrlimit(RLIMIT_MEMLOCK, &little);
    if (!NT_SUCCESS(NtCreateProfileEx(&profile, SELF, counters, 64, 2, counters, 64,
                                      ProfileTime, 0, NULL)) ||
        !says(NtStartProfile(profile), STATUS_WORKING_SET_QUOTA,
              "RLIMIT_MEMLOCK is 0 bytes")) {
        return 3;
    }
    return 0;
}

static int
as_child(int (*body)(void))
{
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        const ntprof_session_options options = {.size = sizeof(options),
                                                .backend = "sim"};

        if (!NT_SUCCESS(ntprof_session_open(&options, &session))) {
            _exit(100);
        }
        ntprof_session_use(session);
        _exit(body());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void
rights__ordinary_user__setting_named(void **state)
{
    const int result = as_child(ask_as_ordinary_user);

    (void)state;
    if (result == 77) {
        print_message("the caller cannot become an ordinary user, or everybody may "
                      "measure here\n");
        skip();
    }
    assert_int_equal(result, 0);
}

/* ---- sources and watches ---- */

static void
lookup__each_refusal__told(void **state)
{
    KPROFILE_SOURCE source = 0x1234;

    (void)state;
    assert_words(ntprof_source_lookup(session, "nosuch", &source), STATUS_NOT_FOUND,
                 "\"nosuch\"");
    assert_words(ntprof_source_lookup(session, NULL, &source), STATUS_INVALID_PARAMETER,
                 "NULL");
    assert_int_equal(source, 0x1234);
}

static void
get__each_refusal__told(void **state)
{
    ntprof_source_info info = {.size = 8};
    ntprof_session_info whole = {.size = 8};

    (void)state;
    assert_words(ntprof_source_get(session, ProfileTime, &info),
                 STATUS_INVALID_PARAMETER, "size is 8");
    info.size = sizeof(info);
    assert_words(ntprof_source_get(session, 0x7777, &info), STATUS_NOT_FOUND, "30583");
    assert_words(ntprof_session_get_info(session, &whole), STATUS_INVALID_PARAMETER,
                 "size is 8");
    /* As far as an older caller's struct reaches. */
    memset(&info, 0xEE, sizeof(info));
    info.size = offsetof(ntprof_source_info, unwritten);
    assert_int_equal(ntprof_source_get(session, ProfileTime, &info), STATUS_SUCCESS);
    assert_int_equal(info.taken, 0);
    assert_true(info.unwritten == 0xEEEEEEEEEEEEEEEEu);
}

static void
set_interval__each_refusal__told_and_nothing_changes(void **state)
{
    ntprof_source_info info = {.size = sizeof(info)};

    (void)state;
    assert_words(ntprof_source_set_interval(session, ProfileTime, 0),
                 STATUS_INVALID_PARAMETER, "0");
    assert_int_equal(ntprof_source_set_interval(NULL, ProfileTime, 10),
                     STATUS_INVALID_PARAMETER);
    assert_words(ntprof_source_set_interval(session, 0x7777, 10), STATUS_NOT_FOUND,
                 "30583");
    assert_int_equal(ntprof_source_get(session, ProfileTime, &info), STATUS_SUCCESS);
    assert_int_equal(info.interval_asked, 0);
    assert_int_equal(info.interval_granted, info.interval_default);
}

static void
set_interval__beyond_limits__clamped_and_asked_is_kept(void **state)
{
    ntprof_source_info info = {.size = sizeof(info)};
    uint64_t initial;

    (void)state;
    assert_int_equal(ntprof_source_get(session, ProfileTime, &info), STATUS_SUCCESS);
    initial = info.interval_granted;
    assert_int_equal(ntprof_source_set_interval(session, ProfileTime, UINT64_MAX),
                     STATUS_SUCCESS);
    assert_int_equal(ntprof_source_get(session, ProfileTime, &info), STATUS_SUCCESS);
    assert_true(info.interval_asked == UINT64_MAX);
    assert_int_equal(info.interval_granted, info.interval_maximum);
    assert_int_equal(ntprof_source_set_interval(session, ProfileTime, initial),
                     STATUS_SUCCESS);
    assert_int_equal(ntprof_source_get(session, ProfileTime, &info), STATUS_SUCCESS);
    assert_int_equal(info.interval_granted, initial);
}

static void
watch__each_refusal__told(void **state)
{
    const KPROFILE_SOURCE sources[] = {ProfileTime};
    const GROUP_AFFINITY nowhere = {.Group = 1000, .Mask = 1};
    static const struct {
        ntprof_watch_options options;
        const char *words;
    } rows[] = {
        {{.size = 4}, "size"},
        {{.size = sizeof(ntprof_watch_options), .flags = 0x100}, "flags"},
        {{.size = sizeof(ntprof_watch_options), .reserved = 1}, "reserved"},
        {{.size = sizeof(ntprof_watch_options), .source_count = 1}, "count"},
        {{.size = sizeof(ntprof_watch_options), .affinity_count = 1}, "count"},
    };
    ntprof_watch_options options = {.size = sizeof(options)};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_words(ntprof_session_watch(session, SELF, &rows[i].options),
                     STATUS_INVALID_PARAMETER, rows[i].words);
    }
    options.flags = NTPROF_WATCH_DESCENDANTS;
    assert_words(ntprof_session_watch(session, NULL, &options),
                 STATUS_INVALID_PARAMETER, "all processes");
    options = (ntprof_watch_options){.size = sizeof(options),
                                     .source_count = 1,
                                     .sources = sources,
                                     .affinity = &nowhere,
                                     .affinity_count = 1};
    assert_words(ntprof_session_watch(session, SELF, &options),
                 STATUS_INVALID_PARAMETER, "affinity");
}

/* ---- opening ---- */

static const ntprof_source_interval no_source[] = {{"time", 10000}, {"nosuch", 1}};
static const ntprof_source_interval no_interval[] = {{"time", 0}};

static const char *const stack_time[] = {"time"};

/* rule: stack-sources */
static void
open__each_refusal__told(void **state)
{
    static const struct {
        ntprof_session_options options;
        const char *words;
    } rows[] = {
        {{.size = 8}, "size is 8"},
        {{.flags = 0x80}, "0x80"},
        {{.reserved = 7}, "reserved"},
        {{.nt_version = 123}, "nt_version 123"},
        {{.abi = 3}, "abi 3"},
        {{.abi = NTPROF_ABI_X86, .flags = NTPROF_SESSION_WOW64}, "WOW64"},
        {{.interval_count = 2}, "intervals NULL"},
        {{.intervals = no_source, .interval_count = 2}, "\"nosuch\""},
        {{.intervals = no_interval, .interval_count = 1}, "intervals[0]"},
        {{.backend = "nosuch"}, "\"nosuch\"; there are perf"},
        {{.cgroup = "/proc/self"}, "no directory of a cgroup"},
        {{.stack_source_count = 1}, "stack_sources NULL"},
        {{.stack_sources = stack_time, .stack_source_count = 1}, "without stack_bytes"},
        {{.stack_bytes = 511, .stack_sources = stack_time, .stack_source_count = 1},
         "stack_bytes is 511"},
        {{.stack_bytes = 512}, "stack_bytes without stack_sources"},
        {{.stack_bytes = 512,
          .stack_sources = stack_time,
          .stack_source_count = 1,
          .abi = NTPROF_ABI_X86},
         "NTPROF_ABI_X64"},
    };
    ntprof_session *opened = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ntprof_session_options options = rows[i].options;

        options.size = options.size != 0 ? options.size : sizeof(options);
        options.backend = options.backend != NULL ? options.backend : "sim";
        assert_int_equal(ntprof_session_open(&options, &opened),
                         STATUS_INVALID_PARAMETER);
        if (strstr(ntprof_session_error(NULL), rows[i].words) == NULL) {
            print_message("\"%s\"\n", ntprof_session_error(NULL));
        }
        assert_non_null(strstr(ntprof_session_error(NULL), rows[i].words));
        assert_string_equal(ntprof_session_error(session), ""); /* not its failure */
    }
    assert_int_equal(ntprof_session_open(NULL, NULL), STATUS_INVALID_PARAMETER);
    assert_non_null(strstr(ntprof_session_error(NULL), "variable"));
    assert_null(opened);
}

/* What a newer caller has, and this library does not know. */
static void
open__longer_options__refused_unless_zero(void **state)
{
    struct {
        ntprof_session_options options;
        uint64_t newer;
    } longer = {.options = {.size = sizeof(longer), .backend = "sim"}, .newer = 1};
    ntprof_session *opened = NULL;

    (void)state;
    assert_int_equal(ntprof_session_open(&longer.options, &opened),
                     STATUS_INVALID_PARAMETER);
    assert_non_null(strstr(ntprof_session_error(NULL), "does not know"));
    longer.newer = 0;
    assert_int_equal(ntprof_session_open(&longer.options, &opened), STATUS_SUCCESS);
    ntprof_session_close(opened);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(create__parameters__named),
        TEST(create__in_x86_session__check_that_failed_is_named),
        TEST(create__address_that_faults__told),
        TEST(create__handle_without_access__told),
        TEST(create__source_not_there__told),
        TEST(call_of_another_version__version_named),
        TEST(duplicate__each_refusal__told),
        TEST(open_process__named__told),
        TEST(start__buffer_gone__told),
        TEST(rights__ordinary_user__setting_named),
        TEST(lookup__each_refusal__told),
        TEST(get__each_refusal__told),
        TEST(set_interval__each_refusal__told_and_nothing_changes),
        TEST(set_interval__beyond_limits__clamped_and_asked_is_kept),
        TEST(watch__each_refusal__told),
        TEST(open__each_refusal__told),
        TEST(open__longer_options__refused_unless_zero),
    };

    return cmocka_run_group_tests_name("reasons", tests, NULL, NULL);
}
