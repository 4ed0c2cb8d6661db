/* SPDX-License-Identifier: MIT */
/* thread_timer.c - timers on the processor clocks of threads of this process. */
#include "hal/timer/thread_timer.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 4, STACK_BYTES = 1 << 16 };

/* What hits leave behind. */
struct record {
    atomic_uint hits;
    atomic_uint overruns;
    atomic_uint inside; /* hits in burn_once */
    _Atomic pid_t tid;  /* of the last hit */
    _Atomic uintptr_t frame;
    _Atomic uint64_t clock_ns; /* of the thread, at the last hit */
};

static struct record record;

/* ---- Work ---- */

static volatile unsigned sink;

__attribute__((noinline, aligned(4096))) static void
burn_once(void)
{
    for (unsigned i = 0; i < 20000; i++) {
        sink += i;
    }
}

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
burn_ticks(unsigned ticks)
{
    const uint64_t end =
        clock_ns(CLOCK_THREAD_CPUTIME_ID) + ticks * thread_timer_tick_ns();

    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
        burn_once();
    }
}

/* The test's time limit ends what never comes. */
static void
burn_until(const atomic_uint *counter, unsigned least)
{
    while (atomic_load(counter) < least) {
        burn_once();
    }
}

static pid_t
own_tid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

static void
note_hit(void *context, uintptr_t pc, unsigned overrun, const ucontext_t *machine)
{
    struct record *const noted = context;

    assert_non_null(machine);
    atomic_store(&noted->tid, own_tid());
    atomic_store(&noted->frame, (uintptr_t)__builtin_frame_address(0));
    atomic_store(&noted->clock_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID));
    atomic_fetch_add(&noted->overruns, overrun);
    if (pc - (uintptr_t)burn_once < 256) {
        atomic_fetch_add(&noted->inside, 1);
    }
    errno = EXDEV; /* what a handler must not show */
    atomic_fetch_add(&noted->hits, 1);
}

static void
init_into(struct thread_timer *timer, struct record *noted)
{
    const struct thread_timer_options options = {.hit = note_hit, .context = noted};

    memset(noted, 0, sizeof(*noted));
    assert_int_equal(thread_timer_init(timer, &options), 0);
}

static void
init(struct thread_timer *timer)
{
    init_into(timer, &record);
}

static bool
has_default_action(int signal)
{
    struct sigaction action;

    sigaction(signal, NULL, &action);
    return action.sa_handler == SIG_DFL;
}

static void
set_mask(int how, int signal)
{
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, signal);
    pthread_sigmask(how, &mask, NULL);
}

/* Exit status of a child, or 1000 and its signal. */
static int
result_of(pid_t child)
{
    int status;

    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Run a test in a child: signals that it leaves to the program are so for ever. */
static void
run_in_child(void (*test)(void))
{
    const pid_t child = fork();

    if (child == 0) {
        test();
        _exit(0);
    }
    assert_int_equal(result_of(child), 0);
}

/* ---- Threads that work until told to end ---- */

struct workers {
    pthread_t threads[THREADS];
    atomic_int tids[THREADS];
    atomic_bool end;
    atomic_int numbered;
};

static struct workers workers;

static void *
work(void *unused)
{
    (void)unused;
    atomic_store(&workers.tids[atomic_fetch_add(&workers.numbered, 1)], own_tid());
    while (!atomic_load(&workers.end)) {
        burn_once();
    }
    return NULL;
}

static void
start_workers(void)
{
    memset(&workers, 0, sizeof(workers));
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&workers.threads[i], NULL, work, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        while (atomic_load(&workers.tids[i]) == 0) {
            sched_yield();
        }
    }
}

static void
end_workers(void)
{
    atomic_store(&workers.end, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers.threads[i], NULL);
    }
}

/* ---- Tests ---- */

static void
interval_below_the_tick__raised(void **state)
{
    const struct thread_timer_options options = {.hit = note_hit, .interval_ns = 1};
    const uint64_t tick_ns = thread_timer_tick_ns();
    struct thread_timer timer;

    (void)state;
    assert_in_range(tick_ns, 100000, 10000000);
    assert_int_equal(thread_timer_init(&timer, &options), 0);
    assert_int_equal(timer.options.interval_ns, tick_ns);
    assert_int_equal(thread_timer_set_interval(&timer, 3 * tick_ns), 3 * tick_ns);
    assert_int_equal(thread_timer_set_interval(&timer, tick_ns - 1), tick_ns);
    thread_timer_finish(&timer);
}

/* At a hit each interval that has passed, and the one that the timer started in, is in
 * a hit or in an overrun. */
static void
hits_and_overruns__add_up_to_the_clock(void **state)
{
    struct thread_timer timer;
    uint64_t begin_ns;
    uint64_t intervals;
    unsigned hits;

    (void)state;
    init(&timer);
    begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    assert_int_equal(thread_timer_arm(&timer, own_tid()), 0); /* changes nothing */
    assert_int_equal(thread_timer_count(&timer), 1);
    burn_until(&record.hits, 50);
    thread_timer_finish(&timer);
    hits = atomic_load(&record.hits) + atomic_load(&record.overruns);
    intervals = (atomic_load(&record.clock_ns) - begin_ns) / thread_timer_tick_ns();
    assert_in_range(hits, intervals, intervals + 1); /* the first is at a tick */
    assert_int_equal(record.tid, own_tid());
    assert_true(atomic_load(&record.inside) > atomic_load(&record.hits) / 2);
}

static void
interval_of_three_ticks__a_third_of_the_hits(void **state)
{
    struct thread_timer timer;
    uint64_t begin_ns;
    uint64_t intervals;
    unsigned hits;

    (void)state;
    init(&timer);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    thread_timer_set_interval(&timer, 3 * thread_timer_tick_ns());
    begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    atomic_store(&record.hits, 0);
    atomic_store(&record.overruns, 0);
    burn_until(&record.hits, 20);
    thread_timer_finish(&timer);
    hits = atomic_load(&record.hits) + atomic_load(&record.overruns);
    intervals =
        (atomic_load(&record.clock_ns) - begin_ns) / (3 * thread_timer_tick_ns());
    assert_in_range(hits, intervals, intervals + 1);
}

static void
handler__keeps_errno(void **state)
{
    struct thread_timer timer;

    (void)state;
    init(&timer);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    errno = EDOM;
    burn_until(&record.hits, 5);
    assert_int_equal(errno, EDOM);
    thread_timer_pause(&timer);
    thread_timer_resume(&timer);
    assert_int_equal(errno, EDOM);
    thread_timer_finish(&timer);
}

static void
thread_named_by_tid__hits_are_its_own(void **state)
{
    struct thread_timer timer;

    (void)state;
    init(&timer);
    start_workers();
    assert_int_equal(thread_timer_arm(&timer, workers.tids[3]), 0);
    for (int i = 0; i < 3; i++) {
        atomic_store(&record.hits, 0);
        while (atomic_load(&record.hits) == 0) {
            sched_yield();
        }
        assert_int_equal(record.tid, workers.tids[3]);
    }
    thread_timer_disarm(&timer, workers.tids[3]);
    assert_int_equal(thread_timer_count(&timer), 0);
    end_workers();
    thread_timer_finish(&timer);
}

static void
thread_of_another_process__refused(void **state)
{
    struct thread_timer timer;

    (void)state;
    init(&timer);
    assert_int_equal(thread_timer_arm(&timer, getppid()), -ESRCH);
    assert_int_equal(thread_timer_arm(&timer, 0x3ffffffe), -ESRCH);
    assert_int_equal(thread_timer_count(&timer), 0);
    thread_timer_finish(&timer);
}

static void
scan__arms_new_threads_and_drops_exited_ones(void **state)
{
    struct thread_timer timer;

    (void)state;
    init(&timer);
    assert_int_equal(thread_timer_arm_all(&timer), 0);
    assert_int_equal(thread_timer_count(&timer), 1);
    start_workers();
    assert_int_equal(thread_timer_arm_all(&timer), 0);
    assert_int_equal(thread_timer_count(&timer), THREADS + 1);
    end_workers();
    /* A joined thread may not have left /proc yet. */
    do {
        assert_int_equal(thread_timer_arm_all(&timer), 0);
    } while (thread_timer_count(&timer) != 1);
    thread_timer_finish(&timer);
}

static void *
end_at_once(void *unused)
{
    burn_once();
    return unused;
}

/* More threads than a page of the table holds, and tids in any order. */
static void
threads_that_end_meanwhile__do_no_harm(void **state)
{
    pthread_t threads[64];
    struct thread_timer timer;

    (void)state;
    init(&timer);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 64; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, end_at_once, NULL), 0);
        }
        assert_int_equal(thread_timer_arm_all(&timer), 0);
        for (int i = 0; i < 64; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    do {
        assert_int_equal(thread_timer_arm_all(&timer), 0);
    } while (thread_timer_count(&timer) != 1);
    thread_timer_finish(&timer);
}

static void
finish__no_hit_afterwards(void **state)
{
    struct thread_timer timer;
    int signal;

    (void)state;
    start_workers();
    for (int round = 0; round < 10; round++) {
        unsigned hits;

        init(&timer);
        signal = thread_timer_signal(&timer);
        assert_false(has_default_action(signal));
        assert_int_equal(thread_timer_arm_all(&timer), 0);
        burn_until(&record.hits, 3);
        thread_timer_finish(&timer);
        hits = atomic_load(&record.hits);
        burn_ticks(3);
        assert_int_equal(atomic_load(&record.hits), hits);
        assert_true(has_default_action(signal));
        assert_int_equal(thread_timer_signal(&timer), 0);
    }
    end_workers();
}

/* A pending signal with its default action would end the process. */
static void
finish__drops_a_blocked_signal(void **state)
{
    struct thread_timer timer;
    sigset_t pending;
    int signal;

    (void)state;
    init(&timer);
    signal = thread_timer_signal(&timer);
    set_mask(SIG_BLOCK, signal);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    do {
        burn_once();
        sigpending(&pending);
    } while (!sigismember(&pending, signal));
    thread_timer_finish(&timer);
    set_mask(SIG_UNBLOCK, signal);
    assert_int_equal(atomic_load(&record.hits), 0);
}

static void
blocked_signal__is_one_hit_with_its_overrun(void **state)
{
    struct thread_timer timer;
    int signal;

    (void)state;
    init(&timer);
    signal = thread_timer_signal(&timer);
    set_mask(SIG_BLOCK, signal);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    burn_ticks(10);
    assert_int_equal(atomic_load(&record.hits), 0);
    set_mask(SIG_UNBLOCK, signal);
    burn_until(&record.hits, 1);
    assert_true(atomic_load(&record.hits) + atomic_load(&record.overruns) >= 9);
    assert_true(atomic_load(&record.overruns) >= 5);
    thread_timer_finish(&timer);
}

static void
pause__no_hit_and_nothing_pending_until_resume(void **state)
{
    struct thread_timer timer;
    sigset_t pending;
    int signal;

    (void)state;
    init(&timer);
    signal = thread_timer_signal(&timer);
    set_mask(SIG_BLOCK, signal);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    burn_ticks(5);
    thread_timer_pause(&timer);
    thread_timer_pause(&timer);
    sigpending(&pending);
    assert_false(sigismember(&pending, signal));
    set_mask(SIG_UNBLOCK, signal);
    assert_int_equal(thread_timer_arm_all(&timer), 0);
    assert_int_equal(thread_timer_count(&timer), 1);
    thread_timer_resume(&timer);
    burn_ticks(5);
    assert_int_equal(atomic_load(&record.hits), 0);
    thread_timer_resume(&timer);
    burn_until(&record.hits, 3);
    thread_timer_finish(&timer);
}

/* The signal is pending when the new program starts, if anything lets it through. */
static void
exec__the_new_program_lives(void **state)
{
    for (int paused = 0; paused <= 1; paused++) {
        const pid_t child = fork();

        (void)state;
        if (child == 0) {
            struct thread_timer timer;
            sigset_t pending;

            init(&timer);
            set_mask(SIG_BLOCK, thread_timer_signal(&timer));
            thread_timer_arm(&timer, 0);
            do {
                burn_once();
                sigpending(&pending);
            } while (!sigismember(&pending, thread_timer_signal(&timer)));
            if (paused != 0) {
                thread_timer_pause(&timer);
            }
            execl("/proc/self/exe", "thread_timer", "unblock", (char *)NULL);
            _exit(99);
        }
        assert_int_equal(result_of(child), 42);
    }
}

static void
exec_that_fails__hits_go_on(void **state)
{
    struct thread_timer timer;

    (void)state;
    init(&timer);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    thread_timer_pause(&timer);
    assert_int_equal(execl("/no/such/program", "program", (char *)NULL), -1);
    assert_int_equal(errno, ENOENT);
    thread_timer_resume(&timer);
    burn_until(&record.hits, 3);
    thread_timer_finish(&timer);
}

static int
child_without_timers(struct thread_timer *timer)
{
    burn_ticks(5);
    if (atomic_load(&record.hits) != 0) {
        return 2;
    }
    if (thread_timer_arm(timer, 0) != -ESRCH || thread_timer_signal(timer) != 0 ||
        thread_timer_arm_all(timer) != -ESRCH || thread_timer_count(timer) != 0) {
        return 3;
    }
    thread_timer_after_fork(timer);
    if (thread_timer_count(timer) != 0 || thread_timer_arm(timer, 0) != 0) {
        return 4;
    }
    burn_until(&record.hits, 3);
    thread_timer_finish(timer);
    return 0;
}

static void
forked_child__inherits_no_timer_and_may_have_its_own(void **state)
{
    struct thread_timer timer;
    pid_t child;

    (void)state;
    init(&timer);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    burn_until(&record.hits, 1);
    child = fork();
    if (child == 0) {
        atomic_store(&record.hits, 0);
        _exit(child_without_timers(&timer));
    }
    assert_int_equal(result_of(child), 0);
    assert_int_equal(thread_timer_count(&timer), 1);
    atomic_store(&record.hits, 0);
    burn_until(&record.hits, 3);
    thread_timer_finish(&timer);
}

/* The parent's signals are taken over, or 32 generations would use them up. */
static void
forked_children__never_run_out_of_signals(void **state)
{
    const pid_t child = fork();

    (void)state;
    if (child == 0) {
        for (int generation = 0; generation < 2 * NSIG; generation++) {
            struct thread_timer timer;
            pid_t next;

            init(&timer);
            next = fork();
            if (next != 0) {
                _exit(result_of(next));
            }
        }
        _exit(7);
    }
    assert_int_equal(result_of(child), 7);
}

/* Leave the timers' signal to the program. */
static int
leave_own_signal(struct thread_timer *timer)
{
    struct thread_timer_loss loss;
    sigset_t left;
    int result;

    sigemptyset(&left);
    sigaddset(&left, timer->signal);
    result = thread_timer_leave_signals(timer, &left, &loss);
    if (loss.threads != 0 || loss.failure != 0) {
        return -EINVAL; /* no assertion in a child of vfork */
    }
    return result;
}

static void
vforked_child__changes_nothing_of_its_parent(void **state)
{
    struct thread_timer timer;
    volatile int armed = 0;
    volatile int moved = 0;
    pid_t child;

    (void)state;
    init(&timer);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    child = vfork();
    if (child == 0) {
        armed = thread_timer_arm(&timer, 0);
        moved = leave_own_signal(&timer);
        thread_timer_pause(&timer);
        thread_timer_finish(&timer);
        _exit(5);
    }
    assert_int_equal(result_of(child), 5);
    assert_int_equal(armed, -ESRCH);
    assert_int_equal(moved, -ESRCH);
    assert_int_equal(thread_timer_count(&timer), 1);
    burn_until(&record.hits, 3);
    thread_timer_finish(&timer);
}

static void
move_often(void)
{
    struct thread_timer timer;
    int signal;

    init(&timer);
    start_workers();
    assert_int_equal(thread_timer_arm_all(&timer), 0);
    for (int i = 0; i < 10; i++) {
        signal = thread_timer_signal(&timer);
        assert_int_equal(leave_own_signal(&timer), 0);
        assert_int_not_equal(thread_timer_signal(&timer), signal);
        assert_true(has_default_action(signal));
        assert_int_equal(thread_timer_count(&timer), THREADS + 1);
        atomic_store(&record.hits, 0);
        burn_until(&record.hits, 3);
    }
    end_workers();
    thread_timer_finish(&timer);
}

static void
left_signal__has_default_action_and_hits_go_on(void **state)
{
    (void)state;
    run_in_child(move_often);
}

/* Each has its default action, also after the timers used it. */
static void
leave_several(void)
{
    struct thread_timer_loss loss;
    struct thread_timer timer;
    sigset_t left;

    init(&timer);
    sigemptyset(&left);
    for (int i = 0; i < 4; i++) {
        const int next = thread_timer_signal(&timer) - 1;

        sigaddset(&left, next + 1);
        if (i % 2 == 0) {
            sigaddset(&left, next);
        }
        assert_int_equal(thread_timer_leave_signals(&timer, &left, &loss), 0);
        assert_int_equal(thread_timer_signal(&timer), i % 2 == 0 ? next - 1 : next);
    }
    thread_timer_finish(&timer);
    init(&timer);
    assert_int_equal(sigismember(&left, thread_timer_signal(&timer)), 0);
    thread_timer_finish(&timer);
}

static void
left_signals__never_used_again(void **state)
{
    (void)state;
    run_in_child(leave_several);
}

/* All but the timers' own, as of a thread that blocked all where that was left out. */
static void
leave_while_others_are_blocked(void)
{
    struct thread_timer timer;
    sigset_t all;

    init(&timer);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    sigfillset(&all);
    sigdelset(&all, thread_timer_signal(&timer));
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    assert_int_equal(leave_own_signal(&timer), 0);
    atomic_store(&record.hits, 0);
    burn_until(&record.hits, 3);
    pthread_sigmask(SIG_BLOCK, NULL, &all);
    assert_int_equal(sigismember(&all, thread_timer_signal(&timer) - 1), 1);
    thread_timer_finish(&timer);
}

static void
left_signal__new_one_blocked__hits_go_on(void **state)
{
    (void)state;
    run_in_child(leave_while_others_are_blocked);
}

/* A limit that came after the timer was made allows no new one. */
static void
move_without_timers(void)
{
    const struct rlimit none = {0, 0};
    struct thread_timer_loss loss;
    struct thread_timer timer;
    sigset_t left;

    init(&timer);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    sigemptyset(&left);
    sigaddset(&left, thread_timer_signal(&timer));
    setrlimit(RLIMIT_SIGPENDING, &none);
    assert_int_equal(thread_timer_leave_signals(&timer, &left, &loss), 0);
    assert_int_equal(loss.threads, 1);
    assert_int_equal(loss.failure, -EAGAIN);
    assert_int_equal(thread_timer_count(&timer), 0);
    thread_timer_finish(&timer);
}

static void
left_signal__no_new_timer__thread_returned(void **state)
{
    (void)state;
    run_in_child(move_without_timers);
}

static void
resume_without_timers(void)
{
    const struct rlimit none = {0, 0};
    struct thread_timer_loss loss;
    struct thread_timer timer;

    init(&timer);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    thread_timer_pause(&timer);
    setrlimit(RLIMIT_SIGPENDING, &none);
    loss = thread_timer_resume(&timer);
    assert_int_equal(loss.threads, 1);
    assert_int_equal(loss.failure, -EAGAIN);
    thread_timer_finish(&timer);
}

static void
resume__no_new_timer__thread_returned(void **state)
{
    (void)state;
    run_in_child(resume_without_timers);
}

static void *
finish(void *timer)
{
    return (void *)thread_timer_finish(timer);
}

static void
finish__two_threads__one_has_the_timers(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct thread_timer timer;
        pthread_t other;
        size_t deleted;
        void *count;

        init(&timer);
        assert_int_equal(thread_timer_arm(&timer, 0), 0);
        assert_int_equal(pthread_create(&other, NULL, finish, &timer), 0);
        deleted = thread_timer_finish(&timer);
        assert_int_equal(pthread_join(other, &count), 0);
        assert_int_equal(deleted + (size_t)count, 1);
    }
}

static void
ignore(int signal)
{
    (void)signal;
}

static void
leave_the_last(void)
{
    const struct thread_timer_options options = {.hit = note_hit, .context = &record};
    struct thread_timer timer;
    struct thread_timer another;

    init(&timer);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++) {
        if (signal != thread_timer_signal(&timer)) {
            struct sigaction action = {.sa_handler = ignore};

            assert_int_equal(sigaction(signal, &action, NULL), 0);
        }
    }
    assert_int_equal(thread_timer_init(&another, &options), -EAGAIN);
    assert_int_equal(thread_timer_arm(&another, 0), -ESRCH);
    assert_int_equal(leave_own_signal(&timer), -EAGAIN);
    assert_int_equal(thread_timer_arm(&timer, 0), 0);
    burn_until(&record.hits, 2);
    assert_int_equal(thread_timer_finish(&another), 0);
    assert_int_equal(thread_timer_finish(&timer), 1);
}

static void
no_free_signal__refused(void **state)
{
    (void)state;
    run_in_child(leave_the_last);
}

static void
handler_of_the_program__stays_after_finish(void **state)
{
    struct sigaction action = {.sa_handler = ignore};
    struct thread_timer timer;
    int signal;

    (void)state;
    init(&timer);
    signal = thread_timer_signal(&timer);
    assert_int_equal(sigaction(signal, &action, NULL), 0);
    thread_timer_finish(&timer);
    sigaction(signal, NULL, &action);
    assert_ptr_equal(action.sa_handler, ignore);
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, NULL);
}

static void
two_timers__signals_and_hits_of_their_own(void **state)
{
    static struct record other;
    struct thread_timer first;
    struct thread_timer second;
    unsigned hits;

    (void)state;
    init(&first);
    init_into(&second, &other);
    assert_int_not_equal(thread_timer_signal(&first), thread_timer_signal(&second));
    assert_int_equal(thread_timer_arm(&first, 0), 0);
    assert_int_equal(thread_timer_arm(&second, 0), 0);
    burn_until(&record.hits, 3);
    burn_until(&other.hits, 3);
    thread_timer_finish(&first);
    hits = atomic_load(&record.hits);
    atomic_store(&other.hits, 0);
    burn_until(&other.hits, 3);
    assert_int_equal(atomic_load(&record.hits), hits);
    thread_timer_finish(&second);
}

static void
signal_sent_by_others__no_hit(void **state)
{
    const union sigval value = {.sival_int = 1};
    struct thread_timer timer;

    (void)state;
    init(&timer);
    assert_int_equal(sigqueue(getpid(), thread_timer_signal(&timer), value), 0);
    assert_int_equal(raise(thread_timer_signal(&timer)), 0);
    assert_int_equal(atomic_load(&record.hits), 0);
    thread_timer_finish(&timer);
}

/* The timer has no thread, so that no other expiration comes. */
static void
expiration__with_overruns__each_passed_on(void **state)
{
    struct thread_timer timer;

    (void)state;
    init(&timer);
    for (int overrun = 0; overrun <= 3; overrun++) {
        siginfo_t info = {.si_code = SI_TIMER};

        info.si_overrun = overrun;
        assert_int_equal(syscall(SYS_rt_tgsigqueueinfo, getpid(), own_tid(),
                                 thread_timer_signal(&timer), &info),
                         0);
    }
    assert_int_equal(atomic_load(&record.hits), 4);
    assert_int_equal(atomic_load(&record.overruns), 1 + 2 + 3);
    thread_timer_finish(&timer);
}

static void *
burn_with_alternate_stack(void *context)
{
    const stack_t stack = {.ss_sp = context, .ss_size = STACK_BYTES};
    stack_t before; /* a sanitizer frees its own when the thread ends */

    sigaltstack(&stack, &before);
    burn_until(&record.hits, 3);
    sigaltstack(&before, NULL);
    return NULL;
}

static void
alternate_stack__used(void **state)
{
    struct thread_timer timer;
    pthread_t thread;
    char *stack;

    (void)state;
    stack = malloc(STACK_BYTES);
    assert_non_null(stack);
    init(&timer);
    assert_int_equal(pthread_create(&thread, NULL, burn_with_alternate_stack, stack),
                     0);
    while (atomic_load(&record.hits) < 3) {
        assert_int_equal(thread_timer_arm_all(&timer), 0);
        sched_yield();
    }
    pthread_join(thread, NULL);
    thread_timer_finish(&timer);
    /* The main thread has no such stack, and may have had the last hit. */
    if (record.tid != own_tid()) {
        assert_in_range(record.frame, (uintptr_t)stack, (uintptr_t)stack + STACK_BYTES);
    }
    free(stack);
}

static int
try_without_proc(void)
{
    char folder[] = "/tmp/ntprof-timer-XXXXXX";
    struct thread_timer timer;
    int failed;

    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    failed =
        chroot(folder) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(folder) != 0);
    if (failed) {
        rmdir(folder);
        return 77;
    }
    init(&timer);
    if (thread_timer_arm_all(&timer) != -ENOENT || thread_timer_count(&timer) != 1) {
        return 2;
    }
    burn_until(&record.hits, 3);
    thread_timer_finish(&timer);
    return 0;
}

static void
process_without_proc__only_the_calling_thread(void **state)
{
    const pid_t child = fork();
    int result;

    (void)state;
    if (child == 0) {
        _exit(try_without_proc());
    }
    result = result_of(child);
    if (result == 77) {
        print_message("no right to change the root directory\n");
        skip();
    }
    assert_int_equal(result, 0);
}

static void
limit_of_pending_signals__refused(void **state)
{
    const pid_t child = fork();

    (void)state;
    if (child == 0) {
        const struct rlimit none = {0, 0};
        struct thread_timer timer;

        init(&timer);
        setrlimit(RLIMIT_SIGPENDING, &none);
        _exit(thread_timer_arm(&timer, 0) == -EAGAIN &&
                      thread_timer_arm_all(&timer) == -EAGAIN &&
                      thread_timer_count(&timer) == 0
                  ? 0
                  : 1);
    }
    assert_int_equal(result_of(child), 0);
}

static int
be_the_new_program(void)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    burn_ticks(3);
    return 42;
}

int
main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_below_the_tick__raised),
        cmocka_unit_test(hits_and_overruns__add_up_to_the_clock),
        cmocka_unit_test(interval_of_three_ticks__a_third_of_the_hits),
        cmocka_unit_test(handler__keeps_errno),
        cmocka_unit_test(thread_named_by_tid__hits_are_its_own),
        cmocka_unit_test(thread_of_another_process__refused),
        cmocka_unit_test(scan__arms_new_threads_and_drops_exited_ones),
        cmocka_unit_test(threads_that_end_meanwhile__do_no_harm),
        cmocka_unit_test(finish__no_hit_afterwards),
        cmocka_unit_test(finish__drops_a_blocked_signal),
        cmocka_unit_test(blocked_signal__is_one_hit_with_its_overrun),
        cmocka_unit_test(pause__no_hit_and_nothing_pending_until_resume),
        cmocka_unit_test(exec__the_new_program_lives),
        cmocka_unit_test(exec_that_fails__hits_go_on),
        cmocka_unit_test(forked_child__inherits_no_timer_and_may_have_its_own),
        cmocka_unit_test(forked_children__never_run_out_of_signals),
        cmocka_unit_test(vforked_child__changes_nothing_of_its_parent),
        cmocka_unit_test(left_signals__never_used_again),
        cmocka_unit_test(left_signal__has_default_action_and_hits_go_on),
        cmocka_unit_test(left_signal__new_one_blocked__hits_go_on),
        cmocka_unit_test(left_signal__no_new_timer__thread_returned),
        cmocka_unit_test(resume__no_new_timer__thread_returned),
        cmocka_unit_test(finish__two_threads__one_has_the_timers),
        cmocka_unit_test(no_free_signal__refused),
        cmocka_unit_test(handler_of_the_program__stays_after_finish),
        cmocka_unit_test(two_timers__signals_and_hits_of_their_own),
        cmocka_unit_test(signal_sent_by_others__no_hit),
        cmocka_unit_test(expiration__with_overruns__each_passed_on),
        cmocka_unit_test(alternate_stack__used),
        cmocka_unit_test(process_without_proc__only_the_calling_thread),
        cmocka_unit_test(limit_of_pending_signals__refused),
    };

    if (count > 1 && strcmp(arguments[1], "unblock") == 0) {
        return be_the_new_program();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
