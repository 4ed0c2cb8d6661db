/* SPDX-License-Identifier: MIT */
/* ending.c - waits for the end of a recording. */
#include "record/ending.h"
#include "base/clock.h"
#include "record/signals.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Signals that are ignored, so that write() returns an error instead. */
static const int ignored_signals[] = {SIGPIPE, SIGXFSZ};

int
ending_prepare(struct ending *ending)
{
    sigset_t termination;
    sigset_t others;
    sigset_t awaited;

    for (size_t i = 0; i < sizeof(ignored_signals) / sizeof(ignored_signals[0]); i++) {
        signal(ignored_signals[i], SIG_IGN);
    }
    signals_termination(&termination);
    signals_others(&others);
    sigorset(&awaited, &termination, &others);
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;

        /* An ignored signal must not be blocked: signalfd would receive it. Nor must
         * SIGUSR2, which has a handler of control.c. */
        if (sigismember(&awaited, i) == 1 && sigaction(i, NULL, &action) == 0 &&
            action.sa_handler != SIG_DFL) {
            sigdelset(&awaited, i);
        }
    }
    sigprocmask(SIG_BLOCK, &awaited, &ending->old_mask);
    ending->signal_fd = signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
    return ending->signal_fd < 0 ? -errno : 0;
}

/* Wait for any of polls, until a time of CLOCK_MONOTONIC; UINT64_MAX: without limit.
 * Sets *timed_out if the time passed first. Returns 0, also if a signal interrupted it,
 * or a negative errno. */
static int
wait_for_any(struct pollfd *polls, size_t count, uint64_t until_ns, bool *timed_out)
{
    const uint64_t now = clock_now_ns();
    const uint64_t left_ns = until_ns > now ? until_ns - now : 0;
    const struct timespec left = clock_timespec(left_ns);
    const int ready =
        ppoll(polls, (nfds_t)count, until_ns == UINT64_MAX ? NULL : &left, NULL);

    *timed_out = ready == 0;
    return ready < 0 && errno != EINTR ? -errno : 0;
}

/* Remove the processes that have exited from polls. Returns how many are left. */
static size_t
drop_ended(struct pollfd *polls, size_t count)
{
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        if (polls[i].revents == 0) {
            polls[left++] = polls[i];
        }
    }
    return left;
}

/* Wait until a signal arrives, the time passes or all of count processes have
 * exited. polls[0] is for signals, the others are for processes. Returns 0 or
 * a negative errno. */
static int
wait_for_end(struct pollfd *polls, size_t count, uint64_t until_ns)
{
    const bool until_all = count > 0;

    while (!until_all || count > 0) {
        bool timed_out;
        int failure;

        for (size_t i = 0; i <= count; i++) {
            polls[i].revents = 0;
        }
        failure = wait_for_any(polls, count + 1, until_ns, &timed_out);
        if (failure != 0 || timed_out || polls[0].revents != 0) {
            return failure;
        }
        count = drop_ended(polls + 1, count);
    }
    return 0;
}

int
ending_wait(const struct ending *ending, const int *fds, size_t count,
            uint64_t duration_ns)
{
    struct pollfd *const polls = calloc(count + 1, sizeof(*polls));
    const uint64_t now = clock_now_ns();
    uint64_t until_ns = UINT64_MAX;
    int failure;

    if (polls == NULL) {
        return -ENOMEM;
    }
    polls[0] = (struct pollfd){.fd = ending->signal_fd, .events = POLLIN};
    for (size_t i = 0; i < count; i++) {
        polls[i + 1] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    if (duration_ns != 0 && duration_ns < UINT64_MAX - now) {
        until_ns = now + duration_ns;
    }
    failure = wait_for_end(polls, count, until_ns);
    free(polls);
    return failure;
}

void
ending_release(struct ending *ending)
{
    struct signalfd_siginfo taken;
    sigset_t others;
    sigset_t mask;

    if (ending->signal_fd < 0) {
        return;
    }
    /* Discard further pending signals: a user and a service manager may have sent one
     * each. */
    while (read(ending->signal_fd, &taken, sizeof(taken)) > 0) {
    }
    close(ending->signal_fd);
    ending->signal_fd = -1;
    signals_others(&others);
    sigorset(&mask, &ending->old_mask, &others);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}
