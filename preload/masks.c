/* SPDX-License-Identifier: MIT */
/*
 * preload/masks.c - sets of signals that the program blocks or waits for.
 *
 * Programs block all signals and let one thread wait for them. The signal of the timers
 * must then neither stay pending nor be what that thread gets, so it is taken out of
 * such sets: it is never blocked. A set with some real-time signals only names them for
 * the program's own use, and the timers never use one of them again. But one to be
 * blocked is as good as all if it has most of them, as the program may yet handle those
 * outside, or if none is free outside of it. A program that waits for such a set gets
 * the signal, and nothing more is counted.
 */
#include "preload/preload.h"

#include <errno.h>
#include <pthread.h>
#include <sys/signalfd.h>

#define REPLACES __attribute__((visibility("default")))

static struct {
    int (*sigprocmask)(int, const sigset_t *, sigset_t *);
    int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
    int (*sigwait)(const sigset_t *, int *);
    int (*sigwaitinfo)(const sigset_t *, siginfo_t *);
    int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
    int (*signalfd)(int, const sigset_t *, int);
} libc;

/* Find libc's own functions for those below. Returns false if one is missing. */
static bool
find_originals(void)
{
    return libc.signalfd != NULL ||
           (preload_find("sigprocmask", &libc.sigprocmask) &&
            preload_find("pthread_sigmask", &libc.pthread_sigmask) &&
            preload_find("sigwait", &libc.sigwait) &&
            preload_find("sigwaitinfo", &libc.sigwaitinfo) &&
            preload_find("sigtimedwait", &libc.sigtimedwait) &&
            preload_find("signalfd", &libc.signalfd));
}

bool
preload_find_masks(void)
{
    return find_originals();
}

/* Stands a set for all real-time signals? One to wait for has all, but perhaps ours,
 * which is not in what the program reads back of what it has blocked; one to be blocked
 * has more than half of them. */
static bool
is_for_all(const sigset_t *set, int ours, bool waits)
{
    const int others = SIGRTMAX - SIGRTMIN; /* all but ours */
    int count = 0;

    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        count += number != ours && sigismember(set, number) == 1;
    }
    return waits ? count >= others : count > others / 2;
}

/* Block a signal in the calling thread, which waits for it, and so has blocked it with
 * others; it was left out of these while the timers used it. */
static void
block_signal(int number)
{
    sigset_t one;

    sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)libc.pthread_sigmask(SIG_BLOCK, &one, NULL);
}

/* Return a set without the signal of the timers: in copy, or the set itself if that
 * signal is not in it. Keeps errno.
 *
 *   waits  in: for the signals; false: blocks them
 */
static const sigset_t *
without_ours(const sigset_t *set, sigset_t *copy, bool waits)
{
    const int saved_errno = errno;
    struct thread_timer *const timer = preload_timer();
    int before;
    int number;

    if (set == NULL || timer == NULL) {
        return set;
    }
    before = thread_timer_signal(timer); /* 0: none any more */
    if (!is_for_all(set, before, waits) && !preload_leave_signals(set) && waits) {
        preload_end_timers();
    }
    number = thread_timer_signal(timer);
    if (waits && number != before && sigismember(set, before) == 1) {
        block_signal(before);
    }
    if (number != 0 && sigismember(set, number) == 1) {
        *copy = *set;
        (void)sigdelset(copy, number);
        set = copy;
    }
    errno = saved_errno;
    return set;
}

/* The same for the arguments of sigprocmask, and for a set to wait for. */

static const sigset_t *
to_block(int how, const sigset_t *set, sigset_t *copy)
{
    return how == SIG_UNBLOCK ? set : without_ours(set, copy, /* waits */ false);
}

static const sigset_t *
to_wait_for(const sigset_t *set, sigset_t *copy)
{
    return without_ours(set, copy, /* waits */ true);
}

/* ---- What the program calls ---- */

REPLACES int
sigprocmask(int how, const sigset_t *set, sigset_t *previous)
{
    sigset_t copy;

    if (!find_originals()) {
        errno = ENOSYS;
        return -1;
    }
    return libc.sigprocmask(how, to_block(how, set, &copy), previous);
}

REPLACES int
pthread_sigmask(int how, const sigset_t *set, sigset_t *previous)
{
    sigset_t copy;

    if (!find_originals()) {
        return ENOSYS;
    }
    return libc.pthread_sigmask(how, to_block(how, set, &copy), previous);
}

REPLACES int
sigwait(const sigset_t *set, int *number)
{
    sigset_t copy;

    return find_originals() ? libc.sigwait(to_wait_for(set, &copy), number) : ENOSYS;
}

REPLACES int
sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    sigset_t copy;

    if (!find_originals()) {
        errno = ENOSYS;
        return -1;
    }
    return libc.sigwaitinfo(to_wait_for(set, &copy), info);
}

REPLACES int
sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    sigset_t copy;

    if (!find_originals()) {
        errno = ENOSYS;
        return -1;
    }
    return libc.sigtimedwait(to_wait_for(set, &copy), info, timeout);
}

REPLACES int
signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t copy;

    if (!find_originals()) {
        errno = ENOSYS;
        return -1;
    }
    return libc.signalfd(fd, to_wait_for(set, &copy), flags);
}
