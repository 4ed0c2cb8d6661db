/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - making maps and programs where the kernel refuses some of it: a reason
 * with a name, and nothing left. Other kernels are simulated by a bpf() that lacks what
 * they lack.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hal/bpf/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSORS = 4, NOBODY = 65534 };

static size_t
open_descriptors(void)
{
    DIR *const folder = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

/* ---- a bpf() that refuses ---- */

static struct {
    int calls;
    int refused; /* which call; 0: none */
    int error;
    uint32_t unknown_flags; /* of maps */
    int unknown_command;    /* with unknown_command_error */
    bool spoil_programs;    /* the verifier gets an instruction that there is not */
} plan;

static long
planned_call(int command, union bpf_attr *attr, size_t bytes)
{
    plan.calls++;
    if (plan.calls == plan.refused || command == plan.unknown_command) {
        return plan.error;
    }
    if (command == BPF_MAP_CREATE && (attr->map_flags & plan.unknown_flags) != 0) {
        return -EINVAL;
    }
    if (command == BPF_PROG_LOAD && plan.spoil_programs) {
        *(uint64_t *)(uintptr_t)attr->insns = UINT64_C(0xFF);
    }
    return bpf_call_kernel(command, attr, bytes);
}

static int
make_as_planned(struct perf_refusal *refusal)
{
    struct bpf_kernel kernel;
    const int result =
        bpf_kernel_make(&kernel, planned_call, PROCESSORS, BPF_FOR_EVENTS, refusal);

    if (result == 0) {
        bpf_kernel_finish(&kernel);
    }
    return result;
}

static void
skip_unless_allowed(void)
{
    struct perf_refusal refusal;
    int result;

    memset(&plan, 0, sizeof(plan));
    plan.unknown_command = -1;
    result = make_as_planned(&refusal);
    if (result == -EPERM || result == -ENOSYS || result == -EOPNOTSUPP) {
        print_message("no BPF programs here: %s\n", refusal.reason);
        skip();
    }
    if (result < 0) {
        fail_msg("%s; %s", refusal.reason, refusal.log);
    }
    plan.calls = 0;
}

static void
assert_says(const char *text, const char *word)
{
    if (strstr(text, word) == NULL) {
        fail_msg("'%s' does not say '%s'", text, word);
    }
}

/* ---- tests ---- */

static void
make__any_call_refused__nothing_left(void **state)
{
    static const int errors[] = {-EPERM, -ENOMEM, -EINVAL, -ENOSYS, -EMFILE};
    struct perf_refusal refusal;
    int most;

    (void)state;
    skip_unless_allowed();
    assert_int_equal(make_as_planned(&refusal), 0);
    most = plan.calls;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        for (int call = 1; call <= most; call++) {
            const size_t before = open_descriptors();

            plan.calls = 0;
            plan.refused = call;
            plan.error = errors[i];
            assert_int_equal(make_as_planned(&refusal), errors[i]);
            assert_int_equal(open_descriptors(), before);
            assert_true(refusal.reason[0] != 0);
            assert_true(refusal.remedy[0] != 0);
        }
    }
}

static void
make__without_bpf__says_seccomp(void **state)
{
    struct perf_refusal refusal;

    (void)state;
    skip_unless_allowed();
    plan.unknown_command = BPF_MAP_CREATE;
    plan.error = -ENOSYS;
    assert_int_equal(make_as_planned(&refusal), -ENOSYS);
    assert_says(refusal.reason, "seccomp");
    assert_says(refusal.remedy, "allow bpf");
}

static void
make__maps_of_older_kernels__says_so(void **state)
{
    struct perf_refusal refusal;

    (void)state;
    skip_unless_allowed();
    plan.unknown_flags = BPF_F_MMAPABLE;
    assert_int_equal(make_as_planned(&refusal), -EINVAL);
    assert_says(refusal.reason, "older than 5.15");
    plan.unknown_flags = BPF_F_INNER_MAP;
    assert_int_equal(make_as_planned(&refusal), -EINVAL);
    assert_says(refusal.reason, "older than 5.15");
    assert_says(refusal.remedy, "5.15");
}

static void
make__refused_by_the_verifier__keeps_what_it_said(void **state)
{
    struct perf_refusal refusal;

    (void)state;
    skip_unless_allowed();
    plan.spoil_programs = true;
    assert_int_equal(make_as_planned(&refusal), -EINVAL);
    assert_says(refusal.reason, "verifier");
    assert_true(refusal.log[0] != 0);
    assert_says(refusal.reason, refusal.log);
    assert_null(strchr(refusal.log, '\n'));
}

static void
attach__without_cookies__says_so(void **state)
{
    struct perf_refusal refusal = {0};

    (void)state;
    bpf_refusal_explain(-EINVAL, BPF_STAGE_ATTACH, &refusal);
    assert_says(refusal.reason, "older than 5.15");
}

static void
age__releases__before_5_11_too_old(void **state)
{
    static const struct {
        const char *release;
        bool by_age;
    } rows[] = {
        {"5.10.0-30-amd64", true},   {"5.10.209", true}, {"5.9", true},
        {"4.18.0-553.el8_10", true}, {"2.6.78", true},   {"3", true},
        {"5.11.0", false},           {"5.14.0", false},  {"5.15.0-91-generic", false},
        {"6.1.0-18-arm64", false},   {"10.0", false},    {"", false},
        {"unknown", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(bpf_refusal_is_by_age(rows[i].release), rows[i].by_age);
    }
}

/* Settings and rights may allow everything. */
static int
refused_by_age(void)
{
    struct perf_refusal refusal = {0};

    if (personality(UNAME26) < 0) {
        return 2;
    }
    bpf_refusal_explain(-EPERM, BPF_STAGE_MAP, &refusal);
    return refusal.cause == NTPROF_CAUSE_KERNEL &&
                   strstr(refusal.reason, "older than 5.15") != NULL &&
                   strstr(refusal.remedy, "5.15 or later") != NULL
               ? 0
               : 1;
}

static void
map__denied_by_an_old_kernel__says_its_age(void **state)
{
    pid_t pid;
    int status = -1;

    (void)state;
    pid = fork(); /* the kernel has the name of a 2.6 for the child alone */
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(refused_by_age());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Runs a test's body as an ordinary user; its exit status. */
static int
as_nobody(int (*body)(void))
{
    const pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (pid == 0) {
        if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
            setresuid(NOBODY, NOBODY, NOBODY) < 0) {
            _exit(2);
        }
        _exit(body());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
refused_for_capability(void)
{
    struct perf_refusal refusal;
    struct bpf_kernel kernel;
    const int result =
        bpf_kernel_make(&kernel, bpf_call_kernel, PROCESSORS, BPF_FOR_EVENTS, &refusal);

    return result == -EPERM && strstr(refusal.reason, "CAP_BPF") != NULL &&
                   strstr(refusal.reason, "unprivileged_bpf_disabled") != NULL &&
                   strstr(refusal.remedy, "CAP_PERFMON") != NULL
               ? 0
               : 1;
}

static void
make__ordinary_user__says_which_capability(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("only root can become an ordinary user\n");
        skip();
    }
    skip_unless_allowed();
    assert_int_equal(as_nobody(refused_for_capability), 0);
}

static void
make__no_descriptors__says_the_limit(void **state)
{
    const struct rlimit few = {8, 8};
    struct perf_refusal refusal = {0};
    struct rlimit before;
    int result;

    (void)state;
    skip_unless_allowed();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){few.rlim_cur, before.rlim_max}), 0);
    result = make_as_planned(&refusal);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(result, -EMFILE);
    assert_says(refusal.reason, "RLIMIT_NOFILE is 8");
}

static void
add_map__refused_at_each_call__nothing_left(void **state)
{
    struct bpf_kernel kernel;
    struct perf_refusal refusal;
    void *memory = NULL;
    size_t before;
    int fd;

    (void)state;
    skip_unless_allowed();
    assert_int_equal(
        bpf_kernel_make(&kernel, planned_call, PROCESSORS, BPF_FOR_EVENTS, &refusal),
        0);
    before = open_descriptors();
    for (int call = 1; call <= 2; call++) {
        plan.calls = 0;
        plan.refused = call;
        plan.error = -ENOMEM;
        assert_int_equal(bpf_kernel_add_map(&kernel, BPF_MAP_POOLS, 0, 64, &memory),
                         -ENOMEM);
        assert_null(memory);
        assert_int_equal(open_descriptors(), before);
    }
    plan.refused = 0;
    fd = bpf_kernel_add_map(&kernel, BPF_MAP_POOLS, 0, 64, &memory);
    assert_true(fd >= 0);
    assert_non_null(memory);
    bpf_kernel_drop_map(&kernel, BPF_MAP_POOLS, 0, fd);
    assert_int_equal(open_descriptors(), before);
    bpf_kernel_finish(&kernel);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(make__any_call_refused__nothing_left),
        cmocka_unit_test(make__without_bpf__says_seccomp),
        cmocka_unit_test(make__maps_of_older_kernels__says_so),
        cmocka_unit_test(make__refused_by_the_verifier__keeps_what_it_said),
        cmocka_unit_test(attach__without_cookies__says_so),
        cmocka_unit_test(age__releases__before_5_11_too_old),
        cmocka_unit_test(map__denied_by_an_old_kernel__says_its_age),
        cmocka_unit_test(make__ordinary_user__says_which_capability),
        cmocka_unit_test(make__no_descriptors__says_the_limit),
        cmocka_unit_test(add_map__refused_at_each_call__nothing_left),
    };

    return cmocka_run_group_tests_name("bpf kernel", tests, NULL, NULL);
}
