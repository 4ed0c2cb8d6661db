/* SPDX-License-Identifier: MIT */
/*
 * live.c - the back end against the running kernel, with a fake ke that keeps what it
 * is given.
 *
 * Every test runs twice: as who runs the tests, and, where that is root, as an ordinary
 * user.
 */
#include "breakpoints.h"
#include "core_dump.h"
#include "fake_ke.h"

#include "hal/backend.h"
#include "hal/perf/rings.h"
#include "hal/perf/target.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 65534, ALL_PROCESSORS_WORDS = 16 };

static uint64_t all_processors[ALL_PROCESSORS_WORDS];

struct fixture {
    struct _KE_SYSTEM ke;
    struct perf *perf;
    const HAL_TABLE *hal;
};

static void
ignore_stack(void *context, const ntprof_stack *stack)
{
    (void)context;
    (void)stack;
}

static void
fixture_open_asking(struct fixture *fixture, BOOLEAN selectors, ULONG stack_bytes)
{
    HAL_OPEN open = {.Ke = &fixture->ke,
                     .Processors = fake_processors,
                     .Notify = fake_notify,
                     .Pause = fake_pause,
                     .Stack = ignore_stack,
                     .StackBytes = stack_bytes,
                     .Selectors = selectors};
    void *context;

    *fixture = (struct fixture){.hal = HalPerfBackend.Hal};
    open.NotifyContext = &fixture->ke;
    memset(all_processors, 0xFF, sizeof(all_processors));
    assert_int_equal(HalPerfBackend.Open(&open, &context), STATUS_SUCCESS);
    fixture->perf = context;
}

static void
fixture_open_as(struct fixture *fixture, BOOLEAN selectors)
{
    fixture_open_asking(fixture, selectors, 0);
}

static void
fixture_open(struct fixture *fixture)
{
    fixture_open_as(fixture, FALSE);
}

static void
fixture_close(struct fixture *fixture)
{
    HalPerfBackend.Close(fixture->perf);
    fake_clear(&fixture->ke);
}

static KPROFILE_SOURCE
lookup(struct fixture *fixture, const char *text)
{
    KPROFILE_SOURCE source;

    assert_int_equal(HalPerfBackend.LookupSource(fixture->perf, text, &source),
                     STATUS_SUCCESS);
    return source;
}

static NTSTATUS
watch(struct fixture *fixture, pid_t pid, ULONG flags, const KPROFILE_SOURCE *sources,
      ULONG source_count)
{
    const HAL_WATCH request = {
        .ProcessId = (ULONG64)pid,
        .Flags = flags,
        .SourceCount = source_count,
        .Sources = sources,
        .ProcessorCount = ALL_PROCESSORS_WORDS * 64,
        .Processors = all_processors,
    };

    return HalPerfBackend.Watch(fixture->perf, &request);
}

/* As ke starts a profile of one processor. */
static NTSTATUS
start_on(struct fixture *fixture, KPROFILE_SOURCE source, ULONG processor, ULONG64 pid)
{
    const NTSTATUS status =
        fixture->hal->StartProfileInterrupt(fixture->perf, source, processor, pid);

    return status == STATUS_SUCCESS
               ? fixture->hal->BeginProfileInterrupts(fixture->perf, source, pid)
               : status;
}

static void
start_everywhere(struct fixture *fixture, KPROFILE_SOURCE source, pid_t pid)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);

    for (long i = 0; i < processors; i++) {
        assert_int_equal(fixture->hal->StartProfileInterrupt(fixture->perf, source,
                                                             (ULONG)i, (ULONG64)pid),
                         STATUS_SUCCESS);
    }
    assert_int_equal(
        fixture->hal->BeginProfileInterrupts(fixture->perf, source, (ULONG64)pid),
        STATUS_SUCCESS);
}

/* ---- children ---- */

/* A child that runs body when told to, and then waits to be told to end. */
struct child {
    pid_t pid;
    int to;   /* we write: go on */
    int from; /* we read: got there */
};

static void
child_step(int from, int to)
{
    char byte = 0;

    if (read(from, &byte, 1) != 1) {
        _exit(1);
    }
    (void)to;
}

static void
child_say(int to)
{
    if (write(to, "x", 1) != 1) {
        _exit(1);
    }
}

static struct child
child_start(void (*body)(void *), void *argument)
{
    struct child child;
    int down[2];
    int up[2];

    assert_int_equal(pipe(down), 0);
    assert_int_equal(pipe(up), 0);
    child.pid = fork();
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        close(down[1]);
        close(up[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        child_say(up[1]);
        child_step(down[0], up[1]);
        body(argument);
        child_say(up[1]);
        child_step(down[0], up[1]);
        _exit(0);
    }
    close(down[0]);
    close(up[1]);
    child.to = down[1];
    child.from = up[0];
    return child;
}

static void
child_await(const struct child *child)
{
    char byte;

    assert_int_equal(read(child->from, &byte, 1), 1);
}

static void
child_go(const struct child *child)
{
    assert_int_equal(write(child->to, "x", 1), 1);
}

static int
child_end(struct child *child)
{
    int status;

    assert_int_equal(write(child->to, "x", 1), 1);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    close(child->to);
    close(child->from);
    return status;
}

/* A command that waits for us before it execs. */
static struct child
command_start(const char *script)
{
    struct child child = {.from = -1};
    int down[2];

    assert_int_equal(pipe(down), 0);
    child.pid = fork();
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        close(down[1]);
        child_step(down[0], -1);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    close(down[0]);
    child.to = down[1];
    return child;
}

/* ---- work ---- */

static volatile unsigned long sink;

__attribute__((noinline)) static void
target_function(void)
{
    sink++;
}

static void
call_target(void *argument)
{
    const int *times = argument;

    for (int i = 0; i < *times; i++) {
        target_function();
    }
}

/* Counts each call of target_function. */
static KPROFILE_SOURCE
source_on_target(struct fixture *fixture)
{
    char text[64];

    name_exact_source(text, sizeof(text), (uintptr_t)target_function);
    return lookup(fixture, text);
}

/* Skips the test with the reason where there is no such source: its first statement, so
 * that nothing is left open. */
static void
need_exact_source(void)
{
    struct fixture fixture;
    KPROFILE_SOURCE source;
    HAL_SOURCE information;
    HAL_SOURCE_STATISTICS statistics;

    if (breakpoints_fire()) {
        return;
    }
    if (geteuid() != 0) {
        need_breakpoints();
    }
    fixture_open(&fixture);
    source = source_on_target(&fixture);
    fixture.hal->QuerySource(fixture.perf, source, &information);
    HalPerfBackend.QuerySourceStatistics(fixture.perf, source, 0, &statistics);
    fixture_close(&fixture);
    if (!information.Supported) {
        print_message("%s\n", statistics.Reason);
        skip();
    }
}

static void
burn(unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++) {
        sink += i;
    }
}

/* ---- tests ---- */

static void
start__exact_source_interval_1__every_call_is_one_hit(void **state)
{
    need_exact_source();

    int times = 1000;
    struct child child = child_start(call_target, &times);
    struct fixture fixture;
    KPROFILE_SOURCE source;

    (void)state;
    child_await(&child);
    fixture_open(&fixture);
    source = source_on_target(&fixture);
    start_everywhere(&fixture, source, child.pid);
    child_go(&child);
    child_await(&child);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fake_hits(&fixture.ke, source, (uint32_t)child.pid), times);
    assert_int_equal(fixture.ke.count, times);
    for (size_t i = 0; i < fixture.ke.count; i++) {
        assert_true(fixture.ke.seen[i].hit.Address == (uintptr_t)target_function);
        assert_int_equal(fixture.ke.seen[i].hit.Scope, KE_SCOPE_PROCESS);
        assert_int_equal(fixture.ke.seen[i].hit.Selector, 0);
    }

    for (long i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); i++) {
        fixture.hal->StopProfileInterrupt(fixture.perf, source, (ULONG)i,
                                          (ULONG64)child.pid);
    }
    assert_null(fixture.perf->targets);
    assert_int_equal(child_end(&child), 0);
    fixture_close(&fixture);
}

static void
stop__then_more_calls__no_more_hits(void **state)
{
    need_exact_source();

    int times = 50;
    struct fixture fixture;
    KPROFILE_SOURCE source;
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    fixture_open(&fixture);
    source = source_on_target(&fixture);
    start_everywhere(&fixture, source, getpid());
    call_target(&times);
    for (ULONG i = 0; i < (ULONG)sysconf(_SC_NPROCESSORS_ONLN); i++) {
        fixture.hal->StopProfileInterrupt(fixture.perf, source, i, (ULONG64)getpid());
    }
    call_target(&times);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fake_hits(&fixture.ke, source, 0), times);
    assert_null(fixture.perf->closed);

    assert_int_equal(HalPerfBackend.QuerySourceStatistics(fixture.perf, source,
                                                          (ULONG64)times, &statistics),
                     STATUS_SUCCESS);
    assert_int_equal(statistics.Events, times);
    assert_int_equal(statistics.Expected, times);
    assert_int_equal(statistics.Lost + statistics.Throttled + statistics.Missed +
                         statistics.Excluded,
                     0);
    fixture_close(&fixture);
}

static void
set_interval__while_running__new_interval_counts(void **state)
{
    need_exact_source();

    int times = 100;
    struct fixture fixture;
    KPROFILE_SOURCE source;
    HAL_SOURCE_STATISTICS statistics;
    HAL_SOURCE information;

    (void)state;
    fixture_open(&fixture);
    source = source_on_target(&fixture);
    start_everywhere(&fixture, source, getpid());
    call_target(&times);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fake_hits(&fixture.ke, source, 0), 100);

    fixture.hal->SetInterval(fixture.perf, source, 1000);
    fixture.hal->QuerySource(fixture.perf, source, &information);
    assert_int_equal(information.Interval, 1000);
    call_target(&times);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fake_hits(&fixture.ke, source, 0), 100);

    HalPerfBackend.QuerySourceStatistics(fixture.perf, source, 100, &statistics);
    assert_int_equal(statistics.Events, 200);
    assert_int_equal(statistics.Expected, 100);
    assert_int_equal(statistics.IntervalAsked, 1000);
    fixture_close(&fixture);
}

/* Threads that run, and one more that begins after the attach. */
struct crew {
    pthread_barrier_t ready;
    pthread_barrier_t go;
    pthread_barrier_t done;
};

static void *
crew_member(void *argument)
{
    struct crew *crew = argument;
    int times = 100;

    pthread_barrier_wait(&crew->ready);
    pthread_barrier_wait(&crew->go);
    call_target(&times);
    pthread_barrier_wait(&crew->done);
    return NULL;
}

static void *
late_comer(void *argument)
{
    int times = 100;

    call_target(&times);
    return argument;
}

/* Each source of a started profile has its own events with the side band. */
static void
set_interval__of_one_source__another_goes_on(void **state)
{
    need_exact_source();

    struct fixture fixture;
    KPROFILE_SOURCE source;
    int times = 30;

    (void)state;
    fixture_open(&fixture);
    source = source_on_target(&fixture);
    start_everywhere(&fixture, ProfileTime, getpid());
    start_everywhere(&fixture, source, getpid());
    fixture.hal->SetInterval(fixture.perf, ProfileTime, 20000);
    call_target(&times);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fake_hits(&fixture.ke, source, 0), 30);
    fixture_close(&fixture);
}

static void
attach__four_threads__each_hit_once(void **state)
{
    need_exact_source();

    struct fixture fixture;
    struct crew crew;
    pthread_t threads[3];
    pthread_t late;
    int times = 100;
    int down[2];
    int up[2];
    pid_t pid;
    KPROFILE_SOURCE source;
    size_t exits_before;
    char byte;

    (void)state;
    assert_int_equal(pipe(down), 0);
    assert_int_equal(pipe(up), 0);
    pid = fork();
    if (pid == 0) {
        pthread_barrier_init(&crew.ready, NULL, 4);
        pthread_barrier_init(&crew.go, NULL, 4);
        pthread_barrier_init(&crew.done, NULL, 4);
        for (int i = 0; i < 3; i++) {
            pthread_create(&threads[i], NULL, crew_member, &crew);
        }
        pthread_barrier_wait(&crew.ready);
        child_say(up[1]);
        child_step(down[0], -1);
        pthread_barrier_wait(&crew.go);
        call_target(&times);
        pthread_barrier_wait(&crew.done);
        for (int i = 0; i < 3; i++) {
            pthread_join(threads[i], NULL);
        }
        pthread_create(&late, NULL, late_comer, NULL);
        pthread_join(late, NULL);
        child_say(up[1]);
        child_step(down[0], -1);
        _exit(0);
    }
    assert_int_equal(read(up[0], &byte, 1), 1);
    fixture_open(&fixture);
    source = source_on_target(&fixture);
    assert_int_equal(watch(&fixture, pid, 0, &source, 1), STATUS_SUCCESS);
    assert_int_equal(fake_count(&fixture.ke, NTPROF_PROCESS_START, (uint32_t)pid), 1);
    assert_true(fake_count(&fixture.ke, NTPROF_IMAGE_MAP, (uint32_t)pid) >= 3);

    /* A profile in a watched process needs nothing more. */
    assert_int_equal(start_on(&fixture, source, 0, (ULONG64)pid), STATUS_SUCCESS);
    assert_non_null(fixture.perf->targets);
    assert_true(write(down[1], "x", 1) == 1);
    assert_int_equal(read(up[0], &byte, 1), 1);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fake_hits(&fixture.ke, source, (uint32_t)pid), 500);
    exits_before = fake_count(&fixture.ke, NTPROF_PROCESS_EXIT, 0);
    assert_int_equal(exits_before, 0);

    assert_true(write(down[1], "x", 1) == 1);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fake_count(&fixture.ke, NTPROF_PROCESS_EXIT, (uint32_t)pid), 1);
    assert_int_equal(fake_count(&fixture.ke, NTPROF_IMAGE_UNMAP, (uint32_t)pid),
                     fake_count(&fixture.ke, NTPROF_IMAGE_MAP, (uint32_t)pid));
    assert_int_equal(fixture.perf->stream.processes.by_pid.count, 0);
    fixture_close(&fixture);
}

/* Replay what was seen: is each user-mode hit in a mapping that was known then? */
static void
check_hits_mapped(const struct _KE_SYSTEM *ke)
{
    for (size_t i = 0; i < ke->count; i++) {
        const struct seen *hit = &ke->seen[i];
        int depth = 0;

        if (hit->kind != 0 || hit->hit.Address >> 63 != 0) {
            continue;
        }
        for (size_t n = 0; n < i; n++) {
            const struct seen *seen = &ke->seen[n];

            if (seen->pid == hit->pid && hit->hit.Address - seen->base < seen->length) {
                depth += seen->kind == NTPROF_IMAGE_MAP;
                depth -= seen->kind == NTPROF_IMAGE_UNMAP;
            }
        }
        assert_int_equal(depth, 1);
    }
}

static void
watch__shell_command__told_in_order(void **state)
{
    struct child child = command_start("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); "
                                       "done; /bin/true; (exit 3); /bin/true");
    const uint32_t pid = (uint32_t)child.pid;
    struct fixture fixture;
    KPROFILE_SOURCE source;
    size_t starts;
    int status;

    (void)state;
    fixture_open(&fixture);
    source = lookup(&fixture, "time");
    fixture.hal->SetInterval(fixture.perf, source, 2000);
    assert_int_equal(watch(&fixture, child.pid,
                           NTPROF_WATCH_ON_EXEC | NTPROF_WATCH_DESCENDANTS, &source, 1),
                     STATUS_SUCCESS);
    assert_int_equal(fixture.ke.count, 0);
    child_go(&child);
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    fixture.hal->Flush(fixture.perf);

    assert_true(fixture.ke.count > 10);
    assert_int_equal(fixture.ke.seen[0].kind, NTPROF_PROCESS_START);
    assert_int_equal(fixture.ke.seen[0].pid, pid);
    assert_int_equal(fixture.ke.seen[0].parent_pid, 0);
    assert_int_equal(fixture.ke.seen[1].kind, NTPROF_PROCESS_EXEC);
    assert_string_equal(fixture.ke.seen[1].name, "sh");
    assert_int_equal(fake_count(&fixture.ke, NTPROF_PROCESS_START, pid), 1);
    assert_int_equal(fake_count(&fixture.ke, NTPROF_PROCESS_EXIT, pid), 1);
    assert_true(fake_hits(&fixture.ke, source, pid) > 0);
    check_hits_mapped(&fixture.ke);

    /* true, the subshell, true: the last may be execed without a fork. */
    starts = fake_count(&fixture.ke, NTPROF_PROCESS_START, 0);
    assert_in_range(starts, 3, 4);
    assert_int_equal(fake_count(&fixture.ke, NTPROF_PROCESS_EXIT, 0), starts);
    assert_int_equal(fake_count(&fixture.ke, NTPROF_IMAGE_UNMAP, 0),
                     fake_count(&fixture.ke, NTPROF_IMAGE_MAP, 0));
    assert_int_equal(fixture.perf->stream.processes.by_pid.count, 0);
    close(child.to);
    fixture_close(&fixture);
}

static void
watch__command_that_cannot_exec__nothing_told(void **state)
{
    struct fixture fixture;
    KPROFILE_SOURCE source;
    int down[2];
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(down), 0);
    pid = fork();
    if (pid == 0) {
        child_step(down[0], -1);
        execl("/nonexistent", "x", (char *)NULL);
        _exit(127);
    }
    fixture_open(&fixture);
    source = lookup(&fixture, "time");
    assert_int_equal(watch(&fixture, pid,
                           NTPROF_WATCH_ON_EXEC | NTPROF_WATCH_DESCENDANTS, &source, 1),
                     STATUS_SUCCESS);
    assert_int_equal(write(down[1], "x", 1), 1);
    waitpid(pid, NULL, 0);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fixture.ke.count, 0);
    fixture_close(&fixture);
    close(down[0]);
    close(down[1]);
}

/* Start a profile in the notification that the process maps its program. */
struct reaction {
    struct fixture *fixture;
    KPROFILE_SOURCE source;
    int starts;
};

static void
start_at_map(struct _KE_SYSTEM *ke, const struct seen *seen)
{
    struct reaction *reaction = ke->react_context;

    if (seen->kind == NTPROF_IMAGE_MAP) {
        HAL_SOURCE_STATISTICS statistics;
        NTSTATUS status;

        reaction->fixture->hal->Flush(reaction->fixture->perf);
        status = start_on(reaction->fixture, reaction->source, 0, seen->pid);
        /* It may have ended since. */
        assert_true(status == STATUS_SUCCESS ||
                    status == STATUS_PROCESS_IS_TERMINATING);
        reaction->fixture->hal->StopProfileInterrupt(reaction->fixture->perf,
                                                     reaction->source, 0, seen->pid);
        assert_int_equal(HalPerfBackend.QuerySourceStatistics(
                             reaction->fixture->perf, reaction->source, 0, &statistics),
                         STATUS_SUCCESS);
        reaction->starts++;
    }
}

static void
deliver__calls_back_within__safe(void **state)
{
    struct child child = command_start("/bin/true; /bin/true");
    struct fixture fixture;
    struct reaction reaction = {.fixture = &fixture};
    KPROFILE_SOURCE source;

    (void)state;
    fixture_open(&fixture);
    source = lookup(&fixture, "time");
    reaction.source = lookup(&fixture, "page-faults");
    fixture.ke.react = start_at_map;
    fixture.ke.react_context = &reaction;
    assert_int_equal(watch(&fixture, child.pid,
                           NTPROF_WATCH_ON_EXEC | NTPROF_WATCH_DESCENDANTS, &source, 1),
                     STATUS_SUCCESS);
    child_go(&child);
    /* Delivered as soon as there is something, so that it is alive if possible. */
    while (fake_count(&fixture.ke, NTPROF_IMAGE_MAP, 0) == 0) {
        usleep(1000);
        HalPerfBackend.Deliver(fixture.perf);
    }
    waitpid(child.pid, NULL, 0);
    fixture.ke.react = NULL;
    fixture.hal->Flush(fixture.perf);
    assert_true(fake_count(&fixture.ke, NTPROF_IMAGE_MAP, 0) >= 3);
    close(child.to);
    fixture_close(&fixture);
}

static void
exit_after_forking(void *argument)
{
    (void)argument;
    for (int i = 0; i < 200; i++) {
        const pid_t pid = fork();

        if (pid == 0) {
            call_target(&(int){2});
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

static void
watch__200_forks__each_told_and_counted(void **state)
{
    need_exact_source();

    struct child child = child_start(exit_after_forking, NULL);
    struct fixture fixture;
    KPROFILE_SOURCE source;

    (void)state;
    child_await(&child);
    fixture_open(&fixture);
    source = source_on_target(&fixture);
    assert_int_equal(watch(&fixture, child.pid, NTPROF_WATCH_DESCENDANTS, &source, 1),
                     STATUS_SUCCESS);
    child_go(&child);
    child_await(&child);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fake_hits(&fixture.ke, source, 0), 400);
    assert_int_equal(fake_count(&fixture.ke, NTPROF_PROCESS_START, 0), 201);
    assert_int_equal(fake_count(&fixture.ke, NTPROF_PROCESS_EXIT, 0), 200);
    assert_int_equal(fixture.perf->stream.processes.by_pid.count, 1);
    child_end(&child);
    fixture_close(&fixture);
}

static void
watch__without_descendants__children_neither_told_nor_counted(void **state)
{
    need_exact_source();

    struct child child = child_start(exit_after_forking, NULL);
    struct fixture fixture;
    KPROFILE_SOURCE source;

    (void)state;
    child_await(&child);
    fixture_open(&fixture);
    if (!fixture.perf->features.inherit_thread) {
        child_go(&child);
        child_await(&child);
        child_end(&child);
        fixture_close(&fixture);
        skip(); /* before Linux 5.13 children inherit in any case */
    }
    source = source_on_target(&fixture);
    assert_int_equal(watch(&fixture, child.pid, 0, &source, 1), STATUS_SUCCESS);
    child_go(&child);
    child_await(&child);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fake_hits(&fixture.ke, source, 0), 0);
    assert_int_equal(fake_count(&fixture.ke, NTPROF_PROCESS_START, 0), 1);
    child_end(&child);
    fixture_close(&fixture);
}

/* Two children call the target after the interval changed. */
static void
fork_then_call(void *argument)
{
    int *pipes = argument;
    char byte;

    for (int i = 0; i < 2; i++) {
        if (fork() == 0) {
            child_say(pipes[1]);
            if (read(pipes[2], &byte, 1) != 1) {
                _exit(1);
            }
            call_target(&(int){100});
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
}

static void
set_interval__children_inherited__reaches_them(void **state)
{
    need_exact_source();

    int pipes[4];
    struct child child;
    struct fixture fixture;
    KPROFILE_SOURCE source;
    char byte;

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(pipe(pipes + 2), 0);
    child = child_start(fork_then_call, pipes);
    child_await(&child);
    fixture_open(&fixture);
    source = source_on_target(&fixture);
    assert_int_equal(watch(&fixture, child.pid, NTPROF_WATCH_DESCENDANTS, &source, 1),
                     STATUS_SUCCESS);
    child_go(&child);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(read(pipes[0], &byte, 1), 1);
    }
    fixture.hal->SetInterval(fixture.perf, source, 1000);
    assert_int_equal(write(pipes[3], "xx", 2), 2);
    child_await(&child);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fake_hits(&fixture.ke, source, 0), 0);
    assert_int_equal(fake_count(&fixture.ke, NTPROF_PROCESS_START, 0), 3);
    assert_int_equal(fake_count(&fixture.ke, NTPROF_PROCESS_EXIT, 0), 2);
    child_end(&child);
    fixture_close(&fixture);
}

/* A ring's data is whole pages. */
static size_t
least_ring_bytes(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return page > 8192 ? page : 8192;
}

static void
watch__small_rings__loss_told_and_mappings_found_again(void **state)
{
    need_exact_source();

    struct child child = child_start(exit_after_forking, NULL);
    struct fixture fixture;
    KPROFILE_SOURCE source;
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    child_await(&child);
    fixture_open(&fixture);
    fixture.perf->ring_bytes_wanted = least_ring_bytes();
    source = source_on_target(&fixture);
    assert_int_equal(watch(&fixture, child.pid, NTPROF_WATCH_DESCENDANTS, &source, 1),
                     STATUS_SUCCESS);
    child_go(&child);
    child_await(&child);
    fixture.hal->Flush(fixture.perf);
    /* A LOST record comes with the next record that finds room. */
    child_end(&child);
    fixture.hal->Flush(fixture.perf);
    assert_true(fake_count(&fixture.ke, NTPROF_RECORDS_LOST, 0) > 0);
    HalPerfBackend.QuerySourceStatistics(
        fixture.perf, source, fake_hits(&fixture.ke, source, 0), &statistics);
    assert_true(statistics.Lost > 0);
    assert_int_equal(statistics.Expected,
                     fake_hits(&fixture.ke, source, 0) + statistics.Lost +
                         statistics.Throttled + statistics.Missed +
                         statistics.Unfinished + statistics.Excluded);
    assert_int_equal(fixture.perf->stream.processes.by_pid.count, 0);
    assert_int_equal(fake_count(&fixture.ke, NTPROF_PROCESS_EXIT, 0),
                     fake_count(&fixture.ke, NTPROF_PROCESS_START, 0));
    assert_int_equal(fake_count(&fixture.ke, NTPROF_IMAGE_UNMAP, 0),
                     fake_count(&fixture.ke, NTPROF_IMAGE_MAP, 0));
    fixture_close(&fixture);
}

/* Such rings have room for 256 bytes of each hit of 32 ms. rule: stack-granted */
static void
start__small_rings__no_room_for_stacks_and_refused(void **state)
{
    const ULONG pid = (ULONG)getpid();
    struct fixture fixture;
    HAL_STATISTICS statistics;

    (void)state;
    if (least_ring_bytes() != 8192) {
        print_message("pages are larger than 8 kB\n");
        skip();
    }
    fixture_open_asking(&fixture, FALSE, 65536);
    fixture.perf->ring_bytes_wanted = 8192;
    assert_int_equal(
        fixture.hal->StartProfileInterrupt(fixture.perf, ProfileTime, 0, pid),
        STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(HalPerfBackend.Error(fixture.perf),
                           "rings of 8192 bytes have room for "));
    HalPerfBackend.QueryStatistics(fixture.perf, &statistics);
    assert_int_equal(statistics.RingBytes, 0);
    assert_int_equal(statistics.StackBytes, 0);
    /* With a hit each 100 ms it is an eighth of a ring. */
    fixture.hal->SetInterval(fixture.perf, ProfileTime, 1000000);
    assert_int_equal(
        fixture.hal->StartProfileInterrupt(fixture.perf, ProfileTime, 0, pid),
        STATUS_SUCCESS);
    HalPerfBackend.QueryStatistics(fixture.perf, &statistics);
    assert_int_equal(statistics.StackBytes, 1024);
    fixture.hal->StopProfileInterrupt(fixture.perf, ProfileTime, 0, pid);
    fixture_close(&fixture);
}

/* Of the rings, and of records that are joined. */
static void
start__stacks__in_no_core_dump(void **state)
{
    const ULONG pid = (ULONG)getpid();
    struct fixture fixture;
    uint32_t processor = 0;

    (void)state;
    fixture_open_asking(&fixture, FALSE, 1024);
    assert_int_equal(
        fixture.hal->StartProfileInterrupt(fixture.perf, ProfileTime, 0, pid),
        STATUS_SUCCESS);
    assert_true(perf_next_online(fixture.perf, &processor));
    assert_true(is_in_no_core_dump(fixture.perf->rings[processor]->data));
    assert_true(is_in_no_core_dump(fixture.perf->rings[processor]->scratch));
    assert_false(is_in_no_core_dump(&fixture));
    fixture.hal->StopProfileInterrupt(fixture.perf, ProfileTime, 0, pid);
    fixture_close(&fixture);
}

/* Code made executable by mprotect, then replaced in place. */
static void
make_code(void *argument)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)argument;
    mprotect(memory, 4 * page, PROT_READ | PROT_EXEC);
    mmap(memory + page, page, PROT_READ | PROT_EXEC,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void
watch__mprotect_to_exec__image_map_anonymous(void **state)
{
    struct child child = child_start(make_code, NULL);
    struct fixture fixture;
    size_t anonymous = 0;

    (void)state;
    child_await(&child);
    fixture_open(&fixture);
    assert_int_equal(watch(&fixture, child.pid, 0, NULL, 0), STATUS_SUCCESS);
    fake_clear(&fixture.ke);
    child_go(&child);
    child_await(&child);
    fixture.hal->Flush(fixture.perf);
    for (size_t i = 0; i < fixture.ke.count; i++) {
        if (fixture.ke.seen[i].kind == NTPROF_IMAGE_MAP) {
            assert_true((fixture.ke.seen[i].flags & NTPROF_IMAGE_ANONYMOUS) != 0);
            anonymous++;
        }
    }
    assert_true(anonymous >= 1);
    child_end(&child);
    fixture_close(&fixture);
}

static void
start__all_processes__by_right_only(void **state)
{
    struct fixture fixture;
    HAL_PROBE probe;
    KPROFILE_SOURCE source;
    NTSTATUS status;

    (void)state;
    fixture_open(&fixture);
    HalPerfBackend.Probe(&probe);
    assert_true(probe.Usable);
    source = lookup(&fixture, "time");
    status = start_on(&fixture, source, 0, 0);
    if (probe.Global) {
        assert_int_equal(status, STATUS_SUCCESS);
        burn(50000000);
        fixture.hal->Flush(fixture.perf);
        for (size_t i = 0; i < fixture.ke.count; i++) {
            assert_int_equal(fixture.ke.seen[i].hit.Scope, KE_SCOPE_GLOBAL);
            assert_int_equal(fixture.ke.seen[i].hit.Processor, 0);
        }
        fixture.hal->StopProfileInterrupt(fixture.perf, source, 0, 0);
    } else {
        assert_int_equal(status, STATUS_PRIVILEGE_NOT_HELD);
        assert_non_null(
            strstr(HalPerfBackend.Error(fixture.perf), "perf_event_paranoid"));
        assert_true(probe.Reason[0] != 0);
    }
    assert_null(fixture.perf->targets);
    fixture_close(&fixture);
}

/* ---- code segments ---- */

/* The selector that all code of this program runs in; 0 on machines without. */
static ULONG
own_selector(void)
{
    ULONG selector = 0;

#if defined(__x86_64__) || defined(__i386__)
    __asm__("movl %%cs, %0" : "=r"(selector));
#endif
    return selector;
}

/* All hits are in target_function, and tell the segment if asked to. */
static void
assert_hits_tell(const struct fixture *fixture, KPROFILE_SOURCE source, pid_t pid,
                 size_t expected)
{
    size_t hits = 0;

    for (size_t i = 0; i < fixture->ke.count; i++) {
        const KE_HIT *const hit = &fixture->ke.seen[i].hit;

        if (fixture->ke.seen[i].kind != 0 || hit->Source != source ||
            (pid_t)hit->ProcessId != pid) {
            continue;
        }
        hits++;
        assert_true(hit->Address == (uintptr_t)target_function);
        assert_int_equal(hit->Selector, own_selector());
        assert_true(hit->Offset == (own_selector() != 0 ? hit->Address : 0));
    }
    assert_int_equal(hits, expected);
}

/* rule: hit-segment */
static void
selectors__process_that_runs__each_hit_tells_its_segment(void **state)
{
    need_exact_source();

    int times = 300;
    struct child child = child_start(call_target, &times);
    struct fixture fixture;
    KPROFILE_SOURCE source;

    (void)state;
    child_await(&child);
    fixture_open_as(&fixture, TRUE);
    source = source_on_target(&fixture);
    start_everywhere(&fixture, source, child.pid);
    child_go(&child);
    child_await(&child);
    fixture.hal->Flush(fixture.perf);
    assert_hits_tell(&fixture, source, child.pid, 300);
    assert_int_equal(child_end(&child), 0);
    fixture_close(&fixture);
}

static void
selectors__all_processes__each_hit_tells_its_segment(void **state)
{
    need_exact_source();

    int times = 300;
    struct child child;
    struct fixture fixture;
    HAL_PROBE probe;
    KPROFILE_SOURCE source;

    (void)state;
    HalPerfBackend.Probe(&probe);
    fixture_open_as(&fixture, TRUE);
    source = source_on_target(&fixture);
    if (!probe.Global) {
        assert_int_equal(start_on(&fixture, source, 0, 0), STATUS_PRIVILEGE_NOT_HELD);
        fixture_close(&fixture);
        return;
    }
    child = child_start(call_target, &times);
    child_await(&child);
    start_everywhere(&fixture, source, 0);
    child_go(&child);
    child_await(&child);
    fixture.hal->Flush(fixture.perf);
    assert_hits_tell(&fixture, source, child.pid, 300);
    assert_int_equal(child_end(&child), 0);
    fixture_close(&fixture);
}

/* A thread and a child of one's own, made after the events were. */
static void *
thread_calls(void *argument)
{
    call_target(argument);
    return NULL;
}

static void
begets(void *argument)
{
    pthread_t thread;
    pid_t child;

    if (pthread_create(&thread, NULL, thread_calls, argument) != 0 ||
        pthread_join(thread, NULL) != 0) {
        _exit(1);
    }
    child = fork();
    if (child == 0) {
        call_target(argument);
        _exit(0);
    }
    if (child < 0 || waitpid(child, NULL, 0) != child) {
        _exit(1);
    }
}

static void
selectors__watch_with_descendants__inherited_hits_tell_too(void **state)
{
    need_exact_source();

    int times = 100;
    struct child child = child_start(begets, &times);
    struct fixture fixture;
    KPROFILE_SOURCE source;
    pid_t grandchild = 0;

    (void)state;
    child_await(&child);
    fixture_open_as(&fixture, TRUE);
    source = source_on_target(&fixture);
    assert_int_equal(watch(&fixture, child.pid, NTPROF_WATCH_DESCENDANTS, &source, 1),
                     STATUS_SUCCESS);
    child_go(&child);
    child_await(&child);
    fixture.hal->Flush(fixture.perf);
    for (size_t i = 0; i < fixture.ke.count; i++) {
        if (fixture.ke.seen[i].kind == NTPROF_PROCESS_START &&
            (pid_t)fixture.ke.seen[i].pid != child.pid) {
            grandchild = (pid_t)fixture.ke.seen[i].pid;
        }
    }
    assert_int_not_equal(grandchild, 0);
    assert_hits_tell(&fixture, source, child.pid, 100);
    assert_hits_tell(&fixture, source, grandchild, 100);
    assert_int_equal(child_end(&child), 0);
    fixture_close(&fixture);
}

/* Hits in kernel mode come with the registers of the way in, which are not where they
 * were. Who may not see kernel mode has none. */
static void
selectors__kernel_mode__tells_none(void **state)
{
    struct fixture fixture;
    HAL_PROBE probe;
    KPROFILE_SOURCE source;
    size_t kernel = 0;
    size_t user = 0;

    (void)state;
    if (sizeof(void *) < 8) {
        print_message("kernel addresses are not told apart here\n");
        skip();
    }
    HalPerfBackend.Probe(&probe);
    fixture_open_as(&fixture, TRUE);
    source = lookup(&fixture, "time");
    start_everywhere(&fixture, source, getpid());
    while (kernel < (probe.Kernel ? 20u : 0u) || user < 20) {
        burn(1000000);
        for (int i = 0; i < 10000; i++) {
            (void)getppid();
        }
        fixture.hal->Flush(fixture.perf);
        for (size_t i = 0; i < fixture.ke.count; i++) {
            const KE_HIT *const hit = &fixture.ke.seen[i].hit;
            const bool in_kernel = hit->Address >> 63 != 0;

            assert_int_equal(fixture.ke.seen[i].kind, 0);
            assert_true(probe.Kernel || !in_kernel);
            assert_int_equal(hit->Selector, in_kernel ? 0 : own_selector());
            assert_true(hit->Offset == (hit->Selector != 0 ? hit->Address : 0));
            kernel += in_kernel;
            user += !in_kernel;
        }
        fake_clear(&fixture.ke);
    }
    fixture_close(&fixture);
}

static void
start__process_gone__terminating(void **state)
{
    struct fixture fixture;
    const pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    fixture_open(&fixture);
    assert_int_equal(start_on(&fixture, 0, 0, (ULONG64)pid),
                     STATUS_PROCESS_IS_TERMINATING);
    assert_int_equal(watch(&fixture, pid, 0, NULL, 0), STATUS_PROCESS_IS_TERMINATING);
    assert_null(fixture.perf->targets);
    assert_int_equal(fixture.perf->events.count, 0);
    fixture_close(&fixture);
}

/* In a process of its own, for a limit once lowered may not be raised again. */
static void
run_out_of_descriptors(void *argument)
{
    struct fixture *fixture = argument;
    const struct rlimit few = {.rlim_cur = 4, .rlim_max = 4};

    if (setrlimit(RLIMIT_NOFILE, &few) != 0 ||
        watch(fixture, getpid(), 0, NULL, 0) != STATUS_INSUFFICIENT_RESOURCES ||
        strstr(HalPerfBackend.Error(fixture->perf), "descriptors") == NULL ||
        fixture->perf->targets != NULL) {
        _exit(1);
    }
}

static void
watch__out_of_descriptors__says_so(void **state)
{
    struct fixture fixture;
    struct child child;

    (void)state;
    fixture_open(&fixture);
    child = child_start(run_out_of_descriptors, &fixture);
    child_await(&child);
    child_go(&child);
    child_await(&child);
    assert_int_equal(child_end(&child), 0);
    fixture_close(&fixture);
}

static void
descriptor__half_a_ring_full__polls_readable(void **state)
{
    need_exact_source();

    /* A hit takes 40 bytes. */
    cpu_set_t one;
    cpu_set_t before;
    struct fixture fixture;
    KPROFILE_SOURCE source;
    struct pollfd descriptor = {.events = POLLIN};
    int times;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    fixture_open(&fixture);
    source = source_on_target(&fixture);
    descriptor.fd = HalPerfBackend.Descriptor(fixture.perf);
    assert_int_equal(HalPerfBackend.Deliver(fixture.perf), -1);
    assert_int_equal(start_on(&fixture, source, 0, (ULONG64)getpid()), STATUS_SUCCESS);
    assert_int_equal(poll(&descriptor, 1, 0), 0);
    times = (int)(fixture.perf->rings[0]->size_bytes / 40 * 5 / 8);
    call_target(&times);
    assert_int_equal(poll(&descriptor, 1, 60000), 1);
    usleep(10000);
    assert_true(HalPerfBackend.Deliver(fixture.perf) > 0);
    assert_int_equal(fake_hits(&fixture.ke, source, 0), times);
    assert_int_equal(poll(&descriptor, 1, 0), 0);
    fixture.hal->StopProfileInterrupt(fixture.perf, source, 0, (ULONG64)getpid());
    usleep(10000);
    assert_int_equal(HalPerfBackend.Deliver(fixture.perf), -1);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    fixture_close(&fixture);
}

/* Linux stops measuring a program that runs with more rights than who measures. */
static void
watch__set_uid_command__ends_at_its_exec(void **state)
{
    static const char program[] = "/bin/su";
    struct fixture fixture;
    KPROFILE_SOURCE source;
    struct stat status;
    int down[2];
    pid_t pid;

    (void)state;
    if (stat(program, &status) != 0 || (status.st_mode & S_ISUID) == 0 ||
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0) {
        skip(); /* no set-uid program here, or it would gain nothing */
    }
    assert_int_equal(pipe(down), 0);
    pid = fork();
    if (pid == 0) {
        child_step(down[0], -1);
        if (freopen("/dev/null", "w", stdout) == NULL) {
            _exit(1);
        }
        execl(program, "su", "--version", (char *)NULL);
        _exit(127);
    }
    fixture_open(&fixture);
    source = lookup(&fixture, "time");
    assert_int_equal(watch(&fixture, pid, NTPROF_WATCH_ON_EXEC, &source, 1),
                     STATUS_SUCCESS);
    assert_int_equal(write(down[1], "x", 1), 1);
    waitpid(pid, NULL, 0);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fixture.ke.seen[0].kind, NTPROF_PROCESS_START);
    assert_int_equal(fixture.ke.seen[1].kind, NTPROF_PROCESS_EXEC);
    if (geteuid() == 0) {
        assert_int_equal(fixture.ke.seen[2].kind, NTPROF_IMAGE_MAP);
    } else {
        assert_int_equal(fixture.ke.seen[2].kind, NTPROF_PROCESS_EXIT);
        assert_int_equal(fixture.ke.count, 3);
    }
    assert_int_equal(fixture.perf->stream.processes.by_pid.count, 0);
    close(down[0]);
    close(down[1]);
    fixture_close(&fixture);
}

static void
start__processor_that_is_not_online__starts_and_counts_nothing(void **state)
{
    enum { NOT_ONLINE = 8191 };
    const ULONG64 pid = (ULONG64)getpid();
    struct fixture fixture;
    KPROFILE_SOURCE source;

    (void)state;
    fixture_open(&fixture);
    source = lookup(&fixture, "ProfileTime");
    assert_int_equal(start_on(&fixture, source, NOT_ONLINE, pid), STATUS_SUCCESS);
    burn(2000000);
    fixture.hal->Flush(fixture.perf);
    assert_int_equal(fake_hits(&fixture.ke, source, 0), 0);
    fixture.hal->StopProfileInterrupt(fixture.perf, source, NOT_ONLINE, pid);
    assert_null(fixture.perf->targets);
    fixture_close(&fixture);
}

static void
query_statistics__time__adds_up(void **state)
{
    struct fixture fixture;
    KPROFILE_SOURCE source;
    HAL_SOURCE_STATISTICS statistics;
    size_t taken;

    (void)state;
    fixture_open(&fixture);
    source = lookup(&fixture, "ProfileTime");
    /* Not the shortest one: where an interrupt takes longer than that, nothing else
     * runs any more. */
    fixture.hal->SetInterval(fixture.perf, source, 2000);
    start_everywhere(&fixture, source, getpid());
    burn(20000000);
    for (ULONG i = 0; i < (ULONG)sysconf(_SC_NPROCESSORS_ONLN); i++) {
        fixture.hal->StopProfileInterrupt(fixture.perf, source, i, (ULONG64)getpid());
    }
    fixture.hal->Flush(fixture.perf);
    taken = fake_hits(&fixture.ke, source, 0);
    assert_true(taken > 0);
    HalPerfBackend.QuerySourceStatistics(fixture.perf, source, taken, &statistics);
    assert_int_equal(statistics.IntervalAsked, 2000);
    assert_true(statistics.Expected >= taken);
    assert_int_equal(statistics.Expected, taken + statistics.Lost +
                                              statistics.Throttled + statistics.Missed +
                                              statistics.Unfinished +
                                              statistics.Excluded);
    assert_true(statistics.Missed == 0 || statistics.KernelIncluded);
    assert_true(statistics.Excluded == 0 || !statistics.KernelIncluded);
    fixture_close(&fixture);
}

/* ---- all processes ---- */

/* Watches all with one source; or sees that it is refused with a reason. */
static bool
watch_all(struct fixture *fixture, KPROFILE_SOURCE source)
{
    HAL_PROBE probe;

    HalPerfBackend.Probe(&probe);
    if (probe.Global) {
        assert_int_equal(watch(fixture, 0, 0, &source, 1), STATUS_SUCCESS);
        return true;
    }
    assert_int_equal(watch(fixture, 0, 0, &source, 1), STATUS_PRIVILEGE_NOT_HELD);
    assert_non_null(strstr(HalPerfBackend.Error(fixture->perf), "all processes"));
    assert_int_equal(fixture->ke.count, 0);
    assert_null(fixture->perf->targets);
    assert_null(fixture->perf->machine);
    return false;
}

static void
call_target_on(size_t processor, int times)
{
    cpu_set_t before;
    cpu_set_t set;

    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
    call_target(&times);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* The second is due: looks at the processors again. */
static void
notice(struct fixture *fixture)
{
    fixture->perf->online_checked_ns = 0;
    HalPerfBackend.Deliver(fixture->perf);
}

static size_t
own_hits(const struct fixture *fixture, KPROFILE_SOURCE source)
{
    fixture->hal->Flush(fixture->perf);
    return fake_hits(&fixture->ke, source, (uint32_t)getpid());
}

static uint64_t
first_event_id(const struct fixture *fixture, uint32_t processor)
{
    const struct perf_events *const events = &fixture->perf->targets->events;

    for (size_t i = 0; i < events->count; i++) {
        if (events->items[i]->processor == processor) {
            return events->items[i]->id;
        }
    }
    return 0;
}

static void
watch_all__hits__are_for_both_lists(void **state)
{
    need_exact_source();

    struct fixture fixture;
    KPROFILE_SOURCE source;
    int times = 30;

    (void)state;
    fixture_open(&fixture);
    source = source_on_target(&fixture);
    if (watch_all(&fixture, source)) {
        assert_int_equal(start_on(&fixture, source, 0, 0), STATUS_SUCCESS);
        assert_int_equal(start_on(&fixture, source, 0, (ULONG64)getpid()),
                         STATUS_SUCCESS);
        assert_null(fixture.perf->targets->next); /* neither needs more */
        call_target(&times);
        assert_int_equal(own_hits(&fixture, source), 30);
        for (size_t i = 0; i < fixture.ke.count; i++) {
            assert_true(fixture.ke.seen[i].kind != 0 ||
                        fixture.ke.seen[i].hit.Scope == KE_SCOPE_BOTH);
        }
    }
    fixture_close(&fixture);
}

/* An event of a processor ends when that goes offline: here it is made to end. */
static void
end_events_of(const struct fixture *fixture, uint32_t processor)
{
    const struct perf_events *const events = &fixture->perf->targets->events;

    for (size_t i = 0; i < events->count; i++) {
        if (events->items[i]->processor == processor) {
            assert_int_equal(ioctl(events->items[i]->fd, PERF_EVENT_IOC_DISABLE, 0), 0);
        }
    }
}

static void
watch_all__events_of_a_processor_ended__noticed_and_made_again(void **state)
{
    need_exact_source();

    const uint32_t last = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN) - 1;
    struct fixture fixture;
    KPROFILE_SOURCE source;
    HAL_SOURCE_STATISTICS statistics;
    uint64_t before;
    size_t taken;

    (void)state;
    fixture_open(&fixture);
    source = source_on_target(&fixture);
    if (!watch_all(&fixture, source)) {
        fixture_close(&fixture);
        return;
    }
    before = first_event_id(&fixture, last);
    notice(&fixture);
    notice(&fixture);
    assert_int_equal(first_event_id(&fixture, last), before);
    call_target_on(last, 20);
    assert_int_equal(own_hits(&fixture, source), 20);

    end_events_of(&fixture, last);
    call_target_on(last, 300);
    assert_int_equal(own_hits(&fixture, source), 20);
    notice(&fixture); /* there was time between the last look and the end */
    notice(&fixture);
    assert_true(first_event_id(&fixture, last) != before);
    call_target_on(last, 4000);
    assert_int_equal(own_hits(&fixture, source), 4020);
    /* The statistics are of all processes: another test's code may be at the same
     * address. */
    taken = fake_hits(&fixture.ke, source, 0);
    assert_int_equal(
        HalPerfBackend.QuerySourceStatistics(fixture.perf, source, taken, &statistics),
        STATUS_SUCCESS);
    assert_in_range(statistics.Expected, 4020, UINT64_MAX);
    assert_int_equal(statistics.Expected, taken + statistics.Lost +
                                              statistics.Throttled + statistics.Missed +
                                              statistics.Unfinished +
                                              statistics.Excluded);
    fixture_close(&fixture);
}

static uint64_t
unread(const struct fixture *fixture)
{
    HAL_STATISTICS statistics;

    HalPerfBackend.QueryStatistics(fixture->perf, &statistics);
    return statistics.Unread;
}

/* In a process of its own, as run_out_of_descriptors. */
static void
reopen_without_descriptors(void *argument)
{
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    const uint32_t processor = 0; /* which is found without descriptors, too */
    struct fixture fixture;
    uint64_t before;

    (void)argument;
    fixture_open(&fixture);
    if (!watch_all(&fixture, source_on_target(&fixture))) {
        return;
    }
    before = unread(&fixture);
    end_events_of(&fixture, processor);
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) {
        _exit(1);
    }
    for (int i = 0; i < 4; i++) {
        notice(&fixture);
    }
    if (unread(&fixture) != before + 1 || fixture.perf->context.error[0] != '\0') {
        _exit(2);
    }
}

static void
watch_all__processor_back_and_no_descriptor__reported_once(void **state)
{
    struct child child;

    (void)state;
    need_exact_source();
    child = child_start(reopen_without_descriptors, NULL);
    child_await(&child);
    child_go(&child);
    child_await(&child);
    assert_int_equal(child_end(&child), 0);
}

/* A processor that was not there when the watch began has neither ring nor events, and
 * a started profile opens none there either: its hits are the watch's. */
static void
watch_all__processor_that_comes_later__noticed(void **state)
{
    need_exact_source();

    const uint32_t last = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN) - 1;
    struct fixture fixture;
    KPROFILE_SOURCE source;

    (void)state;
    fixture_open(&fixture);
    source = source_on_target(&fixture);
    assert_int_equal(perf_make_rings(fixture.perf, true), 0);
    perf_ring_unmap(fixture.perf->rings[last]);
    free(fixture.perf->rings[last]);
    fixture.perf->rings[last] = NULL;
    if (!watch_all(&fixture, source)) {
        fixture_close(&fixture);
        return;
    }
    call_target_on(last, 20);
    assert_int_equal(own_hits(&fixture, source), 0);
    assert_int_equal(start_on(&fixture, source, last, 0), STATUS_SUCCESS);
    assert_null(fixture.perf->targets->next);
    call_target_on(last, 300);
    assert_int_equal(own_hits(&fixture, source), 0);
    notice(&fixture);
    assert_non_null(fixture.perf->rings[last]);
    assert_null(fixture.perf->targets->next);
    call_target_on(last, 4000);
    assert_int_equal(own_hits(&fixture, source), 4000);
    fixture_close(&fixture);
}

/* A watch that would count a hit again is refused, with what to do. */
static void
watch__profile_of_its_process_started__refused_until_it_stops(void **state)
{
    const KPROFILE_SOURCE time = ProfileTime;
    struct child child = child_start(exit_after_forking, NULL);
    struct fixture fixture;

    (void)state;
    child_await(&child);
    fixture_open(&fixture);
    assert_int_equal(start_on(&fixture, time, 0, (ULONG64)getpid()), STATUS_SUCCESS);
    assert_int_equal(watch(&fixture, getpid(), 0, &time, 1), STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(HalPerfBackend.Error(fixture.perf), "after the watch"));
    assert_int_equal(watch(&fixture, child.pid, NTPROF_WATCH_DESCENDANTS, &time, 1),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(watch(&fixture, child.pid, 0, &time, 1), STATUS_SUCCESS);
    fixture.hal->StopProfileInterrupt(fixture.perf, time, 0, (ULONG64)getpid());
    assert_int_equal(watch(&fixture, getpid(), 0, &time, 1), STATUS_SUCCESS);
    fixture_close(&fixture);
    child_go(&child);
    child_await(&child);
    assert_int_equal(child_end(&child), 0);
}

static void
watch_all__beside_another_watch__refused(void **state)
{
    const KPROFILE_SOURCE time = ProfileTime;
    struct fixture fixture;

    (void)state;
    fixture_open(&fixture);
    assert_int_equal(watch(&fixture, getpid(), 0, &time, 1), STATUS_SUCCESS);
    assert_int_equal(watch(&fixture, 0, 0, &time, 1), STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(HalPerfBackend.Error(fixture.perf), "first and only"));
    fixture_close(&fixture);

    fixture_open(&fixture);
    if (watch_all(&fixture, time)) {
        assert_int_equal(watch(&fixture, getpid(), 0, &time, 1), STATUS_NOT_SUPPORTED);
        assert_non_null(strstr(HalPerfBackend.Error(fixture.perf), "already"));
        assert_int_equal(watch(&fixture, 0, 0, &time, 1), STATUS_NOT_SUPPORTED);
    }
    fixture_close(&fixture);
}

/* By posix_spawn: a fork copies this process, which takes long under ASan. */
static void
spawn_and_wait(void)
{
    static char name[] = "true";
    char *const arguments[] = {name, NULL};
    pid_t pid;

    assert_int_equal(posix_spawnp(&pid, name, NULL, NULL, arguments, NULL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
watch_all__small_rings__loss_told_and_truth_found_again(void **state)
{
    need_exact_source();

    struct child before = child_start(exit_after_forking, NULL);
    struct child unseen;
    struct fixture fixture;
    KPROFILE_SOURCE source;
    struct perf_process *process;

    (void)state;
    child_await(&before);
    fixture_open(&fixture);
    fixture.perf->ring_bytes_wanted = least_ring_bytes();
    source = source_on_target(&fixture);
    if (!watch_all(&fixture, source)) {
        child_go(&before);
        child_await(&before);
        child_end(&before);
        fixture_close(&fixture);
        return;
    }
    assert_non_null(
        process_table_find(&fixture.perf->stream.processes, (uint32_t)before.pid));
    for (int i = 0; i < 500; i++) {
        spawn_and_wait();
    }
    /* Its birth and the other's end find no room. */
    unseen = child_start(exit_after_forking, NULL);
    child_await(&unseen);
    child_go(&before);
    child_await(&before);
    assert_int_equal(child_end(&before), 0);
    while (fixture.perf->stream.resync ||
           fake_count(&fixture.ke, NTPROF_RECORDS_LOST, 0) == 0) {
        spawn_and_wait(); /* a LOST record comes with the next that finds room */
        fixture.hal->Flush(fixture.perf);
    }
    assert_null(
        process_table_find(&fixture.perf->stream.processes, (uint32_t)before.pid));
    process = process_table_find(&fixture.perf->stream.processes, (uint32_t)unseen.pid);
    assert_non_null(process);
    assert_true(process->mappings.count > 0);
    assert_int_equal(
        fake_count(&fixture.ke, NTPROF_PROCESS_START, (uint32_t)unseen.pid), 1);
    child_go(&unseen);
    child_await(&unseen);
    assert_int_equal(child_end(&unseen), 0);
    fixture_close(&fixture);
}

static void
sources__unsupported__says_why(void **state)
{
    struct fixture fixture;
    KPROFILE_SOURCE source;
    ULONG index = 0;

    (void)state;
    fixture_open(&fixture);
    while (HalPerfBackend.NextSource(fixture.perf, index++, &source) ==
           STATUS_SUCCESS) {
        HAL_SOURCE_STATISTICS statistics;
        HAL_SOURCE information;

        fixture.hal->QuerySource(fixture.perf, source, &information);
        HalPerfBackend.QuerySourceStatistics(fixture.perf, source, 0, &statistics);
        assert_int_equal(information.Supported, statistics.Reason[0] == 0);
        assert_true(information.DefaultInterval >= information.MinimumInterval);
        if (!information.Supported) {
            assert_int_not_equal(start_on(&fixture, source, 0, (ULONG64)getpid()),
                                 STATUS_SUCCESS);
            assert_non_null(
                strstr(HalPerfBackend.Error(fixture.perf), statistics.Name));
        }
    }
    assert_true(index > 15);
    fixture_close(&fixture);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(start__exact_source_interval_1__every_call_is_one_hit),
    cmocka_unit_test(stop__then_more_calls__no_more_hits),
    cmocka_unit_test(set_interval__while_running__new_interval_counts),
    cmocka_unit_test(set_interval__of_one_source__another_goes_on),
    cmocka_unit_test(attach__four_threads__each_hit_once),
    cmocka_unit_test(watch__shell_command__told_in_order),
    cmocka_unit_test(watch__command_that_cannot_exec__nothing_told),
    cmocka_unit_test(deliver__calls_back_within__safe),
    cmocka_unit_test(watch__200_forks__each_told_and_counted),
    cmocka_unit_test(watch__without_descendants__children_neither_told_nor_counted),
    cmocka_unit_test(set_interval__children_inherited__reaches_them),
    cmocka_unit_test(start__small_rings__no_room_for_stacks_and_refused),
    cmocka_unit_test(start__stacks__in_no_core_dump),
    cmocka_unit_test(watch__small_rings__loss_told_and_mappings_found_again),
    cmocka_unit_test(watch__mprotect_to_exec__image_map_anonymous),
    cmocka_unit_test(start__all_processes__by_right_only),
    cmocka_unit_test(selectors__process_that_runs__each_hit_tells_its_segment),
    cmocka_unit_test(selectors__all_processes__each_hit_tells_its_segment),
    cmocka_unit_test(selectors__watch_with_descendants__inherited_hits_tell_too),
    cmocka_unit_test(selectors__kernel_mode__tells_none),
    cmocka_unit_test(start__process_gone__terminating),
    cmocka_unit_test(watch__out_of_descriptors__says_so),
    cmocka_unit_test(descriptor__half_a_ring_full__polls_readable),
    cmocka_unit_test(watch__set_uid_command__ends_at_its_exec),
    cmocka_unit_test(start__processor_that_is_not_online__starts_and_counts_nothing),
    cmocka_unit_test(query_statistics__time__adds_up),
    cmocka_unit_test(watch_all__hits__are_for_both_lists),
    cmocka_unit_test(watch_all__events_of_a_processor_ended__noticed_and_made_again),
    cmocka_unit_test(watch_all__processor_back_and_no_descriptor__reported_once),
    cmocka_unit_test(watch_all__processor_that_comes_later__noticed),
    cmocka_unit_test(watch__profile_of_its_process_started__refused_until_it_stops),
    cmocka_unit_test(watch_all__beside_another_watch__refused),
    cmocka_unit_test(watch_all__small_rings__loss_told_and_truth_found_again),
    cmocka_unit_test(sources__unsupported__says_why),
};

/* Give up all rights, but stay open to our own events. */
static void
become_ordinary(void)
{
    if (setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0) {
        _exit(99);
    }
}

/* NTPROF_TEST_USERS=caller leaves the ordinary user out, as in harness.py. */
int
main(void)
{
    const char *const users = getenv("NTPROF_TEST_USERS");
    int failed = cmocka_run_group_tests_name("perf as caller", tests, NULL, NULL);

    if (geteuid() == 0 && (users == NULL || strcmp(users, "caller") != 0)) {
        int status = 0;
        const pid_t pid = fork();

        if (pid == 0) {
            become_ordinary();
            _exit(cmocka_run_group_tests_name("perf as ordinary user", tests, NULL,
                                              NULL));
        }
        waitpid(pid, &status, 0);
        failed += WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    return failed;
}
