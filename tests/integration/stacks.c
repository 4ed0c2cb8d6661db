/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - copies of stacks with the hits of time: each hit that is counted has one,
 * it begins at the stack pointer, and nothing is longer than what was granted.
 *
 * The profiled code is written in assembly, so that where its return address is does
 * not depend on a compiler.
 */
#include "fixture.h"

#include <alloca.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOG2 = 2, COUNTERS = 16, ENOUGH = 20, ASKED = 16384, SP = 7, PC = 16 };

/* Above this there is kernel code. */
#define KERNEL_BASE UINT64_C(0xffffffff80000000)
enum { KERNEL_LOG2 = 20, KERNEL_COUNTERS = 1024 };

/* The end of user space, but for processors with larger address spaces. */
#define USER_END UINT64_C(0x7ffffffff000)

#define MARK UINT64_C(0x5AFE57AC0DDBA115)

/* stack_caller pushes MARK and calls stack_leaf, which loops and pushes nothing, so at
 * each of its instructions the stack begins with stack_return and MARK. stack_far loops
 * for ever with the stack pointer that it gets. */
extern const char stack_leaf[], stack_return[], stack_far_loop[];
void stack_caller(uint64_t mark);
void stack_far(uint64_t stack_pointer);

__asm__(".pushsection .text\n"
        ".balign 64\n"
        "stack_leaf:\n"
        "    mov $100000, %eax\n"
        "1:  dec %eax\n"
        "    jnz 1b\n"
        "    ret\n"
        ".balign 64\n"
        ".globl stack_caller\n"
        ".type stack_caller, @function\n"
        "stack_caller:\n"
        "    push %rdi\n"
        "    call stack_leaf\n"
        "stack_return:\n"
        "    pop %rdi\n"
        "    ret\n"
        ".size stack_caller, . - stack_caller\n"
        ".balign 64\n"
        ".globl stack_far\n"
        ".type stack_far, @function\n"
        "stack_far:\n"
        "    mov %rdi, %rsp\n"
        "stack_far_loop:\n"
        "    jmp stack_far_loop\n"
        ".size stack_far, . - stack_far\n"
        ".balign 64\n"
        ".popsection\n");

static struct {
    uint64_t base; /* of the region */
    uint64_t size;
    uint64_t granted;
    uint64_t callbacks;
    uint64_t strange;
    uint64_t last_ns;
    uint64_t whole;  /* as many bytes as were granted */
    uint64_t own;    /* of this process, in kernel mode */
    uint64_t nested; /* with callers in the kernel */
} seen;

/* ---- callbacks ---- */

/* What holds for each. */
static bool
is_plausible(const ntprof_stack *stack)
{
    ntprof_session_info info = {.size = sizeof(info)};
    ULONG interval;

    seen.callbacks++;
    if (seen.granted == 0) {
        assert_success(ntprof_session_get_info(session, &info));
        seen.granted = info.stack_bytes;
    }
    if (stack->size != sizeof(*stack) || stack->source != ProfileTime ||
        stack->address - seen.base >= seen.size || stack->time_ns < seen.last_ns ||
        stack->time_ns > fixture_now_ns() || stack->kernel_count > 127 ||
        stack->stack_asked > seen.granted || stack->stack_bytes > stack->stack_asked ||
        (stack->stack_bytes != 0 && stack->stack == NULL) ||
        !NT_SUCCESS(NtQueryIntervalProfile(ProfileTime, &interval))) {
        return false;
    }
    seen.last_ns = stack->time_ns;
    seen.whole += stack->stack_bytes == seen.granted;
    return true;
}

static void
note_leaf(void *context, const ntprof_stack *stack)
{
    uint64_t words[2];

    if (context != &seen || !is_plausible(stack) || stack->mode != NTPROF_MODE_USER ||
        stack->pid != (uint32_t)getpid() || stack->word_bytes != 8 ||
        stack->register_count != PC + 1 || stack->registers[PC] != stack->address ||
        stack->kernel_count != 0 || stack->stack_bytes < sizeof(words)) {
        seen.strange++;
        return;
    }
    memcpy(words, stack->stack, sizeof(words));
    seen.strange += words[0] != (uint64_t)(uintptr_t)stack_return || words[1] != MARK;
}

/* Linux asks for no more than what is left of the address space. */
static void
note_far(void *context, const ntprof_stack *stack)
{
    const uint64_t stack_pointer = *(const uint64_t *)context;
    const uint64_t left = stack_pointer < USER_END ? USER_END - stack_pointer : 0;

    seen.strange += !is_plausible(stack) || stack->word_bytes != 8 ||
                    stack->registers[SP] != stack_pointer ||
                    (stack->stack_asked != seen.granted && stack->stack_asked != left);
}

static void
note_lost(void *context, const ntprof_notification *notification)
{
    *(uint64_t *)context +=
        notification->kind == NTPROF_RECORDS_LOST ? notification->count : 0;
}

static void
note_kernel(void *context, const ntprof_stack *stack)
{
    (void)context;
    if (!is_plausible(stack) || stack->mode != NTPROF_MODE_KERNEL ||
        stack->kernel_count < 1 || stack->kernel_chain[0] != stack->address) {
        seen.strange++;
        return;
    }
    for (uint32_t i = 0; i < stack->kernel_count; i++) {
        seen.strange += (int64_t)stack->kernel_chain[i] >= 0;
    }
    seen.nested += stack->kernel_count > 1;
    if (stack->pid == (uint32_t)getpid()) {
        seen.own++;
        seen.strange += stack->word_bytes != 8 || stack->stack_bytes == 0 ||
                        (int64_t)stack->registers[PC] < 0;
    }
}

/* ---- a session with stacks ---- */

static const char *const time_source[] = {"time"};

static void
reopen(uint32_t flags, uint32_t asked)
{
    const ntprof_session_options options = {
        .size = sizeof(options),
        .flags = NTPROF_SESSION_POLLED | flags,
        .stack_bytes = asked,
        .stack_source_count = 1,
        .stack_sources = time_source,
    };

    fixture_reopen(&options);
    memset(&seen, 0, sizeof(seen));
    seen.base = (uint64_t)(uintptr_t)stack_leaf;
    seen.size = (uint64_t)COUNTERS << LOG2;
    seen.last_ns = fixture_now_ns();
}

static HANDLE
start(HANDLE process, ULONG counters[COUNTERS])
{
    HANDLE profile;

    memset(counters, 0, COUNTERS * sizeof(counters[0]));
    profile = create_profile(process, seen.base, seen.size, LOG2, counters, COUNTERS,
                             ProfileTime);
    assert_success(NtStartProfile(profile));
    return profile;
}

static uint64_t
granted(void)
{
    ntprof_session_info info = {.size = sizeof(info)};

    assert_success(ntprof_session_get_info(session, &info));
    return info.stack_bytes;
}

/* All statistics add up, and each hit that was counted was reported. */
static void
finish(HANDLE profile, const ULONG *counters, size_t count)
{
    assert_success(NtStopProfile(profile));
    assert_int_equal(sum_counters(counters, count), seen.callbacks);
    assert_int_equal(read_statistics(session, ProfileTime).counted, seen.callbacks);
    assert_int_equal(seen.strange, 0);
    assert_success(NtClose(profile));
}

/* ---- tests ---- */

/* rules: stack-counted, stack-copy */
static void
stacks__of_own_code__begin_with_the_return_address(void **state)
{
    static ULONG counters[COUNTERS];
    HANDLE profile;

    (void)state;
    reopen(NTPROF_SESSION_USER_ONLY, ASKED);
    assert_int_equal(granted(), 0);
    assert_success(ntprof_session_set_stacks(session, note_leaf, &seen));
    profile = start(NtCurrentProcess(), counters);
    while (seen.callbacks < ENOUGH) {
        stack_caller(MARK);
        assert_success(ntprof_session_poll(session, NULL));
    }
    finish(profile, counters, COUNTERS);
}

/* More than Linux copies; a stack deeper than that. rule: stack-granted */
static void
stacks__deeper_than_what_is_granted__copied_up_to_that(void **state)
{
    static ULONG counters[COUNTERS];
    volatile char *const depth = alloca(256 * 1024);
    HANDLE profile;

    (void)state;
    reopen(0, UINT32_MAX);
    assert_success(ntprof_session_set_stacks(session, note_leaf, &seen));
    for (size_t i = 0; i < 256 * 1024; i += 1024) {
        depth[i] = 1;
    }
    profile = start(NtCurrentProcess(), counters);
    while (seen.whole < ENOUGH) {
        stack_caller(MARK);
        assert_success(ntprof_session_poll(session, NULL));
    }
    assert_int_equal(seen.whole, seen.callbacks);
    assert_in_range(granted(), NTPROF_STACK_BYTES_MIN, 65528);
    assert_int_equal(granted() % 8, 0);
    finish(profile, counters, COUNTERS);
}

/* rule: stack-granted */
static void
stacks__fewer_bytes_asked__no_more_granted(void **state)
{
    static const uint32_t rows[][2] = {
        {512, 512}, {519, 512}, {520, 520}, {1001, 1000}};
    static ULONG counters[COUNTERS];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        HANDLE profile;

        reopen(NTPROF_SESSION_USER_ONLY, rows[i][0]);
        profile = start(NtCurrentProcess(), counters);
        assert_int_equal(granted(), rows[i][1]);
        assert_success(NtClose(profile));
    }
}

static void
stacks__callback_is_removed__later_ones_are_only_counted(void **state)
{
    static ULONG counters[COUNTERS];
    HANDLE profile;
    uint64_t before;

    (void)state;
    reopen(NTPROF_SESSION_USER_ONLY, ASKED);
    assert_success(ntprof_session_set_stacks(session, note_leaf, &seen));
    profile = start(NtCurrentProcess(), counters);
    while (seen.callbacks < ENOUGH) {
        stack_caller(MARK);
        assert_success(ntprof_session_flush(session));
    }
    assert_success(ntprof_session_set_stacks(session, NULL, NULL));
    before = seen.callbacks;
    while (sum_counters(counters, COUNTERS) < before + ENOUGH) {
        stack_caller(MARK);
        assert_success(ntprof_session_flush(session));
    }
    assert_int_equal(seen.callbacks, before);
    assert_int_equal(seen.strange, 0);
    assert_success(NtClose(profile));
}

/* The interval changes under way: hits of both are reported. rule: stack-granted */
static void
stacks__interval_changes__granted_anew(void **state)
{
    static ULONG counters[COUNTERS];
    HANDLE profile;
    uint64_t slow;

    (void)state;
    reopen(NTPROF_SESSION_USER_ONLY, UINT32_MAX);
    assert_success(ntprof_session_set_stacks(session, note_leaf, &seen));
    assert_success(ntprof_source_set_interval(session, ProfileTime, 100000));
    profile = start(NtCurrentProcess(), counters);
    slow = granted();
    assert_success(ntprof_source_set_interval(session, ProfileTime, 5000));
    assert_in_range(granted(), NTPROF_STACK_BYTES_MIN, slow - 8);
    seen.granted = slow; /* hits of the first interval may be still to come */
    while (seen.callbacks < ENOUGH) {
        stack_caller(MARK);
        assert_success(ntprof_session_flush(session));
    }
    finish(profile, counters, COUNTERS);
}

/* Stack pointers near the end of the address space: samples of sizes that are no
 * multiple of 8, and all that comes behind them. */
static void
stacks__end_of_the_address_space__each_hit_is_read(void **state)
{
    static const uint64_t ends[] = {0x7fffffffe001, 0x7fffffffe004, 0x7ffffffff000,
                                    0x7fffffff0fff, 0xffffffff80000000};
    static ULONG counters[COUNTERS];

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        uint64_t stack_pointer = ends[i];
        uint64_t lost;
        HANDLE profile;
        HANDLE process;
        pid_t pid;

        reopen(NTPROF_SESSION_USER_ONLY, ASKED);
        seen.base = (uint64_t)(uintptr_t)stack_far_loop;
        lost = 0;
        assert_success(ntprof_session_set_notify(session, note_lost, &lost));
        assert_success(ntprof_session_set_stacks(session, note_far, &stack_pointer));
        pid = fork();
        if (pid == 0) {
            stack_far(stack_pointer);
        }
        assert_true(pid > 0);
        process = open_process(pid);
        profile = start(process, counters);
        while (seen.callbacks < 2 * ENOUGH && seen.strange == 0) {
            assert_success(ntprof_session_flush(session));
            usleep(5000);
        }
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        finish(profile, counters, COUNTERS);
        /* A ring may overflow on a busy machine, which is reported; no sample was
         * unreadable. */
        assert_in_range(read_statistics(session, ProfileTime).lost, 0, lost);
        assert_success(NtClose(process));
    }
}

/* Reads zeros, for which the kernel works. */
static void
work_in_kernel(void)
{
    static char bytes[1 << 16];
    const int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

    for (int i = 0; i < 200; i++) {
        assert_int_equal(read(fd, bytes, sizeof(bytes)), sizeof(bytes));
    }
    close(fd);
}

/* rule: stack-kernel */
static void
stacks__in_kernel_mode__have_the_kernels_chain_and_the_users_stack(void **state)
{
    static ULONG counters[KERNEL_COUNTERS];
    HANDLE profile;

    (void)state;
    if (!may_profile_all()) {
        skip_because("an ordinary user sees nothing of the kernel");
    }
    reopen(0, ASKED);
    seen.base = KERNEL_BASE;
    seen.size = (uint64_t)KERNEL_COUNTERS << KERNEL_LOG2;
    memset(counters, 0, sizeof(counters));
    assert_success(ntprof_session_set_stacks(session, note_kernel, NULL));
    profile = create_profile(NULL, seen.base, seen.size, KERNEL_LOG2, counters,
                             KERNEL_COUNTERS, ProfileTime);
    assert_success(NtStartProfile(profile));
    while ((seen.own < ENOUGH || seen.nested < ENOUGH) && seen.strange == 0) {
        work_in_kernel();
        assert_success(ntprof_session_poll(session, NULL));
    }
    finish(profile, counters, KERNEL_COUNTERS);
}

/* ---- another program ---- */

/* This program again, run with an argument: a session with a thread of its own follows
 * it from its exec on, and profiles stack_leaf where the program has it. */
static struct {
    uint64_t leaf_offset; /* in the file */
    uint64_t leaf;        /* in the program; 0: not mapped yet */
    uint64_t strange;
    ULONG counters[COUNTERS];
    HANDLE process;
    HANDLE profile;
    atomic_uint_fast64_t callbacks;
} other;

static _Noreturn void
spin(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        stack_caller(MARK);
    }
}

/* The first is that of the program itself. */
static int
find_leaf(struct dl_phdr_info *info, size_t size, void *context)
{
    const uint64_t address = (uint64_t)(uintptr_t)stack_leaf - info->dlpi_addr;

    (void)size;
    (void)context;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD &&
            address - segment->p_vaddr < segment->p_filesz) {
            other.leaf_offset = address - segment->p_vaddr + segment->p_offset;
        }
    }
    return 1;
}

static void
profile_leaf(void *context, const ntprof_notification *notification)
{
    const uint64_t offset = other.leaf_offset - notification->file_offset;

    (void)context;
    if (notification->kind != NTPROF_IMAGE_MAP || offset >= notification->length ||
        strstr(notification->name, "stacks") == NULL || other.leaf != 0) {
        return;
    }
    other.leaf = notification->base + offset;
    other.profile =
        create_profile(other.process, other.leaf, (uint64_t)COUNTERS << LOG2, LOG2,
                       other.counters, COUNTERS, ProfileTime);
    assert_success(NtStartProfile(other.profile));
}

static void
note_other(void *context, const ntprof_stack *stack)
{
    const pid_t *const pid = context;
    const uint64_t back = (uint64_t)(stack_return - stack_leaf);
    uint64_t words[2] = {0};

    if (stack->stack_bytes >= sizeof(words)) {
        memcpy(words, stack->stack, sizeof(words));
    }
    other.strange += stack->pid != (uint32_t)*pid || words[0] != other.leaf + back ||
                     words[1] != MARK || stack->registers[PC] != stack->address;
    other.callbacks++;
}

/* What the dynamic loader exits with if a library cannot be read. */
enum { LOADER_FAILED = 127 };

/* rules: stack-counted, stack-copy */
static void
stacks__of_another_program__have_its_return_address(void **state)
{
    const ntprof_session_options options = {
        .size = sizeof(options),
        .flags = NTPROF_SESSION_USER_ONLY,
        .stack_bytes = ASKED,
        .stack_source_count = 1,
        .stack_sources = time_source,
    };
    char *const arguments[] = {"stacks", "spin", NULL};
    const KPROFILE_SOURCE source = ProfileTime;
    const ntprof_watch_options watch = {.size = sizeof(watch),
                                        .flags = NTPROF_WATCH_ON_EXEC,
                                        .source_count = 1,
                                        .sources = &source};
    bool ended = false;
    int status = 0;
    int go[2];
    pid_t pid;

    (void)state;
    fixture_reopen(&options);
    memset(&other, 0, sizeof(other));
    dl_iterate_phdr(find_leaf, NULL);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        char word;

        _exit(read(go[0], &word, 1) == 1 ? execv("/proc/self/exe", arguments) : 1);
    }
    assert_true(pid > 0);
    other.process = open_process(pid);
    assert_success(ntprof_session_set_notify(session, profile_leaf, NULL));
    assert_success(ntprof_session_set_stacks(session, note_other, &pid));
    assert_success(ntprof_session_watch(session, other.process, &watch));
    assert_int_equal(write(go[1], "x", 1), 1);
    close(go[0]);
    close(go[1]);
    while (other.callbacks < ENOUGH && !ended) {
        usleep(5000);
        ended = waitpid(pid, &status, WNOHANG) == pid;
    }
    if (ended) {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == LOADER_FAILED);
        skip_because("this user may not read the libraries of the test");
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_success(NtStopProfile(other.profile));
    assert_int_equal(sum_counters(other.counters, COUNTERS), other.callbacks);
    assert_int_equal(other.strange, 0);
}

/* ---- refusals ---- */

static NTSTATUS
open_with(uint32_t bytes, const char *const *sources, uint32_t count, const char *named)
{
    const ntprof_session_options options = {
        .size = sizeof(options),
        .backend = named,
        .flags = NTPROF_SESSION_POLLED,
        .stack_bytes = bytes,
        .stack_source_count = count,
        .stack_sources = sources,
    };
    ntprof_session *opened = NULL;
    const NTSTATUS status = ntprof_session_open(&options, &opened);

    assert_true(NT_SUCCESS(status) == (opened != NULL));
    ntprof_session_close(opened);
    return status;
}

/* rule: stack-sources */
static void
open__stacks_of_other_sources__refused(void **state)
{
    static const char *const both[] = {"ProfileTime", "page-faults"};
    static const char *const unknown[] = {"no such source"};

    (void)state;
    assert_status(open_with(ASKED, both, 1, backend), STATUS_SUCCESS);
    assert_status(open_with(ASKED, both, 2, backend), STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(NULL), "page-faults"));
    assert_status(open_with(ASKED, unknown, 1, backend), STATUS_INVALID_PARAMETER);
    assert_status(open_with(ASKED, time_source, 1, "sim"), STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(NULL), "sim: it copies no stacks"));
}

/* rule: stack-counted */
static void
set_stacks__session_without__refused(void **state)
{
    (void)state;
    assert_status(ntprof_session_set_stacks(NULL, note_leaf, &seen),
                  STATUS_INVALID_PARAMETER);
    assert_status(ntprof_session_set_stacks(session, note_leaf, &seen),
                  STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), "stack_bytes"));
}

/* The rings have no room for 3,200 stacks of 512 bytes each. rule: stack-granted */
static void
start__interval_too_short_for_stacks__refused(void **state)
{
    static ULONG counters[COUNTERS];
    ntprof_source_info info;
    HANDLE profile;

    (void)state;
    reopen(NTPROF_SESSION_USER_ONLY, ASKED);
    assert_success(ntprof_source_set_interval(session, ProfileTime, 100));
    info = read_statistics(session, ProfileTime);
    if (info.interval_granted != 100) {
        skip_because("kernel.perf_event_max_sample_rate is below 100 kHz");
    }
    profile = create_profile(NtCurrentProcess(), seen.base, seen.size, LOG2, counters,
                             COUNTERS, ProfileTime);
    assert_status(NtStartProfile(profile), STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), "cannot copy stacks"));
    assert_int_equal(granted(), 0);
    assert_success(ntprof_source_set_interval(session, ProfileTime, 10000));
    assert_success(NtStartProfile(profile));
    assert_in_range(granted(), NTPROF_STACK_BYTES_MIN, ASKED);
    assert_success(NtClose(profile));
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        fixture_test(stacks__of_own_code__begin_with_the_return_address),
        fixture_test(stacks__deeper_than_what_is_granted__copied_up_to_that),
        fixture_test(stacks__fewer_bytes_asked__no_more_granted),
        fixture_test(stacks__callback_is_removed__later_ones_are_only_counted),
        fixture_test(stacks__interval_changes__granted_anew),
        fixture_test(stacks__end_of_the_address_space__each_hit_is_read),
        fixture_test(
            stacks__in_kernel_mode__have_the_kernels_chain_and_the_users_stack),
        fixture_test(stacks__of_another_program__have_its_return_address),
        fixture_test(open__stacks_of_other_sources__refused),
        fixture_test(set_stacks__session_without__refused),
        fixture_test(start__interval_too_short_for_stacks__refused),
    };

    if (argc > 1 && strcmp(argv[1], "spin") == 0) {
        spin();
    }
    return fixture_run("stacks", tests, sizeof(tests) / sizeof(tests[0]));
}
