/* SPDX-License-Identifier: MIT */
/* Sessions: what ntprof_session_error says and when, and the default session over fork.
 */
#include "api/api.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "guarded.h"

enum { FORKS = 60, GIVE_UP_SECONDS = 30 };

enum { COUNTER_BYTES = 64 };

static ULONG *counters;

static void
open_simulated(ntprof_session **session)
{
    const ntprof_session_options options = {.size = sizeof(options), .backend = "sim"};

    assert_int_equal(ntprof_session_open(&options, session), STATUS_SUCCESS);
    ntprof_session_use(*session);
}

static void
close_simulated(ntprof_session *session)
{
    ntprof_session_use(NULL);
    ntprof_session_close(session);
}

static void
open__list_of_back_ends__first_usable_and_all_names_checked(void **state)
{
    static const struct {
        const char *backend;
        NTSTATUS status;
    } rows[] = {
        {"sim,perf", STATUS_SUCCESS},
        {"sim,perf,timer", STATUS_SUCCESS},
        {"sim,sim,bpf,sim,timer,perf,sim,bpf,sim", STATUS_SUCCESS},
        {"sim,none", STATUS_INVALID_PARAMETER},
        {"none,sim", STATUS_INVALID_PARAMETER},
        {"", STATUS_INVALID_PARAMETER},
        {",", STATUS_INVALID_PARAMETER},
        {",sim", STATUS_INVALID_PARAMETER},
        {"sim,", STATUS_INVALID_PARAMETER},
        {"sim, perf", STATUS_INVALID_PARAMETER},
        {"simx", STATUS_INVALID_PARAMETER},
        {"si", STATUS_INVALID_PARAMETER},
        {"sim;perf", STATUS_INVALID_PARAMETER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const ntprof_session_options options = {.size = sizeof(options),
                                                .backend = rows[i].backend};
        ntprof_session_info info = {.size = sizeof(info)};
        ntprof_session *session = NULL;

        assert_int_equal(ntprof_session_open(&options, &session), rows[i].status);
        if (NT_SUCCESS(rows[i].status)) {
            ntprof_session_get_info(session, &info);
            assert_string_equal(info.backend, "sim");
            assert_string_equal(info.better, "");
            ntprof_session_close(session);
        } else {
            assert_null(session);
            assert_non_null(strstr(ntprof_session_error(NULL), "there is no back end"));
        }
    }
}

static void
error__of_another_session__not_told(void **state)
{
    ntprof_session *one;
    ntprof_session *other;
    KPROFILE_SOURCE source;

    (void)state;
    open_simulated(&one);
    open_simulated(&other);
    assert_int_equal(ntprof_source_lookup(one, "none of one", &source),
                     STATUS_NOT_FOUND);
    assert_non_null(strstr(ntprof_session_error(one), "none of one"));
    assert_string_equal(ntprof_session_error(other), "");
    assert_int_equal(ntprof_source_lookup(other, "none of other", &source),
                     STATUS_NOT_FOUND);
    assert_string_equal(ntprof_session_error(one), "");
    assert_non_null(strstr(ntprof_session_error(other), "none of other"));
    assert_string_equal(ntprof_session_error(NULL), ntprof_session_error(other));
    close_simulated(one);
    close_simulated(other);
}

/* A directory that is no cgroup's, none at all, and a machine that has no cgroups. */
static void
open__cgroup_that_is_none__refused(void **state)
{
    ntprof_session_options options = {.size = sizeof(options), .cgroup = "/proc/self"};
    ntprof_session *session = NULL;

    (void)state;
    assert_int_equal(ntprof_session_open(&options, &session), STATUS_INVALID_PARAMETER);
    options.cgroup = "/proc/self/missing";
    assert_int_equal(ntprof_session_open(&options, &session), STATUS_NOT_FOUND);
    options.cgroup = "/proc/self/stat";
    assert_int_equal(ntprof_session_open(&options, &session), STATUS_NOT_FOUND);
    options.backend = "sim";
    options.cgroup = "/proc/self";
    assert_int_equal(ntprof_session_open(&options, &session), STATUS_INVALID_PARAMETER);
    assert_null(session);
}

/* What is behind the name is left alone. */
static void
back_ends__by_name_alone__the_same_in_order(void **state)
{
    ntprof_backend_info whole = {.size = sizeof(whole)};
    ntprof_backend_info name;
    uint32_t at = 0;

    (void)state;
    while (NT_SUCCESS(ntprof_backend_next(at, &whole))) {
        memset(&name, 0x55, sizeof(name));
        name.size = offsetof(ntprof_backend_info, usable);
        assert_int_equal(ntprof_backend_next(at++, &name), STATUS_SUCCESS);
        assert_string_equal(name.name, whole.name);
        assert_int_equal(name.usable, 0x55555555);
        assert_int_equal(name.reason[0], 0x55);
    }
    assert_in_range(at, 2, 16);
    assert_int_equal(ntprof_backend_next(at, &name), STATUS_NOT_FOUND);
    name.size = offsetof(ntprof_backend_info, usable) - 1;
    assert_int_equal(ntprof_backend_next(0, &name), STATUS_INVALID_PARAMETER);
    name.size = offsetof(ntprof_backend_info, error) - 1;
    assert_int_equal(ntprof_backend_next(0, &name), STATUS_INVALID_PARAMETER);
}

/* ProfileLoadInstructions is a source that the simulated machine lacks. */
static NTSTATUS
watch_what_is_not_there(ntprof_session *session)
{
    const KPROFILE_SOURCE source = ProfileLoadInstructions;
    const ntprof_watch_options options = {
        .size = sizeof(options), .source_count = 1, .sources = &source};

    return ntprof_session_watch(session, NtCurrentProcess(), &options);
}

static void
error__source_not_there__says_so(void **state)
{
    ntprof_session *session;

    (void)state;
    open_simulated(&session);
    assert_string_equal(ntprof_session_error(session), "");
    assert_int_equal(watch_what_is_not_there(session), STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), "source"));
    close_simulated(session);
}

/* The reason of one failure must not be told for another. */
static void
error__of_a_failure_before__not_told_again(void **state)
{
    ntprof_session *session;
    HANDLE handle = NULL;

    (void)state;
    open_simulated(&session);
    assert_int_equal(watch_what_is_not_there(session), STATUS_NOT_SUPPORTED);
    assert_string_not_equal(ntprof_session_error(session), "");
    assert_int_equal(NtCreateProfileEx(&handle, NtCurrentProcess(), counters, 64, 99,
                                       counters, COUNTER_BYTES, ProfileTime, 0, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_null(handle);
    assert_non_null(strstr(ntprof_session_error(session), "BucketSize"));
    assert_int_equal(NtCreateProfileEx(&handle, NtCurrentProcess(), counters, 64, 2,
                                       counters, 0, ProfileTime, 0, NULL),
                     STATUS_INVALID_PARAMETER_7);
    assert_null(handle);
    assert_string_equal(ntprof_session_error(session), "BufferSize is 0");
    close_simulated(session);
}

/* A call that works leaves the reason of the last that did not. */
static void
error__after_a_call_that_works__still_there(void **state)
{
    ntprof_session *session;
    ULONG interval = 0;

    (void)state;
    open_simulated(&session);
    assert_int_equal(watch_what_is_not_there(session), STATUS_NOT_SUPPORTED);
    assert_int_equal(NtQueryIntervalProfile(ProfileTime, &interval), STATUS_SUCCESS);
    assert_string_not_equal(ntprof_session_error(session), "");
    close_simulated(session);
}

/* Arguments are looked at before the session is: that failure has a reason of its own.
 */
static void
error__of_a_call_with_bad_arguments__not_that_before(void **state)
{
    const ntprof_watch_options small = {.size = 1};
    ntprof_session *session;

    (void)state;
    open_simulated(&session);
    assert_int_equal(watch_what_is_not_there(session), STATUS_NOT_SUPPORTED);
    assert_string_not_equal(ntprof_session_error(session), "");
    assert_int_equal(ntprof_session_watch(session, NtCurrentProcess(), &small),
                     STATUS_INVALID_PARAMETER);
    assert_non_null(strstr(ntprof_session_error(session), "size"));
    assert_int_equal(watch_what_is_not_there(session), STATUS_NOT_SUPPORTED);
    assert_int_equal(ntprof_source_lookup(session, NULL, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_non_null(strstr(ntprof_session_error(session), "NULL"));
    close_simulated(session);
}

/* 0: as it should be. */
static int
use_session_of_parent(ntprof_session *session)
{
    ULONG interval;
    const NTSTATUS queried = NtQueryIntervalProfile(ProfileTime, &interval);
    const bool told = strstr(ntprof_session_error(session), "forked") != NULL;
    const NTSTATUS flushed = ntprof_session_flush(session);

    return queried == STATUS_INVALID_HANDLE && told &&
                   flushed == STATUS_INVALID_PARAMETER &&
                   strstr(ntprof_session_error(session), "forked") != NULL
               ? 0
               : 1;
}

static void
error__session_of_the_parent__says_so(void **state)
{
    ntprof_session *session;
    pid_t child;
    int status = -1;

    (void)state;
    open_simulated(&session);
    child = fork();
    if (child == 0) {
        _exit(use_session_of_parent(session));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close_simulated(session);
}

/* A bare clone runs no handler of pthread_atfork. */
static void
error__session_of_the_parent_in_a_bare_clone__says_so(void **state)
{
    ntprof_session *session;
    long child;
    int status = -1;

    (void)state;
    open_simulated(&session);
    child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        _exit(use_session_of_parent(session));
    }
    assert_int_equal(waitpid((pid_t)child, &status, 0), child);
    assert_int_equal(status, 0);
    close_simulated(session);
}

/* 0: as it should be, or rights cannot be dropped, or the machine lets everyone
 * measure. */
static int
set_interval_without_privilege(void)
{
    const ntprof_session_options options = {.size = sizeof(options), .backend = "sim"};
    ntprof_session *session;
    NTSTATUS status;

    if (geteuid() == 0 && setuid(65534) != 0) {
        return 0;
    }
    if (!NT_SUCCESS(ntprof_session_open(&options, &session))) {
        return 2;
    }
    ntprof_session_use(session);
    status = NtSetIntervalProfile(20000, ProfileTime);
    if (NT_SUCCESS(status)) {
        return 0;
    }
    return status == STATUS_PRIVILEGE_NOT_HELD &&
                   strstr(ntprof_session_error(session), "perf_event_paranoid") != NULL
               ? 0
               : 3;
}

static void
error__privilege_not_held__says_what_to_do(void **state)
{
    const pid_t child = fork();
    int status = -1;

    (void)state;
    if (child == 0) {
        _exit(set_interval_without_privilege());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void *
open_default(void *argument)
{
    ULONG interval;

    (void)argument;
    (void)NtQueryIntervalProfile(ProfileTime, &interval);
    return NULL;
}

/* In a process that has not used the library yet: forks while a thread opens the
 * default session, and ends as its child does, which makes a call of its own. */
static void
fork_while_opening(int delay)
{
    pthread_t thread;
    int status = 0;
    pid_t child;

    if (pthread_create(&thread, NULL, open_default, NULL) != 0) {
        _exit(2);
    }
    for (volatile int i = 0; i < delay; i++) {
    }
    child = fork();
    if (child == 0) {
        alarm(GIVE_UP_SECONDS);
        (void)open_default(NULL);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        _exit(3);
    }
    pthread_join(thread, NULL);
    _exit(status == 0 ? 0 : 1);
}

static void
default_session__fork_while_another_thread_opens_it__child_opens_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < FORKS; i++) {
        const pid_t process = fork();
        int status = 0;

        if (process == 0) {
            fork_while_opening(i * 2000);
        }
        assert_int_not_equal(process, -1);
        assert_int_equal(waitpid(process, &status, 0), process);
        assert_int_equal(status, 0);
    }
}

/* ---- all processes ---- */

struct told {
    uint32_t starts;
    uint32_t idle;
    uint32_t losses;
};

static void
tell(void *context, const ntprof_notification *notification)
{
    struct told *const told = context;

    told->starts += notification->kind == NTPROF_PROCESS_START;
    told->idle += notification->kind == NTPROF_PROCESS_START && notification->pid == 0;
    told->losses += notification->kind == NTPROF_RECORDS_LOST;
}

static void
watch_all__simulated__all_processes_are_told(void **state)
{
    const ntprof_session_options polled = {
        .size = sizeof(polled), .backend = "sim", .flags = NTPROF_SESSION_POLLED};
    const KPROFILE_SOURCE source = ProfileTime;
    const ntprof_watch_options options = {
        .size = sizeof(options), .source_count = 1, .sources = &source};
    ntprof_session_info info = {.size = sizeof(info)};
    ntprof_source_info statistics = {.size = sizeof(statistics)};
    struct told told = {0};
    ntprof_session *session;

    (void)state;
    assert_int_equal(ntprof_session_open(&polled, &session), STATUS_SUCCESS);
    assert_int_equal(ntprof_session_set_notify(session, tell, &told), STATUS_SUCCESS);
    assert_int_equal(ntprof_session_watch(session, NULL, &options), STATUS_SUCCESS);
    assert_int_equal(ntprof_session_get_info(session, &info), STATUS_SUCCESS);
    assert_int_equal(told.idle, 1);
    assert_int_equal(told.starts, info.processes + 1);
    assert_true(info.processes > 1);
    assert_int_equal(info.unread, 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(ntprof_session_poll(session, NULL), STATUS_SUCCESS);
    }
    assert_int_equal(ntprof_source_get(session, ProfileTime, &statistics),
                     STATUS_SUCCESS);
    assert_true(statistics.taken > 0);
    assert_int_equal(statistics.taken, statistics.outside);
    assert_int_equal(told.losses, 0);
    ntprof_session_close(session);
}

static void
count_hit(void *context, const ntprof_hit *hit)
{
    (void)hit;
    ++*(int *)context;
}

static void
set_hits__simulated_back_end__is_refused_with_the_reason(void **state)
{
    const ntprof_session_options polled = {
        .size = sizeof(polled), .backend = "sim", .flags = NTPROF_SESSION_POLLED};
    ntprof_session *session;
    int hits = 0;

    (void)state;
    assert_int_equal(ntprof_session_set_hits(NULL, count_hit, &hits),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(ntprof_session_open(&polled, &session), STATUS_SUCCESS);
    assert_int_equal(ntprof_session_set_hits(session, count_hit, &hits),
                     STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), "perf"));
    ntprof_session_close(session);
    assert_int_equal(hits, 0);
}

/* ---- notifications that do not return ---- */

static jmp_buf outside;

/* They keep their memory, which stays known here. */
static ntprof_session *lost[2];

static void
jump(void *context, const ntprof_notification *notification)
{
    (void)context;
    (void)notification;
    longjmp(outside, 1);
}

static void
end_thread(void *context, const ntprof_notification *notification)
{
    (void)context;
    (void)notification;
    pthread_exit(NULL);
}

/* A session that watches a process, of which there are things to tell from now on. */
static ntprof_session *
open_with(ntprof_notify *notify)
{
    const ntprof_watch_options options = {.size = sizeof(options)};
    const ntprof_session_options polled = {
        .size = sizeof(polled), .backend = "sim", .flags = NTPROF_SESSION_POLLED};
    ntprof_session *session;

    assert_int_equal(ntprof_session_open(&polled, &session), STATUS_SUCCESS);
    ntprof_session_use(session);
    assert_int_equal(ntprof_session_watch(session, NtCurrentProcess(), &options),
                     STATUS_SUCCESS);
    ntprof_session_use(NULL);
    assert_int_equal(ntprof_session_set_notify(session, notify, NULL), STATUS_SUCCESS);
    return session;
}

enum { POLLS = 10000 };

static void *
poll_often(void *session)
{
    for (int i = 0; i < POLLS; i++) {
        assert_int_equal(ntprof_session_poll(session, NULL), STATUS_SUCCESS);
    }
    return NULL;
}

static void *
assert_lost(void *argument)
{
    ntprof_session *const session = argument;
    HANDLE process;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(ntprof_session_flush(session), STATUS_INVALID_PARAMETER);
        assert_non_null(strstr(ntprof_session_error(session), "longjmp"));
    }
    ntprof_session_use(session);
    assert_int_equal(NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, NULL),
                     STATUS_INVALID_HANDLE);
    assert_non_null(strstr(ntprof_session_error(session), "longjmp"));
    ntprof_session_use(NULL);
    return NULL;
}

static void
run_in_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void
notification__left_by_longjmp__later_calls_fail(void **state)
{
    (void)state;
    lost[0] = open_with(jump);
    if (setjmp(outside) == 0) {
        (void)poll_often(lost[0]);
        fail_msg("the notification returned");
    }
    (void)assert_lost(lost[0]);
    run_in_thread(assert_lost, lost[0]);
    ntprof_session_close(lost[0]);
}

static void
notification__left_by_thread_exit__later_calls_fail(void **state)
{
    (void)state;
    lost[1] = open_with(end_thread);
    run_in_thread(poll_often, lost[1]);
    (void)assert_lost(lost[1]);
    run_in_thread(assert_lost, lost[1]);
    ntprof_session_close(lost[1]);
}

struct cancelled {
    void (*call)(void);
    ntprof_session *session; /* to use; NULL: the default session */
    bool returned;
};

static void *
call_cancelled(void *argument)
{
    struct cancelled *const cancelled = argument;

    ntprof_session_use(cancelled->session);
    pthread_cancel(pthread_self());
    cancelled->call();
    cancelled->returned = true;
    pthread_testcancel();
    return NULL;
}

static void
open_parent_process(void)
{
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(LONG_PTR)getppid()};
    HANDLE process;

    (void)NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, &client);
}

static void
open_and_close(void)
{
    ntprof_session *session;

    open_simulated(&session);
    close_simulated(session);
}

static void
query_interval(void)
{
    ULONG interval;

    (void)NtQueryIntervalProfile(ProfileTime, &interval);
}

static void
probe_back_ends(void)
{
    ntprof_backend_info info = {.size = sizeof(info)};

    for (uint32_t i = 0; NT_SUCCESS(ntprof_backend_next(i, &info)); i++) {
    }
}

/* The calls read files: without care, they end in the middle, with locks held. */
static void
calls__thread_is_cancelled__they_return_before(void **state)
{
    static void (*const calls[])(void) = {open_parent_process, open_and_close,
                                          query_interval, probe_back_ends};
    ntprof_session *session;
    ULONG interval;

    (void)state;
    open_simulated(&session);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct cancelled cancelled = {
            .call = calls[i],
            .session = calls[i] == open_parent_process ? session : NULL};
        pthread_t thread;
        void *result;

        assert_int_equal(pthread_create(&thread, NULL, call_cancelled, &cancelled), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, PTHREAD_CANCELED);
        assert_true(cancelled.returned);
    }
    assert_int_equal(NtQueryIntervalProfile(ProfileTime, &interval), STATUS_SUCCESS);
    close_simulated(session);
}

static void
watch_all__bad_options__refused_and_nobody_told(void **state)
{
    static const ntprof_watch_options bad[] = {
        {.size = sizeof(bad[0]), .flags = NTPROF_WATCH_DESCENDANTS},
        {.size = sizeof(bad[0]), .flags = NTPROF_WATCH_ON_EXEC},
        {.size = sizeof(bad[0]), .flags = 0x80},
        {.size = sizeof(bad[0]) - 1},
        {.size = sizeof(bad[0]), .source_count = 1},
        {.size = sizeof(bad[0]), .affinity_count = 1},
    };
    static const GROUP_AFFINITY nowhere = {.Mask = 0};
    const KPROFILE_SOURCE missing = ProfileLoadInstructions;
    const ntprof_watch_options off = {
        .size = sizeof(off), .affinity = &nowhere, .affinity_count = 1};
    const ntprof_watch_options lacking = {
        .size = sizeof(lacking), .source_count = 1, .sources = &missing};
    struct told told = {0};
    ntprof_session *session;

    (void)state;
    open_simulated(&session);
    ntprof_session_set_notify(session, tell, &told);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(ntprof_session_watch(session, NULL, &bad[i]),
                         STATUS_INVALID_PARAMETER);
    }
    assert_int_equal(ntprof_session_freeze(session), STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), "sim"));
    assert_int_equal(ntprof_session_freeze(NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(ntprof_session_watch(session, NULL, &off),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(ntprof_session_watch(session, NULL, &lacking),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(ntprof_session_watch(NULL, NULL, NULL), STATUS_INVALID_PARAMETER);
    ntprof_session_set_notify(session, NULL, NULL);
    assert_int_equal(told.starts, 0);
    close_simulated(session);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            default_session__fork_while_another_thread_opens_it__child_opens_its_own),
        cmocka_unit_test(back_ends__by_name_alone__the_same_in_order),
        cmocka_unit_test(error__source_not_there__says_so),
        cmocka_unit_test(error__of_a_failure_before__not_told_again),
        cmocka_unit_test(error__after_a_call_that_works__still_there),
        cmocka_unit_test(open__list_of_back_ends__first_usable_and_all_names_checked),
        cmocka_unit_test(error__of_another_session__not_told),
        cmocka_unit_test(open__cgroup_that_is_none__refused),
        cmocka_unit_test(error__of_a_call_with_bad_arguments__not_that_before),
        cmocka_unit_test(error__session_of_the_parent__says_so),
        cmocka_unit_test(error__session_of_the_parent_in_a_bare_clone__says_so),
        cmocka_unit_test(error__privilege_not_held__says_what_to_do),
        cmocka_unit_test(watch_all__simulated__all_processes_are_told),
        cmocka_unit_test(set_hits__simulated_back_end__is_refused_with_the_reason),
        cmocka_unit_test(notification__left_by_longjmp__later_calls_fail),
        cmocka_unit_test(notification__left_by_thread_exit__later_calls_fail),
        cmocka_unit_test(calls__thread_is_cancelled__they_return_before),
        cmocka_unit_test(watch_all__bad_options__refused_and_nobody_told),
    };

    counters = guarded_counters(COUNTER_BYTES / sizeof(ULONG));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
