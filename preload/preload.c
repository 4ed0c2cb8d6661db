/* SPDX-License-Identifier: MIT */
/*
 * preload/preload.c - starts in each program, follows its threads and forks, and
 * counts.
 *
 * State belongs to one process, state.pid. A child of vfork shares the memory of its
 * parent until it execs, so whatever changes state compares the pid first.
 */
#include "preload/preload.h"
#include "rtl/assert.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static struct {
    struct preload_shared *shared; /* NULL: the preload object does not work here */
    pid_t pid;
    uint32_t process; /* its number */
    char program[PRELOAD_NAME_BYTES];
    struct preload_libc libc;
    struct thread_timer timer;
    pthread_key_t ending; /* its destructor runs in threads that end */
    bool has_ending;
} state;

/* Return the record of this process in the shared memory. */
static struct preload_process *
record(void)
{
    RTL_ASSERT(state.process < PRELOAD_PROCESSES);
    return &state.shared->processes[state.process];
}

/* Does state belong to the calling process? Not in a child of vfork, nor where the
 * preload object does not work. */
static bool
is_ours(void)
{
    return state.shared != NULL && state.pid == getpid();
}

struct thread_timer *
preload_timer(void)
{
    return is_ours() ? &state.timer : NULL;
}

/* Count a hit; called in the signal handler. Expirations that the kernel noticed too
 * late (overrun) are missed: where the thread was then is not known. */
static void
hit(void *context, uintptr_t pc, unsigned overrun, const ucontext_t *machine)
{
    struct preload_shared *const shared = context;
    struct preload_process *const process = record();
    const uint64_t key = images_key(shared, pc, state.process);

    if (overrun != 0) {
        (void)__atomic_fetch_add(&process->missed, overrun, __ATOMIC_RELAXED);
    }
    if (!stacks_take(key, machine)) {
        record_hit(shared, key);
    }
    if ((key & PRELOAD_KEY_PLAIN) != 0) {
        (void)__atomic_fetch_add(&process->plain, 1, __ATOMIC_RELAXED);
    }
    if (process->outer_pid == 0) {
        preload_end_process(); /* the command cannot read its clock */
    }
}

void
preload_count_loss(struct thread_timer_loss loss)
{
    struct preload_process *const process = record();

    RTL_ASSERT((loss.threads == 0) == (loss.failure == 0));
    if (loss.threads != 0) {
        __atomic_store_n(&process->error, (uint32_t)-loss.failure, __ATOMIC_RELAXED);
        (void)__atomic_fetch_add(&process->unarmed, (uint32_t)loss.threads,
                                 __ATOMIC_RELAXED);
    }
}

/* Count a thread, with a timer or without. failure: 0, or the negative errno for which
 * it has none. */
static void
count_armed(int failure)
{
    (void)__atomic_fetch_add(&record()->threads, 1, __ATOMIC_RELAXED);
    preload_count_loss((struct thread_timer_loss){failure != 0, failure});
}

/* ---- Threads ---- */

/* Delete the timer of a thread that ends: the kernel keeps it otherwise, and allows no
 * more timers than RLIMIT_SIGPENDING. */
static void
end_thread(void *value)
{
    (void)value;
    if (is_ours()) {
        thread_timer_disarm(&state.timer, 0);
    }
}

void
preload_begin_thread(void)
{
    if (!is_ours()) {
        return;
    }
    if (state.has_ending) {
        (void)pthread_setspecific(state.ending, &state);
    }
    stacks_begin_thread();
    count_armed(thread_timer_arm(&state.timer, 0));
}

void
preload_end_timers(void)
{
    const size_t armed = thread_timer_finish(&state.timer);

    preload_count_loss((struct thread_timer_loss){armed, armed != 0 ? -EBUSY : 0});
}

/* ---- Processes ---- */

/* The function that glibc's pthread_atfork calls. glibc exports only this one, other
 * libcs only pthread_atfork. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void),
                             void (*child)(void), void *object) __attribute__((weak));

/* Have child called in each forked child, by the function that this libc has for it:
 * the preload object is one file for all libcs. */
static void
call_after_fork(void (*child)(void))
{
    int (*at_fork)(void (*)(void), void (*)(void), void (*)(void));

    if (__register_atfork != NULL) {
        (void)__register_atfork(NULL, NULL, child, NULL);
    } else if (preload_find("pthread_atfork", &at_fork)) {
        (void)at_fork(NULL, NULL, child);
    }
}

/* In a child of fork, which inherits no timers, begin to profile it: record the
 * process, and arm its only thread. */
static void
after_fork(void)
{
    if (state.shared == NULL) {
        return;
    }
    images_after_fork();
    thread_timer_after_fork(&state.timer);
    state.pid = getpid();
    state.process =
        record_process(state.shared, PRELOAD_FORKED, state.pid, state.program);
    stacks_after_fork(state.process);
    count_armed(thread_timer_arm(&state.timer, 0));
}

void
preload_end_process(void)
{
    struct timespec now = {0, 0};

    if (!is_ours() || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) {
        return;
    }
    __atomic_store_n(&record()->end_ns,
                     (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
                     __ATOMIC_RELAXED);
}

/* ---- Other programs ---- */

/* Set in the record of a process whether it executes another program (1) or not (0). */
static void
set_leaving(uint32_t process, uint32_t leaving)
{
    RTL_ASSERT(process < PRELOAD_PROCESSES && leaving <= 1);
    __atomic_store_n(&state.shared->processes[process].leaving, leaving,
                     __ATOMIC_RELAXED);
}

/* The last exec that failed in a child of vfork, and the number of the child's record,
 * which it keeps for its next exec: one that looks for a program in each folder of PATH
 * would take a record each time. A child has these of the thread that made it. */
static _Thread_local struct {
    pid_t pid; /* 0: none */
    uint32_t process;
} failed_exec __attribute__((tls_model("initial-exec")));

uint32_t
preload_begin_exec(void)
{
    uint32_t process;

    if (state.shared == NULL) {
        return 0;
    }
    if (state.pid == getpid()) {
        process = state.process;
        preload_end_process();
        thread_timer_pause(&state.timer);
    } else if (failed_exec.pid == getpid()) {
        process = failed_exec.process;
    } else {
        process = record_process(state.shared, PRELOAD_FORKED, getpid(), state.program);
    }
    set_leaving(process, 1);
    return process;
}

void
preload_end_exec(uint32_t process)
{
    if (state.shared == NULL) {
        return;
    }
    set_leaving(process, 0);
    if (state.pid == getpid()) {
        record()->end_ns = 0;
        preload_count_loss(thread_timer_resume(&state.timer));
    } else {
        failed_exec.pid = getpid();
        failed_exec.process = process;
    }
}

void
preload_record_spawned(pid_t pid)
{
    if (state.shared != NULL) {
        (void)record_process(state.shared, PRELOAD_SPAWNED, pid, state.program);
    }
}

void
preload_record_unloaded(void)
{
    if (state.shared != NULL) {
        (void)__atomic_fetch_add(&state.shared->unloaded, 1, __ATOMIC_RELAXED);
    }
}

/* Make the timers, without one for any thread yet. Returns false if no signal is
 * free. */
static bool
start_timers(struct preload_shared *shared)
{
    const struct thread_timer_options options = {
        .hit = hit,
        .context = shared,
        .interval_ns = shared->interval_ns,
        .sigaction = state.libc.sigaction,
        .pthread_sigmask = state.libc.pthread_sigmask,
    };

    return thread_timer_init(&state.timer, &options) == 0;
}

/* Treat the signals that this program was executed with blocked as if it blocked them
 * itself: the timers' is unblocked if all are, or they leave it to the program. */
static void
take_over_mask(void)
{
    sigset_t blocked;

    if (state.libc.pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0) {
        (void)pthread_sigmask(SIG_SETMASK, &blocked, NULL); /* that of masks.c */
    }
}

/* Arm a timer for each thread: the program's first one, and perhaps some that libraries
 * have started. */
static void
arm_threads(void)
{
    const int failure = thread_timer_arm_all(&state.timer);
    const size_t armed = thread_timer_count(&state.timer);

    /* -ENOENT: this process is not in /proc, and only the calling thread is armed. */
    count_armed(failure == -ENOENT ? 0 : failure);
    for (size_t i = 1; i < armed; i++) {
        count_armed(0);
    }
}

__attribute__((constructor)) static void
start(void)
{
    const int saved_errno = errno;
    /* Found in advance, as dlsym may not be called in signal handlers and children of
     * vfork. */
    const bool found =
        preload_find_libc(&state.libc) && preload_find_exec() && preload_find_masks();
    struct preload_shared *const shared = found ? record_open() : NULL;

    own_file_begin();
    if (shared != NULL) {
        (void)prctl(PR_GET_NAME, state.program);
        state.process = record_process(shared, PRELOAD_EXECED, getpid(), state.program);
        stacks_begin(shared, &state.libc,
                     images_open(shared, state.process, state.program));
        state.pid = getpid();
        if (start_timers(shared)) {
            state.has_ending = pthread_key_create(&state.ending, end_thread) == 0;
            call_after_fork(after_fork);
            stacks_open(state.process);
            /* From here on hits are made, and state is complete. */
            state.shared = shared;
            take_over_mask();
            arm_threads();
        } else {
            /* Report a thread without a timer: all signals are in use (EBUSY).
             * count_armed needs state.shared for that; then the object stays off. */
            state.shared = shared;
            count_armed(-EBUSY);
            state.shared = NULL;
        }
    }
    errno = saved_errno;
}

__attribute__((destructor)) static void
end(void)
{
    const int saved_errno = errno;

    preload_end_process();
    errno = saved_errno;
}
