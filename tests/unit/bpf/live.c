/* SPDX-License-Identifier: MIT */
/*
 * live.c - the back end with the core's kernel profiles on the running kernel: hits of
 * breakpoints, which are exact. Root, or whoever has CAP_BPF and CAP_PERFMON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "breakpoints.h"
#include "hal/backend.h"
#include "hal/bpf/bpf.h"
#include "ke/ke.h"
#include "own_page.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOT_COUNT = 256, SLOT_LOG2 = 4, SLOT_BYTES = 1 << SLOT_LOG2 };
enum { COUNTERS = SLOT_COUNT, MANY = 500 };

/* Functions that do nothing, on which breakpoints make one hit for each call. The last
 * one counts to 1,000 first, so that a clock finds it soon. */
enum { LONG_SLOT = SLOT_COUNT - 1 };
extern const char bpf_test_slots[];

__asm__(".pushsection .text\n"
        "    .balign 4096\n"
        "    .globl bpf_test_slots\n"
        "bpf_test_slots:\n"
        "    .rept 255\n"
        "    ret\n"
        "    .balign 16\n"
        "    .endr\n"
#ifdef __x86_64__
        "    movl $1000, %ecx\n"
        "1:  decl %ecx\n"
        "    jnz 1b\n"
#else
        "    mov w9, #1000\n"
        "1:  subs w9, w9, #1\n"
        "    b.ne 1b\n"
#endif
        "    ret\n"
        "    .popsection\n");

static const char *slots; /* a copy of them that no other process has */

static ULONG64
slot_address(size_t slot)
{
    return (ULONG64)(uintptr_t)slots + slot * SLOT_BYTES;
}

static void
call_slot(size_t slot, int times)
{
    void (*volatile const function)(void) =
        (void (*)(void))(uintptr_t)slot_address(slot);

    for (int i = 0; i < times; i++) {
        function();
    }
}

static void
pin_to_one_processor(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)sched_getcpu(), &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

struct fixture {
    KE_SYSTEM ke;
    void *context;
    KPROCESS own;
    pid_t ended; /* told of */
    int ended_count;
};

static struct fixture fixture;

/* ---- host ---- */

static void *
allocate(void *Context, SIZE_T Bytes)
{
    (void)Context;
    return calloc(1, Bytes);
}

static void
release(void *Context, void *Memory, SIZE_T Bytes)
{
    (void)Context;
    (void)Bytes;
    free(Memory);
}

static USHORT
group_count(void *Context)
{
    (void)Context;
    return 1;
}

static const HOST_TABLE host_table = {
    .Size = sizeof(HOST_TABLE),
    .PageSize = 4096,
    .Allocate = allocate,
    .Free = release,
    .GroupCount = group_count,
};

static void
notify(void *context, const ntprof_notification *notification)
{
    struct fixture *const told = context;

    told->ended = (pid_t)notification->pid;
    told->ended_count++;
}

/* The library's calls of poll come here too. */
static int polls;

int
poll(struct pollfd *descriptors, nfds_t count, int timeout_ms)
{
    const struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

    polls++;
    return ppoll(descriptors, count, timeout_ms < 0 ? NULL : &timeout, NULL);
}

static int
make_slots(void **state)
{
    (void)state;
    slots = own_page_make(bpf_test_slots);
    return 0;
}

static int
setup(void **state)
{
    const HAL_OPEN open = {
        .Ke = &fixture.ke, .Notify = notify, .NotifyContext = &fixture};
    const HOST host = {.Table = &host_table};
    HAL_PROBE probe;

    cpu_set_t all;

    (void)state;
    memset(&all, 0xFF, sizeof(all)); /* of those that there are */
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    memset(&fixture, 0, sizeof(fixture));
    HalBpfBackend.Probe(&probe);
    if (!probe.Usable) {
        print_message("no BPF programs here: %s\n", probe.Reason);
        return 0;
    }
    assert_int_equal(HalBpfBackend.Open(&open, &fixture.context), STATUS_SUCCESS);
    assert_int_equal(KeInitializeSystem(&fixture.ke, &host,
                                        &(HAL){HalBpfBackend.Hal, fixture.context}, 15),
                     STATUS_SUCCESS);
    KeInitializeProcess(&fixture.own, (ULONG64)getpid());
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    if (fixture.context != NULL) {
        KeFinishProcess(&fixture.ke, &fixture.own);
        KeFinishSystem(&fixture.ke);
        HalBpfBackend.Close(fixture.context);
    }
    return 0;
}

#define live_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void
skip_unless_open(void)
{
    if (fixture.context == NULL) {
        skip();
    }
}

/* ---- profiles ---- */

struct kernel_profile {
    KPROFILE profile;
    MDL mdl; /* right behind it */
};

static const ULONG64 all_processors[1] = {~(ULONG64)0 >> 1};

/* One bucket a slot, over all slots. */
static void
start_profile(struct kernel_profile *made, KPROCESS *process, KPROFILE_SOURCE source,
              const ULONG64 *affinity)
{
    void *memory;
    NTSTATUS status;

    assert_int_equal(
        HalBpfBackend.Pages->Take(fixture.context, COUNTERS * sizeof(ULONG), &memory),
        0);
    *made = (struct kernel_profile){
        .profile =
            {
                .Process = process,
                .RangeBase = slot_address(0),
                .RangeSize = (ULONG64)SLOT_COUNT * SLOT_BYTES,
                .BucketLog2 = SLOT_LOG2,
                .Buffer = memory,
                .Counters = COUNTERS,
                .Source = source,
                .AffinityWords = 1,
                .Affinity = affinity,
            },
    };
    status = KeStartProfile(&fixture.ke, &made->profile);
    if (status != STATUS_SUCCESS) {
        fail_msg("0x%x: %s", (unsigned)status, HalBpfBackend.Error(fixture.context));
    }
}

static void
stop_profile(struct kernel_profile *made)
{
    KeStopProfile(&fixture.ke, &made->profile);
    HalBpfBackend.Pages->Give(fixture.context, made->profile.Buffer,
                              COUNTERS * sizeof(ULONG));
}

static KPROFILE_SOURCE
slot_source(size_t slot)
{
    char text[64];
    KPROFILE_SOURCE source;

    snprintf(text, sizeof(text), "breakpoint:0x%llx",
             (unsigned long long)slot_address(slot));
    assert_int_equal(HalBpfBackend.LookupSource(fixture.context, text, &source),
                     STATUS_SUCCESS);
    return source;
}

static ULONG64
online_processors(void)
{
    cpu_set_t set;
    ULONG64 word = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    for (size_t i = 0; i < 64; i++) {
        word |= (ULONG64)(CPU_ISSET(i, &set) != 0) << i;
    }
    return word;
}

static ULONG
counter_of(const struct kernel_profile *made, size_t slot)
{
    return __atomic_load_n(&made->profile.Buffer[slot], __ATOMIC_RELAXED);
}

static HAL_SOURCE_STATISTICS
read_statistics(KPROFILE_SOURCE source, KE_STATISTICS *hits)
{
    HAL_SOURCE_STATISTICS statistics;

    KeQueryStatistics(&fixture.ke, source, hits);
    assert_int_equal(HalBpfBackend.QuerySourceStatistics(fixture.context, source,
                                                         hits->Taken, &statistics),
                     STATUS_SUCCESS);
    assert_int_equal(hits->Taken, hits->Counted + hits->Outside);
    assert_int_equal(statistics.Expected, hits->Taken + statistics.Lost +
                                              statistics.Throttled + statistics.Missed +
                                              statistics.Unfinished +
                                              statistics.Excluded);
    return statistics;
}

/* ---- tests ---- */

static void
breakpoint__of_own_process__counted_at_once_and_exactly(void **state)
{
    need_breakpoints();

    const ULONG64 online = online_processors();
    struct kernel_profile made;
    KPROFILE_SOURCE source;
    KE_STATISTICS hits;
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    skip_unless_open();
    source = slot_source(3);
    start_profile(&made, &fixture.own, source, &online);
    call_slot(3, MANY);
    assert_int_equal(counter_of(&made, 3), MANY); /* nothing was delivered */
    call_slot(4, MANY);
    for (size_t i = 0; i < COUNTERS; i++) {
        assert_int_equal(counter_of(&made, i), i == 3 ? MANY : 0);
    }
    statistics = read_statistics(source, &hits);
    assert_int_equal(hits.Counted, MANY);
    assert_int_equal(hits.Outside, 0);
    assert_int_equal(statistics.Events, MANY);
    assert_int_equal(statistics.Missed, 0);
    stop_profile(&made);
    statistics = read_statistics(source, &hits);
    assert_int_equal(hits.Counted, MANY);
    assert_int_equal(statistics.Events, MANY);
}

static void
breakpoint__profile_of_all__counts_another_process(void **state)
{
    need_breakpoints();

    const ULONG64 online = online_processors();
    struct kernel_profile all;
    struct kernel_profile own;
    KPROFILE_SOURCE source;
    pid_t child;
    int status;

    (void)state;
    skip_unless_open();
    source = slot_source(7);
    start_profile(&all, &fixture.ke.Global, source, &online);
    start_profile(&own, &fixture.own, source, &online);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        call_slot(7, MANY);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    call_slot(7, 1);
    assert_int_equal(counter_of(&all, 7), MANY + 1);
    assert_int_equal(counter_of(&own, 7), 1);
    stop_profile(&own);
    stop_profile(&all);
}

static void
sources__second_while_the_first_runs__each_its_own(void **state)
{
    need_breakpoints();

    const ULONG64 online = online_processors();
    struct kernel_profile first;
    struct kernel_profile second;

    (void)state;
    skip_unless_open();
    start_profile(&first, &fixture.own, slot_source(3), &online);
    call_slot(3, MANY);
    start_profile(&second, &fixture.own, ProfileTime, &online);
    while (counter_of(&second, LONG_SLOT) == 0) {
        call_slot(LONG_SLOT, MANY);
    }
    call_slot(3, 1);
    assert_int_equal(counter_of(&first, 3), MANY + 1);
    assert_int_equal(counter_of(&first, LONG_SLOT), 0);
    stop_profile(&second);
    call_slot(3, 1);
    assert_int_equal(counter_of(&first, 3), MANY + 2);
    stop_profile(&first);
}

static void
breakpoint__interval_of_ten__one_in_ten(void **state)
{
    need_breakpoints();

    const ULONG64 online = online_processors();
    struct kernel_profile made;
    KPROFILE_SOURCE source;
    KE_STATISTICS hits;
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    skip_unless_open();
    source = slot_source(5);
    HalBpfBackend.Hal->SetInterval(fixture.context, source, 10);
    pin_to_one_processor();
    start_profile(&made, &fixture.own, source, &online);
    call_slot(5, MANY);
    assert_int_equal(counter_of(&made, 5), MANY / 10);
    call_slot(5, 9);
    HalBpfBackend.Hal->SetInterval(fixture.context, source, 1);
    call_slot(5, 20); /* the nine do not count towards another hit */
    assert_int_equal(counter_of(&made, 5), MANY / 10 + 20);
    statistics = read_statistics(source, &hits);
    assert_int_equal(statistics.Events, MANY + 29);
    assert_int_equal(hits.Taken, MANY / 10 + 20);
    assert_int_equal(statistics.Missed, 0);
    stop_profile(&made);
}

static void
time__until_there_are_hits__statistics_add_up(void **state)
{
    const ULONG64 online = online_processors();
    struct kernel_profile made;
    KE_STATISTICS hits;
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    skip_unless_open();
    start_profile(&made, &fixture.ke.Global, ProfileTime, &online);
    do {
        usleep(10000);
        statistics = read_statistics(ProfileTime, &hits);
    } while (hits.Taken == 0 || hits.Outside == 0);
    assert_true(statistics.Expected >= hits.Taken);
    stop_profile(&made);
    print_message("time: expected %llu taken %llu missed %llu throttled %llu\n",
                  (unsigned long long)statistics.Expected,
                  (unsigned long long)hits.Taken, (unsigned long long)statistics.Missed,
                  (unsigned long long)statistics.Throttled);
}

static void
process__runs_a_new_program__counts_no_more_and_is_told(void **state)
{
    need_breakpoints();

    const ULONG64 online = online_processors();
    struct kernel_profile made;
    KPROCESS process;
    KPROFILE_SOURCE source;
    int to_child[2];
    int status;
    pid_t child;
    char byte;

    (void)state;
    skip_unless_open();
    source = slot_source(9);
    assert_int_equal(pipe(to_child), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char *const arguments[] = {(char *)"sleep", (char *)"100", NULL};

        if (read(to_child[0], &byte, 1) == 1) {
            call_slot(9, 3);
            (void)execv("/bin/sleep", arguments);
        }
        _exit(1);
    }
    KeInitializeProcess(&process, (ULONG64)child);
    start_profile(&made, &process, source, &online);
    assert_int_equal(write(to_child[1], "x", 1), 1);
    while (fixture.ended == 0) {
        HalBpfBackend.Hal->Flush(fixture.context);
        sched_yield();
    }
    assert_int_equal(fixture.ended, child);
    assert_int_equal(counter_of(&made, 9), 3);
    stop_profile(&made);
    KeFinishProcess(&fixture.ke, &process);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(to_child[0]);
    close(to_child[1]);
}

static void
process__ends__is_told(void **state)
{
    const ULONG64 online = online_processors();
    struct kernel_profile made;
    KPROCESS process;
    int status;
    pid_t child;

    (void)state;
    skip_unless_open();
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pause();
        _exit(0);
    }
    KeInitializeProcess(&process, (ULONG64)child);
    start_profile(&made, &process, ProfileTime, &online);
    kill(child, SIGKILL);
    while (fixture.ended == 0) {
        (void)HalBpfBackend.Deliver(fixture.context);
        sched_yield();
    }
    assert_int_equal(fixture.ended, child);
    stop_profile(&made);
    KeFinishProcess(&fixture.ke, &process);
    assert_int_equal(waitpid(child, &status, 0), child);
}

/* More than one call of epoll_wait returns. */
enum { PROCESSES = 100 };

static void
processes__many__none_asked_one_by_one_and_each_exit_is_told(void **state)
{
    static struct kernel_profile made[PROCESSES];
    static KPROCESS processes[PROCESSES];
    const ULONG64 online = online_processors();
    pid_t children[PROCESSES];
    siginfo_t exited;

    (void)state;
    skip_unless_open();
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            pause();
            _exit(0);
        }
        KeInitializeProcess(&processes[i], (ULONG64)children[i]);
        start_profile(&made[i], &processes[i], ProfileTime, &online);
    }
    polls = 0;
    (void)HalBpfBackend.Deliver(fixture.context);
    assert_int_equal(polls, 0);
    assert_int_equal(fixture.ended_count, 0);
    for (int i = 0; i < PROCESSES; i++) {
        kill(children[i], SIGKILL);
        assert_int_equal(waitid(P_PID, (id_t)children[i], &exited, WEXITED | WNOWAIT),
                         0);
    }
    (void)HalBpfBackend.Deliver(fixture.context);
    assert_int_equal(fixture.ended_count, PROCESSES);
    /* They still have profiles, and are not told again. */
    (void)HalBpfBackend.Deliver(fixture.context);
    assert_int_equal(fixture.ended_count, PROCESSES);
    for (int i = 0; i < PROCESSES; i++) {
        stop_profile(&made[i]);
        KeFinishProcess(&fixture.ke, &processes[i]);
        assert_int_equal(waitid(P_PID, (id_t)children[i], &exited, WEXITED), 0);
    }
}

static void
process__has_ended__no_start(void **state)
{
    const ULONG64 online = online_processors();
    struct kernel_profile made = {.profile = {.RangeSize = 16,
                                              .BucketLog2 = 4,
                                              .Source = ProfileTime,
                                              .AffinityWords = 1,
                                              .Affinity = &online}};
    KPROCESS process;
    int status;
    pid_t child;

    (void)state;
    skip_unless_open();
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    KeInitializeProcess(&process, (ULONG64)child);
    made.profile.Process = &process;
    assert_int_equal(KeStartProfile(&fixture.ke, &made.profile),
                     STATUS_PROCESS_IS_TERMINATING);
    KeFinishProcess(&fixture.ke, &process);
}

static void
start__processor_that_is_not_there__refused_and_nothing_open(void **state)
{
    struct kernel_profile made = {.profile = {.Process = &fixture.own,
                                              .RangeSize = 16,
                                              .BucketLog2 = 4,
                                              .Source = ProfileTime,
                                              .AffinityWords = 1,
                                              .Affinity = all_processors}};

    (void)state;
    skip_unless_open();
    assert_int_not_equal(KeStartProfile(&fixture.ke, &made.profile), STATUS_SUCCESS);
    assert_int_equal(HalBpfBackend.Deliver(fixture.context), -1);
    assert_true(HalBpfBackend.Error(fixture.context)[0] != 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        live_test(breakpoint__of_own_process__counted_at_once_and_exactly),
        live_test(breakpoint__profile_of_all__counts_another_process),
        live_test(sources__second_while_the_first_runs__each_its_own),
        live_test(breakpoint__interval_of_ten__one_in_ten),
        live_test(time__until_there_are_hits__statistics_add_up),
        live_test(process__runs_a_new_program__counts_no_more_and_is_told),
        live_test(process__ends__is_told),
        live_test(processes__many__none_asked_one_by_one_and_each_exit_is_told),
        live_test(process__has_ended__no_start),
        live_test(start__processor_that_is_not_there__refused_and_nothing_open),
    };

    return cmocka_run_group_tests_name("bpf live", tests, make_slots, NULL);
}
