/* SPDX-License-Identifier: MIT */
/* keeper.c - a thread that folds counters and rewrites the file at intervals. */
#include "record/keeper.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Return the sum of two times, at most INT64_MAX. */
static uint64_t
add_time(uint64_t time_ns, uint64_t more_ns)
{
    return more_ns > INT64_MAX - time_ns ? INT64_MAX : time_ns + more_ns;
}

/* Wait until a time of the monotonic clock, and call control whenever its descriptor is
 * readable meanwhile. Returns false if the thread has to exit. */
static bool
wait_until(const struct keeper *keeper, uint64_t until_ns)
{
    struct pollfd polls[2] = {
        {.fd = keeper->wake_fd, .events = POLLIN},
        {.fd = keeper->work.control_fd, .events = POLLIN},
    };
    uint64_t now_ns = clock_now_ns();

    while (now_ns < until_ns) {
        const struct timespec left = clock_timespec(until_ns - now_ns);

        if (ppoll(polls, 2, &left, NULL) > 0) {
            if (polls[0].revents != 0) {
                return false;
            }
            keeper->work.control(keeper->work.context);
        }
        now_ns = clock_now_ns();
    }
    return true;
}

/* Fold and rewrite when it is time, and call control when it is readable,
 * until keeper_stop. */
static void *
keeper_main(void *argument)
{
    struct keeper *const keeper = argument;
    const struct keeper_work *const work = &keeper->work;
    const uint64_t fold_ns = COLLECTOR_FOLD_S * CLOCK_SECOND_NS;
    uint64_t next_fold_ns = clock_now_ns() + fold_ns;
    uint64_t next_write_ns =
        work->every_ns != 0 ? add_time(clock_now_ns(), work->every_ns) : UINT64_MAX;

    pthread_setname_np(pthread_self(), "ntprof-keeper");
    while (wait_until(keeper,
                      next_fold_ns < next_write_ns ? next_fold_ns : next_write_ns)) {
        if (clock_now_ns() >= next_write_ns) {
            work->rewrite(work->context);
            /* After a slow rewrite, wait a whole interval. Otherwise rewriting would
             * never pause. */
            next_write_ns = add_time(next_write_ns, work->every_ns);
            if (next_write_ns < clock_now_ns()) {
                next_write_ns = add_time(clock_now_ns(), work->every_ns);
            }
        }
        if (clock_now_ns() >= next_fold_ns) {
            /* A later fold adds what this one could not. */
            (void)collector_fold(work->collector);
            next_fold_ns = clock_now_ns() + fold_ns;
        }
    }
    return NULL;
}

int
keeper_start(struct keeper *keeper, const struct keeper_work *work)
{
    sigset_t all;
    sigset_t old;
    int failure;

    *keeper = (struct keeper){.work = *work, .wake_fd = eventfd(0, EFD_CLOEXEC)};
    if (keeper->wake_fd < 0) {
        return -errno;
    }
    /* The main thread handles all signals. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failure = pthread_create(&keeper->thread, NULL, keeper_main, keeper);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    keeper->running = failure == 0;
    if (failure != 0) {
        close(keeper->wake_fd);
    }
    return -failure;
}

void
keeper_stop(struct keeper *keeper)
{
    const uint64_t one = 1;

    if (!keeper->running) {
        return;
    }
    while (write(keeper->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    pthread_join(keeper->thread, NULL);
    close(keeper->wake_fd);
    keeper->running = false;
}
