/* SPDX-License-Identifier: MIT */
/* Causes of refusals: by errno, under seccomp filters, without capabilities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hal/linux/procfs.h"
#include "hal/linux/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what errno says ---- */

static const struct {
    int error;
    enum perf_scope scope;
    uint32_t cause;
    const char *reason;
} rows[] = {
    {ENOENT, PERF_SCOPE_SELF, NTPROF_CAUSE_MACHINE, "no PMU"},
    {ENODEV, PERF_SCOPE_SELF, NTPROF_CAUSE_MACHINE, "no PMU"},
    {EOPNOTSUPP, PERF_SCOPE_ALL, NTPROF_CAUSE_MACHINE, "no PMU"},
    {EMFILE, PERF_SCOPE_ALL, NTPROF_CAUSE_DESCRIPTORS, "RLIMIT_NOFILE is "},
    {ENFILE, PERF_SCOPE_ALL, NTPROF_CAUSE_DESCRIPTORS, "system"},
    {EBUSY, PERF_SCOPE_ALL, NTPROF_CAUSE_BUSY, "another program"},
    {ENOSPC, PERF_SCOPE_SELF, NTPROF_CAUSE_BUSY, "breakpoint registers"},
    {EAGAIN, PERF_SCOPE_PROCESS, NTPROF_CAUSE_BUSY, "threads"},
    {EAGAIN, PERF_SCOPE_SELF, NTPROF_CAUSE_MEMORY, "too many processes or threads"},
    {ENOMEM, PERF_SCOPE_SELF, NTPROF_CAUSE_MEMORY, "memory"},
    {ESRCH, PERF_SCOPE_PROCESS, NTPROF_CAUSE_OTHER, "gone"},
    {EBADF, PERF_SCOPE_ALL, NTPROF_CAUSE_OTHER, "cgroup: it has been removed, or its"},
    {EIO, PERF_SCOPE_SELF, NTPROF_CAUSE_OTHER, "Input/output error"},
    {EPERM, PERF_SCOPE_RING, NTPROF_CAUSE_LOCKED_MEMORY, "RLIMIT_MEMLOCK ("},
};

static void
explain__each_errno__its_cause_and_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct perf_refusal refusal;
        HAL_PROBE probe = {0};

        perf_refusal_explain(-rows[i].error, rows[i].scope, &refusal);
        perf_refusal_probed(&refusal, &probe);
        assert_int_equal(probe.Error, rows[i].error);
        assert_int_equal(probe.Cause, rows[i].cause);
        if (strstr(probe.Reason, rows[i].reason) == NULL) {
            fail_msg("%s: '%s'", strerror(rows[i].error), probe.Reason);
        }
        assert_string_equal(probe.Remedy, refusal.remedy);
    }
}

/* ---- in a child that has lost something ---- */

struct loss {
    int filter_error; /* perf_event_open fails with it; 0: no filter */
    bool capabilities;
    bool namespace;
    int error; /* what is explained */
    enum perf_scope scope;
};

static bool
set_filter(int error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool
drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

    return syscall(SYS_capset, &header, none) == 0;
}

/* Exit status of the child: the cause; 255: it could not lose it. */
static int
explain_after(const struct loss *loss)
{
    struct perf_refusal refusal;

    if ((loss->capabilities && !drop_capabilities()) ||
        (loss->namespace && unshare(CLONE_NEWUSER) != 0) ||
        (loss->filter_error != 0 && !set_filter(loss->filter_error))) {
        return 255;
    }
    perf_refusal_explain(-loss->error, loss->scope, &refusal);
    return (int)refusal.cause;
}

static int
cause_after(const struct loss *loss)
{
    const pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        _exit(explain_after(loss));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 255) {
        print_message("a child may not give its rights up here\n");
        skip();
    }
    return WEXITSTATUS(status);
}

/* Engines answer with either; the kernel itself with EACCES only. */
static void
denied__filtered__seccomp_whatever_the_errno(void **state)
{
    static const int errors[] = {EPERM, EACCES, ENOSYS};

    (void)state;
    if (perf_procfs_setting("kernel/perf_event_paranoid", -100) == -100) {
        print_message("no perf events here\n");
        skip();
    }
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        const struct loss loss = {.filter_error = errors[i], .error = errors[i]};

        assert_int_equal(cause_after(&loss), NTPROF_CAUSE_SECCOMP);
    }
}

/* Whole processors take a capability, at every value but -1 and 0. */
static void
denied__without_capability__paranoid(void **state)
{
    const struct loss loss = {
        .capabilities = true, .error = EACCES, .scope = PERF_SCOPE_ALL};

    (void)state;
    if (perf_procfs_setting("kernel/perf_event_paranoid", -1) <= 0) {
        print_message("kernel.perf_event_paranoid refuses nothing here\n");
        skip();
    }
    assert_int_equal(cause_after(&loss), NTPROF_CAUSE_PARANOID);
}

/* As kernels of distributions: they refuse all calls that are valid. */
static bool
set_filter_of_level(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 6, .filter = filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Have this process see kernel.perf_event_paranoid 3. */
static bool
set_level(void)
{
    char path[] = "/tmp/ntprof-level-XXXXXX";
    const int file = mkstemp(path);
    const bool set =
        file >= 0 && write(file, "3\n", 2) == 2 && unshare(CLONE_NEWNS) == 0 &&
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount(path, "/proc/sys/kernel/perf_event_paranoid", NULL, MS_BIND, NULL) == 0;

    if (file >= 0) {
        close(file);
        unlink(path);
    }
    return set;
}

/* Exit status: 255: this process may not do what it takes; 1: other words. */
static int
explain_at_level(bool with_perfmon)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {0};
    struct perf_refusal refusal;

    held[CAP_PERFMON / 32].effective = held[CAP_PERFMON / 32].permitted =
        with_perfmon ? UINT32_C(1) << CAP_PERFMON % 32 : 0;
    if (!set_level() || syscall(SYS_capset, &header, held) != 0 ||
        !set_filter_of_level()) {
        return 255;
    }
    perf_refusal_explain(-EACCES, PERF_SCOPE_SELF, &refusal);
    return refusal.cause != NTPROF_CAUSE_PARANOID ||
           strstr(refusal.remedy, "paranoid to 2, or grant CAP_SYS_ADMIN") == NULL;
}

static void
denied__above_2_on_a_kernel_of_a_distribution__asks_for_admin(void **state)
{
    (void)state;
    for (int with_perfmon = 0; with_perfmon <= 1; with_perfmon++) {
        const pid_t child = fork();
        int status;

        assert_true(child >= 0);
        if (child == 0) {
            _exit(explain_at_level(with_perfmon));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 255) {
            print_message("only root can bind another level\n");
            skip();
        }
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void
denied__capability_of_a_user_namespace__namespace(void **state)
{
    const struct loss loss = {
        .namespace = true, .error = EACCES, .scope = PERF_SCOPE_ALL};

    (void)state;
    if (perf_procfs_setting("kernel/perf_event_paranoid", -1) <= 0) {
        print_message("kernel.perf_event_paranoid refuses nothing here\n");
        skip();
    }
    assert_int_equal(cause_after(&loss), NTPROF_CAUSE_NAMESPACE);
}

static void
denied__nothing_missing__other(void **state)
{
    struct perf_refusal refusal;

    (void)state;
    if (!perf_refusal_can_monitor()) {
        print_message("needs CAP_PERFMON\n");
        skip();
    }
    perf_refusal_explain(-EACCES, PERF_SCOPE_ALL, &refusal);
    assert_int_equal(refusal.cause, NTPROF_CAUSE_OTHER);
    assert_non_null(strstr(refusal.remedy, "security module"));
    perf_refusal_explain(-EACCES, PERF_SCOPE_PROCESS, &refusal);
    assert_int_equal(refusal.cause, NTPROF_CAUSE_OWNER);
}

static void
rights__after_dropping__not_held(void **state)
{
    const pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        _exit(!drop_capabilities() || perf_refusal_holds(CAP_PERFMON) ||
              perf_refusal_holds(CAP_SYSLOG) || perf_refusal_can_monitor() ||
              perf_refusal_is_filtered() || !set_filter(EPERM) ||
              !perf_refusal_is_filtered());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* In a new user namespace once the parent has mapped its users. */
static int
check_mapped(int mapped)
{
    char byte;

    return read(mapped, &byte, 1) != 1 || perf_refusal_is_first_namespace();
}

/* Map all users to themselves, as in the first user namespace. */
static bool
map_users(pid_t pid)
{
    static const char map[] = "0 0 4294967295";
    char path[40];
    ssize_t written;
    int file;

    snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
    file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    written = write(file, map, strlen(map));
    close(file);
    return written == (ssize_t)strlen(map);
}

static void
first_namespace__child_namespace_with_all_users__no(void **state)
{
    int made[2];
    int mapped[2];
    char byte = 0;
    pid_t child;
    int status;
    bool is_mapped;

    (void)state;
    assert_int_equal(pipe(made), 0);
    assert_int_equal(pipe(mapped), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        byte = unshare(CLONE_NEWUSER) == 0;
        (void)!write(made[1], &byte, 1);
        _exit(check_mapped(mapped[0]));
    }
    assert_int_equal(read(made[0], &byte, 1), 1);
    is_mapped = byte != 0 && map_users(child);
    assert_int_equal(write(mapped[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    for (int i = 0; i < 2; i++) {
        close(made[i]);
        close(mapped[i]);
    }
    if (!is_mapped) {
        print_message("may not make a user namespace with all users\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explain__each_errno__its_cause_and_words),
        cmocka_unit_test(denied__filtered__seccomp_whatever_the_errno),
        cmocka_unit_test(denied__without_capability__paranoid),
        cmocka_unit_test(denied__above_2_on_a_kernel_of_a_distribution__asks_for_admin),
        cmocka_unit_test(denied__capability_of_a_user_namespace__namespace),
        cmocka_unit_test(denied__nothing_missing__other),
        cmocka_unit_test(rights__after_dropping__not_held),
        cmocka_unit_test(first_namespace__child_namespace_with_all_users__no),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
