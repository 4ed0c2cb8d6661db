/* SPDX-License-Identifier: MIT */
/*
 * refusals.c - the whole back end over kernels that refuse some of what it asks: each
 * refusal has a name and a remedy, which `ntprof doctor` tells, and nothing is left.
 * And what it asks is what 5.15 has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hal/bpf/bpf.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

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

static void
assert_says(const char *text, const char *word)
{
    if (strstr(text, word) == NULL) {
        fail_msg("'%s' does not say '%s'", text, word);
    }
}

/* ---- a bpf() that refuses ---- */

static struct {
    int calls;
    int refused_call;    /* 0: none */
    int refused_command; /* -1: none */
    int error;
    int interruptions;         /* of the verifier, by signals, that are still to come */
    uint32_t missing_function; /* which the verifier does not know; 0: none */
} plan;

static void
plan_nothing(void)
{
    memset(&plan, 0, sizeof(plan));
    plan.refused_command = -1;
}

static const struct bpf_insn *
instructions_of(const union bpf_attr *attr)
{
    return (const struct bpf_insn *)(uintptr_t)attr->insns;
}

/* Calls of the kernel's own functions. */
static bool
is_helper_call(const struct bpf_insn *instruction)
{
    return instruction->code == (BPF_JMP | BPF_CALL) && instruction->src_reg == 0;
}

static bool
uses_function(const union bpf_attr *attr, uint32_t function)
{
    for (uint32_t i = 0; i < attr->insn_cnt; i++) {
        const struct bpf_insn *const instruction = &instructions_of(attr)[i];

        if (is_helper_call(instruction) && (uint32_t)instruction->imm == function) {
            return true;
        }
    }
    return false;
}

static long
load_on_older_kernel(union bpf_attr *attr)
{
    if (attr->log_size > 0) {
        snprintf((char *)(uintptr_t)attr->log_buf, attr->log_size,
                 "0: (85) call unknown#%u\ninvalid func unknown#%u\n",
                 plan.missing_function, plan.missing_function);
    }
    return -EINVAL;
}

static long
planned_call(int command, union bpf_attr *attr, size_t bytes)
{
    plan.calls++;
    if (plan.calls == plan.refused_call || command == plan.refused_command) {
        return plan.error;
    }
    if (command == BPF_PROG_LOAD && plan.interruptions > 0) {
        plan.interruptions--;
        return -EAGAIN;
    }
    if (command == BPF_PROG_LOAD && plan.missing_function != 0 &&
        uses_function(attr, plan.missing_function)) {
        return load_on_older_kernel(attr);
    }
    return bpf_call_kernel(command, attr, bytes);
}

static int
create_as_planned(struct perf_refusal *refusal)
{
    struct bpf *bpf;
    const int result = bpf_create(planned_call, false, &bpf, refusal);

    if (result == 0) {
        bpf_delete(bpf);
    }
    return result;
}

static void
skip_unless_allowed(void)
{
    struct perf_refusal refusal;
    int result;

    plan_nothing();
    result = create_as_planned(&refusal);
    if (result == -EPERM || result == -EACCES || result == -ENOSYS ||
        result == -EOPNOTSUPP) {
        print_message("no BPF programs here: %s\n", refusal.reason);
        skip();
    }
    if (result < 0) {
        fail_msg("%s; %s", refusal.reason, refusal.log);
    }
}

/* ---- refusals ---- */

static void
create__any_call_refused__named_and_nothing_left(void **state)
{
    static const int errors[] = {-EPERM, -EINVAL, -E2BIG, -ENOMEM, -ENOSYS, -EMFILE};
    struct perf_refusal refusal;
    int most;

    (void)state;
    skip_unless_allowed();
    plan_nothing();
    assert_int_equal(create_as_planned(&refusal), 0);
    most = plan.calls;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        for (int call = 1; call <= most; call++) {
            const size_t before = open_descriptors();

            plan_nothing();
            plan.refused_call = call;
            plan.error = errors[i];
            assert_int_equal(create_as_planned(&refusal), errors[i]);
            assert_int_equal(open_descriptors(), before);
            assert_true(refusal.reason[0] != 0);
            assert_true(refusal.remedy[0] != 0);
        }
    }
}

/* What root is told, who has every capability. */
static const struct {
    int command;
    int error;
    const char *reason;
    const char *remedy;
} tellings[] = {
    {BPF_MAP_CREATE, -EPERM, "denies", "security module"},
    {BPF_MAP_CREATE, -EINVAL, "older than 5.15", "5.15"},
    {BPF_MAP_CREATE, -E2BIG, "older than 5.15", "5.15"},
    {BPF_MAP_CREATE, -ENOMEM, "control group", "memory limit"},
    {BPF_MAP_CREATE, -ENOSYS, "seccomp", "allow bpf"},
    {BPF_BTF_LOAD, -EPERM, "denies", "security module"},
    {BPF_BTF_LOAD, -EINVAL, "older than 5.15", "5.15"},
    {BPF_BTF_LOAD, -ENOMEM, "control group", "memory limit"},
    {BPF_PROG_LOAD, -EPERM, "denies", "lockdown"},
    {BPF_PROG_LOAD, -EINVAL, "verifier refuses the program", "5.15"},
    {BPF_PROG_LOAD, -E2BIG, "verifier refuses the program", "5.15"},
    {BPF_PROG_LOAD, -ENOMEM, "control group", "memory limit"},
    {BPF_LINK_CREATE, -EPERM, "denies", "security module"},
    {BPF_LINK_CREATE, -EINVAL, "older than 5.15", "another back end"},
    {BPF_LINK_CREATE, -EBUSY, "exclusively", "end other profilers"},
    {BPF_LINK_CREATE, -ENOMEM, "control group", "memory limit"},
    {BPF_RAW_TRACEPOINT_OPEN, -EPERM, "denies", "security module"},
    {BPF_RAW_TRACEPOINT_OPEN, -ENOENT, "no tracepoint", "another back end"},
    {BPF_RAW_TRACEPOINT_OPEN, -ENOMEM, "control group", "memory limit"},
};

static void
create__each_command_refused__says_what_and_what_helps(void **state)
{
    struct perf_refusal refusal;

    (void)state;
    skip_unless_allowed();
    for (size_t i = 0; i < sizeof(tellings) / sizeof(tellings[0]); i++) {
        plan_nothing();
        plan.refused_command = tellings[i].command;
        plan.error = tellings[i].error;
        assert_int_equal(create_as_planned(&refusal), tellings[i].error);
        assert_says(refusal.reason, tellings[i].reason);
        assert_says(refusal.remedy, tellings[i].remedy);
    }
}

static void
create__verifier_interrupted_by_signals__asked_again(void **state)
{
    struct perf_refusal refusal;

    (void)state;
    skip_unless_allowed();
    plan_nothing();
    plan.interruptions = 4;
    assert_int_equal(create_as_planned(&refusal), 0);
    plan_nothing();
    plan.interruptions = 1000; /* but not for ever */
    assert_int_equal(create_as_planned(&refusal), -EAGAIN);
    assert_says(refusal.reason, "signals");
}

/* ---- rights ---- */

/* An ordinary user with one capability alone, and what the refusal must name. */
struct right {
    unsigned kept;
    const char *missing;
};

static int
keep_one(unsigned capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

    data[capability / 32].permitted = 1u << capability % 32;
    data[capability / 32].effective = 1u << capability % 32;
    return syscall(SYS_capset, &header, data) != 0;
}

static int
refused_for_the_other(const struct right *right)
{
    struct perf_refusal refusal;
    int result;

    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setgroups(0, NULL) != 0 ||
        setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) != 0 || keep_one(right->kept) != 0 ||
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) {
        return 2;
    }
    plan_nothing();
    result = create_as_planned(&refusal);
    fprintf(stderr, "%s; %s\n", refusal.reason, refusal.remedy);
    return (result == -EPERM || result == -EACCES) &&
                   strstr(refusal.reason, right->missing) != NULL &&
                   strstr(refusal.remedy, "CAP_PERFMON") != NULL
               ? 0
               : 1;
}

static void
create__one_of_two_capabilities__names_the_other(void **state)
{
    static const struct right rights[] = {{CAP_BPF, "CAP_PERFMON"},
                                          {CAP_PERFMON, "CAP_BPF"}};

    (void)state;
    if (geteuid() != 0) {
        print_message("only root can keep one capability alone\n");
        skip();
    }
    skip_unless_allowed();
    for (size_t i = 0; i < 2; i++) {
        const pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
            _exit(refused_for_the_other(&rights[i]));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* ---- older kernels ---- */

static void
create__kernel_without_a_function__says_which(void **state)
{
    struct perf_refusal refusal;

    (void)state;
    skip_unless_allowed();
    plan_nothing();
    plan.missing_function = BPF_FUNC_get_attach_cookie; /* as before 5.15 */
    assert_int_equal(create_as_planned(&refusal), -EINVAL);
    assert_says(refusal.reason, "unknown#174");
    assert_says(refusal.remedy, "5.15");
}

/* The last function, type of map and program that 5.15 has, and the flags of maps that
 * are used. */
enum {
    LAST_FUNCTION = BPF_FUNC_task_pt_regs,
    LAST_MAP_TYPE = BPF_MAP_TYPE_TASK_STORAGE,
    LAST_PROGRAM_TYPE = BPF_PROG_TYPE_SYSCALL,
    LOAD_64 = 0x18 /* of a number in two instructions */
};

static uint32_t programs_seen;

/* What clang has only made since 6.6 runs it: far jumps, loads with a sign, signed
 * division. */
static bool
is_newer_than_5_15(const struct bpf_insn *instruction)
{
    const uint8_t class = BPF_CLASS(instruction->code);
    const uint8_t operation = BPF_OP(instruction->code);
    const bool arithmetic = class == BPF_ALU || class == BPF_ALU64;
    const bool with_offset =
        arithmetic &&
        (operation == BPF_DIV || operation == BPF_MOD || operation == BPF_MOV) &&
        instruction->off != 0;
    const bool far_jump = class == BPF_JMP32 && operation == BPF_JA;
    const bool sign = class == BPF_LDX && BPF_MODE(instruction->code) == 0x80;
    const bool swap = class == BPF_ALU64 && operation == BPF_END;

    return with_offset || far_jump || sign || swap;
}

static long
call_of_5_15(int command, union bpf_attr *attr, size_t bytes)
{
    if (command == BPF_MAP_CREATE) {
        assert_in_range(attr->map_type, 1, LAST_MAP_TYPE);
        assert_int_equal(
            attr->map_flags & ~(uint32_t)(BPF_F_MMAPABLE | BPF_F_INNER_MAP), 0);
    }
    if (command == BPF_PROG_LOAD) {
        programs_seen++;
        assert_in_range(attr->prog_type, 1, LAST_PROGRAM_TYPE);
        for (uint32_t i = 0; i < attr->insn_cnt; i++) {
            const struct bpf_insn *const instruction = &instructions_of(attr)[i];

            if (instruction->code == LOAD_64) {
                i++; /* the other half is a number */
                continue;
            }
            assert_false(is_newer_than_5_15(instruction));
            if (is_helper_call(instruction)) {
                assert_in_range(instruction->imm, 1, LAST_FUNCTION);
            }
        }
    }
    return bpf_call_kernel(command, attr, bytes);
}

static void
create__what_is_asked_for__is_there_in_5_15(void **state)
{
    struct perf_refusal refusal;
    struct bpf *bpf;

    (void)state;
    skip_unless_allowed();
    programs_seen = 0;
    assert_int_equal(bpf_create(call_of_5_15, false, &bpf, &refusal), 0);
    bpf_delete(bpf);
    assert_true(programs_seen >= 3);
}

/* ---- kernels without types of their own ---- */

/* Of an instruction that names something: not one of the kernel's types, variables or
 * functions. */
static void
assert_names_nothing_of_the_kernels(const struct bpf_insn *instruction)
{
    if (instruction->code == LOAD_64) {
        assert_true(instruction->src_reg == 0 ||
                    instruction->src_reg == BPF_PSEUDO_MAP_FD ||
                    instruction->src_reg == BPF_PSEUDO_MAP_VALUE);
    } else if (instruction->code == (BPF_JMP | BPF_CALL)) {
        assert_true(is_helper_call(instruction) ||
                    instruction->src_reg == BPF_PSEUDO_CALL);
    }
}

/* What CONFIG_DEBUG_INFO_BTF gives, and a libbpf would look for, is asked for in none
 * of these. */
static long
call_without_types(int command, union bpf_attr *attr, size_t bytes)
{
    switch (command) {
    case BPF_MAP_CREATE:
        assert_int_equal(attr->btf_fd, 0);
        assert_int_equal(attr->btf_key_type_id, 0);
        assert_int_equal(attr->btf_value_type_id, 0);
        assert_int_equal(attr->btf_vmlinux_value_type_id, 0);
        break;
    case BPF_PROG_LOAD:
        programs_seen++;
        assert_int_equal(attr->attach_btf_id, 0);
        assert_int_equal(attr->attach_btf_obj_fd, 0);
        for (uint32_t i = 0; i < attr->insn_cnt; i++) {
            const struct bpf_insn *const instruction = &instructions_of(attr)[i];

            assert_names_nothing_of_the_kernels(instruction);
            i += instruction->code == LOAD_64; /* the other half is a number */
        }
        break;
    case BPF_MAP_UPDATE_ELEM:
    case BPF_MAP_DELETE_ELEM:
    case BPF_BTF_LOAD: /* of our own functions */
    case BPF_LINK_CREATE:
    case BPF_RAW_TRACEPOINT_OPEN:
        break;
    default:
        fail_msg("command %d of bpf() is not known to this test", command);
    }
    return bpf_call_kernel(command, attr, bytes);
}

static void
create__kernel_without_types__nothing_of_them_is_asked_for(void **state)
{
    struct perf_refusal refusal;
    struct bpf *bpf;

    (void)state;
    skip_unless_allowed();
    programs_seen = 0;
    assert_int_equal(bpf_create(call_without_types, false, &bpf, &refusal), 0);
    bpf_delete(bpf);
    assert_true(programs_seen >= 3);
}

/* Older verifiers prune less, and a session that opens waits for it: far below the
 * limit, please. */
enum { VERIFIER_LIMIT = 1000000, PROCESSED_MOST = VERIFIER_LIMIT / 20 };

static long
call_with_statistics(int command, union bpf_attr *attr, size_t bytes)
{
    static char log[65536];
    const char *at;
    unsigned processed = 0;
    long result;

    if (command != BPF_PROG_LOAD) {
        return bpf_call_kernel(command, attr, bytes);
    }
    attr->log_level = 4; /* statistics alone */
    attr->log_buf = (uintptr_t)log;
    attr->log_size = sizeof(log);
    result = bpf_call_kernel(command, attr, bytes);
    at = strstr(log, "processed ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "processed %u", &processed), 1);
    print_message("%s: %u of %d instructions\n", attr->prog_name, processed,
                  VERIFIER_LIMIT);
    assert_in_range(processed, 1, PROCESSED_MOST);
    return result;
}

static void
create__programs__cheap_to_verify(void **state)
{
    struct perf_refusal refusal;
    struct bpf *bpf;

    (void)state;
    skip_unless_allowed();
    assert_int_equal(bpf_create(call_with_statistics, false, &bpf, &refusal), 0);
    bpf_delete(bpf);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create__any_call_refused__named_and_nothing_left),
        cmocka_unit_test(create__each_command_refused__says_what_and_what_helps),
        cmocka_unit_test(create__verifier_interrupted_by_signals__asked_again),
        cmocka_unit_test(create__one_of_two_capabilities__names_the_other),
        cmocka_unit_test(create__kernel_without_a_function__says_which),
        cmocka_unit_test(create__what_is_asked_for__is_there_in_5_15),
        cmocka_unit_test(create__kernel_without_types__nothing_of_them_is_asked_for),
        cmocka_unit_test(create__programs__cheap_to_verify),
    };

    return cmocka_run_group_tests_name("bpf refusals", tests, NULL, NULL);
}
