/* SPDX-License-Identifier: MIT */
/*
 * hal/timer/thread_timer.c - claims a signal, arms a timer for each thread, and handles
 * the signals.
 *
 * A handler may begin after its timer was deleted, if the kernel had already built its
 * frame. So it reaches a struct thread_timer only through claims[] of its signal, and
 * whoever takes the struct out of claims[] waits until no handler of the signal is
 * running (in_flight is 0). Both sides use sequentially consistent order: either the
 * handler finds NULL, or the waiter finds the handler counted.
 *
 * System calls are made by number: libc's functions for timers differ in what they
 * allow, those for files are cancellation points, and none may be called with the lock
 * held.
 */
#include "hal/timer/thread_timer.h"

#include "rtl/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* SIGNALS is above the highest signal number of all architectures (MIPS has 128). */
enum { NS_PER_S = 1000000000, SIGNALS = 129 };

/* What the kernel calls struct sigevent; libcs differ in the name of tid. */
struct kernel_sigevent {
    union sigval value;
    int signal;
    int notify;
    int tid;
    char padding[64 - sizeof(union sigval) - 3 * sizeof(int)];
};

/* The kernel's SIGEV_THREAD_ID; instead of a timer's number: none, as while paused. */
enum { KERNEL_SIGEV_THREAD_ID = 4, NO_TIMER = -1 };

#if defined(SYS_timer_settime)
typedef long kernel_time;
enum { TIMER_SETTIME = SYS_timer_settime, TIMER_GETTIME = SYS_timer_gettime };
#elif defined(SYS_timer_settime32) /* musl's name on 32-bit machines */
typedef long kernel_time;
enum { TIMER_SETTIME = SYS_timer_settime32, TIMER_GETTIME = SYS_timer_gettime32 };
#else
typedef int64_t kernel_time;
enum { TIMER_SETTIME = SYS_timer_settime64, TIMER_GETTIME = SYS_timer_gettime64 };
#endif

struct kernel_itimerspec {
    kernel_time interval_s;
    kernel_time interval_ns;
    kernel_time value_s;
    kernel_time value_ns;
};

/* claim - the user of a signal. */
struct claim {
    /* The process that took the signal; 0: none. If it is not this process, it is a
     * parent, and this process has not taken the signal. */
    _Atomic pid_t owner;
    _Atomic(struct thread_timer *) timer;
    atomic_uint in_flight; /* handlers that are running */
    /* The program has named it for its own use. That may not show: a signal that it
     * blocks and waits for has its default action. */
    atomic_bool left;
};

static struct claim claims[SIGNALS]; /* by signal */

/* ---- The handler ---- */

/* Return the address at which the signal interrupted its thread. */
static uintptr_t
program_counter(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__i386__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_EIP];
#elif defined(__aarch64__) || defined(__mips__)
    return (uintptr_t)context->uc_mcontext.pc;
#elif defined(__arm__)
    return (uintptr_t)context->uc_mcontext.arm_pc;
#elif defined(__riscv)
    return (uintptr_t)context->uc_mcontext.__gregs[0];
#elif defined(__powerpc64__)
    return (uintptr_t)context->uc_mcontext.gp_regs[32];
#elif defined(__s390x__)
    return (uintptr_t)context->uc_mcontext.psw.addr;
#else
#error "where does ucontext_t have the program counter?"
#endif
}

/* The handler of all our signals: passes an expiration of a timer to its user. */
static void
handle_signal(int signal, siginfo_t *info, void *context)
{
    const int saved_errno = errno;
    struct claim *const claim = &claims[signal];
    struct thread_timer *timer;

    atomic_fetch_add(&claim->in_flight, 1); /* pairs with wait_for_handlers */
    timer = atomic_load(&claim->timer);
    /* Others may send the signal, too. */
    if (timer != NULL && info->si_code == SI_TIMER) {
        timer->options.hit(timer->options.context, program_counter(context),
                           info->si_overrun > 0 ? (unsigned)info->si_overrun : 0,
                           context);
    }
    atomic_fetch_sub(&claim->in_flight, 1);
    errno = saved_errno;
}

/* Wait until every handler that found a timer in the claim has returned. */
static void
wait_for_handlers(struct claim *claim)
{
    const struct timespec pause = {0, 20000};
    int state;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    while (atomic_load(&claim->in_flight) != 0) {
        (void)nanosleep(&pause, NULL);
    }
    (void)pthread_setcancelstate(state, NULL);
}

/* ---- Signals ---- */

static bool
has_our_handler(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 &&
           action->sa_sigaction == handle_signal;
}

static bool
is_default(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_DFL;
}

/* Install handle_signal. previous: out, the action that was replaced; may be NULL.
 * Returns 0 or -1. */
static int
install_handler(const struct thread_timer *timer, int signal,
                struct sigaction *previous)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

    action.sa_sigaction = handle_signal;
    /* sigfillset would leave out those of libc, and so let pthread_cancel end the
     * thread within the handler. */
    memset(&action.sa_mask, 0xff, sizeof(action.sa_mask));
    return timer->options.sigaction(signal, &action, previous);
}

/* Ignore a signal, which also drops it in all threads where it is pending. */
static void
drop_pending(const struct thread_timer *timer, int signal)
{
    struct sigaction action = {0};

    action.sa_handler = SIG_IGN;
    (void)timer->options.sigaction(signal, &action, NULL);
}

/* Take a signal if nobody uses it: it was not left to the program, and has its default
 * action, or still our handler from a parent that forked this process. Returns false if
 * it is in use. */
static bool
claim_signal(struct thread_timer *timer, int signal)
{
    struct claim *const claim = &claims[signal];
    pid_t owner = atomic_load(&claim->owner);
    struct sigaction action;

    if (owner == timer->owner || atomic_load(&claim->left) ||
        timer->options.sigaction(signal, NULL, &action) != 0 ||
        !(is_default(&action) || (owner != 0 && has_our_handler(&action))) ||
        !atomic_compare_exchange_strong(&claim->owner, &owner, timer->owner)) {
        return false;
    }
    if (owner != 0) {
        atomic_store(&claim->in_flight, 0); /* of threads that a fork left behind */
    }
    atomic_store(&claim->timer, timer);
    if (install_handler(timer, signal, &action) == 0) {
        if (is_default(&action) || has_our_handler(&action)) {
            return true;
        }
        /* The program installed a handler of its own meanwhile: put that back. */
        (void)timer->options.sigaction(signal, &action, NULL);
    }
    atomic_store(&claim->timer, NULL);
    atomic_store(&claim->owner, 0);
    return false;
}

/* Take a free signal, the highest, as other code usually takes SIGRTMIN and up. Returns
 * its number, or 0 if none is free. */
static int
claim_some_signal(struct thread_timer *timer)
{
    for (int signal = SIGRTMAX; signal >= SIGRTMIN; signal--) {
        if (signal < SIGNALS && claim_signal(timer, signal)) {
            return signal;
        }
    }
    return 0;
}

/* Give a signal back, with its default action. Its timers have been deleted. */
static void
release_signal(struct thread_timer *timer, int signal)
{
    struct claim *const claim = &claims[signal];
    struct sigaction action;

    atomic_store(&claim->timer, NULL); /* pairs with handle_signal */
    if (timer->options.sigaction(signal, NULL, &action) == 0 &&
        has_our_handler(&action)) {
        drop_pending(timer, signal);
        memset(&action, 0, sizeof(action));
        action.sa_handler = SIG_DFL;
        (void)timer->options.sigaction(signal, &action, NULL);
    }
    wait_for_handlers(claim);
    atomic_store(&claim->owner, 0);
}

/* ---- The lock ---- */

/* Is timer in use by this process, not only by its parent? */
static bool
is_ours(const struct thread_timer *timer)
{
    return timer->owner != 0 && timer->owner == getpid();
}

/* held - what unlock restores in the calling thread. */
struct held {
    sigset_t mask;
    int saved_errno; /* of the code that a handler of the program interrupted */
};

static void
unlock(struct thread_timer *timer, const struct held *held)
{
    (void)pthread_mutex_unlock(&timer->lock);
    (void)timer->options.pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
    errno = held->saved_errno;
}

#ifndef NDEBUG
/* Do the members agree, which the lock guards? A broken one traps: a program's thread
 * may hold any lock of libc here. */
static bool
assert_timers_state(const struct thread_timer *timer)
{
    RTL_ASSERT(timer->signal > 0 && timer->signal < SIGNALS);
    RTL_ASSERT(atomic_load(&claims[timer->signal].timer) == timer);
    RTL_ASSERT(timer->options.interval_ns >= thread_timer_tick_ns());
    RTL_ASSERT(timer->count <= timer->capacity);
    for (size_t i = 0; i < timer->count; i++) {
        RTL_ASSERT(timer->armed[i].tid > (i == 0 ? 0 : timer->armed[i - 1].tid));
        RTL_ASSERT((timer->armed[i].timer == NO_TIMER) == (timer->pauses != 0));
    }
    return true;
}
#endif

/* Block all signals and take the lock: if a signal's handler called a function of this
 * file meanwhile, it would wait for its own thread. Returns false, without the lock, if
 * the timers are not of this process, or another thread has finished them meanwhile. */
static bool
lock(struct thread_timer *timer, struct held *held)
{
    sigset_t all;

    if (!is_ours(timer)) {
        return false;
    }
    held->saved_errno = errno;
    sigfillset(&all);
    (void)timer->options.pthread_sigmask(SIG_SETMASK, &all, &held->mask);
    (void)pthread_mutex_lock(&timer->lock);
    if (timer->owner == 0) {
        unlock(timer, held);
        return false;
    }
    RTL_ASSERT(assert_timers_state(timer));
    return true;
}

/* ---- The kernel's timers ---- */

uint64_t
thread_timer_tick_ns(void)
{
    struct timespec tick = {0, 0};

    (void)clock_getres(CLOCK_REALTIME_COARSE, &tick);
    /* Every kernel has that clock; 10 ms is the longest tick there is. */
    return tick.tv_nsec > 0 ? (uint64_t)tick.tv_nsec : 10000000;
}

/* Return the clock id of a thread's processor time: bits 3 and up are the tid's
 * complement, bit value 4 means a thread, 2 its scheduled time. */
static clockid_t
clock_of(pid_t tid)
{
    return (clockid_t)(~(unsigned)tid << 3 | 6);
}

/*
 * Return a thread's processor time until a timer's first expiration: some ticks of the
 * kernel, drawn at random among those of an interval, and 1 ns. The kernel looks once a
 * tick, and so finds it at the next one. So a thread has a hit at each tick that finds
 * it, or at one of several if the interval is longer: on average as many as intervals
 * fit into its time, even if that is shorter than one.
 *
 *   number  of the timer: with the time it makes draws differ
 */
static uint64_t
draw_first_ns(uint64_t interval_ns, int number)
{
    const uint64_t tick_ns = thread_timer_tick_ns();
    struct timespec now = {0, 0};
    uint64_t draw;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    draw =
        ((uint64_t)now.tv_nsec ^ (uint64_t)number << 32) * UINT64_C(0x9E3779B97F4A7C15);
    draw ^= draw >> 32;
    /* The last tick has a smaller chance if the interval is no multiple of ticks. */
    return 1 + draw % interval_ns / tick_ns * tick_ns;
}

/* Have a timer expire at each interval, from now on. */
static int
set_time(const struct thread_timer *timer, int number)
{
    const uint64_t interval_ns = timer->options.interval_ns;
    const uint64_t first_ns = draw_first_ns(interval_ns, number);
    struct kernel_itimerspec time = {0};

    time.interval_s = (kernel_time)(interval_ns / NS_PER_S);
    time.interval_ns = (kernel_time)(interval_ns % NS_PER_S);
    time.value_s = (kernel_time)(first_ns / NS_PER_S);
    time.value_ns = (kernel_time)(first_ns % NS_PER_S);
    return syscall(TIMER_SETTIME, number, 0, &time, NULL) == 0 ? 0 : -errno;
}

static void
delete_timer(int number)
{
    if (number != NO_TIMER) {
        (void)syscall(SYS_timer_delete, number);
    }
}

/*
 * Create and start a thread's timer, unless timers are paused.
 *
 *   number  out: the kernel's number of it, NO_TIMER while paused
 */
static int
create_timer(const struct thread_timer *timer, pid_t tid, int *number)
{
    struct kernel_sigevent event = {
        .signal = timer->signal, .notify = KERNEL_SIGEV_THREAD_ID, .tid = tid};
    int result;

    *number = NO_TIMER;
    if (timer->pauses != 0) {
        return 0;
    }
    /* EINVAL: there is no such clock, as the thread has exited. */
    if (syscall(SYS_timer_create, clock_of(tid), &event, number) != 0) {
        return errno == EINVAL ? -ESRCH : -errno;
    }
    result = set_time(timer, *number);
    if (result != 0) {
        delete_timer(*number);
    }
    return result;
}

/* Has the thread of a timer exited? Then the kernel has cleared the timer's interval,
 * even if another thread has the tid now. */
static bool
is_exited(int number)
{
    struct kernel_itimerspec time = {0};

    return number != NO_TIMER && syscall(TIMER_GETTIME, number, &time) == 0 &&
           time.interval_s == 0 && time.interval_ns == 0;
}

/* ---- The table ---- */

/* Return the index of the first entry whose tid is at least this one. */
static size_t
find_place(const struct thread_timer *timer, pid_t tid)
{
    size_t low = 0;
    size_t high = timer->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (timer->armed[middle].tid < tid) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Make room for one more entry, in pages of our own: the program's malloc may be
 * replaced by anything. Returns 0 or -ENOMEM. */
static int
reserve(struct thread_timer *timer)
{
    const size_t size = timer->capacity * sizeof(struct thread_timer_armed);
    const size_t grown = size == 0 ? 4096 : size * 2;
    void *pages;

    if (timer->count < timer->capacity) {
        return 0;
    }
    pages =
        mmap(NULL, grown, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        return -ENOMEM;
    }
    if (size != 0) {
        memcpy(pages, timer->armed, size);
        (void)munmap(timer->armed, size);
    }
    timer->armed = pages;
    timer->capacity = grown / sizeof(struct thread_timer_armed);
    return 0;
}

/* Remove an entry from the table, but not its timer. */
static void
forget(struct thread_timer *timer, size_t place)
{
    timer->count--;
    memmove(&timer->armed[place], &timer->armed[place + 1],
            (timer->count - place) * sizeof(struct thread_timer_armed));
}

/* Delete the timer of the entry at an index, and remove the entry. */
static void
remove_at(struct thread_timer *timer, size_t place)
{
    delete_timer(timer->armed[place].timer);
    forget(timer, place);
}

/* Give a thread a timer unless it has one. An entry with its tid may be that of an
 * exited thread, which had the tid before. */
static int
arm(struct thread_timer *timer, pid_t tid)
{
    const size_t place = find_place(timer, tid);
    int number;
    int result;

    if (place < timer->count && timer->armed[place].tid == tid) {
        if (!is_exited(timer->armed[place].timer)) {
            return 0;
        }
        remove_at(timer, place);
    }
    result = reserve(timer);
    if (result != 0) {
        return result;
    }
    result = create_timer(timer, tid, &number);
    if (result != 0) {
        return result;
    }
    memmove(&timer->armed[place + 1], &timer->armed[place],
            (timer->count - place) * sizeof(struct thread_timer_armed));
    timer->armed[place] = (struct thread_timer_armed){tid, number};
    timer->count++;
    return 0;
}

/* Replace all timers by new ones, as a timer's signal cannot be changed; while timers
 * are paused, only delete them. Entries of exited threads are removed, and of those for
 * which this fails, which are returned. */
static struct thread_timer_loss
renew_all(struct thread_timer *timer)
{
    struct thread_timer_loss loss = {0, 0};

    for (size_t i = timer->count; i-- > 0;) {
        struct thread_timer_armed *const armed = &timer->armed[i];
        int result;

        delete_timer(armed->timer);
        result = create_timer(timer, armed->tid, &armed->timer);
        if (result != 0) {
            forget(timer, i);
        }
        if (result != 0 && result != -ESRCH) { /* -ESRCH: it has exited */
            loss.threads++;
            loss.failure = result;
        }
    }
    return loss;
}

/* Remove the entries of threads that have exited. */
static void
remove_exited(struct thread_timer *timer)
{
    for (size_t i = timer->count; i-- > 0;) {
        if (is_exited(timer->armed[i].timer)) {
            remove_at(timer, i);
        }
    }
}

/* ---- Threads of this process ---- */

static pid_t
own_tid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* Offsets of the length and the name in an entry that getdents64 writes. */
enum { ENTRY_LENGTH = 16, ENTRY_NAME = 19 };

/* What reading /proc/self/task found. */
struct scan {
    bool found_self; /* it lists the calling thread: so it is of this pid namespace */
    int failure;     /* of the first thread that could not be armed; 0: none */
};

/* Arm the thread of an entry of /proc/self/task. */
static void
arm_listed(struct thread_timer *timer, const char *name, struct scan *scan)
{
    const pid_t tid = (pid_t)strtol(name, NULL, 10);
    int result;

    if (tid <= 0) {
        return; /* "." and ".." */
    }
    if (tid == own_tid()) {
        scan->found_self = true;
    }
    result = arm(timer, tid);
    if (result != 0 && result != -ESRCH && scan->failure == 0) {
        scan->failure = result; /* -ESRCH: it has exited meanwhile */
    }
}

/* Arm all threads that an open /proc/self/task lists. */
static void
arm_directory(struct thread_timer *timer, int fd, struct scan *scan)
{
    _Alignas(uint64_t) char buffer[4096];

    for (;;) {
        const long bytes = syscall(SYS_getdents64, fd, buffer, sizeof(buffer));

        if (bytes <= 0) {
            break;
        }
        for (long at = 0; at < bytes;) {
            uint16_t length;

            memcpy(&length, &buffer[at + ENTRY_LENGTH], sizeof(length));
            arm_listed(timer, &buffer[at + ENTRY_NAME], scan);
            at += length;
        }
    }
}

/* ---- Functions of the header ---- */

int
thread_timer_init(struct thread_timer *timer,
                  const struct thread_timer_options *options)
{
    const uint64_t tick_ns = thread_timer_tick_ns();

    memset(timer, 0, sizeof(*timer));
    timer->options = *options;
    if (timer->options.sigaction == NULL) {
        timer->options.sigaction = sigaction;
    }
    if (timer->options.pthread_sigmask == NULL) {
        timer->options.pthread_sigmask = pthread_sigmask;
    }
    if (timer->options.interval_ns < tick_ns) {
        timer->options.interval_ns = tick_ns;
    }
    (void)pthread_mutex_init(&timer->lock, NULL);
    timer->owner = getpid();
    timer->signal = claim_some_signal(timer);
    if (timer->signal == 0) {
        timer->owner = 0;
        return -EAGAIN;
    }
    return 0;
}

size_t
thread_timer_finish(struct thread_timer *timer)
{
    struct held held;
    size_t count;

    if (!lock(timer, &held)) {
        return 0;
    }
    count = timer->count;
    while (timer->count > 0) {
        remove_at(timer, timer->count - 1);
    }
    release_signal(timer, timer->signal);
    if (timer->capacity != 0) {
        (void)munmap(timer->armed, timer->capacity * sizeof(struct thread_timer_armed));
    }
    timer->owner = 0;
    /* The lock stays: other threads may be waiting for it. */
    unlock(timer, &held);
    return count;
}

int
thread_timer_arm(struct thread_timer *timer, pid_t tid)
{
    struct held held;
    int result;

    if (!lock(timer, &held)) {
        return -ESRCH;
    }
    result = arm(timer, tid != 0 ? tid : own_tid());
    unlock(timer, &held);
    return result;
}

void
thread_timer_disarm(struct thread_timer *timer, pid_t tid)
{
    const pid_t wanted = tid != 0 ? tid : own_tid();
    struct held held;
    size_t place;

    if (!lock(timer, &held)) {
        return;
    }
    place = find_place(timer, wanted);
    if (place < timer->count && timer->armed[place].tid == wanted) {
        remove_at(timer, place);
    }
    unlock(timer, &held);
}

int
thread_timer_arm_all(struct thread_timer *timer)
{
    struct scan scan = {false, 0};
    struct held held;
    int fd;
    int result;

    if (!lock(timer, &held)) {
        return -ESRCH;
    }
    remove_exited(timer);
    fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task",
                      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        arm_directory(timer, fd, &scan);
        (void)syscall(SYS_close, fd);
    }
    /* A /proc of another pid namespace has other numbers. */
    result = scan.found_self ? scan.failure : arm(timer, own_tid());
    unlock(timer, &held);
    return result == 0 && !scan.found_self ? -ENOENT : result;
}

uint64_t
thread_timer_set_interval(struct thread_timer *timer, uint64_t interval_ns)
{
    const uint64_t tick_ns = thread_timer_tick_ns();
    struct held held;

    if (!lock(timer, &held)) {
        return timer->options.interval_ns;
    }
    timer->options.interval_ns = interval_ns < tick_ns ? tick_ns : interval_ns;
    for (size_t i = 0; i < timer->count; i++) {
        (void)set_time(timer, timer->armed[i].timer); /* fails for one that exited */
    }
    unlock(timer, &held);
    return timer->options.interval_ns;
}

void
thread_timer_pause(struct thread_timer *timer)
{
    struct sigaction action;
    struct held held;

    if (!lock(timer, &held)) {
        return;
    }
    if (timer->pauses++ == 0) {
        (void)renew_all(timer); /* creates no timers while pauses is not 0 */
        if (timer->options.sigaction(timer->signal, NULL, &action) == 0 &&
            has_our_handler(&action)) {
            drop_pending(timer, timer->signal); /* replaces the handler */
            (void)install_handler(timer, timer->signal, /* previous */ NULL);
        }
    }
    unlock(timer, &held);
}

struct thread_timer_loss
thread_timer_resume(struct thread_timer *timer)
{
    struct thread_timer_loss loss = {0, 0};
    struct held held;

    if (!lock(timer, &held)) {
        return loss;
    }
    if (timer->pauses != 0 && --timer->pauses == 0) {
        loss = renew_all(timer);
    }
    unlock(timer, &held);
    return loss;
}

/* Use another signal. Returns 0, or -EAGAIN if no other is free. */
static int
move_signal(struct thread_timer *timer, struct thread_timer_loss *loss)
{
    const int old = timer->signal;
    const int taken = claim_some_signal(timer);

    if (taken == 0) {
        return -EAGAIN;
    }
    timer->signal = taken;
    *loss = renew_all(timer);
    release_signal(timer, old);
    return 0;
}

/* Mark signals as the program's. Returns whether one was not yet. */
static bool
mark_left(const sigset_t *left)
{
    bool is_new = false;

    for (int signal = SIGRTMIN; signal <= SIGRTMAX && signal < SIGNALS; signal++) {
        if (sigismember(left, signal) == 1 && !atomic_load(&claims[signal].left)) {
            atomic_store(&claims[signal].left, true);
            is_new = true;
        }
    }
    return is_new;
}

int
thread_timer_leave_signals(struct thread_timer *timer, const sigset_t *left,
                           struct thread_timer_loss *loss)
{
    struct held held;
    int result = 0;

    *loss = (struct thread_timer_loss){0, 0};
    if (!is_ours(timer)) {
        return -ESRCH;
    }
    /* Not new: whoever marked them has the timers move, too. */
    if (!mark_left(left) && sigismember(left, timer->signal) != 1) {
        return 0;
    }
    if (!lock(timer, &held)) {
        return -ESRCH;
    }
    if (sigismember(left, timer->signal) == 1) {
        result = move_signal(timer, loss);
        /* A thread that has blocked all signals has only the one used so far open. The
         * program blocks the new one with others only: it would have left it. */
        (void)sigdelset(&held.mask, timer->signal);
    }
    unlock(timer, &held);
    return result;
}

int
thread_timer_signal(const struct thread_timer *timer)
{
    return is_ours(timer) ? timer->signal : 0;
}

size_t
thread_timer_count(struct thread_timer *timer)
{
    struct held held;
    size_t count;

    if (!lock(timer, &held)) {
        return 0;
    }
    count = timer->count;
    unlock(timer, &held);
    return count;
}

void
thread_timer_after_fork(struct thread_timer *timer)
{
    struct claim *const claim = &claims[timer->signal];

    if (timer->owner == 0) {
        return;
    }
    (void)pthread_mutex_init(&timer->lock, NULL);
    timer->armed = NULL;
    timer->count = 0;
    timer->capacity = 0;
    timer->pauses = 0;
    timer->owner = getpid();
    atomic_store(&claim->in_flight, 0);
    atomic_store(&claim->owner, timer->owner);
}
