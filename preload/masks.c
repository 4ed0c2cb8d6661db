/* SPDX-License-Identifier: MIT */
/*
 * preload/masks.c - sets of signals that the program blocks or waits for.
 *
 * Programs block all signals and let one thread wait for them. The signal of the timers
 * must then neither stay pending nor be what that thread gets, so it is taken out of
 * such sets: it is never blocked. A set with some real-time signals only names them for
 * the program's own use, and the timers take another one.
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

static bool
has_all_realtime(const sigset_t *set)
{
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        if (sigismember(set, number) != 1) {
            return false;
        }
    }
    return true;
}

/* Return a set without the signal of the timers: in copy, or the set itself if that
 * signal is not in it. Keeps errno. */
static const sigset_t *
without_ours(const sigset_t *set, sigset_t *copy)
{
    const int saved_errno = errno;
    struct thread_timer *const timer = preload_timer();
    int number = timer != NULL ? thread_timer_signal(timer) : 0;

    if (set == NULL || number == 0 || sigismember(set, number) != 1) {
        errno = saved_errno;
        return set;
    }
    if (!has_all_realtime(set)) {
        preload_leave_signal(number);
        number = thread_timer_signal(timer);
    }
    *copy = *set;
    if (number != 0) {
        (void)sigdelset(copy, number);
    }
    errno = saved_errno;
    return copy;
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
    return libc.sigprocmask(how, how == SIG_UNBLOCK ? set : without_ours(set, &copy),
                            previous);
}

REPLACES int
pthread_sigmask(int how, const sigset_t *set, sigset_t *previous)
{
    sigset_t copy;

    if (!find_originals()) {
        return ENOSYS;
    }
    return libc.pthread_sigmask(
        how, how == SIG_UNBLOCK ? set : without_ours(set, &copy), previous);
}

REPLACES int
sigwait(const sigset_t *set, int *number)
{
    sigset_t copy;

    return find_originals() ? libc.sigwait(without_ours(set, &copy), number) : ENOSYS;
}

REPLACES int
sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    sigset_t copy;

    if (!find_originals()) {
        errno = ENOSYS;
        return -1;
    }
    return libc.sigwaitinfo(without_ours(set, &copy), info);
}

REPLACES int
sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    sigset_t copy;

    if (!find_originals()) {
        errno = ENOSYS;
        return -1;
    }
    return libc.sigtimedwait(without_ours(set, &copy), info, timeout);
}

REPLACES int
signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t copy;

    if (!find_originals()) {
        errno = ENOSYS;
        return -1;
    }
    return libc.signalfd(fd, without_ours(set, &copy), flags);
}
