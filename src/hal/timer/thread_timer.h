/* SPDX-License-Identifier: MIT */
/*
 * hal/timer/thread_timer.h - a timer on the processor clock of each thread of this
 * process. Each expiration interrupts its own thread with a real-time signal.
 *
 * Uses libc only, since libntprof and the preload object both link it. Never a timer of
 * the whole process: that one would interrupt any thread. Children inherit no timer.
 *
 * A thread is armed while it has a timer. The kernel looks at the clocks of threads
 * once a tick, so no interval is shorter. Expirations that it noticed too late are the
 * overrun of the next hit. A timer first expires at a tick of its first interval, drawn
 * at random, so that threads shorter than an interval have their share of hits. The
 * time of a thread before it was armed, and after its last expiration, makes no hit:
 * the user of the timers reads it from the clocks and reports it.
 *
 * Execve: the kernel deletes the timers and drops their pending signals, and a handler
 * becomes the default action. A program that replaces the handler of the signal would
 * get the signals itself: a caller that sees the call in advance (the preload object)
 * calls thread_timer_leave_signals first. A thread that blocks the signal makes no hits
 * until it unblocks it; one that waits for all signals with sigwait gets it.
 *
 * Threads: any, except where a function says otherwise. In a child of vfork, and in a
 * child of fork before thread_timer_after_fork, each function does nothing and returns
 * -ESRCH if it returns a result. Each but thread_timer_init may be called in a signal
 * handler of the program. Results are 0 or a negative errno.
 */
#ifndef HAL_TIMER_THREAD_TIMER_H
#define HAL_TIMER_THREAD_TIMER_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

/*
 * One expiration, in the signal handler of its thread with all signals blocked: no
 * lock, no allocation, no call that is not async-signal-safe.
 *
 *   pc       address that the signal interrupted; after a system call if the tick came
 *            in kernel mode
 *   overrun  expirations before this one that made no hit
 *   machine  all registers as they were; valid during the call
 */
typedef void thread_timer_hit(void *context, uintptr_t pc, unsigned overrun,
                              const ucontext_t *machine);

struct thread_timer_options {
    thread_timer_hit *hit;
    void *context;
    uint64_t interval_ns; /* raised to thread_timer_tick_ns */
    /* libc's own, for a preload object that replaces them in the program. NULL: those
     * that the linker finds. */
    int (*sigaction)(int signal, const struct sigaction *action,
                     struct sigaction *previous);
    int (*pthread_sigmask)(int how, const sigset_t *set, sigset_t *previous);
};

struct thread_timer_armed {
    pid_t tid;
    int timer; /* the kernel's number; -1 while paused */
};

/* The timers of one user, such as a session. Members are for thread_timer.c only. */
struct thread_timer {
    struct thread_timer_options options;
    pid_t owner;          /* process whose threads have the timers; 0: none */
    pthread_mutex_t lock; /* held with all signals blocked; guards all below */
    int signal;
    unsigned pauses; /* calls of thread_timer_pause that no resume followed yet */
    struct thread_timer_armed *armed; /* in order of tid */
    size_t count;
    size_t capacity;
};

/* Threads that were armed and are no more, since no new timer could be made. */
struct thread_timer_loss {
    size_t threads;
    int failure; /* of one of them, as of thread_timer_arm; 0: none */
};

/* thread_timer_tick_ns - return the kernel's tick, the shortest interval. */
uint64_t thread_timer_tick_ns(void);

/*
 * thread_timer_init - take a real-time signal that has its default action and install
 * the handler. No thread is armed yet.
 *
 *   timer  out: stays at its place until thread_timer_finish
 *
 * -EAGAIN: no real-time signal has its default action. Not in a child of vfork.
 */
int thread_timer_init(struct thread_timer *timer,
                      const struct thread_timer_options *options);

/*
 * thread_timer_finish - delete all timers, drop their pending signals, and give the
 * signal its default action if it still has our handler. When it returns, no hit is
 * being made and none will be. It must not be called within a hit, and does nothing if
 * timer is all zeros. Returns how many threads were armed: 0 if another thread was
 * first.
 */
size_t thread_timer_finish(struct thread_timer *timer);

/*
 * thread_timer_arm - arm one thread of this process; nothing if it is armed.
 *
 *   tid  in: 0: the calling thread
 *
 * -ESRCH: no such thread. -EAGAIN: RLIMIT_SIGPENDING. -ENOMEM. -EPERM, -ENOSYS: refused
 * by a system call filter.
 */
int thread_timer_arm(struct thread_timer *timer, pid_t tid);

/* thread_timer_disarm - delete a thread's timer; does nothing if it has none. tid: as
 * in thread_timer_arm. A hit whose signal is pending is still counted. */
void thread_timer_disarm(struct thread_timer *timer, pid_t tid);

/*
 * thread_timer_arm_all - arm every thread in /proc/self/task, and delete the timers of
 * threads that have exited. Where this process is not in /proc, arms only the calling
 * thread and returns -ENOENT. A thread that cannot be armed does not stop the others:
 * the first failure is returned.
 */
int thread_timer_arm_all(struct thread_timer *timer);

/* thread_timer_set_interval - set the interval of all timers, which start anew. Returns
 * the interval in ns that is in effect. */
uint64_t thread_timer_set_interval(struct thread_timer *timer, uint64_t interval_ns);

/*
 * thread_timer_pause, thread_timer_resume - delete all timers, make them anew. The
 * preload object calls them before exec and, as that returns only if it failed, after
 * it: in between no timer expires and no signal is pending. Pauses nest. resume returns
 * which threads have lost their timer.
 */
void thread_timer_pause(struct thread_timer *timer);
struct thread_timer_loss thread_timer_resume(struct thread_timer *timer);

/*
 * thread_timer_leave_signals - leave signals to the program: no timers of this process
 * take one of them any more, and if timer uses one, it uses another signal from now on.
 * The signal used so far has its default action then, and is not pending. The calling
 * thread does not block the new one; another that does makes no hits.
 *
 *   left  in: of those that are no real-time signals nothing is done
 *   loss  out
 *
 * -EAGAIN: timer uses one, and goes on with it, as no other is free.
 */
int thread_timer_leave_signals(struct thread_timer *timer, const sigset_t *left,
                               struct thread_timer_loss *loss);

/* thread_timer_signal - return the number of the signal; 0 if this process uses none.
 */
int thread_timer_signal(const struct thread_timer *timer);

/* thread_timer_count - return the number of armed threads, and of those that have
 * exited since thread_timer_arm_all. */
size_t thread_timer_count(struct thread_timer *timer);

/*
 * thread_timer_after_fork - make timer usable in a child of fork, with no thread armed.
 * To be called in a handler of pthread_atfork, which children of vfork do not call. The
 * parent's table of threads is not freed: another thread may have been changing it.
 */
void thread_timer_after_fork(struct thread_timer *timer);

#endif
