/* SPDX-License-Identifier: MIT */
/* Processes that are there, have ended, belong to others, or are another's thread. */
#include "fixture.h"

#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

static NTSTATUS
open_process(ULONG64 pid, HOST_PROCESS *process)
{
    return host.Table->OpenProcess(host.Context, pid, process);
}

static BOOLEAN
is_gone(const HOST_PROCESS *process)
{
    return host.Table->IsProcessGone(host.Context, process);
}

static NTSTATUS
check_access(const HOST_PROCESS *process)
{
    return host.Table->CheckProcessAccess(host.Context, process);
}

/* A child that runs body, and then waits to be killed. */
static pid_t
child_start(void (*body)(int), int argument)
{
    int ready[2];
    char byte;
    pid_t child;

    fflush(NULL);
    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (body != NULL) {
            body(argument);
        }
        (void)!write(ready[1], "r", 1);
        for (;;) {
            pause();
        }
    }
    assert_true(child > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void
child_reap(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
}

static void
stat_parse__line_forms__fields(void **state)
{
    char state_letter = 0;
    uint64_t threads = 0;
    uint64_t start_time = 0;

    (void)state;
    assert_true(host_stat_parse("12 (a) R (b) ) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 "
                                "20 0 3 0 123456789012 9 9\n",
                                &state_letter, &threads, &start_time));
    assert_int_equal(state_letter, 'S');
    assert_int_equal(threads, 3);
    assert_int_equal(start_time, 123456789012);
    assert_true(host_stat_parse("12 (a) t 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "
                                "123456789012\n",
                                &state_letter, &threads, &start_time));
    assert_int_equal(state_letter, 't'); /* stopped by a debugger */
    assert_false(host_stat_parse("", &state_letter, &threads, &start_time));
    assert_false(host_stat_parse("12 (a", &state_letter, &threads, &start_time));
    assert_false(host_stat_parse("12 (a)", &state_letter, &threads, &start_time));
    assert_false(host_stat_parse("12 (a) ", &state_letter, &threads, &start_time));
    assert_false(host_stat_parse("12 (a) S", &state_letter, &threads, &start_time));
    assert_false(
        host_stat_parse("12 (a) S 1 2 3", &state_letter, &threads, &start_time));
    assert_false(
        host_stat_parse("12 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x",
                        &state_letter, &threads, &start_time));
    assert_int_equal(start_time, 123456789012);
}

static void
open__self__never_gone(void **state)
{
    HOST_PROCESS process;

    (void)state;
    assert_int_equal(host.Table->CurrentProcessId(host.Context), getpid());
    assert_int_equal(open_process((ULONG64)getpid(), &process), STATUS_SUCCESS);
    assert_int_equal(process.ProcessId, getpid());
    assert_false(is_gone(&process));
    assert_int_equal(check_access(&process), STATUS_SUCCESS);
    host.Table->CloseProcess(host.Context, &process);
}

static void
open__no_such_process__invalid_cid(void **state)
{
    static const ULONG64 none[] = {0,          0x7FFFFFFF,         0x80000000,
                                   0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x100000001};
    HOST_PROCESS process = {.ProcessId = 7, .Reference = 8};

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_int_equal(open_process(none[i], &process), STATUS_INVALID_CID);
    }
    assert_int_equal(process.ProcessId, 7);
    assert_int_equal(process.Reference, 8);
}

static void
is_gone__child_killed__zombie_and_reaped_are_gone(void **state)
{
    const pid_t child = child_start(NULL, 0);
    siginfo_t information;
    HOST_PROCESS process;
    HOST_PROCESS second;

    (void)state;
    assert_int_equal(open_process((ULONG64)child, &process), STATUS_SUCCESS);
    assert_int_equal(process.ProcessId, child);
    assert_false(is_gone(&process));
    assert_int_equal(check_access(&process), STATUS_SUCCESS);

    kill(child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)child, &information, WEXITED | WNOWAIT), 0);
    assert_true(is_gone(&process));
    assert_int_equal(open_process((ULONG64)child, &second), STATUS_INVALID_CID);
    assert_int_equal(check_access(&process), STATUS_INVALID_CID);
    child_reap(child);
    assert_true(is_gone(&process));
    assert_int_equal(open_process((ULONG64)child, &second), STATUS_INVALID_CID);
    assert_int_equal(check_access(&process), STATUS_INVALID_CID);
    host.Table->CloseProcess(host.Context, &process);
}

/* The same pid with another start time is another process. */
static void
is_gone__pid_used_again__gone(void **state)
{
    const pid_t child = child_start(NULL, 0);
    HOST_PROCESS process;

    (void)state;
    assert_int_equal(open_process((ULONG64)child, &process), STATUS_SUCCESS);
    assert_int_not_equal(process.Reference, 0);
    process.Reference--;
    assert_true(is_gone(&process));
    assert_int_equal(check_access(&process), STATUS_INVALID_CID);
    process.Reference++;
    assert_false(is_gone(&process));
    kill(child, SIGKILL);
    child_reap(child);
}

/* In a namespace whose boot was when the child started: it did so at tick 0, or in the
 * one before, which the kernel shows as a huge number. Exits with 0 if that is right.
 */
static void
check_in_time_namespace(pid_t child, int64_t offset_ticks)
{
    const int64_t offset_ns =
        offset_ticks * (INT64_C(1000000000) / sysconf(_SC_CLK_TCK));
    const int64_t part_ns = (offset_ns % 1000000000 + 1000000000) % 1000000000;
    char text[64];
    HOST_PROCESS process;
    int file;
    int length;
    int status;
    pid_t inside;

    length = snprintf(text, sizeof(text), "boottime %" PRId64 " %" PRId64 "\n",
                      (offset_ns - part_ns) / 1000000000, part_ns);
    if (unshare(CLONE_NEWTIME) != 0) {
        _exit(77);
    }
    file = open("/proc/self/timens_offsets", O_WRONLY);
    if (file < 0) {
        _exit(77);
    }
    /* No clock may get below 0: one that boots a tick after the start has to wait. */
    while (write(file, text, (size_t)length) != length) {
        if (errno != ERANGE) {
            _exit(77);
        }
        usleep(1000);
    }
    inside = fork();
    if (inside == 0) {
        if (open_process((ULONG64)child, &process) != STATUS_SUCCESS) {
            _exit(1);
        }
        if (process.Reference == 0 || is_gone(&process)) {
            _exit(2);
        }
        process.Reference++;
        _exit(is_gone(&process) ? 0 : 3);
    }
    waitpid(inside, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
}

static void
is_gone__boot_of_the_time_namespace_was_when_it_started__pid_used_again_is_seen(
    void **state)
{
    const pid_t child = child_start(NULL, 0);
    char path[64];
    char text[4096];
    char letter;
    uint64_t threads;
    uint64_t start_time;

    (void)state;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)child);
    assert_true(host_file_read(path, text, sizeof(text)) > 0);
    assert_true(host_stat_parse(text, &letter, &threads, &start_time));
    /* 0 is when it started; -1 and 1 make that tick -1 and 1. */
    for (int64_t more = -1; more <= 1; more++) {
        int status;
        pid_t tester;

        fflush(NULL);
        tester = fork();
        if (tester == 0) {
            check_in_time_namespace(child, more - (int64_t)start_time);
        }
        assert_int_equal(waitpid(tester, &status, 0), tester);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77) {
            kill(child, SIGKILL);
            child_reap(child);
            print_message("no time namespace can be made here\n");
            skip();
        }
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    kill(child, SIGKILL);
    child_reap(child);
}

static void *
pause_forever(void *argument)
{
    (void)argument;
    for (;;) {
        pause();
    }
    return NULL;
}

static void *
leave_main_and_pause(void *argument)
{
    const int *ready = argument;
    char path[64];
    char text[4096];
    char state;
    uint64_t threads;
    uint64_t start_time;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)getpid());
    do {
        usleep(1000);
    } while (host_file_read(path, text, sizeof(text)) < 0 ||
             !host_stat_parse(text, &state, &threads, &start_time) || state != 'Z');
    (void)!write(*ready, "r", 1);
    return pause_forever(NULL);
}

/* Its first thread has ended, which makes it look like a zombie; the second goes on. */
static void
is_gone__first_thread_ended__not_gone(void **state)
{
    int ready[2];
    char byte;
    HOST_PROCESS process;
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        pthread_t thread;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_create(&thread, NULL, leave_main_and_pause, &ready[1]);
        /* Not pthread_exit: the rest of the process is the parent's copy. */
        syscall(SYS_exit, 0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(open_process((ULONG64)child, &process), STATUS_SUCCESS);
    assert_false(is_gone(&process));
    kill(child, SIGKILL);
    child_reap(child);
    assert_true(is_gone(&process));
    close(ready[0]);
    close(ready[1]);
}

static void *
tell_thread_id(void *argument)
{
    const int *ends = argument;
    const pid_t tid = (pid_t)syscall(SYS_gettid);
    char byte;

    (void)!write(ends[1], &tid, sizeof(tid));
    (void)!read(ends[2], &byte, 1);
    return NULL;
}

/* Open the id of another thread of this process. */
static void
assert_thread_is_no_process(void)
{
    int ends[4];
    pthread_t thread;
    pid_t tid;
    HOST_PROCESS process;

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(ends + 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, tell_thread_id, ends), 0);
    assert_int_equal(read(ends[0], &tid, sizeof(tid)), sizeof(tid));
    assert_int_equal(open_process((ULONG64)tid, &process), STATUS_INVALID_CID);
    assert_int_equal(write(ends[3], "x", 1), 1);
    pthread_join(thread, NULL);
    for (int i = 0; i < 4; i++) {
        close(ends[i]);
    }
}

static void
open__id_of_a_thread__invalid_cid(void **state)
{
    (void)state;
    assert_thread_is_no_process();
}

/* Its /proc/PID/status is longer than what is read of it. */
static void
open__id_of_a_thread_in_many_groups__invalid_cid(void **state)
{
    enum { MANY = 1000 };
    static gid_t before[65536];
    static gid_t many[MANY];
    const int count = getgroups(65536, before);

    (void)state;
    for (gid_t i = 0; i < MANY; i++) {
        many[i] = 100000 + i;
    }
    assert_true(count >= 0);
    if (setgroups(MANY, many) != 0) {
        print_message("only root may have many groups\n");
        skip();
    }
    assert_thread_is_no_process();
    assert_int_equal(setgroups((size_t)count, before), 0);
}

static void
open__thousands__no_descriptor(void **state)
{
    const pid_t child = child_start(NULL, 0);
    struct rlimit old;
    struct rlimit few;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = 32;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int i = 0; i < 3000; i++) {
        HOST_PROCESS process;

        assert_int_equal(open_process((ULONG64)child, &process), STATUS_SUCCESS);
        assert_false(is_gone(&process));
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    kill(child, SIGKILL);
    child_reap(child);
}

static void
open__no_descriptor_left__resources_not_absence(void **state)
{
    const pid_t child = child_start(NULL, 0);
    struct rlimit old;
    struct rlimit none;
    HOST_PROCESS process;

    (void)state;
    assert_int_equal(open_process((ULONG64)child, &process), STATUS_SUCCESS);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_false(is_gone(&process));
    assert_int_equal(check_access(&process), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(open_process((ULONG64)child, &process),
                     STATUS_INSUFFICIENT_RESOURCES);
    kill(child, SIGKILL);
    child_reap(child);
    assert_true(is_gone(&process));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

static void
body_not_dumpable(int argument)
{
    (void)argument;
    prctl(PR_SET_DUMPABLE, 0);
}

/* As an ordinary user: our own child is allowed, others' processes are not. */
static int
check_as_ordinary_user(void *argument)
{
    const pid_t *root_child = argument;
    HOST_PROCESS process;
    pid_t own;
    int failed = 0;

    if (drop_rights()) {
        return 1;
    }
    own = child_start(NULL, 0);
    if (open_process((ULONG64)own, &process) != STATUS_SUCCESS ||
        check_access(&process) != STATUS_SUCCESS) {
        failed = 2;
    }
    kill(own, SIGKILL);
    waitpid(own, NULL, 0);
    own = child_start(body_not_dumpable, 0);
    if (open_process((ULONG64)own, &process) != STATUS_SUCCESS ||
        check_access(&process) != STATUS_ACCESS_DENIED) {
        failed = 3;
    }
    kill(own, SIGKILL);
    waitpid(own, NULL, 0);
    if (*root_child != 0 &&
        (open_process((ULONG64)*root_child, &process) != STATUS_SUCCESS ||
         check_access(&process) != STATUS_ACCESS_DENIED || is_gone(&process))) {
        failed = 4;
    }
    return failed;
}

static void
check_access__ordinary_user__as_the_kernel_says(void **state)
{
    pid_t child = geteuid() == 0 ? child_start(NULL, 0) : 0;

    (void)state;
    assert_child_returns_0(check_as_ordinary_user, &child);
    if (child != 0) {
        kill(child, SIGKILL);
        child_reap(child);
    }
}

/* /proc refused altogether: the kernel's other answers. */
static int
check_without_proc(void *argument)
{
    const pid_t *child = argument;
    HOST_PROCESS process;
    NTSTATUS status;

    if (refuse_call(SYS_openat, ENOENT)) {
        return 1;
    }
    if (open_process((ULONG64)*child, &process) != STATUS_SUCCESS ||
        process.Reference != 0 || is_gone(&process)) {
        return 2;
    }
    status = check_access(&process);
    if (status != STATUS_SUCCESS && status != STATUS_ACCESS_DENIED) {
        return 3;
    }
    if (host_event_open(*child, -1, false) == 0 && status != STATUS_SUCCESS) {
        return 4;
    }
    return open_process(0x7FFFFFFF, &process) == STATUS_INVALID_CID ? 0 : 5;
}

static void
open_and_check__without_proc__still_told_apart(void **state)
{
    pid_t child = child_start(NULL, 0);

    (void)state;
    assert_child_returns_0(check_without_proc, &child);
    kill(child, SIGKILL);
    child_reap(child);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_parse__line_forms__fields),
        host_test(open__self__never_gone),
        host_test(open__no_such_process__invalid_cid),
        host_test(is_gone__child_killed__zombie_and_reaped_are_gone),
        host_test(is_gone__pid_used_again__gone),
        host_test(
            is_gone__boot_of_the_time_namespace_was_when_it_started__pid_used_again_is_seen),
        host_test(is_gone__first_thread_ended__not_gone),
        host_test(open__id_of_a_thread__invalid_cid),
        host_test(open__id_of_a_thread_in_many_groups__invalid_cid),
        host_test(open__thousands__no_descriptor),
        host_test(open__no_descriptor_left__resources_not_absence),
        host_test(check_access__ordinary_user__as_the_kernel_says),
        host_test(open_and_check__without_proc__still_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
